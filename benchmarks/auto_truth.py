"""Whether `minimize` tells the truth: noisy problems, and random functions with random saddles, scalings and offsets.

    python benchmarks/auto_truth.py noise [--runs 300]     noise 1e-8, 1e-6, 1e-4, given or measured
    python benchmarks/auto_truth.py random [--runs 500]    scalings of the variables 1e-4 to 1e4, offsets to 1e12

Certificates are checked with exact gradients and Hessians, in the variables that they are about.
"""

from __future__ import annotations

import argparse
import math
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from seeds import TRUTH

import escapade
from escapade.problems import Cubic, OffAxis, Problem, Transformed, random_rotation

LEVELS = (1e-8, 1e-6, 1e-4)
OFFSETS = (0.0, 1.0, 30.0, 1e3, 1e5, 1e8, 1e12)
DECADES = (0.0, 1.0, 2.0, 4.0)
"""Scales of the variables are drawn from 10^-s to 10^s."""

MILD = (1e3, 2.0)
"""Offset and decades up to which most runs should be certified."""


@dataclass
class Counted:
    """Counts the calls of a function, and adds noise to it."""

    fun: Any
    sigma: float = 0.0
    seed: int = 0
    calls: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([TRUTH[10], self.seed])

    def __call__(self, x: np.ndarray) -> float:
        self.calls += 1
        return float(self.fun(x)) + (self.sigma * float(self.rng.standard_normal()) if self.sigma else 0.0)


@dataclass(frozen=True)
class Outcome:
    """What one run came to."""

    label: str
    stop: str
    certified: bool = False
    false: str = ""
    overrun: bool = False
    close: bool = False
    mild: bool = False
    excess: float = math.nan
    """How far above the optimum, over d noise."""
    cost: float = math.nan
    """Queries over d + 1."""

    @property
    def raised(self) -> bool:
        return ":" in self.stop


def falsehood(result: escapade.Result, g: np.ndarray, H: np.ndarray, scale: np.ndarray | float) -> str:
    """What is false about a certificate that holds, or nothing."""
    cert = result.certificate
    if not result.success or cert is None:
        return ""
    unit = np.broadcast_to(scale if cert.scaled else 1.0, g.shape)
    slope, least = float(np.linalg.norm(unit * g)), float(np.linalg.eigvalsh(H * np.outer(unit, unit))[0])
    if slope <= cert.gtol * (1 + 1e-6) and least >= -cert.curvtol * (1 + 1e-6):
        return ""
    return f"|g| {slope:.3g} > {cert.gtol:.3g} or lambda {least:.3g} < {-cert.curvtol:.3g}"


def noisy(run: int) -> Outcome:
    """A cubic or an off-axis problem from its saddle, plain or turned, with noise given or measured."""
    level, given = LEVELS[run % 3], run // 3 % 2 == 0
    kind, loose, seed = ("cubic", "off-axis")[run // 6 % 2], run // 12 % 2 == 1, run // 24
    d = (6, 10, 20)[seed % 3]
    problem: Problem = Cubic(d=d, seed=seed) if kind == "cubic" else OffAxis(d=d, seed=seed, offset=float(seed % 2))
    if kind == "cubic" and seed % 2:
        problem = Transformed(problem=problem, rotation=random_rotation(d, np.random.default_rng(seed)))
    f, maxfev = Counted(problem, level, run), 2000 * (d + 1)
    gtol = (10 if loose else 1) * max(1e-4, math.sqrt(level))
    label = f"{kind:8} {level:g} {'given' if given else 'auto '} gtol {gtol:g}"
    try:
        noise = level if given else "auto"
        r = escapade.minimize(f, problem.start, gtol=gtol, noise=noise, maxfev=maxfev, rng=run)
    except Exception as error:
        return Outcome(label, f"{type(error).__name__}: {error}")
    lie = falsehood(r, problem.gradient(r.x), problem.hessian(r.x), 1.0)
    excess = (float(problem(r.x)) - float(problem.minimum or 0.0)) / (d * level)
    over = f.calls > maxfev or r.nfev > maxfev
    return Outcome(label, r.stop.name, r.success, lie, over, excess <= 5, True, excess, f.calls / (d + 1))


@dataclass
class Smooth:
    """1/2 z'Az + cubes, fourth powers and cosines of linear forms + offset, at z = scale (x - centre)."""

    A: np.ndarray
    forms: np.ndarray
    cubic: np.ndarray
    quartic: np.ndarray
    wave: np.ndarray
    phase: np.ndarray
    scale: np.ndarray
    centre: np.ndarray
    offset: float = 0.0

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Smooth:
        d = int(np.exp(rng.uniform(np.log(2), np.log(31))))
        q = random_rotation(d, rng)
        values = rng.uniform(0.3, 3.0, d) * np.where(rng.random(d) < rng.choice([0.1, 0.3, 0.6]), -1.0, 1.0)
        forms = random_rotation(d, rng)
        on = rng.random(2) < 0.5
        spread = float(rng.choice(DECADES))
        return cls(
            A=q @ np.diag(values) @ q.T,
            forms=forms,
            cubic=0.1 * on[0] * rng.standard_normal(d),
            quartic=rng.uniform(0.02, 0.5, d),
            wave=on[1] * rng.uniform(0, 1, d),
            phase=rng.uniform(0, 2 * math.pi, d),
            scale=10 ** rng.uniform(-spread, spread, d),
            centre=rng.standard_normal(d) * float(rng.choice([0.0, 1.0, 10.0])),
            offset=float(rng.choice(OFFSETS)) * (1 if rng.random() < 0.5 else -1),
        )

    def __call__(self, x: np.ndarray) -> float:
        z = self.scale * (x - self.centre)
        y = self.forms @ z
        terms = self.cubic * y**3 + self.quartic * y**4 + self.wave * np.cos(y + self.phase)
        return float(z @ self.A @ z) / 2 + float(np.sum(terms)) + self.offset

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = self.scale * (x - self.centre)
        y = self.forms @ z
        first = 3 * self.cubic * y**2 + 4 * self.quartic * y**3 - self.wave * np.sin(y + self.phase)
        second = 6 * self.cubic * y + 12 * self.quartic * y**2 - self.wave * np.cos(y + self.phase)
        g = self.A @ z + self.forms.T @ first
        H = self.A + self.forms.T @ (second[:, None] * self.forms)
        return self.scale * g, (H + H.T) / 2 * np.outer(self.scale, self.scale)

    def saddle(self, rng: np.random.Generator) -> np.ndarray | None:
        """A strict saddle, in z, by Newton's method from random points."""
        for attempt in range(30):
            z = rng.standard_normal(len(self.scale)) * (0.1 if attempt < 5 else 1.0)
            for _ in range(50):
                g, H = (v / s for v, s in zip(self.derivatives(self.at(z)), (self.scale, self._outer()), strict=True))
                step = np.linalg.lstsq(H, g, rcond=None)[0]
                z = z - step * min(1.0, 1.0 / max(float(np.linalg.norm(step)), 1e-300))
            if float(np.linalg.norm(g)) < 1e-10 and float(np.linalg.eigvalsh(H)[0]) < -0.1:
                return z
        return None

    def _outer(self) -> np.ndarray:
        return np.outer(self.scale, self.scale)

    def at(self, z: np.ndarray) -> np.ndarray:
        """The x of a z."""
        return z / self.scale + self.centre


def random(run: int) -> Outcome:
    """A random function from a saddle or from near one; in one run of four its scales are given."""
    rng = np.random.default_rng([TRUTH[11], run])
    fun = Smooth.draw(rng)
    d, z = len(fun.scale), fun.saddle(rng)
    away = float(rng.choice([0.0, 1e-8, 1e-4, 1e-1])) * rng.standard_normal(d)
    start = fun.at(away if z is None else z + away)
    known = run % 4 == 0
    decades = float(np.max(np.abs(np.log10(fun.scale))))
    mild = abs(fun.offset) <= MILD[0] and decades <= MILD[1]
    label = f"offset {abs(fun.offset):7.0e}, scales to 1e{math.ceil(decades)}"
    f, maxfev = Counted(fun), 1000 * (d + 1)
    try:
        with np.errstate(all="ignore"):
            r = escapade.minimize(f, start, maxfev=maxfev, rng=run, x_scale=1 / fun.scale if known else None)
    except Exception as error:
        return Outcome(label, f"{type(error).__name__}: {error}", mild=mild)
    lie = falsehood(r, *fun.derivatives(np.asarray(r.x)), 1 / fun.scale)
    over = f.calls > maxfev or r.nfev > maxfev
    return Outcome(label, r.stop.name, r.success, lie, over, mild=mild, cost=f.calls / (d + 1))


def report(part: str, outcomes: list[Outcome]) -> None:
    """One line a kind of run, then the sums that the bars are about."""
    for label in sorted({o.label for o in outcomes}):
        rows = [o for o in outcomes if o.label == label]
        ended = [o for o in rows if not o.raised] or rows
        excess, cost = (float(np.median([getattr(o, name) for o in ended])) for name in ("excess", "cost"))
        close = f"close {sum(o.close for o in rows):3}, excess / (d noise) {excess:8.2g}, " if part == "noise" else ""
        print(
            f"{label:32} {len(rows):3} runs, certified {sum(o.certified for o in rows):3}, "
            f"{close}median cost {cost:5.0f} (d+1), "
            + ", ".join(f"{word} {n}" for word, n in Counter(o.stop.split(':')[0] for o in rows).most_common())
        )
    for index, o in enumerate(outcomes):
        if o.false or o.raised or o.overrun:
            print(f"run {index}: {o.label}: {o.stop} {o.false}{' budget overrun' if o.overrun else ''}")
    mild = [o for o in outcomes if o.mild]
    print(
        f"{len(outcomes)} runs: {sum(bool(o.false) for o in outcomes)} false certificates, "
        f"{sum(o.raised for o in outcomes)} exceptions, {sum(o.overrun for o in outcomes)} budget overruns, "
        f"{np.mean([o.certified for o in outcomes]):.1%} certified"
    )
    if part == "noise":
        print(f"within 5 d noise of the optimum: {np.mean([o.close for o in outcomes]):.1%}")
    else:
        print(f"offset at most 1e3, scales to 1e2: {np.mean([o.certified for o in mild]):.1%} of {len(mild)} certified")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["noise", "random"])
    parser.add_argument("--runs", type=int, default=None, help="300 noisy, 500 random ones")
    parser.add_argument("--jobs", type=int, default=2)
    o = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    runs = o.runs or (300 if o.part == "noise" else 500)
    with ProcessPoolExecutor(o.jobs, mp_context=get_context("spawn")) as pool:
        outcomes = list(pool.map(noisy if o.part == "noise" else random, range(runs), chunksize=4))
    report(o.part, outcomes)


if __name__ == "__main__":
    main()
