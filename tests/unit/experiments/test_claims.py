"""Verdicts are computed from the runs: other runs, other verdicts."""

from dataclasses import replace

import pytest

from escapade.experiments.catalogue import panels_of
from escapade.experiments.claims import FAILS, HOLDS, ONLY_IF, UNSEEN, Verdict, judge_all, rspi_is_worse
from escapade.experiments.evidence import Evidence
from escapade.experiments.records import Record

FIGURES = ("octopus", "neon2", "cubic", "least-squares")
PANELS = panels_of(FIGURES, quick=False)


def record(panel, curve, seed=0, left=10, reached=1000, fun=-1.0):
    """A run that left its start and reached the minimum at these times, in queries and in iterations."""
    return Record(
        figure=panel.figure, panel=panel.title, curve=curve, seed=seed, d=panel.d, nfev=5000, nit=50, ngrad=0,
        ending="certified", verdict="minimum", certified=True, gradient=0.0, lowest=1.0, start=0.0, fun=fun, least=-1.0,
        left=left, left_nit=left, reached=reached, reached_nit=reached, left_free=left, reached_free=reached,
        moves={"descent": 50}, by_purpose={"descent": 5000}, far=1.0, seconds=0.0, method="",
        queries=[0, 5000], free=[0, 5000], iterations=[0, 50], values=[0.0, fun],
    )  # fmt: skip


SPEED = {"ZO-GD-NCF": 2, "Neon2+GD": 2, "PAGD": 3, "ZPSGD": 3, "RSPI": 9, "ZO-SPIDER-NCF": 1}
"""Times the paper would like to see, in units of d."""


def pleasing(panel, curve):
    """A run as the paper tells it."""
    method = curve.removesuffix(", as printed").removesuffix(", ZO-NCF-Online").removesuffix(", authors' form")
    time = SPEED.get(method, 5) * panel.d
    left = {"ZO-GD-NCF": 1, "RSPI": 1}.get(method, 2)
    return record(panel, curve, left=left, reached=time)


def verdicts(change=lambda run: run):
    runs = [change(pleasing(panel, curve.label)) for panel in PANELS for curve in panel.curves]
    return judge_all(Evidence(runs, PANELS), FIGURES)


def test_runs_that_please_the_paper_make_every_claim_hold():
    found = verdicts()
    assert len(found) == 9
    assert [verdict.answer for verdict in found] == [HOLDS] * 9
    assert all(case.numbers for verdict in found for case in verdict.cases)


def on(curve, figure="octopus", **fields):
    """Change the runs of one curve in one figure, and those of its row as printed."""
    names = (curve, f"{curve}, as printed")
    return lambda run: replace(run, **fields) if run.curve in names and run.figure == figure else run


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
        (7, on("ZO-SPIDER-NCF", "cubic", reached_free=None)),
        (8, on("RSPI", "least-squares", reached=1)),
    ],
)
def test_a_changed_curve_changes_its_verdict(number, change):
    before = verdicts()
    after = verdicts(change)
    assert before[number].answer == HOLDS
    assert after[number].answer in (FAILS, ONLY_IF)
    assert after[number].verdict != before[number].verdict
    unchanged = [i for i in range(9) if i != number and after[i].figure != after[number].figure]
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
    assert evidence.median(panel, "RSPI", "reached").value == 300
    assert evidence.median(panel, "PAGD", "reached").text() == "not run"


def test_without_runs_nothing_is_claimed():
    found = judge_all(Evidence([], PANELS), FIGURES)
    assert [verdict.answer for verdict in found] == [UNSEEN] * 9


def test_a_claim_that_holds_of_the_printed_rival_too_needs_no_condition():
    found = verdicts(on("PAGD, as printed", "cubic", left=None, reached=None))
    assert found[4].answer == HOLDS  # it never leaves, which is later than anyone
    assert found[5].answer == ONLY_IF
    assert "PAGD goes on" in found[5].verdict


def seeded(times):
    """Runs of ZO-GD-NCF that reach the octopus' minimum at these times, and of PAGD at a thousand later."""
    panel = PANELS[0]
    runs = [record(panel, "ZO-GD-NCF", seed, reached=time) for seed, time in enumerate(times)]
    runs += [record(panel, "RSPI", seed, reached=time + 1000) for seed, time in enumerate(times)]
    return rspi_is_worse(Evidence(runs, PANELS)).cases[0]


def test_medians_that_the_spread_over_seeds_does_not_tell_apart_are_said_to_overlap():
    close, wide = seeded(range(100, 110)), seeded(range(100, 3100, 300))
    assert close.holds
    assert wide.holds
    assert (close.clear, wide.clear) == (True, False)
    assert "[101, 108]" in close.numbers
    found = Verdict("claim", "octopus", (close, wide))
    assert found.verdict == "holds (intervals over the seeds overlap in 1 of 2 cases)"


def test_either_finder_and_either_form_of_rspi_is_asked():
    found = verdicts(on("RSPI, authors' form", reached=1))
    assert found[2].answer == ONLY_IF
    found = verdicts(on("ZO-SPIDER-NCF, ZO-NCF-Online", "cubic", reached=None))
    assert found[6].answer == ONLY_IF
    assert sum(case.holds for case in found[6].cases) == len(found[6].cases) / 2


def test_spider_repaired_stands_for_it_with_a_condition():
    lost = on("ZO-SPIDER-NCF, as printed", "cubic", reached=None)
    found = verdicts(lost)
    assert found[6].answer == ONLY_IF
    assert "turns its escapes downhill" in found[6].verdict


def test_the_claim_that_equal_seeds_nearly_decide_says_so():
    assert "tautology" in verdicts()[3].note
