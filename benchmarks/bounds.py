"""Bounded problems: how fast, how true, and whether f was ever asked outside.

python benchmarks/bounds.py [NAMES...]    S2MPJ's problems with bounds of at most 10 variables, beside SciPy's solvers
                                          and Py-BOBYQA: the share solved to tau = 1e-5 within 25, 50 and 100 simplex
                                          gradients
python benchmarks/bounds.py truth [N]     N = 2000 points of synthetic boxes whose derivatives are known: verdicts that
                                          are false, and those that are undecided without need; `truth N jac`: with
                                          gradients
python benchmarks/bounds.py outside [N]   N = 10000 runs in random boxes, with noise and missing values: queries outside

A problem is solved to tau once f - f_L <= tau (f(x0) - f_L), f_L the lowest value any solver found within 100 simplex
gradients (d + 1 queries each). Three starts: that of the problem and two beside it. What peers found is kept in
`results/bounds.json`. Seeds: 16000 to 16999.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from s2mpj import load, names
from scipy.optimize import Bounds
from scipy.optimize import minimize as scipy_minimize
from seeds import BOUNDS
from solvers import HUGE, Recorder, Spent

import escapade
from escapade.errors import EscapadeError

MARKS = (25, 50, 100)
TAU = 1e-5
STARTS = 3
SECONDS = 60.0
"""No run takes longer."""

KEPT = Path(__file__).parent / "results" / "bounds.json"
SLOW = frozenset({"SPECAN", "FBRAIN2LS"})
"""Problems that take hundredths of a second a query."""


# Speed


@dataclass(frozen=True)
class Box:
    """One problem from one start."""

    name: str
    fun: Callable[[np.ndarray], float]
    x0: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.lower, self.upper)

    def inside(self, x: np.ndarray) -> float:
        """The value, which no solver may ask for outside."""
        x = np.asarray(x, dtype=float)
        if np.any(x < self.lower) or np.any(x > self.upper):
            raise AssertionError(f"{self.name} was asked outside its bounds, at {x}")
        with np.errstate(all="ignore"):
            return float(self.fun(x))


def boxes(chosen: list[str]) -> list[Box]:
    """The problems with bounds, from three starts each."""
    found = []
    known = set(names(10, "b")) - SLOW  # which puts the problems on the path
    for name in chosen or sorted(known):
        try:
            p = load(name)
        except Exception as error:  # some do not load
            print(f"{name}: {error}", file=sys.stderr)
            continue
        lower, upper = (np.asarray(side, dtype=float).ravel() for side in (p.raw.xlower, p.raw.xupper))
        lower, upper = np.where(lower <= -1e20, -np.inf, lower), np.where(upper >= 1e20, np.inf, upper)
        for k in range(STARTS):
            rng = np.random.default_rng([BOUNDS[k], p.d])
            beside = 0.1 * rng.standard_normal(p.d) * np.maximum(1.0, np.abs(p.start)) if k else 0.0
            x0 = np.clip(p.start + beside, lower, upper)
            with np.errstate(all="ignore"):
                if np.isfinite(p(x0)):
                    found.append(Box(f"{name}-{k}", p, x0, lower, upper))
    return found


def scipy_in_box(method: str, **options: Any) -> Callable[[Recorder, Box], None]:
    def solve(f: Recorder, box: Box) -> None:
        scipy_minimize(clipped(f, box), box.x0, method=method, bounds=box.bounds, options=options)

    return solve


def clipped(f: Recorder, box: Box) -> Callable[[np.ndarray], float]:
    """Some peers step over a bound by rounding; that is forgiven."""
    return lambda x: f(np.clip(x, box.lower, box.upper))


def bobyqa(f: Recorder, box: Box) -> None:
    import pybobyqa

    low, high = np.maximum(box.lower, -1e19), np.minimum(box.upper, 1e19)
    gap = float(np.min(high - low))
    radius = min(0.1 * max(float(np.max(np.abs(box.x0))), 1.0), 0.49 * gap)
    options = {"maxfun": f.budget, "do_logging": False, "print_progress": False, "rhobeg": radius}
    pybobyqa.solve(clipped(f, box), box.x0, bounds=(low, high), **options)


PEERS: dict[str, Callable[[Recorder, Box], None]] = {
    "L-BFGS-B": scipy_in_box("L-BFGS-B", ftol=1e-16, gtol=1e-9, maxfun=10**6, maxiter=10**6),
    "COBYQA": scipy_in_box("COBYQA", final_tr_radius=1e-10, maxfev=10**6, maxiter=10**6),
    "Nelder-Mead": scipy_in_box("Nelder-Mead", adaptive=True, xatol=1e-10, fatol=1e-14, maxiter=10**6),
    "Powell": scipy_in_box("Powell", xtol=1e-8, ftol=1e-14, maxiter=10**6),
    "Py-BOBYQA": bobyqa,
}


def ours(f: Recorder, box: Box) -> None:
    escapade.minimize(f, box.x0, bounds=box.bounds, maxfev=f.budget, rng=0, on_error="stop")


def reached(solve: Callable[[Recorder, Box], None], box: Box) -> list[float]:
    """The lowest values within the marks, and that of the start."""
    d = len(box.x0)
    record = Recorder(box.inside, MARKS[-1] * (d + 1), seconds=SECONDS)
    with contextlib.suppress(Spent):
        try:
            with np.errstate(all="ignore"):
                solve(record, box)
        except (Spent, AssertionError):
            raise
        except Exception as error:  # a peer that fails keeps what it found
            print(f"{box.name}: {type(error).__name__}: {error}", file=sys.stderr)
    steps, values = np.array(record.steps), np.array(record.values)
    return [float(np.min(values[steps <= mark * (d + 1)], initial=HUGE)) for mark in MARKS]


def kept_by_peers(problems: list[Box]) -> dict[str, dict[str, list[float]]]:
    """What peers reach, from the file where it is known, and into it where it was not."""
    kept: dict[str, dict[str, list[float]]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    KEPT.parent.mkdir(exist_ok=True)
    for box in problems:
        known = kept.setdefault(box.name, {})
        missing = [name for name in PEERS if name not in known]
        for name in missing:
            known[name] = reached(PEERS[name], box)
        if missing:
            text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
            KEPT.write_text(text.replace("},", "},\n") + "\n")
    return kept


def speed(chosen: list[str]) -> None:
    problems = boxes(chosen)
    kept = kept_by_peers(problems)
    found = {box.name: {"Escapade": reached(ours, box), **kept[box.name]} for box in problems}
    solved: dict[str, np.ndarray] = {name: np.zeros(3) for name in ("Escapade", *PEERS)}
    count, lost = 0, []
    for box in problems:
        values = found[box.name]
        start, low = box.inside(box.x0), min(v[-1] for v in values.values())
        if not low < start:
            continue
        count += 1
        hits = {name: np.array(v) - low <= TAU * (start - low) for name, v in values.items()}
        for name, hit in hits.items():
            solved[name] += hit
        lost += [(box.name, mark) for k, mark in enumerate(MARKS) if not hits["Escapade"][k] and any(
            hit[k] for hit in hits.values())]
    print(f"{count} runs from {len(problems)} starts; share solved to {TAU:g} within {MARKS} simplex gradients")
    for name, hits in solved.items():
        print(f"{name:12s} " + "  ".join(f"{hit / max(count, 1):.3f}" for hit in hits))
    print("not solved by Escapade, but by a peer: " + ", ".join(f"{name} ({mark})" for name, mark in lost))


# Truth


KINDS = ("inside", "face", "vertex", "saddle on a face", "zero multiplier", "behind a bound", "thin", "sloping")
GTOL, CURVTOL = 1e-4, 1e-2


@dataclass(frozen=True)
class Synthetic:
    """f(x* + s) = c + g's + s'Hs/2 + sum_k c_k (w_k's)^3 + q |s|^4 in a box, derivatives at x* being g and H."""

    kind: str
    x: np.ndarray
    g: np.ndarray
    H: np.ndarray
    ways: np.ndarray
    cubes: np.ndarray
    quartic: float
    constant: float
    lower: np.ndarray
    upper: np.ndarray

    def __call__(self, x: np.ndarray) -> float:
        s = x - self.x
        if np.any(x < self.lower) or np.any(x > self.upper):
            raise AssertionError("asked outside")
        return self.constant + self.change(s)

    def change(self, s: np.ndarray) -> float:
        cubic = float(self.cubes @ (self.ways @ s) ** 3)
        return float(self.g @ s + s @ self.H @ s / 2 + cubic + self.quartic * float(s @ s) ** 2)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Exact, and not to be asked for outside either."""
        if np.any(x < self.lower) or np.any(x > self.upper):
            raise AssertionError("asked outside")
        return self.slopes(x - self.x)

    def slopes(self, s: np.ndarray) -> np.ndarray:
        """The gradient at x* + s."""
        cubic = 3 * self.ways.T @ (self.cubes * (self.ways @ s) ** 2)
        return np.asarray(self.g + self.H @ s + cubic + 4 * self.quartic * (s @ s) * s)

    def minimiser(self, kept: np.ndarray) -> np.ndarray:
        """The displacement to the minimiser in some variables, by Newton's method."""
        s = np.zeros(len(self.x))
        for _ in range(30):
            inner = self.ways @ s
            H = self.H + 6 * (self.ways.T * (self.cubes * inner)) @ self.ways
            H = H + self.quartic * (4 * (s @ s) * np.eye(len(s)) + 8 * np.outer(s, s))
            s[kept] -= np.linalg.solve(H[np.ix_(kept, kept)], self.slopes(s)[kept])
        return s


def synthetic(seed: int) -> Synthetic:
    rng = np.random.default_rng([BOUNDS.start, seed])
    kind, d = KINDS[seed % len(KINDS)], int(rng.integers(2, 9))
    x = rng.standard_normal(d) * 10.0 ** rng.uniform(-1, 1)
    side = rng.choice([-1.0, 1.0], d)
    on = np.zeros(d, dtype=bool)
    if kind in ("face", "saddle on a face", "zero multiplier", "behind a bound", "thin", "sloping"):
        on[: int(rng.integers(1, d))] = True
    if kind == "vertex":
        on[:] = True
    width = 10.0 ** rng.uniform(-1, 3, d)
    if kind == "thin":
        width[rng.random(d) < 0.5] = 10.0 ** rng.uniform(-5, -1)
    inner = rng.uniform(0.1, 0.9, d)
    lower = np.where(on, np.where(side > 0, x, x - width), x - inner * width)
    upper = np.where(on, np.where(side > 0, x + width, x), x + (1 - inner) * width)
    multiplier = 10.0 ** rng.uniform(-2, 1, d)
    if kind == "zero multiplier":
        multiplier[np.flatnonzero(on)[0]] = 0.0
    g = np.where(on, side * multiplier, 0.0)
    if kind == "sloping":
        g = g + np.where(on, 0.0, 10.0 ** rng.uniform(-7, 0) * rng.standard_normal(d))
    values = 10.0 ** rng.uniform(-1, 2, d)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    H = (rotation * values) @ rotation.T
    free = np.flatnonzero(~on)
    if kind == "saddle on a face" or (kind == "inside" and rng.random() < 0.3):
        H = lowered(H, free, rng)
    if kind == "behind a bound":
        i = int(np.flatnonzero(on)[0])
        H[i, i] -= 3 * H[i, i] + 1
    if kind == "zero multiplier" and rng.random() < 0.5:
        i = int(np.flatnonzero(on)[0])
        H[i, i] -= 2 * H[i, i]
    ways = rng.standard_normal((3, d)) / np.sqrt(d)
    cubes, constant = rng.standard_normal(3) * 10.0 ** rng.uniform(-2, 0), float(rng.choice([0.0, 1.0, 100.0]))
    return Synthetic(kind, x, g, H, ways, cubes, 0.1, constant, lower, upper)


def lowered(H: np.ndarray, free: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same with a negative eigenvalue in the free variables."""
    v = np.zeros(len(H))
    v[free] = rng.standard_normal(len(free))
    v /= np.linalg.norm(v)
    return H - (v @ H @ v + 10.0 ** rng.uniform(-1, 1)) * np.outer(v, v)


def truth_of(p: Synthetic) -> tuple[float, float, np.ndarray]:
    """The KKT residual, the smallest eigenvalue in the free and weakly active variables, and which these are."""
    low, high = p.x <= p.lower, p.x >= p.upper
    inward = np.where(low, p.g, np.where(high, -p.g, 0.0))
    on = low | high
    residual = float(np.linalg.norm(np.where(on, np.minimum(inward, 0.0), p.g)))
    kept = np.flatnonzero(~on | (inward <= GTOL))
    smallest = float(np.linalg.eigvalsh(p.H[np.ix_(kept, kept)])[0]) if len(kept) else np.inf
    return residual, smallest, kept


def false_claim(p: Synthetic, c: Any) -> str:
    """Why the verdict is false; empty if it is true."""
    residual, smallest, _ = truth_of(p)
    if c.verdict == "not stationary":
        return "" if residual > GTOL else f"stationary: {residual:.2g}"
    if c.verdict in ("minimum", "second-order"):
        if residual > GTOL:
            return f"residual {residual:.2g}"
        if smallest < -CURVTOL:
            return f"curvature {smallest:.2g}"
        if not c.curvature.lower <= smallest * (1 + 1e-6) + 1e-6 or c.gradient.upper < residual * (1 - 1e-6):
            return f"intervals {c.curvature}, {c.gradient} miss {smallest:.4g}, {residual:.2g}"
        if c.verdict == "second-order":
            return ""
        far = float(np.linalg.norm(p.minimiser(np.array(c.active.free, dtype=int)))) if not c.active.weak else 0.0
        return "no minimum" if smallest <= 0 or far > c.radius * (1 + 1e-6) + 1e-15 else ""
    if c.verdict == "saddle":
        v = np.asarray(c.direction)
        room = np.where(v > 0, p.upper - p.x, np.where(v < 0, p.x - p.lower, np.inf))
        feasible = bool(np.all((room > 0) | (v == 0)))
        falls = any(p.change(t * v) < 0 for t in 10.0 ** np.arange(-6, 0.0))
        return "" if feasible and falls and v @ p.H @ v < 0 else f"direction: {feasible}, {falls}, {v @ p.H @ v:.2g}"
    return ""


def clear_case(p: Synthetic) -> bool:
    """Whether multipliers exceed 10 gtol, or slopes, and the smallest curvature 10 curvtol."""
    residual, smallest, _ = truth_of(p)
    on = (p.x <= p.lower) | (p.x >= p.upper)
    slopes = np.abs(p.g[on])
    clear_slopes = bool(np.all(slopes > 10 * GTOL)) and (residual == 0 or residual > 10 * GTOL)
    return clear_slopes and abs(smallest) > 10 * CURVTOL


def truth(count: int, gradients: bool) -> None:
    verdicts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    wrong, clear, open_, queries = [], 0, [], []
    for seed in range(count):
        p = synthetic(seed)
        own: dict[str, Any] = {"jac": p.gradient} if gradients else {}
        c = escapade.certify(p, p.x, bounds=Bounds(p.lower, p.upper), gtol=GTOL, curvtol=CURVTOL, rng=seed, **own)
        verdicts[p.kind][c.verdict] += 1
        queries.append(c.nfev)
        if why := false_claim(p, c):
            wrong.append((seed, p.kind, c.verdict, why))
        if clear_case(p):
            clear += 1
            if c.verdict == "undecided":
                open_.append((seed, p.kind, c.reason))
    for kind, seen in verdicts.items():
        print(f"{kind:20s} " + ", ".join(f"{n} {verdict}" for verdict, n in seen.most_common()))
    print(f"{len(wrong)} false of {count}; {len(open_)} undecided of {clear} clear ones ({len(open_) / clear:.1%}); "
          f"queries, median {np.median(queries):.0f}")
    for line in wrong + open_:
        print("  ", *line)


# Outside


@dataclass
class Watched:
    """A function in a random box, which counts its queries, and those outside."""

    rng: np.random.Generator
    asked: int = 0
    beyond: int = 0
    gradients: int = 0

    def __post_init__(self) -> None:
        rng = self.rng
        self.d = d = int(rng.integers(1, 6))
        width = 10.0 ** rng.uniform(-7, 20, d) * (rng.random(d) < 0.85)
        lower = np.where(rng.random(d) < 0.5, rng.standard_normal(d) * 10.0 ** rng.uniform(-3, 3), 0.0)
        upper = lower + width
        self.lower = np.where((rng.random(d) < 0.15) & (width > 0), -np.inf, lower)
        self.upper = np.where((rng.random(d) < 0.15) & (width > 0), np.inf, upper)
        self.centre, self.noise = rng.standard_normal(d), float(rng.choice([0.0, 1e-8, 1e-2]))
        self.lost, self.form = float(rng.choice([0.0, 0.05])), int(rng.integers(4))
        self.start = np.clip(rng.standard_normal(d) * 10.0 ** rng.uniform(-2, 2), self.lower, self.upper)

    def __call__(self, x: np.ndarray) -> float:
        self.asked += 1
        self.beyond += bool(np.any(x < self.lower) or np.any(x > self.upper))
        if self.rng.random() < self.lost:
            return np.nan
        s = np.clip(x - self.centre, -1e6, 1e6)
        forms = (s @ s, np.sum(np.cos(s)), s @ s - 3 * s[0] ** 2 + s[0] ** 4, np.sum(s))
        return float(forms[self.form] + self.noise * self.rng.standard_normal())

    def gradient(self, x: np.ndarray) -> np.ndarray:
        self.gradients += 1
        self.beyond += bool(np.any(x < self.lower) or np.any(x > self.upper))
        s = np.clip(x - self.centre, -1e6, 1e6)
        first = np.where(np.arange(self.d) == 0, -6 * s + 4 * s**3, 0.0)
        slopes = (2 * s, -np.sin(s), 2 * s + first, np.ones(self.d))
        return np.where(np.abs(x - self.centre) < 1e6, slopes[self.form], 0.0)

    def options(self, seed: int) -> dict[str, Any]:
        """Bounds, a small budget, and perhaps tolerances, a scale, the noise."""
        rng = self.rng
        chosen: dict[str, Any] = {"bounds": Bounds(self.lower, self.upper), "rng": seed}
        chosen["maxfev"] = int(rng.integers(20, 200))
        if rng.random() < 0.3:
            chosen["gtol"] = 10.0 ** rng.uniform(-6, -1)
        if rng.random() < 0.3:
            chosen["x_scale"] = 10.0 ** rng.uniform(-2, 2, self.d)
        if self.noise and rng.random() < 0.3:
            chosen["noise"] = self.noise
        return chosen


def outside(count: int) -> None:
    asked, beyond, gradients, errors = 0, 0, 0, Counter[str]()
    for seed in range(count):
        rng = np.random.default_rng([BOUNDS.start + 1, seed])
        fun = Watched(rng)
        try:
            run(int(rng.integers(5)), fun, fun.start, fun.options(seed))
        except EscapadeError as error:
            errors[type(error).__name__] += 1
        asked, beyond, gradients = asked + fun.asked, beyond + fun.beyond, gradients + fun.gradients
    print(f"{beyond} of {asked} values and {gradients} gradients outside, in {count} runs; raised: {dict(errors)}")


def run(door: int, fun: Watched, x: np.ndarray, options: dict[str, Any]) -> None:
    """One run through one of the doors that take bounds; a third of those that take gradients with them."""
    if door != 2 and options["rng"] % 3 == 0:
        options["jac"] = fun.gradient
    if door == 0:
        escapade.certify(fun, x, **options)
    elif door == 1:
        escapade.multistart(fun, [x, x], **options)
    elif door == 2:
        lab = escapade.ask_tell(x, **options)
        while not lab.done:
            lab.tell([fun(row) for row in lab.ask()])
        lab.result()
    elif door == 3:
        own = {name: options.pop(name) for name in ("bounds", "jac") if name in options}
        scipy_minimize(fun, x, method=escapade.scipy_method, **own, options=options)
    else:
        escapade.minimize(fun, x, **options)


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["truth"]:
        truth(int((arguments[1:] or ["2000"])[0]), "jac" in arguments)
    elif arguments[:1] == ["outside"]:
        outside(int((arguments[1:] or ["10000"])[0]))
    else:
        speed(arguments)


if __name__ == "__main__":
    main()
