"""The anytime finder: Lanczos from a random start, with an inequality that holds at every step.

After k steps from a random unit vector q, with Ritz values theta_j and recurrence norms beta_j, every eigenvector u of
an eigenvalue at or below `level` satisfies, while all theta_j lie above it,

    |<u, q>|  <=  prod_j beta_j / (theta_j - level)  +  sum_j |w_j| |g_j|,       (T_k - level) w = e_1,

whatever the errors g_j of the products. Once the right side is below what a random vector can be expected to
have (see `starts`), there is no such eigenvector, at any stopping time. No ell is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg.lapack import dstev

from .._array import norm2
from ..estimators.hessian_vector import Order, Products
from ..estimators.neighbourhood import Interval, Neighbourhood, Vector
from .finding import ANYWHERE, SOFTEST, Finder, Finding
from .starts import MOST, Starts

ATTEMPTS = 7
"""Changes of step length or order of the differences before the finder gives up."""

CHEAP = 3
"""A certificate of at most so many products is asked for again from a second start."""

UNEVEN = 32.0
"""Steps that differ by more than this are taken as the scale of the variables."""


@dataclass
class Process:
    """Lanczos on B = P (H - shift + delta) P, which is positive exactly when H - shift > -delta."""

    products: Products
    delta: float
    q: Vector
    head: Vector | None = None
    """The product with the first vector, where it is already known."""
    basis: Vector = field(default_factory=lambda: np.zeros((0, 0)))
    """The vectors multiplied so far, as rows."""
    images: list[Vector] = field(default_factory=list)
    alpha: list[float] = field(default_factory=list)
    beta: list[float] = field(default_factory=list)
    slack: float = 0.0
    _ritz: tuple[Vector, Vector] | None = None
    _log: float = 0.0
    """Of the product of all beta."""

    def advance(self) -> None:
        """One product. H q_j = beta_{j-1} q_{j-1} + alpha_j q_j + beta_j q_{j+1} + g_j."""
        q = self.q
        product = self.products(q) if self.head is None or self.alpha else self.head
        image = product + self.delta * self.products.metric**2 * q
        self._ritz = None
        self.basis = np.concatenate([self.basis, q[None, :]]) if self.images else q[None, :]
        self.images.append(image)
        self.alpha.append(float(q @ image))                                     # alpha_j = q_j' B q_j
        r = image - self.alpha[-1] * q                                          # B q_j - alpha_j q_j
        if len(self.basis) > 1:
            r = r - self.beta[-1] * self.basis[-2]                              #   - beta_{j-1} q_{j-1}
        before = r
        for _ in range(2):                                                      # full reorthogonalisation; what it
            r = r - self.basis.T @ (self.basis @ r)                             # removes belongs to g_j
        self.slack = max(self.slack, norm2(before - r))
        self.beta.append(norm2(r))                                              # beta_j = |r|
        self._log += math.log(max(self.beta[-1], 1e-300))
        self.q = r / self.beta[-1] if self.beta[-1] > 0 else r

    @property
    def overflowed(self) -> bool:
        """Whether the last product was too large for its square to be a number: f is another function there."""
        return not math.isfinite(self.beta[-1])

    @property
    def complete(self) -> bool:
        """Whether the space is exhausted: all of R^d, or an invariant subspace."""
        done = len(self.alpha)
        return done == len(self.q) or (done > 0 and self.beta[-1] <= 1e-15 * max(map(abs, self.alpha)))

    def ritz(self) -> tuple[Vector, Vector]:
        """Ritz values, and the eigenvectors of T_k as columns."""
        if len(self.alpha) == 1:
            return np.array(self.alpha), np.ones((1, 1))
        if self._ritz is None:
            values, vectors, failed = dstev(self.alpha, self.beta[:-1])
            if failed or not all(map(math.isfinite, self.alpha + self.beta[:-1])):
                raise np.linalg.LinAlgError("LAPACK found no Ritz values")
            self._ritz = np.asarray(values, dtype=np.float64), np.asarray(vectors, dtype=np.float64)
        return self._ritz

    def lowest(self) -> tuple[Vector, float]:
        """The unit direction (in y) of the lowest Ritz value, and the curvature H - shift has along it."""
        theta, z = self.ritz()
        v = self.products.direction(self.basis.T @ z[:, 0])
        length = norm2(v)
        return v / length, float(theta[0]) / length**2 - self.delta

    def terms(self, level: float) -> tuple[float, float, Vector]:
        """The two terms of the inequality (the second per unit of product error), and w."""
        theta, z = self.ritz()
        if theta[0] <= level:
            return math.inf, math.inf, np.zeros(len(theta))
        gap = theta - level
        log = self._log - float(np.add.reduce(np.log(gap)))
        w = z.dot(z[0, :] / gap)
        return math.exp(min(log, 700.0)), float(np.add.reduce(np.abs(w))), w

    def pace(self) -> float:
        """The factor by which a product lately shrank the first term at level 0, as a logarithm."""
        pivot, gains = math.inf, []
        for alpha, before, beta in zip(self.alpha, [0.0, *self.beta], self.beta, strict=False):
            pivot = alpha - before**2 / pivot  # of T_k: the term is the product of beta / pivot
            gains.append(math.log(pivot / max(beta, 1e-300)))
        return sum(gains[len(gains) // 2 :]) / (len(gains) - len(gains) // 2)

    def bound(self, level: float, error: float) -> float:
        """The right side of the inequality."""
        first, second, _ = self.terms(level)
        return first + second * (error + self.slack) if first < math.inf else math.inf

    def level(self, error: float, threshold: float) -> float:
        """The highest level at which the bound stays below the threshold: a lower bound on the spectrum of B."""
        theta = self.ritz()[0]
        high, width = float(theta[0]), float(theta[-1] - theta[0]) + abs(float(theta[0])) + error
        low = high - width
        while self.bound(low, error) >= threshold:
            width *= 4
            low = high - width
            if width > 1e6 * (abs(high) + error + 1e-300) * 1e3:
                return -math.inf
        for _ in range(32):
            middle = (low + high) / 2
            low, high = (middle, high) if self.bound(middle, error) < threshold else (low, middle)
        return low

    def critical(self) -> tuple[Vector, Vector]:
        """The unit vector whose product errors enter the inequality at level 0, and its image by H - shift."""
        w = self.terms(0.0)[2]
        length = float(np.linalg.norm(w))
        s = self.basis.T @ w / length
        image = np.stack(self.images).T @ w / length
        return s, image - self.delta * self.products.metric**2 * s


@dataclass(frozen=True, kw_only=True)
class Lanczos(Finder):
    """The anytime Lanczos finder.

    Products start as forward differences (d + 1 queries) where the first shows no odd error, as symmetric ones (2d + 2)
    elsewhere. Before a certificate is given, the one product that its error term hangs on is measured again at
    twice the steps; if it moved too much the differences are extrapolated, or shortened; if noise is what stands in the
    way they are lengthened, and more starts are taken.

    Queries: d + 1 or 2*d + 2 per product, 2*d + 2 for the second look, 24 for looks at shorter steps along the
    softest directions, besides the neighbourhood; twice that if
    the differences must be extrapolated
    """

    name = "lanczos"

    def at(self, here: Neighbourhood, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        free = self.free_direction(here, shift)
        if free is not None:
            return free
        starts: Vector = rng.standard_normal((MOST, here.d))
        starts /= np.linalg.norm(starts, axis=1, keepdims=True)
        h = here.steps
        metric = h / h.max() if h.max() > UNEVEN * h.min() else np.ones(here.d)
        products = Products(here, metric, 2, 1.0, shift)
        head: Vector | None
        products.order, head = self._first_product(products, starts[0])
        best, tried = self.undecided("nothing was tried"), set()
        for _ in range(ATTEMPTS):
            tried.add((products.order, products.factor))
            finding, obstacle = _Attempt(self, products, starts, head).run()
            if not obstacle:
                return finding
            best = max(best, finding, key=lambda one: one.curvature.lower)
            products, head = products.after(obstacle), None
            if (products.order, products.factor) in tried or products.too_long:
                break
        return best

    def _first_product(self, products: Products, q: Vector) -> tuple[Order, Vector]:
        """The product with q, and the order of the next: 1 if its forward form is as good as its symmetric one.

        Queries: 2*d + 2
        """
        product, odd = products.even(q, products.factor)
        scale = abs(float(q @ product)) + self.delta * float(q @ (products.metric**2 * q))
        small = Starts(len(q), self.failure).threshold(1) * scale / 4
        return (1 if float(np.linalg.norm(odd)) < small else 2), product


@dataclass
class _Attempt:
    """One run at fixed steps. `run` returns the finding, and what stood in the way ("" if nothing did)."""

    finder: Lanczos
    products: Products
    starts: Vector
    head: Vector | None

    def run(self) -> tuple[Finding, str]:
        finder, noise = self.finder, self.products.noise()
        limits = Starts(len(self.starts[0]), finder.failure)
        first = Process(self.products, finder.delta, self.starts[0], self.head)
        suspect = self._advance(first, noise, limits.threshold(1))
        if suspect is not None:
            return suspect
        softest = first.basis.T @ first.ritz()[1][:, :SOFTEST]
        if not self.products.steady(self.products.direction(softest)):
            return self._stuck(first, noise, math.inf, limits)
        error = self.products.noise() + self.products.truncation(*first.critical())
        r = limits.fewest(first.bound(0.0, error))
        if r is None:
            return self._stuck(first, noise, error, limits)
        if len(first.alpha) <= CHEAP:
            r = max(r, 2)  # a spectrum this simple makes a second start cheap, and the failure probability is squared
        lowest, enough = first, limits.threshold(1 if first.bound(0.0, error) < limits.threshold(1) else r)
        level = first.level(error, enough)
        for q in self.starts[1:r]:
            process = Process(self.products, finder.delta, q)
            suspect = self._advance(process, error, enough)
            if suspect is not None:
                return suspect
            if process.bound(0.0, error) >= enough:
                return self._stuck(process, noise, error, limits)
            level = min(level, process.level(error, enough))
            lowest = min(lowest, process, key=lambda one: one.lowest()[1])
        return self._certified(lowest, level, r, error)

    def _advance(self, process: Process, error: float, threshold: float) -> tuple[Finding, str] | None:
        """Run until the first term is out of the way, or a Ritz value shows a direction worth confirming."""
        finder, here, products = self.finder, self.products.here, self.products
        extra = None
        while not process.complete:
            process.advance()
            if process.overflowed:
                return finder.undecided("the products overflow"), "truncation"
            v, curvature = process.lowest()
            if curvature <= -0.75 * finder.delta:
                reason = f"Ritz value {curvature:.3g} after {len(process.alpha)} products"
                finding = finder.confirm(here, v, products.shift, reason)
                return finding, "" if finding.found else "truncation"
            first, second, _ = process.terms(0.0)
            if first < max(threshold / 2, second * error):
                if extra is None:
                    extra = 2 + len(process.alpha) // 2
                # A few more products may turn "at least -delta" into "positive".
                floor = process.level(error, threshold) / float(np.max(products.metric)) ** 2 - finder.delta
                if extra == 0 or curvature <= 0 or floor >= curvature / 4 or first < second * error / 4:
                    return None
                extra -= 1
        return None

    def _certified(self, process: Process, level: float, r: int, error: float) -> tuple[Finding, str]:
        finder, products = self.finder, self.products
        v, _ = process.lowest()
        below = finder.confirm(products.here, v, products.shift, "the lowest Ritz vector")
        if below.found:
            return below, ""
        # H - shift + delta = P^-1 B P^-1 >= level P^-2.
        lower = level / float(np.max(products.metric)) ** 2 - finder.delta + products.shift
        if lower > min(products.lowest, below.curvature.upper):
            return finder.undecided("the curvature along a direction contradicts the products"), ""  # unlucky starts
        reason = (
            f"{len(process.alpha)} products of order {products.order} from {r} start{'s' if r > 1 else ''}, "
            f"product error at most {error:.2g}"
        )
        interval = Interval(lower, below.curvature.upper)
        return replace(finder.certified(interval, reason, v), third=products.third), ""

    def _stuck(self, process: Process, noise: float, error: float, limits: Starts) -> tuple[Finding, str]:
        finder, products = self.finder, self.products
        level = max(process.level(error, limits.threshold(r)) for r in (1, MOST))
        side = np.min(products.metric) if level < 0 else np.max(products.metric)
        lower = level / float(side) ** 2 - finder.delta + products.shift
        obstacle = "noise" if error < 4 * noise else "truncation"
        reason = f"products are too inexact: {obstacle} leaves errors of {error:.2g} at delta={finder.delta:.3g}"
        return finder.undecided(reason, Interval(lower, ANYWHERE.upper)), obstacle
