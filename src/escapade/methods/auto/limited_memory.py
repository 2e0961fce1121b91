"""The model part beyond a few hundred variables: a diagonal and a few directions, in memory that grows with d alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._array import Vector, norm2
from .model import UNEVEN, UNKNOWN, Model
from .quadratic import Matrix

LARGE = 500
"""Beyond this dimension a dense model, and its factors at every step, cost more than they save."""

RANK = 60
"""Directions that are kept: of more, those of the largest corrections."""

SINGULAR = 1e-9
"""What is smaller, relatively, is not positive definite in floating point."""

SHIFTS = 60
"""Shifts of B that are tried for one step, at most."""

CLOSE = 0.05
"""How near to the edge of the trust region a step must end that the region cuts short, relatively."""


def diagonal_model(diagonal: Vector) -> Model:
    """A model that knows this diagonal, as its dimension allows."""
    return Limited(LowRank.diagonal_of(diagonal), fresh=True) if len(diagonal) > LARGE else Model.diagonal_of(diagonal)


@dataclass(frozen=True)
class LowRank:
    """diag(D) + U diag(values) U', the columns of U orthonormal."""

    D: Vector
    U: Matrix
    values: Vector

    @classmethod
    def diagonal_of(cls, diagonal: Vector) -> LowRank:
        """A diagonal matrix."""
        return cls(diagonal.copy(), np.zeros((len(diagonal), 0)), np.zeros(0))

    def __matmul__(self, v: Vector) -> Vector:
        return (self.D * v.T).T + self.U @ (self.values * (self.U.T @ v).T).T

    def diagonal(self) -> Vector:
        """Its diagonal."""
        own: Vector = self.D + self.U**2 @ self.values
        return own

    def plus(self, c: float, w: Vector) -> LowRank:
        """The same and c ww'; of more directions than are kept, the ones that matter least are left out."""
        if len(axis := np.flatnonzero(w)) == 1:
            D = self.D.copy()
            D[axis] += c * w[axis] ** 2
            return LowRank(D, self.U, self.values)
        inside = self.U.T @ w
        across = w - self.U @ inside
        across -= self.U @ (self.U.T @ across)
        length = norm2(across)
        new = length > 1e-12 * norm2(w)
        w, U = (np.append(inside, length), np.column_stack([self.U, across / length])) if new else (inside, self.U)
        values, vectors = np.linalg.eigh(np.diag(np.append(self.values, [0.0] * new)) + c * np.outer(w, w))
        kept = np.sort(np.argsort(-np.abs(values), kind="stable")[:RANK])
        return LowRank(self.D, U @ vectors[:, kept], values[kept])

    def over(self, A: Vector) -> tuple[Vector, Matrix, Vector] | None:
        """E > 0, Q and kappa with diag(A) + U diag(values) U' = E^(1/2) (I + Q diag(kappa) Q') E^(1/2).

        E is A where that is positive; None if there are more other places than directions are kept.
        """
        least = SINGULAR * float(np.abs(A).max()) + 1e-300
        low = np.flatnonzero(least >= A)
        if len(low) > RANK:
            return None
        E, ends = A.copy(), np.zeros((len(A), len(low)))
        E[low], ends[low, np.arange(len(low))] = np.maximum(np.abs(A[low]), least), 1.0
        values = np.append(self.values, A[low] - E[low])
        Q, R = np.linalg.qr(np.column_stack([self.U, ends]) / np.sqrt(E)[:, None])
        kappa, V = np.linalg.eigh((R * values) @ R.T)
        return E, Q @ V, kappa


@dataclass(frozen=True)
class Shape:
    """The matrix diag(root) (I + Q diag(weight) Q')."""

    root: Vector
    Q: Matrix
    weight: Vector
    turned: bool = False
    """Whether it is the transpose."""

    @classmethod
    def of(cls, root: Vector) -> Shape:
        """A diagonal matrix."""
        return cls(root, np.zeros((len(root), 0)), np.zeros(0))

    @property
    def T(self) -> Shape:
        """The transpose."""
        return Shape(self.root, self.Q, self.weight, not self.turned)

    def __matmul__(self, v: Vector) -> Vector:
        if self.turned:
            v = (self.root * v.T).T
        v = v + self.Q @ (self.weight * (self.Q.T @ v).T).T
        return v if self.turned else (self.root * v.T).T


class Limited(Model):
    """f(x + s) ≈ f + g's + s'Bs/2 with B a diagonal and a few directions."""

    B: LowRank

    @cached_property
    def top(self) -> float:
        """The largest entry of the diagonal, in size."""
        return float(np.abs(self.B.diagonal()).max())

    @cached_property
    def units(self) -> Vector | None:
        """Units in which the variables have curvatures of one, if in the user's they are very different."""
        curved = np.sqrt(np.abs(self.B.diagonal()))
        typical = float(np.median(curved))
        if float(curved.max()) ** 2 <= UNEVEN * typical**2:
            return None
        units: Vector = 1 / np.where(curved > UNKNOWN * float(curved.max()), curved, typical + 1e-300)
        return units

    def above(self, level: float) -> bool:
        """Whether all eigenvalues of B that are known are larger than this."""
        return self.lowest()[0] > level

    @cached_property
    def spectrum(self) -> tuple[Vector, Matrix]:
        """The extreme eigenvalues of B, nearly, and their vectors: those in the space of its directions and of the
        coordinates at both ends of its diagonal."""
        ends = np.zeros((len(self.B.D), 2))
        ends[[int(np.argmin(self.B.D)), int(np.argmax(self.B.D))], [0, 1]] = 1.0
        basis = np.linalg.qr(np.column_stack([self.B.U, ends]))[0]
        values, vectors = np.linalg.eigh(basis.T @ (self.B @ basis))
        return values, basis @ vectors

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of the eigenvalues of B, and of their squares."""
        D, U, values = self.B.D, self.B.U, self.B.values
        squares = float(D @ D) + 2 * float((U**2).T @ D @ values) + float(values @ values)
        return float(D.sum() + values.sum()) / len(D), squares / len(D)

    def newton(self, g: Vector) -> Vector:
        """The Newton step on |B|."""
        E, Q, kappa = self._over(self.B.D)
        root = 1 / np.sqrt(E)
        return -(Shape(root, Q, 1 / np.maximum(np.abs(1 + kappa), 1e-8) - 1) @ (root * g))

    def _over(self, A: Vector) -> tuple[Vector, Matrix, Vector]:
        """`LowRank.over`, of |A| if A is negative in too many places."""
        known = self.B.over(A) or self.B.over(np.maximum(np.abs(A), 1e-8 * float(np.abs(A).max()) + 1e-300))
        assert known is not None
        return known

    def step(self, g: Vector, radius: float, scale: Vector) -> Vector:
        """The minimiser of g's + s'Bs/2 over |s / scale| <= radius, nearly: the shift of B is found by bisection."""
        steepest = norm2(scale * g)
        low, high, shift = 0.0, math.inf, 0.0
        best: Vector = -radius / (steepest + 1e-300) * scale**2 * g  # which is what a very large shift leads to
        for _ in range(SHIFTS):
            s = self._shifted(g, shift, scale)
            if s is not None and norm2(s / scale) <= radius:
                high, best = shift, s
                if shift == 0.0 or norm2(s / scale) >= (1 - CLOSE) * radius:
                    break
            else:
                low = shift
            if high == math.inf:
                shift = max(4 * low, steepest / radius)
            else:
                shift = math.sqrt(low * high) if low > 0 else high / 4
        return best

    def _shifted(self, g: Vector, shift: float, scale: Vector) -> Vector | None:
        """The Newton step on B + shift / scale^2, if that is positive definite."""
        known = self.B.over(self.B.D + shift / scale**2)
        if known is None or not float(np.min(1 + known[2], initial=1.0)) > SINGULAR:
            return None
        E, Q, kappa = known
        root = 1 / np.sqrt(E)
        step = -(Shape(root, Q, -kappa / (1 + kappa)) @ (root * g))
        return step if math.isfinite(norm2(step)) else None

    def shape(self, delta: float, flattest: float) -> Shape:
        """(|B| + delta)^(-1/2), nearly, of norm one at most."""
        A = self.B.D + delta
        E, Q, kappa = self._over(np.minimum(A, max(float(np.abs(A).min()), delta) / flattest**2))
        weight = np.maximum(np.abs(1 + kappa), 1e-8) ** -0.5
        root = 1 / np.sqrt(E)
        return Shape(root / (float(root.max()) * max(1.0, float(weight.max(initial=1.0)))), Q, weight - 1)

    def shift(self, change: Vector) -> None:
        """Add this to the diagonal of B."""
        self._replace(LowRank(self.B.D + change, self.B.U, self.B.values))

    def _even(self, curvature: float) -> None:
        self._replace(LowRank.diagonal_of(np.full(len(self.B.D), curvature)))

    def _add(self, *terms: tuple[float, Vector]) -> None:
        B = self.B
        for c, w in terms:
            B = B.plus(c, w)
        self._replace(B)

    def _agree(self, v: Vector, r: Vector) -> None:
        a = r - 0.5 * float(v @ r) * v
        length = norm2(a)
        if length > 0:
            self._add((length / 2, a / length + v), (-length / 2, a / length - v))
