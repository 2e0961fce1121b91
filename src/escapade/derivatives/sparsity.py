"""The pattern of a Hessian that is mostly zero, and its entries by second differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._array import Array, Matrix, Vector, is_sparse
from ..errors import InvalidSetting
from ..oracle import Oracle, few_axes, or_nan
from .estimates import some_second_differences
from .residual_model import Groups
from .stencil import CoordinateStencil

SparseMatrix = Any
"""A `scipy.sparse.csc_array`."""


@dataclass(frozen=True)
class Sparsity:
    """The pairs of variables i < j whose mixed second derivative may be other than zero."""

    d: int
    i: NDArray[np.int64]
    j: NDArray[np.int64]

    @classmethod
    def of(cls, pattern: Any, d: int) -> Sparsity:
        """`hess_sparsity`: a square matrix, dense or sparse, or one triangle of it; what is nonzero in either triangle
        counts for both, and the diagonal always does."""
        try:
            matrix = sparse.coo_array(pattern)
        except (TypeError, ValueError):
            matrix = None
        if matrix is None or matrix.shape != (d, d):
            shape = np.shape(pattern) if matrix is None else matrix.shape
            raise InvalidSetting(
                f"hess_sparsity of shape {shape} must be a matrix of {d} rows and {d} columns, nonzero where f "
                "depends on two variables together"
            )
        kept = (matrix.data != 0) & (matrix.coords[0] != matrix.coords[1])
        rows, columns = (side[kept].astype(np.int64) for side in matrix.coords)
        code = np.unique(np.minimum(rows, columns) * d + np.maximum(rows, columns))
        return cls(d, code // d, code % d)

    @property
    def size(self) -> int:
        """The number of pairs."""
        return len(self.i)

    @property
    def fingerprint(self) -> list[int]:
        """What tells it from others: the number of pairs, and a checksum."""
        return [self.size, crc32(np.stack([self.i, self.j]).tobytes())]

    @cached_property
    def ones(self) -> SparseMatrix:
        """A matrix with ones where the pattern has entries."""
        return self.matrix(np.ones(self.d), np.ones(self.size))

    @cached_property
    def groups(self) -> Groups:
        """Variables that are moved together where there are gradients: no two of a group meet in a row. Put greedily,
        those with most neighbours first (Curtis, Powell and Reid, 1974)."""
        meet = sparse.csr_array(self.ones @ self.ones)
        order, colour = np.argsort(-np.diff(meet.indptr), kind="stable"), np.full(self.d, -1)
        for k in order.tolist():
            taken = set(colour[meet.indices[meet.indptr[k] : meet.indptr[k + 1]]].tolist())
            colour[k] = next(c for c in count() if c not in taken)
        return [np.flatnonzero(colour == c) for c in range(int(colour.max()) + 1)]

    def matrix(self, diagonal: Vector, entries: Vector) -> SparseMatrix:
        """The symmetric matrix of this diagonal, with these entries at the pairs."""
        own = np.arange(self.d)
        data = np.concatenate([diagonal, entries, entries])
        places = (np.concatenate([own, self.i, self.j]), np.concatenate([own, self.j, self.i]))
        return sparse.csc_array((data, places), shape=(self.d, self.d))

    def pairs(self, f: Oracle, x: Array, steps: Vector) -> Vector:
        """f(x + h_i e_i + h_j e_j) for these pairs and steps h, NaN where a value is missing.

        Queries: m for m pairs
        """
        both = np.stack([self.i, self.j], axis=1)
        return or_nan(f, few_axes(x, both, steps[both]))[0] if self.size else np.zeros(0)


def coloured_hessian(slopes: Callable[[Matrix], Matrix], sparsity: Sparsity, steps: Vector) -> SparseMatrix:
    """The Hessian by central differences of gradients, many variables at a time (Curtis, Powell and Reid, 1974), made
    symmetric. `slopes` gives the gradients at the point plus each of the rows of a matrix, two for each group.
    """
    groups = sparsity.groups
    ways, owner = np.zeros((len(groups), sparsity.d)), np.zeros(sparsity.d, dtype=np.int64)
    for k, group in enumerate(groups):
        ways[k, group], owner[group] = steps[group], k
    up, down = np.split(slopes(np.concatenate([ways, -ways])), 2)
    changes, (i, j), own = (up - down) / 2, (sparsity.i, sparsity.j), np.arange(sparsity.d)
    entries = (changes[owner[j], i] / steps[j] + changes[owner[i], j] / steps[i]) / 2
    return sparsity.matrix(changes[owner, own] / steps, entries)


def scaled_hessian(hessian: Any, factors: Vector) -> Any:
    """diag(factors) H diag(factors), dense or sparse."""
    if is_sparse(hessian):
        return sparse.csc_array(sparse.diags_array(factors) @ hessian @ sparse.diags_array(factors))
    return np.asarray(hessian * factors[:, None] * factors)


def sparse_hessian(stencil: CoordinateStencil, sparsity: Sparsity, order: int) -> SparseMatrix:
    """The Hessian in y by second differences of the pairs of a pattern: on one side of x, or at order 2 the mean of
    both.

    Queries: m or 2*m for m pairs; d for each row not yet known; 3 or 6 for each entry with a missing value
    """
    h, i, j = stencil.steps, sparsity.i, sparsity.j
    stencil.take_rows(1.0, -1.0)
    f, sides = stencil.f.tagged("curvature"), []
    for k in (1.0, -1.0)[:order]:
        row = stencil.entries(k)
        pair = sparsity.pairs(f, stencil.x, k * h * stencil.unit)
        sides.append(pair - row[i] - row[j] + stencil.f0)
    entries = np.mean(sides, axis=0)
    lost = np.flatnonzero(np.isnan(entries))
    if len(lost):
        axes = np.zeros((2, len(lost), stencil.d))
        axes[0, np.arange(len(lost)), i[lost]], axes[1, np.arange(len(lost)), j[lost]] = h[i[lost]], h[j[lost]]
        entries[lost] = some_second_differences(stencil, axes[0], axes[1], order, 1.0)
    return sparsity.matrix(stencil.second_differences() / h**2, entries / (h[i] * h[j]))
