"""The Lanczos process, and the inequality that it gives.

After k steps on B = P'(H - shift)P from a random unit vector q, with Ritz values theta_j and recurrence norms beta_j,
every eigenvector u of B of an eigenvalue at or below a shift s satisfies, while all theta_j lie above s,

    |<u, q>|  <=  prod_j beta_j / (theta_j - s)  +  |<u, sum_j w_j g_j>|,       (T_k - s) w = e_1,

whatever the errors g_j of the products. The second term is at most sum_j |w_j| |g_j|; and, the products being linear in
what they multiply, at most |w| times the error of the one product that they jointly make, which can be measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dstev
from scipy.optimize import brentq

from .._array import Vector, norm2
from ..derivatives.products import HessianProducts, Product

HIGHEST = 100.0
"""What stands for an infinite bound, as a logarithm."""


@dataclass
class LanczosProcess:
    """Lanczos on B = P'(H - shift)P from the unit vector q, one product at a time."""

    products: HessianProducts
    q: Vector
    taken: list[Product] = field(default_factory=list)
    basis: Vector = field(default_factory=lambda: np.zeros((0, 0)))
    """The vectors multiplied so far, as rows."""
    alpha: list[float] = field(default_factory=list)
    beta: list[float] = field(default_factory=list)
    removed: list[float] = field(default_factory=list)
    """The norms of what reorthogonalisation took from each product."""
    _ritz: tuple[Vector, Vector] | None = None
    _log: float = 0.0
    """Of the product of all beta."""

    def advance(self) -> None:
        """One product. B q_j = beta_{j-1} q_{j-1} + alpha_j q_j + beta_j q_{j+1} + g_j."""
        q = self.q
        product = self.products(q)
        self.taken.append(product)
        self._ritz, image = None, product.image
        self.basis = np.concatenate([self.basis, q[None, :]]) if self.alpha else q[None, :]
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

    @property
    def third(self) -> float:
        """The largest third derivative that the products showed."""
        return max((product.third for product in self.taken), default=0.0)

    @property
    def odd(self) -> float:
        """The largest odd part of a symmetric product: how wrong one side of it was."""
        return max((product.odd for product in self.taken), default=0.0)

    @property
    def noise(self) -> float:
        """A bound on what noise adds to a product, the shortest of them so far."""
        return self.products.noise(min([1.0, *(product.shortness for product in self.taken)]))

    @property
    def overflowed(self) -> bool:
        """Whether the last product was too large for its square to be a number: f depends on the scale."""
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
        v, length = self.products.direction(self.basis.T @ z[:, 0])
        return v, float(theta[0]) / length**2

    def softest(self, count: int) -> Vector:
        """Directions (in y) of the lowest Ritz values, as columns."""
        return self.products.directions(self.basis.T @ self.ritz()[1][:, :count])

    # The inequality

    def terms(self, shift: float) -> tuple[float, float, Vector]:
        """The two terms of the inequality (the second per unit of product error), and w."""
        theta, z = self.ritz()
        if theta[0] <= shift:
            return math.inf, math.inf, np.zeros(len(theta))
        gap = theta - shift
        log = self._log - float(np.add.reduce(np.log(gap)))
        w = z.dot(z[0, :] / gap)
        return math.exp(min(log, 700.0)), float(np.add.reduce(np.abs(w))), w

    def contraction(self) -> float:
        """The rate at which products lately shrank the first term at shift 0: the logarithm of the factor of one."""
        pivot, gains = math.inf, []
        for alpha, before, beta in zip(self.alpha, [0.0, *self.beta], self.beta, strict=False):
            pivot = alpha - before**2 / pivot  # of T_k: the term is the product of beta / pivot
            gains.append(math.log(pivot / max(beta, 1e-300)))
        return sum(gains[len(gains) // 2 :]) / (len(gains) - len(gains) // 2)

    def bound(self, shift: float, error: float) -> float:
        """The right side of the inequality, with this error of the one product that all of them jointly make."""
        first, _, w = self.terms(shift)
        return first + norm2(w) * error + self.lost(w) if first < math.inf else math.inf

    def lost(self, w: Vector) -> float:
        """What reorthogonalisation took, as far as it enters the inequality."""
        return float(np.abs(w).dot(self.removed))

    def certified_shift(self, error: float, threshold: float) -> float:
        """The highest shift at which the bound stays below the threshold: a lower bound on the spectrum of B."""
        if not error < math.inf:
            return -math.inf
        if len(self.alpha) == 1:
            below = (self.beta[0] + error + self.removed[0]) / threshold
            return self.alpha[0] - below - 4e-16 * (abs(self.alpha[0]) + below)
        theta = self.ritz()[0]
        high, width = float(theta[0]), float(theta[-1] - theta[0]) + abs(float(theta[0])) + error
        low = high - width
        while self.bound(low, error) >= threshold:
            width *= 4
            low = high - width
            if width > 1e9 * (abs(high) + error + 1e-300):
                return -math.inf

        def excess(shift: float) -> float:
            bound = self.bound(shift, error)
            return math.log(max(bound / threshold, 1e-300)) if bound < math.inf else HIGHEST

        if excess(low) >= 0:  # not a number
            return -math.inf
        close = 1e-10 * (high - low)
        return max(float(brentq(excess, low, high, xtol=close)) - 2 * close, low)

    def joint_product(self, shift: float) -> tuple[Vector, Vector, float]:
        """The unit vector whose product error enters the inequality at this shift, its image by B, and |w|."""
        w = self.terms(shift)[2]
        length = norm2(w)
        images = np.stack([product.image for product in self.taken])
        return self.basis.T @ w / length, images.T @ w / length, length
