"""Theorem 8 (Theorem 6 in the text, where it is informal) and Theorem 9: ZO-SPIDER-NCF and ZO-SPIDER-Coord."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from .._array import Array
from ..curvature import SampledFinder, ZONCFOnline
from ..methods import ZOSPIDER, ZOSPIDERNCF
from .assumptions import (
    Length,
    Resolvable,
    representable,
    require_between,
    require_delta,
    require_dimension,
    require_failure,
    require_positive,
    rounded_down,
    rounded_up,
    smoothing,
)


@dataclass(frozen=True, kw_only=True)
class Spiders(Resolvable):
    """What the two theorems of ZO-SPIDER have in common."""

    ell: float
    """A Lipschitz constant of the gradient."""
    rho: float
    """A Lipschitz constant of the Hessian."""
    sigma: float
    """A bound on the deviation of every component's gradient (Assumption 2), not only of their mean square."""
    Delta_f: float
    """f(x_0) less the least value."""
    d: int
    """The number of variables."""
    epsilon: float
    """The gradient norm to reach."""
    n_0: float
    """The free parameter n_0."""
    as_proved: bool
    """With the constants of the proof, not those of the statement."""
    S1: float
    """16 sigma^2 / epsilon^2."""
    S2: float
    """16 sigma / (epsilon n_0)."""
    eta: float
    """The length of every step, epsilon / (ell n_0)."""
    q: float
    """sigma n_0 / epsilon. Rounded up it is safe: the proof needs at most q steps after a fresh start."""
    K_0: float
    """By when it ends."""
    epsilon_tilde: float
    """The norm of the estimated gradient at which it stops."""
    mu: float
    """(epsilon epsilon_tilde / (8 q^2 rho^2 d))^(1/4)."""

    def lengths(self) -> tuple[Length, ...]:
        return smoothing("mu", self.mu, self.epsilon, self.d), Length("eta", self.eta)

    def _spider(self, K: int | None) -> ZOSPIDER:
        return ZOSPIDER(
            epsilon_tilde=self.epsilon_tilde,
            eta=self.eta,
            S1=rounded_up(self.S1),
            S2=rounded_up(self.S2),
            q=rounded_up(self.q),
            mu=self.mu,
            K=K,
        )


@dataclass(frozen=True, kw_only=True)
class Theorem8(Spiders):
    """The settings of ZO-SPIDER-NCF, Algorithm 8 of Zhang, Xiong & Gu (2022).

    epsilon_tilde = 10 epsilon log(128 (K_0 + 1)), K_0 = J script_K.
    """

    delta: float
    """The negative curvature that is still accepted."""
    script_K: float
    """delta ell n_0 / (rho epsilon): steps between two searches, and mini-steps of an escape."""
    J: int
    """8 (floor(max(12 rho^2 Delta_f / delta^3, 4 rho Delta_f / (delta epsilon))) + 1)."""
    failure: float
    """What line 2 gives each search: 1 / (16 J) as printed, and `failure_proof` with `as_proved`."""
    failure_proof: float
    """1 / (32 (J + 1)): the proof (Lemma 27) spends 1/32 on all searches, and there are J + 1."""

    theorem: ClassVar[str] = "Theorem 8"

    @property
    def promise(self) -> tuple[float, float]:
        """The (gradient norm, curvature) of what is returned: (3 epsilon_tilde, 2 delta)."""
        return 3 * self.epsilon_tilde, 2 * self.delta

    @property
    def probability(self) -> float:
        """With which the promise holds."""
        return 3 / 4

    def method(
        self, *, finder: SampledFinder | None = None, x: Array | None = None, magnitude: float = 0.0
    ) -> ZOSPIDERNCF:
        """The method, with the float-safe ZO-NCF-Online unless another finder is given.

        Finders spread one failure probability over all searches of a run, and so this one is given J + 1 times that of
        one search. With x, and f of this magnitude there, lengths that cannot be resolved raise `BelowPrecision`.
        """
        self.resolved(x, magnitude)
        return ZOSPIDERNCF(
            delta=self.delta,
            rho=self.rho,
            spider=self._spider(None),
            finder=finder or ZONCFOnline(delta=self.delta, failure=(self.J + 1) * self.failure, ell=self.ell),
            J=self.J,
        )


@dataclass(frozen=True, kw_only=True)
class Theorem9(Spiders):
    """The settings of ZO-SPIDER-Coord, Algorithm 9 of Zhang, Xiong & Gu (2022): a first-order point.

    epsilon_tilde = 10 epsilon log(4 (K_0 + 1) / p).
    """

    p: float
    """The probability of failure."""
    K_0_proof: float
    """floor(4 ell n_0 Delta_f / epsilon^2) + 2, what the proof uses; the statement has no Delta_f in K_0."""

    theorem: ClassVar[str] = "Theorem 9"

    @property
    def promise(self) -> tuple[float, float]:
        """The (gradient norm, curvature) of what is returned: (3 epsilon_tilde, nothing)."""
        return 3 * self.epsilon_tilde, math.inf

    @property
    def probability(self) -> float:
        """With which the promise holds."""
        return 1 - self.p

    def method(self, *, x: Array | None = None, magnitude: float = 0.0) -> ZOSPIDER:
        """The method. With x, and f of this magnitude there, lengths that cannot be resolved raise `BelowPrecision`."""
        self.resolved(x, magnitude)
        return self._spider(rounded_up(self.K_0))


def theorem_8(
    *,
    ell: float,
    rho: float,
    sigma: float,
    Delta_f: float,
    d: int,
    epsilon: float,
    delta: float,
    n_0: float = 1.0,
    as_proved: bool = False,
) -> Theorem8:
    """The literal settings of Theorem 8 (ZO-SPIDER-NCF), Zhang, Xiong & Gu (2022).

    `n_0` in [1, 2 sigma / epsilon] is free. Algorithm 8 gives each search 1 / (16 J), and the proof less; `as_proved`
    takes the latter.
    """
    (delta,) = require_positive("Theorem 8", delta=delta)
    ell, rho, sigma, Delta_f, epsilon, n_0 = _given("Theorem 8", ell, rho, sigma, Delta_f, epsilon, n_0)
    d = require_dimension("Theorem 8", d)
    require_delta("Theorem 8", delta, ell)
    with representable("Theorem 8"):
        script_K = delta * ell * n_0 / (rho * epsilon)
        J = 8 * (rounded_down(max(12 * rho**2 * Delta_f / delta**3, 4 * rho * Delta_f / (delta * epsilon))) + 1)
        K_0 = J * script_K
        epsilon_tilde = 10 * epsilon * math.log(128 * (K_0 + 1))
        q = sigma * n_0 / epsilon
        failure_proof = 1 / (32 * (J + 1))
        return Theorem8(
            ell=ell, rho=rho, sigma=sigma, Delta_f=Delta_f, d=d, epsilon=epsilon, n_0=n_0, as_proved=as_proved,
            S1=16 * sigma**2 / epsilon**2,
            S2=16 * sigma / (epsilon * n_0),
            eta=epsilon / (ell * n_0),
            q=q,
            K_0=K_0,
            epsilon_tilde=epsilon_tilde,
            mu=(epsilon * epsilon_tilde / (8 * q**2 * rho**2 * d)) ** 0.25,
            delta=delta, script_K=script_K, J=J,
            failure=failure_proof if as_proved else 1 / (16 * J),
            failure_proof=failure_proof,
        )


def theorem_9(
    *,
    ell: float,
    rho: float,
    sigma: float,
    Delta_f: float,
    d: int,
    epsilon: float,
    p: float,
    n_0: float = 1.0,
    as_proved: bool = False,
) -> Theorem9:
    """The literal settings of Theorem 9 (ZO-SPIDER-Coord with high probability), Zhang, Xiong & Gu (2022).

    `n_0` in [1, 2 sigma / epsilon] is free. The printed K_0 = floor(4 ell n_0 / epsilon^2) + 2 lacks Delta_f, which the
    proof has; `as_proved` takes the latter, and epsilon_tilde and mu follow from it.
    """
    ell, rho, sigma, Delta_f, epsilon, n_0 = _given("Theorem 9", ell, rho, sigma, Delta_f, epsilon, n_0)
    d, p = require_dimension("Theorem 9", d), require_failure("Theorem 9", p)
    with representable("Theorem 9"):
        K_0_proof = float(rounded_down(4 * ell * Delta_f * n_0 / epsilon**2) + 2)
        K_0 = K_0_proof if as_proved else float(rounded_down(4 * ell * n_0 / epsilon**2) + 2)
        epsilon_tilde = 10 * epsilon * math.log(4 * (K_0 + 1) / p)
        q = sigma * n_0 / epsilon
        return Theorem9(
            ell=ell, rho=rho, sigma=sigma, Delta_f=Delta_f, d=d, epsilon=epsilon, n_0=n_0, as_proved=as_proved,
            S1=16 * sigma**2 / epsilon**2,
            S2=16 * sigma / (epsilon * n_0),
            eta=epsilon / (ell * n_0),
            q=q,
            K_0=K_0,
            epsilon_tilde=epsilon_tilde,
            mu=(epsilon * epsilon_tilde / (8 * q**2 * rho**2 * d)) ** 0.25,
            p=p, K_0_proof=K_0_proof,
        )


def _given(theorem: str, *values: float) -> list[float]:
    """The constants of both theorems, with n_0 between its bounds."""
    names = ("ell", "rho", "sigma", "Delta_f", "epsilon", "n_0")
    checked = require_positive(theorem, **dict(zip(names, values, strict=True)))
    _, _, sigma, _, epsilon, n_0 = checked
    require_between(theorem, "n_0", n_0, 1.0, 2 * sigma / epsilon, "[1, 2 sigma / epsilon]")
    return checked
