"""Hessians of a known pattern: certificates held against exact eigenvalues, wrong patterns among them; runs on chains.

    python benchmarks/sparsity.py truth [--problems 2000]
    python benchmarks/sparsity.py chains [--variables 1000] [--without]

`truth` certifies the origin of random functions of 3 to 60 variables whose Hessian is known and sparse (bands, a band
and a few pairs far apart, an arrow), with terms of third and fourth order: at minima, near the tolerance and 5% beyond
it. In a third of the cases `hess_sparsity` lacks one pair or a few, chosen so that the Hessian without them has no
negative eigenvalue and the whole one has one 5% beyond the tolerance. A certificate that holds there is false; so is
"saddle" where no eigenvalue is below -curvtol/2. `chains` runs `minimize` on chains, with the pattern and without.
Seeds: `SPARSITY`.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from typing import Any

import numpy as np
from scipy import sparse
from seeds import SPARSITY

import escapade

GTOL, CURVTOL = 1e-4, 1e-2


def band(d: int, width: int) -> Any:
    """A matrix with ones at most so far from its diagonal."""
    offsets = list(range(-min(width, d - 1), min(width, d - 1) + 1))
    return sparse.diags_array([np.ones(d - abs(k)) for k in offsets], offsets=offsets, shape=(d, d))


def pattern(d: int, rng: np.random.Generator) -> np.ndarray:
    """A random pattern."""
    kind = rng.integers(4)
    A = band(d, int(rng.integers(1, 4))).toarray() != 0
    if kind == 0:  # an arrow
        A = np.eye(d, dtype=bool)
        A[0] = A[:, 0] = True
    elif kind == 1:
        i, j = rng.integers(0, d, (2, max(1, d // 4)))
        A[i, j] = A[j, i] = True
    return A


class Case:
    """f(x) = x'Hx / 2 + cubes and fourth powers, whose Hessian at 0 is H."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.kind = ("minimum", "near", "beyond", "lacking", "lacking", "clear")[int(rng.integers(6))]
        d = int(rng.integers(3, 61))
        A = pattern(d, rng)
        upper = np.triu(rng.standard_normal((d, d)), 1) * A
        H = upper + upper.T
        H /= np.abs(H).sum(axis=1).max()
        H += np.diag(rng.uniform(-0.5, 0.5, d))
        least = np.linalg.eigvalsh(H)[0]
        target = {"minimum": 0.1, "near": rng.uniform(-0.9, 0.5) * CURVTOL, "beyond": -1.05 * CURVTOL,
                  "lacking": 0.1, "clear": -0.2}[self.kind]
        self.H = H + (target - least) * np.eye(d)
        self.told = A
        if self.kind == "lacking":
            self._add_hidden(rng)
        self.q, self.c = rng.uniform(0, 0.3, d), rng.normal(0, 0.1, d)
        self.lowest = float(np.linalg.eigvalsh(self.H)[0])

    def _add_hidden(self, rng: np.random.Generator) -> None:
        """Entries that the pattern lacks, as large as makes the lowest eigenvalue 5% more than the tolerance."""
        d = len(self.H)
        E = np.zeros((d, d))
        while not np.any(E):
            many = int(rng.integers(1, 4))
            i, j = rng.integers(0, d, (2, many))
            E[i, j] = rng.standard_normal(many)
            E += E.T
            np.fill_diagonal(E, 0.0)
        self.told = self.told & (E == 0)
        base = np.where(self.told, self.H, 0.0)
        base += (0.05 - min(0.05, np.linalg.eigvalsh(base)[0])) * np.eye(d)
        low, high = 0.0, 1e3
        for _ in range(200):
            middle = (low + high) / 2
            above = np.linalg.eigvalsh(base + middle * E)[0] > -1.05 * CURVTOL
            low, high = (middle, high) if above else (low, middle)
        self.H = base + high * E

    def __call__(self, X: np.ndarray) -> np.ndarray:
        values: np.ndarray = np.sum(X * (X @ self.H), axis=1) / 2 + X**4 @ self.q + X**3 @ self.c
        return values + np.sum(self.c[1:] * X[:, 1:] ** 2 * X[:, :-1] * np.diag(self.told, 1), axis=1)


def run_truth(problems: int) -> None:
    """Count what is false."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    rows, false = [], 0
    for k in range(problems):
        case = Case(SPARSITY[0] + k)
        d = len(case.H)
        cert = escapade.certify(case, np.zeros(d), vectorized=True, hess_sparsity=case.told, gtol=GTOL,
                                curvtol=CURVTOL, rng=SPARSITY[0] + k)
        wrong = (cert.holds and case.lowest < -CURVTOL) or (cert.verdict == "saddle" and case.lowest > -CURVTOL / 2)
        wrong |= cert.verdict == "minimum" and case.lowest <= 0
        wrong |= not cert.curvature.lower <= case.lowest + 1e-9 <= cert.curvature.upper + 2e-9
        false += wrong
        verdicts[case.kind][cert.verdict] += 1
        rows.append(cert.nfev / (d + 1))
        if wrong:
            print(f"false: seed {SPARSITY[0] + k}, {case.kind}, {cert.verdict}, {case.lowest:.4g} {cert.curvature}")
    for kind, seen in sorted(verdicts.items()):
        print(f"{kind:9s}" + ", ".join(f"{name} {n}" for name, n in seen.most_common()))
    print(f"{problems} certificates, {false} false (p = 0.001); median {np.median(rows):.1f} (d + 1)")


def broyden(X: np.ndarray) -> np.ndarray:
    """Broyden's tridiagonal function, a sum of squares."""
    P = np.pad(X, ((0, 0), (1, 1)))
    return np.sum(((3 - 2 * X) * X - P[:, :-2] - 2 * P[:, 2:] + 1) ** 2, axis=1)


def wells(X: np.ndarray) -> np.ndarray:
    """A chain of double wells, with springs between neighbours."""
    P = np.pad(X, ((0, 0), (1, 1)))
    return np.sum((X**2 - 1) ** 2, axis=1) / 4 + np.sum(np.diff(P, axis=1) ** 2, axis=1) / 2


def powell(X: np.ndarray) -> np.ndarray:
    """Powell's singular function."""
    a, b, c, e = (X[:, k::4] for k in range(4))
    return np.sum((a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4, axis=1)


def woods(X: np.ndarray) -> np.ndarray:
    """Wood's function."""
    a, b, c, e = (X[:, k::4] for k in range(4))
    first = 100 * (b - a**2) ** 2 + (1 - a) ** 2 + 90 * (e - c**2) ** 2 + (1 - c) ** 2
    return np.sum(first + 10.1 * ((b - 1) ** 2 + (e - 1) ** 2) + 19.8 * (b - 1) * (e - 1), axis=1)


def run_chains(d: int, *, without: bool) -> None:
    """Runs from standard starts, in rows of d + 1."""
    d -= d % 4
    random = 0.5 * np.random.default_rng(SPARSITY[0]).standard_normal(d)
    cases: dict[str, tuple[Any, np.ndarray, int]] = {
        "Broyden": (broyden, -np.ones(d), 2),
        "wells, from the saddle": (wells, np.zeros(d), 1),
        "wells, random": (wells, random, 1),
        "Powell": (powell, np.tile([3.0, -1.0, 0.0, 1.0], d // 4), 3),
        "Wood": (woods, np.tile([-3.0, -1.0, -3.0, -1.0], d // 4), 3),
    }
    for name, (f, x0, width) in cases.items():
        for told in (True, False)[: 1 + without]:
            known = {"hess_sparsity": band(d, width)} if told else {}
            res = escapade.minimize(f, x0, vectorized=True, rng=SPARSITY[0], maxfev=1000 * (d + 1), **known)
            cert = res.certificate
            shown = "none" if cert is None else f"{cert.verdict}, {cert.nfev / (d + 1):.1f} rows"
            how = "pattern known" if told else "not known"
            print(f"{name:24s} {how:14s} {res.nfev / (d + 1):7.1f} rows, f = {res.fun:.6g}, {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("truth", "chains"))
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--variables", type=int, default=1000)
    parser.add_argument("--without", action="store_true", help="run without the pattern too")
    given = parser.parse_args()
    if given.what == "truth":
        run_truth(given.problems)
    else:
        run_chains(given.variables, without=given.without)


if __name__ == "__main__":
    main()
