"""The Lanczos process, and the inequality that it gives.

After k steps from a random unit vector q, with Ritz values theta_j and recurrence norms beta_j, every eigenvector u of
an eigenvalue at or below `level` satisfies, while all theta_j lie above it,

    |<u, q>|  <=  prod_j beta_j / (theta_j - level)  +  |<u, sum_j w_j g_j>|,       (T_k - level) w = e_1,

whatever the errors g_j of the products. The second term is at most sum_j |w_j| |g_j|; and, the products being linear in
what they multiply, at most |w| times the error of the one product that they jointly make, which can be measured.

The numbers w_j fall as fast as the first term does: the later a product, the less its error counts. Where products are
symmetric, so that third derivatives do not enter, the last ones may therefore do with one side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dstev
from scipy.optimize import brentq

from .._array import norm2
from .._text import counted
from ..derivatives.measure import Vector
from ..derivatives.products import KIND, Products

HIGHEST = 100.0
"""What stands for an infinite bound, as a logarithm."""

SPARE = 0.03
"""The part of the threshold that products on one side may use up."""

SLOW = 0.05
"""Where the first term shrinks by less, as a logarithm, nothing is known of the products to come."""

AGAIN = 2.0
"""A level is measured again that errors so much larger than was measured would allow."""


def told(starts: list[Process]) -> str:
    """The products of these starts, in words."""
    order, many = starts[0].products.order, sum(len(one.alpha) for one in starts)
    single = sum(sum(one.one_sided) for one in starts)
    kinds = f"{many - single} {KIND[order]}" + (f" and {single} {KIND[1]}" if single else "")
    return f"{kinds} {'product' if many == 1 else 'products'} from {counted(len(starts), 'start')}"


@dataclass
class Process:
    """Lanczos on B = P (H - shift + delta) P, which is positive exactly when H - shift > -delta."""

    products: Products
    delta: float
    q: Vector
    head: Vector | None = None
    """The product with the first vector, where it is already known."""
    threshold: float = 0.0
    """What the right side must stay below: products whose odd error would be a small part of that are one-sided."""
    one_sided: list[bool] = field(default_factory=list)
    """Which products were taken on one side, though the others are symmetric."""
    basis: Vector = field(default_factory=lambda: np.zeros((0, 0)))
    """The vectors multiplied so far, as rows."""
    images: list[Vector] = field(default_factory=list)
    alpha: list[float] = field(default_factory=list)
    beta: list[float] = field(default_factory=list)
    removed: list[float] = field(default_factory=list)
    """The norms of what reorthogonalisation took from each product."""
    seen: list[tuple[float, float]] = field(default_factory=list)
    """Levels whose error was measured since the last product, and these errors."""
    _ritz: tuple[Vector, Vector] | None = None
    _log: float = 0.0
    """Of the product of all beta."""

    def advance(self) -> None:
        """One product. H q_j = beta_{j-1} q_{j-1} + alpha_j q_j + beta_j q_{j+1} + g_j."""
        q = self.q
        self.one_sided.append(self._one_will_do())
        multiply = self.products.one_sided if self.one_sided[-1] else self.products
        product = multiply(q) if self.head is None or self.alpha else self.head
        image = product + self.delta * self.products.metric**2 * q
        self._ritz, self.seen = None, []
        self.basis = np.concatenate([self.basis, q[None, :]]) if self.images else q[None, :]
        self.images.append(image)
        self.alpha.append(float(q @ image))                                     # alpha_j = q_j' B q_j
        r = image - self.alpha[-1] * q                                          # B q_j - alpha_j q_j
        if len(self.basis) > 1:
            r = r - self.beta[-1] * self.basis[-2]                              #   - beta_{j-1} q_{j-1}
        before = r
        for _ in range(2):                                                      # full reorthogonalisation; what it
            r = r - self.basis.T @ (self.basis @ r)                             # removes belongs to g_j
        self.removed.append(norm2(before - r))
        self.beta.append(norm2(r))                                              # beta_j = |r|
        self._log += math.log(max(self.beta[-1], 1e-300))
        self.q = r / self.beta[-1] if self.beta[-1] > 0 else r

    def _one_will_do(self) -> bool:
        """Whether the products to come may be one-sided: of errors such as were seen, little would count."""
        if not (self.threshold > 0 and self.products.order == 2 and self.alpha):
            return False
        w, pace = self.terms(0.0)[2], self.pace() if self.ritz()[0][0] > 0 else 0.0
        if not pace > SLOW:
            return False
        to_come = abs(float(w[-1])) / math.expm1(pace)  # what they weigh together
        return self.products.caution * self.products.bent * to_come <= SPARE * self.threshold

    def uneven(self, w: Vector) -> float:
        """What those on one side are expected to add to the inequality."""
        return self.products.caution * self.products.bent * norm2(w[np.array(self.one_sided)])

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

    def bound(self, level: float, error: float, *, joint: bool = False) -> float:
        """The right side of the inequality, with an error of each product; or, if that is what was measured, with that
        of the one they jointly make, by the unit vector along w."""
        first, second, w = self.terms(level)
        return first + (norm2(w) if joint else second) * error + self.lost(w) if first < math.inf else math.inf

    def lost(self, w: Vector) -> float:
        """What reorthogonalisation took, as far as it enters the inequality."""
        return float(np.abs(w).dot(self.removed))

    def level(self, error: float, threshold: float, *, joint: bool = False) -> float:
        """The highest level at which the bound stays below the threshold: a lower bound on the spectrum of B."""
        if not error < math.inf:
            return -math.inf
        if len(self.alpha) == 1:
            below = (self.beta[0] + error + self.removed[0]) / threshold
            return self.alpha[0] - below - 4e-16 * (abs(self.alpha[0]) + below)
        theta = self.ritz()[0]
        high, width = float(theta[0]), float(theta[-1] - theta[0]) + abs(float(theta[0])) + error
        low = high - width
        while self.bound(low, error, joint=joint) >= threshold:
            width *= 4
            low = high - width
            if width > 1e6 * (abs(high) + error + 1e-300) * 1e3:
                return -math.inf

        def excess(level: float) -> float:
            bound = self.bound(level, error, joint=joint)
            return math.log(max(bound / threshold, 1e-300)) if bound < math.inf else HIGHEST

        if excess(low) >= 0:  # not a number
            return -math.inf
        close = 1e-10 * (high - low)
        return max(float(brentq(excess, low, high, xtol=close)) - 2 * close, low)

    def settle(self, level: float, threshold: float) -> float:
        """Measure the joint error that the inequality hangs on at a level; if that cannot be shown with it, at one that
        should be, and at level 0.

        It belongs to this start, as it is: that of another start, or with one product more, may be far larger.

        Queries: those of `Products.truncation`, up to three times
        """
        while True:
            level = max(level, 0.0) if len(self.seen) < 2 else 0.0
            first, _, w = self.terms(level)
            room = max(threshold - first, 0.0) / norm2(w) if first < math.inf else 0.0
            error = self.products.noise() + self.products.truncation(*self.critical(level), room)
            self.seen.append((level, error))
            if level == 0.0 or self.shown(threshold) is not None:
                return error
            level = self.level(AGAIN * error, threshold, joint=True)

    def shown(self, threshold: float) -> float | None:
        """The highest level above which the spectrum was shown to lie, with the error measured for it; or None."""
        passed = [level for level, error in self.seen if self.bound(level, error, joint=True) < threshold]
        if passed and len(self.alpha) == 1:  # the joint product is the same at every level
            passed.append(self.level(max(error for _, error in self.seen), threshold, joint=True))
        return max(passed, default=None)

    def critical(self, level: float) -> tuple[Vector, Vector]:
        """The unit vector whose product errors enter the inequality at this level, and its image by H - shift."""
        w = self.terms(level)[2]
        length = float(np.linalg.norm(w))
        s = self.basis.T @ w / length
        image = np.stack(self.images).T @ w / length
        return s, image - self.delta * self.products.metric**2 * s
