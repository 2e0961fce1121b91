"""Whether f does not change along given directions, by values.

Curvature along directions of invariance is left out of what a certificate claims, so that a wrong one would hide a
genuine mode. Two things are looked at, therefore. From x, each direction is followed to both sides, over several
lengths: that f is the same there shows that it neither slopes nor curves along it. And from random points around x
random combinations of all directions are followed: f is the same there only if the Hessian maps none of them to
anything, since f(b + t v) - f(b) holds t (b - x)'H v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Matrix, Vector, epsilon, like, to_numpy
from ..domain import Directions
from ..errors import MissingValue
from ..oracle import Oracle, points
from .settings import INVARIANCE
from .units import lengths


@dataclass(frozen=True)
class Invariance:
    """What values said of directions along which f should not change."""

    rows: Matrix
    """Those that do not vanish at x."""
    refuted: str = ""
    """Why f is not the same along them; empty if it is."""
    unseen: float = 0.0
    """A curvature between them and other directions that would not have been seen."""


def follow(directions: Directions, start: Vector, weights: Vector, length: float) -> Vector:
    """Where the field that these weights make of the directions leads, as far as this length: by Runge and Kutta."""

    def field(y: Vector) -> Vector:
        return np.asarray(weights @ directions(y))

    size = float(np.linalg.norm(field(start)))
    if size == 0.0:
        return start.copy()
    ahead = field(start + length / size * field(start))
    turn = float(np.linalg.norm(ahead - field(start))) / size
    stages = min(INVARIANCE.stages[1], math.ceil(INVARIANCE.stages[0] * max(1.0, turn / INVARIANCE.lengths[0])))
    y, h = start.copy(), length / size / stages
    for _ in range(stages):
        a = field(y)
        b = field(y + h / 2 * a)
        c = field(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + field(y + h * c))
    return y


def alive(directions: Directions, y: Vector, scale: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which directions do not all but vanish at y, beside what they are a little away: a turn about an axis moves no
    point of it, and leaves no direction out."""
    rows = directions(y)
    way = rng.standard_normal(len(y))
    away = directions(y + scale * way / np.linalg.norm(way))
    sizes, changes = np.linalg.norm(rows, axis=1), np.linalg.norm(away - rows, axis=1)
    return np.asarray(sizes > INVARIANCE.vanishing * changes)


def check(
    f: Oracle, x: Array, directions: Directions, noise: float, rng: np.random.Generator, x0: Vector | None = None
) -> Invariance:
    """Compare f at x, and at points around it, with f where these directions lead from there.

    Queries: 6*m + 16 for m directions that do not vanish at x
    """
    y = to_numpy(x).astype(np.float64)
    rows, scale = directions(y), float(np.median(lengths(y, x0)))
    count, which = len(rows), alive(directions, y, scale, rng)
    rows = rows[which]
    near, names = _near(directions, y, which, scale)
    bases, far = _around(directions, y, count, scale, rng)
    ends = np.concatenate([y[None, :], near, bases, far])
    try:
        values = f.tagged("check")(points(like(ends, x)))
    except MissingValue:
        return Invariance(rows, "f has no value at some of the points to which the directions of invariances lead")
    f0, along, based, beyond = np.split(values, np.cumsum([1, len(near), len(bases)]))
    eps, top = epsilon(x), float(np.max(np.abs(values)))
    error = INVARIANCE.rounding * eps * top + INVARIANCE.deviations * noise
    change = np.abs(along - f0)
    if np.any(change > error):
        k = int(np.argmax(change))
        return Invariance(rows, f"f changes by {change[k]:.2g} along {names[k]}: it is not the same there")
    slopes = np.abs(based - f0) / np.linalg.norm(bases - y, axis=1)
    allowed = error + INVARIANCE.path * scale * np.repeat(slopes, 2)
    moved = np.abs(beyond - np.repeat(based, 2))
    if np.any(moved > allowed):
        k = int(np.argmax(moved - allowed))
        where = "along a combination of invariances, from a point beside x"
        return Invariance(rows, f"f changes by {moved[k]:.2g} {where}")
    product = INVARIANCE.lengths[0] * scale * np.linalg.norm(bases - y, axis=1)
    seen = np.sort(allowed[::2] / product)[len(bases) // 2]
    return Invariance(rows, unseen=float(seen) * math.sqrt(len(y)) / INVARIANCE.small)


def _near(directions: Directions, y: Vector, which: NDArray[np.bool_], scale: float) -> tuple[Matrix, list[str]]:
    """Where each direction leads from x, to both sides over several lengths, and what to call it."""
    ends, names = [], []
    for k in np.flatnonzero(which):
        for length in INVARIANCE.lengths:
            for side in (1.0, -1.0):
                ends.append(follow(directions, y, np.eye(len(which))[k], side * length * scale))
                names.append(f"invariances[{k}], over a length of {length * scale:.2g},")
    return np.asarray(ends).reshape(-1, len(y)), names


def _around(
    directions: Directions, y: Vector, count: int, scale: float, rng: np.random.Generator
) -> tuple[Matrix, Matrix]:
    """Random points around x, and where random combinations of the directions lead from each, to both sides."""
    bases, ends = [], []
    for k in range(INVARIANCE.bases):
        way = rng.standard_normal(len(y))
        base = y + INVARIANCE.around[k % len(INVARIANCE.around)] * scale * way / np.linalg.norm(way)
        weights = rng.standard_normal(count)
        bases.append(base)
        ends += [follow(directions, base, weights, side * INVARIANCE.lengths[0] * scale) for side in (1.0, -1.0)]
    return np.asarray(bases), np.asarray(ends)
