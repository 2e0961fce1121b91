"""Sampled methods from a saddle that all samples share: phase retrieval and matrix sensing, from zero.

    python benchmarks/from_zero.py [--queries 30e6] [--small] [method ...]

At zero the gradient of every sample vanishes, and with it what can be told of its variance there. Asked for is that
no method returns a value above f(x0), and that none ends without one.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import escapade
from escapade.problems import MatrixSensing, PhaseRetrieval

METHODS = (
    *("auto", "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii"),
    *("zo-spider", "zo-spider-ncf", "zo-sgd", "zo-scsg", "zo-scrn"),
)


def phase_retrieval(d, n):
    """The problem and its value on samples."""
    problem = PhaseRetrieval(d=d, n=n)
    a, _, intensity = problem._data

    def value(x, ids):
        if ids.ndim == 2:  # one sample a row
            return (np.sum(x * a[ids[:, 0]], axis=1) ** 2 - intensity[ids[:, 0]]) ** 2 / 4
        return np.mean(((x @ a[ids].T) ** 2 - intensity[ids]) ** 2, axis=1) / 4

    value.ids_by_row = True
    return problem, n, value


def matrix_sensing(rows, n):
    """The same; d is twice the number of rows."""
    problem = MatrixSensing(n=rows, rank=2, measurements=n)
    sensors, target = problem.sensors.reshape(n, -1), problem.target.ravel()

    def value(x, ids):
        factors = x.reshape(len(x), rows, 2)
        grams = (factors @ factors.transpose(0, 2, 1)).reshape(len(x), -1)
        if ids.ndim == 2:
            return np.sum((grams - target) * sensors[ids[:, 0]], axis=1) ** 2 / 4
        return np.mean(((grams - target) @ sensors[ids].T) ** 2, axis=1) / 4

    value.ids_by_row = True
    return problem, n, value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--queries", type=float, default=30e6)
    parser.add_argument("--gtol", type=float, default=1e-2)
    parser.add_argument("--curvtol", type=float, default=1e-1)
    parser.add_argument("--small", action="store_true", help="d = 6 and n = 400")
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    sizes = ((6, 400), (3, 400)) if asked.small else ((20, 10_000), (10, 4000))
    problems = (phase_retrieval(*sizes[0]), matrix_sensing(*sizes[1]))
    bad = 0
    for problem, n, value in problems:
        start = float(problem(problem.start))
        print(f"{problem.name}, d = {problem.d}, n = {n}, f(0) = {start:.4g}")
        for name in asked.methods:
            for seed in range(asked.seeds):
                began = time.perf_counter()
                result = escapade.minimize(
                    value,
                    np.zeros(problem.d),
                    method=name,
                    samples=n,
                    vectorized=True,
                    maxfev=int(asked.queries),
                    gtol=asked.gtol,
                    curvtol=asked.curvtol,
                    rng=seed,
                )
                wrong = not (float(problem(result.x)) <= start and np.isfinite(result.fun))
                bad += wrong
                print(
                    f"  {name:15} seed {seed}  f(x) = {float(problem(result.x)):10.4g}  fun = {result.fun:10.4g}  "
                    f"{result.stop.name:14} {result.nfev:.3g} queries {time.perf_counter() - began:6.1f} s"
                    + ("  WRONG" if wrong else ""),
                    flush=True,
                )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
