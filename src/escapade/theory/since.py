"""Methods that came after the paper: settings of the theorems of Zhang & Gu (2023), and query complexities.

Read was the version under review at ICLR 2023, without its appendix. What it hides is an argument: `c`, of which it
says only that it is a constant, and `C_mu`, in the difference steps, each one unless given. The settings of Ren,
Tang & Li (2023) could not be read, and are not here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from .._array import Array
from ..errors import InvalidSetting
from ..methods import ZOAGDNCF, ZOPerturbedAGD
from .assumptions import (
    Length,
    Resolvable,
    representable,
    require_dimension,
    require_failure,
    require_positive,
    rounded_up,
    smoothing,
)
from .complexity import Constants, Row


@dataclass(frozen=True, kw_only=True)
class ZhangGu(Resolvable):
    """What the two theorems have in common: eta = 1 / (4 ell), theta = 1 / (4 sqrt(kappa)), gamma = theta^2 / eta and
    s = gamma / (4 rho), with kappa = ell / sqrt(rho epsilon)."""

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
    p: float
    """The probability of failure."""
    C_mu: float
    """The hidden constant of the difference steps."""
    kappa: float
    """ell / sqrt(rho epsilon)."""
    eta: float
    """The step size."""
    theta: float
    """One less the momentum."""
    gamma: float
    """The curvature at which momentum is given up."""
    s: float
    """The step of the exploitation of negative curvature."""
    T: float
    """Iterations between perturbations."""
    r: float
    """Radius of the perturbation."""
    f_thres: float
    """The least gain of an escape."""
    mu_check: float
    """C_mu epsilon^(1/2) / d^(1/4), or sqrt(3 epsilon / (2 rho sqrt(d))) if that is less, for Proposition 1."""
    mu_step: float
    """C_mu epsilon^(13/8) / d^(1/2)."""

    @property
    def iterations(self) -> int:
        """T as a count."""
        return rounded_up(self.T)

    @property
    def promise(self) -> tuple[float, float]:
        """The (gradient norm, curvature) of one of the iterates: (epsilon, sqrt(rho epsilon))."""
        return self.epsilon, math.sqrt(self.rho * self.epsilon)

    @property
    def probability(self) -> float:
        """With which the promise holds."""
        return 1 - self.p

    def lengths(self) -> tuple[Length, ...]:
        return (
            smoothing("mu_check", self.mu_check, self.epsilon, self.d),
            smoothing("mu_step", self.mu_step, self.epsilon, self.d),
            Length("s", self.s),
            Length("r", self.r),
        )

    def _given(self) -> dict[str, Any]:
        names = ("epsilon", "eta", "theta", "gamma", "s", "r", "f_thres", "mu_check")
        return {name: getattr(self, name) for name in names} | {"mu": self.mu_step}


@dataclass(frozen=True, kw_only=True)
class ZhangGu1(ZhangGu):
    """The settings of Algorithm 1, zeroth-order perturbed accelerated gradient descent."""

    c: float
    """The hidden constant of its logarithm."""
    chi: float
    """max(1, log(d ell Delta_f / (rho epsilon p)))."""

    theorem: ClassVar[str] = "Theorem 1, Zhang & Gu"

    def method(self, *, x: Array | None = None, magnitude: float = 0.0) -> ZOPerturbedAGD:
        """The method; with x, and f of this magnitude there, lengths that cannot be resolved raise `BelowPrecision`."""
        self.resolved(x, magnitude)
        return ZOPerturbedAGD(T=self.iterations, **self._given())


@dataclass(frozen=True, kw_only=True)
class ZhangGu2(ZhangGu):
    """The settings of Algorithm 3, the same with accelerated negative curvature finding."""

    delta_0: float
    """What one search may fail with, p / (384 Delta_f) sqrt(epsilon^3 / rho)."""
    step: float
    """1/4 sqrt(epsilon / rho)."""

    theorem: ClassVar[str] = "Theorem 2, Zhang & Gu"

    def lengths(self) -> tuple[Length, ...]:
        seen = self.promise[1] * self.r  # what a curvature of -sqrt(rho epsilon) makes of the gradient at distance r
        return (*super().lengths(), smoothing("mu_step of the search", self.mu_step, seen, self.d))

    def method(self, *, x: Array | None = None, magnitude: float = 0.0) -> ZOAGDNCF:
        """The method; with x, and f of this magnitude there, lengths that cannot be resolved raise `BelowPrecision`."""
        self.resolved(x, magnitude)
        return ZOAGDNCF(T=self.iterations, step=self.step, **self._given())


def zhang_gu_1(
    *, ell: float, rho: float, Delta_f: float, d: int, epsilon: float, p: float, c: float = 1.0, C_mu: float = 1.0
) -> ZhangGu1:
    """The settings of Theorem 1, Zhang & Gu (2023): Eq. (5)."""
    shared = _shared(ZhangGu1.theorem, ell, rho, Delta_f, d, epsilon, p, C_mu)
    (c,) = require_positive(ZhangGu1.theorem, c=c)
    with representable(ZhangGu1.theorem):
        chi = max(1.0, math.log(d * ell * Delta_f / (rho * epsilon * p)))
        return ZhangGu1(
            **shared, c=c, chi=chi,
            T=math.sqrt(shared["kappa"]) * chi * c,                     # sqrt(kappa) chi c
            r=shared["eta"] * epsilon * chi**-5 * c**-8,                # eta epsilon chi^-5 c^-8
            f_thres=math.sqrt(epsilon**3 / rho) * chi**-5 * c**-7,      # sqrt(epsilon^3 / rho) chi^-5 c^-7
        )


def zhang_gu_2(
    *, ell: float, rho: float, Delta_f: float, d: int, epsilon: float, p: float, C_mu: float = 1.0
) -> ZhangGu2:
    """The settings of Theorem 2, Zhang & Gu (2023): Eq. (7)."""
    shared = _shared(ZhangGu2.theorem, ell, rho, Delta_f, d, epsilon, p, C_mu)
    with representable(ZhangGu2.theorem):
        gain = math.sqrt(epsilon**3 / rho) / 384                        # Lemma 8
        delta_0 = p / Delta_f * gain
        if not 0 < delta_0 < 1:
            raise InvalidSetting(
                f"delta_0={delta_0!r}, p / (384 Delta_f) sqrt(epsilon^3 / rho), must lie in (0, 1): "
                f"Delta_f={Delta_f!r} is less than a search gains, or p={p!r} is too small ({ZhangGu2.theorem})"
            )
        logarithm = math.log(ell * math.sqrt(d) / (delta_0 * math.sqrt(rho * epsilon)))
        return ZhangGu2(
            **shared, delta_0=delta_0, f_thres=gain,
            T=32 * math.sqrt(shared["kappa"]) * logarithm,              # 32 sqrt(kappa) log(ell sqrt(d) / ...)
            r=delta_0 * epsilon / 32 * math.sqrt(math.pi / (rho * d)),  # delta_0 epsilon / 32 sqrt(pi / (rho d))
            step=math.sqrt(epsilon / rho) / 4,                          # line 9
        )


def _shared(
    theorem: str, ell: float, rho: float, Delta_f: float, d: int, epsilon: float, p: float, C_mu: float
) -> dict[str, Any]:
    """The checked arguments, and the settings that both theorems share."""
    ell, rho, Delta_f, epsilon, C_mu = require_positive(
        theorem, ell=ell, rho=rho, Delta_f=Delta_f, epsilon=epsilon, C_mu=C_mu
    )
    d, p = require_dimension(theorem, d), require_failure(theorem, p)
    if epsilon * rho > ell**2:
        raise InvalidSetting(
            f"epsilon={epsilon!r} must lie in (0, {ell**2 / rho:.6g}] ({theorem} assumes epsilon <= ell^2 / rho)"
        )
    with representable(theorem):
        kappa = ell / math.sqrt(rho * epsilon)
        eta, theta = 1 / (4 * ell), 1 / (4 * math.sqrt(kappa))
        gamma = theta**2 / eta
        longest = math.sqrt(3 * epsilon / (2 * rho * math.sqrt(d)))     # Proposition 1
        return {
            "ell": ell, "rho": rho, "Delta_f": Delta_f, "d": d, "epsilon": epsilon, "p": p, "C_mu": C_mu,
            "kappa": kappa, "eta": eta, "theta": theta, "gamma": gamma, "s": gamma / (4 * rho),
            "mu_check": min(longest, C_mu * math.sqrt(epsilon) / d**0.25),
            "mu_step": C_mu * epsilon ** (13 / 8) / math.sqrt(d),
        }


# Query complexities


def zo_perturbed_agd(c: Constants) -> float:
    """ZO-Perturbed-AGD: d log^6(d) Delta_f ell^(1/2) rho^(1/4) / epsilon^(7/4).

    Theorem 1 and, for the logarithm, Table 1, Zhang & Gu (2023).
    """
    return math.log(c.d) ** 6 * _accelerated(c)


def zo_agd_ncf(c: Constants) -> float:
    """ZO-AGD-NCF: d log(d) Delta_f ell^(1/2) rho^(1/4) / epsilon^(7/4).

    Theorem 2 and, for the logarithm, Table 1, Zhang & Gu (2023).
    """
    return math.log(c.d) * _accelerated(c)


def zo_two_point(c: Constants) -> float:
    """ZO-Two-Point: d / epsilon^2.5, for any number of directions a step.

    Abstract, Ren, Tang & Li (2023), for functions whose saddles are no stricter than all that it covers are.
    """
    return float(c.d / c.epsilon**2.5)


def _accelerated(c: Constants) -> float:
    return float(c.d * c.Delta_f * math.sqrt(c.ell) * c.rho**0.25 / c.epsilon**1.75)


SINCE: dict[str, Row] = {
    row.name: row
    for row in (
        Row(
            name="ZO-Perturbed-AGD",
            setting="deterministic",
            estimator="CoordGE",
            technique="random perturbation + momentum",
            guarantee="(epsilon, sqrt(epsilon))",
            printed="d*log(d)**6/epsilon**1.75",
            queries=zo_perturbed_agd,
        ),
        Row(
            name="ZO-AGD-NCF",
            setting="deterministic",
            estimator="CoordGE",
            technique="negative curvature finding + momentum",
            guarantee="(epsilon, sqrt(epsilon))",
            printed="d*log(d)/epsilon**1.75",
            queries=zo_agd_ncf,
        ),
        Row(
            name="ZO-Two-Point",
            setting="deterministic",
            estimator="GaussGE + noise",
            technique="random perturbation",
            guarantee="(epsilon, O(sqrt(epsilon)))",
            printed="d/epsilon**2.5",
            queries=zo_two_point,
        ),
    )
}
"""Methods that came after the paper, in the form of its table.

:meta hide-value:
"""
