"""A dense symmetric matrix, with its inverse while that can be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf

from ..._array import Vector, largest
from ...derivatives.preconditioner import inverse_root
from . import quadratic
from .quadratic import Matrix
from .settings import MODEL, SUBPROBLEM


@dataclass(frozen=True)
class DenseMatrix:
    """A symmetric matrix. An update may write over the arrays of the one it was made from, which is then forgotten."""

    matrix: Matrix
    inverse: Matrix | None = None
    """Its inverse, while it can be kept: from a diagonal on, through corrections that leave it positive definite."""

    @classmethod
    def of_diagonal(cls, diagonal: Vector) -> DenseMatrix:
        """A diagonal matrix."""
        return cls(np.diag(diagonal), quadratic.inverse_of_diagonal(diagonal))

    def __matmul__(self, v: Vector) -> Vector:
        product: Vector = self.matrix @ v
        return product

    @property
    def diagonal(self) -> Vector:
        """Its diagonal."""
        return np.array(self.matrix.diagonal())

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of the eigenvalues, and of their squares."""
        d = len(self.matrix)
        return float(np.trace(self.matrix)) / d, float(np.vdot(self.matrix, self.matrix)) / d

    @cached_property
    def top(self) -> float:
        """The largest entry, in size."""
        return largest(self.matrix.reshape(-1) if self.inverse is None else self.diagonal)  # which has the largest then

    @cached_property
    def units(self) -> Vector | None:
        """Units in which the variables have curvatures of one, if in the user's they are very different.

        B_ij is about c_i c_j, whether on the diagonal or not: at a saddle the diagonal may be zero. A variable of which
        nothing is known is taken to be like the others.
        """
        diagonal = np.abs(self.matrix.diagonal())
        if self.top <= MODEL.badly_scaled * diagonal[diagonal.argmin()]:
            return None
        rows = np.abs(self.matrix).max(axis=1)
        curved = np.maximum(np.sqrt(diagonal), rows / (math.sqrt(float(rows.max())) + 1e-100))
        known = np.sort(curved[curved > MODEL.unknown * float(curved.max())])
        middle = (len(known) - 1) // 2
        if len(known) == 0 or float(known[-1]) ** 2 <= MODEL.badly_scaled * float(known[middle]) ** 2:
            return None
        units: Vector = 1 / np.where(curved >= known[0], curved, known[middle])
        return units

    @cached_property
    def spectrum(self) -> tuple[Vector, Matrix]:
        """All eigenvalues, the smallest first, and eigenvectors as columns."""
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    @property
    def definite(self) -> bool:
        """Whether it is known to be positive definite."""
        return self.inverse is not None

    def above(self, shift: float) -> bool:
        """Whether all eigenvalues are larger than this."""
        return not dpotrf(self.matrix - shift * np.eye(len(self.matrix)), lower=1)[1]

    def newton(self, g: Vector) -> Vector:
        """The Newton step on |B|."""
        step: Vector
        _, step, indefinite = dposv(self.matrix, -g, lower=1)
        if not indefinite:
            return step
        values, vectors = self.spectrum
        floor = MODEL.floor * float(np.abs(values).max()) + 1e-300
        along: Vector = vectors.T @ g / np.maximum(np.abs(values), floor)
        return -(vectors @ along)

    def step(self, g: Vector, radius: float, scale: Vector) -> Vector:
        """The minimiser of g's + s'Bs/2 over |s / scale| <= radius."""
        return quadratic.trust_region_step(self.matrix, g, radius, scale, self.inverse)

    def inverse_root(self, delta: float, flattest: float) -> Any:
        """(|B| + delta)^(-1/2), with one as its largest eigenvalue and this as its smallest, at least."""
        values, vectors = self.spectrum
        return (vectors * inverse_root(values, delta, flattest)) @ vectors.T

    def ends_definite(self, r: Vector, slope: float) -> bool:
        """Whether B + rr' / slope is no longer positive definite, B being known to be."""
        return quadratic.ends_definite(self.inverse, r, slope)

    def plus(self, *terms: tuple[float, Vector]) -> DenseMatrix:
        """B + c ww' for each of these, written over B."""
        matrix, inverse = self.matrix, self.inverse
        for c, w in terms:
            if c != 0:
                matrix, inverse = quadratic.plus_square(matrix, c, w), quadratic.inverse_plus(inverse, w, 1 / c)
        return DenseMatrix(matrix, inverse)

    def with_product(self, v: Vector, r: Vector) -> DenseMatrix:
        """The least change of B that changes Bv by r, for a unit vector v."""
        half = np.outer(r - 0.5 * float(v @ r) * v, v)
        changed = self.matrix + half
        changed += half.T
        return DenseMatrix(changed)

    def multiple_of_identity(self, curvature: float) -> DenseMatrix:
        """This multiple of the identity."""
        return DenseMatrix.of_diagonal(np.full(len(self.matrix), curvature))

    def made_definite(self) -> DenseMatrix:
        """The same with its inverse, if it is positive definite and large."""
        inverse = quadratic.inverse_of(self.matrix) if len(self.matrix) >= SUBPROBLEM.many else None
        return self if inverse is None else DenseMatrix(self.matrix, inverse)
