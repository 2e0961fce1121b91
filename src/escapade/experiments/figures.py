"""The figures as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .catalogue import GRID
from .evidence import Evidence
from .look import axis_title, look_of
from .panels import Panel

COLUMNS = 4
CAPTIONS = {
    "octopus": "Octopus function: the value at the iterate against function queries",
    "neon2": "Octopus function: the value at the iterate against iterations",
    "cubic": "Cubic regularisation problem: the value at the iterate against function queries",
    "least-squares": "Regularised nonlinear least squares on w1a: the value at the iterate against function queries",
    "rspi-grid": "RSPI on the octopus: what is left of f - f* after the same number of iterations (%), by its schedule",
}

KEY = "medians of the seeds, bands from the quantile 0.1 to 0.9; a dot ends certified runs, a cross others"


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


def rows_of(panels: list[Panel]) -> list[list[Panel]]:
    """Panels in rows with the same curves, at most four in a row."""
    rows: list[list[Panel]] = []
    for panel in panels:
        if not rows or len(rows[-1]) == COLUMNS or labels_of(panel) != labels_of(rows[-1][-1]):
            rows.append([])
        rows[-1].append(panel)
    return rows


def labels_of(panel: Panel) -> list[str]:
    """The curves of a panel."""
    return [curve.label for curve in panel.curves]


def limits(panel: Panel, evidence: Evidence) -> tuple[float, float]:
    """The range of f that is shown: from the minimum to a little above the start; what diverges leaves it."""
    run = next(run for curve in panel.curves for run in evidence.runs(panel, curve.label))
    drop = run.start - run.least
    return run.least - 0.06 * drop, run.start + 0.12 * drop


def first_query(panel: Panel, evidence: Evidence) -> float:
    """Where the axis of queries begins: at half of what the first iterate of any run took."""
    runs = [run for label in labels_of(panel) for run in evidence.runs(panel, label)]
    return max(1.0, min(run.queries[1] if len(run.queries) > 1 else run.nfev for run in runs) / 2)


def _new(width: float, height: float, caption: str) -> Any:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "escapade", "svg.fonttype": "none"})
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(f"{caption}\n{KEY}", fontsize=11)
    return figure


def _curves(evidence: Evidence, panels: list[Panel]) -> Any:
    rows = rows_of(panels)
    columns = max(len(row) for row in rows)
    figure = _new(max(4.1 * columns, 8.4), 3.2 * len(rows) + 1.3, CAPTIONS[panels[0].figure])
    parts = np.atleast_1d(figure.subfigures(len(rows), 1))
    for row, part in zip(rows, parts, strict=True):
        axes = part.subplots(1, len(row), squeeze=False)[0]
        for panel, ax in zip(row, axes, strict=True):
            _panel(evidence, panel, ax)
        axes[0].set_ylabel("f")
        handles, labels = _legend(axes)
        part.legend(handles, labels, loc="outside lower center", ncol=min(len(labels), 7), fontsize=9, frameon=False)
    return figure


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    return list(found.values()), list(found)


def _panel(evidence: Evidence, panel: Panel, ax: Any) -> None:
    for curve in panel.curves:
        if not evidence.has(panel, curve.label):
            continue
        band, look = evidence.band(panel, curve.label), look_of(curve.label)
        ax.fill_between(band.x, band.low, band.high, color=look.colour, alpha=0.15, linewidth=0)
        ax.plot(band.x, band.median, look.dash, color=look.colour, linewidth=look.width, label=curve.label)
        last = band.median[np.searchsorted(band.x, min(band.end, band.x[-1]))]
        marker = "o" if band.certified >= 0.5 else "x"
        ax.plot(band.end, last, marker, color=look.colour, markersize=6, clip_on=True)
    if panel.axis == "queries":
        ax.set_xscale("log")
        ax.set_xlim(left=first_query(panel, evidence))
    low, high = limits(panel, evidence)
    ax.set_ylim(low, high)
    ax.set_title(panel.title, fontsize=10)
    ax.set_xlabel(axis_title(panel.axis))
    ax.grid(alpha=0.25)


def grid_values(evidence: Evidence, panel: Panel) -> np.ndarray:
    """What is left of f - f*, in percent, for every pair of the grid: rows are T, columns rho."""
    left = []
    for curve in panel.curves:
        runs = evidence.runs(panel, curve.label)
        left.append(100 * float(np.median([(run.fun - run.least) / (run.start - run.least) for run in runs])))
    every = sorted({pair[0] for pair in GRID})
    return np.array(left).reshape(len(every), -1)


def _grid(evidence: Evidence, panels: list[Panel]) -> Any:
    figure = _new(4.1 * len(panels), 3.8, CAPTIONS["rspi-grid"])
    figure.suptitle(CAPTIONS["rspi-grid"], fontsize=11)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    every, shrink = sorted({pair[0] for pair in GRID}), sorted({pair[1] for pair in GRID})
    for panel, ax in zip(panels, axes, strict=True):
        values = grid_values(evidence, panel)
        ax.imshow(values, cmap="cividis_r", aspect="auto")
        middle = (values.min() + values.max()) / 2
        for (i, j), value in np.ndenumerate(values):
            ax.text(j, i, f"{value:.3g}", ha="center", va="center", color="white" if value > middle else "black")
        ax.set_xticks(range(len(shrink)), [str(s) for s in shrink])
        ax.set_yticks(range(len(every)), [str(t) for t in every])
        ax.set_xlabel("rho_sigma1")
        ax.set_title(panel.title, fontsize=10)
    axes[0].set_ylabel("T_sigma1")
    return figure
