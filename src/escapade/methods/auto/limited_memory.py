"""The matrix of a model of many variables: a diagonal and a few directions, in memory that grows with d alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._array import Vector, norm2
from .dense import DenseMatrix
from .model import Model
from .quadratic import Matrix
from .settings import LIMITED_MEMORY, MODEL, SUBPROBLEM


def diagonal_model(diagonal: Vector) -> Model:
    """A model that knows this diagonal, as its dimension allows."""
    kind = LowRankMatrix if len(diagonal) > LIMITED_MEMORY.large else DenseMatrix
    return Model(kind.of_diagonal(diagonal), fresh=True)


@dataclass(frozen=True)
class LowRankMatrix:
    """diag(D) + U diag(values) U', the columns of U orthonormal."""

    D: Vector
    U: Matrix
    values: Vector

    @classmethod
    def of_diagonal(cls, diagonal: Vector) -> LowRankMatrix:
        """A diagonal matrix."""
        return cls(diagonal.copy(), np.zeros((len(diagonal), 0)), np.zeros(0))

    def __matmul__(self, v: Vector) -> Vector:
        return (self.D * v.T).T + self.U @ (self.values * (self.U.T @ v).T).T

    @cached_property
    def diagonal(self) -> Vector:
        """Its diagonal."""
        own: Vector = self.D + self.U**2 @ self.values
        return own

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of the eigenvalues, and of their squares."""
        squares = float(self.D @ self.D) + 2 * float((self.U**2).T @ self.D @ self.values)
        squares += float(self.values @ self.values)
        return float(self.D.sum() + self.values.sum()) / len(self.D), squares / len(self.D)

    @property
    def top(self) -> float:
        """The largest entry of the diagonal, in size."""
        return float(np.abs(self.diagonal).max())

    @cached_property
    def units(self) -> Vector | None:
        """Units in which the variables have curvatures of one, if in the user's they are very different."""
        curved = np.sqrt(np.abs(self.diagonal))
        typical = float(np.median(curved))
        if float(curved.max()) ** 2 <= MODEL.badly_scaled * typical**2:
            return None
        units: Vector = 1 / np.where(curved > MODEL.unknown * float(curved.max()), curved, typical + 1e-300)
        return units

    @cached_property
    def spectrum(self) -> tuple[Vector, Matrix]:
        """The extreme eigenvalues, nearly, and their vectors: those in the space of the directions and of the
        coordinates at both ends of the diagonal."""
        ends = np.zeros((len(self.D), 2))
        ends[[int(np.argmin(self.D)), int(np.argmax(self.D))], [0, 1]] = 1.0
        basis = np.linalg.qr(np.column_stack([self.U, ends]))[0]
        values, vectors = np.linalg.eigh(basis.T @ (self @ basis))
        return values, basis @ vectors

    @property
    def definite(self) -> bool:
        """No inverse is kept: steps solve with a small matrix anyway."""
        return False

    def above(self, shift: float) -> bool:
        """Whether all eigenvalues that are known are larger than this."""
        return float(self.spectrum[0][0]) > shift

    # Updates

    def plus(self, *terms: tuple[float, Vector]) -> LowRankMatrix:
        """B + c ww' for each of these; of more directions than are kept, the ones that matter least are left out."""
        B = self
        for c, w in terms:
            B = B._plus_one(c, w)
        return B

    def _plus_one(self, c: float, w: Vector) -> LowRankMatrix:
        if len(axis := np.flatnonzero(w)) == 1:
            D = self.D.copy()
            D[axis] += c * w[axis] ** 2
            return LowRankMatrix(D, self.U, self.values)
        inside = self.U.T @ w
        across = w - self.U @ inside
        across -= self.U @ (self.U.T @ across)
        length = norm2(across)
        new = length > 1e-12 * norm2(w)
        w, U = (np.append(inside, length), np.column_stack([self.U, across / length])) if new else (inside, self.U)
        values, vectors = np.linalg.eigh(np.diag(np.append(self.values, [0.0] * new)) + c * np.outer(w, w))
        kept = np.sort(np.argsort(-np.abs(values), kind="stable")[: LIMITED_MEMORY.rank])
        return LowRankMatrix(self.D, U @ vectors[:, kept], values[kept])

    def with_product(self, v: Vector, r: Vector) -> LowRankMatrix:
        """The least change of B that changes Bv by r, for a unit vector v."""
        a = r - 0.5 * float(v @ r) * v
        length = norm2(a)
        return self.plus((length / 2, a / length + v), (-length / 2, a / length - v)) if length > 0 else self

    def multiple_of_identity(self, curvature: float) -> LowRankMatrix:
        """This multiple of the identity."""
        return LowRankMatrix.of_diagonal(np.full(len(self.D), curvature))

    def made_definite(self) -> LowRankMatrix:
        """The same: no inverse is kept."""
        return self

    def ends_definite(self, r: Vector, slope: float) -> bool:
        """No: B is not known to be positive definite."""
        return False

    # Steps

    def factored(self, A: Vector) -> tuple[Vector, Matrix, Vector] | None:
        """E > 0, Q and kappa with diag(A) + U diag(values) U' = E^(1/2) (I + Q diag(kappa) Q') E^(1/2).

        E is A where that is positive; None if there are more other places than directions are kept.
        """
        least = LIMITED_MEMORY.singular * float(np.abs(A).max()) + 1e-300
        low = np.flatnonzero(least >= A)
        if len(low) > LIMITED_MEMORY.rank:
            return None
        E, ends = A.copy(), np.zeros((len(A), len(low)))
        E[low], ends[low, np.arange(len(low))] = np.maximum(np.abs(A[low]), least), 1.0
        values = np.append(self.values, A[low] - E[low])
        Q, R = np.linalg.qr(np.column_stack([self.U, ends]) / np.sqrt(E)[:, None])
        kappa, V = np.linalg.eigh((R * values) @ R.T)
        return E, Q @ V, kappa

    def _factored(self, A: Vector) -> tuple[Vector, Matrix, Vector]:
        """`factored`, of |A| if A is negative in too many places."""
        floor = MODEL.floor * float(np.abs(A).max()) + 1e-300
        known = self.factored(A) or self.factored(np.maximum(np.abs(A), floor))
        assert known is not None
        return known

    def newton(self, g: Vector) -> Vector:
        """The Newton step on |B|."""
        E, Q, kappa = self._factored(self.D)
        root = 1 / np.sqrt(E)
        return -(LowRankRoot(root, Q, 1 / np.maximum(np.abs(1 + kappa), MODEL.floor) - 1) @ (root * g))

    def step(self, g: Vector, radius: float, scale: Vector) -> Vector:
        """The minimiser of g's + s'Bs/2 over |s / scale| <= radius, nearly: the shift of B is found by bisection."""
        steepest = norm2(scale * g)
        low, high, shift = 0.0, math.inf, 0.0
        best: Vector = -radius / (steepest + 1e-300) * scale**2 * g  # which is what a very large shift leads to
        for _ in range(LIMITED_MEMORY.shifts):
            s = self._shifted(g, shift, scale)
            if s is not None and norm2(s / scale) <= radius:
                high, best = shift, s
                if shift == 0.0 or norm2(s / scale) >= (1 - SUBPROBLEM.near) * radius:
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
        known = self.factored(self.D + shift / scale**2)
        if known is None or not float(np.min(1 + known[2], initial=1.0)) > LIMITED_MEMORY.singular:
            return None
        E, Q, kappa = known
        root = 1 / np.sqrt(E)
        step = -(LowRankRoot(root, Q, -kappa / (1 + kappa)) @ (root * g))
        return step if math.isfinite(norm2(step)) else None

    def inverse_root(self, delta: float, flattest: float) -> LowRankRoot:
        """(|B| + delta)^(-1/2), nearly, of norm one at most."""
        A = self.D + delta
        E, Q, kappa = self._factored(np.minimum(A, max(float(np.abs(A).min()), delta) / flattest**2))
        weight = np.maximum(np.abs(1 + kappa), MODEL.floor) ** -0.5
        root = 1 / np.sqrt(E)
        return LowRankRoot(root / (float(root.max()) * max(1.0, float(weight.max(initial=1.0)))), Q, weight - 1)


@dataclass(frozen=True)
class LowRankRoot:
    """The matrix diag(root) (I + Q diag(weight) Q')."""

    root: Vector
    Q: Matrix
    weight: Vector
    transposed: bool = False

    @property
    def T(self) -> LowRankRoot:
        """The transpose."""
        return LowRankRoot(self.root, self.Q, self.weight, not self.transposed)

    def __matmul__(self, v: Vector) -> Vector:
        if self.transposed:
            v = (self.root * v.T).T
        v = v + self.Q @ (self.weight * (self.Q.T @ v).T).T
        return v if self.transposed else (self.root * v.T).T
