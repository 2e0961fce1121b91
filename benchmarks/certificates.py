"""The bars of `certify`, measured: octopus, cost, float32, noise, misses under noise, degenerate points.

python benchmarks/certificates.py [octopus] [cost] [float32] [noise] [missed] [degenerate]
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
from seeds import TRUTH

import escapade
from escapade.curvature import FINDERS
from escapade.problems import Cubic, Octopus, OffAxis, Transformed, random_rotation

DELTA = math.sqrt(math.e * 1e-4)
GTOL, CURVTOL = 0.05, 0.1
"""Of the points just beyond a tolerance."""


def octopus(
    finders: tuple[str, ...] = ("auto", "lanczos", "dense", "chebyshev"), dims: tuple[int, ...] = (10, 30, 100)
) -> None:
    """Every saddle and a minimum; plain, f + 1e3, shifted, rotated about the point."""
    for finder in finders:
        for d in dims:
            tally: Counter[str] = Counter()
            queries = {"saddle": 0.0, "minimum": 0.0}
            for k, kind, problem, x, want in octopus_points(d):
                del k, kind
                options = {"finder": finder if finder != "chebyshev" else FINDERS[finder](delta=DELTA, ell=2 * math.e)}
                c = escapade.certify(problem, x, curvtol=DELTA, vectorized=True, rng=0, **options)
                right = c.verdict == want
                if want == "saddle" and right:
                    right = float(c.direction @ problem.hessian(x) @ c.direction) <= -DELTA / 2
                tally["right" if right else f"{c.verdict} for {want}"] += 1
                queries[want] = max(queries[want], c.nfev / (d + 1))
            most = f"{queries['saddle']:.1f} at saddles, {queries['minimum']:.1f} at minima"
            print(f"octopus d={d:3} {finder:10} {dict(tally)}  most queries/(d+1): {most}")


def octopus_points(d: int):
    """(k, kind, problem, point, verdict wanted) for every saddle k and the minimum."""
    rng = np.random.default_rng(d)
    base = Octopus(d=d)
    for k, x in enumerate([*base.saddles, base.minima[0]]):
        want = "saddle" if k < d else "minimum"
        yield k, "plain", base, x, want
        yield k, "offset", Transformed(problem=base, offset=1e3), x, want
        shifted = Transformed(problem=base, shift=rng.standard_normal(d))
        yield k, "shifted", shifted, shifted.inverse(x), want
        rotated = Transformed(problem=base, rotation=random_rotation(d, rng), about=x)
        yield k, "rotated", rotated, rotated.inverse(x), want


def cost(runs: int = 20) -> None:
    """Queries over d + 1 at an octopus minimum and at off-axis saddles, d = 100."""
    base = Octopus(d=100)
    c = escapade.certify(base, base.minima[0], curvtol=DELTA, vectorized=True, rng=0)
    print(f"octopus minimum, d=100: {c.verdict}, {c.nfev / 101:.2f} (d+1) queries; bar 10")
    for finder in ("auto", "chebyshev"):
        spent = []
        for seed in range(runs):
            centre = np.random.default_rng(seed).standard_normal(100)
            problem = OffAxis(d=100, seed=seed, centre=centre, offset=100.0)
            option = finder if finder == "auto" else FINDERS[finder](delta=0.1, ell=3.0)
            c = escapade.certify(problem, centre, curvtol=0.1, vectorized=True, rng=seed, finder=option)
            v = np.asarray(c.direction)
            if c.verdict != "saddle" or v @ problem.hessian(centre) @ v > -0.05:
                print(f"  seed {seed}: {c.verdict}")
            spent.append(c.nfev / 101)
        mean, most = np.mean(spent), np.max(spent)
        print(f"off-axis saddles, d=100, {finder}: mean {mean:.1f}, most {most:.1f} (d+1); bar 12 (auto)")


def family(
    rng: np.random.Generator, dtype: str = "float64", *, easy: bool = True
) -> tuple[Callable, np.ndarray, np.ndarray]:
    """A quadratic with a quartic term about a centre; easy: |f| <= 10, d <= 30, |lambda_min| >= 0.5."""
    d = int(rng.integers(2, 31)) if easy else int(rng.integers(2, 61))
    low = float(rng.choice([-1, 1]) * rng.uniform(0.5, 1)) if easy else float(rng.choice([-0.1001, -0.2, 0.0, 0.3]))
    q = random_rotation(d, rng)
    A = q @ np.diag(np.concatenate([[low], rng.uniform(max(low, 0.5), 3, d - 1)])) @ q.T
    A = ((A + A.T) / 2).astype(dtype)
    centre = rng.standard_normal(d).astype(dtype)
    offset = np.asarray(rng.uniform(-9, 9) if easy else rng.choice([0.0, 100.0, 1e4]), dtype=dtype)

    def fun(x: np.ndarray) -> np.ndarray:
        z = x - centre
        square = np.sum(z * z, axis=1)
        return np.sum((z @ A) * z, axis=1) / 2 + np.asarray(0.025, dtype) * square * square + offset

    return fun, centre, A.astype(float)


def judge(c: escapade.Certificate, H: np.ndarray, delta: float) -> str:
    """ "decided", "undecided", or "FALSE"."""
    low = float(np.linalg.eigvalsh(H)[0])
    if c.verdict == "saddle":
        v = np.asarray(c.direction, dtype=float)
        return "decided" if v @ H @ v <= -delta / 2 + 1e-6 else "FALSE"
    if c.verdict == "undecided":
        return "undecided"
    if c.verdict == "not stationary":
        return "FALSE"
    return "FALSE" if low < -delta or (c.verdict == "minimum" and low <= 0) else "decided"


def float32(runs: int = 1000) -> None:
    """The same certificates from float32 functions."""
    for easy in (True, False):
        tally: Counter[str] = Counter()
        for run in range(runs):
            rng = np.random.default_rng([7, run, easy])
            fun, x, H = family(rng, "float32", easy=easy)
            tally[judge(escapade.certify(fun, x, curvtol=0.1, vectorized=True, rng=rng), H, 0.1)] += 1
        name = "easy" if easy else "hard"
        print(f"float32, {name} family, {runs} runs: {dict(tally)}; bar (easy): no FALSE, 95% decided")


def noise(runs: int = 500) -> None:
    """Additive noise, given and estimated, on the easy family and on one with eigenvalues just past the tolerance."""
    for level, easy in itertools.product((1e-8, 1e-6, 1e-4), (True, False)):
        for declared in (level, "auto"):
            tally: Counter[str] = Counter()
            for run in range(runs):
                rng = np.random.default_rng([11, run])
                fun, x, H = family(rng, easy=easy)
                dirt = np.random.default_rng([12, run])

                def noisy(X, fun=fun, dirt=dirt, level=level):
                    return fun(X) + level * dirt.standard_normal(len(X))

                c = escapade.certify(noisy, x, gtol=1e-2, curvtol=0.1, noise=declared, vectorized=True, rng=rng)
                tally[judge(c, H, 0.1)] += 1
            how, name = "given" if declared == level else "auto", "easy" if easy else "hard"
            print(f"noise {level:.0e}, {how}, {name} family, {runs} runs: {dict(tally)}")


def missed(runs: int = 1000) -> None:
    """Points just beyond a tolerance, by 2%, under random noise near to what hides it: how many are certified."""
    for failure, level, declared in itertools.product((0.05, 0.01, 0.001), (1e-5, 1e-4, 3e-4), ("given", "auto")):
        tally: Counter[str] = Counter()
        for run in range(runs):
            rng = np.random.default_rng([TRUTH[20], run])
            d, steep = int(rng.integers(2, 13)), run % 2 == 0
            q = random_rotation(d, rng)
            low = 0.5 if steep else -1.02 * CURVTOL
            A = q @ np.diag(np.concatenate([[low], rng.uniform(0.5, 3, d - 1)])) @ q.T
            g = (1.02 * GTOL if steep else 0.0) * q[:, 0]
            centre = rng.standard_normal(d)

            def fun(X, A=A, g=g, centre=centre, rng=rng, level=level):
                z = X - centre
                clean = np.sum((z @ A) * z, axis=1) / 2 + z @ g + 0.025 * np.sum(z * z, axis=1) ** 2
                return clean + level * rng.standard_normal(len(X))

            noise = level if declared == "given" else "auto"
            asked = {"gtol": GTOL, "curvtol": CURVTOL, "failure": failure, "noise": noise}
            c = escapade.certify(fun, centre, **asked, vectorized=True, rng=[TRUTH[21], run])
            tally["FALSE" if c.holds else c.verdict] += 1
        most = failure * runs + 3 * math.sqrt(failure * runs)
        print(f"failure {failure:g}, noise {level:g} {declared}: {dict(tally)}; at most {most:.0f} may be FALSE")


def degenerate() -> None:
    """Points that look like minima and are not."""
    cubic = Cubic(d=30, seed=0)
    cases: list[tuple[str, Callable, np.ndarray, float]] = [
        (f"x^3 + y^2 at {a:g}", lambda x: x[0] ** 3 + x[1] ** 2, np.array([a, 0.0]), 0.1)
        for a in (1e-4, 1e-3, 1e-2, 1e-1)
    ]
    cases += [
        ("flat valley", lambda x: (x[0] + 2 * x[1] - 3) ** 2, np.array([1.0, 1.0]), 1e-4),
        ("monkey saddle", lambda x: x[0] ** 3 - 3 * x[0] * x[1] ** 2, np.zeros(2), 1e-4),
        ("x^4 + y^2", lambda x: x[0] ** 4 + x[1] ** 2, np.zeros(2), 1e-4),
        ("rotation-invariant minimum", cubic, cubic.minima[0], 1e-2),
    ]
    for name, fun, x, gtol in cases:
        for seed in range(5):
            c = escapade.certify(fun, x, gtol=gtol, rng=seed)
            if seed == 0 or c.verdict == "minimum":
                print(f"{name:28} {c.verdict:14} curvature {c.curvature}")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["octopus", "cost", "float32", "noise", "missed", "degenerate"]
    for part in chosen:
        began = time.perf_counter()
        parts = {"octopus": octopus, "cost": cost, "float32": float32, "noise": noise, "missed": missed}
        (parts | {"degenerate": degenerate})[part]()
        print(f"  ({part}: {time.perf_counter() - began:.0f} s)")
