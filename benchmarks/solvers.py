"""Escapade and the solvers people use, behind one signature, each run recorded and kept."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache as cached
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from s2mpj import load, names
from scipy.optimize import minimize as scipy_minimize

import escapade

HUGE = 1e300
"""What solvers get to see where a function is infinite or not a number."""

BOTTOM = 1e10
"""A function that fell below minus this many times its value at the start has no bottom, as far as tables go."""


class Spent(Exception):
    """The budget of a solver is spent."""


@dataclass
class Recorder:
    """Counts queries, keeps every improvement, and raises when the queries or the seconds are spent.

    Replicates after the first see values changed in the last place, by a hash of x.
    """

    fun: Callable[[np.ndarray], float]
    budget: int
    replicate: int = 0
    seconds: float = math.inf
    queries: int = 0
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    x: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.deadline = time.process_time() + self.seconds

    def __call__(self, x: np.ndarray) -> float:
        if self.queries >= self.budget or time.process_time() > self.deadline:
            raise Spent
        x = np.array(x, dtype=float)
        value = float(self.fun(x))
        if self.replicate:
            digest = hashlib.blake2b(x.tobytes(), digest_size=1, salt=bytes([self.replicate])).digest()
            value *= 1 + (digest[0] % 3 - 1) * float(np.finfo(float).eps)
        value = value if math.isfinite(value) else HUGE
        self.queries += 1
        if not self.values or value < self.values[-1]:
            self.steps.append(self.queries)
            self.values.append(value)
            self.x = x
        return value


Solver = Callable[[Recorder, np.ndarray], dict[str, Any] | None]


def scipy_solver(method: str, **options: Any) -> Solver:
    jac = options.pop("jac", None)

    def solve(f: Recorder, x: np.ndarray) -> None:
        scipy_minimize(f, x, method=method, jac=jac, options=options)

    return solve


def bobyqa(f: Recorder, x: np.ndarray) -> None:
    import pybobyqa

    pybobyqa.solve(f, x, maxfun=f.budget, do_logging=False, print_progress=False)


def cma_es(f: Recorder, x: np.ndarray) -> None:
    import cma

    options = {"verbose": -9, "maxfevals": f.budget, "seed": 1 + f.replicate, "tolfun": 0, "tolfunhist": 0}
    spread = 0.3 * max(1.0, float(np.max(np.abs(x))))
    if len(x) > 1:
        cma.fmin2(f, x, spread, options)
    else:  # it has no place for a single variable
        cma.fmin2(lambda y: f(y[:1]), np.append(x, 0.0), spread, options)


def ours(gtol: float) -> Solver:
    def solve(f: Recorder, x: np.ndarray) -> dict[str, Any]:
        r = escapade.minimize(f, x, maxfev=f.budget, gtol=gtol, rng=f.replicate, on_error="stop")
        curvtol = None if r.certificate is None else r.certificate.curvtol
        purposes = {name: int(count) for name, count in r.nfev_by_purpose.items()}
        return {
            "x": [float(v) for v in r.x],
            "fun": float(r.fun),
            "stop": r.stop.name,
            "gtol": gtol,
            "message": r.message,
            "success": bool(r.success),
            "curvtol": curvtol,
            "purposes": purposes,
        }

    return solve


SOLVERS: dict[str, Solver] = {
    "BFGS 2-point": scipy_solver("BFGS", gtol=1e-9, maxiter=10**6),
    "BFGS 3-point": scipy_solver("BFGS", jac="3-point", gtol=1e-9, maxiter=10**6),
    "L-BFGS-B": scipy_solver("L-BFGS-B", ftol=1e-16, gtol=1e-9, maxfun=10**6, maxiter=10**6),
    "Nelder-Mead": scipy_solver("Nelder-Mead", adaptive=True, xatol=1e-10, fatol=1e-14, maxiter=10**6),
    "Powell": scipy_solver("Powell", xtol=1e-8, ftol=1e-14, maxiter=10**6),
    "COBYQA": scipy_solver("COBYQA", final_tr_radius=1e-10, maxfev=10**6, maxiter=10**6),
    "Py-BOBYQA": bobyqa,
    "CMA-ES": cma_es,
}
"""The peers, with tolerances that let each go on as long as it can."""

ASIDE = ("cli", "experiments", "problems")
"""Parts of the package that no run from here depends on."""

PACKAGES = {"Py-BOBYQA": "Py-BOBYQA", "CMA-ES": "cma"}


@cached
def fingerprint(solver: str, gtol: float) -> str:
    """What the result of a solver depends on: our sources, or the version of a package."""
    if solver != "escapade":
        package = PACKAGES.get(solver, "scipy")
        return f"{package}-{version(package)}"
    root = Path(escapade.__file__).parent
    digest = hashlib.sha256(repr(gtol).encode())
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in ASIDE:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Task:
    """One run: a solver from a start of a problem, and where its record is kept."""

    problem: str
    solver: str
    start: tuple[float, ...] | None
    """None: the standard start."""
    replicate: int
    budget: int
    """In simplex gradients, d + 1 queries."""
    gtol: float
    seconds: float
    version: str

    def path(self, cache: Path) -> Path:
        where = "start" if self.start is None else hashlib.sha256(np.array(self.start).tobytes()).hexdigest()[:10]
        name = f"{self.problem}-{where}-{self.budget}-{self.replicate}-{self.version}.json"
        return cache / self.solver.replace(" ", "-") / name

    def run(self, fun: Callable[[np.ndarray], float], standard: np.ndarray) -> dict[str, Any]:
        """The record of the run: what a solver raises ends it."""
        x = standard if self.start is None else np.array(self.start)
        f = Recorder(fun, self.budget * (len(x) + 1), self.replicate, self.seconds)
        began, answer, ended = time.process_time(), None, "returned"
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                solve = ours(self.gtol) if self.solver == "escapade" else SOLVERS[self.solver]
                answer = solve(f, x.copy())
        except Spent:
            ended = "spent" if f.queries >= f.budget else "timed out"
        except Exception as error:
            ended = f"{type(error).__name__}: {str(error)[:200]}"
        return {
            "d": len(x),
            "queries": f.queries,
            "steps": f.steps,
            "values": f.values,
            "x": None if f.x is None else [float(v) for v in f.x],
            "seconds": time.process_time() - began,
            "ended": ended,
            "answer": answer,
        }


def perform(tasks: list[Task], cache: Path) -> str:
    """Runs those of the tasks, all of one problem, whose records are missing."""
    p = load(tasks[0].problem)
    began = time.monotonic()
    for task in tasks:
        path = task.path(cache)
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(task.run(p, p.start)))
        part.rename(path)
    return f"{p.name} (d = {p.d}, {time.monotonic() - began:.1f} s)"


@dataclass(frozen=True)
class Plan:
    """What to look at, which solvers may be run for it, how long, how often, and where to keep it."""

    solvers: tuple[str, ...]
    only: tuple[str, ...]
    """Those that are run; the others are taken from the cache, as far as they are there."""
    budget: int
    replicates: int
    gtol: float
    seconds: float
    jobs: int
    cache: Path

    def tasks(self, problem: str, start: np.ndarray | None = None) -> list[Task]:
        """The runs of one problem from one start."""
        at = None if start is None else tuple(float(v) for v in start)
        return [
            Task(problem, s, at, k, self.budget, self.gtol, self.seconds, fingerprint(s, self.gtol))
            for s in self.solvers
            for k in range(self.replicates)
        ]

    def run(self, work: list[list[Task]]) -> None:
        """Fill the gaps of the cache, one problem a job."""
        gaps = ([t for t in tasks if t.solver in self.only and not t.path(self.cache).exists()] for tasks in work)
        missing = [tasks for tasks in gaps if tasks]
        if not missing:
            return
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        with ProcessPoolExecutor(self.jobs, mp_context=get_context("spawn"), initializer=names, initargs=(1,)) as pool:
            jobs = {pool.submit(perform, tasks, self.cache): tasks[0].problem for tasks in missing}
            for count, job in enumerate(as_completed(jobs), 1):
                error = job.exception()
                said = job.result() if error is None else f"{jobs[job]}: {type(error).__name__}: {error}"
                print(f"  {count}/{len(missing)} {said}", flush=True)

    def records(self, tasks: list[Task]) -> dict[str, list[dict[str, Any]]]:
        """What is kept of these runs, by solver."""
        found: dict[str, list[dict[str, Any]]] = {}
        for task in tasks:
            path = task.path(self.cache)
            if path.exists():
                found.setdefault(task.solver, []).append(json.loads(path.read_text()))
        return found
