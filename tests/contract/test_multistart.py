"""Multistart: where runs start, which of them are certified, and that no minimum is lost if only the best are."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.optimize import Bounds

import escapade
from escapade.basins import BASINS, Basins, distinct, spread_of
from escapade.errors import EvaluationFailed, InvalidSetting
from escapade.stopping import Iterations, Stop

BOX = [(-2.0, 2.0)] * 3


def wells(X):
    """Eight minima, of eight values."""
    return np.sum((X**2 - 1) ** 2 + np.array([0.05, 0.1, 0.2]) * X, axis=-1)


class Counted:
    def __init__(self, fun):
        self.fun, self.values = fun, 0

    def __call__(self, X):
        self.values += len(X)
        return self.fun(X)


def search(fun=wells, **options):
    return escapade.multistart(fun, **{"n": 32, "within": BOX, "rng": 3, "vectorized": True, **options})


def test_the_same_minima_for_at_most_half_the_queries():
    fun = Counted(wells)
    best, every = search(fun, certify=2), search(certify="all")
    assert best.nfev == fun.values
    assert best.nfev <= 0.5 * every.nfev
    assert len(best.minima) == len(every.minima) == 8
    near = BASINS.near * spread_of(np.array([run.history.x0 for run in best.runs]))
    for one, other in zip(best.minima, every.minima, strict=True):
        assert np.allclose(one.x, other.x, atol=near)
        assert one.fun == pytest.approx(other.fun, abs=1e-5)
    assert best.x == pytest.approx(every.x, abs=1e-5)
    assert [m.verdict for m in best.minima] == ["minimum"] * 2 + ["not certified"] * 6
    assert [m.verdict for m in every.minima] == ["minimum"] * 8


def test_every_run_counts_at_one_minimum():
    found = search(certify=2)
    assert sorted(i for m in found.minima for i in m.runs) == list(range(32))
    stops = {run.stop for run in found.runs}
    assert stops == {Stop.CERTIFIED, Stop.JOINED, Stop.SET_ASIDE}
    for i, run in enumerate(found.runs):
        assert run.success is (run.stop is Stop.CERTIFIED)
        assert (run.certificate is None) is not run.success
        assert i not in found.joined or run.stop is Stop.JOINED
        assert found.joined.get(i) not in found.joined  # it joined a run that arrived
    for m in found.minima:
        assert m.fun == pytest.approx(float(wells(m.x)), abs=1e-12)


def test_a_saddle_among_the_best_is_left_before_anything_is_said():
    """Runs from the plane x_0 = 0 arrive at saddles: one that is chosen for its certificate leaves."""
    starts = np.random.default_rng(0).uniform([-0.3, 0.7, 0.7], [0.3, 1.3, 1.3], (6, 3))
    starts[:, 0] = 0.0

    def fun(X):
        return (X[..., 0] ** 2 - 1) ** 2 + np.sum((X[..., 1:] - 1) ** 2, axis=-1)

    found = escapade.multistart(fun, starts, vectorized=True, certify=1, rng=0)
    assert found.success
    assert found.best.certificate.verdict == "minimum"
    assert abs(found.x[0]) == pytest.approx(1, abs=1e-4)
    assert all(m.verdict in ("minimum", "not certified") for m in found.minima)


def test_rastrigin_loses_no_minimum():
    def rastrigin(X):
        return np.sum(X**2 - 10 * np.cos(2 * np.pi * X) + 10, axis=-1)

    options = {"within": [(-5.12, 5.12)] * 3, "n": 16}
    best, every = search(rastrigin, **options), search(rastrigin, certify="all", **options)
    assert best.nfev <= 0.6 * every.nfev
    assert len(best.minima) == len(every.minima)
    for one in every.minima:
        assert any(np.allclose(one.x, other.x, atol=0.05) for other in best.minima)


@pytest.mark.parametrize("sampler", ["sobol", "lhs", "uniform"])
def test_samplers_fill_the_box(sampler):
    low, high = np.array([-1.0, 5.0]), np.array([1.0, 7.0])
    for within in (Bounds(low, high), [(-1, 1), (5, 7)]):
        found = search(lambda X: np.sum(X**2, axis=1), n=33, within=within, sampler=sampler, maxfev=1)
        starts = np.array([run.history.x0 for run in found.runs])
        assert np.all((starts >= low) & (starts <= high))
        assert len(np.unique(starts, axis=0)) == 33
        if sampler != "uniform":
            counts, _ = np.histogram((starts[:32, 0] + 1) / 2, bins=8, range=(0, 1))
            assert np.all(counts >= 2)


def test_starts_repeat_with_the_seed_and_give_what_given_starts_give():
    found = search(certify=1)
    again = search(certify=1)
    assert found.to_json() == again.to_json()
    assert not np.array_equal(found.runs[0].history.x0, search(certify=1, rng=4).runs[0].history.x0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"starts": [[0.0] * 3]}, "exclude one another"),
        ({"n": 0}, "n=0"),
        ({"n": 2.5}, "n=2.5"),
        ({"n": None}, "needs starts"),
        ({"within": None}, "needs starts"),
        ({"within": [(0, 1, 2)]}, "within="),
        ({"within": [(0, np.inf)]}, "finite"),
        ({"within": [(0, 1), (3, 2)]}, r"within\[1\]"),
        ({"sampler": "halton"}, "sobol, lhs, uniform"),
        ({"certify": 0}, "certify=0"),
        ({"certify": "best"}, "certify='best'"),
        ({"certify": 2, "method": "pagd"}, "certify='all'"),
        ({"journal": "runs.db", "rng": None}, "pass rng="),
    ],
)
def test_bad_settings_are_named(options, said):
    with pytest.raises(InvalidSetting, match=said):
        search(**options)


def test_other_methods_are_certified_by_themselves():
    found = search(n=3, method="zo-gd-ncf", maxfev=3000)
    assert Stop.SET_ASIDE not in {run.stop for run in found.runs}


def test_limits_callbacks_and_failures_are_each_runs_own(tmp_path):
    cut = search(n=4, maxfev=40, certify=1)
    assert {run.stop for run in cut.runs} == {Stop.BUDGET}
    assert cut.minima == []
    assert "4 runs that ended at none (budget: 4)" in str(cut)
    ruled = search(n=4, stop=Iterations(1), certify=1)
    assert {run.stop for run in ruled.runs} == {Stop.RULE}

    def fun(X):
        if np.any(X > 1.9):
            raise ZeroDivisionError("no")
        return wells(X)

    with pytest.raises(EvaluationFailed) as caught:
        search(fun, n=16, certify=1)
    assert caught.value.result.success
    journal = tmp_path / "runs.db"
    first = search(n=6, certify=2, journal=journal)
    again = search(Counted(wells), n=6, certify=2, journal=journal)
    assert again.ncalls == 0
    assert again.to_json() == first.to_json().replace(f'"ncalls": {first.ncalls}', '"ncalls": 0') or (
        [run.to_json() for run in again.runs] == [run.to_json() for run in first.runs]
    )


def test_points_are_sorted_into_minima():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.001, 0.0], [1.0, 0.001], [5.0, 5.0]])
    values = np.array([1.0, 0.0, 1.0, 1e-9, np.nan])
    assert distinct(rows, values, spread_of(rows)) == [[1, 3], [0, 2]]
    assert distinct(rows[:0], values[:0], 1.0) == []
    assert spread_of(np.ones((3, 2))) == 1.0
    assert spread_of(np.zeros((3, 2))) == 1.0


def test_who_goes_on():
    basins = Basins(1, 1.0)
    for run, (x, fun) in enumerate([(0.0, 1.0), (5.0, 0.0), (5.001, 0.0), (9.0, 2.0)]):
        basins.arrive(run, np.array([x]), fun)
    assert basins.decide([0, 1, 2, 3]) == {1: None}
    basins.arrive(1, np.array([0.0]), 1.0)  # it came back, elsewhere
    assert basins.decide([0, 1, 2, 3]) == {2: None}
    assert basins.decide([0, 1, 3]) == {0: Stop.JOINED, 1: Stop.JOINED, 3: Stop.SET_ASIDE}


def test_the_picture_and_the_table_show_every_minimum():
    found = search(certify=2)
    ax = found.plot()
    assert sum(len(line.get_xdata()) for line in ax.lines) == 8
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"minimum: 2", "not certified: 6"}
    assert "8 distinct points at which 32 runs ended" in ax.get_title(loc="left")
    pyplot.close("all")
    assert "8 distinct points" in str(found)
    html = found._repr_html_()
    assert html.count("not certified") == 6
    assert escapade.Multistart.from_json(found.to_json()).to_json() == found.to_json()


def test_progress_is_one_for_all_runs(capsys, monkeypatch):
    monkeypatch.setattr("escapade.progress.EVERY", 0.0)
    search(n=4, certify=1, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [f"{k} of 4 runs have ended" for k in (1, 2, 3, 4)] + ["4 of 4 runs have ended."]
    search(n=2, certify=1)
    assert capsys.readouterr() == ("", "")
