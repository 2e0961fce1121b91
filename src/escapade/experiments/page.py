"""The report: one HTML file that needs nothing else, with interactive figures and the verdict on every claim."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from .catalogue import GRID
from .claims import FAILS, HOLDS, ONLY_IF, Verdict
from .evidence import Evidence, refuted
from .failures import Failure
from .figures import CAPTIONS, FINDER_KEY, GRID_KEY, grid_values, printed_pair
from .interactive import grid_html, row_html
from .intervals import described
from .layout import rows_of
from .panels import Panel
from .purposes import PURPOSES_STYLE, bars_html, moves_text
from .store import versions, written

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 1200px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.7em; } h2 { font-size: 1.3em; margin-top: 2.2em; border-bottom: 1px solid #ccc; }
h3 { font-size: 1.05em; margin-bottom: 0.3em; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3em 0.7em; border-bottom: 1px solid #e2e2e2; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.answer { font-weight: 600; padding: 0.1em 0.5em; border-radius: 0.3em; white-space: nowrap; }
.holds { background: #cfe8f7; } .onlyif { background: #fdeecb; } .fails { background: #f7d9cc; }
.notrun { background: #e8e8e8; }
details { margin: 0.4em 0 1em; } summary { cursor: pointer; color: #555; }
.wide { overflow-x: auto; }
"""

YES = {True: "yes", False: "no", None: "-"}
CLASSES = {HOLDS: "holds", ONLY_IF: "onlyif", FAILS: "fails"}


def write_report(
    path: Path,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    failures: Sequence[Failure],
    missing: dict[str, str],
    *,
    quick: bool,
) -> Path:
    """Write the report; returns its path."""
    from plotly.offline import get_plotlyjs

    names = [name for name in CAPTIONS if evidence.figure(name)]
    parts = [
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>The paper, reproduced</title>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'><link rel='icon' href='data:,'>",
        f"<style>{STYLE}{PURPOSES_STYLE}</style><script>{get_plotlyjs()}</script></head><body>",
        _head(evidence, quick),
        _summary(verdicts, names),
        _missing(missing),
        _failures(failures),
        *(_figure(evidence, name, verdicts) for name in names),
        "</body></html>",
    ]
    with written(path) as file:
        file.write("\n".join(parts))
    return path


def _head(evidence: Evidence, quick: bool) -> str:
    stack = ", ".join(f"{name} {number}" for name, number in versions().items())
    smaller = "<p><strong>Quick run: dimensions and budgets are smaller than the paper's.</strong></p>" if quick else ""
    return (
        "<h1>Zeroth-order negative curvature finding: the paper's figures, run again</h1>"
        "<p>H. Zhang, H. Xiong and B. Gu, <em>Zeroth-Order Negative Curvature Finding: Escaping Saddle Points without "
        "Gradients</em>, NeurIPS 2022. Every curve is the median of the seeds, with a band from the quantile 0.1 to "
        "0.9. It ends in a dot where most runs were certified, in a cross where not, and in a triangle where it leaves "
        "the picture upwards. Dotted curves, with hollow dots and triangles, are rows of the tables exactly as "
        "printed; beside each stands the curve with what was used instead. <code>auto</code>, in a row of its own, is "
        "this library's default, with no setting given. Verdicts are computed from the runs.</p>"
        f"<p>{escape(FINDER_KEY[0].upper() + FINDER_KEY[1:])}. Below each panel: what the queries of its curves were "
        "for. In brackets: the interval of a median over the seeds, from order statistics "
        f"({escape(described(evidence.seeds))}; with fewer seeds, less sure).</p>"
        "<p>A run has left the start where f has fallen by half of nu on the octopus (nu is the drop between saddles) "
        "and by a hundredth of the whole drop elsewhere. It has reached the minimum where f is within a hundredth of "
        "nu, or of the whole drop, of the least value.</p>"
        f"{smaller}<p>{escape(_certificates(evidence))} {escape(stack)}.</p>"
    )


def _certificates(evidence: Evidence) -> str:
    """How many certificates were given, and how many exact derivatives refute."""
    runs = [(p, run) for p in evidence.panels for curve in p.curves for run in evidence.runs(p, curve.label)]
    given = [(panel, run) for panel, run in runs if run.certified]
    false = sum(refuted(panel, run) for panel, run in given)
    many = f"{evidence.seeds} seed{'s' if evidence.seeds != 1 else ''}"
    return f"{len(runs):,} runs with {many}; {len(given):,} certificates, of which exact derivatives refute {false}."


def _summary(verdicts: Sequence[Verdict], names: Sequence[str]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.claim)}</td><td>{_answer(one)}</td><td>"
        + (f"<a href='#{one.figure}'>figure and numbers</a>" if one.figure in names else "")
        + "</td></tr>"
        for one in verdicts
    )
    return f"<h2>The claims</h2><div class='wide'><table>{rows}</table></div>"


def _answer(verdict: Verdict) -> str:
    kind = CLASSES.get(verdict.answer, "notrun")
    rest = verdict.verdict.removeprefix(verdict.answer)
    return f"<span class='answer {kind}'>{verdict.answer}</span>{escape(rest)}"


def _claim(verdict: Verdict) -> str:
    rows = "".join(
        f"<tr><td>{escape(case.what)}</td><td>{YES[case.holds]}</td><td>{YES[case.clear]}</td>"
        f"<td>{escape(case.numbers)}</td></tr>"
        for case in verdict.cases
    )
    return (
        f"<h3>{escape(verdict.claim)}</h3><p>{_answer(verdict)}</p>"
        + (f"<p>{escape(verdict.note)}</p>" if verdict.note else "")
        + "<details><summary>numbers (medians over the seeds, and their intervals)</summary><div class='wide'><table>"
        "<tr><th>case</th><th>holds</th><th>intervals apart</th><th>numbers</th></tr>"
        f"{rows}</table></div></details>"
    )


def _missing(missing: dict[str, str]) -> str:
    lines = "".join(f"<p><strong>{escape(name)}</strong>: {escape(why)}</p>" for name, why in missing.items())
    return f"<h2>Not run</h2>{lines}" if missing else ""


def _failures(failures: Sequence[Failure]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.figure)}</td><td>{escape(one.printed)}</td><td>{escape(one.happened)}</td>"
        f"<td>{escape(one.instead)}</td></tr>"
        for one in failures
    )
    return (
        "<h2>Printed settings that failed here</h2><div class='wide'><table><tr><th>figure</th><th>printed</th>"
        f"<th>what happened</th><th>used instead</th></tr>{rows}</table></div>"
    )


def _figure(evidence: Evidence, name: str, verdicts: Sequence[Verdict]) -> str:
    panels = evidence.figure(name)
    block = [f"<h2 id='{name}'>{escape(CAPTIONS[name])}</h2>"]
    block += [_claim(verdict) for verdict in verdicts if verdict.figure == name]
    if name == "rspi-grid":
        key = f"<p>{GRID_KEY[0].upper()}{escape(GRID_KEY[1:])}.</p>"
        return "\n".join([*block, key, grid_html(evidence, panels), _best_of_grid(evidence, panels)])
    rows = [row_html(evidence, row) + bars_html(evidence, row) for row in rows_of(panels, evidence)]
    return "\n".join([*block, *rows, _table(evidence, panels)])


def _best_of_grid(evidence: Evidence, panels: list[Panel]) -> str:
    """The best pair of each grid, and the place of the printed one."""
    parts = []
    for panel in panels:
        printed = printed_pair(evidence, panel)
        order = [pair for _, pair in sorted(zip(grid_values(evidence, panel).ravel(), GRID, strict=True))]
        if printed is not None:
            place = 1 + order.index(printed)
            (every, shrink), row = order[0], f"T = {printed[0]}, rho = {printed[1]}"
            parts.append(
                f"{panel.title}: best T = {every}, rho = {shrink}; printed {row}, place {place} of {len(order)}"
            )
    return f"<p>{escape('. '.join(parts))}.</p>" if parts else ""


def _table(evidence: Evidence, panels: list[Panel]) -> str:
    lines = []
    for panel in panels:
        for label in (curve.label for curve in panel.curves if evidence.has(panel, curve.label)):
            runs = evidence.runs(panel, label)
            false = sum(refuted(panel, run) for run in runs)
            cells = (
                evidence.median(panel, label, "left").text(""),
                evidence.median(panel, label, "reached").text(""),
                f"{np.median([r.nfev for r in runs]):,.0f}",
                f"{100 * evidence.left_over(panel, label).value:.3g}%",
                f"{np.median([r.nit for r in runs]):,.0f}",
                moves_text(runs),
                f"{sum(r.certified for r in runs)} of {len(runs)}" + (f", {false} FALSE" if false else ""),
                ", ".join(dict.fromkeys(r.verdict for r in runs)),
            )
            body = "".join(f"<td class='number'>{escape(cell)}</td>" for cell in cells[:-1]) + f"<td>{cells[-1]}</td>"
            lines.append(f"<tr><td>{escape(panel.title)}</td><td>{escape(label)}</td>{body}</tr>")
    numbers = (
        *("left the start", "reached the minimum", "queries in all", "of f - f* left", "iterates"),
        *("iterates by the step that led to them", "certified"),
    )
    head = "<th>panel</th><th>method</th>" + "".join(f"<th class='number'>{name}</th>" for name in numbers)
    return (
        "<details><summary>numbers of every curve (medians; times in queries)</summary><div class='wide'><table>"
        f"<tr>{head}<th>answers of the certificate</th></tr>{''.join(lines)}</table></div></details>"
    )
