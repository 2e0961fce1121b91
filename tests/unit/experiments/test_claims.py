"""Verdicts are computed from the runs: other runs, other verdicts."""

from dataclasses import replace

import pytest

from escapade.experiments.catalogue import panels_of
from escapade.experiments.claims import FAILS, HOLDS, ONLY_IF, UNSEEN, judge_all
from escapade.experiments.evidence import Evidence
from escapade.experiments.records import Record

FIGURES = ("octopus", "neon2", "cubic", "least-squares")
PANELS = panels_of(FIGURES, quick=False)


def record(panel, curve, seed=0, left=10, reached=1000, fun=-1.0):
    """A run that left its start and reached the minimum at these times, in queries and in iterations."""
    return Record(
        figure=panel.figure, panel=panel.title, curve=curve, seed=seed, d=panel.d, nfev=5000, nit=50, ngrad=0,
        ending="certified", verdict="minimum", certified=True, gradient=0.0, lowest=1.0, start=0.0, fun=fun, least=-1.0,
        left=left, left_nit=left, reached=reached, reached_nit=reached, seconds=0.0, method="",
        queries=[0, 5000], iterations=[0, 50], values=[0.0, fun],
    )  # fmt: skip


SPEED = {"ZO-GD-NCF": 2, "Neon2+GD": 2, "PAGD": 3, "ZPSGD": 3, "RSPI": 9, "ZO-SPIDER-NCF": 1}
"""Times the paper would like to see, in units of d."""


def pleasing(panel, curve):
    """A run as the paper tells it."""
    method = curve.removesuffix(", as printed")
    time = SPEED.get(method, 5) * panel.d
    left = {"ZO-GD-NCF": 1, "RSPI": 1}.get(method, 2)
    return record(panel, curve, left=left, reached=time)


def verdicts(change=lambda run: run):
    runs = [change(pleasing(panel, curve.label)) for panel in PANELS for curve in panel.curves]
    return judge_all(Evidence(runs, PANELS), FIGURES)


def test_runs_that_please_the_paper_make_every_claim_hold():
    found = verdicts()
    assert len(found) == 8
    assert [verdict.answer for verdict in found] == [HOLDS] * 8
    assert all(case.numbers for verdict in found for case in verdict.cases)


def on(curve, figure="octopus", **fields):
    """Change the runs of one curve in one figure."""
    return lambda run: replace(run, **fields) if (run.curve, run.figure) == (curve, figure) else run


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, on("RSPI", left=None)),
        (1, on("RSPI", reached=7)),
        (2, on("RSPI", reached=1)),
        (3, on("Neon2+GD", "neon2", reached_nit=10_000)),
        (4, on("RSPI", "cubic", left=100)),
        (5, on("RSPI", "cubic", reached=1)),
        (6, on("ZO-SPIDER-NCF", "cubic", reached=None)),
        (7, on("RSPI", "least-squares", reached=1)),
    ],
)
def test_a_changed_curve_changes_its_verdict(number, change):
    before = verdicts()
    after = verdicts(change)
    assert before[number].answer == HOLDS
    assert after[number].answer in (FAILS, ONLY_IF)
    assert after[number].verdict != before[number].verdict
    unchanged = [i for i in range(8) if i != number and after[i].figure != after[number].figure]
    assert all(after[i] == before[i] for i in unchanged)


def test_what_holds_only_with_other_settings_says_so():
    found = verdicts(on("PAGD, as printed", left=None, reached=None))
    assert found[0].answer == ONLY_IF
    assert "PAGD goes on from the perturbed point" in found[0].verdict
    assert "ZPSGD" not in found[0].verdict
    assert found[2].answer == ONLY_IF


def test_a_run_that_leaves_and_is_lost_has_not_escaped():
    found = verdicts(on("RSPI", fun=1e9))
    assert found[0].answer == ONLY_IF
    assert all(not case.holds for case in found[0].cases if case.what.startswith("RSPI"))


def test_one_seed_in_two_is_no_median():
    panel = PANELS[0]
    runs = [record(panel, "RSPI", seed, reached=reached) for seed, reached in enumerate((100, 300, None))]
    evidence = Evidence(runs, PANELS)
    assert evidence.median(panel, "RSPI", "reached") == 300
    assert evidence.median(panel, "PAGD", "reached") != evidence.median(panel, "PAGD", "reached")  # NaN: no runs


def test_without_runs_nothing_is_claimed():
    found = judge_all(Evidence([], PANELS), FIGURES)
    assert [verdict.answer for verdict in found] == [UNSEEN] * 8


def test_a_claim_that_holds_of_the_printed_rival_too_needs_no_condition():
    found = verdicts(on("PAGD, as printed", "cubic", left=None, reached=None))
    assert found[4].answer == HOLDS  # it never leaves, which is later than anyone
    assert found[5].answer == ONLY_IF
    assert "PAGD goes on" in found[5].verdict
