"""`python -m escapade`: saddles that solvers take for solutions, told apart and left, by function values alone."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from .certify import certify
from .minimize import minimize
from .problems import Octopus, Transformed, random_rotation

METHODS = ("auto", "zo-gd-ncf")


def main() -> None:
    """Ask SciPy for a minimum from a saddle, and Escapade what it got; then let Escapade go."""
    d, delta = 10, math.sqrt(math.e * 1e-4)
    octopus = Octopus(d=d)
    problem = Transformed(problem=octopus, rotation=random_rotation(d, np.random.default_rng(1)))
    start = np.zeros(d)
    print(f"The octopus function in {d} dimensions, rotated at random, from the origin. Only values are used.")
    print(f"Its minima lie at f = -{d} nu = {-d * octopus.nu:.3f}; on the way are {d} saddles.\n")
    print(f"{'solver':14} {'f':>10}  {'it reports':12} {'queries':>8}   what certify says of its answer")
    for solver in ("BFGS", "L-BFGS-B", "Nelder-Mead", "Powell"):
        answer = scipy_minimize(problem, start, method=solver)
        verdict = certify(problem, answer.x, curvtol=delta, vectorized=True, rng=0).verdict
        report = "success" if answer.success else "failure"
        print(f"{solver:14} {answer.fun:10.3f}  {report:12} {answer.nfev:8}   {verdict}")
    results = [minimize(problem, start, method=method, curvtol=delta, vectorized=True, rng=0) for method in METHODS]
    for result in results:
        report = "success" if result.success else "failure"
        shown = "nothing" if result.certificate is None else result.certificate.verdict
        print(f"{result.method:14} {result.fun:10.3f}  {report:12} {result.nfev:8}   {shown}")
    print(f"\nHow {METHODS[0]} went down:")
    for step in results[0].history:
        fun = float(problem(step.x))
        bar = "#" * round(40 * fun / (-d * octopus.nu))
        print(f"  {step.nfev:6} queries  {step.move.value:8} f = {fun:10.3f}  {bar}")
    print(f"\n{results[0]}")


if __name__ == "__main__":
    main()
