"""The mesh of points on which a function is evaluated wherever it is asked: its pitch, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import Array, Vector, like, to_numpy
from ..oracle import Oracle, or_nan, points
from .settings import MESH


@dataclass(frozen=True)
class Mesh:
    """Points on which f is evaluated wherever it is asked: the nearest pitch * k + offset, k whole."""

    pitch: Vector
    """Of each variable."""
    offset: Vector

    def nearest(self, y: Vector) -> Vector:
        """The points of the mesh next to the rows of y."""
        out: Vector = self.offset + self.pitch * np.round((y - self.offset) / self.pitch)
        return out


def find_mesh(f: Oracle, x: Array, f0: float, signs: Vector) -> tuple[Mesh | None, float]:
    """The mesh around x, if there is one; and the distance between steps of f along the first variable.

    Pitches of a power of ten, through zero, are tried first, in the user's own variables; then one pitch for all of
    these is measured, and where the mesh lies along each.

    Queries: 3 for each power tried, and 6 more for the right one; else about 60 + 7*d more
    """
    y = to_numpy(x).astype(np.float64)
    unit = np.ones(len(y)) if f.unit is None else to_numpy(f.unit).astype(np.float64)
    around = _Around(f.tagged("check"), x, y, f0)
    for power in MESH.powers:
        mesh = Mesh(10.0**power / unit, np.zeros(len(y)))
        if around.fits(mesh, signs):
            return mesh, float(mesh.pitch[0])
    steps = around.steps(0)
    if steps is None:
        return None, MESH.shortest
    edge, pitch = steps
    common = pitch * unit[0] / unit
    edges = np.array([edge] + [around.edge(i, common[i]) for i in range(1, len(y))])
    if np.isfinite(edges).all():
        mesh = Mesh(common, y + edges - common / 2)
        if around.fits(mesh, signs):
            return mesh, pitch
    return None, pitch


@dataclass(frozen=True)
class _Around:
    """f near a point where it moves in steps."""

    f: Oracle
    x: Array
    y: Vector
    f0: float

    def at(self, moves: Vector) -> Vector:
        """f at y plus the rows of `moves`; NaN where it is missing.

        Queries: 1 for each of them
        """
        return or_nan(self.f, points(like(self.y + moves, self.x)))[0]

    def along(self, i: int, t: Vector) -> Vector:
        """f at y + t e_i for these t.

        Queries: 1 for each of them
        """
        return self.at(t[:, None] * np.eye(1, len(self.y), i))

    def fits(self, mesh: Mesh, signs: Vector) -> bool:
        """Whether f at a few points is that of the points of the mesh next to them, and another in the next cell.

        Queries: 3, or 9 if it fits
        """
        n = len(self.y)
        for k in range(MESH.tests):
            unequal = np.roll(np.resize(np.array(MESH.turns), n), k)
            centre = mesh.nearest(self.y) + mesh.pitch * (3 * k + 2) * signs
            away = centre + MESH.beyond * mesh.pitch
            seen = self.at(np.stack([centre, centre + mesh.pitch * unequal, away]) - self.y)
            if not np.isfinite(seen).all() or seen[0] != seen[1] or seen[0] == seen[2]:
                return False
        return True

    def steps(self, i: int) -> tuple[float, float] | None:
        """The distance to the first step of f along a variable, and that from there to the next, seen over hundreds of
        steps; None where there are none.

        Queries: about 60
        """
        first = self._next(i, 0.0, MESH.shortest)
        if first is None:
            return None
        second = self._next(i, first, first * MESH.precise)
        if second is None:
            return None
        pitch, error = second - first, MESH.precise * second
        for many in MESH.strides:
            end = first + many * pitch
            edge = self._between(i, end - 2 * many * error, end + 2 * many * error, MESH.precise * pitch)
            if edge is None:
                break
            pitch, error = (edge - first) / many, MESH.precise * pitch / many
        return first, pitch

    def edge(self, i: int, pitch: float) -> float:
        """The distance to the first step along a variable, of a known pitch; NaN where there is none.

        Queries: about 7
        """
        found = self._between(i, 0.0, pitch, MESH.precise * pitch)
        return np.nan if found is None else found

    def _next(self, i: int, start: float, least: float) -> float | None:
        """Where f next changes beyond `start`, by more than `least` from there.

        Queries: about 20
        """
        t = start + least * MESH.ratio ** np.arange(MESH.lengths, dtype=np.float64)
        t = t[t - start < MESH.longest]
        values = self.along(i, t)
        other = np.flatnonzero(values != values[0])
        if len(other) == 0 or not np.isfinite(values[: other[0] + 1]).all():
            return None
        low, high = float(t[other[0] - 1]), float(t[other[0]])
        return self._between(i, low, high, MESH.precise * (high - start))

    def _between(self, i: int, low: float, high: float, width: float) -> float | None:
        """Where f changes between two distances, to within `width`, by bisection; None if it does not, or not once.

        Queries: 2, and 1 for each halving
        """
        left, right = self.along(i, np.array([low, high]))
        if left == right or not np.isfinite([left, right]).all():
            return None
        while high - low > width:
            middle = (low + high) / 2
            value = float(self.along(i, np.array([middle]))[0])
            if not np.isfinite(value):
                return None
            low, high = (middle, high) if value == left else (low, middle)
        return (low + high) / 2
