"""Seven copper atoms (a hexagon and its centre, ASE's EMT): is a looser curvtol certified wherever a tighter one is?

    pip install ase
    python benchmarks/copper.py [seeds]

Relaxed by forces from the flat hexagon and from a start beside it, then certified for curvtol = 0.1, 0.01, 0.001 and
0.0001 eV/A^2 with seeds 0 to 9: verdicts and queries. The points are fixed, and the seeds are those that users begin
with.
"""

from __future__ import annotations

import sys

import numpy as np
from ase import Atoms
from ase.calculators.emt import EMT
from scipy.optimize import minimize

import escapade

TOLERANCES = (0.1, 0.01, 0.001, 0.0001)


def hexagon() -> Atoms:
    turns = np.arange(6) * np.pi / 3
    ring = 2.4 * np.column_stack([np.cos(turns), np.sin(turns), np.zeros(6)])
    return Atoms("Cu7", positions=np.vstack([np.zeros(3), ring]), calculator=EMT())


def main() -> None:
    atoms, seeds = hexagon(), int(sys.argv[1]) if len(sys.argv) > 1 else 10

    def energy(x: np.ndarray) -> float:
        atoms.set_positions(x.reshape(-1, 3))
        return float(atoms.get_potential_energy())

    def slope(x: np.ndarray) -> np.ndarray:
        atoms.set_positions(x.reshape(-1, 3))
        return -atoms.get_forces().ravel()

    starts = {"flat": atoms.get_positions().ravel()}
    starts["any"] = starts["flat"] + 0.3 * np.random.default_rng(0).standard_normal(21)
    for name, x in starts.items():
        for _ in range(3):
            x = minimize(energy, x, jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000}).x
        print(f"{name}: energy {energy(x):.6f}, largest force {np.abs(slope(x)).max():.1e}")
        for seed in range(seeds):
            found = [escapade.certify(energy, x, gtol=1e-4, curvtol=c, rng=seed) for c in TOLERANCES]
            told = ", ".join(f"{c:g}: {one.verdict} ({one.nfev})" for c, one in zip(TOLERANCES, found, strict=True))
            held = [one.holds for one in found][::-1]
            print(f"  seed {seed}: {told}{'' if held == sorted(held) else '   NOT MONOTONE'}")


if __name__ == "__main__":
    main()
