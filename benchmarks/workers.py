"""Evaluation by processes, Dask and Ray: equal bits, speed, kills, and functions that fail. Real parts, no mocks.

python benchmarks/workers.py [bits] [speed] [cheap] [kills] [flaky]

bits   every method, in this process, by two processes, by two Dask workers and by Ray with two processors
speed  a function that sleeps 20 ms: coordinate gradients by two workers and by one; the overhead of Dask and Ray
cheap  a function of 5 microseconds with workers=2 and without
kills  20 times kill -9 of a worker, at random moments at least 5 seconds apart, in a run by processes and one by Dask
flaky  a function that raises on 5%, returns NaN on 5% and hangs on 1% of its calls: 20 runs; and one that never heals
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

import escapade
from escapade import Oracle
from escapade.derivatives.paper import coord_gradient
from escapade.executors import Processes
from escapade.methods import PRESETS
from escapade.problems import Octopus, OffAxis, StochasticCubic

SAMPLED = {
    "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii",
    "zo-spider-ncf", "zo-spider", "zo-scsg", "zo-sgd",
}


@contextmanager
def dask_client() -> Iterator[Any]:
    """A cluster of two worker processes, patient with those that are being started again after they were killed."""
    import dask
    import distributed

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def ray_module() -> Iterator[Any]:
    """Ray with two processors."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield ray
    finally:
        ray.shutdown()


# Bits


def bits() -> None:
    """Bar 1: for every method, the same bits wherever f is evaluated."""
    d, n = 6, 100
    problem, total = OffAxis(d=d, seed=1), StochasticCubic(d=d, n=n)

    def fun(x, *ids):
        return float(total.sample_value(x, *ids) if ids else problem(x))

    def solve(name, workers=None):
        options = {"samples": n, "gtol": 0.15, "curvtol": 0.4, "maxfev": 30_000} if name in SAMPLED else {}
        if name == "neon2-gd":
            options["grad"] = problem.gradient
        options = {"maxfev": 800, **options}
        return escapade.minimize(fun, np.full(d, 0.1), method=name, rng=0, workers=workers, **options)

    with (
        dask_client() as client,
        ray_module() as ray,
        closing(Processes(fun, workers=2, timeout=600.0)) as pool,
    ):
        places = {"processes": pool, "Dask": client, "Ray": ray}
        wrong = 0
        for name in sorted(PRESETS):
            here, line = solve(name), []
            for place, workers in places.items():
                began = time.perf_counter()
                there = solve(name, workers)
                same = there.to_json() == here.to_json() and there.x.tobytes() == here.x.tobytes()
                wrong += not same
                line.append(f"{place} {'same' if same else 'DIFFERENT'} ({time.perf_counter() - began:.1f} s)")
            print(f"{name:24s} {here.nfev:6d} queries, {here.nrounds:5d} rounds: {', '.join(line)}", flush=True)
    print(f"{len(PRESETS)} methods in {len(places)} places: {wrong} with other bits; bar 0")


# Speed


def sleepy(x: Any) -> float:
    """20 milliseconds."""
    time.sleep(0.02)
    return float(x @ x)


def quick(x: Any) -> float:
    """Nothing to speak of."""
    return float(x @ x)


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The least of some repetitions, after one that is not counted."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def speed(d: int = 25) -> None:
    """Bar 2: 1.85 times; the overhead of Dask and Ray per point."""
    x = np.ones(d)
    took = {}
    for n in (1, 2):
        with closing(Processes(sleepy, workers=n, timeout=60.0)) as pool:
            f = Oracle.of(sleepy, workers=pool)
            took[n] = seconds(lambda f=f: coord_gradient(f, x, 1e-3), 5)
    f = Oracle.of(sleepy)
    alone = seconds(lambda: coord_gradient(f, x, 1e-3), 2)
    print(f"coordinate gradients of a 20 ms function, d = {d}: {alone:.3f} s here, {took[1]:.3f} s by one worker, ")
    gain = f"{took[1] / took[2]:.3f} times as fast as one, {alone / took[2]:.3f} times as here"
    print(f"  {took[2]:.3f} s by two: {gain}; bar 1.85")
    with closing(Processes(quick, workers=2, timeout=60.0)) as pool, dask_client() as client, ray_module() as ray:
        for place, workers in (("processes", pool), ("Dask", client), ("Ray", ray)):
            f, g = Oracle.of(quick, workers=workers), Oracle.of(sleepy, workers=workers)
            single = seconds(lambda f=f: f.value(x), 20)
            row = seconds(lambda f=f: coord_gradient(f, x, 1e-3), 5)
            slow = seconds(lambda g=g: coord_gradient(g, x, 1e-3), 3) if place != "processes" else took[2]
            print(
                f"{place}: a point alone {1e3 * single:.2f} ms, among {2 * d} {1e3 * row / (2 * d):.3f} ms; "
                f"{2 * d} of a 20 ms function {slow:.3f} s, {1e3 * (2 * slow / (2 * d) - 0.02):.2f} ms a point beside f"
            )


def five_microseconds() -> Callable[[Any], float]:
    """A scalar function of about 5 microseconds."""
    weights, turns = np.linspace(1, 2, 10), 1
    x = np.zeros(10)

    def fun(x):
        total = float(x @ weights)
        for _ in range(turns):
            total += 1e-9 * total
        return total * total

    while True:
        began = time.perf_counter()
        for _ in range(2000):
            fun(x)
        if (time.perf_counter() - began) / 2000 > 5e-6:
            return fun
        turns += 5


def cheap() -> None:
    """Bar 2: 1.2 times."""
    fun = five_microseconds()
    x = np.random.default_rng(0).standard_normal(10)
    f, g = Oracle.of(fun), Oracle.of(fun, workers=2)
    ratios = []
    for _ in range(2000):
        a = time.perf_counter()
        coord_gradient(f, x, 1e-3)
        b = time.perf_counter()
        coord_gradient(g, x, 1e-3)
        ratios.append((time.perf_counter() - b) / (b - a))
    g.close()
    print(f"coordinate gradients of a 5-microsecond function, d = 10: {np.median(ratios):.3f} times; bar 1.2")
    problem = OffAxis(d=10, seed=0)

    def run(workers):
        began = time.perf_counter()
        escapade.minimize(lambda x: fun(x) * 0 + float(problem(x)), np.zeros(10), rng=0, workers=workers)
        return time.perf_counter() - began

    ratio = np.median([run(2) / run(None) for _ in range(9)])
    print(f"whole runs of auto on a cheap function: {ratio:.3f} times; bar 1.2")


# Kills


def kills(places: str = "processes dask", times: int = 20, apart: float = 5.0) -> None:
    """Bar 3: the same bits, and no query counted twice."""
    problem = Octopus(d=10)

    def fun(x):
        time.sleep(0.02)
        return float(problem(x))

    reference = escapade.minimize(lambda x: float(problem(x)), np.zeros(10), method="zo-gd-ncf", rng=0, maxfev=14_000)
    print(f"without kills: {reference.nfev} queries, {reference.message}", flush=True)
    if "processes" in places:
        with closing(Processes(fun, workers=2, timeout=600.0)) as pool:
            own = pool.worker_pool
            _killed(fun, reference, pool, lambda: [worker.process.pid for worker in own.workers], times, apart)
    if "dask" not in places:
        return
    with dask_client() as client:
        # Workers that have arrived: a Dask nanny gives up one that dies as it starts.
        _killed(fun, reference, client, lambda: list(client.run(os.getpid, on_error="ignore").values()), times, apart)


def _killed(fun: Any, reference: Any, workers: Any, pids: Any, times: int, apart: float) -> None:
    chance, over, done = random.Random(0), threading.Event(), []

    def kill():
        while len(done) < times and not over.wait(apart + chance.uniform(0, 1.5)):
            pid = chance.choice(pids() or [0])
            if pid:
                os.kill(pid, signal.SIGKILL)
                done.append(pid)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    began = time.perf_counter()
    result = escapade.minimize(fun, np.zeros(10), method="zo-gd-ncf", rng=0, maxfev=14_000, workers=workers)
    took = time.perf_counter() - began
    over.set()
    thread.join()
    same = result.x.tobytes() == reference.x.tobytes() and result.nfev_by_purpose == reference.nfev_by_purpose
    same = same and [step.nfev for step in result.history] == [step.nfev for step in reference.history]
    print(
        f"{type(workers).__name__}: {len(done)} kills in {took:.0f} s; {'same bits' if same else 'DIFFERENT'}; "
        f"{result.nfev} queries of {reference.nfev}, {result.ncalls} calls sent; {result.message}",
        flush=True,
    )


# Failures


class Terrible:
    """Raises on 5%, returns NaN on 5% and hangs on 1% of its calls, by a hash of seed, point and attempt.

    Attempts are counted in files, for they are made by different processes.
    """

    def __init__(self, folder: str, seed: int, d: int = 10) -> None:
        self.folder, self.seed, self.problem = folder, seed, Octopus(d=d)

    def __call__(self, x: Any) -> float:
        name = hashlib.sha256(x.tobytes()).hexdigest()
        with open(os.path.join(self.folder, name), "a", encoding="utf-8") as file:
            file.write(".")
        key = f"{self.seed} {name} {os.path.getsize(file.name)}".encode()
        drawn = int.from_bytes(hashlib.sha256(key).digest()[:6], "big") / 2**48
        if drawn < 0.05:
            raise OSError("the licence server is busy")
        if drawn < 0.10:
            return math.nan
        if drawn < 0.11:
            time.sleep(3600)
        return float(self.problem(x))


def flaky(runs: int = 20) -> None:
    """Bar 5: 20 of 20 certified; and "undecided" where failures never heal. Bar 6: never more than maxfev."""
    problem = Octopus(d=10)
    certified, over = 0, 0
    for seed in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            fun = Terrible(folder, seed)
            began = time.perf_counter()
            result = escapade.minimize(
                fun, np.zeros(10), rng=seed, workers=2, timeout=0.5, on_error="retry", retries=8, maxfev=1500
            )
            attempts = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
        gap = result.fun - problem.minimum
        good = result.success and result.certificate.verdict == "minimum" and abs(gap) < 1e-6
        certified += good
        over += result.nfev > 1500
        print(
            f"seed {seed:2d}: {result.certificate and result.certificate.verdict}, f - f* = {gap:.1g}, {result.nfev} "
            f"queries, {attempts} attempts, {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    print(f"{certified} of {runs} certified, {over} over budget; bar {runs} and 0")
    minimum, false, verdicts = np.abs(problem.minima[0]), 0, []
    for seed in range(runs):

        def hole(x, radius=10.0 ** (-(seed % 5))):
            if 1e-12 < np.linalg.norm(np.abs(x) - minimum) < radius:
                raise OSError("no convergence")
            return float(problem(x))

        result = escapade.minimize(hole, np.zeros(10), rng=seed, on_error="penalise", retries=1, maxfev=5000)
        verdicts.append("none" if result.certificate is None else result.certificate.verdict)
        false += result.success
        over += result.nfev > 5000
    names = ", ".join(f"{verdicts.count(name)} {name}" for name in sorted(set(verdicts)))
    _strewn(runs)
    print(f"failures that never heal within 1 to 1e-4 of it: {names}; {false} false, {over} over budget; bar 0")


def _strewn(runs: int) -> None:
    """Single points, chosen by a hash of the point, that fail for good."""
    problem = OffAxis(d=6, seed=1)
    for share in (0.005, 0.02, 0.05):
        certified, false = 0, 0
        for seed in range(runs):

            def fun(x, seed=seed, share=share):
                digest = hashlib.sha256(f"{seed} ".encode() + x.tobytes()).digest()
                return math.nan if int.from_bytes(digest[:6], "big") / 2**48 < share else float(problem(x))

            result = escapade.minimize(fun, np.full(6, 0.1), rng=seed, on_error="penalise", maxfev=5000)
            certified += result.success
            indefinite = np.linalg.eigvalsh(problem.hessian(result.x))[0] < -1e-2
            steep = np.linalg.norm(problem.gradient(result.x)) > 1e-4 * (1 + 1e-6)
            false += result.success and bool(indefinite or steep)
        print(f"{100 * share:g}% of all points fail for good: {certified} of {runs} certified, {false} falsely; bar 0")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["bits", "speed", "cheap", "kills", "flaky"]
    for part in (bits, speed, cheap, kills, flaky):
        if part.__name__ in chosen:
            part()
