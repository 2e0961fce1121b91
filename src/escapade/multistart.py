"""`multistart`: many runs of `minimize` in lockstep, one evaluation a round for all of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from ._array import Array, as_point
from ._random import as_generator
from ._text import counted
from .errors import InvalidSetting
from .executors import Evaluate, Paired, choose
from .executors.lockstep import Lockstep
from .minimize import minimize
from .oracle import Journal
from .result import Result

SHOWN = 10
"""Rows of the printed table."""


@dataclass(frozen=True)
class Multistart:
    """What `multistart` returns: every run, and what they cost together.

    Attributes
    ----------
    runs : the result of each start, in the order of the starts
    rounds : evaluations that the runs shared; alone, one after another, they would have made `rounds_alone`
    ncalls : calls of the user's function that were made
    interrupted : whether Ctrl-C ended the runs early
    """

    runs: tuple[Result, ...]
    rounds: int
    ncalls: int
    interrupted: bool = False

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
        return sum(run.nfev for run in self.runs)

    @property
    def rounds_alone(self) -> int:
        """Rounds of all runs, had they been made one after another."""
        return sum(run.nrounds for run in self.runs)

    def to_json(self, **options: Any) -> str:
        """Every run, its history included, and what they cost together, as JSON."""
        together = {"ranking": self.ranking, "nfev": self.nfev, "ncalls": self.ncalls, "rounds": self.rounds}
        runs = [json.loads(run.to_json()) for run in self.runs]
        return json.dumps({**together, "interrupted": self.interrupted, "runs": runs}, **options)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote."""
        data = json.loads(text)
        runs = tuple(Result.from_json(json.dumps(run)) for run in data["runs"])
        return cls(runs, data["rounds"], data["ncalls"], data["interrupted"])

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __str__(self) -> str:
        certified, longest = sum(run.success for run in self.runs), max(run.nrounds for run in self.runs)
        lines = [
            f"runs        {len(self)}, {certified} certified" + (", interrupted" if self.interrupted else ""),
            f"queries     {self.nfev} in {counted(self.rounds, 'shared round')} and {counted(self.ncalls, 'call')} "
            f"({counted(self.rounds_alone, 'round')} one after another; the longest run made {longest})",
            "start  fun               verdict         queries  rounds  ending",
        ]
        for i in self.ranking[:SHOWN]:
            run = self.runs[i]
            verdict = "-" if run.certificate is None else run.certificate.verdict
            ending = run.stop.name.lower().replace("_", " ")
            lines.append(f"{i:>5}  {run.fun:<16.10g}  {verdict:<14} {run.nfev:>8} {run.nrounds:>7}  {ending}")
        if len(self) > SHOWN:
            lines.append(f"       and {len(self) - SHOWN} more")
        return "\n".join(lines)

    __repr__ = __str__


def multistart(
    fun: Callable[..., Any],
    starts: Any,
    args: tuple[Any, ...] = (),
    *,
    rng: Any = None,
    vectorized: bool = False,
    workers: Any = None,
    timeout: float | None = None,
    journal: Any = None,
    **options: Any,
) -> Multistart:
    """Minimise from many starts at once; the runs share one evaluation a round.

    Run i is bit for bit `minimize(fun, starts[i], rng=np.random.default_rng(rng).spawn(len(starts))[i], ...)`, for a
    function whose value at a point does not depend on the block it comes in (`check_fun` tests that). Budgets
    (`maxfev`, `maxiter`, `maxtime`) are each run's own. A run whose function fails ends; the others go on, and then,
    with `on_error="raise"`, its exception is raised and carries everything as `result`. So with a callback that fails.

    Parameters
    ----------
    starts : sequence of vectors, or a matrix
        A start for each run. The same vector n times gives n runs that differ in their randomness.
    journal : path or Journal, optional
        Run i keeps its journal in a file beside that one: runs-0.db, runs-1.db, ... for "runs.db".
    options
        Those of `minimize`.

    Queries: those of the runs
    """
    points = _starts(starts)
    args = args if isinstance(args, tuple) else (args,)
    whole = Paired(fun) if options.get("jac") is True else fun
    executor = choose(whole, args, vectorized=vectorized, workers=workers, timeout=timeout)
    generators: list[Any] = list(as_generator(rng).spawn(len(points)))
    if rng is None and journal is not None:
        generators = [None] * len(points)  # each journal remembers its own

    def job(i: int, evaluate: Evaluate) -> Result:
        record = None if journal is None else Journal.of(journal).numbered(i)
        own: dict[str, Any] = {"rng": generators[i], "workers": evaluate, "journal": record, "vectorized": vectorized}
        return minimize(fun, points[i], args, **own, **options)

    lockstep = Lockstep(executor)
    try:
        ended = lockstep.run([partial(job, i) for i in range(len(points))])
    finally:
        if executor is not workers and hasattr(executor, "close"):
            executor.close()
    failed = [one for one in ended if isinstance(one, BaseException)]
    for one in failed:
        if not isinstance(getattr(one, "result", None), Result):
            raise one
    runs: list[Any] = [vars(one)["result"] if isinstance(one, BaseException) else one for one in ended]
    result = Multistart(tuple(runs), lockstep.rounds, lockstep.calls, lockstep.interrupted)
    if failed:
        vars(failed[0])["result"] = result
        raise failed[0]
    return result


def _starts(starts: Any) -> Sequence[Array]:
    try:
        points = [as_point(x, f"starts[{i}]") for i, x in enumerate(starts)]
    except TypeError:
        points = []
    odd = [i for i, x in enumerate(points) if x.shape != points[0].shape]
    if odd:
        raise InvalidSetting(
            f"starts[{odd[0]}] has {counted(points[odd[0]].shape[0], 'variable')}, but starts[0] has "
            f"{points[0].shape[0]}: all starts are points of one function"
        )
    if not points:
        raise InvalidSetting(f"starts={starts!r:.60} must hold at least one vector: pass [x0] * n for n runs from x0")
    return points


def _rank(result: Result) -> tuple[bool, float]:
    return (not result.success, result.fun if math.isfinite(result.fun) else math.inf)
