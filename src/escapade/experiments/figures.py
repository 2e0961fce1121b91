"""The figures as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from .catalogue import GRID
from .evidence import Band, Evidence
from .layout import View, rows_of
from .look import axis_title, look_of
from .panels import Panel

CAPTIONS = {
    "octopus": "Octopus function: the value at the iterate against function queries",
    "neon2": "Octopus function: the value at the iterate against iterations",
    "cubic": "Cubic regularisation problem: the value at the iterate against function queries",
    "least-squares": "Regularised nonlinear least squares on w1a: the value at the iterate against function queries",
    "rspi-grid": "RSPI on the octopus: what is left of f - f* after the same number of iterations (%), by its schedule",
}

KEY = "medians of the seeds, bands from the quantile 0.1 to 0.9; a dot ends certified runs, a cross others"
FINDER_KEY = "on samples: the minibatch finder, or ZO-NCF-Online where a name says so"
GRID_KEY = "medians of two seeds at most; each panel has its own colours, the least is yellow; framed: the printed pair"

MARKS = {"certified": "o", "other": "x", "diverges": "^"}


def draw(evidence: Evidence, folder: Path) -> list[Path]:
    """Draw every figure that has runs; medians with the quantiles 0.1 and 0.9 of the seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in CAPTIONS:
        panels = evidence.figure(name)
        if panels:
            figure = _grid(evidence, panels) if name == "rspi-grid" else _curves(evidence, panels)
            for ending in ("png", "svg"):
                paths.append(folder / f"{name}.{ending}")
                figure.savefig(paths[-1], dpi=130, metadata={"Date": None} if ending == "svg" else None)
    return paths


def limits(panel: Panel, evidence: Evidence) -> tuple[float, float]:
    """The range of f that is shown: from the minimum to a little above the start; what diverges leaves it."""
    run = next(run for curve in panel.curves for run in evidence.runs(panel, curve.label))
    drop = run.start - run.least
    return run.least - 0.06 * drop, run.start + 0.12 * drop


def end_of(band: Band, shown: tuple[float, float]) -> tuple[float, float, str]:
    """Where the mark at the end of a curve stands, and which of `MARKS` it is."""
    low, high = shown
    if band.median[-1] > high:
        return float(band.x[np.argmax(band.median > high)]), high - 0.03 * (high - low), "diverges"
    last = band.median[np.searchsorted(band.x, min(band.end, band.x[-1]))]
    return band.end, float(last), "certified" if band.certified >= 0.5 else "other"


def span(view: View, evidence: Evidence) -> tuple[float, float]:
    """The axis of queries, the same in each row of a panel: from half of what the first iterate of any run took."""
    runs = [run for curve in view.panel.curves for run in evidence.runs(view.panel, curve.label)]
    times = [run.free if view.axis == "free" else [*run.queries, run.nfev] for run in runs]
    first = min((one[1] for one in times if len(one) > 1), default=2)
    low = max(1.0, first / 2)
    return low, max(10 * low, 1.3 * max(one[-1] for one in times))


def _new(width: float, height: float, caption: str, key: str) -> Any:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "escapade", "svg.fonttype": "none"})
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(f"{caption}\n{fill(key, round(12.5 * width))}", fontsize=11)
    return figure


def _curves(evidence: Evidence, panels: list[Panel]) -> Any:
    rows = rows_of(panels, evidence)
    columns = max(len(row) for row in rows)
    figure = _new(max(4.1 * columns, 8.4), 3.3 * len(rows) + 1.3, CAPTIONS[panels[0].figure], _key(evidence, rows))
    parts = np.atleast_1d(figure.subfigures(len(rows), 1))
    for row, part in zip(rows, parts, strict=True):
        axes = part.subplots(1, len(row), squeeze=False)[0]
        for view, ax in zip(row, axes, strict=True):
            _view(evidence, view, ax)
        axes[0].set_ylabel("f")
        handles, labels = _legend(axes)
        part.legend(handles, labels, loc="outside lower center", ncol=min(len(labels), 5), fontsize=9, frameon=False)
    return figure


def _key(evidence: Evidence, rows: list[list[View]]) -> str:
    """What the marks of a figure mean; those that it does not have are left out."""
    views = [view for row in rows for view in row]
    drawn = [(view, label) for view in views for label in view.labels if evidence.has(view.panel, label)]
    kinds = {
        end_of(evidence.band(view.panel, label, view.axis), limits(view.panel, evidence))[2] for view, label in drawn
    }
    triangle = ", a triangle those that diverge" if "diverges" in kinds else ""
    hollow = "; hollow: as printed" if any(look_of(label).hollow for _, label in drawn) else ""
    finder = any(view.panel.samples for view in views)
    return KEY + triangle + hollow + (f"; {FINDER_KEY}" if finder else "")


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    return list(found.values()), list(found)


def _view(evidence: Evidence, view: View, ax: Any) -> None:
    shown = limits(view.panel, evidence)
    for label in view.labels:
        if not evidence.has(view.panel, label):
            continue
        band, look = evidence.band(view.panel, label, view.axis), look_of(label)
        ax.fill_between(band.x, band.low, band.high, color=look.colour, alpha=0.15, linewidth=0)
        ax.plot(band.x, band.median, look.dash, color=look.colour, linewidth=look.width, label=label)
        x, y, kind = end_of(band, shown)
        inside = "white" if look.hollow else look.colour
        ax.plot(x, y, MARKS[kind], color=look.colour, markerfacecolor=inside, markersize=6, zorder=4)
    if view.axis != "iterations":
        ax.set_xscale("log")
        ax.set_xlim(*span(view, evidence))
    ax.set_ylim(*shown)
    ax.set_title(view.title, fontsize=10)
    ax.set_xlabel(axis_title(view.axis))
    ax.grid(alpha=0.25)


def grid_values(evidence: Evidence, panel: Panel) -> np.ndarray:
    """What is left of f - f*, in percent, for every pair of the grid: rows are T, columns rho."""
    left = []
    for curve in panel.curves:
        runs = evidence.runs(panel, curve.label)
        left.append(100 * float(np.median([(run.fun - run.least) / (run.start - run.least) for run in runs])))
    every = sorted({pair[0] for pair in GRID})
    return np.array(left).reshape(len(every), -1)


def printed_pair(evidence: Evidence, panel: Panel) -> tuple[int, float] | None:
    """T and rho of the table for the octopus of this dimension, if it was run."""
    for one in evidence.figure("octopus", "plain"):
        row = next((curve.row for curve in one.curves if curve.label == "RSPI"), None)
        if one.d == panel.d and row is not None and row.every and row.shrink:
            return row.every, row.shrink
    return None


def _grid(evidence: Evidence, panels: list[Panel]) -> Any:
    from matplotlib.patches import Rectangle

    figure = _new(4.1 * len(panels), 4.0, CAPTIONS["rspi-grid"], GRID_KEY)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    every, shrink = sorted({pair[0] for pair in GRID}), sorted({pair[1] for pair in GRID})
    for panel, ax in zip(panels, axes, strict=True):
        values = grid_values(evidence, panel)
        ax.imshow(values, cmap="cividis_r", aspect="auto")
        middle = (values.min() + values.max()) / 2
        for (i, j), value in np.ndenumerate(values):
            ax.text(j, i, f"{value:.3g}", ha="center", va="center", color="white" if value > middle else "black")
        pair = printed_pair(evidence, panel)
        if pair is not None:
            corner = (shrink.index(pair[1]) - 0.47, every.index(pair[0]) - 0.47)
            ax.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor="#D55E00", linewidth=3))
        ax.set_xticks(range(len(shrink)), [str(s) for s in shrink])
        ax.set_yticks(range(len(every)), [str(t) for t in every])
        ax.set_xlabel("rho_sigma1")
        ax.set_title(panel.title, fontsize=10)
    axes[0].set_ylabel("T_sigma1")
    return figure
