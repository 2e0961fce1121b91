"""Values as people have them: how low a budget leads where f is noisy, rounded, on a mesh or has missing points.

    pip install optiprofiler Py-BOBYQA cma
    python benchmarks/values.py peers [--part P] [--every K] [--seeds S]    the peers, kept in results/values-peers.json
    python benchmarks/values.py run [--part P] [--every K] [--seeds S]      escapade, and the table
    python benchmarks/values.py table [--picture FILE]                      the table from what is kept, and a picture
    python benchmarks/values.py alarms                                      exact functions that look noisy at a start
    python benchmarks/values.py rosenbrock                                  float32 and printed values, 20 starts
    python benchmarks/values.py ode [--seeds S]                             fits of differential equations, rtol 1e-3
    python benchmarks/values.py large [--every K]                           twenty to thirty variables, beside COBYQA

S2MPJ problems of at most ten variables, a budget of 100 (n + 1) queries. What counts is the exact f of the point that a
solver returned, as a share of the fall from f(x0) to the lowest value that any run reached, those of `auto` on exact
values with ten times the budget among them. Nothing is told to anyone, except that Py-BOBYQA is told of noise, and that
CMA-ES returns its favourite there. A success is false if the exact gradient, in the units of its certificate, exceeds
the tolerance claimed. Seeds: `VALUES`; part "tune" (every third problem) and the last of the seeds are for tuning.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from missing import Holed
from s2mpj import S2MPJ, load, names
from scale import SYSTEMS, loss
from scipy.optimize import minimize as scipy_minimize
from seeds import VALUES
from solvers import HUGE

import escapade
from escapade.derivatives.units import lengths, typical_curvature
from escapade.derivatives.values import look
from escapade.oracle import Failures, Oracle

RESULTS = Path(__file__).parent / "results"
LEVELS = (1e-2, 1e-4)
SLOW = ("FBRAIN3LS", "VESUVIALS", "VESUVIOLS", "VESUVIOULS")
"""Sums of a thousand terms and more."""

Fun = Callable[[np.ndarray], float]


class Spent(Exception):
    """The budget of a solver is spent."""


# Features: each makes what a solver sees of an exact function


def noisy(level: float) -> Callable[[Fun, np.ndarray, int], Fun]:
    def make(fun: Fun, start: np.ndarray, seed: int) -> Fun:
        rng = np.random.default_rng(seed)

        def seen(x: np.ndarray) -> float:
            value = fun(x)
            return value + max(1.0, abs(value)) * level * float(rng.standard_normal())

        return seen

    return make


def mesh(pitch: float, *, shifted: bool = False) -> Callable[[Fun, np.ndarray, int], Fun]:
    def make(fun: Fun, start: np.ndarray, seed: int) -> Fun:
        shift = np.random.default_rng(seed).uniform(0, pitch, len(start)) if shifted else 0.0
        return lambda x: fun(pitch * np.round((x - shift) / pitch) + shift)

    return make


def holed(kind: str) -> Callable[[Fun, np.ndarray, int], Fun]:
    return lambda fun, start, seed: Holed(fun, start, kind, 0.05, seed)


FEATURES: dict[str, Callable[[Fun, np.ndarray, int], Fun]] = {
    "plain": lambda fun, start, seed: fun,
    "noise 1e-6": noisy(1e-6),
    "noise 1e-3": noisy(1e-3),
    "noise 1e-1": noisy(1e-1),
    "six digits": lambda fun, start, seed: lambda x: float(f"{fun(x):.5e}"),
    "float32": lambda fun, start, seed: lambda x: float(np.float32(fun(x))),
    "mesh 1e-3": mesh(1e-3),
    "mesh 0.00137": mesh(0.00137),
    "mesh shifted": mesh(1e-3, shifted=True),
    "NaN speckled": holed("speckled"),
    "NaN regions": holed("waves"),
}
RANDOM = ("noise 1e-6", "noise 1e-3", "noise 1e-1", "mesh shifted", "NaN speckled", "NaN regions")
"""Features that differ from seed to seed."""
COUNTED = [name for name in FEATURES if name != "noise 1e-1"]
"""Those of the mean; at a noise of a tenth the levels ask for more than there is, and the shares are reported alone."""


@dataclass
class Counted:
    """What a solver sees, up to its budget; the lowest value seen and its point."""

    fun: Fun
    budget: int
    failed: float = HUGE
    queries: int = 0
    best: float = math.inf
    x: np.ndarray | None = None

    def __call__(self, x: np.ndarray) -> float:
        if self.queries >= self.budget:
            raise Spent
        self.queries += 1
        x = np.array(x, dtype=float)
        value = float(self.fun(x))
        value = value if abs(value) < HUGE else self.failed
        if value < self.best or self.x is None:
            self.best, self.x = value, x
        return value


# Solvers: each returns its answer, and the peers whether they say that it is a solution


def ours(f: Counted, x: np.ndarray, feature: str, seed: int) -> Any:
    f.failed = math.nan
    return escapade.minimize(f, x, maxfev=f.budget, rng=seed, on_error="stop", nan_policy="omit")


def of_scipy(method: str, **options: Any) -> Callable[..., Any]:
    def solve(f: Counted, x: np.ndarray, feature: str, seed: int) -> Any:
        result = scipy_minimize(f, x, method=method, options={"maxiter": 10**6} | options)
        return result.x, bool(result.success)

    return solve


def bobyqa(f: Counted, x: np.ndarray, feature: str, seed: int) -> Any:
    import pybobyqa

    told = {"objfun_has_noise": feature.startswith("noise")}
    result = pybobyqa.solve(f, x, maxfun=f.budget, do_logging=False, print_progress=False, **told)
    return result.x, result.flag == result.EXIT_SUCCESS


def cma_es(f: Counted, x: np.ndarray, feature: str, seed: int) -> Any:
    import cma

    fun: Fun = f
    if len(x) == 1:  # it has no place for a single variable
        x, fun = np.append(x, 0.0), lambda y: f(y[:1])
    options = {"verbose": -9, "seed": 1 + seed, "tolfun": 0, "tolfunhist": 0}
    search = cma.CMAEvolutionStrategy(x, 0.3 * max(1.0, float(np.max(np.abs(x)))), options)
    success = False
    try:
        while not search.stop():
            points = search.ask()
            search.tell(points, [fun(y) for y in points])
        success = True
    except Spent:
        pass
    favourite = search.result.xfavorite if feature.startswith("noise") else f.x
    return None if favourite is None else favourite[: len(f.x)], success  # type: ignore[arg-type]


PEERS: dict[str, Callable[..., Any]] = {
    "COBYQA": of_scipy("COBYQA", final_tr_radius=1e-8, maxfev=10**6),
    "Py-BOBYQA": bobyqa,
    "CMA-ES": cma_es,
    "Nelder-Mead": of_scipy("Nelder-Mead", adaptive=True, xatol=1e-10, fatol=1e-14, maxfev=10**6),
    "Powell": of_scipy("Powell", xtol=1e-8, ftol=1e-14, maxfev=10**6),
}


def answer(solver: str, p: Any, feature: str, seed: int, budget: int) -> dict[str, Any]:
    """The record of one run: exact f of its answer, and what was claimed."""
    f = Counted(FEATURES[feature](p, p.start, seed), budget)
    x, record = None, {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if solver == "escapade":
                result = ours(f, p.start.copy(), feature, seed)
                x, record = result.x, claimed(p, result)
            else:
                x, success = PEERS[solver](f, p.start.copy(), feature, seed)
                record = said(p, x) if success and x is not None and isinstance(p, S2MPJ) else {}
        except Spent:
            pass
        except Exception as error:
            record = {"raised": f"{type(error).__name__}: {str(error)[:100]}"}
        x = f.x if x is None else np.asarray(x, dtype=float)
        exact = p.model if isinstance(p, Fit) else p
        record |= {"f": float(exact(p.start if x is None else x)), "queries": f.queries}
    return record


def claimed(p: Any, result: Any) -> dict[str, Any]:
    """How a run of ours ended, and by what factor the exact gradient exceeds the tolerance of a success."""
    record: dict[str, Any] = {"stop": result.stop.name, "handed": any(step.estimated for step in result.history)}
    if result.success and isinstance(p, S2MPJ):
        c = result.certificate
        size = float(np.linalg.norm(p.derivatives(result.x)[0] * c.units.lengths))
        record |= {"success": True, "excess": size / c.gtol}
    return record


def said(p: S2MPJ, x: np.ndarray) -> dict[str, Any]:
    """That a peer says its answer is a solution, and by what factor the exact gradient there exceeds the tolerance that
    escapade asks for: a millionth of the typical curvature, over the lengths of the variables."""
    g, H = p.derivatives(x)
    s = lengths(x, p.start)
    tolerance = 1e-6 * (typical_curvature(np.abs(np.diag(H)) * s**2) or 1.0)
    return {"success": True, "excess": float(np.linalg.norm(g * s)) / tolerance}


# Runs


def chosen(part: str, every: int) -> list[str]:
    """Every third problem is for tuning; the others are reported."""
    all_names = [name for name in names(10) if name not in SLOW]
    some = all_names[::3] if part == "tune" else [name for k, name in enumerate(all_names) if k % 3]
    return some[::every]


@dataclass
class Store:
    """Records by solver, problem, feature and seed, in one file of `results/`."""

    path: Path
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            self.records = json.loads(self.path.read_text())

    def save(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        lines = (f"{json.dumps(key)}: {json.dumps(self.records[key])}" for key in sorted(self.records))
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def seeds_of(feature: str, part: str, many: int) -> range:
    some = VALUES[-many:] if part == "tune" else VALUES[:many]
    return some if feature in RANDOM else some[:1]


def perform(solvers: list[str], args: argparse.Namespace, store: Store, *, again: bool = False) -> None:
    for name in chosen(args.part, args.every):
        p = loaded(name)
        if p is None:
            continue
        for solver in solvers:
            for feature in args.features or FEATURES:
                for seed in seeds_of(feature, args.part, args.seeds):
                    key = f"{solver}|{name}|{feature}|{seed}"
                    if again or key not in store.records:
                        store.records[key] = answer(solver, p, feature, seed, 100 * (p.d + 1))
        key = f"reference|{name}|plain|0"
        if "escapade" not in solvers and key not in store.records:
            store.records[key] = answer("escapade", p, "plain", 0, 1000 * (p.d + 1))
            store.records[key] |= {"first": float(p(p.start)), "d": p.d}
        store.save()
        print(f"  {name} (d = {p.d})", flush=True)


def loaded(name: str) -> Any:
    try:
        p = load(name)
    except Exception:  # not written as S2MPJ's own values are
        return None
    with np.errstate(all="ignore"):
        return p if math.isfinite(p(p.start)) else None


def lowest(records: dict[str, dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """f(x0) and the lowest f that any run reached, of each problem that has a reference."""
    best: dict[str, float] = defaultdict(lambda: math.inf)
    first = {}
    for key, record in records.items():
        solver, name, *_ = key.split("|")
        if math.isfinite(record["f"]):
            best[name] = min(best[name], record["f"])
        if solver == "reference":
            first[name] = record["first"]
    return {name: (value, best[name]) for name, value in first.items() if value > best[name]}


def table(records: dict[str, dict[str, Any]], part: str, every: int, many: int) -> dict[str, dict[str, list[float]]]:
    """The share of runs within each level, by feature and solver; printed, with the means."""
    ends, wanted = lowest(records), set(chosen(part, every))
    solvers = [s for s in ("escapade", *PEERS) if any(key.startswith(s + "|") for key in records)]
    shares: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for feature in FEATURES:
        for solver in solvers:
            left = []
            for name in sorted(wanted & set(ends)):
                first, best = ends[name]
                for seed in seeds_of(feature, part, many):
                    keys = [f"{s}|{name}|{feature}|{seed}" for s in solvers]
                    if all(key in records for key in keys):  # paired
                        value = records[f"{solver}|{name}|{feature}|{seed}"]["f"]
                        left.append((value - best) / (first - best) if math.isfinite(value) else math.inf)
            if left:
                shares[feature][solver] = [float(np.mean(np.array(left) <= level)) for level in LEVELS] + [len(left)]
    print("| feature | runs | " + " | ".join(solvers) + " |\n|" + " --- |" * (len(solvers) + 2))
    for feature, row in shares.items():
        cells = " | ".join(f"{row[s][0]:.2f} / {row[s][1]:.2f}" for s in solvers)
        print(f"| {feature} | {row[solvers[0]][2]:.0f} | {cells} |")
    counted = [feature for feature in COUNTED if feature in shares]
    means = [float(np.mean([shares[feature][s][:2] for feature in counted])) for s in solvers]
    print("| mean | | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    return shares


def draw(shares: dict[str, dict[str, list[float]]], path: Path) -> None:
    """The share of runs within each level, a row a feature, a mark a solver."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(LEVELS), figsize=(9, 0.34 * len(shares) + 1.2), sharey=True, layout="constrained")
    solvers, rows = list(next(iter(shares.values()))), np.arange(len(shares))[::-1]
    for k, (ax, level) in enumerate(zip(axes, LEVELS, strict=True)):
        for j, solver in enumerate(solvers):
            own = solver == "escapade"
            ax.plot([row[solver][k] for row in shares.values()], rows, "o" if own else "sv^D<"[j - 1], label=solver,
                    ms=9 if own else 5, color="C3" if own else f"{0.15 + 0.15 * j}", zorder=3 - own)
        ax.set_title(f"within {level:g} of the fall", fontsize=10)
        ax.set_xlabel("share of runs")
        ax.set_yticks(rows, list(shares))
        ax.grid(visible=True, axis="y", color="0.9")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(solvers), frameon=False)
    fig.savefig(path, dpi=110)


def alarms(args: argparse.Namespace) -> None:
    """Exact functions that do not look exact at their start, or near it."""
    seen, count = [], 0
    for name in names(10):
        p = None if name in SLOW else loaded(name)
        for away in (0.0, 0.3) if p is not None else ():
            noise = np.random.default_rng(VALUES[0]).standard_normal(p.d)
            x = p.start + away * np.maximum(1.0, np.abs(p.start)) * noise
            f = Oracle.of(p, failures=Failures.omitting("raise", None, None))
            with np.errstate(all="ignore"):
                if not math.isfinite(value := p(x)):
                    continue
                report = look(f, x, value, np.random.default_rng(VALUES[0]))
            count += 1
            seen += [] if report.exact else [f"{name} ({report.kind.name}, {report.level:.2g} of {report.size:.2g})"]
    print(f"{len(seen)} of {count} exact functions were taken for others: {', '.join(seen)}")


def honesty(records: dict[str, dict[str, Any]], part: str, every: int) -> None:
    """Successes, false ones among them, and endings, by feature; how many runs went through noise."""
    wanted = set(chosen(part, every))
    for solver in ("escapade", *PEERS):
        for feature in FEATURES:
            named = ((key.split("|"), record) for key, record in records.items())
            mine = [r for (s, name, of, _), r in named if s == solver and of == feature and name in wanted]
            success = [r for r in mine if r.get("success")]
            false, far = (sum(not r["excess"] <= most for r in success) for most in (1, 1e3))
            told = f"{solver:11} {feature:14} {len(mine)} runs, {len(success)} successes, {false} false ({far} by 1000)"
            if solver == "escapade":
                ends = Counter(r.get("stop", r.get("raised", "?")) for r in mine)
                told += f"; {sum(r.get('handed', False) for r in mine)} went through noise; {dict(ends)}"
            if mine and (success or solver == "escapade"):
                print(told)


def ode(args: argparse.Namespace) -> None:
    """Fits of differential equations at rtol 1e-3: the median loss, at a tight tolerance, of each solver's answers."""
    every = Store(RESULTS / "values-ode.json")
    print("| fit | " + " | ".join(("escapade", *PEERS)) + " |\n|" + " --- |" * (len(PEERS) + 2))
    for system, (_, _, truth, _) in SYSTEMS.items():
        model = loss(system, "LSODA", 1e-11)
        for solver in ("LSODA", "RK45"):
            fun, row = loss(system, solver, 1e-3), []
            for name in ("escapade", *PEERS):
                found = []
                for seed in VALUES[: args.seeds]:
                    key = f"{name}|{system} {solver}|{seed}"
                    start = truth * np.exp(0.2 * np.random.default_rng(seed).standard_normal(len(truth)))
                    if name == "escapade" or key not in every.records:
                        fit = Fit(fun, model, start)
                        every.records[key] = answer(name, fit, "plain", seed, 100 * (len(truth) + 1))
                    found.append(every.records[key]["f"])
                row.append(float(np.median(found)))
            every.save()
            print(f"| {system}, {solver} | " + " | ".join(f"{value:.3g}" for value in row) + " |", flush=True)


def large(args: argparse.Namespace) -> None:
    """Twenty to thirty variables: what COBYQA left of the fall from f(x0), what escapade left, and their ratio."""
    every = Store(RESULTS / "values-large.json")
    small = set(names(19))
    for name in [name for name in names(30) if name not in small][:: args.every]:
        p = loaded(name)
        if p is None:
            continue
        for feature in args.features or ("noise 1e-3", "six digits"):
            for solver in ("COBYQA", "escapade"):
                key = f"{solver}|{name}|{feature}|{VALUES[0]}"
                if solver == "escapade" or key not in every.records:
                    every.records[key] = answer(solver, p, feature, VALUES[0], 100 * (p.d + 1))
                    every.save()
            peer, own = (every.records[f"{s}|{name}|{feature}|{VALUES[0]}"]["f"] for s in ("COBYQA", "escapade"))
            first = float(p(p.start))
            print(f"{name} d = {p.d} {feature}: x0 {first:.3g}, COBYQA {peer:.4g}, escapade {own:.4g}", flush=True)


@dataclass
class Fit:
    """A fit: what solvers see, and what counts."""

    fun: Fun
    model: Fun
    start: np.ndarray

    def __call__(self, x: np.ndarray) -> float:
        return self.fun(x)


def rosenbrock(args: argparse.Namespace) -> None:
    """Rosenbrock's function in float32 and printed: how many of 20 starts reach 1e-6 of the fall, in a default call."""
    for kind in ("float32", "six digits"):
        for n in range(3, 11):
            reached, queries, ends = 0, [], Counter[str]()
            for seed in VALUES[:20]:
                start = np.full(n, -1.0) + 0.5 * np.random.default_rng([seed, n]).standard_normal(n)
                result = escapade.minimize(FEATURES[kind](valley, start, seed), start, rng=seed)
                reached += bool(valley(result.x) - bottom(result.x) <= 1e-6 * valley(start))
                queries.append(result.nfev)
                ends[result.stop.name] += 1
            print(f"{kind} n = {n}: {reached} of 20, {np.median(queries):.0f} queries, {dict(ends)}", flush=True)


def valley(x: np.ndarray) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def bottom(x: np.ndarray) -> float:
    """The value of the local minimum of this function next to x."""
    found = scipy_minimize(valley, x, method="BFGS", options={"gtol": 1e-10})
    return float(found.fun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("peers", "run", "table", "ode", "large", "rosenbrock", "alarms"))
    parser.add_argument("--part", choices=("tune", "report"), default="report")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--features", nargs="*")
    parser.add_argument("--solvers", nargs="*", default=list(PEERS))
    parser.add_argument("--picture", type=Path, help="where the table is drawn")
    parser.add_argument("--keep", type=Path, help="another file for the runs of escapade")
    args = parser.parse_args()
    others = {"alarms": alarms, "ode": ode, "large": large, "rosenbrock": rosenbrock}
    if args.what in others:
        others[args.what](args)
        return
    peers = Store(RESULTS / "values-peers.json")
    if args.what == "peers":
        perform(args.solvers, args, peers)
        return
    own = Store(args.keep or RESULTS / "values-escapade.json")
    if args.what == "run":
        perform(["escapade"], args, own, again=True)
    shares = table(peers.records | own.records, args.part, args.every, args.seeds)
    if args.picture:
        draw(shares, args.picture)
    honesty(peers.records | own.records, args.part, args.every)


if __name__ == "__main__":
    main()
