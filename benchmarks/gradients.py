"""What gradients are worth, and whether what is said from them is true.

    python benchmarks/gradients.py clusters            # minima of Lennard-Jones clusters, certified with jac=
    python benchmarks/gradients.py network             # a two-layer tanh network of 9,901 weights; needs jax
    python benchmarks/gradients.py planted --runs 40   # saddles just beyond the tolerance: misses, at most p
    python benchmarks/gradients.py check --runs 4      # right gradients that are refused, wrong ones that are named
    python benchmarks/gradients.py runs                # auto with and without gradients, and BFGS

Seeds: `GRADIENTS`; those of `check`, which chose its numbers, are `GRADIENTS_TUNING`.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.optimize
from seeds import GRADIENTS, GRADIENTS_TUNING

import escapade
from escapade.derivatives.gradient_check import check_gradient
from escapade.derivatives.units import lengths
from escapade.errors import WrongGradient
from escapade.oracle import Failures, Oracle
from escapade.problems import LennardJones, LinearNetwork, Octopus

Vector = np.ndarray
Pair = tuple[Callable[[Vector], float], Callable[[Vector], Vector]]


def rosen(x: Vector) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def slope(x: Vector) -> Vector:
    g = np.zeros_like(x)
    g[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return g


def clusters(runs: int) -> None:
    """Certificates of minima, by the tolerances of the library's own and by absolute ones."""
    for atoms in (5, 8, 13, 20):
        p = LennardJones(atoms=atoms)
        for seed in GRADIENTS[:runs]:
            x = 0.8 * np.random.default_rng(seed).standard_normal(p.d) * atoms ** (1 / 3)
            with np.errstate(all="ignore"):
                for _ in range(3):
                    options = {"gtol": 1e-11, "maxiter": 4000}
                    x = scipy.optimize.minimize(p, x, jac=p.gradient, method="BFGS", options=options).x
            for given in ({}, {"gtol": 1e-4, "curvtol": 1e-2}):
                c = escapade.certify(p, x, jac=p.gradient, rng=seed, **given)
                print(f"{atoms} atoms, d = {p.d}: {c.verdict}, {c.njev} gradients ({c.njev / p.d:.2f} d), "
                      f"{c.nfev} values", flush=True)


def network(runs: int) -> None:
    """A least-squares fit by a network with weight decay, at 1e-3 of its largest curvature."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    for seed in GRADIENTS[:runs]:
        rng = np.random.default_rng(seed)
        X, inner, outer = rng.standard_normal((200, 20)), 20, 450
        Y = np.sin(X[:, 0]) + 0.5 * np.cos(2 * X[:, 1])
        cut = inner * outer

        def loss(w: Any, X: Vector = X, Y: Vector = Y, cut: int = cut, inner: int = inner, outer: int = outer) -> Any:
            hidden = jnp.tanh(X @ w[:cut].reshape(inner, outer) + w[cut : cut + outer])
            seen = hidden @ w[cut + outer : cut + 2 * outer] + w[-1]
            return jnp.mean((seen - Y) ** 2) + 5e-4 * jnp.sum(w * w)

        both, times = jax.jit(jax.value_and_grad(loss)), jax.jit(lambda w, v: jax.jvp(jax.grad(loss), (w,), (v,))[1])

        def pair(w: Vector, both: Any = both) -> tuple[float, Vector]:
            value, g = both(w)
            return float(value), np.asarray(g)

        w = rng.standard_normal(cut + 2 * outer + 1) * np.sqrt(1 / inner)
        for name, steps in (("trained", 6000), ("half trained", 300)):
            x, options = w, {"maxiter": steps, "maxfun": 2 * steps, "ftol": 0, "gtol": 1e-9, "maxcor": 30}
            for _ in range(5 if steps > 1000 else 1):
                x = scipy.optimize.minimize(pair, x, jac=True, method="L-BFGS-B", options=options).x
            v = rng.standard_normal(len(x))
            for _ in range(60):
                v = np.asarray(times(x, v / np.linalg.norm(v)))
            largest = float(np.linalg.norm(v))
            size = float(np.linalg.norm(pair(x)[1]))
            given = {"gtol": max(1e-6 * largest, 2 * size), "curvtol": 1e-3 * largest}
            c = escapade.certify(pair, x, jac=True, rng=seed, **given)
            print(f"{name}, d = {len(x)}, |g| = {size:.1e}, largest curvature {largest:.2f}: {c.verdict}, {c.njev} "
                  f"gradients, {c.nfev} values; curvature in {c.curvature}; {c.reason}", flush=True)


def planted(runs: int) -> None:
    """The lowest eigenvalue just below minus the tolerance, the Hessian exact; a certificate that holds is a miss."""
    delta = 1e-2
    for failure in (0.1, 1e-3):
        out: Counter[str] = Counter()
        for d in (2, 5, 10, 30, 60, 120, 200):
            for noise in (0.0, 1e-10, 1e-7, 1e-5):
                for seed in GRADIENTS[:runs]:
                    rng = np.random.default_rng([seed, d])
                    own = [
                        *(rng.uniform(0, 1, d), 10 ** rng.uniform(-4, 0, d), np.where(rng.random(d) < 0.1, 1.0, 0.01)),
                        np.where(rng.random(d) < 0.3, 0.0, rng.uniform(0, 1, d)),
                    ][seed % 4]
                    own[0] = -delta * (1 + 1e-6)
                    fun, jac = bent(own, rng)

                    def noisy(x: Vector, jac: Any = jac, noise: float = noise, rng: Any = rng, d: int = d) -> Vector:
                        return np.asarray(jac(x) + noise * rng.standard_normal(d))

                    given = {"gtol": 1e-3, "curvtol": delta, "failure": failure, "rng": rng}
                    try:
                        c = escapade.certify(fun, np.zeros(d), jac=noisy, **given)
                        out["missed" if c.holds else c.verdict] += 1
                    except WrongGradient:
                        out["refused"] += 1
            print(f"p = {failure}, d <= {d}: {dict(out)}, {sum(out.values())} runs", flush=True)


def bent(own: Vector, rng: np.random.Generator) -> Pair:
    """A quadratic of these curvatures in a random basis, and terms of third and fourth order."""
    d = len(own)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    H, A = (Q * own) @ Q.T, rng.standard_normal((3, d)) / np.sqrt(d)

    def fun(x: Vector) -> float:
        return float(x @ H @ x / 2 + 0.3 * np.sum((A @ x) ** 3) + np.sum((A @ x) ** 4))

    return fun, lambda x: H @ x + A.T @ (0.9 * (A @ x) ** 2 + 4 * (A @ x) ** 3)


def right(d: int, rng: np.random.Generator) -> Iterator[tuple[str, Any, Any, Vector]]:
    """Functions with right gradients, most of which differences see badly."""
    fun, jac = bent(10 ** rng.uniform(-6, 0, d), rng)
    scale, normal, lj = 10.0 ** rng.uniform(-9, 9, d), rng.standard_normal, LennardJones(atoms=max(4, d // 3))
    single = np.float32
    yield "plain", rosen, slope, normal(d)
    yield "at a minimum", rosen, slope, np.ones(d)
    yield "ill-conditioned", fun, jac, normal(d)
    yield "at 0", fun, jac, np.zeros(d)
    yield "cluster", lambda x: float(lj(x)), lj.gradient, lj.saddles[0]
    yield "scaled", lambda x: rosen(x / scale), lambda x: slope(x / scale) / scale, normal(d) * scale
    yield "offset", lambda x: rosen(x) + 1e8, slope, normal(d)
    yield "steep", lambda x: float(np.sum(np.exp(20 * x))), lambda x: 20 * np.exp(20 * x), normal(d)
    yield "kinked", lambda x: float(np.sum(np.abs(x))), np.sign, normal(d)
    ripples = normal(d)
    yield "ripples", lambda x: rosen(x) + 1e-4 * np.sum(np.sin(1e4 * x)), lambda x: slope(x) + np.cos(1e4 * x), ripples
    yield "noise", lambda x: rosen(x) + normal(), slope, normal(d)
    yield "small noise", lambda x: rosen(x) + 1e-3 * normal(), slope, normal(d)
    yield "relative noise", lambda x: rosen(x) * (1 + 1e-2 * normal()), slope, normal(d)
    yield "float32", lambda x: single(rosen(x.astype(single))), lambda x: slope(x.astype(single)), normal(d)
    yield "float32 gradient", rosen, lambda x: slope(x.astype(single)).astype(single), np.ones(d) + 1e-9
    yield "six digits", lambda x: float(f"{rosen(x):.5e}"), slope, normal(d)
    yield "three digits", lambda x: float(f"{rosen(x):.2e}"), slope, normal(d)
    yield "noisy gradient", rosen, lambda x: slope(x) + 0.1 * normal(d), normal(d)
    yield "noisy gradient at 0", fun, lambda x: jac(x) + 1e-3 * normal(d), np.zeros(d)
    yield "inexact gradient", rosen, lambda x: slope(x) * (1 + 1e-3 * normal(d)), normal(d)
    yield "constant", lambda x: 3.0, lambda x: 0 * x, normal(d)


WRONG: dict[str, Callable[[Vector, int], float]] = {
    "sign": lambda g, i: -g[i],
    "twice": lambda g, i: 2 * g[i],
    "missing": lambda g, i: 0.0,
    "another's": lambda g, i: g[i - 1],
}


def check(runs: int) -> None:
    """Right gradients refused, and wrong coordinates named."""
    refused: Counter[str] = Counter()
    asked: dict[str, list[int]] = {}
    named: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for seed in GRADIENTS_TUNING[:runs]:
        for d in (2, 8, 30, 100):
            for kind, fun, jac, x in right(d, np.random.default_rng(seed)):
                f = Oracle.of(fun, jac=jac, failures=Failures("raise", "omit"))
                refused[kind] += refuses(f, x, seed) is not None
                asked.setdefault(kind, []).append(f.ledger.queries)
                for wrong, change in WRONG.items():
                    i = int(np.random.default_rng(seed).integers(d))

                    def off(x: Vector, jac: Any = jac, change: Any = change, i: int = i) -> Vector:
                        g = np.array(jac(x))
                        g[i] = change(g, i)
                        return g

                    f = Oracle.of(fun, jac=off, failures=Failures("raise", "omit"))
                    named[wrong, kind] += refuses(f, x, seed) == i
                    total[wrong, kind] += 1
    print(f"right gradients: {sum(refused.values())} of {sum(map(len, asked.values()))} refused")
    for kind, counts in asked.items():
        shown = ", ".join(f"{wrong} {named[wrong, kind]}/{total[wrong, kind]}" for wrong in WRONG)
        print(f"  {kind:20} {int(np.median(counts)):3} values, {max(counts)} at most; wrong coordinates named: {shown}")


def refuses(f: Oracle, x: Vector, seed: int) -> int | None:
    try:
        check_gradient(f, x, lengths(x), np.random.default_rng(seed))
    except WrongGradient as error:
        return error.coordinate
    return None


def runs_(runs: int) -> None:
    """`auto` with gradients and without, and BFGS."""
    cases: list[tuple[str, Any, Any, Vector]] = [
        (f"rosenbrock {d}", rosen, slope, np.tile([-1.2, 1.0], d)[:d]) for d in (2, 5, 10, 50)
    ]
    problems = (Octopus(d=10), LennardJones(atoms=5), LennardJones(atoms=8), LinearNetwork(widths=(3, 4, 3)))
    cases += [(f"{p.name} {p.d}", lambda x, p=p: float(p(x)), p.gradient, np.asarray(p.start)) for p in problems]
    for name, fun, jac, x in cases:
        for seed in GRADIENTS[:runs]:
            mine, plain = (escapade.minimize(fun, x, rng=seed, maxfev=200_000, **o) for o in ({"jac": jac}, {}))
            bfgs = scipy.optimize.minimize(fun, x, jac=jac, method="BFGS")
            print(f"{name}: {mine.stop.name} at {mine.fun:.6g}, {mine.njev} gradients and {mine.nfev} values; without "
                  f"{plain.stop.name} at {plain.fun:.6g}, {plain.nfev} values; BFGS at {bfgs.fun:.6g}, {bfgs.njev}",
                  flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    studies = {"clusters": clusters, "network": network, "planted": planted, "check": check, "runs": runs_}
    parser.add_argument("study", choices=list(studies))
    parser.add_argument("--runs", type=int, default=2)
    asked_ = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        studies[asked_.study](asked_.runs)
