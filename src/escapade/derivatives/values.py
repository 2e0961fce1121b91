"""What kind of values f gives: exact ones, noisy ones, ones of a few digits, or those of a mesh of points.

Seven values so close together that a smooth function is a parabola over them, to all its digits, tell most: differences
of third and fourth order are then rounding, or noise. Values that all have few digits were rounded. Where most are
alike, values further away, and others close to those, tell whether f is flat there or moves in steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from .._array import Array, Vector, like, repeat, to_numpy
from ..interval import Estimate
from ..oracle import Oracle, or_nan, points
from .mesh import Mesh, find_mesh
from .noise import printed_unit
from .settings import VALUES


class ValueKind(Enum):
    """What is wrong with values."""

    EXACT = "rounding alone"
    NOISE = "errors that differ from point to point"
    DIGITS = "values are given to a few digits"
    STEPS = "f changes in steps, as on a mesh of points"


@dataclass(frozen=True)
class ValueReport:
    """What the values around a point show."""

    kind: ValueKind
    level: float = 0.0
    """The standard deviation of their errors; 0 if they are exact, or exact on a mesh."""
    size: float = 0.0
    """The size of the values that showed it."""
    mesh: Mesh | None = None
    spacing: float = VALUES.spacing
    """The distance, in x, over which errors differ from point to point."""

    @property
    def close(self) -> bool:
        """Whether errors differ between points however close they are."""
        return self.spacing == VALUES.spacing

    @property
    def exact(self) -> bool:
        """Whether nothing but rounding was seen."""
        return self.kind is ValueKind.EXACT


EXACT = ValueReport(ValueKind.EXACT)


def look(f: Oracle, x: Array, f0: float, rng: np.random.Generator) -> ValueReport:
    """The kind of values that f gives around x.

    Queries: 6, and 6 more where noise shows, or where some are missing; where most are alike 9 more, and those of
    `find_mesh`
    """
    y = to_numpy(x).astype(np.float64)
    way = np.where(y == 0.0, 1.0, np.abs(y)) * rng.choice([-1.0, 1.0], len(y)) * rng.uniform(*VALUES.unequal, len(y))
    ask = _Values(f.tagged("check"), x, y)
    near = _in_a_row(ask, way, f0)
    if len(near) < VALUES.least:
        return EXACT
    top = float(np.max(np.abs(near)))
    alike = float(np.mean(np.diff(near) == 0.0))
    unit = printed_unit(near * f.value_unit) / f.value_unit if alike < VALUES.alike else 0.0
    if unit:
        return ValueReport(ValueKind.DIGITS, unit / math.sqrt(12), top)
    if alike >= VALUES.alike:
        return _of_steps(ask, way, near, f0)
    level = noise_of_table(near)
    if not VALUES.clear * top < level < math.inf:
        return EXACT
    closer = _in_a_row(ask, VALUES.closer * way, f0)
    if noise_of_table(closer) <= VALUES.clear * top:  # f is wild, but smooth
        return EXACT
    rows = [scatter(row) for row in (near, closer) if len(row) >= VALUES.least]  # ten degrees of freedom, not five
    return ValueReport(ValueKind.NOISE, math.sqrt(sum(level**2 for level in rows) / len(rows)), top)


def scatter(values: Vector) -> float:
    """The standard deviation of equally spaced values, so close that f is a line over them, about that line; about a
    parabola where that leaves far less, as it does where f is stationary."""
    t = np.arange(len(values)) - (len(values) - 1) / 2
    left = [values - np.polyval(np.polyfit(t, values, degree), t) for degree in (1, 2)]
    line, parabola = (np.linalg.norm(one) / math.sqrt(len(values) - k) for k, one in enumerate(left, start=2))
    return float(parabola if parabola < VALUES.curved * line else line)


def noise_of_table(values: Vector) -> float:
    """The standard deviation of the noise of equally spaced values so close that their third differences, and the
    fourth, hold nothing else."""
    row, seen = values.tolist(), []
    for k in range(1, min(5, len(values))):
        row = [b - a for a, b in pairwise(row)]
        seen.append(math.sqrt(sum(v * v for v in row) / len(row) / math.comb(2 * k, k)))
    return min(seen[2:], default=0.0)


def fresh(f: Oracle, x: Array, most: int) -> Estimate[float]:
    """f(x), where two values agree to the bit; else the mean of several, and the standard error of that.

    Queries: 2, or `most` where they differ
    """
    values = f(points(x[None, :] + 0.0) + points(x[None, :] + 0.0))
    if values[0] == values[1]:
        return Estimate(float(values[0]), 0.0)
    if most > 2:
        values = np.concatenate([values, f(points(repeat(x, most - 2)))])
    return Estimate(float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values)))


@dataclass(frozen=True)
class _Values:
    """f at points near one."""

    f: Oracle
    x: Array
    y: Vector

    def at(self, moves: Vector) -> Vector:
        """At y plus the rows of `moves`; NaN where a value is missing.

        Queries: 1 for each of them
        """
        return or_nan(self.f, points(like(self.y + moves, self.x)))[0]


def _in_a_row(ask: _Values, way: Vector, f0: float) -> Vector:
    """f0 and values at equal distances from it; where one of them is missing, the longer row without it.

    Queries: 6; 12 where some are missing
    """
    count = VALUES.points - 1
    row = np.concatenate([[f0], ask.at(VALUES.spacing * np.arange(1, count + 1)[:, None] * way)])
    if np.isnan(row).any():
        further = ask.at(VALUES.spacing * np.arange(count + 1, 2 * count + 1)[:, None] * way)
        row = max(_finite_runs(np.concatenate([row, further])), key=len)
    return row


def _finite_runs(values: Vector) -> list[Vector]:
    ends = np.flatnonzero(np.isnan(values))
    return [part[~np.isnan(part)] for part in np.split(values, ends)]


def _of_steps(ask: _Values, way: Vector, near: Vector, f0: float) -> ValueReport:
    """What is seen where neighbours are alike: digits, a mesh, or a function that is flat here.

    Queries: 9, and those of `find_mesh`
    """
    reach = VALUES.further
    moves = np.array([*reach, reach[-1] + VALUES.spacing, reach[-1] + 3 * VALUES.spacing, reach[-1] - VALUES.spacing])
    far = ask.at(moves[:, None] * way)
    seen = np.unique(np.concatenate([near, far[np.isfinite(far)]]))
    top, scale = float(np.max(np.abs(seen))), ask.f.value_unit
    unit = printed_unit(seen * scale) / scale
    end, close = far[len(reach) - 1], far[len(reach) :]
    change = float(np.ptp(seen)) * VALUES.spacing / reach[-1]  # between neighbours, if f did not move in steps
    if unit and not change > VALUES.clearly * unit:  # else values on a mesh, which may have few digits too
        return ValueReport(ValueKind.DIGITS, unit / math.sqrt(12), top)
    visible = change > VALUES.visible * np.finfo(float).eps * top
    if not (np.isfinite(end) and visible and np.mean(close == end) > VALUES.alike):
        return EXACT
    mesh, pitch = find_mesh(ask.f, ask.x, f0, np.sign(way))
    if mesh is not None:
        return ValueReport(ValueKind.STEPS, 0.0, top, mesh)
    return ValueReport(ValueKind.STEPS, float(np.min(np.diff(seen))) / math.sqrt(12), top, spacing=pitch)
