"""Where a function is evaluated changes nothing: every method, here and in processes, on Dask and on Ray."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from pathlib import Path

import array_api_strict
import numpy as np
import pytest

import escapade
from escapade.errors import EvaluationFailed
from escapade.executors import Processes, RowFailure, TookTooLong, choose
from escapade.executors.external import ExternalExecutor
from escapade.methods import PRESETS
from escapade.oracle import Oracle, points
from escapade.problems import OffAxis, StochasticCubic

D, N = 4, 50
SAMPLED = {
    "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii",
    "zo-spider-ncf", "zo-spider", "zo-scsg", "zo-sgd",
}
PROBLEM, SUM = OffAxis(d=D, seed=1), StochasticCubic(d=D, n=N)
X = np.random.default_rng(0).standard_normal((23, D))


def fun(x, *ids):
    return float(SUM.sample_value(x, *ids) if ids else PROBLEM(x))


def solve(name, maxfev, workers=None):
    options = {"samples": N, "gtol": 0.15, "curvtol": 0.4, "maxfev": 40 * maxfev} if name in SAMPLED else {}
    grad = PROBLEM.gradient if name == "neon2-gd" else None
    x0 = np.full(D, 0.1)
    return escapade.minimize(fun, x0, method=name, rng=3, workers=workers, jac=grad, **{"maxfev": maxfev, **options})


def same(run, other):
    return run.to_json() == other.to_json() and run.x.tobytes() == other.x.tobytes()


@pytest.fixture(scope="module")
def processes():
    """Two processes that get everything: with a timeout, nothing is evaluated at home."""
    pool = Processes(fun, workers=2, timeout=60.0, start="fork")
    yield pool
    pool.close()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_processes_give_the_same_bits(name, processes):
    assert same(solve(name, 600), solve(name, 600, processes))


def test_the_number_of_workers_changes_nothing():
    def slow(x):
        time.sleep(0.002)
        return fun(x)

    runs = []
    for n in (1, 2, 3):
        with closing(Processes(slow, workers=n, timeout=60.0, start="fork")) as pool:
            runs.append(escapade.minimize(slow, np.full(D, 0.1), rng=1, workers=pool))
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])
    assert runs[0].success


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("vectorized", [False, True])
def test_any_array_travels(vectorized, dtype):
    def quartic(x):
        return array_api_strict.sum(x * x * x * x - x * x, axis=-1)

    x0 = array_api_strict.zeros(D, dtype=getattr(array_api_strict, dtype))
    options = {"rng": 0, "gtol": 1e-2, "vectorized": vectorized}
    here = escapade.minimize(quartic, x0, **options)
    with closing(Processes(quartic, workers=2, timeout=60.0, start="fork", vectorized=vectorized)) as pool:
        there = escapade.minimize(quartic, x0, workers=pool, **options)
    assert here.success
    assert type(there.x) is type(x0)
    assert np.asarray(there.x).tobytes() == np.asarray(here.x).tobytes()
    assert there.nfev_by_purpose == here.nfev_by_purpose


def test_kills_change_nothing():
    """kill -9 of a worker, now and then through a whole run; 20 of them: benchmarks/workers.py kills."""
    over, killed = threading.Event(), []

    def slow(x):
        time.sleep(0.004)
        return fun(x)

    with closing(Processes(slow, workers=2, timeout=60.0, start="fork")) as pool:

        def kill():
            while not over.wait(0.4):
                pids = [worker.process.pid for worker in pool.worker_pool.workers]
                if pids:
                    os.kill(pids[len(killed) % len(pids)], signal.SIGKILL)
                    killed.append(pids)

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            result = escapade.minimize(slow, np.full(D, 0.1), method="zo-gd-ncf", rng=3, maxfev=600, workers=pool)
        finally:
            over.set()
            thread.join()
    reference = solve("zo-gd-ncf", 600)
    assert len(killed) >= 2
    assert result.x.tobytes() == reference.x.tobytes()
    assert result.nfev_by_purpose == reference.nfev_by_purpose
    assert [step.nfev for step in result.history] == [step.nfev for step in reference.history]
    assert result.ncalls == reference.nfev + pool.resent > reference.nfev


def test_dask():
    """One test, so that one cluster is started."""
    import distributed

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        for name in sorted(PRESETS):
            assert same(solve(name, 40), solve(name, 40, client)), name
        assert isinstance(choose(fun, workers=client), ExternalExecutor)
        assert_the_cause_is_kept(client)
        assert_a_killed_worker_goes_unnoticed(client)


def assert_the_cause_is_kept(client):
    def fails(x):
        raise KeyError("lost")

    with pytest.raises(EvaluationFailed, match="KeyError: 'lost' at x = ") as caught:
        escapade.minimize(fails, X[0], workers=client)
    assert isinstance(caught.value.__cause__, KeyError)


def assert_a_killed_worker_goes_unnoticed(client):
    def slow(x):
        time.sleep(0.05)
        return fun(x)

    def kill():
        time.sleep(0.3)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    f = Oracle.of(slow, workers=client)
    thread = threading.Thread(target=kill)
    thread.start()
    values = f(points(X))
    thread.join()
    np.testing.assert_array_equal(values, [fun(x) for x in X])
    assert f.ledger.queries == len(X) <= f.ledger.attempts


def test_ray(tmp_path):
    """One test, so that Ray is started once."""
    import ray

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        for name in ("auto", "zo-gd-ncf", "zo-spider-ncf", "escaping-bfgs"):  # the others: benchmarks/workers.py bits
            assert same(solve(name, 40), solve(name, 40, ray)), name
        assert_a_worker_may_die(tmp_path)
        assert ray.is_initialized(), "it was not ours to end"
        assert_what_hangs_is_ended(ray)
    finally:
        ray.shutdown()


def assert_a_worker_may_die(folder):
    def mortal(x):
        seen = folder / str(float(x[0]))
        if x[0] == X[5, 0] and not seen.exists():
            seen.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return fun(x)

    f = Oracle.of(mortal, workers="ray")
    np.testing.assert_array_equal(f(points(X)), [fun(x) for x in X])
    assert f.ledger.queries == len(X) < f.ledger.attempts
    f.close()


def assert_what_hangs_is_ended(ray):
    def hangs(x):
        if x[0] == X[1, 0]:
            time.sleep(3600)
        return fun(x)

    raw = choose(hangs, workers=ray, timeout=1.0)(X[:3], ())
    assert isinstance(raw[1], RowFailure)
    assert isinstance(raw[1].__cause__, TookTooLong)
    assert raw[::2] == [fun(X[0]), fun(X[2])]


MPI = """
import numpy as np
from mpi4py.futures import MPIPoolExecutor

import escapade
from escapade.problems import OffAxis

problem = OffAxis(d=4, seed=1)


def fun(x):
    return float(problem(x))


if __name__ == "__main__":
    here = escapade.minimize(fun, np.zeros(4), rng=0)
    with MPIPoolExecutor() as pool:
        there = escapade.minimize(fun, np.zeros(4), rng=0, workers=pool)
    assert there.x.tobytes() == here.x.tobytes() and there.nfev == here.nfev
    print("same bits")
"""


def test_mpi(tmp_path):
    """Where mpi4py and an MPI are installed: a manager and two workers."""
    pytest.importorskip("mpi4py")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    mpiexec = shutil.which("mpiexec", path=path)
    if mpiexec is None:
        pytest.skip("no mpiexec")
    script = tmp_path / "main.py"
    script.write_text(MPI)
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "same bits" in done.stdout
