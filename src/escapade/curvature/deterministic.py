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

from .._array import like, to_numpy
from ..derivatives.measure import Interval, Neighbourhood, Vector
from ..derivatives.products import Products, hessian_vector
from ..derivatives.steps import require_resolved
from ..errors import InvalidSetting
from .finding import Finder, Finding, require_positive
from .starts import MOST, Starts

ATTEMPTS = 12
"""Changes of ell, step length or order of the differences before the finder gives up."""


@dataclass(frozen=True, kw_only=True)
class ZONCFDeterministic(Finder):
    """ZO-NCF-Deterministic, Algorithm 3 of Zhang, Xiong & Gu (2022).

    Deviation: T is the T_1 of the proof, (log(4d/p) + C_1 log(d/p)) / log(gamma), because "C_1 = 1" in the printed T
    misses; a direction is confirmed before it is returned; and ⊥ is a certificate only if the inequality

        |<u, xi>| <= |x_t - x_0| / T_t(a) + (2 / ell) sum_s |e_s| T_{t-s}(a) / T_t(a),    a = 1 + delta / (4 ell),

    which holds for every eigenvector u below -delta and any errors e_s of the products with y_s, puts the overlap of u
    with the random start below what chance allows. Otherwise the answer is undecided.

    Queries: (2*d + 2) * T, and 6*d + 6 for two looks at the error, besides the neighbourhood; 4*d * T with literal
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

    def at(self, here: Neighbourhood, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        ell = self.ell or max(2 * float(np.max(np.abs(here.diagonal()[0]))), 2 * self.delta)
        ell += max(0.0, -shift)
        if self.perturbation is not None:
            require_resolved("perturbation", self.perturbation, here.x, here.f0, ell)
        starts: Vector = rng.standard_normal((MOST, here.d))
        starts /= np.linalg.norm(starts, axis=1, keepdims=True)                 # kept: a new try is no new chance
        finding, tried = self.undecided("nothing was tried"), set()
        products = self.products(here, shift)
        for _ in range(ATTEMPTS):
            tried.add((products.order, products.factor))
            finding, obstacle, ell = self._attempt(products, ell, starts)
            if not obstacle:
                return finding
            products = products.after(obstacle) if obstacle != "ell" else products
            if products.too_long or (obstacle != "ell" and (products.order, products.factor) in tried):
                break
        return finding

    def _attempt(self, products: Products, ell: float, starts: Vector) -> tuple[Finding, str, float]:
        """As many runs as the errors of the products make necessary; what stood in the way; and a better ell."""
        here, shift = products.here, products.shift
        limits, r, done, bound = Starts(here.d, self.failure), 1, 0, 0.0
        while done < r:
            run = _Chebyshev(self, products, ell, starts[done])
            if not done and (obstacle := run.rehearse(limits.threshold(MOST))):
                return self.undecided(f"products are too inexact: {obstacle}"), obstacle, ell
            suspect = run.grow()
            if suspect is not None and suspect.exceeded is not None:
                return self.undecided(f"ell={ell:.3g} is too small"), "ell", 1.5 * suspect.exceeded
            if suspect is not None:
                finding = self.confirm(here, suspect.direction, shift, f"growth after {run.t} Chebyshev steps")
                if finding.found:
                    return finding, "", ell
                return finding, "truncation" if run.truncated else "ell", 2 * ell
            bound, done = max(bound, run.bound()), done + 1
            fewest = limits.fewest(partial(operator.lt, bound))
            if fewest is None:
                reason = f"products are too inexact: overlap bound {bound:.2g} at delta={self.delta:.3g}"
                return self.undecided(reason), "truncation" if run.truncated else "noise", ell
            r = max(r, fewest)
        reason = f"{run.t} Chebyshev steps, ell={ell:.3g}, {r} start{'s' if r > 1 else ''}, overlap at most {bound:.2g}"
        return self.certified(Interval(shift - self.delta, math.inf), reason), "", ell

    def products(self, here: Neighbourhood, shift: float) -> Products:
        """The products the recurrence is made of."""
        return Products(here, np.ones(here.d), 2, 1.0, shift)

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

    def __init__(self, finder: ZONCFDeterministic, products: Products, ell: float, xi: Vector) -> None:
        self.finder, self.products, self.ell, self.xi = finder, products, ell, xi
        self.t = 0
        self.truncated = False

    def rehearse(self, threshold: float) -> str:
        """Whether a product is already too inexact for any number of starts to certify: "" or the obstacle.

        An error e in every product adds about 2 e / ell / acosh(a) to the bound.

        Queries: 4*d + 4
        """
        if self.finder.perturbation is not None:
            return ""
        truncation = self.products.truncation(self.xi, self.products(self.xi))
        self.truncated = truncation > 2 * self.products.noise()
        self.allowed = threshold * self.ell * math.acosh(1 + self.finder.delta / (4 * self.ell)) / 2
        if truncation + self.products.noise() <= self.allowed:
            return ""
        return "truncation" if self.truncated else "noise"

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
            if float(np.linalg.norm(product)) > 1.001 * ell * length:
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
        finder, here = self.finder, self.products.here
        if finder.perturbation is None:
            return self.products(q)
        length = finder.perturbation * math.exp(log_length)                     # mu_t = |y_t|, literally
        step = like(length * q * here.unit, here.x)
        product = to_numpy(hessian_vector(here.f.tagged("curvature"), here.x, step, length)).astype(np.float64)
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
            truncation = products.truncation(self.critical / size, self.image / size)
            self.truncated = truncation > 2 * products.noise()
            return np.full(self.t, products.noise() + truncation)
        d = products.here.d
        length: Vector = finder.perturbation * np.exp(np.array(self.lengths))   # the literal steps
        self.truncated = True
        lemma_1 = (finder.rho or math.inf) * (0.5 + math.sqrt(d) / 3) * length     # with mu = |v|
        return lemma_1 + 2 * products.here.noise.norm(d) / length**2


def _log_cosh(v: Vector) -> Vector:
    """log cosh, where cosh would overflow."""
    return v + np.log1p(np.exp(-2 * v)) - math.log(2)
