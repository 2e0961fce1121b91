"""The poll: coordinates in blocks, one side of each, and the other side only where the model is contradicted.

At a stationary point f(x + h e_i) - f(x) is h^2 D_ii / 2. A coordinate where it is not is looked at from its other side
too, which tells its slope from its curvature. The first coordinate that clearly curves down ends the poll: on a chain
of saddles that is long before a whole gradient is paid for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._array import Vector
from ...derivatives.settings import NOISE
from ...oracle.missing import SHORTER
from .differences import Differences, Index
from .point import GradientKind, Point
from .settings import POLL


@dataclass(frozen=True)
class Poll:
    """What a poll found. `axis` is a coordinate that curves down, or -1 after a whole row."""

    point: Point
    """The point, with its gradient after a whole row."""
    diagonal: Vector
    axis: int
    contradiction: float
    """The largest relative contradiction of the model's diagonal."""
    stationary: bool


class _Row:
    """A row in the making."""

    def __init__(self, differences: Differences, p: Point, diagonal: Vector | None, gtol: float) -> None:
        d = differences.d
        self.differences, self.p, self.gtol, self.known = differences, p, gtol, diagonal is not None
        self.diagonal = np.zeros(d) if diagonal is None else diagonal.copy()
        self.g, self.row, self.h = np.zeros(d), np.zeros(d), differences.second_steps(p)
        self.error = differences.value_error(p.f)
        self.axis, self.contradiction, self.stationary = -1, 0.0, True

    def one_side(self, which: Index) -> tuple[Vector, NDArray[np.bool_]]:
        """One side of these: the changes of f, and where they contradict the diagonal."""
        change, h = self.differences.changes(self.p, self.h, which)
        self.h[which] = h
        expected = self.diagonal[which] * h**2 / 2
        size = (np.abs(self.diagonal[which]) + self.differences.curvtol) * h**2 / 2
        residual, noise = np.abs(change - expected), NOISE.significant * self.error
        self.contradiction = max(self.contradiction, float(np.max((residual - noise) / size)))
        self.row[which], self.g[which] = change / h, (change - expected) / h
        return change, residual > POLL.contradicted * size + noise

    def other_side(self, which: Index, change: Vector) -> None:
        """The other side of these: slope and curvature apart."""
        h = self.h[which]
        back, t = self.differences.changes(self.p, -self.h, which, lengths=SHORTER)
        self.row[which], self.g[which] = change / h, (change - back) / (2 * h)
        self.diagonal[which] = (change + back) / h**2
        if np.any(t != -h):  # a value was missing: the parabola through both, unequally far
            curvature = 2 * (change / h - back / t) / (h - t)
            self.diagonal[which], self.g[which] = curvature, change / h - curvature * h / 2

    def curves_down(self, which: Index) -> bool:
        """Whether one of these coordinates is a way out of a saddle."""
        error = 2 * NOISE.significant * self.error / self.h[which] ** 2
        worst = int(np.argmin(self.diagonal[which] + error))
        i = int(which[worst])
        curved = self.diagonal[i] + error[worst] <= -self.differences.curvtol / 2
        least = POLL.slope * abs(self.diagonal[i]) * float(self.p.scale[i])
        if curved and abs(self.g[i]) <= max(self.gtol, least):
            self.axis = i
        return self.axis >= 0

    def rest(self, which: Index) -> None:
        """The remaining coordinates of a point that is not stationary."""
        self.stationary = False
        self.h[which] = self.differences.central_steps(self.p)[which]
        change, self.h[which] = self.differences.changes(self.p, self.h, which)
        self.row[which] = change / self.h[which]
        if self.known:
            self.g[which] = change / self.h[which] - self.diagonal[which] * self.h[which] / 2
        else:
            self.other_side(which, change)

    def found(self) -> Poll:
        """What there is."""
        p = replace(self.p, g=self.g, h=self.h, row=self.row, kind=GradientKind.FORWARD)
        return Poll(p, self.diagonal, self.axis, self.contradiction, self.stationary)


def poll(differences: Differences, p: Point, diagonal: Vector | None, first: int, gtol: float) -> Poll:
    """Look along the coordinates from `first` on, round to it again.

    Without a diagonal, the first block is looked at from both sides, and its curvature is what the others are
    expected to have.

    Queries: d after a whole row without contradictions; 1 more for each; fewer if a coordinate curves down
    """
    d, row = differences.d, _Row(differences, p, diagonal, gtol)
    order = (first + np.arange(d)) % d
    size, start, steep = max(1, d // POLL.blocks), 0, 0
    if diagonal is None:
        head = order[: min(d, POLL.first)]
        change, row.h[head] = differences.changes(p, row.h, head)
        row.other_side(head, change)
        row.diagonal[order[len(head) :]] = float(np.median(np.abs(row.diagonal[head])))
        start, steep = len(head), int(np.sum(np.abs(row.g[head]) > gtol))
        if row.curves_down(head):
            return row.found()
    most = POLL.steep if diagonal is not None else 1
    while start < d and steep < most:
        which = order[start : start + size]
        start += len(which)
        change, contradicted = row.one_side(which)
        if diagonal is not None:
            contradicted |= which == order[-1]  # the way that led here ends with a slope
        if np.any(contradicted):
            seen = which[contradicted]
            row.other_side(seen, change[contradicted])
            other = seen[seen != order[-1]]
            steep += int(np.sum(np.abs(row.g[other]) > np.abs(row.diagonal[other]) * row.h[other] + gtol))
            if row.curves_down(seen):
                return row.found()
    if start < d:
        row.rest(order[start:])
    return row.found()
