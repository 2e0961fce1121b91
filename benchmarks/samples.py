"""Averages over samples: what a certified minimum costs beside the whole sum, ZO-SGD and SPSA; and false certificates.

    python benchmarks/samples.py table [--n 10000 100000] [--seeds 2] [--peers]
    python benchmarks/samples.py cells [--n 10000] [--seeds 5] [--problems cubic ...]
    python benchmarks/samples.py streams
    python benchmarks/samples.py levels
    python benchmarks/samples.py truth [--failure .05] [--draws 2000] [--kinds gaussian ...]

Queries are in N = n (d + 1), one forward gradient of the whole sum. `table`: medians over seeds, from the saddle at 0
and from random starts. `cells`: each run beside whole-sum `auto` from the same start, and what exact derivatives say of
its certificate. `truth`: x is fitted on 1,000 samples; then the sum is given a Hessian whose smallest eigenvalue there
is 2% beyond the tolerance, and certified: every certificate that holds is false. `levels`: the same test along one
direction, at the boundary itself, over four looks at 1,024 to 8,192 samples: where it passes, it is false.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sampled_problems import SYNTHETIC, SampledProblem, real
from seeds import SAMPLES

import escapade
from escapade import budget
from escapade.certificate.settings import RULES
from escapade.curvature.settings import GROUP_SEARCH
from escapade.derivatives.groups import critical, standard_error
from escapade.derivatives.settings import GROUPS
from escapade.problems import StreamCubic

GTOL = 1e-3
CURVTOL = math.sqrt(GTOL)
PEER_BUDGET = 20.0
"""Gradients of the whole sum that ZO-SGD and SPSA may spend."""


def start_of(p: SampledProblem, kind: str, seed: int) -> Any:
    """The saddle, or a random point around it."""
    return p.saddle if kind == "saddle" else p.saddle + np.random.default_rng(seed).standard_normal(p.d)


def is_minimum(p: SampledProblem, x: Any, slack: float = 1.0) -> bool:
    """By exact derivatives."""
    if np.linalg.norm(p.gradient(x)) > slack * GTOL:
        return False
    return bool(np.linalg.eigvalsh(p.hessian(x))[0] >= -slack * CURVTOL)


def sampled(p: SampledProblem, x0: Any, seed: int, **options: Any) -> Any:
    """The default, on samples."""
    return escapade.minimize(
        p.sample_value, x0, samples=p.n, vectorized=True, gtol=GTOL, curvtol=CURVTOL, rng=seed, **options
    )


def whole(p: SampledProblem, x0: Any, seed: int) -> Any:
    """`auto` on the whole sum."""
    return escapade.minimize(p.whole, x0, vectorized=True, gtol=GTOL, curvtol=CURVTOL, rng=seed)


def made(name: str, n: int, seed: int) -> SampledProblem:
    """A problem on data of this seed; real data has its own n."""
    return SYNTHETIC[name](n, seed=seed) if name in SYNTHETIC else real(name)


# Peers: what they need until exact derivatives say that x is a minimum


def until(p: SampledProblem, steps: Any) -> float:
    """N until an iterate is a minimum, or infinity after the budget. `steps` yields (queries, x)."""
    N, due = p.n * (p.d + 1), 0.0
    for queries, x in steps:
        if queries / N >= due:
            due = queries / N + 0.1
            if is_minimum(p, x):
                return float(queries / N)
        if queries / N > PEER_BUDGET or not np.all(np.isfinite(x)):
            break
    return math.inf


def spsa(p: SampledProblem, x0: Any, seed: int, batch: int = 256) -> Any:
    """Spall (1998): gains a / (k + 1 + A)^0.602 and c / (k + 1)^0.101, two values a step, a as his rule has it."""
    rng, x, queries = np.random.default_rng(seed), np.array(x0, dtype=float), 0
    most = int(PEER_BUDGET * p.n * (p.d + 1) / (2 * batch))
    A, c = 0.1 * most, 1e-3

    def slope(x: Any, k: int) -> Any:
        step, ids = c / (k + 1) ** 0.101, rng.integers(0, p.n, batch)
        way = rng.choice([-1.0, 1.0], p.d)
        up, down = p.sample_value(np.stack([x + step * way, x - step * way]), ids)
        return (up - down) / (2 * step) * way

    first = np.mean([np.abs(slope(x, 0)).mean() for _ in range(20)])
    a = 0.1 * (A + 1) ** 0.602 / max(first, 1e-2)
    for k in range(most):
        x = x - a / (k + 1 + A) ** 0.602 * slope(x, k)
        queries += 2 * batch
        yield queries, x


def zo_sgd(p: SampledProblem, x0: Any, seed: int) -> float:
    """ZO-SGD of the library, with its estimated constants."""
    N, last = p.n * (p.d + 1), [0.0, math.inf]

    def look(intermediate_result: Any) -> None:
        spent = intermediate_result.nfev / N
        if spent >= last[0]:
            last[0] = spent + 0.5
            if is_minimum(p, np.asarray(intermediate_result.x)):
                last[1] = spent
                raise StopIteration

    escapade.minimize(
        p.sample_value, x0, samples=p.n, vectorized=True, method="zo-sgd", gtol=GTOL, curvtol=CURVTOL, rng=seed,
        maxfev=int(PEER_BUDGET * N), callback=look,
    )
    return last[1]


# Commands


def table(args: argparse.Namespace) -> None:
    """Medians of N to a certified minimum."""
    print(f"{'problem':14} {'start':7} {'n':>7}  {'sampled':>8} {'whole':>8} {'certified':>9}  ZO-SGD    SPSA")
    for name in args.problems:
        for n in args.n:
            for kind in ("saddle", "random"):
                ours, theirs, held, peers = [], [], 0, [[], []]
                for seed in SAMPLES[: args.seeds]:
                    p = made(name, n, seed)
                    x0, N = start_of(p, kind, seed), p.n * (p.d + 1)
                    one = sampled(p, x0, seed)
                    held += one.success
                    ours.append(one.nfev / N)
                    if args.whole:
                        theirs.append(whole(p, x0, seed).nfev / (p.d + 1))
                    if args.peers:
                        peers[0].append(zo_sgd(p, x0, seed))
                        peers[1].append(until(p, spsa(p, x0, seed)))
                shown = [f"{np.median(v):8.1f}" if v else "       -" for v in (ours, theirs, *peers)]
                print(f"{name:14} {kind:7} {n:7}  {shown[0]} {shown[1]} {held:>5}/{len(ours):<3} {shown[2]} {shown[3]}",
                      flush=True)


def cells(args: argparse.Namespace) -> None:
    """Every run beside whole-sum `auto` from the same start."""
    false, lost, over = 0, 0, 0
    for name in args.problems:
        for n in args.n if name in SYNTHETIC else [0]:
            for kind in ("saddle", "random"):
                ratios, held, others = [], 0, 0
                for seed in SAMPLES[: args.seeds]:
                    p = made(name, n, seed)
                    x0 = start_of(p, kind, seed)
                    one, other = sampled(p, x0, seed), whole(p, x0, seed)
                    ratios.append(one.nfev / p.n / other.nfev)
                    held, others = held + one.success, others + other.success
                    false += one.success and not is_minimum(p, one.x, 1 + 1e-6)
                    lost += other.success and not one.success
                over += max(ratios) > 2
                told = " ".join(f"{r:.2f}" for r in ratios)
                print(f"{name:14} {kind:7} n={p.n:<7} median {np.median(ratios):.2f}  of {told}  "
                      f"certified {held}, whole {others}, lost so far {lost}, false so far {false}", flush=True)
    print(f"false certificates {false}, not certified where the whole sum was {lost}, cells with a run above 2: {over}")


def streams(args: argparse.Namespace) -> None:
    """The cubic problem as a stream."""
    for gtol in (0.3, 0.1):
        for seed in SAMPLES[: args.seeds]:
            p = StreamCubic(d=20, seed=seed)
            one = escapade.minimize(
                p.sample_value, np.zeros(20), samples="stream", vectorized=True, gtol=gtol, rng=seed
            )
            g = np.linalg.norm(p.gradient(np.asarray(one.x)))
            low = np.linalg.eigvalsh(p.hessian(np.asarray(one.x)))[0]
            told = f"{one.stop.name}, |g| = {g:.2g}, lambda = {low:.2g}"
            print(f"gtol {gtol}: {one.nfev:.2g} samples, {told}", flush=True)


DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": lambda rng, shape: (math.exp(0.5) - np.exp(rng.standard_normal(shape))) / 2.1612,
    "student": lambda rng, shape: rng.standard_t(5, shape) / math.sqrt(5 / 3),
    "rare": lambda rng, shape: -np.sqrt(1e3) * (rng.random(shape) < 1e-3),
}
"""Curvatures of samples, of unit deviation, with the long tail to the dangerous side."""


def drawn(kind: str, seed: int, n: int, d: int, beyond: float) -> tuple[Any, Any]:
    """A sum of n cubics, and a point fitted on 1,000 of them, where its Hessian ends at -beyond * CURVTOL."""
    rng = np.random.default_rng([SAMPLES[-1], seed])
    xi, zeta = 0.3 * DRAWS[kind](rng, (n, d)), 0.01 * rng.standard_normal((n, d))
    A = np.linspace(1.0, 2.0, d)
    some = rng.choice(n, 1000, replace=False)
    x = -zeta[some].mean(axis=0) / (A + xi[some].mean(axis=0))
    A = A - (A + xi.mean(axis=0) + 2 * x)  # the curvature of the whole sum at x is 0 along each variable
    A[0] -= beyond * CURVTOL
    A[1:] += np.linspace(0.0, 1.0, d - 1)
    slope = -(zeta.mean(axis=0) + (A + xi.mean(axis=0)) * x + x**2)

    def fun(X: Any, ids: Any) -> Any:
        own, shift = A + xi[ids].mean(axis=0), slope + zeta[ids].mean(axis=0)
        return 0.5 * (X * X) @ own + X @ shift + np.sum(X**3, axis=1) / 3

    return fun, x


def truth(args: argparse.Namespace) -> None:
    """The share of false certificates at the boundary."""
    n, d = 20_000, 2
    for kind in args.kinds:
        holds = stated = 0
        for seed in range(args.draws):
            fun, x = drawn(kind, seed, n, d, args.beyond)
            seen = escapade.certify(
                fun, x, samples=n, vectorized=True, gtol=GTOL, curvtol=CURVTOL, failure=args.failure, rng=seed,
                evidence=args.evidence,
            )
            holds += seen.holds
            rarity = seen.trusted.get("samples rarer than")
            stated += seen.holds and rarity is not None and rarity.value > 1e-3
        allowed = args.failure * args.draws + 3 * math.sqrt(args.failure * args.draws)
        extra = f", {stated} of them exclude kinds rarer than 1 in 1,000 by name" if kind == "rare" else ""
        print(f"{kind:10} failure {args.failure}: {holds} false of {args.draws} ({holds / args.draws:.4f}), "
              f"allowed {allowed:.1f}{extra}", flush=True)


def levels(args: argparse.Namespace) -> None:
    """How often the test along one direction passes at the boundary, in four looks."""
    rng, each = np.random.default_rng(SAMPLES[-2]), 2000
    for kind in list(DRAWS)[:3]:
        for p, many in ((0.05, 10), (0.01, 10), (0.001, 20)):
            false = 0
            for _ in range(many):
                groups, size, passed = np.zeros((GROUPS.count, each)), 0, np.zeros(each, dtype=bool)
                for look, new in enumerate((8, 8, 16, 32), 1):
                    more = DRAWS[kind](rng, (GROUPS.count, new, each)).mean(axis=1)
                    groups, size = (groups * size + more * new) / (size + new), size + new
                    share = GROUP_SEARCH.lower * budget.halves(budget.of_attempt(RULES.samples * p, look))
                    passed |= groups.mean(axis=0) - critical(groups, share) * standard_error(groups) >= 0
                false += int(passed.sum())
            draws = many * each
            allowed = p * draws + 3 * math.sqrt(p * draws)
            print(f"{kind:10} failure {p}: {false} of {draws} ({false / draws:.5f}), allowed {allowed:.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["table", "cells", "streams", "truth", "levels"])
    parser.add_argument("--problems", nargs="+", default=list(SYNTHETIC)[:4])
    parser.add_argument("--n", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--no-whole", dest="whole", action="store_false")
    parser.add_argument("--failure", type=float, default=0.05)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--beyond", type=float, default=1.02)
    parser.add_argument("--evidence", default="sampled")
    parser.add_argument("--kinds", nargs="+", default=list(DRAWS))
    args = parser.parse_args()
    {"table": table, "cells": cells, "streams": streams, "truth": truth, "levels": levels}[args.command](args)


if __name__ == "__main__":
    main()
