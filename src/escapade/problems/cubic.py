"""A quadratic saddle with cubic regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from escapade.problems.base import Array, Matrix, Problem, Vector, at_least, like, positive


@dataclass(frozen=True, kw_only=True)
class Cubic(Problem):
    r"""Cubic regularisation with a diagonal matrix (Liu, Li, Wang, Yi and Yang 2018).

    .. math:: f(x) = \tfrac12 x^\top A x + \tfrac{\alpha}{3} \|x\|^3

    A tenth of the diagonal entries of ``A`` (at least one) are -1; the others are uniform in [1, 2]. The
    linear term is zero, so the origin is a strict saddle.

    Parameters
    ----------
    d : int
        Number of variables.
    alpha : float
        Weight of the cubic term.
    seed : int
        Seed of the diagonal.

    Notes
    -----
    The minima fill the sphere of radius ``1/alpha`` in the space of negative entries; their value is
    ``-1/(6 alpha^2)`` for every ``d``. `rho` holds everywhere, `ell` in the ball of radius ``1/alpha``.
    """

    name: ClassVar[str] = "cubic"

    d: int
    alpha: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        at_least("d", self.d, 1)
        positive(alpha=self.alpha)

    @cached_property
    def diagonal(self) -> Vector:
        """Diagonal of ``A``."""
        rng = np.random.default_rng(self.seed)
        entries = rng.uniform(1.0, 2.0, self.d)
        entries[rng.permutation(self.d)[: max(1, round(self.d / 10))]] = -1.0
        return entries

    @property
    def _mean(self) -> tuple[Vector, Vector]:
        """Quadratic diagonal and linear term of the mean."""
        return self.diagonal, np.zeros(self.d)

    def _values(self, x: Array) -> Array:
        return self._model(x, *self._mean)

    def _model(self, x: Array, quadratic: Vector, linear: Vector) -> Array:
        """Value of ``x' diag(quadratic) x / 2 + linear . x + alpha |x|^3 / 3``."""
        xp = array_namespace(x)
        square = xp.sum(x * x, axis=1)
        smooth = xp.sum(x * (0.5 * like(quadratic, x) * x + like(linear, x)), axis=1)
        return smooth + self.alpha / 3 * square * xp.sqrt(square)

    def gradient(self, x: Vector) -> Vector:
        x = np.asarray(x, dtype=float)
        quadratic, linear = self._mean
        return np.asarray(quadratic * x + linear + self.alpha * np.linalg.norm(x) * x)

    def hessian(self, x: Vector) -> Matrix:
        x = np.asarray(x, dtype=float)
        norm = np.linalg.norm(x)
        radial = np.outer(x, x) / norm if norm else np.zeros((self.d, self.d))
        return np.asarray(np.diag(self._mean[0]) + self.alpha * (norm * np.eye(self.d) + radial))

    @property
    def start(self) -> Vector:
        """The origin."""
        return np.zeros(self.d)

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """The origin."""
        return (np.zeros(self.d),)

    @property
    def minima(self) -> tuple[Vector, ...]:
        """``e_j / alpha`` for each negative entry ``j``."""
        return tuple(np.eye(self.d)[j] / self.alpha for j in np.flatnonzero(self.diagonal < 0))

    @property
    def minimum(self) -> float | None:
        """``-1 / (6 alpha^2)``."""
        return -1 / (6 * self.alpha**2)

    @property
    def ell(self) -> float:
        """Bound on the curvature in the ball of radius ``1/alpha``."""
        return float(np.abs(self._mean[0]).max() + 2)

    @property
    def rho(self) -> float:
        """``2 alpha``, everywhere."""
        return 2 * self.alpha
