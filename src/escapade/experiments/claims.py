"""The claims of the paper, each answered by the runs.

A claim is a list of cases, each of which holds or not. Where a row of the tables was also run as printed, the case is
asked of that first; if it holds only with what was used instead, that is the condition of the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from .evidence import AS_PRINTED, Evidence, shown
from .panels import Panel

HOLDS, ONLY_IF, FAILS, UNSEEN = "holds", "holds only if", "does not hold", "not run"

CONDITIONS = {
    "PAGD": "PAGD goes on from the perturbed point (as printed, t_thres = 1, it gives up)",
    "ZPSGD": "ZPSGD takes shorter steps than the 1/(2 ell) of its table",
}
"""What was used instead of a row as printed."""

NEARLY = 0.1
"""Iteration counts within a tenth of one another are nearly the same."""


@dataclass(frozen=True)
class Case:
    """One thing that a claim says."""

    what: str
    holds: bool
    numbers: str
    conditions: tuple[str, ...] = ()
    """What was changed for it to hold."""


@dataclass(frozen=True)
class Verdict:
    """A claim, its answer, and the numbers behind it."""

    claim: str
    figure: str
    cases: tuple[Case, ...]

    @property
    def answer(self) -> str:
        """"holds", "holds only if", "does not hold" or "not run"."""
        if not self.cases:
            return UNSEEN
        kept = [case for case in self.cases if case.holds]
        if not kept:
            return FAILS
        return HOLDS if len(kept) == len(self.cases) and not any(case.conditions for case in kept) else ONLY_IF

    @property
    def verdict(self) -> str:
        """The answer with its conditions."""
        if self.answer != ONLY_IF:
            return self.answer
        kept = [case for case in self.cases if case.holds]
        conditions = list(dict.fromkeys(condition for case in kept for condition in case.conditions))
        if len(kept) < len(self.cases):
            conditions.append("it is asked of " + "; ".join(case.what for case in kept))
        return f"{ONLY_IF} " + ", and ".join(conditions)



def _variants(evidence: Evidence, panel: Panel, *methods: str) -> list[tuple[dict[str, str], tuple[str, ...]]]:
    """Which curve stands for each method: first as printed where that was run, then as used, with the conditions."""
    printed = {m: m + AS_PRINTED for m in methods if evidence.has(panel, m + AS_PRINTED)}
    plain = {m: m for m in methods}
    if not printed:
        return [(plain, ())]
    changed = tuple(CONDITIONS.get(m, f"{m} is not as printed") for m in printed)
    return [(plain | printed, ()), (plain, changed)]


def _case(
    evidence: Evidence,
    panel: Panel,
    what: str,
    methods: tuple[str, ...],
    holds: Callable[[Callable[[str], str]], bool],
    event: str,
    unit: str = "queries",
) -> Case:
    """A case about some methods in a panel: as printed if it holds so, else as used."""
    variants = _variants(evidence, panel, *methods)
    found = next((one for one in variants if holds(one[0].__getitem__)), None)
    curves, conditions = variants[-1] if found is None else found
    times = {name: evidence.median(panel, name, event) for name in curves.values()}
    return Case(
        f"{what}, {panel.title}" if what else panel.title,
        found is not None,
        "; ".join(f"{name}: {shown(time, unit)}" for name, time in times.items()),
        () if found is None else conditions,
    )


def all_escape(evidence: Evidence) -> Verdict:
    cases = []
    for panel in evidence.figure("octopus", "plain"):
        for method in ("ZO-GD-NCF", "ZPSGD", "PAGD", "RSPI"):

            def escapes(curve: Callable[[str], str], method: str = method, panel: Panel = panel) -> bool:
                runs = evidence.runs(panel, curve(method))
                return all(run.left is not None and run.fun < run.start for run in runs)

            cases.append(_case(evidence, panel, method, (method,), escapes, "left"))
    return Verdict("All four methods escape the saddle of the octopus.", "octopus", tuple(cases))


def queries_grow(evidence: Evidence) -> Verdict:
    cases = []
    panels = sorted(evidence.figure("octopus", "plain"), key=lambda panel: panel.d)
    for method in ("ZO-GD-NCF", "ZPSGD", "PAGD", "RSPI") if len(panels) > 1 else ():
        for suffix in (AS_PRINTED, ""):
            if not evidence.has(panels[0], method + suffix):
                continue
            times = [evidence.median(panel, method + suffix, "reached") for panel in panels]
            numbers = "; ".join(f"d = {p.d}: {shown(t)}" for p, t in zip(panels, times, strict=True))
            finite = [t for t in times if math.isfinite(t)]
            grows = len(finite) > 1 and all(a < b or b == math.inf for a, b in pairwise(times))
            changed = suffix == "" and evidence.has(panels[0], method + AS_PRINTED)
            if grows or suffix == "":
                cases.append(Case(method, grows, numbers, (CONDITIONS[method],) if grows and changed else ()))
                break
    return Verdict("The larger d, the more queries the octopus takes.", "octopus", tuple(cases))


def rspi_is_worse(evidence: Evidence) -> Verdict:
    cases = []
    for panel in evidence.figure("octopus", "plain"):
        for method in ("ZO-GD-NCF", "PAGD"):

            def worse(curve: Callable[[str], str], method: str = method, panel: Panel = panel) -> bool:
                other = evidence.median(panel, curve(method), "reached")
                return evidence.median(panel, "RSPI", "reached") > other

            cases.append(_case(evidence, panel, f"beside {method}", (method, "RSPI"), worse, "reached"))
    return Verdict("RSPI does worse than PAGD and ZO-GD-NCF on the octopus.", "octopus", tuple(cases))


def neon2_alike(evidence: Evidence) -> Verdict:
    cases = []
    for panel in evidence.figure("neon2"):

        def alike(curve: Callable[[str], str], panel: Panel = panel) -> bool:
            a, b = (evidence.median(panel, curve(m), "reached_nit") for m in ("ZO-GD-NCF", "Neon2+GD"))
            return math.isfinite(a + b) and abs(a - b) <= NEARLY * max(a, b)

        cases.append(_case(evidence, panel, "", ("ZO-GD-NCF", "Neon2+GD"), alike, "reached_nit", "iterations"))
    return Verdict("ZO-GD-NCF and Neon2+GD take nearly the same iterations.", "neon2", tuple(cases))


def curvature_leaves_sooner(evidence: Evidence) -> Verdict:
    cases = []
    for panel in evidence.figure("cubic", "plain", sampled=False):
        for sooner in ("ZO-GD-NCF", "RSPI"):
            for later in ("ZPSGD", "PAGD"):

                def holds(curve: Callable[[str], str], a: str = sooner, b: str = later, p: Panel = panel) -> bool:
                    return evidence.median(p, curve(a), "left") < evidence.median(p, curve(b), "left")

                cases.append(_case(evidence, panel, f"{sooner} before {later}", (sooner, later), holds, "left"))
    claim = "On the cubic problem methods that find curvature leave the saddle sooner than methods that perturb."
    return Verdict(claim, "cubic", tuple(cases))


def gradients_beat_rspi(evidence: Evidence, figure: str = "cubic") -> tuple[Case, ...]:
    cases = []
    for panel in evidence.figure(figure, "plain", sampled=False):
        for method in ("ZO-GD-NCF", "ZPSGD", "PAGD"):

            def faster(curve: Callable[[str], str], method: str = method, panel: Panel = panel) -> bool:
                rspi = evidence.median(panel, "RSPI", "reached")
                return evidence.median(panel, curve(method), "reached") < rspi

            cases.append(_case(evidence, panel, f"{method} before RSPI", (method, "RSPI"), faster, "reached"))
    return tuple(cases)


def spider_is_fastest(evidence: Evidence, figure: str = "cubic") -> tuple[Case, ...]:
    cases = []
    for panel in evidence.figure(figure, sampled=True):
        for other in ("ZO-SGD-NCF", "ZO-SCSG-NCF I", "ZO-SCSG-NCF II"):

            def faster(curve: Callable[[str], str], other: str = other, panel: Panel = panel) -> bool:
                spider = evidence.median(panel, curve("ZO-SPIDER-NCF"), "reached")
                return spider < evidence.median(panel, curve(other), "reached")

            cases.append(_case(evidence, panel, f"before {other}", ("ZO-SPIDER-NCF", other), faster, "reached"))
    return tuple(cases)


def squares_are_similar(evidence: Evidence) -> Verdict:
    """The conclusions of the cubic problem, where they can be asked: there is no saddle to leave at the start."""
    cases = gradients_beat_rspi(evidence, "least-squares") + spider_is_fastest(evidence, "least-squares")
    claim = 'The least-squares results are "similar": gradients beat RSPI, and ZO-SPIDER-NCF is the fastest on samples.'
    return Verdict(claim, "least-squares", cases)


def judge_all(evidence: Evidence, figures: tuple[str, ...]) -> list[Verdict]:
    """Every claim about the figures that were asked for."""
    faster = "On the cubic problem methods that estimate gradients converge faster than RSPI."
    spider = "On samples of the cubic problem ZO-SPIDER-NCF is the fastest method."
    verdicts = [
        all_escape(evidence),
        queries_grow(evidence),
        rspi_is_worse(evidence),
        neon2_alike(evidence),
        curvature_leaves_sooner(evidence),
        Verdict(faster, "cubic", gradients_beat_rspi(evidence)),
        Verdict(spider, "cubic", spider_is_fastest(evidence)),
        squares_are_similar(evidence),
    ]
    return [verdict for verdict in verdicts if verdict.figure in figures]
