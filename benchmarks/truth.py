"""Truth by counting: how often each finder misses, raises a false alarm, or cannot decide.

python benchmarks/truth.py --runs 2000 --finders lanczos dense cheapest chebyshev
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
from seeds import TRUTH

from escapade.curvature import FINDERS, SAMPLED_FINDERS, Lanczos, ZONCFDeterministic
from escapade.curvature.lanczos import _Attempt, _ErrorBudget
from escapade.curvature.overlap import Thresholds, random_starts
from escapade.curvature.settings import LANCZOS
from escapade.derivatives import product_errors
from escapade.derivatives.measure import measure
from escapade.derivatives.product_errors import ProductError
from escapade.derivatives.products import HessianProducts, Product
from escapade.derivatives.steps import curvature_steps
from escapade.oracle import Oracle
from escapade.problems import random_rotation

RATIOS = (0.0, 1.0, 100.0)
SPECTRA = ("flat", "uniform", "log-uniform", "clustered")


@dataclass
class RandomFunction:
    """1/2 z'Az + cubic and quartic terms + offset, z = x - centre, with a known smallest eigenvalue."""

    A: np.ndarray
    cubic: np.ndarray
    quartic: np.ndarray
    c3: float
    c4: float
    centre: np.ndarray
    offset: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        z = x - self.centre
        value = np.einsum("ij,ij->i", z @ self.A, z) / 2 + self.offset
        if self.c3 or self.c4:
            value = value + self.c3 * np.sum((z @ self.cubic) ** 3, axis=1)
            value = value + self.c4 * np.sum((z @ self.quartic) ** 4, axis=1)
        return value


def spectrum(kind: str, d: int, low: float, rng: np.random.Generator) -> np.ndarray:
    """d eigenvalues in [low, 1], of which `low` is one."""
    positive = max(low, 0.0)
    if kind == "flat":
        rest = np.ones(d - 1)
    elif kind == "uniform":
        rest = rng.uniform(positive, 1, d - 1)
    elif kind == "log-uniform":
        rest = np.exp(rng.uniform(np.log(1e-3), 0, d - 1))
    else:
        rest = np.clip(rng.choice([0.1, 0.5, 1.0], d - 1) + 0.01 * rng.standard_normal(d - 1), positive, 1)
    return np.concatenate([[low], rest])


def draw(rng: np.random.Generator, *, negative: bool, most: int = 200) -> tuple[RandomFunction, float]:
    """A random function and its delta; its smallest eigenvalue is -1.0001 delta, or at least -delta/2."""
    d = int(np.exp(rng.uniform(np.log(5), np.log(most + 1))))
    delta = float(rng.choice([0.1, 0.01]))
    low = -1.0001 * delta if negative else float(rng.choice([-0.5, 0.0, 0.5])) * delta
    q = random_rotation(d, rng)
    values = spectrum(str(rng.choice(SPECTRA)), d, low, rng)
    A = q @ np.diag(values) @ q.T
    centre = rng.standard_normal(d)
    centre *= 10 / np.linalg.norm(centre)
    offset = float(rng.choice([0.0, 1.0, 30.0, 1e3])) * (1 if rng.random() < 0.5 else -1)
    step = float(np.median(curvature_steps(centre, np.ones(d), 2.2e-16 * max(1.0, abs(offset)), delta)))
    ratio = float(rng.choice(RATIOS))
    cubic, quartic = rng.standard_normal((2, d, 4))
    cubic /= np.linalg.norm(cubic, axis=0)
    quartic /= np.linalg.norm(quartic, axis=0)
    c3 = ratio * delta / (6 * step)  # Hessian changes by ratio delta over a step
    c4 = ratio * delta / (12 * step**2)
    return RandomFunction((A + A.T) / 2, cubic, quartic, c3, c4, centre, offset), delta


def count(name: str, runs: int, p: float, *, negative: bool, seed: int = 0, most: int = 200) -> dict[str, float]:
    """Outcomes of one finder over many random functions."""
    tally = {"found": 0, "certified": 0, "undecided": 0, "queries": 0.0, "wrong direction": 0}
    for run in range(runs):
        rng = np.random.default_rng([TRUTH[seed], run, negative])
        fun, delta = draw(rng, negative=negative, most=most)
        options = {"ell": 1.02} if name == "chebyshev" else {"certificate_maxfev": math.inf}
        f = Oracle.of(fun, vectorized=True)
        finding = FINDERS[name](delta=delta, failure=p, **options)(f, fun.centre, rng)
        tally[finding.outcome.name.lower()] += 1
        tally["queries"] += f.ledger.queries / (len(fun.centre) + 1) / runs
        if finding.found:
            v = np.asarray(finding.direction)
            tally["wrong direction"] += int(v @ fun.A @ v > -delta / 2)
    return tally


@dataclass(frozen=True)
class HidingProducts(HessianProducts):
    """Products with errors of a declared size that hide an eigenvector from whoever multiplies."""

    matrix: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    hidden: np.ndarray = field(default_factory=lambda: np.zeros(0))
    size: float = 0.0

    def __call__(self, q: np.ndarray) -> Product:
        exact = self.matrix @ q - self.shift * q
        overlap = float(self.hidden @ q)
        lie = -overlap * (self.hidden @ self.matrix @ self.hidden - 1.0)  # make it look like an eigenvalue of 1
        image = exact + float(np.clip(lie, -self.size, self.size)) * self.hidden
        return Product(image, q, image + self.shift * q)

    def noise(self, shortness: float = 1.0) -> float:
        del shortness
        return self.size


@contextmanager
def declared() -> Iterator[None]:
    """The errors of products are those they declare: none is measured."""

    def none(*_: object, **__: object) -> ProductError:
        return ProductError(0.0)

    measured = mock.patch.object(product_errors, "measured", none)
    with measured, mock.patch.object(product_errors, "against_far_steps", none):
        yield


def adversarial(name: str, runs: int, p: float, seed: int = 1) -> dict[str, int]:
    """False certificates when product errors hide the eigenvector of -1.0001 delta."""
    tally = {"found": 0, "certified": 0, "undecided": 0}
    for run in range(runs):
        rng = np.random.default_rng([TRUTH[seed], run])
        fun, delta = draw(rng, negative=True, most=60)
        fun.c3 = fun.c4 = 0.0
        f = Oracle.of(fun, vectorized=True)
        local = measure(f, fun.centre, curvtol=delta, rng=rng)
        size = float(rng.choice([1e-4, 1e-3, 1e-2, 0.03]))
        truth = {"matrix": fun.A, "hidden": np.linalg.eigh(fun.A)[1][:, 0], "size": size}
        starts = random_starts(rng, local.d)
        with declared():
            if name == "lanczos":
                share = LANCZOS.certificate_share * p
                limits, errors = Thresholds(local.d, share, LANCZOS.plans[0]), _ErrorBudget(p - share, rng)
                products = HidingProducts(local, order=2, shift=-delta, **truth)
                finder = Lanczos(delta=delta, failure=p)
                finding = _Attempt(finder, products, starts, limits, errors).run().finding
            else:
                products = HidingProducts(local, order=2, **truth)
                finding = ZONCFDeterministic(delta=delta, failure=p, ell=1.5)._attempt(products, 1.5, starts)[0]
        tally[finding.outcome.name.lower()] += 1
    return tally


@dataclass
class RandomSum:
    """The same as a finite sum: component i adds 1/2 z'E_i z + g_i'z, with the E_i and g_i summing to zero."""

    whole: RandomFunction
    left: np.ndarray
    right: np.ndarray
    slope: np.ndarray

    def __call__(self, x: np.ndarray, ids: np.ndarray) -> np.ndarray:
        z = x - self.whole.centre
        noise = np.mean((z @ self.left[ids].T) * (z @ self.right[ids].T) + z @ self.slope[ids].T, axis=1)
        return self.whole(x) + noise


def sampled(name: str, runs: int, p: float, *, negative: bool, seed: int = 2) -> dict[str, float]:
    """Outcomes of a finder for sampled functions over random finite sums."""
    tally = {"found": 0, "certified": 0, "undecided": 0, "queries": 0.0, "wrong direction": 0}
    for run in range(runs):
        rng = np.random.default_rng([TRUTH[seed], run, negative])
        fun, delta = draw(rng, negative=negative, most=30)
        d, half = len(fun.centre), int(rng.choice([50, 500]))
        fun.c3 *= 0.01
        fun.c4 *= 0.01
        left, right, slope = rng.standard_normal((3, half, d)) * float(rng.choice([0.1, 0.3])) / math.sqrt(d)
        twice = np.concatenate
        total = RandomSum(fun, twice([left, left]), twice([right, -right]), twice([slope, -slope]))
        f = Oracle.of(total, vectorized=True, samples=2 * half)
        finding = SAMPLED_FINDERS[name](delta=delta, failure=p)(f, fun.centre, rng)
        tally[finding.outcome.name.lower()] += 1
        tally["queries"] += f.ledger.queries / (d + 1) / runs
        if finding.found:
            v = np.asarray(finding.direction)
            tally["wrong direction"] += int(v @ fun.A @ v > -delta / 2)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--most", type=int, default=200, help="largest dimension")
    parser.add_argument("--failure", type=float, default=0.01)
    parser.add_argument("--finders", nargs="*", default=["lanczos", "dense", "auto", "chebyshev"])
    parser.add_argument("--adversarial", nargs="*", default=["lanczos", "chebyshev"])
    parser.add_argument("--sampled", nargs="*", default=["minibatch", "online"])
    parser.add_argument("--sums", type=int, default=200, help="runs of each finder for sampled functions")
    options = parser.parse_args()
    p, runs = options.failure, options.runs
    allowed = p + 3 * math.sqrt(p * (1 - p) / runs)
    print(f"{runs} functions each; misses allowed {allowed:.4f}, undecided allowed 0.0100, false alarms none")
    for name in options.finders:
        report(name, runs, lambda negative, name=name: count(name, runs, p, negative=negative, most=options.most))
    for name in options.adversarial:
        tally = adversarial(name, runs, p)
        print(
            f"{name:10} errors that hide the eigenvector: {tally}; certified allowed {allowed * runs:.0f}", flush=True
        )
    for name in options.sampled:
        report(name, options.sums, lambda negative, name=name: sampled(name, options.sums, p, negative=negative))


def report(name: str, runs: int, outcomes: Callable[[bool], dict[str, float]]) -> None:
    """Two lines: an eigenvalue just past the tolerance, and none past half of it."""
    began = time.perf_counter()
    hidden = outcomes(True)
    print(
        f"{name:10} lambda_min = -1.0001 delta: misses {hidden['certified'] / runs:.4f}, undecided "
        f"{hidden['undecided'] / runs:.4f}, wrong directions {hidden['wrong direction']}, "
        f"queries/(d+1) {hidden['queries']:.1f}",
        flush=True,
    )
    clear = outcomes(False)
    print(
        f"{name:10} lambda_min >= -delta/2:     false alarms {clear['wrong direction']}, undecided "
        f"{clear['undecided'] / runs:.4f}, queries/(d+1) {clear['queries']:.1f} "
        f"({time.perf_counter() - began:.0f} s)",
        flush=True,
    )


if __name__ == "__main__":
    main()
