"""What a run of the experiments found, as a small dictionary: `summary.json`.

Times are medians over the seeds with their intervals; null stands for a time that most runs never saw.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .catalogue import GRID
from .claims import Verdict
from .evidence import Evidence, refuted
from .failures import Failure
from .figures import grid_values, printed_pair
from .intervals import Median, described
from .panels import Curve, Panel
from .purposes import moves_of
from .store import versions

TIMES = ("left", "reached", "left_free", "reached_free", "left_nit", "reached_nit", "nfev", "nit", "gradient", "far")
"""Of a record; see `Record`."""


def summarise(
    evidence: Evidence, verdicts: Sequence[Verdict], failures: Sequence[Failure], about: dict[str, Any]
) -> dict[str, Any]:
    """Everything that the page of the documentation tells."""
    return about | {
        "versions": versions(),
        "intervals": described(evidence.seeds),
        "runs": sum(len(runs) for *_, runs in _all(evidence)),
        "certificates": sum(run.certified for *_, runs in _all(evidence) for run in runs),
        "refuted": sum(refuted(panel, run) for panel, _, runs in _all(evidence) for run in runs),
        "seconds": _seconds(evidence),
        "panels": [_panel(evidence, panel) for panel in evidence.panels if panel.figure != "rspi-grid"],
        "grid": [_grid(evidence, panel) for panel in evidence.figure("rspi-grid")],
        "claims": [_claim(verdict) for verdict in verdicts],
        "failures": [vars(failure) for failure in failures],
    }


def _all(evidence: Evidence) -> list[tuple[Panel, Curve, list[Any]]]:
    return [(panel, curve, evidence.runs(panel, curve.label)) for panel in evidence.panels for curve in panel.curves]


def _seconds(evidence: Evidence) -> dict[str, int]:
    """Of one core, by figure."""
    spent: Counter[str] = Counter()
    for panel, _, runs in _all(evidence):
        spent[panel.figure] += sum(run.seconds for run in runs)
    return {figure: round(seconds) for figure, seconds in spent.items()}


def _panel(evidence: Evidence, panel: Panel) -> dict[str, Any]:
    return {
        "figure": panel.figure,
        "panel": panel.title,
        "d": panel.d,
        "form": panel.form,
        "samples": panel.samples,
        "budget": panel.budget,
        "epsilon": panel.epsilon,
        "delta": short(panel.delta),
        "curves": {c.label: _curve(evidence, panel, c) for c in panel.curves if evidence.has(panel, c.label)},
    }


def _curve(evidence: Evidence, panel: Panel, curve: Curve) -> dict[str, Any]:
    label = curve.label
    runs = evidence.runs(panel, label)
    return {
        "rows": list(curve.shown_in),
        "finder": curve.finder if panel.samples and curve.row is not None else None,
        "runs": len(runs),
        **{what: triple(evidence.median(panel, label, what)) for what in TIMES},
        "left_over": triple(evidence.left_over(panel, label)),
        "endings": dict(Counter(run.ending for run in runs)),
        "verdicts": dict(Counter(run.verdict for run in runs)),
        "certified": sum(run.certified for run in runs),
        "refuted": sum(refuted(panel, run) for run in runs),
        "lost": sum(run.fun > run.start for run in runs),
        "stayed": sum(run.fun >= run.start - (run.start - run.least) / 1000 for run in runs),
        "moves": moves_of(runs),
        "purposes": {purpose: short(share) for purpose, share in evidence.shares(panel, label).items()},
    }


def _grid(evidence: Evidence, panel: Panel) -> dict[str, Any]:
    left = [short(value) for value in grid_values(evidence, panel).ravel()]
    return {"panel": panel.title, "pairs": [list(pair) for pair in GRID], "left_percent": left} | (
        {} if (pair := printed_pair(evidence, panel)) is None else {"printed": list(pair)}
    )


def _claim(verdict: Verdict) -> dict[str, Any]:
    return {
        "figure": verdict.figure,
        "claim": verdict.claim,
        "answer": verdict.answer,
        "verdict": verdict.verdict,
        "note": verdict.note,
        "cases": [[case.what, case.holds, case.clear, case.numbers] for case in verdict.cases],
    }


def triple(median: Median) -> list[float | None]:
    """The median and its interval; None where it is infinite."""
    return [short(value) for value in (median.value, median.low, median.high)]


def short(value: float) -> float | None:
    """Six digits, without a point where it is a whole number; None for what is not finite."""
    if not math.isfinite(value) or abs(value) >= 1e300:
        return None
    return int(value) if value == int(value) and abs(value) < 1e15 else float(f"{value:.6g}")
