"""The figures of the report: plotly, without its program, which the page holds once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .catalogue import GRID
from .evidence import Evidence
from .figures import end_of, grid_values, limits, printed_pair, span
from .layout import View
from .look import axis_title, look_of
from .panels import Panel

CONFIG = {"displaylogo": False, "responsive": True}
MARKS = {"certified": "circle", "other": "x", "diverges": "triangle-up"}
NARROWEST = 230
"""Pixels of a panel; a narrower window scrolls."""


def row_html(evidence: Evidence, views: list[View]) -> str:
    """A row of panels that share their curves."""
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=len(views), subplot_titles=[view.title for view in views])
    seen: set[str] = set()
    for column, view in enumerate(views, start=1):
        labels = [label for label in view.labels if evidence.has(view.panel, label)]
        for label in labels:
            for trace in _traces(evidence, view, label, label not in seen):
                figure.add_trace(trace, row=1, col=column)
            seen.add(label)
        title = axis_title(view.axis)
        if view.axis != "iterations":
            ends = [math.log10(end) for end in span(view, evidence)]
            log = {"type": "log", "range": ends, "dtick": 1, "exponentformat": "power"}
            figure.update_xaxes(title=title, row=1, col=column, **log)
        else:
            figure.update_xaxes(title=title, row=1, col=column)
        plain = {"exponentformat": "none", "separatethousands": True}
        figure.update_yaxes(range=list(limits(view.panel, evidence)), row=1, col=column, **plain)
    figure.update_yaxes(title="f", row=1, col=1)
    figure.update_layout(
        template="plotly_white", height=450, margin={"l": 60, "r": 20, "t": 75, "b": 110},
        legend={"orientation": "h", "y": -0.28, "x": 0.5, "xanchor": "center"}, hovermode="closest",
    )  # fmt: skip
    return _html(figure, f"{views[0].panel.figure} {views[0].title}", len(views))


def _traces(evidence: Evidence, view: View, label: str, legend: bool) -> list[Any]:
    from plotly.graph_objects import Scatter

    band, look = evidence.band(view.panel, label, view.axis), look_of(label)
    x, edge = _short(band.x), np.concatenate([band.high, band.low[::-1]])
    end, last, kind = end_of(band, limits(view.panel, evidence))
    mark = MARKS[kind] + ("-open" if look.hollow and kind != "other" else "")
    shared = {"legendgroup": label, "name": label}
    return [
        Scatter(x=x + x[::-1], y=_short(edge), fill="toself", fillcolor=look.fill(), line={"width": 0},
                hoverinfo="skip", showlegend=False, **shared),
        Scatter(x=x, y=_short(band.median), mode="lines", showlegend=legend,
                line={"color": look.colour, "dash": look.plotly, "width": look.width}, **shared),
        Scatter(x=[end], y=_short(np.array([last])), mode="markers", showlegend=False,
                marker={"color": look.colour, "symbol": mark, "size": 8}, **shared),
    ]  # fmt: skip


def _short(values: np.ndarray) -> list[float]:
    """Six digits are enough for a picture."""
    return [float(f"{value:.6g}") for value in np.clip(values, -1e12, 1e12)]


def grid_html(evidence: Evidence, panels: list[Panel]) -> str:
    """The grid search as a row of tables in colour."""
    from plotly.graph_objects import Heatmap
    from plotly.subplots import make_subplots

    every, shrink = sorted({pair[0] for pair in GRID}), sorted({pair[1] for pair in GRID})
    figure = make_subplots(rows=1, cols=len(panels), subplot_titles=[panel.title for panel in panels])
    for column, panel in enumerate(panels, start=1):
        values = grid_values(evidence, panel)
        text = [[f"{value:.3g}" for value in row] for row in values]
        heat = Heatmap(
            z=values.tolist(), x=[str(s) for s in shrink], y=[str(t) for t in every], text=text,
            texttemplate="%{text}", colorscale="Cividis", reversescale=True, showscale=False,
        )  # fmt: skip
        figure.add_trace(heat, row=1, col=column)
        pair = printed_pair(evidence, panel)
        if pair is not None:
            i, j = every.index(pair[0]), shrink.index(pair[1])
            box = {"x0": j - 0.47, "x1": j + 0.47, "y0": i - 0.47, "y1": i + 0.47}
            figure.add_shape(type="rect", line={"color": "#D55E00", "width": 3}, row=1, col=column, **box)
        figure.update_xaxes(title="rho_sigma1", type="category", row=1, col=column)
        figure.update_yaxes(type="category", autorange="reversed", ticks="outside", row=1, col=column)
    figure.update_yaxes(title="T_sigma1", row=1, col=1)
    figure.update_layout(template="plotly_white", height=360, margin={"l": 60, "r": 20, "t": 75, "b": 60})
    return _html(figure, f"{panels[0].figure} {panels[0].title}", len(panels))


def _html(figure: Any, title: str, panels: int) -> str:
    figure.update_annotations(font_size=14)
    name = "".join(c if c.isalnum() else "-" for c in f"plot {title}")
    plot = figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG, div_id=name)
    return f"<div class='wide'><div style='min-width: {NARROWEST * panels}px'>{plot}</div></div>"
