"""The runs of one curve of one panel."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize

from ..certify import certify
from ..minimize import minimize
from ..problems import Problem, StochasticProblem
from ..stopping import Stop
from ..trace import Trace
from .panels import JUDGED, Curve, Panel
from .records import Record, finite, first_below, kept

FAILURE = 0.02
"""Twice the p of the tables, half of which is the method's."""

CHECK = "gradient check"
"""The purpose under which Proposition 1's check of the gradient counts its queries."""

BLOCK = 32
"""Rows of the least-squares problem that are evaluated together."""


@dataclass(frozen=True)
class Judge:
    """Ends a run that has no test of its own where exact derivatives show that it is done, or that it diverges."""

    problem: Problem
    epsilon: float
    reached: float
    lost: float
    every: int = 10

    def __call__(self, trace: Trace) -> bool:
        if len(trace) % self.every:
            return False
        value = float(self.problem(trace[-1].x))
        if not value <= self.lost:
            return True
        return value <= self.reached and float(np.linalg.norm(self.problem.gradient(trace[-1].x))) <= self.epsilon


@dataclass(frozen=True)
class _Ran:
    """What a solver leaves behind."""

    x: Any
    points: list[Any]
    queries: list[int]
    checks: list[int]
    """Of the queries, those of Proposition 1's check."""
    moves: dict[str, int]
    by_purpose: dict[str, int]
    ending: str
    verdict: str
    nfev: int
    ngrad: int
    method: str


def runs_of(panel: Panel, curve: Curve, seeds: Sequence[int], data: Path | None = None) -> Iterator[Record]:
    """The runs of a curve, one a seed.

    Queries: those of the method, at most `panel.budget`; the values that are plotted are not counted
    """
    for seed in seeds:
        began = time.process_time()
        problem = panel.problem(seed, data)
        x0 = problem.start
        start, least = float(problem(x0)), panel.least(problem)
        judge = Judge(problem, panel.epsilon, panel.heights(start, least)[1], start + 10 * (start - least))
        ran = (_scipy if curve.solver else _ours)(panel, curve, problem, seed, judge)
        yield _record(panel, curve, problem, seed, ran, start, least, began)


def _ours(panel: Panel, curve: Curve, problem: Problem, seed: int, judge: Judge) -> _Ran:
    method = panel.method(curve, problem)
    judged = curve.row is not None and curve.row.algorithm in JUDGED
    result = minimize(
        _function(panel, problem),
        problem.start,
        method=method,
        gtol=panel.epsilon,
        curvtol=panel.delta,
        failure=FAILURE,
        maxfev=panel.budget,
        vectorized=True,
        samples=None if panel.samples is None else problem.n,  # type: ignore[attr-defined]
        jac=problem.gradient if curve.label == "Neon2+GD" else None,
        stop=judge if judged else None,
        rng=seed,
    )
    if result.stop is Stop.INTERRUPTED:  # half a run is none
        raise KeyboardInterrupt
    steps = result.history.steps
    verdict = "none" if result.certificate is None else result.certificate.verdict
    x = result.x if result.certificate is not None or not steps else steps[-1].x
    return _Ran(
        x=x,
        points=[step.x for step in steps],
        queries=[step.nfev for step in steps],
        checks=[step.by_purpose.get(CHECK, 0) for step in steps],
        moves=dict(Counter(step.move.value for step in steps)),
        by_purpose=dict(result.nfev_by_purpose),
        ending=result.stop.name.lower(),
        verdict=verdict,
        nfev=result.nfev,
        ngrad=result.ngrad,
        method=repr(method),
    )


def _function(panel: Panel, problem: Problem) -> Callable[..., Any]:
    """What is minimised; the least-squares problem in blocks that fit the cache, which its values do not depend on."""
    if panel.samples is not None and isinstance(problem, StochasticProblem):
        return problem.sample_value
    if panel.family != "least-squares":
        return problem
    return lambda rows: np.concatenate([problem(rows[i : i + BLOCK]) for i in range(0, len(rows), BLOCK)])


def _scipy(panel: Panel, curve: Curve, problem: Problem, seed: int, judge: Judge) -> _Ran:
    """A solver of SciPy's with its own settings; the certificate, asked for afterwards, is not among its queries."""
    count, points, queries = 0, [], []

    def fun(x: Any) -> float:
        nonlocal count
        count += 1
        return float(problem(x))

    def seen(x: Any) -> None:
        points.append(np.array(x))
        queries.append(count)

    found = scipy_minimize(fun, problem.start, method=curve.solver, callback=seen)  # type: ignore[call-overload]
    seen(found.x)
    verdict = certify(
        problem, found.x, gtol=panel.epsilon, curvtol=panel.delta, failure=FAILURE, vectorized=True, rng=seed
    ).verdict
    ending = "reports success" if found.success else "reports failure"
    method = f"scipy.optimize.minimize(method={curve.solver!r})"
    books = {"SciPy": count}
    return _Ran(found.x, points, queries, [0] * len(queries), {}, books, ending, verdict, count, 0, method)


def _record(
    panel: Panel, curve: Curve, problem: Problem, seed: int, ran: _Ran, start: float, least: float, began: float
) -> Record:
    values = np.append(start, _values(problem, ran.points))
    queries = np.append(0, np.array(ran.queries, dtype=np.int64))
    free = queries - np.append(0, np.array(ran.checks, dtype=np.int64))
    iterations = np.arange(len(queries))
    left, reached = panel.heights(start, least)
    keep = kept(queries if panel.axis == "queries" else iterations)
    x = np.asarray(ran.x, dtype=float)
    return Record(
        figure=panel.figure,
        panel=panel.title,
        curve=curve.label,
        seed=seed,
        d=problem.d,
        nfev=ran.nfev,
        nit=len(ran.points),
        ngrad=ran.ngrad,
        ending=ran.ending,
        verdict=ran.verdict,
        certified=ran.verdict in ("minimum", "second-order"),
        gradient=finite(float(np.linalg.norm(problem.gradient(x)))),
        lowest=_lowest(problem, x),
        start=start,
        fun=finite(float(problem(x))),
        least=least,
        left=first_below(values, left, queries),
        left_nit=first_below(values, left, iterations),
        reached=first_below(values, reached, queries),
        reached_nit=first_below(values, reached, iterations),
        left_free=first_below(values, left, free),
        reached_free=first_below(values, reached, free),
        moves=ran.moves,
        by_purpose=ran.by_purpose,
        far=finite(max((float(np.linalg.norm(point - problem.start)) for point in ran.points), default=0.0)),
        seconds=time.process_time() - began,
        method=ran.method,
        queries=[int(q) for q in queries[keep]],
        free=[int(q) for q in free[keep]],
        iterations=[int(i) for i in iterations[keep]],
        values=[finite(float(v)) for v in values[keep]],
    )


def _values(problem: Problem, points: list[Any], block: int = 2000) -> NDArray[np.float64]:
    """f at the iterates, for the figure."""
    blocks = [np.stack(points[i : i + block]) for i in range(0, len(points), block)]
    return np.concatenate([np.asarray(problem(rows), dtype=float) for rows in blocks]) if blocks else np.zeros(0)


def _lowest(problem: Problem, x: NDArray[np.float64]) -> float:
    H = problem.hessian(x)
    return finite(float(np.linalg.eigvalsh(H)[0])) if np.all(np.isfinite(H)) else finite(-math.inf)
