"""The claims of the paper, each answered by the runs.

A claim is a list of cases, each of which holds or not. Where a row of the tables was also run as printed, and reaches
the minimum so, that run stands for the method; otherwise the one with what was used instead, and that is the condition
of the verdict. Times are medians over the seeds; a case is clear if the intervals of the medians that it compares
(`intervals.py`) do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .evidence import AS_PRINTED, AUTHORS, ONLINE, Evidence
from .panels import Panel

HOLDS, ONLY_IF, FAILS, UNSEEN = "holds", "holds only if", "does not hold", "not run"

CONDITIONS = {
    "PAGD": "PAGD goes on from the perturbed point (as printed, t_thres = 1, it gives up)",
    "ZPSGD": "ZPSGD takes shorter steps than the 1/(2 ell) of its table",
    "ZO-SPIDER-NCF": "ZO-SPIDER-NCF turns its escapes downhill and searches only where |v| is small",
}
"""What was used instead of a row as printed."""

RSPIS = ("RSPI", "RSPI" + AUTHORS)
"""In the paper's form, which runs the power iteration in every iteration, and in that of its authors."""

OF_OCTOPUS = ("ZO-GD-NCF", "ZPSGD", "PAGD", "RSPI")
"""The four methods of the first figure."""

TAUTOLOGY = (
    "Runs with equal seeds draw the same vectors, and one method's gradients are the other's up to truncation and "
    "rounding: this is nearly a tautology, and shows that the differences are as good as the derivatives."
)

FREE = "ZO-SPIDER-NCF makes no such check. A run ends with its budget all the same, checks included."

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
    clear: bool | None = None
    """Whether the intervals over the seeds leave no doubt; None if no medians are compared."""


@dataclass(frozen=True)
class Verdict:
    """A claim, its answer, and the numbers behind it."""

    claim: str
    figure: str
    cases: tuple[Case, ...]
    note: str = ""
    """What has to be known to read it."""

    @property
    def answer(self) -> str:
        """One of "holds", "holds only if", "does not hold" and "not run"."""
        if not self.cases:
            return UNSEEN
        kept = [case for case in self.cases if case.holds]
        if not kept:
            return FAILS
        return HOLDS if len(kept) == len(self.cases) and not any(case.conditions for case in kept) else ONLY_IF

    @property
    def verdict(self) -> str:
        """The answer with its conditions, and how many cases the spread over the seeds leaves in doubt."""
        kept = [case for case in self.cases if case.holds]
        conditions = list(dict.fromkeys(condition for case in kept for condition in case.conditions))
        if len(kept) < len(self.cases):
            conditions.append("it is asked of: " + "; ".join(case.what for case in kept))
        compared = [case for case in self.cases if case.clear is not None]
        doubtful = sum(not case.clear for case in compared)
        doubt = f" (intervals over the seeds overlap in {doubtful} of {len(compared)} cases)" if doubtful else ""
        return self.answer + (" " + ", and ".join(conditions) if self.answer == ONLY_IF else "") + doubt


def _standing(evidence: Evidence, panels: list[Panel], method: str) -> tuple[str, tuple[str, ...]]:
    """The curve that stands for a method: as printed if that reaches the minimum, else as used, with the condition."""
    printed = method + AS_PRINTED
    if not all(evidence.has(panel, printed) for panel in panels):
        return method, ()
    if all(math.isfinite(evidence.median(panel, printed, "reached").value) for panel in panels):
        return printed, ()
    return method, (CONDITIONS.get(method.removesuffix(ONLINE), f"{method} is not as printed"),)


def _there(evidence: Evidence, panel: Panel, methods: Sequence[str]) -> list[str]:
    return [method for method in methods if evidence.has(panel, method)]


def _before(evidence: Evidence, panel: Panel, first: str, second: str, event: str = "reached") -> Case:
    """Whether one method sees an event earlier than another, by medians."""
    (a, if_a), (b, if_b) = (_standing(evidence, [panel], method) for method in (first, second))
    times = {name: evidence.median(panel, name, event) for name in (a, b)}
    numbers = "; ".join(f"{name}: {time.text()}" for name, time in times.items())
    holds = times[a].value < times[b].value
    clear = times[a].before(times[b]) if holds else times[a].low >= times[b].high
    if if_b and times[a].value < evidence.median(panel, second + AS_PRINTED, event).value:
        if_b = ()  # it holds of the second as printed too
    return Case(f"{first} before {second}, {panel.title}", holds, numbers, if_a + if_b if holds else (), clear)


def all_escape(evidence: Evidence) -> Verdict:
    """Every run left the saddle, and did not end above it."""
    cases = []
    for panel in evidence.figure("octopus", "plain"):
        for method in OF_OCTOPUS:
            curve, conditions = _standing(evidence, [panel], method)
            runs = evidence.runs(panel, curve)
            escapes = all(run.left is not None and run.fun < run.start for run in runs)
            numbers = f"{curve}: {evidence.median(panel, curve, 'left').text()}"
            cases.append(Case(f"{method}, {panel.title}", escapes, numbers, conditions if escapes else ()))
    return Verdict("All four methods escape the saddle of the octopus.", "octopus", tuple(cases))


def queries_grow(evidence: Evidence) -> Verdict:
    """Medians grow from each dimension to the next; two of them at least must be finite."""
    panels = sorted(evidence.figure("octopus", "plain"), key=lambda panel: panel.d)
    cases = []
    for method in OF_OCTOPUS if len(panels) > 1 else ():
        curve, conditions = _standing(evidence, panels, method)
        times = [evidence.median(panel, curve, "reached") for panel in panels]
        grows = _grows([time.value for time in times])
        steps = list(pairwise(times))
        clear = all(a.before(b) or b.low == math.inf for a, b in steps) if grows else any(b.before(a) for a, b in steps)
        numbers = "; ".join(f"d = {panel.d}: {time.text()}" for panel, time in zip(panels, times, strict=True))
        cases.append(Case(method, grows, numbers, conditions if grows else (), clear))
    return Verdict("The larger d, the more queries the octopus takes.", "octopus", tuple(cases))


def _grows(times: Sequence[float]) -> bool:
    """From each to the next, or to never; two of them at least must be finite."""
    return all(a < b or b == math.inf for a, b in pairwise(times)) and math.isfinite(times[1])


def rspi_is_worse(evidence: Evidence) -> Verdict:
    panels = evidence.figure("octopus", "plain")
    pairs = [(method, rspi) for rspi in RSPIS for method in ("ZO-GD-NCF", "PAGD")]
    cases = [_before(evidence, panel, method, rspi) for panel in panels for method, rspi in pairs]
    return Verdict("RSPI does worse than PAGD and ZO-GD-NCF on the octopus.", "octopus", tuple(cases))


def neon2_alike(evidence: Evidence) -> Verdict:
    cases = []
    for panel in evidence.figure("neon2"):
        ours, theirs = (evidence.median(panel, name, "reached_nit") for name in ("ZO-GD-NCF", "Neon2+GD"))
        alike = _near(ours.value, theirs.value)
        far = ours.before(theirs) or theirs.before(ours)
        clear = _near(min(ours.low, theirs.low), max(ours.high, theirs.high)) if alike else far
        numbers = f"ZO-GD-NCF: {ours.text('iterations')}; Neon2+GD: {theirs.text('iterations')}"
        cases.append(Case(panel.title, alike, numbers, clear=clear))
    return Verdict("ZO-GD-NCF and Neon2+GD take nearly the same iterations.", "neon2", tuple(cases), TAUTOLOGY)


def _near(a: float, b: float) -> bool:
    return math.isfinite(a + b) and abs(a - b) <= NEARLY * max(a, b)


def curvature_leaves_sooner(evidence: Evidence, figure: str = "cubic") -> tuple[Case, ...]:
    return tuple(
        _before(evidence, panel, sooner, later, "left")
        for panel in evidence.figure(figure, "plain", sampled=False)
        for sooner in _there(evidence, panel, ("ZO-GD-NCF", *RSPIS))
        for later in ("ZPSGD", "PAGD")
    )


def gradients_beat_rspi(evidence: Evidence, figure: str = "cubic") -> tuple[Case, ...]:
    return tuple(
        _before(evidence, panel, method, rspi)
        for panel in evidence.figure(figure, "plain", sampled=False)
        for rspi in _there(evidence, panel, RSPIS)
        for method in ("ZO-GD-NCF", "ZPSGD", "PAGD")
    )


def spider_is_fastest(evidence: Evidence, figure: str = "cubic", event: str = "reached") -> tuple[Case, ...]:
    """Beside the three others, all with the minibatch finder, and all with the paper's ZO-NCF-Online."""
    return tuple(
        _before(evidence, panel, "ZO-SPIDER-NCF" + finder, other + finder, event)
        for panel in evidence.figure(figure, sampled=True)
        for finder in ("", ONLINE)
        for other in ("ZO-SGD-NCF", "ZO-SCSG-NCF I", "ZO-SCSG-NCF II")
    )


def squares_are_similar(evidence: Evidence) -> Verdict:
    """The three conclusions of the cubic problem, asked again; there is no saddle at the start."""
    looks = (curvature_leaves_sooner, gradients_beat_rspi, spider_is_fastest)
    cases = [case for look in looks for case in look(evidence, "least-squares")]
    claim = 'The least-squares results are "similar" to those of the cubic problem: the same three conclusions.'
    return Verdict(claim, "least-squares", tuple(cases))


def judge_all(evidence: Evidence, figures: tuple[str, ...]) -> list[Verdict]:
    """Every claim about the figures that were asked for."""
    sooner = "On the cubic problem methods that find curvature leave the saddle sooner than methods that perturb."
    faster = "On the cubic problem methods that estimate gradients converge faster than RSPI."
    spider = "On samples of the cubic problem ZO-SPIDER-NCF is the fastest method."
    free = "The same, with the queries of Proposition 1's check charged to nobody."
    verdicts = [
        all_escape(evidence),
        queries_grow(evidence),
        rspi_is_worse(evidence),
        neon2_alike(evidence),
        Verdict(sooner, "cubic", curvature_leaves_sooner(evidence)),
        Verdict(faster, "cubic", gradients_beat_rspi(evidence)),
        Verdict(spider, "cubic", spider_is_fastest(evidence)),
        Verdict(free, "cubic", spider_is_fastest(evidence, event="reached_free"), FREE),
        squares_are_similar(evidence),
    ]
    return [verdict for verdict in verdicts if verdict.figure in figures]
