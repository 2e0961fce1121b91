"""The values of a sampled run, from time to time: one that diverges is ended, and none returns a point above its start.

A plain function shows its value at every point that is evaluated. Of a sampled one a method sees averages over other
samples each time; whether f falls is not known to anyone. Here it is asked for on one batch, the same at all points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ._array import Array
from .errors import NonFiniteValue, OracleError
from .oracle import Oracle
from .stopping import Stop, bottomless

LOOKS = 200
"""The number of times that a run with a budget is looked at, at most..."""

SHARE = 100
"""...and never at a cost of more than one query in this number."""

SAMPLES = (64, 1000)
"""Samples of a look: the first number at least (or a fiftieth of the budget), the second at most."""

FAR, LATELY = 1e3, 10
"""A run diverges whose f is above f(x0) by more than FAR times |f(x0)| and all that f had changed by until LATELY
looks ago: f(x0) may be zero, and what noise adds to f is there from the first looks on."""

VALUE_SAMPLES = 10_000
"""The value of a sampled function at the point returned is an average over this number of samples, or the whole sum."""


@dataclass
class Watch:
    """What is known of f along a sampled run."""

    f: Oracle
    x0: Array
    weight: int = field(init=False)
    """Queries of a look."""
    best: Array = field(init=False)
    """The best point that was looked at."""
    value: float = field(init=False)
    """f there, or at the point chosen."""
    changes: list[float] = field(init=False, default_factory=list)
    """f less f(x0), at every look."""
    kept: int = field(init=False)
    """Queries set aside for the last look."""
    asked: int = field(init=False, default=0)
    """Queries of the run at the last look."""

    def __post_init__(self) -> None:
        f, budget, (least, most) = self.f.tagged("watch"), self.f.remaining, SAMPLES
        n = f.samples if isinstance(f.samples, int) else math.inf
        first = f.first_budget  # a run that goes on with a larger budget looks at the same samples
        self.weight = int(min(n, most, max(1, min(least, first / 50), first / (LOOKS * SHARE))))
        # A generator of its own: the run draws the same samples with and without a look.
        self.seen = f.on(f.draw(self.weight, np.random.default_rng(0)))
        self.best, self.value = self.x0, self.seen.value(self.x0)
        self.start = self.value
        self.size = int(min(n, VALUE_SAMPLES))
        self.kept = 3 * self.size if 3 * self.size <= budget / 20 else self.weight
        if budget < math.inf and self.kept <= self.f.remaining:
            self.f.reserve(self.kept)
        else:
            self.kept = 0

    def stop(self, x: Array) -> Stop | None:
        """Whether f has gone to one of the infinities, if a look is due.

        Queries: none, or `weight`
        """
        spent = self.f.ledger.queries
        if spent - self.asked < SHARE * self.weight:
            return None
        self.asked, value = spent, self.seen.value(x)
        self.changes.append(value - self.start)
        if value < self.value:
            self.best, self.value = x, value
        if bottomless(value, self.start):
            return Stop.UNBOUNDED
        return Stop.DIVERGED if len(self.changes) > LATELY and self._far(value) else None

    def lost(self, points: list[Array]) -> bool:
        """Whether f is far above f(x0) at one of these points, which led to one where it is not finite.

        Queries: `weight` a point
        """
        for x in points:
            try:
                if self._far(self.seen.value(x)):
                    return True
            except OracleError:
                continue
        return False

    def _far(self, value: float) -> bool:
        before = max(abs(self.start), self.start - self.value, *map(abs, self.changes[:-LATELY]))
        return value - self.start > FAR * before > 0

    def conclude(self, x: Array) -> tuple[Array, bool]:
        """x, or the best point looked at if f is higher at x than at x0; and whether it is far higher.

        Queries: 2 n or 2 * VALUE_SAMPLES, where a twentieth of the budget pays for it, else `weight`; and half of it
        again if f is higher
        """
        self.f.reserve(-self.kept)
        f, seen, start = self.f.tagged("watch"), self.seen, self.start
        if self.size > self.weight and (self.kept >= 3 * self.size or f.remaining == math.inf):
            seen = f.on(f.draw(self.size, np.random.default_rng(0)))
            start = seen.value(self.x0)
        try:
            value = seen.value(x)
        except NonFiniteValue:
            value = math.inf
        far, candidates = self._far(value), [(x, value)]
        if value > start:
            candidates = [(self.x0, start), (self.best, seen.value(self.best))]
        self.best, self.value = min(candidates, key=lambda pair: pair[1])
        return self.best, far
