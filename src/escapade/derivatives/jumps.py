"""Isolated jumps of f within the scale of its user, which differences around x do not meet.

A solver inside f that takes the same steps all around x gives a function that is smooth there at every short length,
and whose derivatives are not those of what it approximates. Farther out it takes another number of steps, and f jumps.
A table of values across the longest length shows that: the k-th differences of a smooth function fall with k, while
those of a jump J are binomial coefficients times J, so that max |D^k| / C(k - 1, k // 2) is J for every k, and of
alternating signs. What seems to jump is looked at again, twice, closer: a jump is as large there, a kink is less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array, Vector, epsilon, like, to_numpy
from ..oracle import Oracle, or_nan, points
from .ladder import PURPOSE
from .noise import Noise, rounding
from .settings import JUMPS, LADDER


@dataclass(frozen=True)
class Jumps:
    """The largest jump seen, 0 if none; and the distance of the values that showed it, in y = x / unit."""

    size: float = 0.0
    spacing: float = 0.0


@dataclass(frozen=True)
class Ends:
    """A line through x of which f is known at both ends, x + way and x - way."""

    way: Vector
    plus: float
    minus: float


def random_way(scale: Vector, rng: np.random.Generator) -> Vector:
    """A random sign vector of lengths between half of these and all, since terms of f may cancel along equal ones."""
    return np.asarray(np.where(rng.random(len(scale)) < 0.5, -1.0, 1.0) * rng.uniform(0.5, 1.0, len(scale)) * scale)


def across(
    f: Oracle,
    x: Array,
    unit: Vector,
    scale: Vector,
    noise: Noise,
    *,
    gtol: float,
    curvtol: float,
    rng: np.random.Generator,
    ends: Ends | None = None,
) -> Jumps:
    """Look along a random line through x, to both sides as far as `scale` (the unit of a user's variables) matters; or
    along one whose ends are known.

    Queries: 24, and 14 or 28 more where something seems to jump; 2 less where ends are known
    """
    way = random_way(scale, rng) * LADDER.longest if ends is None else ends.way
    t = np.linspace(-1.0, 1.0, JUMPS.points)
    h, size = float(t[1] - t[0]), float(np.linalg.norm(way))
    f = f.tagged(PURPOSE)

    def values(t: Any) -> Vector:
        found, _ = or_nan(f, points(x[None, :] + like(t[:, None] * way * unit, x)))
        return found

    table = values(t) if ends is None else np.concatenate([[ends.minus], values(t[1:-1]), [ends.plus]])
    floor = _floor(x, way * unit, table, h) + noise.level
    jump = _jump(table)
    matters = jump / (h * size) > gtol or 4 * jump / (h * size) ** 2 > curvtol
    if not (jump > LADDER.clear * floor and matters) or _swells(table):  # NaN too
        return Jumps()
    middle = float(t[int(np.argmax(np.abs(np.diff(table, JUMPS.orders[0]))))]) + h * JUMPS.orders[0] / 2
    for _ in range(JUMPS.closer):
        h /= LADDER.ratio
        close = middle + h * (np.arange(JUMPS.again) - (JUMPS.again - 1) / 2)
        closer = values(close)
        if not _jump(closer, JUMPS.orders[:1]) > JUMPS.kept * jump:
            return Jumps()
        middle = float(close[int(np.argmax(np.abs(np.diff(closer, JUMPS.orders[0]))))]) + h * JUMPS.orders[0] / 2
    return Jumps(jump, 2 * size / (JUMPS.points - 1))


def _jump(values: Vector, orders: tuple[int, ...] = JUMPS.orders) -> float:
    """The jump that differences of all these orders agree on: the least of what each of them shows."""
    shown = [np.max(np.abs(np.diff(values, k))) / math.comb(k - 1, k // 2) for k in orders]
    return float(np.min(shown))


def _swells(table: Vector) -> bool:
    """Whether differences of the highest order grow smoothly to their largest, as those of an analytic function do
    towards a steep end: those of a jump are binomial coefficients of alternating signs, or one alone at an end."""
    shown = np.diff(table, JUMPS.orders[-1])
    i = int(np.argmax(np.abs(shown)))
    beside = max((shown[j] for j in (i - 1, i + 1) if 0 <= j < len(shown)), key=abs)
    return bool(beside * shown[i] > 0 and abs(beside) >= JUMPS.beside * abs(shown[i]))


def _floor(x: Array, way: Vector, table: Vector, h: float) -> float:
    """What the rounding of f and of points makes of a value of the table."""
    steepest = float(np.max(np.abs(np.diff(table)))) / h
    moved = epsilon(x) * float(np.max(np.abs(to_numpy(x) / way)))
    return rounding(x, float(np.max(np.abs(table)))) + steepest * moved
