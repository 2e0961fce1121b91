"""Sparse symmetric matrices: Cholesky factors, and the smallest eigenvalues by shift-invert Lanczos."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu, spsolve_triangular

from .._array import Matrix, Vector
from ..derivatives.sparsity import SparseMatrix
from .settings import SPARSE


@dataclass(frozen=True)
class SparseFactor:
    """The factors of a positive definite matrix A: A[order][:, order] = L D L'."""

    lu: Any
    order: NDArray[np.int64]

    @classmethod
    def of(cls, A: SparseMatrix) -> SparseFactor | None:
        """None where A is not positive definite: pivots on the diagonal, in an order that keeps the factors sparse, are
        all positive if and only if it is (Sylvester's law)."""
        try:
            lu = splu(
                sparse.csc_matrix(A), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError:  # exactly singular
            return None
        definite = np.array_equal(lu.perm_r, lu.perm_c) and bool(np.all(lu.U.diagonal() > 0))
        return cls(lu, np.argsort(lu.perm_c)) if definite else None

    def solve(self, b: Vector) -> Vector:
        """A^-1 b."""
        return np.asarray(self.lu.solve(b))

    def inverse_root(self, G: Matrix) -> Matrix:
        """P G for a matrix P with P'AP = 1: L'^-1 D^(-1/2) G, in the order of A."""
        U = sparse.csr_matrix(self.lu.U)  # D L'
        root = np.sqrt(U.diagonal())
        Z = spsolve_triangular(U, root[:, None] * G, lower=False)
        W = np.empty_like(Z)
        W[self.order] = Z
        return W


def shifted(M: SparseMatrix, shift: float) -> SparseMatrix:
    """M plus this multiple of the identity."""
    return sparse.csc_array(M + shift * sparse.eye_array(M.shape[0], format="csc"))


def smallest(M: SparseMatrix, count: int, rng: np.random.Generator) -> tuple[Vector, Matrix]:
    """The smallest eigenvalues of M, the smallest first, and eigenvectors as columns; at most so many."""
    d = M.shape[0]
    if d <= SPARSE.dense:
        values, vectors = np.linalg.eigh(M.toarray())
        return values[:count], vectors[:, :count]
    size = float(abs(M).sum(axis=1).max()) + 1e-300
    below = size * SPARSE.near
    factor = SparseFactor.of(shifted(M, below))
    while factor is None:  # ends beyond the largest row sum
        below *= SPARSE.further
        factor = SparseFactor.of(shifted(M, below))
    inverse = LinearOperator((d, d), matvec=factor.solve, dtype=np.float64)
    start = rng.standard_normal(d)
    try:
        values, vectors = eigsh(M, k=count, sigma=-below, OPinv=inverse, v0=start, tol=SPARSE.exact)
    except ArpackNoConvergence:
        return _by_subspace(M, factor, start, count, rng)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _by_subspace(
    M: SparseMatrix, factor: SparseFactor, start: Vector, count: int, rng: np.random.Generator
) -> tuple[Vector, Matrix]:
    """The same, nearly, by inverse iteration on a subspace."""
    V = np.column_stack([start, rng.standard_normal((len(start), 2 * count))])
    for _ in range(SPARSE.iterations):
        V = np.linalg.qr(factor.solve(V))[0]
    values, turn = np.linalg.eigh(V.T @ (M @ V))
    return values[:count], (V @ turn)[:, :count]


def least(M: SparseMatrix, value: float) -> float:
    """A lower bound on the smallest eigenvalue of M, which was computed to be this: factors of M less a little less
    exist; minus infinity if none does."""
    size = float(abs(M).sum(axis=1).max()) + 1e-300
    room = SPARSE.rounding * size
    while room <= size:
        if SparseFactor.of(shifted(M, room - value)) is not None:
            return value - room
        room *= SPARSE.further
    return -math.inf
