"""What each heuristic of `auto` is worth: runs without it, paired with the same runs with it.

python benchmarks/ablation.py [--repeats n] [--first k] [--group easy|large|noise] [--store FILE] [switch ...]
                                    default: 1 repeat of all problems, all switches

Every switch turns one heuristic off; a run without it and the run with it share the problem, the start and the seed.
Printed: the geometric mean of the ratio of queries without / with over the pairs in which both succeed, with its
90% interval; successes with and without; and certificates whose point is not what they say, by exact differences.
A ratio above 1 is what the heuristic saves. Criterion of this house: a heuristic stays if it saves at least 2% with
the interval clear of 1, or if successes or truth are lost without it.

Seeds: 9000 to 9099 (`seeds.ABLATION`), which are for tuning and nothing else uses; repeat k takes seed 9000 + k.

What was found on 2026-11-18 (54 pairs up to d = 100, 72 with noise, 20 with d = 200 and 500), and deleted since; the
ratio of queries without it, in these three groups: correcting the model's extreme eigenvalues 1.012, .999, .999;
predicted gradients at the last step 1.008, 1.008, 1.020; measuring noise again as f falls 1.007, 1.000, .999;
correcting gradients by later diagonals .992, 1.008, 1.001; steps on gradients within the tolerance .996, .995, 1.002
(7 of 36 "minimum" become "second-order"); keeping failed or poor steps in reserve 1.002, 1.007, 1.000; learning
curvature from failed steps .993, .980, 1.006; few doublings of first steps .993, 1.003, .994; polls of calm points
1.001, 1.000, .998; of the certifier: _worth 1.001, 1.002, .998, cut 1.000, .996, 1.000, hopeless 1.002, 1.000, 1.000.
All that `auto` lost of these, together, on seeds 9020 to 9022 (282 pairs): 1.002 (0.992 to 1.013), successes 278 to
280. Kept: stagnation, without which all 27 Beale functions in valleys at infinity fail.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from seeds import ABLATION

import escapade
from escapade import problems
from escapade.curvature.lanczos import DiagonalPreconditioner
from escapade.derivatives.settings import UNITS
from escapade.methods.auto import certify, descent, method, model, trust_region
from escapade.methods.auto.settings import DESCENT, METHOD, MODEL, TRUST_REGION
from escapade.methods.auto.stagnation import Progress
from escapade.methods.auto.trust_region import TrustRegion

Switch = Callable[[], Any]
GTOL, CURVTOL = 1e-4, 1e-2
BUDGET = 600
"""Queries that a run may take, over d + 1."""

# Problems


def rosenbrock(x: np.ndarray) -> Any:
    return np.sum(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2, axis=1)


def wood(x: np.ndarray) -> Any:
    a, b, c, e = np.moveaxis(x.reshape(len(x), -1, 4), 2, 0)
    apart = 100 * (a**2 - b) ** 2 + (a - 1) ** 2 + (c - 1) ** 2 + 90 * (c**2 - e) ** 2
    return np.sum(apart + 10.1 * ((b - 1) ** 2 + (e - 1) ** 2) + 19.8 * (b - 1) * (e - 1), axis=1)


def singular(x: np.ndarray) -> Any:
    a, b, c, e = np.moveaxis(x.reshape(len(x), -1, 4), 2, 0)
    return np.sum((a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4, axis=1)


def tridiagonal(x: np.ndarray) -> Any:
    y = np.pad(x, ((0, 0), (1, 1)))
    return np.sum(((3 - 2 * x) * x - y[:, :-2] - 2 * y[:, 2:] + 1) ** 2, axis=1)


def trigonometric(x: np.ndarray) -> Any:
    i, d = np.arange(1, x.shape[1] + 1), x.shape[1]
    whole = d - np.sum(np.cos(x), axis=1, keepdims=True)
    return np.sum((whole + i * (1 - np.cos(x)) - np.sin(x)) ** 2, axis=1)


def dixon(x: np.ndarray) -> Any:
    return (x[:, 0] - 1) ** 2 + (2 * x[:, 1:] ** 2 - x[:, :-1]) ** 2 @ np.arange(2.0, x.shape[1] + 1)


def chain(x: np.ndarray) -> Any:
    return np.sum((x[:, :-1] ** 2 + x[:, 1:] ** 2) ** 2 - 4 * x[:, :-1] + 3, axis=1)


def trid(x: np.ndarray) -> Any:
    return np.sum((x - 1) ** 2, axis=1) - np.sum(x[:, 1:] * x[:, :-1], axis=1)


def quartic(x: np.ndarray) -> Any:
    return x**2 @ np.arange(1.0, x.shape[1] + 1) + np.sum(x, axis=1) ** 2 / x.shape[1] + np.sum(x**4, axis=1)


def cosh(x: np.ndarray) -> Any:
    i = np.arange(1, x.shape[1] + 1)
    return np.sum(np.log(np.cosh(i * (x - 1) / 10)), axis=1) + np.sum(np.diff(x) ** 2, axis=1) / 2


def beale(x: np.ndarray) -> Any:
    u, v = x[:, ::2], x[:, 1::2]
    return np.sum(sum((c - u * (1 - v**k)) ** 2 for c, k in ((1.5, 1), (2.25, 2), (2.625, 3))), axis=1)


def wells(x: np.ndarray) -> Any:
    return np.sum((x**2 - 1) ** 2, axis=1) / 4 + 0.1 * np.sum(x[:, 1:] * x[:, :-1], axis=1)


def spread(x: np.ndarray) -> Any:
    """A quadratic of condition 1e6 whose variables have scales of their own, and a quartic part."""
    c = np.geomspace(1e-1, 1e5, x.shape[1])
    return x**2 @ c / 2 + np.sum(x, axis=1) ** 2 + np.sum(x**4, axis=1) / 10


STARTS: dict[Callable[[np.ndarray], Any], list[float]] = {
    rosenbrock: [-1.2, 1.0], wood: [-3.0, -1.0], singular: [3.0, -1.0, 0.0, 1.0], tridiagonal: [-1.0],
    trigonometric: [0.05], dixon: [0.7], chain: [2.0], trid: [0.0], quartic: [1.0], cosh: [0.0], beale: [-2.0, 1.2],
    wells: [0.01], spread: [1.0],
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A problem, its start, and what minimize is told."""

    name: str
    fun: Any
    x0: np.ndarray
    options: dict[str, Any]
    exact: Any = None
    """f without noise."""


def start(fun: Any, d: int, rng: np.random.Generator, width: float) -> np.ndarray:
    return np.resize(STARTS[fun], d) + width * rng.standard_normal(d)


def with_noise(fun: Any, level: float, rng: np.random.Generator) -> Any:
    return lambda x: fun(x) + level * rng.standard_normal(len(x))


def cases(repeat: int, group: str) -> Iterator[Case]:
    """The problems of one repeat."""
    seed = ABLATION[repeat]
    rng = np.random.default_rng(seed)
    if group in ("all", "easy"):
        for k, fun in enumerate(STARTS):
            for d in (4, 12) if fun in (wood, beale) else (4, 12, 40, 100):
                yield Case(f"{fun.__name__} {d}", fun, start(fun, d, rng, (0.1, 0.5)[(k + repeat) % 2]), {})
        for d in (10, 30):
            turn = problems.random_rotation(d, rng)
            p: Any = problems.Transformed(problem=problems.Octopus(d=d), rotation=turn, shift=rng.standard_normal(d))
            yield Case(f"octopus {d}", p, p.start, {"curvtol": math.sqrt(math.e * 1e-4)})
        for d in (30, 60):
            p = problems.OffAxis(d=d, seed=seed, offset=(0.0, 100.0)[repeat % 2])
            yield Case(f"off-axis {d}", p, p.start, {"curvtol": 0.1})
            p = problems.Transformed(problem=problems.Cubic(d=d, seed=seed), rotation=problems.random_rotation(d, rng))
            yield Case(f"cubic {d}", p, p.start, {"gtol": 1e-2, "curvtol": 0.1})
    if group in ("all", "large"):
        for fun in (tridiagonal, chain, quartic, trid):
            for d in (200, 500):
                yield Case(f"{fun.__name__} {d}", fun, start(fun, d, rng, 0.1), {"maxfev": 300 * (d + 1)})
        p = problems.Transformed(problem=problems.Cubic(d=500, seed=seed), rotation=problems.random_rotation(500, rng))
        yield Case("cubic 500", p, p.start, {"gtol": 1e-2, "curvtol": 0.1})
        p = problems.OffAxis(d=200, seed=seed)
        yield Case("off-axis 200", p, p.start, {"curvtol": 0.1})
    if group in ("all", "noise"):
        for fun in (quartic, wells, chain, trid, tridiagonal, singular):
            for d, level in ((4, 1e-8), (12, 1e-6), (12, 1e-8), (40, 1e-7)):
                told = {"noise": level if (d + repeat) % 8 < 4 else None, "gtol": 0.02, "curvtol": 0.2}
                noise = with_noise(fun, level, np.random.default_rng(seed))
                yield Case(f"noisy {fun.__name__} {d} {level:g}", noise, start(fun, d, rng, 0.1), told, exact=fun)


def solved(case: Case, seed: int) -> dict[str, Any]:
    """One run: its queries, whether it succeeded, and whether its certificate is false."""
    d = len(case.x0)
    options = {"gtol": GTOL, "curvtol": CURVTOL, "noise": None,
               "maxfev": BUDGET * (d + 1), "vectorized": True} | case.options  # fmt: skip
    r = escapade.minimize(case.fun, case.x0, rng=seed, **options)
    exact, false = case.exact or case.fun, False
    if r.success and d <= 40 and exact in STARTS:
        x, eye = r.x.astype(np.longdouble), np.eye(d, dtype=np.longdouble)
        h = np.longdouble(1e-6)
        g = (exact(x + h * eye) - exact(x - h * eye)) / (2 * h)
        h = np.longdouble(1e-4)
        plus, minus, f = exact(x + h * eye), exact(x - h * eye), exact(x[None, :])[0]
        i, j = np.triu_indices(d, 1)
        H = np.diag((plus + minus - 2 * f) / h**2)
        H[i, j] = (exact(x + h * (eye[i] + eye[j])) - plus[i] - plus[j] + f) / h**2
        H = (H + np.triu(H, 1).T).astype(np.float64)
        slack = 1e-3 * float(np.abs(H).max())
        false = float(np.sqrt(g @ g)) > 1.05 * options["gtol"]
        false |= float(np.linalg.eigvalsh(H)[0]) < -1.05 * options["curvtol"] - slack
    verdict = r.certificate.verdict if r.certificate else r.stop.name
    return {"queries": r.nfev, "success": bool(r.success), "false": bool(false), "verdict": verdict}


# Switches


def replaced(where: Any, **names: Any) -> Switch:
    return lambda: patch.multiple(where, **names)


def no(*_: Any, **__: Any) -> bool:
    return False


def step_as_it_is(region: Any, differences: Any, p: Any, step: Any) -> Any:
    return step


def not_adjusted(differences: Any, p: Any, step: Any) -> Any:
    return step


def not_refined(descent: Any, p: Any) -> Any:
    return p, False


def identity(model: Any, contradiction: float, diagonal: np.ndarray, delta: float) -> Any:
    return DiagonalPreconditioner(np.ones(len(diagonal)))


def numbers(where: Any, name: str, settings: Any, **values: Any) -> Switch:
    return replaced(where, **{name: replace(settings, **values)})


SWITCHES: dict[str, Switch] = {
    "adjusted lengths": replaced(trust_region, _adjusted=not_adjusted),
    "doublings": replaced(TrustRegion, _doubled=step_as_it_is),
    "probe": replaced(method._Run, _worth_a_probe=no),
    "refinement": replaced(descent.Descent, refined=not_refined),
    "restarts": numbers(method, "METHOD", METHOD, restarts=0),
    "outdated model": replaced(Progress, outdated=no),
    "stagnation": replaced(Progress, stagnates=no),
    "SR1 cap": numbers(model, "MODEL", MODEL, cap=1e8),
    "definite models": numbers(model, "MODEL", MODEL, futile_steps=10**6),
    "faint residuals": numbers(model, "MODEL", MODEL, faint_cosine=0.0),
    "first diagonal": numbers(model, "UNITS", UNITS, alike=0.0),
    "failed steps": numbers(descent, "DESCENT", DESCENT, failed_steps=10**6),
    "worth": numbers(trust_region, "TRUST_REGION", TRUST_REGION, worth=0.0),
    "preconditioner": replaced(certify, model_preconditioner=identity),
}


def paired(job: tuple[int, str, int], switches: list[str]) -> tuple[str, dict[str, dict[str, Any]]]:
    """One problem with everything on, and with each switch off in turn."""
    repeat, group, index = job
    seed, results = ABLATION[repeat], {}
    for name in ["", *switches]:
        case = list(cases(repeat, group))[index]  # anew: noise has a state
        with SWITCHES[name]() if name else contextlib.nullcontext():
            try:
                results[name] = solved(case, seed)
            except Exception as error:
                results[name] = {"queries": 0, "success": False, "false": False, "verdict": repr(error)}
    return f"{case.name} #{repeat}", results


def table(found: dict[str, dict[str, dict[str, Any]]], switches: list[str]) -> None:
    """What each switch costs."""
    print(f"{len(found)} pairs\n| without | queries | 90% | success (lost, won) | false |\n|---|---|---|---|---|")
    runs = list(found.values())
    for name in switches:
        pairs = [(r[""], r[name]) for r in runs if name in r]
        logs = np.array([math.log(b["queries"] / a["queries"]) for a, b in pairs if a["success"] and b["success"]])
        rng = np.random.default_rng(0)
        means = np.mean(logs[rng.integers(0, len(logs), (4000, len(logs)))], axis=1) if len(logs) else np.zeros(1)
        low, high = np.exp(np.quantile(means, [0.05, 0.95]))
        lost = sum(a["success"] and not b["success"] for a, b in pairs)
        won = sum(b["success"] and not a["success"] for a, b in pairs)
        told = f"{sum(b['success'] for _, b in pairs)} of {sum(a['success'] for a, _ in pairs)} (-{lost}, +{won})"
        minima = " of ".join(str(sum(pair[k]["verdict"] == "minimum" for pair in pairs)) for k in (1, 0))
        false = f"{sum(b['false'] for _, b in pairs)} of {sum(a['false'] for a, _ in pairs)}"
        changed = sum(a["queries"] != b["queries"] for a, b in pairs)
        mean = math.exp(float(np.mean(logs))) if len(logs) else math.nan
        interval = f"{low:.4f} to {high:.4f}"
        print(f"| {name} | {mean:.4f} | {interval} | {told} minima {minima} | {false} | {changed} differ |")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("switches", nargs="*")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--group", default="all", choices=["all", "easy", "large", "noise"])
    parser.add_argument("--store", default="")
    told = parser.parse_args()
    switches = told.switches or list(SWITCHES)
    jobs = [
        (repeat, told.group, k)
        for repeat in range(told.first, told.first + told.repeats)
        for k in range(sum(1 for _ in cases(repeat, told.group)))
    ]
    with ProcessPoolExecutor(2) as pool:
        found = dict(pool.map(partial(paired, switches=switches), jobs))
    if told.store:
        Path(told.store).write_text(json.dumps(found) + "\n")
    table(found, switches)


if __name__ == "__main__":
    main()
