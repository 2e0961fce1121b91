"""Functions without a value here and there: how low a budget leads, and how many certificates are left.

python benchmarks/missing.py problems [--most N] [--share S]     S2MPJ problems, beside Nelder-Mead
python benchmarks/missing.py certificates [--share S]            exact quadratics and quartics, d = 3 to 12

A point is missing by a function of x alone, and for good: "speckled", by a hash of its bits, or "waves", where a sum of
four plane waves a thousandth of the variables long is high. The start has a value. A run has 100 (n + 1) queries, those
without a value included; the exact f of the point it returns counts, against the lowest that any run reached, of `auto`
without missing points and with ten times the budget among them. Nelder-Mead (SciPy, adaptive) sees infinity.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from s2mpj import load, names
from scipy.optimize import minimize as scipy_minimize
from seeds import MISSING

import escapade

Fun = Callable[[np.ndarray], float]
KINDS = ("speckled", "waves")
LEVELS = (1e-2, 1e-4)


@dataclass
class Holed:
    """A function with missing points, counted; beyond the budget nothing has a value."""

    fun: Fun
    start: np.ndarray
    kind: str
    share: float
    seed: int
    budget: float = math.inf
    asked: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        d = len(self.start)
        self.ways = rng.standard_normal((4, d))
        self.ways /= np.linalg.norm(self.ways, axis=1, keepdims=True) * 1e-3 * max(1.0, np.max(np.abs(self.start)))
        phases = rng.uniform(0, 2 * np.pi, (100_000, 4))
        self.level = float(np.quantile(np.cos(phases).sum(axis=1), 1 - self.share))
        self.phase = -2 * np.pi * self.ways @ self.start + np.pi / 2  # the start lies half-way up

    def missing(self, x: np.ndarray) -> bool:
        if self.share == 0 or np.array_equal(x, self.start):
            return False
        if self.kind == "waves":
            return float(np.cos(2 * np.pi * self.ways @ x + self.phase).sum()) > self.level
        drawn = hashlib.blake2b(x.tobytes() + self.seed.to_bytes(4, "big"), digest_size=6).digest()
        return int.from_bytes(drawn, "big") / 2**48 < self.share

    def __call__(self, x: np.ndarray) -> float:
        self.asked += 1
        x = np.asarray(x, dtype=float)
        return math.nan if self.asked > self.budget or self.missing(x) else float(self.fun(x))


def ours(f: Holed, budget: int, seed: int) -> tuple[np.ndarray, Any]:
    """Escapade, nothing told; attempts that delivered no value count too."""
    result = escapade.minimize(f, f.start, maxfev=budget, rng=seed)
    return np.asarray(result.x), result


def simplex(f: Holed, budget: int) -> np.ndarray:
    """Nelder-Mead as SciPy has it."""

    def seen(x: np.ndarray) -> float:
        value = f(x)
        return value if math.isfinite(value) else math.inf

    options = {"adaptive": True, "maxfev": budget, "maxiter": 10**9, "xatol": 1e-10, "fatol": 1e-14}
    return np.asarray(scipy_minimize(seen, f.start, method="Nelder-Mead", options=options).x)


def problems(most: int, share: float, chosen: list[str]) -> None:
    """The share of problems solved to each level, by kind and solver."""
    solved: Counter[tuple[str, str, float]] = Counter()
    endings: Counter[str] = Counter()
    count = raised = 0
    for number, name in enumerate(chosen or names(most)):
        p = load(name)
        if not math.isfinite(p(p.start)):
            continue
        seed, budget = MISSING[number], 100 * (p.d + 1)
        runs: dict[tuple[str, str], float] = {}
        best = p(ours(Holed(p, p.start, KINDS[0], 0.0, seed), 10 * budget, seed)[0])
        for kind in KINDS:
            f = Holed(p, p.start, kind, share, seed, budget)
            try:
                x, result = ours(f, budget, seed)
                endings[f"{kind}: {'success' if result.success else f'status {result.status}'}"] += 1
            except Exception as error:
                x, raised = p.start, raised + 1
                print(f"{name}, {kind}: raised {type(error).__name__}: {error}")
            runs[kind, "auto"] = p(x)
            runs[kind, "Nelder-Mead"] = p(simplex(Holed(p, p.start, kind, share, seed, budget), budget))
        first, best = p(p.start), min(best, *runs.values())
        if not first > best:
            continue
        count += 1
        row = []
        for (kind, solver), value in runs.items():
            left = (value - best) / (first - best)
            row.append(f"{left:.0e}")
            for level in LEVELS:
                solved[kind, solver, level] += left <= level
        print(f"{name:12} d {p.d:3}  left of the fall {'  '.join(row)}", flush=True)
    print(f"\n{count} problems, {share:.0%} of points missing, 100 (n + 1) queries; raised: {raised}")
    print("| missing | solver | " + " | ".join(f"{level:.0e}" for level in LEVELS) + " |\n| --- | --- | --- | --- |")
    for kind in KINDS:
        for solver in ("auto", "Nelder-Mead"):
            shares = " | ".join(f"{solved[kind, solver, level] / count:.2f}" for level in LEVELS)
            print(f"| {kind} | {solver} | {shares} |")
    print(dict(endings))


def certificates(share: float, each: int = 20) -> None:
    """Certificates of exact minima and saddles: those that decide, and those that are false."""
    print(f"{share:.0%} of points missing, {each} seeds\n| function | d | decided | false | queries |")
    print("| --- | --- | --- | --- | --- |")
    for quartic in (False, True):
        for d in (3, 5, 8, 12):
            decided = false = queries = 0
            for seed in MISSING[:each]:
                fun, x, saddle = example(d, seed, quartic=quartic)
                certificate = escapade.certify(Holed(fun, x, KINDS[0], share, seed), x, rng=seed)
                decided += certificate.verdict == "saddle" if saddle else certificate.holds
                wrong = ("second-order", "minimum", "not stationary") if saddle else ("saddle", "not stationary")
                false += certificate.verdict in wrong
                queries += certificate.nfev
            kind = "quartic" if quartic else "quadratic"
            print(f"| {kind} | {d} | {decided} of {each} | {false} | {queries / each:.0f} |", flush=True)


def example(d: int, seed: int, *, quartic: bool) -> tuple[Fun, np.ndarray, bool]:
    """A function, a stationary point of it, and whether that is a saddle: one in four is."""
    rng = np.random.default_rng([seed, d])
    Q, sizes = np.linalg.qr(rng.standard_normal((d, d)))[0], 10 ** rng.uniform(-1, 1, d)
    saddle, x = seed % 4 == 3, rng.standard_normal(d)
    if saddle:
        sizes[0] = -0.5

    def fun(y: np.ndarray) -> float:
        z = Q.T @ (y - x)
        return 1 + float(sizes @ z**2) / 2 + (0.3 * float(np.sum(z**4)) if quartic else 0.0)

    return fun, x, saddle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("problems", "certificates"))
    parser.add_argument("names", nargs="*", help="problems; all by default")
    parser.add_argument("--most", type=int, default=10, help="variables")
    parser.add_argument("--share", type=float, help="of points: 0.05 for problems, 0.02 for certificates")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        if arguments.what == "problems":
            share = 0.05 if arguments.share is None else arguments.share
            problems(arguments.most, share, arguments.names)
        else:
            certificates(0.02 if arguments.share is None else arguments.share)


if __name__ == "__main__":
    main()
