"""Golden runs: the same runs and certificates on two trees, to the bit or by verdict and cost.

python benchmarks/golden.py record [FILE]       write benchmarks/golden/runs.json
python benchmarks/golden.py check [FILE]        the same bits: for changes that only move code, on the same machine
python benchmarks/golden.py compare [FILE]      verdicts and the medians of queries: for changes of behaviour
python benchmarks/golden.py heard               the runs of auto as users call it, with nothing said of tolerances and
                                                noise, beside noise=0: where exact functions were taken for noisy ones

Tolerances and the noise are given explicitly in every other case, so that changes of defaults do not show. Bits
depend on the machine (BLAS rounds differently); verdicts and medians should not. Seeds: 7000 and up, which nothing
else uses.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from seeds import GOLDEN

import escapade
from escapade import problems
from escapade.curvature import FINDERS
from escapade.methods import PRESETS

STORE = Path(__file__).parent / "golden" / "runs.json"
SEED = GOLDEN.start
CHANGED = 1.05
"""Medians of queries that differ by more than this factor are listed."""

Case = tuple[str, Callable[[], dict[str, Any]]]
TOLERANCES = {"gtol": 1e-4, "curvtol": 1e-2}


def digest(*parts: Any) -> str:
    """A hash of the bits of these."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]


def of_certificate(c: Any) -> dict[str, Any]:
    ends = [c.gradient.lower, c.gradient.upper, c.curvature.lower, c.curvature.upper]
    return {"verdict": c.verdict, "finder": c.finder, "queries": c.nfev, "bits": digest(np.asarray(ends), c.nfev)}


def of_run(r: Any) -> dict[str, Any]:
    c = r.certificate
    bits = digest(np.asarray(r.x), np.float64(r.fun), r.nfev, r.nrounds, *sorted(r.nfev_by_purpose.values()))
    verdict = "none" if c is None else c.verdict
    return {"verdict": verdict, "success": r.success, "queries": r.nfev, "bits": bits}


def rotated(d: int, seed: int) -> Any:
    rng = np.random.default_rng(SEED + seed)
    return problems.Transformed(
        problem=problems.Octopus(d=d), rotation=problems.random_rotation(d, rng), shift=rng.standard_normal(d)
    )


def rosenbrock(x: np.ndarray) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def quartic(x: np.ndarray) -> float:
    return float(np.arange(1, len(x) + 1) @ x**2 + np.sum(x) ** 2 / len(x) + np.sum(x**4))


def chain(x: np.ndarray) -> float:
    return float(np.sum((x[:-1] ** 2 + x[1:] ** 2) ** 2 - 4 * x[:-1] + 3))


def trid(x: np.ndarray) -> float:
    return float(np.sum((x - 1) ** 2) - x[1:] @ x[:-1])


def wells(x: np.ndarray) -> float:
    return float(np.sum((x**2 - 1) ** 2) / 4 + 0.1 * np.sum(x[1:] * x[:-1]))


PLAIN = {rosenbrock: -1.2, quartic: 1.0, chain: 2.0, trid: 0.0, wells: 0.01}


def start(fun: Any, d: int, seed: int) -> np.ndarray:
    return PLAIN[fun] + 0.1 * np.random.default_rng(SEED + seed).standard_normal(d)


def run(fun: Any, x0: Any, seed: int, **options: Any) -> dict[str, Any]:
    return of_run(escapade.minimize(fun, x0, rng=SEED + seed, **(TOLERANCES | options)))


def believed_and_heard(fun: Any, x0: Any, seed: int, **options: Any) -> dict[str, Any]:
    """A run with noise=0 and one that finds out, both to the default tolerances."""
    options = {name: value for name, value in options.items() if name not in ("gtol", "curvtol", "noise")}
    runs = [escapade.minimize(fun, x0, rng=SEED + seed, noise=noise, **options) for noise in (0, None)]
    handed = any(step.estimated for step in runs[1].history)
    return {"told": of_run(runs[0]), "found": of_run(runs[1]) | {"handed over": handed, "stop": runs[1].stop.name}}


def cert(fun: Any, x: Any, seed: int, **options: Any) -> dict[str, Any]:
    return of_certificate(escapade.certify(fun, x, rng=SEED + seed, **(TOLERANCES | options)))


def noisy(fun: Any, level: float, seed: int) -> Callable[[np.ndarray], float]:
    rng = np.random.default_rng(SEED + seed)
    return lambda x: fun(x) + level * float(rng.standard_normal())


def single(fun: Any) -> Callable[[np.ndarray], Any]:
    return lambda x: np.float32(fun(x))


def cases() -> Iterator[Case]:
    """Every case: its name, and what makes it."""
    yield from runs_of_auto()
    yield from runs_of_methods()
    yield from certificates()


def runs_of_auto(run: Callable[..., dict[str, Any]] = run) -> Iterator[Case]:
    for fun in PLAIN:
        for d in (1, 2, 5, 12, 40):
            if d == 1 and fun in (rosenbrock, chain):
                continue
            for seed in range(2):
                yield f"auto {fun.__name__} {d} #{seed}", lambda f=fun, d=d, s=seed: run(f, start(f, d, s), s, noise=0)
    for d in (10, 30, 60):
        for seed in range(2):
            yield f"auto rotated-octopus {d} #{seed}", lambda d=d, s=seed: run(
                p := rotated(d, s), p.start, s, vectorized=True, noise=0)
            yield f"auto off-axis {d} #{seed}", lambda d=d, s=seed: run(
                p := problems.OffAxis(d=d, seed=SEED + s), p.start, s, vectorized=True, noise=0)
            yield f"auto cubic {d} #{seed}", lambda d=d, s=seed: run(
                p := problems.Cubic(d=d, seed=SEED + s), p.start, s, vectorized=True, noise=0)
    for d in (300, 600):
        yield f"auto cubic {d} #0", lambda d=d: run(p := problems.Cubic(d=d), p.start, 0, vectorized=True, noise=0)
        yield f"auto quartic {d} #0", lambda d=d: run(quartic, start(quartic, d, 0), 0, noise=0, maxfev=400 * d)
    for name in problems.REGISTRY:
        if "stochastic" not in name and "stream" not in name:
            yield f"auto {name} #0", lambda n=name: run(p := problems.get(n), p.start, 0, vectorized=True, noise=0)
    for fun in (quartic, wells, chain):
        for level in (1e-8, 1e-5):
            for d in (3, 12):
                yield f"auto noise {level:g} {fun.__name__} {d}", lambda f=fun, v=level, d=d: run(
                    noisy(f, v, d), start(f, d, 0), 0, noise=v, gtol=0.05, curvtol=0.2, maxfev=20_000)
        for d in (4, 30):
            yield f"auto rounds {fun.__name__} {d}", lambda f=fun, d=d: run(
                f, start(f, d, 1), 1, noise=0, prefer="rounds")
            yield f"auto float32 {fun.__name__} {d}", lambda f=fun, d=d: run(
                single(f), start(f, d, 0).astype(np.float32), 0, noise=0, gtol=1e-2, curvtol=0.1, maxfev=20_000)
        yield f"auto scaled {fun.__name__}", lambda f=fun: run(
            f, start(f, 8, 2), 2, noise=0, x_scale=np.logspace(-1, 1, 8))
        yield f"auto budget {fun.__name__}", lambda f=fun: run(f, start(f, 8, 3), 3, noise=0, maxfev=150)


def runs_of_methods() -> Iterator[Case]:
    for name in sorted(PRESETS):
        if name == "auto":
            continue
        p = problems.get("cubic")
        options: dict[str, Any] = {"vectorized": True, "noise": 0, "method": name, "maxfev": 200_000}
        if name == "neon2-gd":
            options["jac"] = p.gradient
        if name.startswith(("zo-sgd", "zo-scsg", "zo-spider")):
            q = problems.get("stochastic_cubic")
            options |= {"vectorized": False, "samples": q.n, "gtol": 0.05, "curvtol": 0.2}
            yield f"{name} stochastic-cubic", lambda q=q, o=options: run(q.sample_value, q.start, 0, **o)
            continue
        for seed in range(2):
            yield f"{name} cubic #{seed}", lambda p=p, o=options, s=seed: run(p, p.start, s, **(o | {"gtol": 1e-2}))
    for seed in range(2):
        yield f"auto samples #{seed}", lambda s=seed: run(
            (q := problems.get("stochastic_cubic")).sample_value, q.start, s, samples=q.n, noise=0, gtol=0.05,
            curvtol=0.2, maxfev=500_000)


def certificates() -> Iterator[Case]:
    for fun in PLAIN:
        for d in (1, 3, 12, 40):
            if d == 1 and fun in (rosenbrock, chain):
                continue
            yield f"certify start {fun.__name__} {d}", lambda f=fun, d=d: cert(f, start(f, d, 4), 4, noise=0)
    for fun in (quartic, wells):
        for d in (1, 6, 30, 100):
            at = {quartic: np.zeros(d), wells: np.zeros(d)}[fun]
            for seed in range(2):
                yield f"certify centre {fun.__name__} {d} #{seed}", lambda f=fun, x=at, s=seed: cert(f, x, s, noise=0)
            yield f"certify noisy {fun.__name__} {d}", lambda f=fun, x=at, d=d: cert(
                noisy(f, 1e-6, d), x, 0, noise=1e-6, gtol=0.05, curvtol=0.2)
            yield f"certify unknown noise {fun.__name__} {d}", lambda f=fun, x=at, d=d: cert(
                noisy(f, 1e-5, d), x, 0, gtol=0.05, curvtol=0.2)
    for name in FINDERS:
        for size in (6, 30):
            p = problems.OffAxis(d=size, seed=SEED)
            grads: dict[str, Any] = {"jac": p.gradient} if name == "neon2" else {}
            yield f"certify {name} saddle {size}", lambda p=p, n=name, g=grads: cert(
                p, p.start, 0, finder=n, noise=0, vectorized=True, **g)
            grads = {"jac": quartic_gradient} if name == "neon2" else {}
            yield f"certify {name} quartic {size}", lambda d=size, n=name, g=grads: cert(
                quartic, np.zeros(d), 0, finder=n, noise=0, **g)
    for name in ("minibatch", "online"):
        q = problems.get("stochastic_cubic")
        yield f"certify {name} stochastic", lambda q=q, n=name: cert(
            q.sample_value, q.start, 0, samples=q.n, finder=n, gtol=0.3, curvtol=0.5, noise=0)


def quartic_gradient(x: np.ndarray) -> np.ndarray:
    return 2 * np.arange(1, len(x) + 1) * x + 2 * np.sum(x) / len(x) + 4 * x**3


def made(index: int) -> tuple[str, dict[str, Any]]:
    """One case; an exception is its result."""
    name, make = list(cases())[index]
    try:
        return name, make()
    except Exception as error:  # what is raised must stay the same too
        return name, {"verdict": f"raises {type(error).__name__}", "queries": 0, "bits": "", "why": str(error)[:80]}


def all_of_them() -> dict[str, dict[str, Any]]:
    with ProcessPoolExecutor(2) as pool:
        return dict(pool.map(made, range(len(list(cases()))), chunksize=4))


def made_both_ways(index: int) -> tuple[str, dict[str, Any]]:
    name, make = list(runs_of_auto(believed_and_heard))[index]
    return name, make()


def heard() -> int:
    """Print where a run that finds out about noise differs from one that is told of none; how many were handed over."""
    names = [name for name, _ in runs_of_auto(believed_and_heard)]
    some = [k for k, name in enumerate(names) if "noise" not in name and "float32" not in name]
    bad, ratios = 0, []
    with ProcessPoolExecutor(2) as pool:
        for name, both in pool.map(made_both_ways, some):
            told, found = both["told"], both["found"]
            ratios.append(np.log(found["queries"] / told["queries"]))
            bad += found["handed over"]
            if found["handed over"] or found["verdict"] != told["verdict"] or found["success"] != told["success"]:
                print(f"{name}: {told} -> {found}")
    print(f"{len(some)} runs, {bad} handed over; queries {np.exp(np.mean(ratios)):.4f} times (geometric mean)")
    return bad


def group(name: str) -> str:
    return name.split("#")[0].strip()


def compare(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]], *, exact: bool) -> int:
    """Print what changed; the number of changes that count."""
    bad = 0
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name), new.get(name)
        if a is None or b is None:
            print(f"{'only new' if a is None else 'missing'}: {name}")
        elif a["verdict"] != b["verdict"] or a.get("success") != b.get("success"):
            bad += 1
            told = f"{a['verdict']} -> {b['verdict']} ({a['queries']} -> {b['queries']})"
            print(f"verdict: {name}: {told} {b.get('why', '')}")
        elif exact and a["bits"] != b["bits"]:
            bad += 1
            print(f"bits: {name}: {a['queries']} -> {b['queries']}")
    ratios = defaultdict(list)
    for name in old.keys() & new.keys():
        if old[name]["queries"] and new[name]["queries"]:
            ratios[group(name)].append(np.log(new[name]["queries"] / old[name]["queries"]))
    for name, logs in sorted(ratios.items()):
        if abs(float(np.median(logs))) > np.log(CHANGED):
            print(f"queries: {name}: {np.exp(np.median(logs)):.2f} times")
    every = np.concatenate(list(ratios.values()))
    print(f"{len(new)} cases, {bad} changed; queries {np.exp(every.mean()):.4f} times (geometric mean)")
    return bad


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["check"]
    if what == "heard":
        sys.exit(heard() > 0)
    store, found = Path(rest[0]) if rest else STORE, all_of_them()
    if what == "record":
        store.parent.mkdir(exist_ok=True)
        store.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
        print(f"{len(found)} cases in {store}")
    else:
        sys.exit(compare(json.loads(store.read_text()), found, exact=what == "check") > 0)
