"""Runs in lockstep: what a turn costs, and how many evaluations 64 octopus runs share.

    python benchmarks/lockstep.py [--runs 64] [--d 10] [--methods auto zo-gd-ncf]

Alone, one after another, the runs make the sum of their rounds; in lockstep they may make at most 1.2 times as many as
the longest of them. Every run is compared with itself alone, bit for bit.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import escapade
from escapade.executors import Evaluate, Vectorized
from escapade.executors.lockstep import Lockstep
from escapade.problems import Octopus


def turns(runs: int, rounds: int = 1000) -> float:
    """Microseconds of one turn of one run, its share of the evaluation included."""

    def job(evaluate: Evaluate) -> None:
        block = np.zeros((1, 2))
        for _ in range(rounds):
            evaluate(block, ())

    began = time.perf_counter()
    Lockstep(Vectorized(lambda X: X[:, 0])).run([job] * runs)
    return (time.perf_counter() - began) / rounds / runs * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--d", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=["auto", "zo-gd-ncf"])
    options = parser.parse_args()
    for runs in (1, 8, options.runs):
        print(f"{runs} runs: {turns(runs):.0f} µs a turn")
    problem = Octopus(d=options.d)
    starts = np.random.default_rng(1).uniform(-0.4, 0.4, (options.runs, options.d))
    for method in options.methods:
        began = time.perf_counter()
        together = escapade.multistart(problem, starts, rng=0, vectorized=True, method=method)
        seconds = time.perf_counter() - began
        began = time.perf_counter()
        generators = np.random.default_rng(0).spawn(options.runs)
        alone = [
            escapade.minimize(problem, x, rng=rng, vectorized=True, method=method)
            for x, rng in zip(starts, generators, strict=True)
        ]
        apart = time.perf_counter() - began
        longest = max(run.nrounds for run in alone)
        same = sum(run.to_json() == one.to_json() for run, one in zip(together.runs, alone, strict=True))
        certified = sum(run.success for run in together.runs)
        print(
            f"{method}: {together.rounds} shared evaluations of {together.nfev} queries, "
            f"{together.rounds / longest:.3f} times the longest run's {longest}; "
            f"{together.rounds_alone} one after another\n"
            f"  {same} of {options.runs} are what they are alone; {certified} certified; "
            f"{seconds:.1f} s together, {apart:.1f} s apart"
        )
        assert together.rounds <= 1.2 * longest
        assert same == options.runs


if __name__ == "__main__":
    main()
