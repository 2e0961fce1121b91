"""How many points go into a message, and whether it pays to send any: decided from what f has been seen to cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

SMOOTHING = 0.3
"""The weight of the latest measurement."""


@dataclass
class Throughput:
    """The measured cost of one evaluation, and what is decided from it."""

    workers: int
    worth: float
    """A message should carry at least this many seconds of work, where there is enough of it for all workers."""
    cost: float | None = None
    """Seconds a point."""

    def seen(self, points: int, seconds: float) -> None:
        """`points` points took `seconds`, wherever they were evaluated."""
        if points:
            new = seconds / points
            self.cost = new if self.cost is None else (1 - SMOOTHING) * self.cost + SMOOTHING * new

    def chunk(self, left: int) -> int:
        """How many of the points left the next message carries: one until the cost is known, and of slow functions."""
        if self.cost is None:
            return 1
        most = math.ceil(left / self.workers)
        return max(1, min(most, round(self.worth / max(self.cost, 1e-9))))
