"""ZO-NCF-Online as it is printed: one sample a product, radii and counts of Theorem 1, the random index s.

`online.py` and `online_weak.py` have the same two algorithms as they are run by default, on normalised iterates and
minibatches. Here nothing is changed but what the printed form leaves open; where float numbers cannot resolve its radii
`BelowPrecision` is raised. `theory.settings.theorem_1(...).finder()` makes this finder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._array import Array, Vector, dot, like, limits, norm, to_numpy
from .._random import sphere
from ..derivatives.paper import product_values
from ..derivatives.steps import product_error
from ..errors import BelowPrecision, BudgetExhausted, InvalidSetting, MissingCapability
from ..interval import Interval
from ..oracle import Oracle
from ..tolerances import require_positive
from .finding import Finding, Outcome
from .online import SampledFinder

SPREAD = 2.0
"""Two standard deviations of log |x_t - x_0|: T steps of size eta ell spread it by eta ell sqrt(T), which line 1 of
Algorithm 1 makes 1."""


@dataclass(frozen=True, kw_only=True)
class LiteralOnline(SampledFinder):
    """ZO-NCF-Online, Algorithm 2 of Zhang, Xiong & Gu (2022), with the settings of Theorem 1.

    The constants that Theta hides: log(1/p) weak runs, the m that the proof of Lemma 3 needs (with a constant of one
    its error is 2 delta, not delta/4), and |v'| = delta / (16 d rho), the most that Lemma 3 allows.

    Deviation: ⊥ is a certificate only where the paper's argument for it can hold, and undecided elsewhere: if T steps
    are enough to grow by r / sigma at curvature -delta (they are not with C0 = 1), and if no direction was turned
    down with -3 delta/4 < z_j <= -delta/2, which Lemma 3 allows a good one to show.

    Queries: 4*d * T for each of log(1/p) weak runs, and 4*d * m for each direction checked
    """

    ell: float
    """A Lipschitz constant of the gradient."""
    rho: float
    """A Lipschitz constant of the Hessian."""
    C0: float = 1.0
    """The constant C_0 of Algorithm 1."""

    name = "online"

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("ell", "rho", "C0"):
            require_positive(field, getattr(self, field))
        if self.delta > self.ell:
            raise InvalidSetting(
                f"delta={self.delta!r} must lie in (0, ell={self.ell!r}] (Theorem 1 assumes delta <= ell)"
            )
        if self.x_scale is not None:
            raise InvalidSetting(f"x_scale={self.x_scale!r}: literal radii are lengths in x; pass f as a function of y")

    def __call__(self, f: Oracle, x: Array, rng: np.random.Generator) -> Finding:
        if f.samples is None:
            raise MissingCapability("the literal online finder needs samples: pass samples=n or samples='stream'")
        try:
            return self.online(f.tagged("curvature"), x, rng)
        except BudgetExhausted as stop:
            return self.undecided(str(stop))

    def online(self, f: Oracle, x_0: Array, rng: np.random.Generator) -> Finding:
        """Algorithm 2."""
        delta, rho, d, log = self.delta, self.rho, x_0.shape[0], math.log(1 / self.failure)
        turned_down = [math.inf]
        for _ in range(math.ceil(log)):                                         # line 1
            v_j = self.weak(f, x_0, rng)                                        # line 2
            if v_j is None:                                                     # line 3: v_j = ⊥
                continue
            m = math.ceil((32 * (delta / 16 + self.ell) / (3 * delta)) ** 2 * log)
            v = delta / (16 * d * rho) * v_j                                    # line 4: v'
            f_S = f.on(f.draw(m, rng, replace=True))                            # line 5
            z_j = dot(v, self.product(f_S, x_0, v, norm(v))) / norm(v) ** 2     # line 6
            if z_j <= -3 * delta / 4:                                           # line 7
                reason = f"the literal weak finder left the ball, and {m} samples show {z_j:.3g} along its direction"
                return Finding(Outcome.FOUND, v_j, Interval(-math.inf, z_j + delta / 4), reason, self.name)
            turned_down.append(z_j)
        return self.bottom(d, min(turned_down))                                 # v = ⊥

    def weak(self, f: Oracle, x_0: Array, rng: np.random.Generator) -> Array:
        """Algorithm 1; z_t stands for x_t - x_0, and None for ⊥."""
        eta, T, perturbation, radius = self.line_1(x_0.shape[0])                # line 1
        z = perturbation * sphere(rng, x_0)                                     # lines 2, 3: x_1
        z_s = z
        for t in range(1, T + 1):                                               # line 4
            if rng.random() * t < 1:                                            # x_t takes the place of x_s with
                z_s = z                                                         # probability 1/t: s is uniform in [t]
            mu_t = norm(z)                                                      # line 5
            f_i = f.on(f.draw(1, rng, replace=True))
            z = z - eta * self.product(f_i, x_0, z, mu_t)                       # line 6
            if norm(z) >= radius:                                               # line 7
                return z_s / norm(z_s)
        return None

    def line_1(self, d: int) -> tuple[float, int, float, float]:
        """eta, T, sigma and r of Algorithm 1."""
        delta, ell, rho, C0, log = self.delta, self.ell, self.rho, self.C0, math.log(100 * d)
        eta = delta / (C0**2 * ell**2 * log)
        T = math.ceil(C0**2 * log / (eta * delta))
        perturbation = eta**2 * delta**3 / rho * (100.0 * d) ** (-3 * C0)
        radius = eta**2 * delta**3 / rho * (100.0 * d) ** (-2 * C0)             # (100d)^C_0 sigma
        return eta, T, perturbation, radius

    def product(self, f_i: Oracle, x_0: Array, v: Array, mu: float) -> Array:
        """H_{f_i}(x_0) v, if float numbers resolve it.

        Queries: 4*d
        """
        values = product_values(f_i, x_0, v, mu)
        a, b, c, e = values
        self._require_resolved(f_i, x_0, mu, values)
        return like((a - b + c - e) / (2 * mu), x_0)

    def _require_resolved(self, f_i: Oracle, x_0: Array, mu: float, values: Vector) -> None:
        """The product may be wrong by delta/16 of |v|, as much as Lemma 3 leaves to truncation."""
        (eps, least), d = limits(x_0), x_0.shape[0]
        eps = max(eps, f_i.precision)
        size, top = float(np.max(np.abs(values))), float(np.max(np.abs(to_numpy(x_0))))
        slope = float(np.max(np.abs(values[0] - values[1]))) / (2 * mu) if mu > 0 else math.inf
        value = eps * (size + least + slope * top)  # an error of f, and of f where x was rounded to
        value += 3 * float(self.noise) if isinstance(self.noise, int | float | np.number) else 0.0
        error = product_error(value, mu, mu, self.rho, d) if mu**2 > 0 else math.inf
        error += math.sqrt(d) * self.ell * eps * top / mu if mu > 0 else 0.0
        if not error <= self.delta / 16:
            raise BelowPrecision(
                f"perturbation={self.line_1(d)[2]:.3g}: products at a distance of {mu:.3g} are wrong by {error:.2g}, "
                f"more than delta/16={self.delta / 16:.2g}, where |x| = {top:.3g} and |f_i| = {size:.3g}; lower "
                f"C0={self.C0:g}, or drop the literal radii (ZONCFOnline is normalised and needs none)"
            )

    def bottom(self, d: int, lowest: float) -> Finding:
        """What ⊥ says, where the least z_j that was turned down is `lowest`."""
        eta, T, _, _ = self.line_1(d)
        runs = f"{math.ceil(math.log(1 / self.failure))} literal weak runs of {T} steps, ell={self.ell:g} and "
        runs += f"rho={self.rho:g} as given"
        curvature = Interval(-self.delta, lowest + self.delta / 4)
        # Growth by r / sigma from a start with an overlap of 1 / (3 sqrt(d)): less than a third of all have less.
        needed = self.C0 * math.log(100 * d) + math.log(3 * math.sqrt(d)) + SPREAD
        if T * math.log1p(eta * self.delta) < needed:
            reason = f"{runs}; at curvature -delta they are too few with C0={self.C0:g}: raise it"
            return self.undecided(reason, Interval(-math.inf, curvature.upper))
        if lowest <= -self.delta / 2:
            reason = f"{runs}; a direction was turned down that showed {lowest:.3g}, as a good one may"
            return self.undecided(reason, Interval(-math.inf, curvature.upper))
        return self.certified(curvature, runs)

