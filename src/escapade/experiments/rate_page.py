"""Rates as a table, as a picture, and as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .page import STYLE
from .rates import Rate, rates_in
from .store import written

METHODS = ("ZO-NCF-Deterministic", "ZO-NCF-Online", "ZO-GD-NCF", "ZO-SGD-NCF", "ZO-SCSG-NCF", "ZO-SPIDER-NCF")
"""Rows of the picture."""

VARIABLES = {"delta": "1/delta", "epsilon": "1/epsilon", "d": "d"}
"""Columns of the picture, and what their axes say."""

COLOURS = ("#0072B2", "#D55E00", "#009E73")
"""Okabe and Ito's, which colour-blind readers can tell apart; each curve has a mark of its own as well."""

MARKS = ("o", "s", "^")

WIDE = "img { max-width: 100%; } td { white-space: nowrap; } h2 ~ table td { white-space: normal; }"

HEAD = ("theorem", "method", "in", "instance", "theory, limit", "theory, here", "measured", "95% band", "verdict")


def _cells(rate: Rate) -> tuple[str, ...]:
    measured = "-" if rate.exponent is None else f"{rate.exponent:.2f}"
    band = "-" if rate.low is None or rate.high is None else f"{rate.low:.2f} to {rate.high:.2f}"
    theorem = rate.theorem.removeprefix("Theorem ")
    limit = f"{rate.printed:.2f}".rstrip("0").rstrip(".")
    base = VARIABLES[rate.variable]
    theory = f"{rate.theory:.2f}"
    return theorem, rate.method.removesuffix(" II"), base, rate.instance, limit, theory, measured, band, rate.verdict


def table(summary: dict[str, Any]) -> str:
    """The exponents, in Markdown."""
    rows = [_cells(rate) for rate in rates_in(summary)]
    lines = [HEAD, tuple("---" for _ in HEAD), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def claims_table(summary: dict[str, Any]) -> str:
    """The introduction's claims with their cases, in Markdown."""
    parts = []
    for claim in summary["claims"]:
        parts.append(f"**{claim['claim']}** {claim['verdict'][0].upper()}{claim['verdict'][1:]}.\n")
        parts.append("| asked | holds | numbers |\n| --- | --- | --- |")
        parts += [f"| {one['what']} | {'yes' if one['holds'] else 'no'} | {one['numbers']} |" for one in claim["cases"]]
        parts.append("")
    return "\n".join(parts)


def runs_told(summary: dict[str, Any]) -> str:
    """How many runs there were, and how many answers exact derivatives confirm."""
    rates = rates_in(summary)
    each = [rate for rate in rates if not rate.instance.endswith("steps alone")]  # which are the same runs again
    runs, ended, kept = (sum(getattr(rate, name) for rate in each) for name in ("runs", "ended", "kept"))
    silent = _told((rate, rate.runs - rate.ended) for rate in each)
    refuted = _told((rate, rate.ended - rate.kept) for rate in each)
    return (
        f"{runs:,} runs with {summary['seeds']} seeds; {ended:,} returned an answer, and exact derivatives confirm "
        f"{kept:,} of these. Undecided: {silent}. Refuted: {refuted}."
    )


def _told(counts: Iterable[tuple[Rate, int]]) -> str:
    return "; ".join(
        f"{many} of {rate.runs} of {rate.method} in {VARIABLES[rate.variable]} on {rate.instance}"
        for rate, many in counts
        if many
    ) or "none"


def write_page(path: Path, summary: dict[str, Any], picture: Path) -> Path:
    """Write the report; returns its path."""
    image = base64.b64encode(picture.read_bytes()).decode("ascii")
    quick = "<p><strong>Quick run: fewer points and seeds.</strong></p>" if summary["quick"] else ""
    rows = "".join(_row("td", _cells(rate)) for rate in rates_in(summary))
    claims = "".join(
        f"<h3>{escape(claim['claim'])}</h3><p>{escape(claim['verdict'])}</p><table>"
        + "".join(
            _row("td", (case["what"], "yes" if case["holds"] else "no", case["numbers"])) for case in claim["cases"]
        )
        + "</table>"
        for claim in summary["claims"]
    )
    text = (
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>Rates, measured</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><link rel='icon' href='data:,'>"
        f"<style>{STYLE} {WIDE}</style></head><body>"
        "<h1>How queries grow, measured beside the theorems</h1>"
        "<p>Exponents of 1/delta, 1/epsilon and d, fitted to the medians of the seeds on logarithmic axes. The band is "
        "the hull of the regression's t-interval and of a bootstrap over seeds, 95% each. &quot;Theory, here&quot; is "
        "the theorem's count with this instance's constants, fitted on the same points: the verdict is on that.</p>"
        f"{quick}<p>{escape(runs_told(summary))}</p><div class='wide'><table>{_row('th', HEAD)}{rows}</table></div>"
        f"<h2>The picture</h2><img alt='Queries against 1/delta, 1/epsilon and d' src='data:image/png;base64,{image}'>"
        f"<h2>The introduction's two claims</h2>{claims}</body></html>"
    )
    with written(path) as file:
        file.write(text)
    return path


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def draw(rates: Sequence[Rate], path: Path) -> Path:
    """Queries on logarithmic axes, and the theory's lines through the easiest point of each sweep."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [name for name in METHODS if any(_row_of(rate) == name for rate in rates)]
    columns = [name for name in VARIABLES if any(rate.variable == name for rate in rates)]
    figure = Figure(figsize=(4.2 * len(columns), 3.0 * len(rows) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for i, method in enumerate(rows):
        for j, variable in enumerate(columns):
            ax = grid[i][j]
            here = [r for r in rates if _row_of(r) == method and r.variable == variable and len(r.hardness) > 1]
            if not here:
                ax.set_axis_off()
                ax.text(0.5, 0.5, f"{method}\ndoes not depend on {variable}", ha="center", color="#777777", fontsize=9)
                continue
            for k, rate in enumerate(here):
                _curve(ax, rate, COLOURS[k % 3], MARKS[k % 3])
            ax.set(xscale="log", yscale="log", title=f"{method}, {here[0].theorem.removesuffix(' II')}")
            ax.title.set_fontsize(10)
            ax.set_xlabel(VARIABLES[variable], fontsize=9)
            ax.set_ylabel("queries", fontsize=9)
            _ticks(ax.xaxis)
            _ticks(ax.yaxis)
            ax.tick_params(labelsize=8)
            ax.grid(alpha=0.25, linewidth=0.6)
            ax.legend(fontsize=7.5, frameon=False, loc="upper left")
            low, high = ax.get_ylim()
            ax.set_ylim(low, high * (high / low) ** (0.12 * (1 + len(here))))  # room for the legend
    figure.suptitle("Queries until the answer: medians and all seeds; dashed: how the theorem's count grows")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    return path


def _row_of(rate: Rate) -> str:
    return rate.method.removesuffix(" II")


def _ticks(axis: Any) -> None:
    """1, 2 and 5 times powers of ten, as many as there is room for, in words that are short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 60 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    """20000 as 20k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _curve(ax: Any, rate: Rate, colour: str, mark: str) -> None:
    exponent = "not fitted" if rate.exponent is None else f"{rate.exponent:.2f}"
    option = ", Option II" if rate.method.endswith(" II") else ""
    label = f"{rate.instance}{option}: {exponent} (theory {rate.theory:.2f})"
    ax.plot(rate.hardness, rate.medians, mark + "-", color=colour, markersize=4, linewidth=1.5, label=label)
    ax.fill_between(rate.hardness, rate.lows, rate.highs, color=colour, alpha=0.18, linewidth=0)
    scale = rate.medians[0] / rate.counts[0]
    ax.plot(rate.hardness, [scale * count for count in rate.counts], "--", color=colour, linewidth=1.1)


def filled(page: str, summary: dict[str, Any]) -> str:
    """The guide with the table, the claims and the number of runs between its markers."""
    for name, text in (("table", table(summary)), ("claims", claims_table(summary)), ("runs", runs_told(summary))):
        first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = page.split(first)
        page = f"{before}{first}{text.strip()}\n{last}{rest.split(last)[1]}"
    return page


def refresh(results: str | Path, docs: str | Path) -> None:
    """Bring the guide up to date with a folder of results."""
    results, docs = Path(results), Path(docs)
    summary = json.loads((results / "rates.json").read_text(encoding="utf-8"))
    (docs / "rates.json").write_bytes((results / "rates.json").read_bytes())
    (docs / "pictures" / "rates.png").write_bytes((results / "rates.png").read_bytes())
    page = (docs / "rates.md").read_text(encoding="utf-8")
    (docs / "rates.md").write_text(filled(page, summary), encoding="utf-8")
