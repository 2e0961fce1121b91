"""The line search along a direction of negative curvature, to the bottom of the valley."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._array import Vector
from .differences import Differences
from .point import Point
from .settings import DESCENT, LINE_SEARCH


@dataclass(frozen=True)
class Line:
    """What a line search found: the unit direction, how far it went, the value and the curvature (or NaN) there."""

    v: Vector
    t: float
    f: float
    curvature: float = math.nan
    unbounded: bool = False
    """Whether f fell as far as the search went."""


def leave(differences: Differences, p: Point, v: Vector, guess: float, gtol: float, *, compare: bool) -> Line:
    """Search along v or -v: where f falls on one side alone, or, if the two are to be compared, is lower there.

    Queries: those of `search`, 1 to compare, and as many again where f does not fall along v
    """
    seen = {0.0: p.f}
    if compare:
        ahead, behind = differences.value(p.y + guess * v, "escape"), differences.value(p.y - guess * v, "escape")
        v = -v if behind < ahead else v
        seen[guess] = min(ahead, behind)
    line = search(differences, p, v, guess, gtol, seen)
    return line if line.t > 0.0 else search(differences, p, -v, guess, gtol, {0.0: p.f})


def search(
    differences: Differences, p: Point, v: Vector, guess: float, gtol: float, known: dict[float, float]
) -> Line:
    """Go along v from p, from `guess` on: shorter while f does not fall, further while it falls faster; then parabolas,
    until the slope is small beside `gtol`. `known` are values along v, by how far from p they lie.

    Queries: 2 or more for the bracket, at most 8 for the parabolas
    """
    seen = dict(known)

    def at(t: float) -> float:
        if t not in seen:
            seen[t] = differences.value(p.y + t * v, "escape")
        return seen[t]

    t = guess
    for _ in range(LINE_SEARCH.shorten):
        if at(t) < p.f:
            break
        t /= 4
    if at(t) >= p.f:
        return Line(v, 0.0, p.f)
    limit = LINE_SEARCH.far * float(np.linalg.norm(p.scale * v))
    growth, later = LINE_SEARCH.grow
    while at(growth * t) < at(t):
        t, growth = growth * t, later
        if t > limit:
            return Line(v, t, at(t), unbounded=True)
    curvature = _parabolas(at, seen, t, gtol)
    best = min(seen, key=seen.__getitem__)
    return Line(v, best, seen[best], curvature)


def _parabolas(at: Callable[[float], float], seen: dict[float, float], t: float, gtol: float) -> float:
    """Evaluate at the lowest points of parabolas, until one predicts its value; the curvature of the last."""
    if not any(0 < s < t for s in seen):
        at(LINE_SEARCH.inner * t)
    curvature = math.nan
    for _ in range(LINE_SEARCH.parabolas):
        best = min(seen, key=seen.__getitem__)
        left, right = max((s for s in seen if s < best), default=best), min((s for s in seen if s > best), default=best)
        lowest = sorted(sorted(seen, key=seen.__getitem__)[:3])  # they close in faster than a bracket does
        s, predicted, second = _through(seen, lowest)
        if not left < s < right:
            s, predicted, second = _through(seen, [left, best, right])
        if not left < s < right:
            break
        curvature, before, least = second, seen[best], LINE_SEARCH.flat * (seen[0.0] - seen[best])
        if before - predicted <= least or abs(s - best) * second <= DESCENT.small * gtol:
            break
        if at(s) < before and abs(seen[s] - predicted) <= least:
            break
    return curvature


def _through(seen: dict[float, float], where: list[float]) -> tuple[float, float, float]:
    """The parabola through three of the values seen, if they are three."""
    if len(set(where)) < 3:
        return math.nan, math.nan, math.nan
    a, b, c = ((t, seen[t]) for t in where)
    return parabola(a, b, c)


def parabola(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> tuple[float, float, float]:
    """The lowest point of the parabola through three points, its value, and its curvature."""
    u, w = b[0] - a[0], c[0] - b[0]
    p, q = (b[1] - a[1]) / u, (c[1] - b[1]) / w
    second = 2 * (q - p) / (u + w)
    if not second > 0 or not math.isfinite(second):
        return math.nan, math.nan, math.nan
    slope = (p * w + q * u) / (u + w)
    s = -slope / second
    return b[0] + s, b[1] + slope * s / 2, second
