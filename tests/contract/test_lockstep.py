"""Runs in lockstep: each bit for bit what it is alone, one evaluation a round for all, failures to whose they are."""

import json
import math
import os
import signal
import threading
import time
import warnings

import array_api_strict
import numpy as np
import pytest

import escapade
from escapade.errors import EvaluationFailed, InvalidSetting, NonFiniteValue
from escapade.executors import Serial, Vectorized
from escapade.executors.lockstep import Lockstep
from escapade.methods import PRESETS
from escapade.problems import Octopus, OffAxis, StochasticCubic
from escapade.stopping import Stop

D, N, RUNS = 4, 50, 3
SAMPLED = {
    "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii",
    "zo-spider-ncf", "zo-spider", "zo-scsg", "zo-sgd",
}
PROBLEM, SUM = OffAxis(d=D, seed=1), StochasticCubic(d=D, n=N)


def rowwise(x, *ids):
    """Values that cannot depend on the block they came in."""
    if x.ndim == 1:
        return float(SUM.sample_value(x, *ids) if ids else PROBLEM(x))
    return np.array([rowwise(row, *ids) for row in x])


def starts(count=RUNS):
    return np.random.default_rng(3).uniform(-0.5, 0.5, (count, D))


def options_of(name):
    if name in SAMPLED:
        return {"samples": N, "maxfev": 10_000, "gtol": 0.15, "curvtol": 0.4}
    return {"maxfev": 1500} | ({"jac": PROBLEM.gradient} if name == "neon2-gd" else {})


def alone(fun, points, seed=5, **options):
    generators = np.random.default_rng(seed).spawn(len(points))
    return [escapade.minimize(fun, x, rng=rng, **options) for x, rng in zip(points, generators, strict=True)]


def same(run, other):
    return run.to_json() == other.to_json() and run.x.tobytes() == other.x.tobytes()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_run_is_what_it_is_alone(name, monkeypatch):
    monkeypatch.setattr("escapade.executors.lockstep.PATIENCE", 0.5)
    options = {"method": name, "vectorized": True, **options_of(name)}
    calls = []

    def fun(x, *ids):
        calls.append(len(x))
        return rowwise(x, *ids)

    together = escapade.multistart(fun, starts(), rng=5, **options)
    assert together.ncalls == len(calls)
    expected = alone(rowwise, starts(), **options)
    assert all(map(same, together.runs, expected))
    assert together.nfev == sum(run.nfev for run in expected)
    longest, total = max(run.nrounds for run in expected), sum(run.nrounds for run in expected)
    # Components that a function cannot take row by row are asked for one after the other within a round.
    assert longest <= together.rounds <= (math.inf if name in {"zo-sgd-ncf-ii", "zo-scsg-ncf-ii"} else total)
    if name not in {*SAMPLED, "escaping-cobyqa"}:  # SciPy runs one COBYQA at a time: the others come late
        assert together.rounds == max(run.nrounds for run in expected) == together.ncalls


def test_sixty_four_octopus_runs_make_as_many_rounds_as_the_longest():
    problem = Octopus(d=10)
    points = np.random.default_rng(1).uniform(-0.4, 0.4, (64, 10))
    together = escapade.multistart(problem, points, rng=0, vectorized=True)
    assert together.rounds <= 1.2 * max(run.nrounds for run in together.runs)
    assert together.ncalls == together.rounds
    assert together.rounds_alone > 30 * together.rounds
    generators = np.random.default_rng(0).spawn(64)
    for i in (0, 17, 63):
        assert same(together.runs[i], escapade.minimize(problem, points[i], rng=generators[i], vectorized=True))
    assert all(run.success for run in together.runs)
    assert f"in {together.rounds} shared rounds" in str(together)


def test_a_scalar_function_in_lockstep():
    together = escapade.multistart(rowwise, starts(), rng=5, maxfev=800)
    assert all(map(same, together.runs, alone(rowwise, starts(), maxfev=800)))
    assert together.ncalls == together.nfev


def slow(x):
    time.sleep(0.002)
    return rowwise(x)


def test_runs_in_lockstep_share_a_pool(tmp_path):
    """Real processes; a function slow enough to be sent there."""
    options = {"maxfev": 60, "workers": 2, "journal": tmp_path / "runs.db"}
    together = escapade.multistart(slow, starts(), rng=5, **options)
    assert [run.to_json() for run in together.runs] == [run.to_json() for run in alone(slow, starts(), maxfev=60)]
    again = escapade.multistart(slow, starts(), rng=5, **options)
    assert again.ncalls == 0
    assert all(map(same, again.runs, together.runs))


def test_all_of_it_can_be_written_down():
    together = escapade.multistart(rowwise, starts(), vectorized=True, rng=1)
    written = json.loads(together.to_json(indent=1))
    assert written["runs"] == [json.loads(run.to_json()) for run in together.runs]
    assert written["ranking"] == together.ranking
    assert [written[name] for name in ("nfev", "ncalls", "rounds")] == [
        together.nfev, together.ncalls, together.rounds
    ]
    assert written["interrupted"] is False


def test_the_best_certified_comes_first():
    points = np.concatenate([np.zeros((1, D)), starts()])
    together = escapade.multistart(rowwise, points, vectorized=True, rng=1, maxiter=None)
    values = [run.fun for run in together if run.success]
    assert values == sorted(values)
    assert together.best is together.results[0] is together.runs[together.ranking[0]]
    assert (together.fun, together.success) == (together.best.fun, True)
    cut = escapade.multistart(rowwise, points, vectorized=True, rng=1, maxfev=3)
    assert not cut.success
    assert "0 certified" in str(cut)


@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("bad", [np.nan, ZeroDivisionError("no")])
def test_a_failure_goes_to_the_run_whose_row_it_was(bad, vectorized):
    points = starts()
    points[1] = 10.0

    def fun(x):
        if x.ndim == 2:
            return np.array([fun(row) for row in x])
        if x.max() > 10.0:
            if isinstance(bad, Exception):
                raise bad
            return bad
        return rowwise(x)

    options = {"vectorized": vectorized, "maxfev": 600, "on_error": "stop"}
    together, expected = escapade.multistart(fun, points, rng=5, **options), alone(fun, points, **options)
    assert [run.stop in (Stop.NON_FINITE, Stop.USER_ERROR) for run in together.runs] == [False, True, False]
    assert all(map(same, together.runs, expected))
    with pytest.raises((NonFiniteValue, EvaluationFailed)) as caught:
        escapade.multistart(fun, points, rng=5, **options | {"on_error": "raise", "nan_policy": "raise"})
    assert all(map(same, caught.value.result.runs, expected))


def test_a_wrong_number_of_values_reaches_no_run():
    """Four runs of one point each make a block of four; a function that returns one value must not feed one of them."""
    with pytest.raises(TypeError, match="must return 1 real values for 1 points"):
        escapade.multistart(lambda X: np.zeros(7), starts(4), vectorized=True)
    lockstep = Lockstep(Vectorized(lambda X: np.arange(2.0)))
    seen = lockstep.run([lambda evaluate, n=n: evaluate(np.zeros((n, D)), ()) for n in (2, 3)])
    assert [len(values) for values in seen] == [2, 2]  # as alone: the second is refused by its own run's oracle
    assert lockstep.calls == 3


def test_an_array_that_the_function_uses_again_is_copied():
    out = np.empty(100)

    def fun(x, ids):
        out[: len(x)] = x[:, 0] + ids[0]
        return out[: len(x)]

    jobs = [lambda evaluate, i=i: evaluate(np.full((2, D), 10.0 * i), (np.array([i]),)) for i in range(3)]
    assert [list(values) for values in Lockstep(Vectorized(fun)).run(jobs)] == [[0, 0], [11, 11], [22, 22]]


def test_blocks_are_put_together_by_samples_and_dtype():
    sizes = []

    def fun(x, *ids):
        sizes.append((len(x), str(x.dtype), *(tuple(i) for i in ids)))
        return x[:, 0]

    def job(dtype, *ids):
        return lambda evaluate: evaluate(np.zeros((2, D), dtype=dtype), tuple(np.array(i) for i in ids))

    jobs = [job("float64", [1, 2]), job("float32", [1, 2]), job("float64", [3]), job("float64", [1, 2]), job("float64")]
    Lockstep(Vectorized(fun)).run(jobs)
    assert sorted(sizes) == sorted(
        [(4, "float64", (1, 2)), (2, "float32", (1, 2)), (2, "float64", (3,)), (2, "float64")]
    )


def test_blocks_are_put_together_up_to_a_bound(monkeypatch):
    monkeypatch.setattr("escapade.executors.lockstep.SHARED_BYTES", 8 * D * 5)
    sizes = []
    lockstep = Lockstep(Vectorized(lambda X: (sizes.append(len(X)), X[:, 0])[1]))
    values = lockstep.run([lambda evaluate, i=i: evaluate(np.full((2, D), float(i)), ()) for i in range(5)])
    assert sizes == [4, 4, 2]
    assert [list(v) for v in values] == [[i, i] for i in range(5)]


def test_other_arrays_and_mixed_dtypes():
    x = array_api_strict.asarray([0.1, 0.2, 0.3], dtype=array_api_strict.float64)

    def fun(X):
        return array_api_strict.sum(X * X, axis=1)

    together = escapade.multistart(fun, [x, 2 * x], vectorized=True, rng=0)
    assert together.success
    expected = alone(fun, [x, 2 * x], 0, vectorized=True)
    assert [run.to_json() for run in together.runs] == [run.to_json() for run in expected]
    mixed = escapade.multistart(lambda X: (X**2).sum(1), [np.ones(3), np.ones(3, np.float32)], vectorized=True, rng=0)
    assert [run.x.dtype for run in mixed.runs] == [np.float64, np.float32]


def test_ctrl_c_in_the_function_keeps_every_run():
    """A real SIGINT, while the function runs."""
    calls = []

    def fun(X):
        calls.append(threading.current_thread() is threading.main_thread())
        if len(calls) == 12:
            signal.raise_signal(signal.SIGINT)
        return rowwise(X)

    together = escapade.multistart(fun, starts(), vectorized=True, rng=0)
    assert all(calls)
    assert len(calls) == 12
    assert together.interrupted
    assert [run.stop for run in together.runs] == [Stop.INTERRUPTED] * RUNS
    assert all(np.isfinite(run.fun) and run.nrounds == 12 for run in together.runs)
    assert threading.active_count() == 1 or not any(t.name == "escapade-run" for t in threading.enumerate())


def test_ctrl_c_between_evaluations_keeps_every_run():
    """A real SIGINT, while a run has the turn."""
    seen = []

    def callback(x):
        seen.append(x)
        if len(seen) == 4:
            os.kill(os.getpid(), signal.SIGINT)

    together = escapade.multistart(rowwise, starts(), vectorized=True, rng=0, callback=callback)
    assert together.interrupted
    assert Stop.INTERRUPTED in {run.stop for run in together.runs}
    assert all(np.isfinite(run.fun) for run in together.runs)


def test_an_unexpected_error_ends_all_runs():
    def callback(x):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        escapade.multistart(rowwise, starts(), vectorized=True, callback=callback)
    assert not any(thread.name == "escapade-run" for thread in threading.enumerate())


def test_a_callback_that_raises_keeps_every_run():
    seen = []

    def callback(x):
        seen.append(x)
        if len(seen) == 4:
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug") as caught:
        escapade.multistart(rowwise, starts(), vectorized=True, rng=0, callback=callback)
    together = caught.value.result
    assert len(together) == len(starts())
    assert [run.stop for run in together.runs].count(Stop.CALLBACK_ERROR) == 1
    assert sum(run.success for run in together.runs) == len(starts()) - 1
    assert all(np.isfinite(run.fun) for run in together.runs)


def test_error_state_and_warning_filters_are_the_callers():
    before = list(warnings.filters)
    with np.errstate(divide="raise"):
        assert Lockstep(Serial(abs)).run([lambda evaluate: np.geterr()["divide"]] * 2) == ["raise", "raise"]
    escapade.multistart(rowwise, starts(), vectorized=True, rng=0, method="escaping-bfgs", maxfev=400)
    assert list(warnings.filters) == before


def test_an_executor_error_reaches_every_run_it_concerned():
    class Broken:
        def __call__(self, block, batch):
            raise OSError("the pool is gone")

        def calls(self, rows):
            return 1

    ended = Lockstep(Broken()).run([lambda evaluate: evaluate(np.zeros((1, 2)), ())] * 3)
    assert [str(error) for error in ended] == ["the pool is gone"] * 3
    assert Lockstep(Broken()).run([]) == []


@pytest.mark.parametrize("bad", [[], 3.0, np.zeros((0, 3)), [[0.0, np.nan]], [[0.0], [0.0, 1.0]]])
def test_bad_starts_are_named(bad):
    with pytest.raises(InvalidSetting, match="starts"):
        escapade.multistart(rowwise, bad)
