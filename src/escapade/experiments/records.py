"""What is kept of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

POINTS = 120
"""Points of a curve that are kept, evenly spaced in the logarithm of the queries, and half as many evenly spaced."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One run: how it ended, when it left the start and reached the minimum, and f along the way.

    Times are in queries (`left`, `reached`), in iterations (`left_nit`, `reached_nit`) and in queries other than those
    of Proposition 1's check (`left_free`, `reached_free`), None where it did not happen.
    """

    figure: str
    panel: str
    curve: str
    seed: int
    d: int
    nfev: int
    nit: int
    ngrad: int
    ending: str
    verdict: str
    certified: bool
    gradient: float
    """The exact gradient norm where the run ended."""
    lowest: float
    """The smallest eigenvalue of the exact Hessian there."""
    start: float
    fun: float
    least: float
    left: int | None
    left_nit: int | None
    reached: int | None
    reached_nit: int | None
    left_free: int | None
    reached_free: int | None
    moves: dict[str, int]
    """Iterates by the kind of step that led to them."""
    by_purpose: dict[str, int]
    """Queries by what they were for."""
    far: float
    """The greatest distance of an iterate from the start."""
    seconds: float
    """Of one core."""
    method: str
    """The method and all its settings."""
    queries: list[int]
    free: list[int]
    """Queries less those of the check."""
    iterations: list[int]
    values: list[float]

    def curve_at(self, grid: NDArray[np.float64], axis: str) -> NDArray[np.float64]:
        """f at the last iterate before each point of a grid; the last value stays."""
        x = np.array({"queries": self.queries, "free": self.free, "iterations": self.iterations}[axis])
        return np.array(self.values)[np.maximum(np.searchsorted(x, grid, side="right") - 1, 0)]


def first_below(values: NDArray[np.float64], height: float, times: NDArray[np.int64]) -> int | None:
    """The first time at which a value is at most this."""
    below = np.flatnonzero(values <= height)
    return int(times[below[0]]) if below.size else None


def kept(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of the points of a curve that are kept: the first, the last, and evenly spaced ones."""
    last = max(int(times[-1]), 2)
    marks = np.concatenate([np.geomspace(1, last, POINTS), np.linspace(0, last, POINTS // 2)])
    found = np.searchsorted(times, marks, side="right") - 1
    return np.unique(np.clip(np.append(found, [0, len(times) - 1]), 0, len(times) - 1))


def finite(value: float) -> float:
    """JSON has no infinity: a value too large is cut."""
    return value if math.isfinite(value) else math.copysign(1e300, value)
