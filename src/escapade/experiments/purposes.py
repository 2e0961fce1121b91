"""What the queries of every curve were for, as bars below its panel; and the kinds of steps a method took."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from .evidence import Evidence
from .layout import View
from .records import Record

COLOURS = {
    "setup": "#F0E442",
    "descent": "#0072B2",
    "gradient check": "#E69F00",
    "check": "#F5C26B",
    "curvature": "#009E73",
    "escape": "#CC79A7",
    "certificate": "#56B4E9",
    "watch": "#444444",
    "SciPy": "#D55E00",
}
"""Of purposes; the others are grey."""

OTHERS = "#999999"

PURPOSES_STYLE = """
.bars { display: grid; gap: 0.2em 1.6em; font-size: 12px; margin: 0 0 2em; }
.bars h4 { margin: 0.4em 0 0.2em; font-size: 12px; font-weight: 600; }
.bar { display: grid; grid-template-columns: minmax(7em, 40%) 1fr; gap: 0.5em; align-items: center; margin: 2px 0; }
.stack { display: flex; height: 0.9em; background: #eee; }
.key { font-size: 12px; margin: 0.2em 0 0.4em; } .key span { display: inline-block; margin-right: 1.2em; }
.key i { display: inline-block; width: 0.9em; height: 0.9em; margin-right: 0.35em; vertical-align: -0.1em; }
"""


def bars_html(evidence: Evidence, views: Sequence[View]) -> str:
    """A row of panels of stacked bars: the share of each purpose in all queries of a curve's runs."""
    if all(view.row == "check free" for view in views):
        return ""  # the same runs as in the row above
    seen: dict[str, None] = {}
    panels = [_panel(evidence, view, seen) for view in views]
    colours = {purpose: COLOURS.get(purpose, OTHERS) for purpose in (*COLOURS, *seen) if purpose in seen}
    key = "".join(f"<span><i style='background:{colour}'></i>{escape(name)}</span>" for name, colour in colours.items())
    grid = f"grid-template-columns: repeat({len(views)}, minmax(0, 1fr))"
    return f"<div class='key'>queries by purpose: {key}</div><div class='bars' style='{grid}'>{''.join(panels)}</div>"


def _panel(evidence: Evidence, view: View, seen: dict[str, None]) -> str:
    bars = [f"<h4>{escape(view.title)}</h4>"]
    for label in view.labels:
        if evidence.has(view.panel, label):
            shares = evidence.shares(view.panel, label)
            seen.update(dict.fromkeys(shares))
            bars.append(f"<div class='bar'><div>{escape(label)}</div><div class='stack'>{_stack(shares)}</div></div>")
    return f"<div>{''.join(bars)}</div>"


def _stack(shares: dict[str, float]) -> str:
    return "".join(
        f"<div style='width:{100 * share:.2f}%;background:{COLOURS.get(purpose, OTHERS)}' "
        f"title='{escape(purpose)}: {100 * share:.1f}%'></div>"
        for purpose, share in sorted(shares.items(), key=lambda pair: _place(pair[0]))
    )


def _place(purpose: str) -> int:
    return list(COLOURS).index(purpose) if purpose in COLOURS else len(COLOURS)


def moves_of(runs: Sequence[Record]) -> dict[str, float]:
    """The median number of each kind of step."""
    kinds = dict.fromkeys(kind for run in runs for kind in run.moves)
    return {kind: float(np.median([run.moves.get(kind, 0) for run in runs])) for kind in kinds}


def moves_text(runs: Sequence[Record]) -> str:
    """The same in words."""
    return ", ".join(f"{count:,.0f} {kind}" for kind, count in moves_of(runs).items()) or "-"
