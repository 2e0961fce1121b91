"""Ordinary functions from ordinary starts: what a run costs, and how much of that its certificate.

python benchmarks/ordinary.py [d ...]     multiples of four; default 12 20 40 100

Queries over d + 1, medians of three starts: until f is within 1e-5 of its fall, until the certificate is asked for, and
in all; and what SciPy's L-BFGS-B takes, which certifies nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize as scipy_minimize
from seeds import ORDINARY

import escapade

Function = Callable[[np.ndarray], float]


def rosenbrock(x: np.ndarray) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def wood(x: np.ndarray) -> float:
    a, b, c, e = x.reshape(-1, 4).T
    apart = 100 * (a**2 - b) ** 2 + (a - 1) ** 2 + (c - 1) ** 2 + 90 * (c**2 - e) ** 2
    return float(np.sum(apart + 10.1 * ((b - 1) ** 2 + (e - 1) ** 2) + 19.8 * (b - 1) * (e - 1)))


def singular(x: np.ndarray) -> float:
    a, b, c, e = x.reshape(-1, 4).T
    return float(np.sum((a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4))


def tridiagonal(x: np.ndarray) -> float:
    y = np.concatenate([[0.0], x, [0.0]])
    return float(np.sum(((3 - 2 * x) * x - y[:-2] - 2 * y[2:] + 1) ** 2))


def trigonometric(x: np.ndarray) -> float:
    i = np.arange(1, len(x) + 1)
    return float(np.sum((len(x) - np.sum(np.cos(x)) + i * (1 - np.cos(x)) - np.sin(x)) ** 2))


def dixon(x: np.ndarray) -> float:
    return float((x[0] - 1) ** 2 + np.arange(2, len(x) + 1) @ (2 * x[1:] ** 2 - x[:-1]) ** 2)


def chain(x: np.ndarray) -> float:
    return float(np.sum((x[:-1] ** 2 + x[1:] ** 2) ** 2 - 4 * x[:-1] + 3))


def trid(x: np.ndarray) -> float:
    return float(np.sum((x - 1) ** 2) - x[1:] @ x[:-1])


def quartic(x: np.ndarray) -> float:
    return float(np.arange(1, len(x) + 1) @ x**2 + np.sum(x) ** 2 / len(x) + np.sum(x**4))


def cosh(x: np.ndarray) -> float:
    return float(np.sum(np.log(np.cosh(np.arange(1, len(x) + 1) * (x - 1) / 10))) + np.sum(np.diff(x) ** 2) / 2)


FUNCTIONS: dict[Function, list[float]] = {
    rosenbrock: [-1.2, 1.0, -1.2, 1.0],
    wood: [-3.0, -1.0, -3.0, -1.0],
    singular: [3.0, -1.0, 0.0, 1.0],
    tridiagonal: [-1.0] * 4,
    trigonometric: [0.0] * 4,
    dixon: [0.7] * 4,
    chain: [2.0] * 4,
    trid: [0.0] * 4,
    quartic: [1.0] * 4,
    cosh: [0.0] * 4,
}
"""Functions, and the starts of four variables that are repeated; two more starts are random, 0.1 beside these."""


def starts(fun: Function, d: int) -> list[np.ndarray]:
    """Three starts; the trigonometric function's are 1/d away from 0."""
    first = np.tile(FUNCTIONS[fun], d // 4) + (1 / d if fun is trigonometric else 0.0)
    return [first, *(first + 0.1 * np.random.default_rng(ORDINARY[k]).standard_normal(d) for k in (1, 2))]


def needed(values: list[float], lowest: float) -> float:
    """Queries until f is within 1e-5 of its fall to the lowest value."""
    reached = np.minimum.accumulate(values) <= lowest + 1e-5 * (values[0] - lowest)
    return float(np.argmax(reached)) if reached[-1] else np.nan


def row(fun: Function, d: int) -> tuple[np.ndarray, Counter[str]]:
    """What each start needed, asked for the certificate, and took; what L-BFGS-B took; and the verdicts."""
    spent, verdicts = [], Counter()
    for seed, x in enumerate(starts(fun, d)):
        values: list[float] = []

        def counted(z: np.ndarray, values: list[float] = values) -> float:
            values.append(fun(z))
            return values[-1]

        result = escapade.minimize(counted, x, rng=ORDINARY[seed], maxfev=800 * (d + 1))
        cost = result.certificate.nfev if result.certificate else 0
        peer = scipy_minimize(fun, x, method="L-BFGS-B", options={"maxfun": 800 * (d + 1), "maxiter": 10**6})
        spent.append((needed(values, result.fun), result.nfev - cost, result.nfev, peer.nfev))
        verdicts[result.certificate.verdict if result.certificate else result.stop.name] += 1
    return np.array(spent) / (d + 1), verdicts


def main() -> None:
    """The table."""
    print("| function | d | to 1e-5 | before the certificate | in all | verdicts | L-BFGS-B |")
    print("|---|---|---|---|---|---|---|")
    for d in [int(word) for word in sys.argv[1:]] or [12, 20, 40, 100]:
        every = []
        for fun in FUNCTIONS:
            spent, verdicts = row(fun, d)
            every.append(spent)
            told = ", ".join(f"{n} {word}" for word, n in sorted(verdicts.items()))
            near, before, total, peer = (f"{value:.0f}" for value in np.median(spent, axis=0))
            print(f"| {fun.__name__} | {d} | {near} | {before} | {total} | {told} | {peer} |", flush=True)
        means = np.exp(np.mean(np.log(np.concatenate(every)), axis=0))
        print(f"| geometric mean | {d} | | {means[1]:.1f} | {means[2]:.1f} | | {means[3]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
