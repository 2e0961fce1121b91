"""Multistart: what it costs to certify only the best of the distinct minima, and whether the same minima are found.

    python benchmarks/multistart.py [rastrigin] [wells] [well] [--runs 64] [--certify 5] [--picture FILE]

From the same starts, a Sobol sequence within a box: every run with its own certificate (certify="all"), and then with
the best certified alone. Printed: queries, the share of them that served certificates, distinct minima, and those found
the first way that were not found the second way.
"""

from __future__ import annotations

import argparse

import numpy as np
from seeds import MULTISTART

import escapade
from escapade.basins import BASINS, spread_of


def rastrigin(X: np.ndarray) -> np.ndarray:
    """About 11^d minima within the box."""
    return np.sum(X**2 - 10 * np.cos(2 * np.pi * X) + 10, axis=-1)


def wells(X: np.ndarray) -> np.ndarray:
    """A double well in every variable: 2^d minima."""
    return np.sum((X**2 - 1) ** 2 + 0.1 * X, axis=-1)


def well(X: np.ndarray) -> np.ndarray:
    """One double well, and a coupled bowl: two minima."""
    return (X[..., 0] ** 2 - 1) ** 2 + 0.1 * X[..., 0] + np.sum((X[..., 1:] - 0.3 * X[..., :-1]) ** 2, axis=-1)


PROBLEMS = {
    "rastrigin": (rastrigin, [(-5.12, 5.12)] * 5),
    "wells": (wells, [(-2.0, 2.0)] * 10),
    "well": (well, [(-2.0, 2.0)] * 10),
}


def missed(before: escapade.Multistart, after: escapade.Multistart) -> int:
    """The minima of the first that are not among those of the second."""
    found = [m.x for m in after.minima]
    near = BASINS.near * spread_of(np.array([run.history.x0 for run in before.runs]))
    return sum(all(np.linalg.norm(m.x - x) > near for x in found) for m in before.minima)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--certify", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--picture")
    options = parser.parse_args()
    for name in options.problems:
        fun, box = PROBLEMS[name]
        for seed in MULTISTART[options.first : options.first + options.repeats]:
            common = {"n": options.runs, "within": box, "rng": seed, "vectorized": True}
            before = escapade.multistart(fun, certify="all", **common)
            after = escapade.multistart(fun, certify=options.certify, **common)
            shown = sum(run.certificate.nfev for run in before.runs if run.certificate is not None)
            print(
                f"{name}, seed {seed}: {before.nfev} queries in {before.rounds} rounds, {shown / before.nfev:.0%} for "
                f"certificates, {len(before.minima)} minima, best {before.fun:.8g}\n"
                f"  the best {options.certify} certified: {after.nfev} queries ({after.nfev / before.nfev:.2f}) in "
                f"{after.rounds} rounds, {after.nfev_joining} to join, {len(after.joined)} joined; "
                f"{len(after.minima)} minima, {missed(before, after)} missed, best {after.fun:.8g}, "
                f"{sum(run.success for run in after.runs)} certified"
            )
            if options.picture:
                after.plot().figure.savefig(options.picture, dpi=110)


if __name__ == "__main__":
    main()
