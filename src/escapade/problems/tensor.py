"""Finding one component of an orthogonal fourth-order tensor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from escapade.problems.base import Array, Matrix, Problem, Vector, at_least, like, rows_times
from escapade.problems.transformed import random_rotation


@dataclass(frozen=True, kw_only=True)
class OrthogonalTensor(Problem):
    r"""Orthogonal tensor decomposition (Ge, Huang, Jin and Yuan 2015) with the sphere turned into a penalty.

    .. math::

        f(x) = -\tfrac14 \sum_{i=1}^d (v_i^\top x)^4 + \tfrac{\kappa}{4} (\|x\|^2 - 1)^2, \qquad \kappa > 1

    for the tensor :math:`\sum_i v_i^{\otimes 4}` with orthonormal components :math:`v_i`. The minima are
    :math:`\pm t_1 v_i` with value :math:`-\kappa / (4(\kappa - 1))`. Equal weights :math:`\pm t_k` on ``k >=
    2`` components, with :math:`t_k^2 = \kappa / (\kappa k - 1)`, make strict saddles, and the origin is a
    local maximum.

    Parameters
    ----------
    d : int
        Number of variables and of components.
    kappa : float
        Weight of the penalty; the function is bounded below only above 1.
    seed : int
        Seed of the components.
    """

    name: ClassVar[str] = "orthogonal_tensor"

    d: int
    kappa: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        at_least("d", self.d, 2)
        if not 1 < self.kappa < float("inf"):
            raise ValueError(f"kappa={self.kappa} must exceed 1, or f is unbounded below")

    @cached_property
    def components(self) -> Matrix:
        """The ``v_i``, in columns."""
        return random_rotation(self.d, np.random.default_rng(self.seed))

    def _values(self, x: Array) -> Array:
        xp = array_namespace(x)
        y = rows_times(x, like(self.components, x))
        square, excess = y * y, xp.sum(x * x, axis=1) - 1
        return (self.kappa * excess * excess - xp.sum(square * square, axis=1)) / 4

    def gradient(self, x: Vector) -> Vector:
        x = np.asarray(x, dtype=float)
        y = self.components.T @ x
        return np.asarray(self.kappa * (x @ x - 1) * x - self.components @ y**3)

    def hessian(self, x: Vector) -> Matrix:
        x = np.asarray(x, dtype=float)
        V, y = self.components, self.components.T @ x
        penalty = self.kappa * ((x @ x - 1) * np.eye(self.d) + 2 * np.outer(x, x))
        return np.asarray(penalty - 3 * (V * y**2) @ V.T)

    def _mixture(self, k: int) -> Vector:
        """Equal weights on the first ``k`` components."""
        weight = np.sqrt(self.kappa / (self.kappa * k - 1))
        return np.asarray(weight * self.components[:, :k].sum(axis=1))

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """Mixtures of the first k = d, ..., 2 components, then the origin."""
        return (*(self._mixture(k) for k in range(self.d, 1, -1)), np.zeros(self.d))

    @property
    def minima(self) -> tuple[Vector, ...]:
        """The components, scaled; their opposites are the others."""
        return tuple(np.sqrt(self.kappa / (self.kappa - 1)) * self.components.T)

    @property
    def minimum(self) -> float:
        """``-kappa / (4 (kappa - 1))``."""
        return -self.kappa / (4 * (self.kappa - 1))
