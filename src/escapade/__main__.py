"""`python -m escapade`: a saddle is told from a minimum, and left, by function values alone."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize

from .certify import certify
from .estimators.gradients import coord_gradient
from .oracle import Oracle
from .problems import Octopus, Transformed, random_rotation


def main() -> None:
    """Certify the origin of a rotated octopus, step off it along the direction found, descend, and again."""
    d, delta = 10, math.sqrt(math.e * 1e-4)
    problem = Transformed(problem=Octopus(d=d), rotation=random_rotation(d, np.random.default_rng(1)))
    x, queries = np.zeros(d), 0
    print(f"The octopus function in {d} dimensions, rotated at random, from the origin. Only values are used.\n")
    print("What SciPy says of the origin:")
    for method in ("BFGS", "L-BFGS-B", "Nelder-Mead", "Powell"):
        r = minimize(problem, x, method=method)
        said = "success" if r.success else "failure"
        found = certify(problem, r.x, curvtol=delta, rng=0)
        print(f"  {method:12} f = {r.fun:10.3f}, reports {said:8} Escapade: {found.verdict}")
    print("\nWhat Escapade does:")
    while True:
        certificate = certify(problem, x, curvtol=delta, rng=0, vectorized=True)
        queries += certificate.nfev
        print(f"  f = {certificate.fun:10.3f}  {certificate.verdict:10} smallest eigenvalue in {certificate.curvature}")
        if certificate.verdict != "saddle":
            break
        x, spent = descend(problem, x + 0.5 * certificate.direction)
        queries += spent
    print(f"\n{certificate}\n\n{queries} queries in all, from the origin to {certificate.fun:.6f} = -{d} nu.")


def descend(problem: Transformed, x: np.ndarray) -> tuple[np.ndarray, int]:
    """Gradient descent on coordinate differences: it will do for going down, once off the saddle."""
    f = Oracle.of(problem, vectorized=True)
    gradient = coord_gradient(f, x, 1e-5)
    while np.linalg.norm(gradient) > 1e-5:
        x = x - gradient / 15  # the curvature along the way is at most 14.4
        gradient = coord_gradient(f, x, 1e-5)
    return x, f.ledger.queries


if __name__ == "__main__":
    main()
