"""ZO-NCF-Deterministic: a Chebyshev polynomial of the Hessian, grown until a negative direction stands out.

The paper's radii are 1e-16 to 1e-24 at its own settings, below what float64 resolves anywhere but at the origin. The
recurrence is linear, so here the direction is kept at length one, its length is carried as a logarithm, differences are
taken at a step that precision allows, and `|x_t - x_0| >= r` becomes growth by the factor r / sigma. Up to
truncation this is the same algorithm. The literal radii remain available (`theory.settings.theorem_2`).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._array import Vector, like, to_numpy
from ..derivatives import product_errors
from ..derivatives.measure import LocalModel
from ..derivatives.paper import hessian_vector
from ..derivatives.products import HessianProducts
from ..derivatives.settings import STEPS
from ..derivatives.steps import require_resolved
from ..errors import InvalidSetting
from ..interval import Interval
from ..tolerances import require_positive
from .finding import Finder, Finding
from .obstacle import Obstacle, after
from .overlap import MOST, Thresholds, random_starts
from .settings import CHEBYSHEV


@dataclass(frozen=True, kw_only=True)
class ZONCFDeterministic(Finder):
    """ZO-NCF-Deterministic, Algorithm 3 of Zhang, Xiong & Gu (2022).

    Deviation: T is the T_1 of the proof, (log(4d/p) + C_1 log(d/p)) / log(gamma), because "C_1 = 1" in the printed T
    misses; a direction is confirmed before it is returned; and ⊥ is a certificate only if the inequality

        |<u, xi>| <= |x_t - x_0| / T_t(a) + (2 / ell) sum_s |e_s| T_{t-s}(a) / T_t(a),    a = 1 + delta / (4 ell),

    which holds for every eigenvector u below -delta and any errors e_s of the products with y_s, puts the overlap of u
    with the random start below what chance allows. Otherwise the answer is undecided.

    Queries: (2*d + 2) * T, and 6*d + 6 for two looks at the error, besides the local model; 4*d * T with literal
    radii
    """

    ell: float | None = None
    """Smoothness. An ell too small is noticed (a product exceeds it) and raised; None starts from the diagonal."""
    C1: float = 1.0
    """log(r / sigma) = C_1 log(d / p)."""
    T: int | None = None
    """Iterations; None takes them from the proof."""
    perturbation: float | None = None
    """The literal sigma: step off x by this much, and difference at the iterates themselves. It needs rho."""
    rho: float | None = None
    """Lipschitz constant of the Hessian, for the truncation error of literal radii (Lemma 1)."""

    name = "chebyshev"

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("ell", "perturbation", "rho"):
            if getattr(self, field) is not None:
                require_positive(field, getattr(self, field))
        if self.perturbation is not None and self.rho is None:
            raise InvalidSetting(f"perturbation={self.perturbation!r} needs rho, to bound the error of its products")
        if self.ell is not None and self.delta > self.ell:
            raise InvalidSetting(
                f"delta={self.delta!r} must lie in (0, ell={self.ell!r}] (Theorem 2 assumes delta <= ell)"
            )

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        ell = self.ell or max(2 * float(np.max(np.abs(local.diagonal.value))), 2 * self.delta)
        ell += max(0.0, -shift)
        if self.perturbation is not None:
            require_resolved("perturbation", self.perturbation, local.x, local.f0, ell)
        starts = random_starts(rng, local.d)                                    # kept: a new try is no new chance
        finding, tried = self.undecided("nothing was tried"), set()
        products = self.products(local, shift)
        for _ in range(STEPS.attempts):
            tried.add((products.order, products.factor))
            finding, obstacle, ell = self._attempt(products, ell, starts)
            if obstacle is Obstacle.NONE:
                return finding
            products = after(products, obstacle) if obstacle is not Obstacle.ELL else products
            if products.too_long or (obstacle is not Obstacle.ELL and (products.order, products.factor) in tried):
                break
        return finding

    def _attempt(self, products: HessianProducts, ell: float, starts: Vector) -> tuple[Finding, Obstacle, float]:
        """As many runs as the errors of the products make necessary; the obstacle; and a better ell."""
        local, shift = products.local, products.shift
        limits, r, done, bound = Thresholds(local.d, self.failure), 1, 0, 0.0
        while done < r:
            run = _Chebyshev(self, products, ell, starts[done])
            if not done and (obstacle := run.rehearse(limits.of(MOST))) is not Obstacle.NONE:
                return self.undecided(f"products are too inexact: {obstacle.value}"), obstacle, ell
            suspect = run.grow()
            if suspect is not None and suspect.exceeded is not None:
                return self.undecided(f"ell={ell:.3g} is too small"), Obstacle.ELL, 1.5 * suspect.exceeded
            if suspect is not None:
                finding = self.confirm(local, suspect.direction, shift, f"growth after {run.t} Chebyshev steps")
                if finding.found:
                    return finding, Obstacle.NONE, ell
                return finding, Obstacle.TRUNCATION if run.truncated else Obstacle.ELL, 2 * ell
            bound, done = max(bound, run.bound()), done + 1
            fewest = limits.fewest(partial(operator.lt, bound))
            if fewest is None:
                reason = f"products are too inexact: overlap bound {bound:.2g} at delta={self.delta:.3g}"
                return self.undecided(reason), Obstacle.TRUNCATION if run.truncated else Obstacle.NOISE, ell
            r = max(r, fewest)
        reason = f"{run.t} Chebyshev steps, ell={ell:.3g}, {r} start{'s' if r > 1 else ''}, overlap at most {bound:.2g}"
        return self.certified(Interval(shift - self.delta, math.inf), reason), Obstacle.NONE, ell

    def products(self, local: LocalModel, shift: float) -> HessianProducts:
        """The products the recurrence is made of."""
        return HessianProducts(local, order=2, shift=shift)

    def iterations(self, d: int, ell: float) -> int:
        """T_1 of the proof of Theorem 2."""
        if self.T is not None:
            return self.T
        growth = math.log(4 * d / self.failure) + self.C1 * math.log(d / self.failure)
        return math.ceil(growth / math.acosh(1 + self.delta / (4 * ell)))


@dataclass
class _Suspect:
    direction: Vector
    exceeded: float | None = None


class _Chebyshev:
    """One run of the recurrence from a random unit vector."""

    def __init__(self, finder: ZONCFDeterministic, products: HessianProducts, ell: float, xi: Vector) -> None:
        self.finder, self.products, self.ell, self.xi = finder, products, ell, xi
        self.t = 0
        self.truncated = False

    def rehearse(self, threshold: float) -> Obstacle:
        """Whether a product is already too inexact for any number of starts to certify.

        An error e in every product adds about 2 e / ell / acosh(a) to the bound.

        Queries: 4*d + 4
        """
        if self.finder.perturbation is not None:
            return Obstacle.NONE
        truncation = product_errors.against_far_steps(self.products, self.xi, self.products(self.xi).image).error
        self.truncated = truncation > 2 * self.products.noise()
        self.allowed = threshold * self.ell * math.acosh(1 + self.finder.delta / (4 * self.ell)) / 2
        if truncation + self.products.noise() <= self.allowed:
            return Obstacle.NONE
        return Obstacle.TRUNCATION if self.truncated else Obstacle.NOISE

    def grow(self) -> _Suspect | None:
        """Lines 3 to 11: None is ⊥."""
        finder, ell = self.finder, self.ell
        d = len(self.xi)
        threshold = finder.C1 * math.log(d / finder.failure)                    # log(r / sigma)
        previous, y, log = np.zeros(d), self.xi, 0.0                            # y_0 = 0, y_1 = xi (times e^log)
        a = 1 + finder.delta / (4 * ell)
        self.angle = math.acosh(a)
        self.lengths: list[float] = []                                          # log |y_s|
        self.critical, self.image = np.zeros(d), np.zeros(d)
        for self.t in range(1, finder.iterations(d, ell) + 1):
            length = float(np.linalg.norm(y))
            product = length * self._product(y / length, log + math.log(length))
            if float(np.linalg.norm(product)) > CHEBYSHEV.excess * ell * length:
                return _Suspect(y, float(np.linalg.norm(product)) / length)
            self.lengths.append(log + math.log(length))
            weight = math.exp(log - self.t * self.angle)                        # T_{t-s} / T_t is about gamma^-s
            self.critical, self.image = self.critical + weight * y, self.image + weight * product
            m = -product / ell + (1 - 3 * finder.delta / (4 * ell)) * y         # M(y_t)
            previous, y = y, 2 * m - previous                                   # y_{t+1} = 2 M(y_t) - y_{t-1}
            z = y - m                                                           # x_{t+1} - x_0
            size = float(np.linalg.norm(z))
            self.final = log + math.log(max(size, 1e-300))
            if self.final >= threshold:                                         # |x_{t+1} - x_0| >= r
                return _Suspect(z)
            if length > 1e100:
                previous, y, log = previous / length, y / length, log + math.log(length)
        return None

    def _product(self, q: Vector, log_length: float) -> Vector:
        finder, local = self.finder, self.products.local
        if finder.perturbation is None:
            return self.products(q).image
        length = finder.perturbation * math.exp(log_length)                     # mu_t = |y_t|, literally
        step = like(length * q * local.unit, local.x)
        product = to_numpy(hessian_vector(local.f.tagged("curvature"), local.x, step, length)).astype(np.float64)
        return product / length - self.products.shift * q

    def bound(self) -> float:
        """The inequality of the class docstring, with the errors of the products as measured."""
        t, s = self.t, np.arange(1.0, self.t + 1)
        log_t = _log_cosh(np.array([t * self.angle]))[0]
        ratio = np.exp(np.array(self.lengths) + _log_cosh((t - s) * self.angle) - log_t)
        error = self._errors()
        return math.exp(self.final - log_t) + 2 * float(np.sum(ratio * error)) / self.ell

    def _errors(self) -> Vector:
        finder, products = self.finder, self.products
        if finder.perturbation is None:
            size = float(np.linalg.norm(self.critical))
            truncation = product_errors.against_far_steps(products, self.critical / size, self.image / size).error
            self.truncated = truncation > 2 * products.noise()
            return np.full(self.t, products.noise() + truncation)
        d = products.local.d
        length: Vector = finder.perturbation * np.exp(np.array(self.lengths))   # the literal steps
        self.truncated = True
        lemma_1 = (finder.rho or math.inf) * (0.5 + math.sqrt(d) / 3) * length     # with mu = |v|
        return lemma_1 + 2 * products.local.noise.norm(d) / length**2


def _log_cosh(v: Vector) -> Vector:
    """log cosh, where cosh would overflow."""
    return v + np.log1p(np.exp(-2 * v)) - math.log(2)
