"""The escape part: along a direction of negative curvature, a line search that ends at the bottom of the valley."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._array import Vector
from .differences import Differences
from .point import Point

HALVINGS = 40
FITS = 8

FAR = 1e10
"""A fall that goes on over this many times the scale of x has no bottom."""


@dataclass
class Line:
    """What a line search learnt: how far it went, the value and the curvature (or NaN) there, and whether it ended."""

    t: float
    f: float
    curvature: float = math.nan
    bottomless: bool = False


def leave(ask: Differences, p: Point, v: Vector, guess: float, gtol: float, *, compare: bool) -> Line:
    """Search along v; or, with v reversed in place, along the other side: where f falls there alone, or, if the two
    are to be compared, is lower there.

    Queries: those of `search`, 1 to compare, and as many again where f does not fall along v
    """
    seen = {0.0: p.f}
    if compare:
        ahead, behind = ask.value(p.y + guess * v, "escape"), ask.value(p.y - guess * v, "escape")
        v *= -1 if behind < ahead else 1
        seen[guess] = min(ahead, behind)
    line = search(ask, p, v, guess, gtol, seen)
    if line.t > 0.0:
        return line
    v *= -1
    return search(ask, p, v, guess, gtol, {0.0: p.f})


def search(ask: Differences, p: Point, v: Vector, guess: float, gtol: float, seen: dict[float, float]) -> Line:
    """Go along v from p, from `guess` on: shorter while f does not fall, further while it falls faster; then parabolas,
    until the slope is small beside `gtol`. `seen` are values that are known, by how far along v they lie.

    Queries: 2 or more for the bracket, at most 8 for the parabolas
    """
    def at(t: float) -> float:
        if t not in seen:
            seen[t] = ask.value(p.y + t * v, "escape")
        return seen[t]

    t = guess
    for _ in range(HALVINGS):
        if at(t) < p.f:
            break
        t /= 4
    if at(t) >= p.f:
        return Line(0.0, p.f)
    limit = FAR * float(np.linalg.norm(p.scale * v))
    growth = 1.4
    while at(growth * t) < at(t):
        t, growth = growth * t, 2.0
        if t > limit:
            return Line(t, at(t), bottomless=True)
    return _bottom(at, seen, t, gtol)


def _bottom(at: Callable[[float], float], seen: dict[float, float], t: float, gtol: float) -> Line:
    """Parabolas through the best point and its neighbours, until one foresees the value at its own bottom."""
    if not any(0 < s < t for s in seen):
        at(0.7 * t)
    curvature = math.nan
    for _ in range(FITS):
        best = min(seen, key=seen.__getitem__)
        left, right = max((s for s in seen if s < best), default=best), min((s for s in seen if s > best), default=best)
        lowest = sorted(sorted(seen, key=seen.__getitem__)[:3])  # they close in faster than a bracket does
        s, foreseen, bend = _through(seen, lowest)
        if not left < s < right:
            s, foreseen, bend = _through(seen, [left, best, right])
        if not left < s < right:
            break
        curvature, before, drop = bend, seen[best], seen[0.0] - seen[best]
        if before - foreseen <= 1e-12 * drop or abs(s - best) * bend <= 0.1 * gtol:
            break
        if at(s) < before and abs(seen[s] - foreseen) <= 1e-12 * drop:
            break
    best = min(seen, key=seen.__getitem__)
    return Line(best, seen[best], curvature)


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
    bend = 2 * (q - p) / (u + w)
    if not bend > 0 or not math.isfinite(bend):
        return math.nan, math.nan, math.nan
    slope = (p * w + q * u) / (u + w)
    s = -slope / bend
    return b[0] + s, b[1] + slope * s / 2, bend
