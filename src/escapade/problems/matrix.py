"""Low-rank matrices through their factors: full observation and linear measurements."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from escapade.problems.base import Array, Matrix, Problem, Vector, at_least, like, rows_times


@dataclass(frozen=True, kw_only=True)
class _LowRank(Problem):
    """A factor ``U`` of shape (n, rank), flattened row by row, and a target ``M = V V'`` of that rank."""

    n: int
    rank: int
    seed: int = 0
    d: int = field(init=False)

    def __post_init__(self) -> None:
        at_least("rank", self.rank, 1)
        at_least("n", self.n, self.rank)
        object.__setattr__(self, "d", self.n * self.rank)

    @cached_property
    def factor(self) -> Matrix:
        """A factor ``V``: orthogonal columns with squared lengths 1, 2, ..., rank, longest first."""
        rng = np.random.default_rng(self.seed)
        basis, _ = np.linalg.qr(rng.standard_normal((self.n, self.rank)))
        return np.asarray(basis * np.sqrt(np.arange(self.rank, 0, -1)))

    @cached_property
    def target(self) -> Matrix:
        """The matrix ``M``."""
        return np.asarray(self.factor @ self.factor.T)

    def _grams(self, x: Array) -> Array:
        """``U U'`` of each row, flattened."""
        xp = array_namespace(x)
        U = xp.reshape(x, (x.shape[0], self.n, self.rank))
        return xp.reshape(U @ xp.matrix_transpose(U), (x.shape[0], self.n**2))

    def _unflatten(self, x: Vector) -> Matrix:
        return np.reshape(np.asarray(x, dtype=float), (self.n, self.rank))

    def _fold(self, outer: Matrix) -> Matrix:
        """The Hessian block ``outer`` of shape (n, n), repeated for every column of ``U``."""
        return np.asarray(np.kron(outer, np.eye(self.rank)))

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """The origin."""
        return (np.zeros(self.d),)

    @property
    def minima(self) -> tuple[Vector, ...]:
        """The factor ``V``; any rotation of its columns gives another."""
        return (self.factor.ravel(),)

    @property
    def minimum(self) -> float:
        """Zero."""
        return 0.0


@dataclass(frozen=True, kw_only=True)
class MatrixFactorisation(_LowRank):
    r"""Symmetric low-rank factorisation (Li, Lu, Wang, Haupt and Zhao 2019).

    .. math:: f(U) = \tfrac14 \|U U^\top - M\|_F^2, \qquad U \in \mathbb{R}^{n \times r},\; M = V V^\top

    The strict saddles are the factors that hold some of the eigenvectors of ``M``, scaled, and zeros for the
    others.

    Parameters
    ----------
    n, rank : int
        Shape of ``U``; ``d = n * rank``, with ``U`` flattened row by row.
    seed : int
        Seed of the eigenvectors of ``M``; its eigenvalues are 1, 2, ..., rank.
    """

    name: ClassVar[str] = "matrix_factorisation"

    def _values(self, x: Array) -> Array:
        residual = self._grams(x) - like(self.target.ravel(), x)
        return array_namespace(x).sum(residual * residual, axis=1) / 4

    def gradient(self, x: Vector) -> Vector:
        U = self._unflatten(x)
        return np.asarray(((U @ U.T - self.target) @ U).ravel())

    def hessian(self, x: Vector) -> Matrix:
        # H[Z] = Z U'U + U Z'U + (U U' - M) Z
        U = self._unflatten(x)
        crossed = np.einsum("ib,ja->iajb", U, U).reshape(self.d, self.d)
        straight = self._fold(U @ U.T - self.target) + np.kron(np.eye(self.n), U.T @ U)
        return np.asarray(straight + crossed)

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """The first k columns of ``V`` and zeros, k = 0, ..., rank - 1."""
        columns = np.arange(self.rank)
        return tuple((self.factor * (columns < k)).ravel() for k in range(self.rank))


@dataclass(frozen=True, kw_only=True)
class MatrixSensing(_LowRank):
    r"""Low-rank matrix sensing (Bhojanapalli, Neyshabur and Srebro 2016).

    .. math:: f(U) = \frac{1}{4m} \sum_{k=1}^m \langle A_k, U U^\top - M\rangle^2

    with symmetric Gaussian ``A_k``. The origin is a strict saddle whatever the draw: its Hessian is minus a
    matrix whose inner product with ``M`` is a mean of squares.

    Parameters
    ----------
    n, rank : int
        Shape of ``U``; ``d = n * rank``, with ``U`` flattened row by row.
    measurements : int
        The number ``m``.
    seed : int
        Seed of ``M`` and of the measurements.
    """

    name: ClassVar[str] = "matrix_sensing"

    measurements: int

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("measurements", self.measurements, 1)

    @cached_property
    def sensors(self) -> Matrix:
        """The ``A_k``, of shape (m, n, n)."""
        rng = np.random.default_rng([self.seed, 1])
        A = rng.standard_normal((self.measurements, self.n, self.n))
        return np.asarray((A + A.transpose(0, 2, 1)) / 2)

    @cached_property
    def _flat(self) -> Matrix:
        return self.sensors.reshape(self.measurements, -1)

    def _values(self, x: Array) -> Array:
        residual = rows_times(self._grams(x) - like(self.target.ravel(), x), like(self._flat.T, x))
        return array_namespace(x).mean(residual * residual, axis=1) / 4

    def _mean_sensor(self, U: Matrix) -> Matrix:
        """Mean of the ``A_k`` weighted by their residuals."""
        residual = self._flat @ (U @ U.T - self.target).ravel()
        return np.asarray((residual @ self._flat).reshape(self.n, self.n) / self.measurements)

    def gradient(self, x: Vector) -> Vector:
        U = self._unflatten(x)
        return np.asarray((self._mean_sensor(U) @ U).ravel())

    def hessian(self, x: Vector) -> Matrix:
        U = self._unflatten(x)
        slopes = (self.sensors @ U).reshape(self.measurements, self.d)
        return self._fold(self._mean_sensor(U)) + 2 / self.measurements * slopes.T @ slopes
