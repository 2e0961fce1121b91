"""`multistart`: many runs of `minimize` in lockstep, one evaluation a round for all of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from . import _html
from ._array import Array, to_numpy
from ._random import as_generator
from ._text import counted
from .basins import Basins, Gate, distinct, spread_of
from .certificate import Certificate
from .errors import InvalidSetting
from .executors import Paired, choose
from .executors.coroutine import CoroutineThread
from .executors.lockstep import Lockstep
from .methods import Auto
from .minimize import minimize
from .oracle import Failures, Journal, Oracle
from .progress import progress as shown_progress
from .result import Result
from .shaped import shaped_arguments
from .starts import Sampler, given, sampled
from .stopping import Rule, Stop
from .structure import Structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 10
"""Rows of the printed table."""

MOST = 5
"""Distinct minima that are certified unless told otherwise."""

HEADS = ("fun", "verdict", "runs", "start")

ENDED = (
    *(Stop.CERTIFIED, Stop.SADDLE, Stop.NOT_STATIONARY, Stop.UNDECIDED, Stop.NOISE_LIMITED, Stop.FINISHED),
    *(Stop.JOINED, Stop.SET_ASIDE, Stop.UNCERTIFIED),
)
"""Endings of runs that came to a point of their own accord."""


@dataclass(frozen=True)
class Minimum:
    """One of the distinct points at which runs ended."""

    x: Array
    """The point."""
    fun: float
    """The value there."""
    certificate: Certificate | None
    """What was shown of it; None where it was not among the best, and nothing was shown."""
    runs: tuple[int, ...]
    """The runs that ended there, or joined one that did."""

    @property
    def verdict(self) -> str:
        """That of the certificate."""
        return "not certified" if self.certificate is None else self.certificate.verdict

    @classmethod
    def of(cls, all_runs: Multistart, group: tuple[int, ...]) -> Self:
        """That at which these runs ended."""
        best = min(group, key=lambda i: _rank(all_runs.runs[i]))
        run = all_runs.runs[best]
        others = [i for i, other in all_runs.joined.items() if other in group]
        return cls(run.x, run.fun, run.certificate, (best, *sorted({*group, *others} - {best})))


@dataclass(frozen=True)
class Multistart:
    """What `multistart` returns: every run, and what they cost together.

    Attributes
    ----------
    runs : tuple of Result
        The result of each start, in the order of the starts.
    minima : list of Minimum
        The distinct points at which runs ended, the lowest first.
    x, fun, success : array, float, bool
        Those of the best certified run, or of the best of all if none is certified.
    rounds : int
        Evaluations that the runs shared; alone, one after another, they would have made `rounds_alone`.
    ncalls : int
        Calls of the user's function that were made.
    interrupted : bool
        Whether Ctrl-C ended the runs early.
    """

    runs: tuple[Result, ...]
    rounds: int
    ncalls: int
    interrupted: bool = False
    nfev_joining: int = 0
    """Queries that asked whether a run was in the basin of another."""
    groups: tuple[tuple[int, ...], ...] = ()
    """The runs that ended at each of the distinct points, the lowest first."""

    joined: dict[int, int] = field(default_factory=dict)
    """Runs that came into the basin of another on their way and ended there, and that other."""

    @cached_property
    def minima(self) -> list[Minimum]:
        """The distinct points at which runs ended, the lowest first, with the runs that ended there.

        Runs that failed, or that a limit ended, ended at none. What was shown of each is its `certificate`.
        """
        return [Minimum.of(self, group) for group in self.groups]

    @property
    def ranking(self) -> list[int]:
        """The starts, the best certified first, and then the best of those without a certificate."""
        return sorted(range(len(self.runs)), key=lambda i: _rank(self.runs[i]))

    @property
    def results(self) -> list[Result]:
        """The results in the order of the ranking."""
        return [self.runs[i] for i in self.ranking]

    @property
    def best(self) -> Result:
        """The best certified result, or the best of all if none is certified."""
        return self.results[0]

    @property
    def x(self) -> Array:
        """The point of the best result."""
        return self.best.x

    @property
    def fun(self) -> float:
        """The value of the best result."""
        return self.best.fun

    @property
    def success(self) -> bool:
        """Whether the best result is certified."""
        return self.best.success

    @property
    def nfev(self) -> int:
        """Queries of all runs."""
        return self.nfev_joining + sum(run.nfev for run in self.runs)

    @property
    def rounds_alone(self) -> int:
        """Rounds of all runs, had they been made one after another."""
        return sum(run.nrounds for run in self.runs)

    def to_json(self, **options: Any) -> str:
        """Every run, its history included, and what they cost together, as JSON."""
        together = {"ranking": self.ranking, "nfev": self.nfev, "ncalls": self.ncalls, "rounds": self.rounds}
        together |= {"interrupted": self.interrupted, "nfev_joining": self.nfev_joining, "groups": self.groups}
        runs = [json.loads(run.to_json()) for run in self.runs]
        return json.dumps({**together, "joined": list(self.joined.items()), "runs": runs}, **options)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote."""
        data = json.loads(text)
        runs = tuple(Result.from_json(json.dumps(run)) for run in data["runs"])
        kept = {name: data[name] for name in ("rounds", "ncalls", "interrupted", "nfev_joining")}
        return cls(runs, **kept, groups=tuple(map(tuple, data["groups"])), joined=dict(data["joined"]))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distinct minima, the lowest first: their values, what was shown, and how many runs ended there.

        Needs Matplotlib: `pip install 'escapade[plot]'`. Queries: none.
        """
        from .plots import plot_minima

        return plot_minima(self.minima, ax)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def rows(self) -> list[tuple[str, str]]:
        """What is printed first: names, and what is said of each."""
        certified, longest = sum(run.success for run in self.runs), max(run.nrounds for run in self.runs)
        return [
            ("runs", f"{len(self)}, {certified} certified" + (", interrupted" if self.interrupted else "")),
            (
                "queries",
                f"{self.nfev} in {counted(self.rounds, 'shared round')} and {counted(self.ncalls, 'call')} "
                f"({counted(self.rounds_alone, 'round')} one after another; the longest run made {longest})",
            ),
            ("minima", counted(len(self.minima), "distinct point")),
        ]

    def table(self) -> list[tuple[str, str, str, str]]:
        """The distinct minima as they are printed: value, verdict, number of runs, and the start of the first."""
        return [(f"{m.fun:.10g}", m.verdict, str(len(m.runs)), str(m.runs[0])) for m in self.minima]

    def __str__(self) -> str:
        lines = [f"{name:<12}{text}" for name, text in self.rows()]
        shown = [HEADS, *self.table()[:SHOWN]]
        lines += [f"  {fun:<17} {verdict:<15} {runs:>5} {start:>6}" for fun, verdict, runs, start in shown]
        if len(self.minima) > SHOWN:
            lines.append(f"  and {len(self.minima) - SHOWN} more")
        unended = [run.stop for run in self.runs if run.stop not in ENDED]
        if unended:
            most = max(set(unended), key=unended.count)
            ending = most.name.lower().replace("_", " ")
            lines.append(f"  and {counted(len(unended), 'run')} that ended at none ({ending}: {unended.count(most)})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heading, colour = f"{len(self.minima)} distinct points from {counted(len(self), 'run')}", _html.OPEN
        if self.success:
            heading, colour = f"{heading}; the best is certified", _html.GOOD
        shown = _html.grid(HEADS, self.table()[:SHOWN])
        return _html.page(heading, colour, _html.table(self.rows()), _html.folded("minima", shown, unfolded=True))

    __repr__ = __str__


def multistart(
    fun: Callable[..., Any],
    starts: Any = None,
    args: tuple[Any, ...] = (),
    *,
    n: int | None = None,
    within: Any = None,
    sampler: Sampler = "sobol",
    certify: int | Literal["all"] | None = None,
    rng: Any = None,
    vectorized: bool = False,
    workers: Any = None,
    timeout: float | None = None,
    journal: Any = None,
    stop: Rule | None = None,
    progress: bool = False,
    **options: Any,
) -> Multistart:
    """Minimise from many starts at once; the runs share one evaluation a round.

    With certify="all" run i is bit for bit `minimize(fun, starts[i], rng=np.random.default_rng(rng).spawn(n)[i], ...)`,
    for a function whose value at a point does not depend on the block it comes in (`check_fun` tests that). Otherwise
    it is that as far as it goes: it ends where it joins another, or where it is not among the best.
    Budgets (`maxfev`, `maxiter`, `maxtime`) are each run's own. A run whose function fails ends; the others go on, and
    then, with `on_error="raise"`, its exception is raised and carries everything as `result`. So with a callback that
    fails.

    Parameters
    ----------
    fun, args : callable, tuple
        The function, as for `minimize`, and its further arguments.
    starts : sequence of vectors, or a matrix
        A start for each run. The same vector n times gives n runs that differ in their randomness. Or, instead,
    n, within, sampler : int, box, "sobol", "lhs" or "uniform"
        n starts within a box (a pair for every variable, or `scipy.optimize.Bounds`): of a scrambled Sobol sequence, of
        a Latin hypercube, or independent ones. Runs may leave the box, but not `bounds`, which are the box where
        `within` is left out.
    certify : int or "all", optional
        The number of distinct minima to certify, the best first: runs wait before their certificates until all have
        come so far, and a run that comes into the basin of another ends there. "all": every run by itself. None: "all"
        for starts that were given, 5 for starts within a box.
    journal : path or Journal, optional
        Run i keeps its journal in a file beside that one: runs-0.db, runs-1.db, ... for "runs.db".
    rng, vectorized, workers, timeout, stop, progress : optional
        As for `minimize`; `rng` draws the starts too.
    options
        Those of `minimize`.

    Returns
    -------
    Multistart
        Every run, the distinct minima, and what they cost together.

    Notes
    -----
    Queries: those of the runs, and `nfev_joining`

    Raises
    ------
    InvalidSetting
        An argument is out of its range.
    EvaluationFailed, NonFiniteValue
        The function failed where policies say "raise".

    Examples
    --------
    >>> import escapade
    >>> def wells(x):
    ...     return (x[0] ** 2 - 1) ** 2 + 0.1 * x[0]
    >>> found = escapade.multistart(wells, n=8, within=[(-2, 2)], rng=0)
    >>> [(round(float(one.x[0]), 2), one.verdict) for one in found.minima]
    [(-1.01, 'minimum'), (0.99, 'minimum')]
    """
    generator = as_generator(rng)
    if starts is None and rng is None and journal is not None:
        raise InvalidSetting("a journal goes on from the same starts: pass rng=, from which they are drawn, or starts=")
    points, structure = _points(starts, n, within, sampler, generator, options.get("bounds"))
    most = _certified(certify, starts is None, options)
    args = args if isinstance(args, tuple) else (args,)
    if structure is not None:
        fun, options = shaped_arguments(structure, {"fun": fun, **options})
    paired: dict[str, Any] = {"jac": True} if options.get("jac") is True else {}
    executor = choose(Paired(fun) if paired else fun, args, vectorized=vectorized, workers=workers, timeout=timeout)
    generators: list[Any] = list(generator.spawn(len(points)))
    if rng is None and journal is not None:
        generators = [None] * len(points)  # each journal remembers its own
    spread = spread_of(np.array([to_numpy(x).astype(np.float64) for x in points]))
    basins = None if most is None else Basins(most, spread, joining=journal is None)
    looks: list[Oracle] = []
    spent: list[int] = []
    show = shown_progress(progress, None)

    def told(result: Result) -> Result:
        spent.append(result.nfev)
        show.step(sum(spent), f"{len(spent)} of {len(points)} runs have ended")
        return result

    def job(i: int, evaluate: CoroutineThread[Result]) -> Result:
        record = None if journal is None else Journal.of(journal).numbered(i)
        own: dict[str, Any] = {"rng": generators[i], "workers": evaluate, "journal": record, "vectorized": vectorized}
        if basins is None:
            return told(minimize(fun, points[i], args, stop=stop, **own, **options))
        look: dict[str, Any] = {"vectorized": vectorized, "workers": evaluate, "failures": Failures("penalise")}
        f = Oracle.of(fun, args=args, **look, **paired)
        looks.append(f)
        gate = Gate(basins, i, evaluate.pause, f.tagged("join"), stop)
        return told(minimize(fun, points[i], args, stop=gate, **own, **options))

    lockstep = Lockstep(executor, None if basins is None else basins.decide)
    try:
        ended = lockstep.run([partial(job, i) for i in range(len(points))])
    finally:
        show.close(f"{len(spent)} of {len(points)} runs have ended.")
        if executor is not workers and hasattr(executor, "close"):
            executor.close()
    failed = [one for one in ended if isinstance(one, BaseException)]
    for one in failed:
        if not isinstance(getattr(one, "result", None), Result):
            raise one
    runs: list[Any] = [vars(one)["result"] if isinstance(one, BaseException) else one for one in ended]
    joined = {} if basins is None else basins.joined
    groups = _groups(runs, joined, spread)
    result = Multistart(
        tuple(runs if structure is None else [run.shaped(structure) for run in runs]),
        lockstep.rounds,
        lockstep.calls,
        lockstep.interrupted,
        sum(f.ledger.queries for f in looks),
        groups,
        joined,
    )
    if failed:
        vars(failed[0])["result"] = result
        raise failed[0]
    return result


def _groups(runs: Sequence[Result], joined: dict[int, int], spread: float) -> tuple[tuple[int, ...], ...]:
    """The runs that ended at each of the distinct points."""
    ended = [i for i, run in enumerate(runs) if run.stop in ENDED and i not in joined]
    rows = np.array([to_numpy(runs[i].x).astype(np.float64) for i in ended])
    found = distinct(rows, np.array([runs[i].fun for i in ended]), spread)
    return tuple(tuple(ended[k] for k in group) for group in found)


def _points(
    starts: Any, n: Any, within: Any, sampler: str, rng: np.random.Generator, bounds: Any
) -> tuple[Sequence[Array], Structure | None]:
    """The starts, those given or those drawn, and their structure if they are no vectors."""
    if starts is not None:
        if n is not None or within is not None:
            raise InvalidSetting("starts= and n=, within= exclude one another: pass the points, or how to draw them")
        return given(starts)
    if n is None or (within is None and bounds is None):
        raise InvalidSetting("multistart needs starts: pass starts=points, or n=64, within=[(low, high), ...]")
    if within is None:
        return list(sampled(n, bounds, sampler, rng, "bounds")), None
    return list(sampled(n, within, sampler, rng)), None


def _certified(certify: Any, sampled: bool, options: dict[str, Any]) -> int | None:
    """How many distinct minima are certified; None: every run by itself."""
    name = options.get("method", "auto")
    fitting = (name == "auto" or isinstance(name, Auto)) and options.get("samples") is None
    if certify is None:
        certify = MOST if sampled and fitting else "all"
    if isinstance(certify, str) and certify == "all":
        return None
    if isinstance(certify, bool) or not isinstance(certify, int | np.integer) or certify < 1:
        raise InvalidSetting(f"certify={certify!r} must be a positive number of distinct minima, or 'all'")
    if not fitting:
        raise InvalidSetting(
            f"certify={certify} is for method='auto' on functions without samples, whose runs can wait before their "
            "certificates: pass certify='all'"
        )
    return int(certify)


def _rank(result: Result) -> tuple[bool, float]:
    return (not result.success, result.fun if math.isfinite(result.fun) else math.inf)
