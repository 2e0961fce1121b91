"""The poll: coordinates in blocks, one side of each, and the other side only where the model is contradicted.

At a point that is thought stationary, f(x + h e_i) - f(x) should be h² D_ii / 2. A coordinate where it is not is looked
at from its other side too, which tells its slope from its curvature. The first coordinate that clearly curves down
ends the poll: on a chain of saddles that is long before a whole gradient is paid for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._array import Vector
from .differences import Differences
from .point import Point

Index = NDArray[np.int64]

CONTRADICTED = 0.25
"""A second difference this far (relatively) from the model's is looked at from both sides."""

STEEP = 3
"""So many coordinates with a slope, and the point is not stationary: the rest of the row is taken as it comes."""


@dataclass
class Poll:
    """What a poll saw, besides the gradient. `axis` is a coordinate that curves down, or -1 after a whole row."""

    diagonal: Vector
    axis: int = -1
    off: float = 0.0
    """The largest relative contradiction of the model's diagonal."""
    stationary: bool = True


def poll(ask: Differences, p: Point, diagonal: Vector | None, first: int, gtol: float) -> Poll:
    """Look along the coordinates from `first` on, round to it again.

    Without a diagonal, the first block is looked at from both sides, and its curvature is what the others are
    expected to have.

    Queries: d after a whole row without contradictions; 1 more for each; fewer if a coordinate curves down
    """
    d, h = ask.d, ask.long(p)
    order = (first + np.arange(d)) % d
    size = max(1, d // 32)
    seen = Poll(np.zeros(d) if diagonal is None else diagonal.copy())
    p.g, p.rise, p.h = np.zeros(d), np.zeros(d), h.copy()
    start, steep = 0, 0
    if diagonal is None:
        head = order[: min(d, 4)]
        _both_sides(ask, p, h, head, ask.some(p, h, head), seen)
        seen.diagonal[order[len(head) :]] = float(np.median(np.abs(seen.diagonal[head])))
        start, steep = len(head), int(np.sum(np.abs(p.g[head]) > gtol))
        if _curves_down(ask, p, h, head, seen, gtol):
            return seen
    while start < d and steep < STEEP and not (diagonal is None and steep):
        which = order[start : start + size]
        start += len(which)
        change = ask.some(p, h, which)
        p.rise[which] = change / h[which]
        expected = seen.diagonal[which] * h[which] ** 2 / 2
        size_of = (np.abs(seen.diagonal[which]) + ask.curvtol) * h[which] ** 2 / 2
        odd = np.abs(change - expected)
        seen.off = max(seen.off, float(np.max((odd - 4 * ask.eta(p.f)) / size_of)))
        p.g[which] = (change - expected) / h[which]
        bad = odd > CONTRADICTED * size_of + 4 * ask.eta(p.f)
        bad |= which == order[-1] if diagonal is not None else False  # the way that led here ends with a slope
        if np.any(bad):
            _both_sides(ask, p, h, which[bad], change[bad], seen)
            other = which[bad & (which != order[-1])]
            steep += int(np.sum(np.abs(p.g[other]) > np.abs(seen.diagonal[other]) * h[other] + gtol))
            if _curves_down(ask, p, h, which[bad], seen, gtol):
                return seen
    if start < d:
        _rest(ask, p, order[start:], seen, known=diagonal is not None)
    return seen


def _both_sides(ask: Differences, p: Point, h: Vector, which: Index, change: Vector, seen: Poll) -> None:
    back = ask.some(p, -h, which)
    p.rise[which] = change / h[which]
    p.g[which] = (change - back) / (2 * h[which])
    seen.diagonal[which] = (change + back) / h[which] ** 2


def _curves_down(ask: Differences, p: Point, h: Vector, which: Index, seen: Poll, gtol: float) -> bool:
    """Whether one of these coordinates is a way out of a saddle."""
    error = 8 * ask.eta(p.f) / h[which] ** 2
    worst = int(np.argmin(seen.diagonal[which] + error))
    i = int(which[worst])
    curved = seen.diagonal[i] + error[worst] <= -ask.curvtol / 2
    if curved and abs(p.g[i]) <= max(gtol, 0.1 * abs(seen.diagonal[i]) * float(p.scale[i])):
        seen.axis = i
    return seen.axis >= 0


def _rest(ask: Differences, p: Point, which: Index, seen: Poll, *, known: bool) -> None:
    """The remaining coordinates of a point that is not stationary."""
    h, seen.stationary = ask.short(p), False
    change = ask.some(p, h, which)
    p.rise[which], p.h[which] = change / h[which], h[which]
    if known:
        p.g[which] = change / h[which] - seen.diagonal[which] * h[which] / 2
    else:
        _both_sides(ask, p, h, which, change, seen)
