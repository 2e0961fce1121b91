"""What `workers=` may be, and what is said of what it may not."""

import concurrent.futures as cf
import multiprocessing as mp
import sys
import threading
import time

import numpy as np
import pytest

import escapade
from escapade.errors import EvaluationFailed, InvalidSetting, MissingCapability
from escapade.executors import Processes, RowFailure, Serial, TookTooLong, Vectorized, WorkerDied, choose, job
from escapade.executors.external import ExternalExecutor
from escapade.executors.worker_pool import processors
from escapade.oracle import Oracle, points

X = np.random.default_rng(0).standard_normal((23, 3))
EXPECTED = [float(x @ x) for x in X]


def square(x, *ids):
    return float(x @ x) + sum(map(float, (i.sum() for i in ids)))


def squares(block):
    return (block * block).sum(axis=1)


def hopeless(x):
    if x[0] == X[4, 0]:
        raise KeyError("lost")
    return float(x @ x)


@pytest.fixture(scope="module")
def process_pool():
    with cf.ProcessPoolExecutor(2, mp_context=mp.get_context("fork")) as executor:
        yield executor


@pytest.fixture(scope="module")
def mp_pool():
    with mp.get_context("fork").Pool(2) as pool:
        yield pool


@pytest.fixture(params=["threads", "processes", "pool.map", "pool.imap", "map"])
def workers(request, process_pool, mp_pool):
    if request.param == "threads":
        with cf.ThreadPoolExecutor(2) as executor:
            yield executor
    else:
        rest = {"processes": process_pool, "pool.map": mp_pool.map, "pool.imap": mp_pool.imap, "map": map}
        yield rest[request.param]


def test_what_workers_may_be():
    assert choose(square) == Serial(square)
    assert choose(square, vectorized=True) == Vectorized(square)
    assert choose(square, (1,)).args == (1,)
    assert isinstance(choose(square, workers=3), Processes)
    assert isinstance(choose(square, workers=np.int64(3)), Processes)
    assert choose(square, timeout=1.0).workers == 1
    assert choose(square, workers=-1).workers == processors()
    own = Serial(square)
    assert choose(print, workers=own) is own


@pytest.mark.parametrize("workers", [0, -2, True, 2.0, "two", [2], object()])
def test_what_workers_may_not_be(workers):
    with pytest.raises(InvalidSetting, match=r"workers=.*must be"):
        escapade.minimize(square, X[0], workers=workers)


@pytest.mark.parametrize("timeout", [0, -1.0, np.nan, np.inf, "1", True])
def test_what_a_timeout_may_not_be(timeout):
    with pytest.raises(InvalidSetting, match=r"timeout=.* must be a positive number of seconds"):
        escapade.minimize(square, X[0], timeout=timeout)


def hangs(x):
    if x[0] == X[4, 0]:
        time.sleep(3600)
    return float(x @ x)


@pytest.mark.parametrize("kind", ["threads", "pool.map"])
def test_what_hangs_is_ended_beside_workers_that_are_not_ours(kind):
    """The workers of `pool` are daemons, which may have no children in general."""
    with cf.ThreadPoolExecutor(1) as executor, mp.get_context("fork").Pool(1) as pool:
        one = choose(hangs, workers=executor if kind == "threads" else pool.map, timeout=0.5)
        raw = one(X[:8], ())
        assert isinstance(raw[4], RowFailure)
        assert isinstance(raw[4].__cause__, TookTooLong)
        assert [*raw[:4], *raw[5:]] == [*EXPECTED[:4], *EXPECTED[5:8]]
        if kind == "threads":
            (guard,) = job._guards.values()
            assert len(guard.pool.worker_pool.workers) == 1
            guard._close()
            assert not guard.pool.worker_pool.workers
            assert not job._guards


def test_an_executor_of_ones_own_keeps_its_own_time():
    with pytest.raises(InvalidSetting, match="whoever made the executor"):
        choose(square, workers=Serial(square), timeout=1.0)


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingCapability, match=r"pip install 'escapade\[ray\]'"):
        escapade.minimize(square, X[0], workers="ray")


def test_values_come_in_the_order_of_the_rows(workers):
    one = choose(square, workers=workers)
    assert isinstance(one, ExternalExecutor)
    for _ in range(3):
        assert one(X, ()) == EXPECTED
    assert one(X, (np.arange(3),)) == [value + 3 for value in EXPECTED]
    assert one.calls(len(X)) == len(X)


def test_arguments_travel_with_the_function(workers):
    assert choose(np.dot, (np.ones(3),), workers=workers)(X[:4], ()) == [float(x @ np.ones(3)) for x in X[:4]]


def test_vectorised_functions_are_given_blocks(workers):
    one = choose(squares, vectorized=True, workers=workers)
    np.testing.assert_array_equal(one(X, ()), squares(X))
    assert one.calls(len(X)) <= len(X)
    with pytest.raises(EvaluationFailed, match="must return"):
        Oracle.of(np.asarray, vectorized=True, workers=workers)(points(X))


def test_failures_stay_with_their_rows(workers):
    raw = choose(hopeless, workers=workers)(X, ())
    assert isinstance(raw[4], RowFailure)
    assert isinstance(raw[4].__cause__, KeyError)
    assert [*raw[:4], *raw[5:]] == [*EXPECTED[:4], *EXPECTED[5:]]


def test_threads_call_the_function_itself():
    lock, calls = threading.Lock(), []

    def fun(x):
        with lock:
            calls.append(1)
        return float(x @ x)

    with cf.ThreadPoolExecutor(2) as executor:
        assert choose(fun, workers=executor)(X, ()) == EXPECTED
    assert len(calls) == len(X)


def test_an_executor_that_was_handed_in_is_not_closed(process_pool):
    escapade.minimize(square, X[0], workers=process_pool, rng=0)
    assert process_pool.submit(square, X[0]).result() == EXPECTED[0]


def test_an_executor_that_is_shut_down_is_named():
    executor = cf.ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(EvaluationFailed, match=r"accepts no more work.*pass a new one") as caught:
        escapade.minimize(square, X[0], workers=executor)
    assert isinstance(caught.value.__cause__, WorkerDied)
    assert caught.value.result.nfev == 0


def test_a_map_that_is_none_is_named():
    with pytest.raises(InvalidSetting, match="must return a value for each item, as map does, but returned 0 for"):
        escapade.minimize(square, X[0], workers=lambda function, items: [])
