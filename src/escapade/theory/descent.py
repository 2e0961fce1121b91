"""Theorems 3 and 4: ZO-SGD-NCF and ZO-GD-NCF."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from .._array import Array
from ..curvature import Finder, SampledFinder, ZONCFDeterministic, ZONCFOnline
from ..methods import ZOGDNCF, ZOSGDNCF, GradientCheck
from .assumptions import (
    Length,
    Option,
    Resolvable,
    representable,
    require_delta,
    require_dimension,
    require_failure,
    require_option,
    require_positive,
    rounded_up,
    smoothing,
)


@dataclass(frozen=True, kw_only=True)
class Descents(Resolvable):
    """What the theorems of ZO-GD-NCF and ZO-SGD-NCF have in common."""

    ell: float
    """A Lipschitz constant of the gradient."""
    rho: float
    """A Lipschitz constant of the Hessian."""
    Delta_f: float
    """f(x_0) less the least value."""
    d: int
    """The number of variables."""
    epsilon: float
    """The gradient norm to reach."""
    delta: float
    """The negative curvature that is still accepted."""
    p: float
    """The probability of failure."""
    option: Option
    """1 for CoordGradEst, 2 for RandGradEst."""
    C_K: float
    """Hidden in K. The least gains of a step in the proofs, delta^3 / (12 rho^2) and epsilon^2 / (128 ell),
    or for Option II epsilon^2 / (1024 d ell), ask for 128 or 1024, and then for the expected number of steps only."""
    mu_check: float
    """mu_1, of the check."""
    mu_step: float
    """mu_2, of the step."""
    eta: float
    """The step size."""
    K: float
    """C_K (rho^2 Delta_f / delta^3 + ell Delta_f / epsilon^2), the second term d times larger for Option II."""

    @property
    def iterations(self) -> int:
        """K as a count."""
        return rounded_up(self.K)

    @property
    def promise(self) -> tuple[float, float]:
        """The (gradient norm, curvature) of what is returned: (epsilon, delta)."""
        return self.epsilon, self.delta

    @property
    def probability(self) -> float:
        """With which the promise holds."""
        return 1 - self.p

    def lengths(self) -> tuple[Length, ...]:
        return (
            smoothing("mu_check", self.mu_check, self.epsilon, self.d),
            smoothing("mu_step", self.mu_step, self.epsilon, self.d, self.option),
            Length("delta / rho", self.delta / self.rho),
        )


@dataclass(frozen=True, kw_only=True)
class Theorem3(Descents):
    """The settings of ZO-SGD-NCF, Algorithm 4 of Zhang, Xiong & Gu (2022).

    Option I: mu_step = sqrt(3 epsilon / (4 rho sqrt(d))), eta = 1 / (4 ell). Option II: mu_step =
    min(sqrt(3 epsilon / (4 rho d)), epsilon / (32 sqrt(d) ell)), eta = 1 / (32 d ell).
    """

    sigma: float
    """A bound on the deviation of a sample's gradient."""
    as_proved: bool
    """Whether mu_check is `mu_check_proof`, or sqrt(3 epsilon / (2 rho sqrt(d))) as printed."""
    mu_check_proof: float
    """sqrt(3 epsilon / (4 rho sqrt(d))), the most that Proposition 1 allows in the online setting."""
    batch: float
    """|S|, max(32 sigma^2 / epsilon^2, 1), or for Option II max(8 sigma^2 / epsilon^2, 1)."""
    check_batch: float
    """The B of Proposition 1, max(128 sigma^2 / epsilon^2, 1), of which line 2 takes O(log(2K/p))."""

    theorem: ClassVar[str] = "Theorem 3"

    @property
    def failure(self) -> float:
        """What lines 2 and 8 give each check and each search, p / (2K)."""
        return self.p / (2 * self.iterations)

    def method(
        self, *, finder: SampledFinder | None = None, x: Array | None = None, magnitude: float = 0.0
    ) -> ZOSGDNCF:
        """The method, with the float-safe ZO-NCF-Online unless another finder is given.

        Finders spread one failure probability over all searches of a run, and so this one is given K times p / (2K).
        With x, and f of this magnitude there, lengths that cannot be resolved raise `BelowPrecision`.
        """
        self.resolved(x, magnitude)
        return ZOSGDNCF(
            delta=self.delta,
            eta=self.eta,
            batch=rounded_up(self.batch),
            check=GradientCheck(
                epsilon=self.epsilon, sigma2=self.sigma**2, failure=self.failure, mu=self.mu_check
            ),
            finder=finder or ZONCFOnline(delta=self.delta, failure=self.p / 2, ell=self.ell),
            mu_step=self.mu_step,
            rho=self.rho,
            option=self.option,
            K=self.iterations,
        )


@dataclass(frozen=True, kw_only=True)
class Theorem4(Descents):
    """The settings of ZO-GD-NCF, Algorithm 5 of Zhang, Xiong & Gu (2022).

    mu_check = sqrt(3 epsilon / (2 rho sqrt(d))). Option I: mu_step = sqrt(3 epsilon / (4 rho sqrt(d))),
    eta = 1 / (4 ell). Option II: mu_step = min(sqrt(3 epsilon / (4 rho d)), epsilon / (16 sqrt(d) ell)),
    eta = 1 / (8 d ell).
    """

    theorem: ClassVar[str] = "Theorem 4"

    @property
    def failure(self) -> float:
        """What line 6 gives each search, p / K."""
        return self.p / self.iterations

    def method(self, *, finder: Finder | None = None, x: Array | None = None, magnitude: float = 0.0) -> ZOGDNCF:
        """The method, with the float-safe finder unless another is given (`theorem_2(...).finder()` is literal).

        Finders spread one failure probability over all searches of a run, and so this one is given K times p / K.
        With x, and f of this magnitude there, lengths that cannot be resolved raise `BelowPrecision`.
        """
        self.resolved(x, magnitude)
        return ZOGDNCF(
            epsilon=self.epsilon,
            delta=self.delta,
            eta=self.eta,
            finder=finder or ZONCFDeterministic(delta=self.delta, failure=self.p, ell=self.ell),
            mu_check=self.mu_check,
            mu_step=self.mu_step,
            rho=self.rho,
            option=self.option,
            K=self.iterations,
        )


def theorem_3(
    *,
    ell: float,
    rho: float,
    sigma: float,
    Delta_f: float,
    d: int,
    epsilon: float,
    delta: float,
    p: float,
    option: int = 1,
    C_K: float = 1.0,
    as_proved: bool = False,
) -> Theorem3:
    """The literal settings of Theorem 3 (ZO-SGD-NCF), Zhang, Xiong & Gu (2022).

    `C_K` is the constant hidden in K = O(.). The printed mu_1 is sqrt(2) times longer than what Proposition 1 allows
    for sampled functions; `as_proved` takes the latter.
    """
    ell, rho, sigma, Delta_f, epsilon, delta, C_K = require_positive(
        "Theorem 3", ell=ell, rho=rho, sigma=sigma, Delta_f=Delta_f, epsilon=epsilon, delta=delta, C_K=C_K
    )
    d, p = require_dimension("Theorem 3", d), require_failure("Theorem 3", p)
    which = require_option("Theorem 3", option)
    require_delta("Theorem 3", delta, ell)
    with representable("Theorem 3"):
        mu_online = math.sqrt(3 * epsilon / (4 * rho * math.sqrt(d)))
        mu_1 = mu_online if as_proved else math.sqrt(3 * epsilon / (2 * rho * math.sqrt(d)))
        B = max(128 * sigma**2 / epsilon**2, 1.0)                              # Proposition 1
        if which == 1:
            S = max(32 * sigma**2 / epsilon**2, 1.0)
            K = C_K * (rho**2 * Delta_f / delta**3 + ell * Delta_f / epsilon**2)
            eta = 1 / (4 * ell)
            mu_2 = math.sqrt(3 * epsilon / (4 * rho * math.sqrt(d)))
        else:
            S = max(8 * sigma**2 / epsilon**2, 1.0)
            K = C_K * (rho**2 * Delta_f / delta**3 + d * ell * Delta_f / epsilon**2)
            eta = 1 / (32 * d * ell)
            mu_2 = min(math.sqrt(3 * epsilon / (4 * rho * d)), epsilon / (32 * math.sqrt(d) * ell))
        rounded_up(K)
    return Theorem3(
        ell=ell, rho=rho, sigma=sigma, Delta_f=Delta_f, d=d, epsilon=epsilon, delta=delta, p=p,
        option=which, C_K=C_K, as_proved=as_proved, mu_check=mu_1, mu_check_proof=mu_online, mu_step=mu_2,
        eta=eta, K=K, batch=S, check_batch=B,
    )


def theorem_4(
    *,
    ell: float,
    rho: float,
    Delta_f: float,
    d: int,
    epsilon: float,
    delta: float,
    p: float,
    option: int = 1,
    C_K: float = 1.0,
) -> Theorem4:
    """The literal settings of Theorem 4 (ZO-GD-NCF), Zhang, Xiong & Gu (2022).

    `C_K` is the constant hidden in K = O(.).
    """
    ell, rho, Delta_f, epsilon, delta, C_K = require_positive(
        "Theorem 4", ell=ell, rho=rho, Delta_f=Delta_f, epsilon=epsilon, delta=delta, C_K=C_K
    )
    d, p = require_dimension("Theorem 4", d), require_failure("Theorem 4", p)
    which = require_option("Theorem 4", option)
    require_delta("Theorem 4", delta, ell)
    with representable("Theorem 4"):
        mu_1 = math.sqrt(3 * epsilon / (2 * rho * math.sqrt(d)))
        if which == 1:
            K = C_K * (rho**2 * Delta_f / delta**3 + ell * Delta_f / epsilon**2)
            eta = 1 / (4 * ell)
            mu_2 = math.sqrt(3 * epsilon / (4 * rho * math.sqrt(d)))
        else:
            K = C_K * (rho**2 * Delta_f / delta**3 + d * ell * Delta_f / epsilon**2)
            eta = 1 / (8 * d * ell)
            mu_2 = min(math.sqrt(3 * epsilon / (4 * rho * d)), epsilon / (16 * math.sqrt(d) * ell))
        rounded_up(K)
    return Theorem4(
        ell=ell, rho=rho, Delta_f=Delta_f, d=d, epsilon=epsilon, delta=delta, p=p, option=which, C_K=C_K,
        mu_check=mu_1, mu_step=mu_2, eta=eta, K=K,
    )
