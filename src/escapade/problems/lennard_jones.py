"""Clusters of atoms held by the Lennard-Jones potential."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from escapade.problems.base import Array, Matrix, Problem, Vector, at_least

_BOND = 2.0 ** (1 / 6)
_STEPS = 500
_LEAST = {
    2: -1.0,
    3: -3.0,
    4: -6.0,
    5: -9.103852,
    6: -12.712062,
    7: -16.505384,
    8: -19.821489,
    9: -24.113360,
    10: -28.422532,
    11: -32.765970,
    12: -37.967600,
    13: -44.326801,
}  # the Cambridge Cluster Database, to the six decimals that it prints


@dataclass(frozen=True, kw_only=True)
class LennardJones(Problem):
    r"""Energy of a cluster of equal atoms (Hoare and Pal 1971; Wales and Doye 1997).

    .. math:: f(x) = 4 \sum_{i<j} \bigl(r_{ij}^{-12} - r_{ij}^{-6}\bigr), \qquad r_{ij} = \|x_i - x_j\|

    The start is a symmetric arrangement: atoms on a line or in a plane, at the least energy that the line or
    plane allows. By the principle of symmetric criticality (Palais 1979) its gradient vanishes in all of
    space, while moving atoms out of the line or plane lowers the energy: a strict saddle, up to the zero
    curvatures of rigid motions.

    Parameters
    ----------
    atoms : int
        Number of atoms; ``d = 3 * atoms``, atom after atom.
    span : int
        1 for a chain (3 atoms or more), 2 for a patch of the triangular lattice (4 atoms or more).
    """

    name: ClassVar[str] = "lennard_jones"

    atoms: int
    span: int = 1
    d: int = field(init=False)

    def __post_init__(self) -> None:
        if self.span not in (1, 2):
            raise ValueError(f"span={self.span} must be 1 (a chain) or 2 (a plane)")
        at_least("atoms", self.atoms, self.span + 2)
        object.__setattr__(self, "d", 3 * self.atoms)

    @cached_property
    def _pairs(self) -> Matrix:
        """Matrix of shape (atoms, pairs) that takes positions to differences."""
        i, j = np.triu_indices(self.atoms, 1)
        eye = np.eye(self.atoms)
        return np.asarray(eye[:, i] - eye[:, j])

    def _values(self, x: Array) -> Array:
        xp = array_namespace(x)
        i, j = (xp.asarray(k, device=device(x)) for k in np.triu_indices(self.atoms, 1))
        positions = xp.reshape(x, (x.shape[0], self.atoms, 3))
        apart = xp.take(positions, i, axis=1) - xp.take(positions, j, axis=1)
        inverse = 1 / xp.sum(apart * apart, axis=2)
        sixth = inverse * inverse * inverse
        return 4 * xp.sum(sixth * (sixth - 1), axis=1)

    def _bonds(self, x: Vector) -> tuple[Matrix, Vector, Vector]:
        """Differences, and the first and second derivative of the pair energy in the squared distance."""
        apart = self._pairs.T @ np.reshape(np.asarray(x, dtype=float), (self.atoms, 3))
        q = (apart**2).sum(axis=1)
        return apart, 12 * q**-4 - 24 * q**-7, 168 * q**-8 - 48 * q**-5

    def gradient(self, x: Vector) -> Vector:
        apart, first, _ = self._bonds(x)
        return np.asarray((self._pairs @ (2 * first[:, None] * apart)).ravel())

    def hessian(self, x: Vector) -> Matrix:
        apart, first, second = self._bonds(x)
        blocks = (
            2 * first[:, None, None] * np.eye(3)
            + 4 * second[:, None, None] * apart[:, :, None] * apart[:, None, :]
        )
        H = np.einsum("ip,pab,jp->iajb", self._pairs, blocks, self._pairs, optimize=True)
        return np.asarray(H.reshape(self.d, self.d))

    def relax(self, x: Vector, dimension: int = 3) -> Vector:
        """The arrangement of least energy near ``x`` that keeps to the first `dimension` axes.

        Newton's method on the free coordinates with the magnitudes of the curvatures, in short steps; zero
        curvatures (rigid motions) are left out.
        """
        x, free = np.array(x, dtype=float), np.tile(np.arange(3) < dimension, self.atoms)
        for _ in range(_STEPS):
            curvature, basis = np.linalg.eigh(self.hessian(x)[np.ix_(free, free)])
            size = np.abs(curvature)
            slope = np.where(size > 1e-8 * size.max(), basis.T @ self.gradient(x)[free], 0.0)
            step = basis @ (slope / np.maximum(size, 1e-8 * size.max()))
            length = float(np.linalg.norm(step))
            x[free] -= min(1.0, 0.1 / max(length, 1e-300)) * step
            if length < 1e-13:
                break
        return x

    @cached_property
    def _arrangement(self) -> Vector:
        points = np.zeros((self.atoms, 3))
        if self.span == 1:
            points[:, 0] = _BOND * (np.arange(self.atoms) - (self.atoms - 1) / 2)
        else:
            side = np.arange(-self.atoms, self.atoms + 1)
            i, j = (grid.ravel() for grid in np.meshgrid(side, side))
            lattice = np.stack([i + j / 2, np.sqrt(0.75) * j], axis=1)
            nearest = np.argsort(np.linalg.norm(lattice - [0.01, 0.02], axis=1))  # off-centre: no ties
            points[:, :2] = _BOND * lattice[nearest[: self.atoms]]
        return self.relax(points.ravel(), self.span)

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """The symmetric arrangement of the start."""
        return (self._arrangement.copy(),)

    @property
    def minima(self) -> tuple[Vector, ...]:
        """The global minimum for 3 to 7 atoms (simplices and bipyramids), up to rigid motion and renaming."""
        return () if self._compact is None else (self._compact.copy(),)

    @cached_property
    def _compact(self) -> Vector | None:
        if self.atoms > 7:
            return None
        sides = max(3, self.atoms - 2)  # a regular polygon, then one atom above it and one below
        angle = 2 * np.pi * np.arange(sides) / sides
        radius = _BOND / (2 * np.sin(np.pi / sides))
        ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)
        height = np.sqrt(_BOND**2 - radius**2)
        caps = np.array([[0.0, 0.0, height], [0.0, 0.0, -height]])[: self.atoms - sides]
        return self.relax(np.vstack([ring, caps]).ravel())

    @property
    def minimum(self) -> float | None:
        """Energy of the best known cluster, for up to 13 atoms."""
        return _LEAST.get(self.atoms)
