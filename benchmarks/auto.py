"""The bars of `method="auto"`: queries from a saddle to a certified minimum, beside SciPy's BFGS and Powell.

python benchmarks/auto.py octopus [seeds]     from the origin, coordinates permuted and rotated (default 5 seeds)
python benchmarks/auto.py cubic [seeds]       from the origin, plain and rotated
python benchmarks/auto.py offaxis [seeds]     saddles that no coordinate leaves (default 20 seeds)
python benchmarks/auto.py robust              what else a solver meets, one run each
python benchmarks/auto.py offsets [seeds]     what a constant in f costs (default 4 seeds)
python benchmarks/auto.py large [d]           thousands of variables, one run each (default 1,500)
python benchmarks/auto.py                     all of them

BFGS starts from a nudge of 1e-3, for at the saddle it stops; neither it nor Powell certifies anything. "reached" counts
runs that end within 1e-3 of the least value (1e-4 for the cubic problem).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import rosen
from seeds import AUTO

import escapade
from escapade.methods.auto import Auto
from escapade.problems import Cubic, Octopus, OffAxis, Problem, Transformed, random_rotation

PEERS_UP_TO = 50
"""Peers are run up to this dimension, or the table would take hours."""


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    d: int
    bar: float
    make: Callable[[int], tuple[Problem, np.ndarray]]
    gtol: float
    curvtol: float
    close: float = 1e-3


def turned(problem: Problem, seed: int, how: str) -> Problem:
    """The problem as it is, permuted or rotated."""
    rng = np.random.default_rng(AUTO[seed])
    if how == "permuted":
        return Transformed(problem=problem, permutation=rng.permutation(problem.d))
    return Transformed(problem=problem, rotation=random_rotation(problem.d, rng)) if how == "rotated" else problem


def octopus() -> Iterator[Case]:
    """Bar 1."""
    bars = {"permuted": {10: 260, 30: 1050, 50: 2300, 100: 7500}, "rotated": {10: 650, 30: 4200, 50: 11000}}
    for how, row in bars.items():
        for d, bar in row.items():
            def make(seed: int, d: int = d, how: str = how) -> tuple[Problem, np.ndarray]:
                return turned(Octopus(d=d), seed, how), np.zeros(d)
            yield Case(f"octopus {how}", d, bar, make, 1e-4, math.sqrt(math.e * 1e-4))


def cubic() -> Iterator[Case]:
    """Bar 2."""
    for how, row in {"plain": {100: 950, 200: 2100}, "rotated": {100: 2600, 200: 5200}}.items():
        for d, bar in row.items():
            def make(seed: int, d: int = d, how: str = how) -> tuple[Problem, np.ndarray]:
                return turned(Cubic(d=d), seed, how), np.zeros(d)
            yield Case(f"cubic {how}", d, bar, make, 1e-2, 0.1, 1e-4)


def offaxis() -> Iterator[Case]:
    """Bar 3."""
    for d in (30, 60, 100):
        def make(seed: int, d: int = d) -> tuple[Problem, np.ndarray]:
            centre = np.random.default_rng(AUTO[seed]).standard_normal(d)
            return OffAxis(d=d, seed=AUTO[seed], offset=100.0, centre=centre), centre
        yield Case("off-axis", d, 30 * (d + 1), make, 1e-4, 0.1)


def ours(case: Case, seed: int) -> tuple[int, bool, bool, bool]:
    """Queries; whether certified, falsely certified, and at the least value."""
    problem, x0 = case.make(seed)
    method = Auto(epsilon=case.gtol, delta=case.curvtol)
    result = escapade.minimize(
        problem, x0, method=method, gtol=case.gtol, curvtol=case.curvtol, vectorized=True, rng=AUTO[seed]
    )
    small = float(np.linalg.norm(problem.gradient(result.x))) <= case.gtol
    true = small and float(np.linalg.eigvalsh(problem.hessian(result.x))[0]) >= -case.curvtol
    reached = float(problem(result.x)) - float(problem.minimum) <= case.close
    return result.nfev, result.success, result.success and not true, reached


def peer(case: Case, seed: int, solver: str) -> tuple[int, bool]:
    """Queries of a SciPy solver, and whether it ends at the least value."""
    problem, x0 = case.make(seed)
    nudge = 1e-3 * np.random.default_rng(AUTO[seed]).standard_normal(len(x0)) if solver == "BFGS" else 0.0
    options: dict[str, Any] = {"gtol": case.gtol} if solver == "BFGS" else {}
    result = scipy_minimize(lambda x: float(problem(x)), x0 + nudge, method=solver, options=options)
    return int(result.nfev), float(result.fun) - float(problem.minimum) <= case.close


def table(cases: Iterator[Case], seeds: int) -> None:
    """One row a case."""
    print(f"\n{seeds} seeds: median, mean/(d+1) and worst/(d+1) of the queries\n")
    print("| problem | d | bar | auto | mean | worst | certified | false | reached | BFGS, nudged | Powell |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for case in cases:
        runs = [ours(case, seed) for seed in range(seeds)]
        queries = np.array([run[0] for run in runs])
        counts = [sum(run[k] for run in runs) for k in (1, 2, 3)]
        others = []
        for solver in ("BFGS", "Powell"):
            if case.d > PEERS_UP_TO:
                others.append("–")
                continue
            found = [peer(case, seed, solver) for seed in range(min(seeds, 3))]
            others.append(f"{np.median([n for n, _ in found]):,.0f} ({sum(r for _, r in found)} of {len(found)})")
        print(
            f"| {case.name} | {case.d} | {case.bar:,.0f} | {np.median(queries):,.0f} | "
            f"{queries.mean() / (case.d + 1):.1f} | {queries.max() / (case.d + 1):.1f} | "
            f"{' | '.join(map(str, counts))} | {' | '.join(others)} |",
            flush=True,
        )


def rosenbrock(x: np.ndarray) -> float:
    """The valley of Rosenbrock."""
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def robust() -> None:
    """One line a run: queries, success, why it stopped."""
    rng = np.random.default_rng(0)
    off = OffAxis(d=20, seed=0, offset=100.0)
    stiff = np.logspace(0, 6, 20)
    turn = random_rotation(20, rng)
    lax, single = {"gtol": 1e-2, "curvtol": 0.1}, {"gtol": 0.1, "curvtol": 0.5}
    runs: list[tuple[str, Callable[..., Any], np.ndarray, dict[str, Any]]] = [
        ("Rosenbrock, d = 2", rosenbrock, np.array([-1.2, 1.0]), {}),
        ("Rosenbrock, d = 10", rosenbrock, np.tile([-1.2, 1.0], 5), {}),
        ("condition 1e6, d = 20", lambda x: float(x @ (stiff * x)) / 2, np.ones(20), {}),
        ("condition 1e6, rotated", lambda x: float((turn @ x) @ (stiff * (turn @ x))) / 2, np.ones(20), {}),
        ("off-axis + 1e6", lambda x: float(off(x)) + 1e6, off.start, {"gtol": 1e-3, "curvtol": 0.1}),
        ("off-axis + 1e8", lambda x: float(off(x)) + 1e8, off.start, {"gtol": 1e-3, "curvtol": 0.1}),
    ]
    for sigma in (1e-8, 1e-6, 1e-4):
        def noisy(x: np.ndarray, sigma: float = sigma) -> float:
            return float(off(x)) + sigma * float(rng.standard_normal())
        runs.append((f"noise {sigma:g}, given", noisy, off.start, {"noise": sigma, **lax}))
    runs += [
        ("float32 octopus, d = 6", lambda x: Octopus(d=6)(x), np.zeros(6, dtype=np.float32), single),
        ("x^4 - x^2, d = 1", lambda x: float(x[0] ** 4 - x[0] ** 2), np.zeros(1), {}),
        ("-|x|^2, unbounded", lambda x: -float(x @ x), np.zeros(3), {}),
        ("a constant", lambda x: 1.0, np.zeros(3), {}),
        ("budget of 50", rosenbrock, np.array([-1.2, 1.0]), {"maxfev": 50}),
    ]
    print("\n| function | queries | success | stopped | f |\n|---|---|---|---|---|")
    for name, fun, x0, options in runs:
        gtol = options.get("gtol", 1e-4)
        method = Auto(epsilon=gtol, delta=options.get("curvtol", math.sqrt(gtol)), noise=options.get("noise"))
        result = escapade.minimize(fun, x0, method=method, rng=0, **{"maxfev": 100_000, **options})
        print(f"| {name} | {result.nfev:,} | {result.success} | {result.stop.name} | {result.fun:.6g} |", flush=True)


def rosenbrocks(X: np.ndarray) -> np.ndarray:
    """Valleys of Rosenbrock side by side."""
    return np.sum(100 * (X[:, 1::2] - X[:, ::2] ** 2) ** 2 + (1 - X[:, ::2]) ** 2, axis=1)


def quartic(X: np.ndarray) -> np.ndarray:
    """Curvatures of 0.02 to 2, and a fourth power."""
    Y = X**2
    return Y @ np.linspace(0.01, 1.0, X.shape[1]) + np.sum(Y**2, axis=1)


def quadratic(rng: np.random.Generator) -> Callable[[np.ndarray], float]:
    """Curvatures of 1 to 1,000 along random directions, around a random point of 30 variables."""
    Q, centre = np.linalg.qr(rng.standard_normal((30, 30)))[0], rng.standard_normal(30)
    return lambda x: float(np.geomspace(0.5, 500.0, 30) @ (Q.T @ (x - centre)) ** 2)


def raised(fun: Callable[[np.ndarray], float], offset: float) -> Callable[[np.ndarray], float]:
    """The function and a constant."""
    return lambda x: float(fun(x)) + offset


def offsets(seeds: int) -> None:
    """The same functions, raised: f is then known to fewer digits, and so are its slopes."""
    cases: list[tuple[int, Callable[[np.random.Generator], Any]]] = [(30, quadratic), (10, lambda _: rosen)]
    print("\nmedians of queries over d + 1, and verdicts\n")
    print("| f* | quadratic, d = 30, condition 1,000 | Rosenbrock, d = 10 |\n|---|---|---|")
    for offset in (0.0, 1e3, 1e5, 1e6, 1e7):
        cells = []
        for d, make in cases:
            costs, verdicts = [], set()
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                result = escapade.minimize(raised(make(rng), offset), rng.standard_normal(d), rng=seed)
                costs.append(result.nfev / (d + 1))
                verdicts.add(result.certificate.verdict if result.certificate else result.stop.name)
            cells.append(f"{np.median(costs):.0f} ({', '.join(sorted(verdicts))})")
        print(f"| {offset:g} | {' | '.join(cells)} |", flush=True)


def _scalar(fun: Callable[[np.ndarray], Any], x: np.ndarray) -> float:
    return float(fun(x[None, :])[0])


def large(d: int) -> None:
    """Beside SciPy's L-BFGS-B, nudged by 1e-3 where the start is a saddle, which certifies nothing."""
    rng = np.random.default_rng(0)
    permuted = Transformed(problem=Octopus(d=d), permutation=rng.permutation(d))
    tight, lax = {"gtol": 1e-4, "curvtol": math.sqrt(math.e * 1e-4)}, {"gtol": 1e-2, "curvtol": 0.1}
    runs: list[tuple[str, Callable[[np.ndarray], Any], np.ndarray, dict[str, float]]] = [
        ("cubic, from its saddle", Cubic(d=d), np.zeros(d), lax),
        ("Rosenbrock's valleys", rosenbrocks, np.tile([-1.2, 1.0], d // 2), {}),
        ("quartic", quartic, rng.standard_normal(d), {}),
        ("octopus permuted, from its saddle", permuted, np.zeros(d), tight),
    ]
    print(f"\nd = {d:,}, queries over d + 1\n")
    print("| function | auto | verdict | f | seconds | L-BFGS-B | f |\n|---|---|---|---|---|---|---|")
    for name, fun, x0, options in runs:
        began = time.perf_counter()
        result = escapade.minimize(fun, x0, vectorized=True, rng=0, **options)
        took, verdict = time.perf_counter() - began, result.certificate and result.certificate.verdict
        nudge = 1e-3 * rng.standard_normal(d) if "saddle" in name else 0.0
        scalar = partial(_scalar, fun)
        peer = scipy_minimize(scalar, x0 + nudge, method="L-BFGS-B", options={"maxfun": 10**9, "maxiter": 10**6})
        print(
            f"| {name} | {result.nfev / (d + 1):.1f} | {verdict} | {result.fun:.6g} | {took:.1f} | "
            f"{peer.nfev / (d + 1):.1f} | {peer.fun:.6g} |",
            flush=True,
        )


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    chosen = [word for word in sys.argv[1:] if not word.isdigit()] or ["octopus", "cubic", "offaxis", "robust"]
    for word in chosen:
        if word == "robust":
            robust()
        elif word == "offsets":
            offsets(numbers[0] if numbers else 4)
        elif word == "large":
            large(numbers[0] if numbers else 1500)
        else:
            cases = {"octopus": octopus, "cubic": cubic, "offaxis": offaxis}[word]
            table(cases(), numbers[0] if numbers else 20 if word == "offaxis" else 5)
