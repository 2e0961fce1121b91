"""What the oracle costs beside bare evaluation, measured side by side; and its memory at d = 100,000.

python benchmarks/overhead.py [time] [memory]
"""

from __future__ import annotations

import sys
import time
import tracemalloc

import numpy as np

from escapade import Oracle
from escapade.derivatives.paper import coord_gradient
from escapade.problems import Octopus


def five_microseconds() -> object:
    """A scalar function of about 5 microseconds."""
    weights = np.linspace(1, 2, 100)

    def fun(x: np.ndarray) -> float:
        total = float(x @ weights)
        for _ in range(calls):
            total += 1e-9 * total
        return total

    calls = 1
    while True:
        x = np.zeros(100)
        began = time.perf_counter()
        for _ in range(2000):
            fun(x)
        if (time.perf_counter() - began) / 2000 > 5e-6:
            return fun
        calls += 5


def ratio(ours, bare, repeats: int = 300) -> float:
    """The median over repeats of ours over bare, taken in turns."""
    ratios = []
    for _ in range(repeats):
        a = time.perf_counter()
        bare()
        b = time.perf_counter()
        ours()
        c = time.perf_counter()
        ratios.append((c - b) / (b - a))
    return float(np.median(ratios))


def timing() -> None:
    """Bar: 1.3 for a scalar function, 1.15 for the vectorised octopus."""
    x, mu = np.random.default_rng(0).standard_normal(100), 1e-5
    fun = five_microseconds()
    f = Oracle.of(fun)

    def loop():
        g = np.empty(100)
        for i in range(100):
            up, down = x.copy(), x.copy()
            up[i] += mu
            down[i] -= mu
            g[i] = (fun(up) - fun(down)) / (2 * mu)
        return g

    points = np.concatenate([x + mu * np.eye(100), x - mu * np.eye(100)])

    def bare():
        return [fun(p) for p in points]

    over_bare, over_loop = (ratio(lambda: coord_gradient(f, x, mu), other) for other in (bare, loop))
    print(f"scalar 5-microsecond function, d = 100: {over_bare:.3f} times a loop over points already built,")
    print(f"  {over_loop:.3f} times one that builds them; bar 1.3")
    octopus = Octopus(d=100)
    z = octopus.minima[0] + 0.1 * x
    g = Oracle.of(octopus, vectorized=True)

    def built():
        plus, minus = np.tile(z, (100, 1)), np.tile(z, (100, 1))
        i = np.arange(100)
        plus[i, i] += mu
        minus[i, i] -= mu
        return octopus(np.concatenate([plus, minus]))

    print(f"vectorised octopus, d = 100: {ratio(lambda: coord_gradient(g, z, mu), built, 2000):.3f} times; bar 1.15")


def memory(d: int = 100_000) -> None:
    """Bar: 300 MB above what was there before."""
    x = np.random.default_rng(0).standard_normal(d)
    f = Oracle.of(lambda X: X @ X[0] * 0.0 + X.sum(axis=1), vectorized=True)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    began = time.perf_counter()
    g = coord_gradient(f, x, 1e-3)
    peak = tracemalloc.get_traced_memory()[1] - before
    seconds = time.perf_counter() - began
    wrong = float(np.max(np.abs(g - 1)))
    print(f"coordinate gradient at d = {d}: peak {peak / 1e6:.0f} MB above the start (bar 300), {seconds:.0f} s,")
    print(f"  error {wrong:.1g}")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["time", "memory"]
    if "time" in chosen:
        timing()
    if "memory" in chosen:
        memory()
