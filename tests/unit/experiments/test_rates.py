"""Exponents are fitted, and verdicts computed, from the runs: other runs, other verdicts."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from escapade.cli.app import run as command
from escapade.errors import InvalidSetting
from escapade.experiments import introduction, rates, run_rates
from escapade.experiments.claims import HOLDS, ONLY_IF
from escapade.experiments.fitting import EXCEEDED, LOOSE, TIGHT, UNRESOLVED, UNSEEN, Fit, compare, fit, slope
from escapade.experiments.introduction import never_worse, ratio_of, root_epsilon_better, tasks_of
from escapade.experiments.rate_catalogue import FEWEST, SWEEPS, sweeps
from escapade.experiments.rate_page import filled
from escapade.experiments.rate_problems import Noisy, Ramp, Spectrum, Tail
from escapade.experiments.rate_runs import COUNTS, PRINTED, Measurement, Sweep, measure
from escapade.experiments.rates import judge, rates_in
from escapade.experiments.records import Record
from escapade.experiments.store import Store
from escapade.theory import Constants

DOCS = Path(__file__).parents[3] / "docs"
T = np.array([4.0, 8.0, 16.0, 32.0, 64.0])


def scattered(law, rng, seeds=10, spread=0.1):
    """Runs around a law of t: each point has its own deviation, and each seed as well."""
    return [law(t) * np.exp(spread * (rng.standard_normal() + rng.standard_normal(seeds))) for t in T]


# Fitting


@pytest.mark.parametrize("exponent", [0.0, 0.5, 2.0, 10 / 3])
def test_the_exponent_of_a_power_law_is_recovered(exponent):
    fitted = fit(T, [[7 * t**exponent] * 3 for t in T])
    assert fitted.exponent == pytest.approx(exponent, abs=1e-12)
    assert fitted.low == pytest.approx(exponent) == fitted.high
    assert fitted.misfit == pytest.approx(0, abs=1e-12)


def test_the_band_covers_the_exponent():
    rng = np.random.default_rng(1)
    fits = [fit(T, scattered(lambda t: 5 * t**2, rng)) for _ in range(200)]
    covered = sum(one.low <= 2 <= one.high for one in fits)
    assert covered >= 181  # of 190 expected; three standard deviations of a binomial are 9.2
    assert np.median([one.high - one.low for one in fits]) < 0.3


def test_the_bootstrap_sees_seeds_that_scatter_around_a_straight_line():
    runs = [[t / 2, t / 2, t, 2 * t, 2 * t] for t in T]
    fitted = fit(T, runs)
    assert fitted.exponent == pytest.approx(1)
    assert fitted.high - fitted.low > 0.3


def test_the_regression_sees_points_that_leave_a_straight_line():
    fitted = fit(T, [[100 + t**2] * 5 for t in T])
    assert fitted.high - fitted.low > 0.3


def test_growth_like_a_logarithm_is_told_from_a_power():
    assert fit(T, [[3 + 5 * math.log(t)] for t in T]).logarithmic
    assert not fit(T, [[3 * t**0.5] for t in T]).logarithmic
    assert not fit(T, [[9 / math.log(t)] for t in T]).logarithmic


def test_the_comparison_follows_the_band():
    one = Fit(1.9, 1.8, 2.0, 0.1, math.inf)
    assert compare(one, 1.95).kind == TIGHT
    assert str(compare(one, 2.5)) == "loose by 0.60"
    assert str(compare(one, 1.5)) == "exceeded by 0.40"
    assert compare(replace(one, low=1.89, high=1.91), 1.94).kind == TIGHT
    assert compare(replace(one, low=1.89, high=1.91), 1.96).kind == LOOSE
    assert compare(replace(one, low=1.2, high=2.6), 2).kind == UNRESOLVED
    assert compare(None, 2).kind == UNSEEN


# Verdicts

SWEEP = Sweep(
    method="ZO-GD-NCF",
    theorem="Theorem 4",
    variable="epsilon",
    instance="ramp",
    points=(0.1, 0.05, 0.025, 0.0125),
    delta=1.0,
)


def runs_with(law, ended=lambda seed: True, seeds=4):
    def run(t, seed):
        return Measurement(queries=round(law(t) * (1 + seed / 500)), ended=ended(seed), kept=ended(seed))

    return [[run(t, seed) for seed in range(seeds)] for t in SWEEP.hardness]


def test_verdicts_follow_the_runs():
    expected = slope(SWEEP.hardness, [SWEEP.theory(point) for point in SWEEP.points])
    assert expected == pytest.approx(2, abs=0.02)
    assert judge(SWEEP, runs_with(lambda t: 90 * t**expected)).kind == TIGHT
    assert judge(SWEEP, runs_with(lambda t: 90 * t**3)).kind == EXCEEDED
    loose = judge(SWEEP, runs_with(lambda t: 9000 * t))
    assert (loose.kind, loose.verdict) == (LOOSE, f"loose by {expected - loose.exponent:.2f}")
    like_a_log = judge(SWEEP, runs_with(lambda t: 9000 + 3000 * math.log(t)))
    assert like_a_log.verdict.endswith("queries grow like log(1/epsilon)")
    assert loose.claim.endswith(f"grow like (1/epsilon)^{expected:.2f} on: ramp")


def test_runs_that_did_not_return_do_not_count():
    all_but_one = judge(SWEEP, runs_with(lambda t: 90 * t**2, ended=lambda seed: seed > 0))
    assert (all_but_one.runs, all_but_one.ended, all_but_one.kept) == (16, 12, 12)
    assert all_but_one.exponent is not None
    half = judge(SWEEP, runs_with(lambda t: 90 * t**2, ended=lambda seed: seed > 1))
    assert (half.kind, half.exponent, half.medians) == (UNSEEN, None, [])
    assert half.verdict == "not measured"


def test_the_printed_powers_are_those_of_the_counts():
    for (theorem, variable), power in PRINTED.items():
        ends = []
        for t in (1e12, 1e13):
            given = {"d": 10, "epsilon": 0.1, "delta": 0.1} | {variable: t if variable == "d" else 1 / t}
            ends.append(COUNTS[theorem](Constants(**given | {"d": int(given["d"])})))
        grown = math.log10(ends[1] / ends[0])
        assert power - 0.001 < grown < power + 0.07, (theorem, variable)  # log(d)^2 still grows by 0.06 of a decade


def test_every_theorem_and_both_finders_are_measured_in_every_variable_they_depend_on():
    measured = {(one.theorem, one.variable) for one in SWEEPS}
    assert measured == set(PRINTED)
    assert len({one.name for one in SWEEPS}) == len(SWEEPS)
    for quick in (False, True):
        assert all(len(one.points) >= FEWEST for one in sweeps(quick))
    assert all(list(one.hardness) == sorted(one.hardness) for one in SWEEPS)


# Instances


@pytest.mark.parametrize(
    "problem", [Ramp(d=3, slope=0.1), Ramp(d=3, slope=0.02, rho=3.0), Tail(d=3), Spectrum(d=3, lowest=-0.2)]
)
def test_derivatives_and_constants_of_the_instances(problem):
    rng, h = np.random.default_rng(0), 1e-4
    middle = getattr(problem, "length", 2.0)
    assert float(problem(problem.start)) == pytest.approx({"ramp": 1, "tail": 20, "spectrum": 0}[problem.name])
    for s in (0.0, -0.05, middle - 0.3, middle, middle + 0.3):
        x = np.append(s, rng.uniform(-0.2, 0.2, 2))
        e = h * np.eye(3)
        assert np.allclose((problem(x + e) - problem(x - e)) / (2 * h), problem.gradient(x), atol=1e-6)
        columns = [(problem.gradient(x + one) - problem.gradient(x - one)) / (2 * h) for one in e]
        assert np.allclose(columns, problem.hessian(x), atol=2e-4)
        assert np.abs(np.linalg.eigvalsh(problem.hessian(x))).max() <= problem.ell + 1e-12
        if problem.rho:
            assert abs(problem.hessian(x + e[0])[0, 0] - problem.hessian(x)[0, 0]) <= problem.rho * h * 1.01


@pytest.mark.parametrize(
    ("problem", "epsilon", "steps"),
    [
        (Ramp(d=1, slope=0.04), 0.02, 1 / 0.02**2),
        (Ramp(d=1, slope=0.02), 0.01, 1 / 0.01**2),
        (Tail(d=1), 0.02, 4 * 1.05 * (0.02 ** -(1 + 1 / 1.05) - 1) / 2.05),
    ],
)
def test_gradient_descent_takes_the_steps_that_are_derived(problem, epsilon, steps):
    x, taken = problem.start, 0
    while (g := problem.gradient(x))[0] < -epsilon:
        x, taken = x - g / (4 * problem.ell), taken + 1
    assert taken == pytest.approx(steps, rel=0.05)


def test_a_ramp_too_steep_for_its_constants_is_refused():
    with pytest.raises(ValueError, match=r"slope=0\.9 must lie in \(0, 0\.8\]"):
        Ramp(d=2, slope=0.9, rho=2.0)


def test_components_have_the_spread_that_is_stated():
    noisy = Noisy(problem=Ramp(d=4, slope=0.1), sigma=0.3, kappa=0.5, first=1)
    x, h, ids = noisy.start, 1e-3, np.arange(400)
    e = h * np.eye(4)
    up, down, at = (noisy.component_values(z, ids) for z in (x + e, x - e, x[None, :]))
    gradients = ((up - down) / (2 * h)).T - noisy.gradient(x)
    assert np.allclose(np.linalg.norm(gradients, axis=1), 0.3, atol=1e-6)
    curvatures = ((up + down - 2 * at) / h**2).T - np.diag(noisy.hessian(x))
    assert np.allclose(np.abs(curvatures), [0, 0.5, 0.5, 0.5], atol=1e-4)
    assert np.linalg.norm(gradients.mean(axis=0)) < 4 * 0.3 / math.sqrt(400)
    assert noisy.component_values(x + 1, ids[:5])[3] == noisy.sample_value(x + 1, ids[3:4])
    means = [noisy.sample_value(x + e, np.arange(b, b + 100)) - noisy.problem(x + e) for b in range(0, 40_000, 100)]
    assert np.std(means, axis=0) / h == pytest.approx(0.3 / math.sqrt(4 * 100), rel=0.15)


# Runs


QUICK = (
    "ZO-NCF-Online, delta, at the edge",
    "ZO-NCF-Deterministic, delta, nothing to find",
    "ZO-GD-NCF, epsilon, ramp",
    "ZO-GD-NCF, delta, cubic",
    "ZO-GD-NCF II, d, ramp",
    "ZO-SGD-NCF, epsilon, ramp",
    "ZO-SCSG-NCF, epsilon, cubic",
    "ZO-SPIDER-NCF, epsilon, ramp",
)


@pytest.mark.parametrize("sweep", [one for one in SWEEPS if one.name in QUICK], ids=lambda one: one.name)
def test_the_easiest_point_of_a_sweep_returns_what_its_theorem_promises(sweep):
    run = measure(sweep, sweep.points[0], seed=5)
    assert run.ended
    assert run.kept
    assert run.queries == sum(run.purposes.values())


def test_a_budget_that_ends_is_no_answer():
    run = measure(replace(SWEEP, budget=50), 0.1, seed=0)
    assert (run.ended, run.kept) == (False, False)
    assert run.queries <= 50


CHEBYSHEV = {"method": "ZO-NCF-Deterministic", "theorem": "Theorem 2", "variable": "delta", "instance": "at the edge"}
DESCENT = {"method": "ZO-GD-NCF", "theorem": "Theorem 4", "variable": "epsilon", "instance": "cubic"}
TINY = (Sweep(**CHEBYSHEV, points=(0.1, 0.01, 0.001), d=4), Sweep(**DESCENT, points=(0.1, 0.01, 0.001), d=4))


def test_the_command_measures_writes_and_reads_back(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rates, "sweeps", lambda quick: TINY)
    monkeypatch.setattr(rates, "tasks_of", lambda store, seeds, quick: [])
    out = tmp_path / "results"
    line = ["paper", "rates", "--quick", "--workers", "1", "--out", str(out), "--json", "--quiet"]
    assert command(line) == 0
    said = json.loads(capsys.readouterr().out)
    assert [claim["answer"] for claim in said["claims"][:2]][1].startswith("loose by")
    assert len(said["claims"]) == 4
    first = (out / "rates.json").read_text()
    assert "data:image/png;base64" in (out / "rates.html").read_text()
    assert (out / "rates.png").stat().st_size > 10_000
    runs = {path: path.stat().st_mtime_ns for path in (out / "runs" / "rates").iterdir()}
    assert len(runs) == 2 * 3 * 2  # sweeps, points, and the two seeds of --quick
    seen = []
    run_rates(quick=True, out=out, workers=1, progress=lambda *words: seen.append(words))
    assert seen == [(12, 12, "12 finished runs read back")]
    assert {path: path.stat().st_mtime_ns for path in (out / "runs" / "rates").iterdir()} == runs
    assert (out / "rates.json").read_text() == first
    next(iter(runs)).write_text("{half")
    run_rates(quick=True, out=out, workers=1)
    assert (out / "rates.json").read_text() == first


def test_seeds_must_be_a_positive_integer(tmp_path):
    with pytest.raises(InvalidSetting, match="seeds=0"):
        run_rates(seeds=0, out=tmp_path)


# The introduction


def record(curve, reached, seed=0, figure="octopus", panel="d = 10"):
    return Record(
        figure=figure, panel=panel, curve=curve, seed=seed, d=10, nfev=5000, nit=50, ngrad=0, ending="certified",
        verdict="minimum", certified=True, gradient=0.0, lowest=1.0, start=0.0, fun=-1.0, least=-1.0, left=1,
        left_nit=1, reached=reached, reached_nit=reached, left_free=1, reached_free=reached, moves={}, by_purpose={},
        far=1.0, seconds=0.0, method="", queries=[0], free=[0], iterations=[0], values=[0.0],
    )  # fmt: skip


def three(curve, reached):
    return [record(curve, None if reached is None else reached + seed, seed) for seed in range(3)]


def test_theorem_4_is_never_worse_only_from_four_variables_on():
    verdict = never_worse([])
    assert verdict.verdict == "holds only if d is at least 4 (against PAGD)"
    assert len(verdict.cases) == 6
    assert introduction.count("PAGD", 3, 0.1, 0.5) < introduction.count("ZO-GD-NCF", 3, 0.1, 0.5)


def test_theorem_4_is_as_good_as_its_runs():
    good = never_worse(three("ZO-GD-NCF", 100) + three("PAGD", 500) + three("RSPI", None))
    assert [case.holds for case in good.cases[6:]] == [True, True]
    assert good.cases[6].numbers.startswith("0.2 times the queries of PAGD, 95% interval over 3 seeds")
    bad = never_worse(three("ZO-GD-NCF", 500) + three("PAGD", 100))
    assert not bad.cases[6].holds
    assert bad.answer == ONLY_IF
    neither = never_worse(three("ZO-GD-NCF", None) + three("PAGD", None))
    assert not neither.cases[6].holds
    assert never_worse(three("ZO-GD-NCF", None) + three("PAGD", 5)).cases[6].numbers.startswith("only PAGD")


def test_an_interval_that_reaches_over_one_decides_nothing():
    ratio, low, high = ratio_of(np.array([80.0, 100, 120]), np.array([90.0, 101, 110]))
    assert low < ratio < 1 < high


def test_theorem_6_improves_by_one_over_the_root_of_epsilon(monkeypatch):
    verdict = root_epsilon_better()
    assert verdict.answer == HOLDS
    assert "like (1/epsilon)^0.50" in verdict.cases[0].numbers
    monkeypatch.setattr(introduction, "SPIDER", "ZO-SGD-NCF")
    worse = root_epsilon_better()
    assert worse.answer == ONLY_IF
    assert not worse.cases[0].holds


def test_a_row_that_grows_faster_is_seen(monkeypatch):
    monkeypatch.setattr(introduction, "OURS", "ZPSGD")
    cases = {case.what: case.holds for case in never_worse([]).cases}
    assert not cases["PAGD as epsilon tends to 0, delta = epsilon^(1/2)"]


def test_the_runs_behind_the_claim_are_those_of_the_experiments(tmp_path):
    tasks = tasks_of(Store(tmp_path), (0,), quick=False)
    assert {(task.panel.figure, task.panel.d) for task in tasks} == {("octopus", 10), ("cubic", 10)}
    assert {task.curve.label for task in tasks} == {"ZO-GD-NCF", "ZPSGD", "PAGD", "RSPI"}


# The page


def test_the_page_says_what_was_measured():
    summary = json.loads((DOCS / "rates.json").read_text(encoding="utf-8"))
    page = (DOCS / "rates.md").read_text(encoding="utf-8")
    assert page == filled(page, summary), "write docs/rates.md again: refresh() in experiments/rate_page.py"
    assert page.count("| tight |") == sum(one.kind == TIGHT for one in rates_in(summary))


def test_the_record_is_that_of_the_catalogue_and_its_verdicts_follow_from_its_numbers():
    summary = json.loads((DOCS / "rates.json").read_text(encoding="utf-8"))
    assert not summary["quick"]
    found = rates_in(summary)
    assert [(one.method, one.variable, one.instance) for one in found] == [
        (one.method, one.variable, one.label) for one in SWEEPS
    ]
    for one, sweep in zip(found, SWEEPS, strict=True):
        assert one.counts == pytest.approx([sweep.theory(point) for point in one.points], rel=1e-5)
        assert one.theory == pytest.approx(slope(one.hardness, one.counts), abs=1e-4)
        assert one.exponent == pytest.approx(slope(one.hardness, one.medians), abs=1e-4)
        answer = compare(Fit(one.exponent, one.low, one.high, 0.0, 0.0), one.theory)
        assert (answer.kind, pytest.approx(answer.by, abs=1e-4)) == (one.kind, one.by)
