"""Processes of our own: values in their places, whatever dies; nothing left behind."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import escapade
from escapade.errors import EvaluationFailed, InvalidValue, MissingCapability
from escapade.executors import Processes, RowFailure, TookTooLong, WorkerDied
from escapade.executors.worker_pool import processors
from escapade.oracle import Oracle, axes, points

X = np.random.default_rng(0).standard_normal((23, 3))
EXPECTED = [float(x @ x) for x in X]


def square(x, *ids):
    return float(x @ x) + sum(map(float, (i.sum() for i in ids)))


@pytest.fixture
def pool(request):
    """A pool that evaluates nothing at home."""
    made = []

    def make(fun, *args, workers=2, start="fork", timeout=30.0, **options):
        made.append(Processes(fun, args, workers=workers, start=start, timeout=timeout, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def pids(pool):
    return [worker.process.pid for worker in pool.worker_pool.workers]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_every_way_to_start(pool, start):
    one = pool(square, start=start, workers=1)
    assert one(X, ()) == EXPECTED
    assert one(X, (np.arange(3),)) == [value + 3 for value in EXPECTED]
    assert os.getpid() not in pids(one)


def test_what_cannot_be_sent_at_all_is_forked():
    lock = threading.Lock()

    def fun(x):
        with lock:
            return float(x @ x)

    one = Processes(fun, workers=2, timeout=30.0)
    assert one(X, ()) == EXPECTED
    assert one.worker_pool.start == "fork"
    one.close()
    with pytest.raises(MissingCapability, match=r"cannot be sent to a worker .*lock.* or start by fork"):
        Processes(fun, workers=2, timeout=30.0, start="spawn")(X, ())


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("rows", [1, 2, 23])
def test_rows_keep_their_places(pool, workers, rows):
    def fun(x):
        time.sleep(0.002 * (hash(float(x[0])) % 3))
        return float(x @ x)

    assert pool(fun, workers=workers)(X[:rows], ()) == EXPECTED[:rows]


def test_a_vectorised_function_is_given_blocks(pool):
    one = pool(lambda block: (block * block).sum(axis=1), vectorized=True)
    np.testing.assert_array_equal(one(X, ()), (X * X).sum(axis=1))
    assert 2 <= one.calls(len(X)) <= len(X)


def test_float32_values_stay_float32(pool):
    f = Oracle.of(lambda x: None, workers=pool(lambda x: np.float32(x[0])))
    f(points(X))
    assert f.precision == np.finfo(np.float32).eps


def test_a_vectorised_function_must_return_one_value_a_row(pool):
    f = Oracle.of(lambda x: None, vectorized=True, workers=pool(lambda block: block, vectorized=True))
    with pytest.raises(EvaluationFailed, match="must return 23 real values"):
        f(points(X))


NO_NUMBERS = [None, "abc", 1j, (1.0, 2.0), np.zeros(2), print, lambda: 0, (i for i in ())]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=range(len(NO_NUMBERS)))
def test_what_is_no_number_is_named_wherever_it_came_from(pool, value):
    f = Oracle.of(lambda x: None, workers=pool(lambda x: value))
    with pytest.raises(InvalidValue, match="must return one real number, but returned"):
        f(points(X))


class Odd(Exception):
    """An exception that pickle cannot rebuild."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize("start", ["fork", "loky"])
def test_a_failure_stays_with_its_row(pool, start):
    """Of a function that pickle cannot send, in processes that know nothing of it."""

    def fun(x):
        if x[0] == X[4, 0]:
            raise KeyError("lost")
        if x[0] == X[7, 0]:
            raise Odd(1, 2)
        if x[0] == X[9, 0]:
            sys.exit(3)
        return float(x @ x)

    raw = pool(fun, start=start)(X, ())
    failures = {row: value for row, value in enumerate(raw) if isinstance(value, RowFailure)}
    assert {row: failure.row for row, failure in failures.items()} == {4: 4, 7: 7, 9: 9}
    assert isinstance(failures[4].__cause__, KeyError)
    assert "In the worker" in failures[4].__cause__.__notes__[0]
    assert "1 and 2" in str(failures[7].__cause__)
    assert isinstance(failures[9].__cause__, SystemExit)
    assert [value for row, value in enumerate(raw) if row not in failures] == [
        value for row, value in enumerate(EXPECTED) if row not in failures
    ]


def test_the_oracle_names_the_point(pool):
    def fun(x):
        if x[1] == X[0, 1] + 0.5:
            raise KeyError("lost")
        return float(x @ x)

    f = Oracle.of(fun, workers=pool(fun))
    with pytest.raises(EvaluationFailed, match="KeyError: 'lost' at x =") as caught:
        f(axes(X[0], np.full(3, 0.5)))
    np.testing.assert_array_equal(caught.value.x, X[0] + [0, 0.5, 0])


def test_a_worker_that_dies_is_replaced_and_its_points_are_evaluated_again(pool, tmp_path):
    def fun(x):
        seen = tmp_path / str(float(x[0]))
        if x[0] in X[[3, 11], 0] and not seen.exists():
            seen.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return float(x @ x)

    one = pool(fun)
    f = Oracle.of(fun, workers=one)
    np.testing.assert_array_equal(f(points(X)), EXPECTED)
    assert len(list(tmp_path.iterdir())) == 2
    assert f.ledger.queries == len(X)
    assert f.ledger.attempts == len(X) + one.resent
    assert one.resent >= 2
    assert len(pids(one)) == 2


def test_idle_workers_may_die_too(pool):
    one = pool(square)
    one(X, ())
    for pid in pids(one):
        os.kill(pid, signal.SIGKILL)
    assert one(X, ()) == EXPECTED


@pytest.mark.parametrize("timeout", [30.0, None])
def test_a_point_that_kills_every_worker_has_failed(pool, monkeypatch, timeout):
    main = os.getpid()
    monkeypatch.setattr("escapade.executors.processes.START", 0.0)

    def fun(x):
        if x[0] == X[5, 0] and os.getpid() != main:
            os._exit(7)
        time.sleep(0.004)
        return float(x @ x)

    raw = pool(fun, timeout=timeout)(X, ())
    assert isinstance(raw[5].__cause__, WorkerDied)
    assert "exit code 7" in str(raw[5].__cause__)
    assert [*raw[:5], *raw[6:]] == [*EXPECTED[:5], *EXPECTED[6:]]


def test_a_hung_evaluation_is_ended(pool, tmp_path):
    def fun(x):
        if x[0] == X[5, 0]:
            (tmp_path / str(os.getpid())).touch()
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            while True:
                time.sleep(60)
        return float(x @ x)

    one = pool(fun, timeout=0.3)
    raw = one(X, ())
    assert isinstance(raw[5].__cause__, TookTooLong)
    assert [*raw[:5], *raw[6:]] == [*EXPECTED[:5], *EXPECTED[6:]]
    (hung,) = tmp_path.iterdir()
    assert not alive(int(hung.name))


def test_a_timeout_without_workers_is_kept_too():
    def fun(x):
        time.sleep(60 if x[0] > 0.5 else 0)
        return float(x @ x)

    with pytest.raises(EvaluationFailed, match=r"longer than timeout=0.5 seconds, at x = \[1\.") as caught:
        escapade.minimize(fun, np.ones(2), timeout=0.5)
    assert isinstance(caught.value.__cause__, TookTooLong)


def test_cheap_functions_stay_at_home():
    seen = set()

    def fun(x):
        seen.add(os.getpid())
        return float(x @ x)

    one = Processes(fun, workers=2)
    for _ in range(200):
        assert one(X, ()) == EXPECTED
    assert seen == {os.getpid()}
    assert not pids(one)


def test_slow_functions_leave_home():
    def fun(x):
        time.sleep(0.01)
        return float(os.getpid())

    one = Processes(fun, workers=2, start="fork")
    went = [set(one(X, ())) for _ in range(6)][-1]
    assert went == set(map(float, pids(one)))
    assert len(went) == 2
    assert one(X[:1], ())[0] in went
    one.close()


@pytest.mark.parametrize("failing", [0, 1, 6])
def test_a_failure_at_home_is_as_without_workers(failing):
    def fun(x):
        if x[0] == X[failing, 0]:
            raise KeyError("lost")
        return float(x @ x)

    with pytest.raises(RowFailure) as caught:
        Processes(fun, workers=2)(X, ())
    assert caught.value.row == failing
    assert caught.value.values == EXPECTED[:failing]


def test_a_run_ends_its_processes_and_not_those_it_was_given(pool):
    started = []

    def fun(x):
        time.sleep(0.01)
        return float(x @ x)

    given = pool(fun)
    escapade.minimize(fun, np.ones(3), workers=given)
    assert all(map(alive, pids(given)))

    class Spy(Processes):
        def close(self):
            started.extend(pids(self))
            super().close()

    one = Spy(fun, workers=2, start="fork", timeout=30.0)
    f = Oracle.of(fun, workers=one)
    f(points(X))
    f.close()
    assert not started, "handed in"
    one.close()
    assert len(started) == 2
    assert not any(map(alive, started))


def test_an_executor_that_is_forgotten_ends_its_processes(pool):
    one = Processes(square, workers=2, start="fork", timeout=30.0)
    one(X, ())
    left = pids(one)
    del one
    gc.collect()
    assert not any(map(alive, left))


def test_ctrl_c_ends_the_processes_and_keeps_the_best_point(tmp_path):
    def fun(x):
        with (tmp_path / str(os.getpid())).open("a") as seen:
            seen.write(".")
        time.sleep(0.02)
        return float(x @ x)

    def interrupt():
        while sum(path.stat().st_size for path in tmp_path.iterdir()) < 10:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    result = escapade.minimize(fun, np.ones(40), workers=2, timeout=30.0)
    thread.join()
    assert result.stop is escapade.stopping.Stop.INTERRUPTED
    assert result.fun <= 40.0
    assert not any(alive(int(path.name)) for path in tmp_path.iterdir())


def test_workers_do_not_outlive_their_parent(tmp_path):
    """kill -9 of the main process in the middle of an evaluation."""
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys, time, numpy as np, escapade
            def fun(x):
                open(sys.argv[1] + "/" + str(os.getpid()) + ".pid", "w").close()
                time.sleep(3600)
            escapade.minimize(fun, np.ones(2), workers=2, timeout=3600.0)
            """
        )
    )
    with subprocess.Popen([sys.executable, str(script), str(tmp_path)]) as main:
        while not list(tmp_path.glob("*.pid")):
            assert main.poll() is None
            time.sleep(0.05)
        main.kill()
    left = [int(path.stem) for path in tmp_path.glob("*.pid")]
    while any(map(alive, left)):
        time.sleep(0.1)


def test_linear_algebra_has_its_share_of_the_processors(pool):
    def threads(x):
        import threadpoolctl

        np.ones((8, 8)) @ np.ones((8, 8))
        return float(max(one["num_threads"] for one in threadpoolctl.threadpool_info()))

    assert set(pool(threads, workers=4)(X, ())) == {float(max(1, processors() // 4))}


def test_large_messages_do_not_block_one_another(pool):
    """Points on their way to a worker while its values are on their way home: neither fits into a pipe."""
    block = np.random.default_rng(1).standard_normal((600_000, 1))
    one = pool(lambda block: block[:, 0], vectorized=True)
    np.testing.assert_array_equal(one(block, ()), block[:, 0])


class Unloadable:
    """A function that can be sent, and does something else than arrive."""

    def __init__(self, arrival):
        self.arrival = arrival

    def __call__(self, x):
        return float(x @ x)

    def __reduce__(self):
        return self.arrival


def test_a_function_that_cannot_be_loaded_is_named(pool):
    with pytest.raises(MissingCapability, match=r"could not be loaded in a worker process \(ValueError: .*'one'"):
        pool(Unloadable((int, ("one",))), start="loky", workers=1)(X, ())


def test_workers_that_die_as_they_start_are_not_started_for_ever(pool, monkeypatch):
    monkeypatch.setattr("escapade.executors.worker_pool.STILLBORN", 1)
    fun = Unloadable((os._exit, (3,)))
    f = Oracle.of(fun, workers=pool(fun, start="loky", workers=1))
    with pytest.raises(EvaluationFailed, match=r"ended as they started \(exit code 3\)") as caught:
        f(points(X))
    assert isinstance(caught.value.__cause__, WorkerDied)
