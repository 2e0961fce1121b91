"""Theorem 7 (Theorem 5 in the text, where it is informal): ZO-SCSG-NCF."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from .._array import Array
from ..curvature import SampledFinder, ZONCFOnline
from ..methods import ZOSCSG, ZOSCSGNCF, ZOSGDNCF, GradientCheck
from .assumptions import (
    Length,
    Option,
    Resolvable,
    representable,
    require_between,
    require_delta,
    require_dimension,
    require_option,
    require_positive,
    rounded_up,
    smoothing,
)
from .descent import Theorem3, theorem_3


@dataclass(frozen=True, kw_only=True)
class Theorem7(Resolvable):
    """The settings of ZO-SCSG-NCF, Algorithms 6 and 7 of Zhang, Xiong & Gu (2022).

    Written b' for b in Option I and for b / d in Option II.
    """

    ell: float
    """A Lipschitz constant of the gradient."""
    rho: float
    """A Lipschitz constant of the Hessian."""
    sigma: float
    """A bound on the deviation of a sample's gradient."""
    Delta_f: float
    """f(x_0) less the least value."""
    d: int
    """The number of variables."""
    epsilon: float
    """The gradient norm to reach."""
    delta: float
    """The negative curvature that is still accepted."""
    option: Option
    """1 for CoordGradEst, 2 for RandGradEst."""
    gamma: float
    """eta ell in units of (b' / B)^(2/3): at most 1/4, or for Option II 1/8 (Lemma 14)."""
    c: float
    """The "sufficiently large" constant of Lemma 14."""
    c_proof: float
    """A c that is large enough by the proof of Lemma 14: 20.5, or for Option II 33 + 19 / d + 4 / (gamma d^2).

    That proof, for Option II, needs a direction of its own for every component of a minibatch."""
    C_b: float
    """The constant hidden in b."""
    C_K: float
    """The constant hidden in K."""
    as_proved: bool
    """With the constants of the proof, not those of the statement."""
    mu_check: float
    """mu_1 of line 4, sqrt(3 epsilon / (4 rho sqrt(d)))."""
    mu_step: float
    """mu_2 of line 5, epsilon / (4 sqrt(c d) ell), or for Option II epsilon / (4 sqrt(c) d ell)."""
    B: float
    """max(480 sigma^2 / epsilon^2, 1), or for Option II max(1, 1152 sigma^2 / epsilon^2)."""
    b: float
    """max(1, C_b (epsilon^2 + sigma^2) epsilon^4 rho^6 / (delta^9 ell^3)), for Option II max(1, d times that) as
    printed, and d max(1, that) with `as_proved`, because Lemma 14 assumes b >= d."""
    eta: float
    """gamma (b' / B)^(2/3) / ell (Lemma 14: the theorem does not say)."""
    K: float
    """C_K ell b'^(1/3) Delta_f / (epsilon^2 B^(1/3))."""
    fallback: Theorem3
    """What line 1 runs when b > B, with p = 2/3 as printed and p = 1/3 with `as_proved`."""

    theorem: ClassVar[str] = "Theorem 7"

    @property
    def iterations(self) -> int:
        """K as a count."""
        return rounded_up(self.K)

    @property
    def failure(self) -> float:
        """What line 7 gives each search, 1 / (20 K); the check of line 3, which has no number, is given the same."""
        return 1 / (20 * self.iterations)

    @property
    def falls_back(self) -> bool:
        """Whether line 1 runs ZO-SGD-NCF: b > B as printed; with `as_proved`, wherever Lemma 14 does not hold."""
        return self.b > self.B or (self.as_proved and not self.lemma_holds)

    @property
    def lemma_holds(self) -> bool:
        """Whether Lemma 14 applies: B >= 8 b', and for Option II b >= d. The theorem does not see to it."""
        least, small = (1, self.b) if self.option == 1 else (self.d, self.b / self.d)
        return 8 * small <= self.B and self.b >= least

    @property
    def promise(self) -> tuple[float, float]:
        """The (gradient norm, curvature) of what is returned: (epsilon, delta)."""
        return self.epsilon, self.delta

    @property
    def probability(self) -> float:
        """With which the promise holds: 2/3, or what is left by the p of the fall-back."""
        return self.fallback.probability if self.falls_back else 2 / 3

    def lengths(self) -> tuple[Length, ...]:
        if self.falls_back:
            return self.fallback.lengths()
        return (
            smoothing("mu_check", self.mu_check, self.epsilon, self.d),
            smoothing("mu_step", self.mu_step, self.epsilon, self.d, self.option),
            Length("delta / rho", self.delta / self.rho),
        )

    def method(
        self, *, finder: SampledFinder | None = None, x: Array | None = None, magnitude: float = 0.0
    ) -> ZOSCSGNCF | ZOSGDNCF:
        """The method, with the float-safe ZO-NCF-Online unless another finder is given; ZO-SGD-NCF if it falls back.

        Finders spread one failure probability over all searches of a run, and so this one is given K times 1 / (20 K).
        With x, and f of this magnitude there, lengths that cannot be resolved raise `BelowPrecision`.
        """
        self.resolved(x, magnitude)
        if self.falls_back:                                                    # line 1
            return self.fallback.method(finder=finder)
        return ZOSCSGNCF(
            delta=self.delta,
            rho=self.rho,
            epochs=ZOSCSG(
                B=rounded_up(self.B), b=rounded_up(self.b), eta=self.eta, mu=self.mu_step, option=self.option
            ),
            check=GradientCheck(epsilon=self.epsilon, sigma2=self.sigma**2, failure=self.failure, mu=self.mu_check),
            finder=finder or ZONCFOnline(delta=self.delta, failure=1 / 20, ell=self.ell),
            K=self.iterations,
        )


def theorem_7(
    *,
    ell: float,
    rho: float,
    sigma: float,
    Delta_f: float,
    d: int,
    epsilon: float,
    delta: float,
    option: int = 1,
    gamma: float | None = None,
    c: float = 1.0,
    C_b: float = 1.0,
    C_K: float = 1.0,
    as_proved: bool = False,
) -> Theorem7:
    """The literal settings of Theorem 7 (ZO-SCSG-NCF), Zhang, Xiong & Gu (2022).

    `gamma` is that of Lemma 14 (None: the most it allows), `c` its "sufficiently large constant" (one, unless given;
    `c_proof` is large enough), `C_b` and `C_K` are the constants hidden in Theta(.) for b and K.

    `as_proved` corrects three slips: b >= d in Option II, as Lemma 14 assumes; the fall-back is taken wherever that
    lemma does not hold, not only for b > B; and the fall-back is given the failure probability 1/3, not 2/3.
    """
    ell, rho, sigma, Delta_f, epsilon, delta, c, C_b, C_K = require_positive(
        "Theorem 7", ell=ell, rho=rho, sigma=sigma, Delta_f=Delta_f, epsilon=epsilon, delta=delta,
        c=c, C_b=C_b, C_K=C_K,
    )
    d, which = require_dimension("Theorem 7", d), require_option("Theorem 7", option)
    require_delta("Theorem 7", delta, ell)
    most = 1 / 4 if which == 1 else 1 / 8
    if gamma is None:
        gamma = most
    else:
        (gamma,) = require_positive("Theorem 7", gamma=gamma)
        require_between("Lemma 14", "gamma", gamma, 0.0, most, f"(0, 1/{4 if which == 1 else 8}]")
    with representable("Theorem 7"):
        mu_1 = math.sqrt(3 * epsilon / (4 * rho * math.sqrt(d)))
        theta = C_b * (epsilon**2 + sigma**2) * epsilon**4 * rho**6 / (delta**9 * ell**3)
        if which == 1:
            B = max(480 * sigma**2 / epsilon**2, 1.0)
            b = small = max(1.0, theta)
            mu_2 = epsilon / (4 * math.sqrt(c * d) * ell)
            # 5 (2 + 12/B) + 6/b (b/B)^(1/3), with B >= 8
            c_proof = 20.5
        else:
            B = max(1.0, 1152 * sigma**2 / epsilon**2)
            b = d * max(1.0, theta) if as_proved else max(1.0, d * theta)
            small = b / d
            mu_2 = epsilon / (4 * math.sqrt(c) * d * ell)
            # 1/4 + 8 (4 + 18/(d B)) + 8/(gamma d^2) (b'/B)^(1/3) + 2/b (b'/B)^(1/3), with B >= 8 b', b >= d
            c_proof = 33 + 19 / d + 4 / (gamma * d**2)
        eta = gamma * (small / B) ** (2 / 3) / ell                             # eta ell = gamma (b'/B)^(2/3)
        K = C_K * ell * small ** (1 / 3) * Delta_f / (epsilon**2 * B ** (1 / 3))
        rounded_up(K)
    fallback = theorem_3(
        ell=ell, rho=rho, sigma=sigma, Delta_f=Delta_f, d=d, epsilon=epsilon, delta=delta,
        p=1 / 3 if as_proved else 2 / 3, option=which, C_K=C_K, as_proved=as_proved,
    )
    return Theorem7(
        ell=ell, rho=rho, sigma=sigma, Delta_f=Delta_f, d=d, epsilon=epsilon, delta=delta, option=which,
        gamma=gamma, c=c, c_proof=c_proof, C_b=C_b, C_K=C_K, as_proved=as_proved, mu_check=mu_1, mu_step=mu_2,
        B=B, b=b, eta=eta, K=K, fallback=fallback,
    )
