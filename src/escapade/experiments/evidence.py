"""What the runs show: medians and quantiles, by panel and curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .intervals import Median, median
from .panels import Panel
from .records import Record

AS_PRINTED = ", as printed"
ONLINE = ", ZO-NCF-Online"
AUTHORS = ", authors' form"
"""What the label of a curve ends with."""


@dataclass(frozen=True)
class Band:
    """A curve of medians with the quantiles 0.1 and 0.9."""

    x: NDArray[np.float64]
    low: NDArray[np.float64]
    median: NDArray[np.float64]
    high: NDArray[np.float64]
    end: float
    """Where the median run ended."""
    certified: float
    """The share of the runs that were certified."""


class Evidence:
    """All runs, with the panels that they belong to."""

    def __init__(self, records: Iterable[Record], panels: Iterable[Panel]) -> None:
        self.panels = list(panels)
        self._runs: dict[tuple[str, str, str], list[Record]] = {}
        for record in records:
            self._runs.setdefault((record.figure, record.panel, record.curve), []).append(record)

    @property
    def seeds(self) -> int:
        """Of the panel that has the most."""
        return max((len({run.seed for run in runs}) for runs in self._runs.values()), default=0)

    def figure(self, name: str, form: str | None = None, *, sampled: bool | None = None) -> list[Panel]:
        """The panels of a figure that have runs."""
        return [
            panel
            for panel in self.panels
            if panel.figure == name
            and form in (None, panel.form)
            and sampled in (None, panel.samples is not None)
            and any(self.runs(panel, curve.label) for curve in panel.curves)
        ]

    def runs(self, panel: Panel, label: str) -> list[Record]:
        """The runs of one curve."""
        return self._runs.get((panel.figure, panel.title, label), [])

    def has(self, panel: Panel, label: str) -> bool:
        """Whether there are runs of this curve."""
        return bool(self.runs(panel, label))

    def median(self, panel: Panel, label: str, what: str) -> Median:
        """The median time of an event ("left", "reached", "reached_nit", ...); infinite if most runs never saw it."""
        times = [getattr(run, what) for run in self.runs(panel, label)]
        return median([math.inf if t is None else float(t) for t in times])

    def band(self, panel: Panel, label: str, axis: str | None = None, points: int = 160) -> Band:
        """The curve to draw, on the panel's axis or another."""
        runs, axis = self.runs(panel, label), axis or panel.axis
        ends = [{"queries": run.nfev, "iterations": run.nit, "free": run.free[-1]}[axis] for run in runs]
        last = float(max(*ends, 2))
        grid = np.unique(np.concatenate([np.geomspace(1, last, points), np.linspace(1, last, points // 2)]))
        if axis == "iterations":
            grid = np.linspace(0, last, points)
        values = np.stack([run.curve_at(grid, axis) for run in runs])
        low, median, high = np.quantile(values, [0.1, 0.5, 0.9], axis=0)
        return Band(grid, low, median, high, float(np.median(ends)), float(np.mean([run.certified for run in runs])))

    def left_over(self, panel: Panel, label: str) -> Median:
        """What is left of f - f* where the runs ended, as a share of the whole drop."""
        return median([(run.fun - run.least) / (run.start - run.least) for run in self.runs(panel, label)])

    def shares(self, panel: Panel, label: str) -> dict[str, float]:
        """Of all queries of these runs, the share of each purpose, the greatest first."""
        books: Counter[str] = Counter()
        for run in self.runs(panel, label):
            books.update(run.by_purpose)
        whole = sum(books.values())
        return {purpose: count / whole for purpose, count in books.most_common() if count}


def refuted(panel: Panel, run: Record) -> bool:
    """Whether a certificate is false: the gradient is larger, or the curvature lower, than it says."""
    return run.certified and (run.gradient > panel.epsilon or run.lowest < -panel.delta)
