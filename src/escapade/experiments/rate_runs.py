"""One run of a sweep: a method or a finder at one value of delta, epsilon or d, counted until it returns."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .._array import to_numpy
from ..curvature import Finder, Outcome, ZONCFDeterministic, ZONCFOnline
from ..errors import BudgetExhausted
from ..methods import Method
from ..oracle import Oracle
from ..problems import Cubic, Octopus, Problem
from ..stopping import Ending
from ..theory import Constants, theorem_3, theorem_4, theorem_7, theorem_8
from ..theory.complexity import zo_gd_ncf, zo_ncf_deterministic, zo_ncf_online, zo_scsg_ncf, zo_sgd_ncf, zo_spider_ncf
from .rate_problems import Noisy, Ramp, Spectrum, Tail

Variable = Literal["delta", "epsilon", "d"]
Instance = Literal["nothing to find", "at the edge", "cubic", "cubic, short escapes", "octopus", "tail", "ramp"]

P = 0.01
"""The probability of failure, that of the paper's experiments."""

C_K = 128.0
"""The constant of K that the proofs of Theorems 3 and 4 ask for; no run here ends by it."""

BUDGET = 4_000_000_000
"""Queries of a run. On samples most of them are ids that are drawn, hashed and never looked at one by one."""

PRINTED: dict[tuple[str, Variable], float] = {
    ("Theorem 1", "delta"): 2,
    ("Theorem 1", "d"): 1,
    ("Theorem 2", "delta"): 1 / 2,
    ("Theorem 2", "d"): 1,
    ("Theorem 3", "delta"): 5,
    ("Theorem 3", "epsilon"): 4,
    ("Theorem 3", "d"): 1,
    ("Theorem 4", "delta"): 7 / 2,
    ("Theorem 4", "epsilon"): 2,
    ("Theorem 4", "d"): 1,
    ("Theorem 4 II", "d"): 2,
    ("Theorem 7", "delta"): 5,
    ("Theorem 7", "epsilon"): 10 / 3,
    ("Theorem 7", "d"): 1,
    ("Theorem 8", "delta"): 5,
    ("Theorem 8", "epsilon"): 3,
    ("Theorem 8", "d"): 1,
}
"""The leading power of each theorem in 1/delta, 1/epsilon and d, the others fixed. Of 7 and 8, which are the full forms
of 5 and 6, the count is the same."""

COUNTS: dict[str, Callable[[Constants], float]] = {
    "Theorem 1": zo_ncf_online,
    "Theorem 2": zo_ncf_deterministic,
    "Theorem 3": zo_sgd_ncf,
    "Theorem 4": zo_gd_ncf,
    "Theorem 4 II": lambda c: zo_gd_ncf(c, 2),
    "Theorem 7": zo_scsg_ncf,
    "Theorem 8": zo_spider_ncf,
}
"""The theory's counts, constants one."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One method on one instance, while one of delta, epsilon and d changes and the others stay."""

    method: str
    theorem: str
    variable: Variable
    instance: Instance
    points: tuple[float, ...]
    """From the easiest to the hardest."""
    d: int = 10
    epsilon: float = 0.05
    delta: float = 0.5
    sigma: float = 0.0
    kappa: float = 0.0
    """Deviations of the components' gradients and Hessians; both zero is a function without samples."""
    rho: float = 1.0
    """Of the ramp."""
    budget: int = BUDGET
    steps_alone: bool = False
    """Whether only queries of descent steps are counted, and not those of checks and searches."""

    @property
    def label(self) -> str:
        """The instance, and what is counted if that is not everything."""
        return f"{self.instance}, steps alone" if self.steps_alone else self.instance

    @property
    def name(self) -> str:
        """What identifies it."""
        return f"{self.method}, {self.variable}, {self.label}"

    @property
    def sampled(self) -> bool:
        """Whether the function has samples."""
        return self.sigma > 0 or self.kappa > 0

    @property
    def hardness(self) -> tuple[float, ...]:
        """1/delta, 1/epsilon or d at the points."""
        return tuple(p if self.variable == "d" else 1 / p for p in self.points)

    def at(self, point: float) -> Sweep:
        """The same with the variable at a point."""
        changed: dict[str, Any] = {self.variable: int(point) if self.variable == "d" else point}
        return replace(self, **changed)

    def problem(self) -> Problem:
        """The function, without noise."""
        if self.instance == "nothing to find":
            return Spectrum(d=self.d, lowest=0.0)
        if self.instance == "at the edge":
            return Spectrum(d=self.d, lowest=-self.delta)
        if self.instance.startswith("cubic"):
            return Cubic(d=self.d)
        if self.instance == "octopus":
            return Octopus(d=self.d)
        return Tail(d=self.d) if self.instance == "tail" else Ramp(d=self.d, slope=2 * self.epsilon, rho=self.rho)

    def constants(self) -> Constants:
        """What the theory is told of the instance."""
        problem = self.problem()
        start, least = float(problem(problem.start)), problem.minimum
        return Constants(
            d=self.d,
            epsilon=self.epsilon,
            delta=self.delta,
            ell=(problem.ell or 1.0) + self.kappa,
            rho=(problem.rho or 1.0) + self.kappa,
            sigma=math.hypot(self.sigma, self.kappa if self.instance.startswith("cubic") else 0.0) or 1.0,
            Delta_f=1.0 if least is None else start - least,
            p=P,
        )

    def theory(self, point: float) -> float:
        """The theorem's count at a point, with every hidden constant one."""
        return COUNTS[self.theorem](self.at(point).constants())


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A run: what it cost, and whether exact derivatives confirm what it returned."""

    queries: int
    ended: bool
    """Whether it returned an answer of its own."""
    kept: bool
    """Whether the answer is what the theorem promises."""
    moves: dict[str, int] = field(default_factory=dict)
    purposes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def measure(sweep: Sweep, point: float, seed: int) -> Measurement:
    """One run.

    Queries: those of the method or of the finder, at most `sweep.budget`
    """
    began = time.process_time()
    here = sweep.at(point)
    problem = here.problem()
    fun: Callable[..., Any] = problem
    if here.sampled:
        first = 1 if here.instance in ("ramp", "tail") else 0  # the way down bends no component
        fun = Noisy(problem=problem, sigma=here.sigma, kappa=here.kappa, first=first, seed=seed).sample_value
    f = Oracle.of(fun, vectorized=True, samples="stream" if here.sampled else None, maxfev=here.budget)
    rng = np.random.default_rng(seed)
    moves: Counter[str] = Counter()
    try:
        ended, kept = (_find if here.theorem in ("Theorem 1", "Theorem 2") else _descend)(here, problem, f, rng, moves)
    except BudgetExhausted:
        ended = kept = False
    return Measurement(
        queries=f.ledger.queries,
        ended=ended,
        kept=kept,
        moves=dict(moves),
        purposes=dict(f.ledger.by_purpose),
        seconds=time.process_time() - began,
    )


def _find(
    here: Sweep, problem: Problem, f: Oracle, rng: np.random.Generator, moves: Counter[str]
) -> tuple[bool, bool]:
    """A finder at the origin: it answers ⊥ or a direction, or neither."""
    x, ell = problem.start, here.constants().ell
    kind: type[Finder] = ZONCFOnline if here.theorem == "Theorem 1" else ZONCFDeterministic
    finder: Any = kind(delta=here.delta, failure=P, ell=ell)  # type: ignore[call-arg]
    found = finder(f, x, rng)
    moves[found.outcome.name.lower()] += 1
    H = problem.hessian(x)
    if found.outcome is Outcome.FOUND:
        v = to_numpy(found.direction)
        return True, float(v @ H @ v) <= -here.delta / 2
    return found.certified, found.certified and float(np.linalg.eigvalsh(H)[0]) >= -here.delta


def _descend(
    here: Sweep, problem: Problem, f: Oracle, rng: np.random.Generator, moves: Counter[str]
) -> tuple[bool, bool]:
    """A method from the start until it returns."""
    run, x = method_of(here).iterates(f, problem.start, rng), problem.start
    while True:
        try:
            step = next(run)
        except StopIteration as last:
            ending: Ending = last.value
            break
        x = to_numpy(step.x)
        moves[step.move.name.lower()] += 1
    ended = ending.stop.name.lower() not in ("iterations", "budget", "undecided")
    moves[ending.stop.name.lower()] += 1
    least = -2 * here.delta if here.theorem == "Theorem 8" else -here.delta
    good = float(np.linalg.norm(problem.gradient(x))) <= here.epsilon
    return ended, ended and good and float(np.linalg.eigvalsh(problem.hessian(x))[0]) >= least


def method_of(here: Sweep) -> Method:
    """The method with its theorem's settings, and the float-safe finder that the theorem's settings come with.

    Of Theorem 8 the logarithm in epsilon~ is left out, as it is in the library's preset: with it the method stops at
    3 epsilon~, which is 400 epsilon and more. epsilon~ is a third of epsilon, so that epsilon is what is promised.
    """
    c = here.constants()
    known: dict[str, Any] = {name: getattr(c, name) for name in ("ell", "rho", "Delta_f", "d", "epsilon", "delta")}
    if here.theorem == "Theorem 3":
        return theorem_3(**known, sigma=c.sigma, p=P, C_K=C_K).method()
    if here.theorem == "Theorem 7":
        return theorem_7(**known, sigma=c.sigma, C_K=C_K).method()
    if here.theorem == "Theorem 8":
        spiders = theorem_8(**known, sigma=c.sigma).method()
        inner: Any = spiders.spider
        return replace(spiders, spider=replace(inner, epsilon_tilde=here.epsilon / 3))
    return theorem_4(**known, p=P, C_K=C_K, option=2 if here.theorem == "Theorem 4 II" else 1).method()
