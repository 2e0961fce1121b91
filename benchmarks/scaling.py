"""What a cluster would buy: recorded runs of auto, played again on 1 to 10,000 simulated workers.

python benchmarks/scaling.py [--cost 1] [--spread 0.5] [--latency 0.01] [--failures 0.01] [--quick]

A run asks for its values in rounds, each of which waits for the one before. The rounds of real runs, preferring queries
and preferring rounds, on a function with off-axis saddles of d variables, are recorded; then each round is given to W
workers that take its points as they come. An evaluation takes `cost` seconds on average (log-normal, its standard
deviation `spread` times that) and `latency` seconds more for its messages; it fails with probability `failures`, which
is noticed when it should have ended, and is then tried again. What the method itself takes between rounds is added as
it was measured here. Efficiency is the time of one worker over W times that of W workers. Dimensions marked with * were
not run: the rounds of d = 1000 are taken, their sizes and the method's own time grown by the powers of d that lead from
d = 500 to d = 1000.
"""

from __future__ import annotations

import argparse
import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import escapade
from escapade.oracle import oracle
from escapade.problems import OffAxis

WORKERS = (1, 10, 100, 1000, 10_000)
EXACT = 3_000_000
"""Points of a run that are played one by one; beyond, large rounds are taken as averages."""


@dataclass(frozen=True)
class Recording:
    """The sizes of the rounds of a run, and the seconds that the method itself took."""

    d: int
    sizes: tuple[int, ...]
    own: float
    real: bool = True

    @property
    def queries(self) -> int:
        return sum(self.sizes)


class Recorder:
    """An executor that notes when it is asked for how much."""

    def __init__(self, fun: Callable[[Any], Any], d: int) -> None:
        self.fun, self.block = fun, max(1, oracle.BLOCK_BYTES // (8 * d))
        self.sizes: list[int] = []
        self.seconds, self.going_on = 0.0, False

    def __call__(self, block: Any, batch: Any) -> Any:
        began, rows = time.perf_counter(), len(block)
        if self.going_on:  # the oracle cuts a stencil into blocks of bounded size: this is the rest of the last one
            self.sizes[-1] += rows
        else:
            self.sizes.append(rows)
        self.going_on = rows == self.block
        values = self.fun(block)
        self.seconds += time.perf_counter() - began
        return values

    def calls(self, rows: int) -> int:
        return 1


def record(d: int, prefer: str) -> Recording:
    """One run to a certified minimum."""
    recorder = Recorder(OffAxis(d=d), d)
    began = time.perf_counter()
    result = escapade.minimize(recorder.fun, np.zeros(d), workers=recorder, prefer=prefer, rng=0)
    own = time.perf_counter() - began - recorder.seconds
    if not result.success:
        raise SystemExit(f"d = {d}, prefer={prefer!r}: {result.message}")
    if sum(recorder.sizes) != result.nfev:
        raise SystemExit("the recorder lost count")
    return Recording(d, tuple(recorder.sizes), own)


def extrapolated(small: Recording, large: Recording, d: int) -> Recording:
    """The rounds of a dimension that was not run: as many as the larger run had, each grown by the power seen."""
    power = math.log(large.queries / small.queries) / math.log(large.d / small.d)
    growth = (d / large.d) ** power
    sizes = tuple(size if size == 1 else max(1, round(size * growth)) for size in large.sizes)
    own = large.own * (d / large.d) ** max(1.0, math.log(large.own / small.own) / math.log(large.d / small.d))
    return Recording(d, sizes, own, real=False)


@dataclass(frozen=True)
class Machine:
    """The cluster: what an evaluation and a message take, and how often it fails."""

    cost: float
    spread: float
    latency: float
    failures: float

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray[Any, Any]:
        """Seconds until the value of a point is there, all attempts together."""
        attempts = rng.geometric(1 - self.failures, size)
        total = np.zeros(size)
        for k in range(int(attempts.max())):
            total += np.where(attempts > k, self._once(rng, size) + self.latency, 0.0)
        return total

    def _once(self, rng: np.random.Generator, size: int) -> np.ndarray[Any, Any]:
        if self.spread == 0:
            return np.full(size, self.cost)
        sigma = math.sqrt(math.log1p(self.spread**2))
        return self.cost * rng.lognormal(-(sigma**2) / 2, sigma, size)

    def time(self, run: Recording, workers: int, rng: np.random.Generator) -> float:
        """Seconds of a run: its rounds one after another."""
        exact = run.queries <= EXACT
        return run.own + sum(self._round(size, workers, rng, exact) for size in run.sizes)

    def _round(self, size: int, workers: int, rng: np.random.Generator, exact: bool) -> float:
        if size <= workers:
            return float(self.draw(rng, size).max())
        if not exact and size > 20 * workers:  # the end of a long round is what differs from its average
            whole = size - 10 * workers
            mean = (self.cost + self.latency) / (1 - self.failures)
            return whole / workers * mean + self._round(10 * workers, workers, rng, exact)
        seconds = self.draw(rng, size)
        if workers == 1:
            return float(seconds.sum())
        free = list(seconds[:workers])
        heapq.heapify(free)
        for one in seconds[workers:]:
            heapq.heapreplace(free, free[0] + one)
        return float(max(free))


def shown(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def table(machine: Machine, runs: list[Recording], prefer: str) -> None:
    print(f"\nprefer={prefer!r}: time to a certified minimum, and efficiency")
    print(f"{'d':>7} {'queries':>10} {'rounds':>7} {'own':>8}" + "".join(f"{w:>17,} " for w in WORKERS))
    for run in runs:
        cells = []
        alone = machine.time(run, 1, np.random.default_rng(run.d))
        for workers in WORKERS:
            seconds = machine.time(run, workers, np.random.default_rng(run.d))
            cells.append(f"{shown(seconds):>10} {100 * alone / (workers * seconds):5.3g}% ")
        mark = " " if run.real else "*"
        head = f"{run.d:>6}{mark} {run.queries:>10} {len(run.sizes):>7} {shown(run.own):>8}"
        print(head + "".join(f"{cell:>18}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost", type=float, default=1.0)
    parser.add_argument("--spread", type=float, default=0.5)
    parser.add_argument("--latency", type=float, default=0.01)
    parser.add_argument("--failures", type=float, default=0.01)
    parser.add_argument("--quick", action="store_true", help="up to d = 100 only")
    given = parser.parse_args()
    machine = Machine(given.cost, given.spread, given.latency, given.failures)
    print(f"f takes {machine.cost:g} s ± {100 * machine.spread:g}%, a message {machine.latency:g} s, ", end="")
    print(f"{100 * machine.failures:g}% of evaluations fail")
    for prefer in ("queries", "rounds"):
        runs = [record(d, prefer) for d in ((10, 30, 100) if given.quick else (10, 30, 100, 300, 500, 1000))]
        if not given.quick:
            runs += [extrapolated(runs[-2], runs[-1], d) for d in (3000, 10_000)]
        table(machine, runs, prefer)


if __name__ == "__main__":
    main()
