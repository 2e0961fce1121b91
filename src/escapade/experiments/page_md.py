"""The results in docs/paper.md, made from docs/paper.json: every number and verdict there comes from here.

    python -m escapade.experiments.page_md results docs

copies results/summary.json to docs/paper.json and writes the parts of docs/paper.md that stand between markers anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .evidence import AS_PRINTED, ONLINE
from .store import written

Summary = dict[str, Any]


def refreshed(text: str, summary: Summary) -> str:
    """The page with each part between `<!-- made: name -->` and `<!-- end: name -->` made from the summary."""
    parts = {name: make(summary) for name, make in PARTS.items()}

    def part(found: re.Match[str]) -> str:
        name = found[1]
        if name not in parts:
            raise ValueError(f"the page asks for a part {name!r}; there are {', '.join(parts)}")
        return f"<!-- made: {name} -->\n{parts[name]}\n<!-- end: {name} -->"

    return re.sub(r"<!-- made: ([\w-]+) -->\n.*?<!-- end: \1 -->", part, text, flags=re.DOTALL)


def what_ran(summary: Summary) -> str:
    """How much was run, and how sure the medians are."""
    whole = "A quick run: dimensions and budgets are smaller than the paper's. " if summary["quick"] else ""
    missing = "".join(f"Not run: {name}. " for name in summary["missing"])
    seeds = summary["seeds"]
    return (
        f"{whole}{missing}{summary['runs']:,} runs, {seeds} seed{'s' if seeds > 1 else ''} of each curve (two at most "
        "for rspi-grid). Medians over the seeds; \"never\": not in most runs, within their budget. In brackets: the "
        f"interval of the median from order statistics ({summary['intervals']}). {summary['certificates']:,} "
        f"certificates were given, of which exact derivatives refuted {summary['refuted']}."
    )


def octopus(summary: Summary) -> str:
    """Queries to the minimum of the octopus, the paper's methods and their variants."""
    return _across(_panels(summary, "octopus", "plain"), "reached", "paper")


def auto(summary: Summary) -> str:
    """`auto` in every panel, with all that its certificate takes."""
    head = ["`auto`", "left the start", "reached the minimum", "queries in all", "certified", "of the drop left"]
    rows = []
    for panel in summary["panels"]:
        if panel["figure"] != "neon2" and (c := panel["curves"].get("auto")):
            times = [_time(c[what]) for what in ("left", "reached", "nfev")]
            rows.append([f"{panel['figure']}, {panel['panel']}", *times, f"{c['certified']} of {c['runs']}",
                         _percent(c["left_over"][0])])  # fmt: skip
    return _table(head, rows)


def cubic(summary: Summary) -> str:
    """Leaving the start and reaching the minimum, where there are no samples."""
    panels = [p for f in ("cubic", "least-squares") for p in _panels(summary, f, "plain", sampled=False)]
    head = ["", "method", "left the start", "reached the minimum", "of the drop left"]
    rows = [
        [f"{p['figure']}, {p['panel']}", label, _time(c["left"]), _time(c["reached"]), _percent(c["left_over"][0])]
        for p in panels
        for label, c in _methods(p)
    ]
    return _table(head, rows)


def neon2(summary: Summary) -> str:
    """Iterations of ZO-GD-NCF and Neon2+GD."""
    return _across(_panels(summary, "neon2"), "reached_nit", "paper")


def sampled(summary: Summary) -> str:
    """The methods on samples: times with and without the check, moves, and where the queries went."""
    head = ["", "method", "finder", "left the start", "reached", "reached, the check not charged", "of the drop left",
            "iterates", "queries of the check", "of v or descent", "of the finder"]  # fmt: skip
    rows = []
    for panel in _sampled(summary):
        for label, curve in _methods(panel):
            moves = ", ".join(f"{count:,.0f} {kind}" for kind, count in curve["moves"].items())
            shares = [_share(curve, name) for name in ("gradient check", "descent", "curvature")]
            times = [_time(curve[name]) for name in ("left", "reached", "reached_free")]
            rows.append([f"{panel['figure']}, {panel['panel']}", label.replace(ONLINE, ""), curve["finder"],
                         *times, _percent(curve["left_over"][0]), moves or "none", *shares])  # fmt: skip
    return _table(head, rows)


def finders(summary: Summary) -> str:
    """The same method with ZO-NCF-Online and with the minibatch finder."""
    wins = {"ZO-NCF-Online": 0, "the minibatch finder": 0, "neither": 0}
    for panel in _sampled(summary):
        for label, curve in panel["curves"].items():
            if (other := panel["curves"].get(_online(label))) and ONLINE not in label:
                one, two = (_rank(c) for c in (other, curve))
                wins["neither" if one == two else "ZO-NCF-Online" if one < two else "the minibatch finder"] += 1
    said = "; ".join(f"{name}: {count}" for name, count in wins.items())
    return (
        f"Of {sum(wins.values())} comparisons of one method with either finder (first to the minimum by medians, or, "
        f"where neither gets there, lower at the end), the first was: {said}. \"Neither\": the same to the last query."
    )


def claims(summary: Summary) -> str:
    """Each claim, its verdict, and how many of its cases hold."""
    rows = []
    for one in summary["claims"]:
        cases, compared = one["cases"], [clear for _, _, clear, _ in one["cases"] if clear is not None]
        clear = f"{sum(compared)} of {len(compared)}" if compared else "-"
        note = f" {one['note']}" if one["note"] else ""
        holds = f"{sum(case[1] for case in cases)} of {len(cases)}"
        rows.append([one["figure"], one["claim"] + note, one["verdict"], holds, clear])
    return _table(["figure", "claim", "verdict", "cases that hold", "intervals apart"], rows)


def failures(summary: Summary) -> str:
    """Printed settings that failed here."""
    rows = [[one[name] for name in ("figure", "printed", "happened", "instead")] for one in summary["failures"]]
    return _table(["figure", "printed", "what happened", "used instead"], rows)


def grid(summary: Summary) -> str:
    """The place of the printed schedule of RSPI, and the best one."""
    rows = []
    for one in summary["grid"]:
        order = sorted(zip(one["left_percent"], one["pairs"], strict=True))
        printed = one.get("printed")
        place = 1 + [pair for _, pair in order].index(printed) if printed else "-"
        rows.append([one["panel"], _pair(printed) if printed else "-", f"{place} of {len(order)}", _pair(order[0][1]),
                     f"{order[0][0]:.3g}%", f"{order[-1][0]:.3g}%"])  # fmt: skip
    return _table(["RSPI", "printed", "its place", "best", "left by the best", "left by the worst"], rows)


def scipy(summary: Summary) -> str:
    """SciPy's solvers on the permuted and rotated problems: where they end, and what they say."""
    rows = []
    for form in ("permuted", "rotated"):
        for label in ("Powell (SciPy)", "BFGS (SciPy)"):
            curves = [panel["curves"][label] for panel in summary["panels"]
                      if panel["form"] == form and label in panel["curves"]]  # fmt: skip
            runs = sum(curve["runs"] for curve in curves)
            count = [sum(curve["stayed"] for curve in curves),
                     sum(curve["verdicts"].get("minimum", 0) for curve in curves),
                     sum(curve["endings"].get("reports success", 0) for curve in curves)]  # fmt: skip
            rows.append([label, form, *(f"{number} of {runs}" for number in count)])
    return _table(["solver", "problems", "stayed at the start", "certified as a minimum", "reported success"], rows)


def time(summary: Summary) -> str:
    """Seconds of one core."""
    parts = ", ".join(f"{seconds:,} for {name}" for name, seconds in summary["seconds"].items())
    versions = ", ".join(f"{name} {number}" for name, number in summary["versions"].items())
    return f"The runs took {sum(summary['seconds'].values()):,} seconds of one core in all: {parts} ({versions})."


PARTS: dict[str, Callable[[Summary], str]] = {
    "what-ran": what_ran,
    "octopus": octopus,
    "auto": auto,
    "neon2": neon2,
    "cubic": cubic,
    "sampled": sampled,
    "finders": finders,
    "claims": claims,
    "failures": failures,
    "grid": grid,
    "scipy": scipy,
    "time": time,
}
"""Parts of the page by name."""


def _panels(summary: Summary, figure: str, form: str = "plain", *, sampled: bool | None = None) -> list[Summary]:
    return [
        panel
        for panel in summary["panels"]
        if (panel["figure"], panel["form"]) == (figure, form) and sampled in (None, panel["samples"] is not None)
    ]


def _sampled(summary: Summary) -> list[Summary]:
    return [panel for panel in summary["panels"] if panel["samples"] is not None and panel["curves"]]


def _methods(panel: Summary) -> list[tuple[str, Summary]]:
    """The curves but `auto`, which has a table of its own."""
    return [(label, curve) for label, curve in panel["curves"].items() if label != "auto"]


def _across(panels: list[Summary], what: str, row: str) -> str:
    """A table with a column for each panel and a line for each curve."""
    labels = dict.fromkeys(label for p in panels for label, curve in p["curves"].items() if row in curve["rows"])
    rows = [[label, *(_time(p["curves"][label][what]) for p in panels)] for label in labels]
    return _table(["", *(p["panel"] for p in panels)], rows)


def _online(label: str) -> str:
    name = label.removesuffix(AS_PRINTED)
    return name + ONLINE + label[len(name) :]


def _rank(curve: Summary) -> tuple[float, float]:
    """The time to the minimum, then what is left."""
    reached = curve["reached"][0]
    return (float("inf"), curve["left_over"][0]) if reached is None else (reached, 0.0)


def _time(triple: Sequence[float | None]) -> str:
    """A median with its interval."""
    value, low, high = ("never" if t is None else f"{t:,.0f}" for t in triple)
    return value if value == low == high else f"{value} [{low}, {high}]"


def _percent(share: float | None) -> str:
    return "diverged" if share is None or share > 10 else f"{100 * share:.3g}%"


def _share(curve: Summary, name: str) -> str:
    return f"{100 * curve['purposes'].get(name, 0):.0f}%"


def _pair(pair: Sequence[float]) -> str:
    return f"T = {pair[0]}, rho = {pair[1]}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def main(results: str, docs: str) -> None:
    """Copy the summary of a run, and write the page anew."""
    text = (Path(results) / "summary.json").read_text(encoding="utf-8")
    page = Path(docs) / "paper.md"
    new = refreshed(page.read_text(encoding="utf-8"), json.loads(text))
    with written(Path(docs) / "paper.json") as file:
        file.write(text)
    with written(page) as file:
        file.write(new)


if __name__ == "__main__":
    main(*sys.argv[1:3])
