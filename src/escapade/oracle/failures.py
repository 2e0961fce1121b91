"""What happens when the user's function raises, hangs, or returns what is not a number. The one place for it.

A policy says what to do with such a point. "raise" (and "stop", which differs only for whoever holds the run) ends the
matter with a typed error; "retry" asks again first, and then once more, a little later each time; "penalise" makes the
point a missing one, and so does "omit", for values that are not finite alone. A missing point is never a huge value:
whoever asked for it alone is told that it is no good, and whoever asked for a stencil gets a `MissingValue`, with the
values of the other points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._array import Array, namespace
from .._text import counted, named
from ..errors import EvaluationFailed, InvalidSetting, MissingValue, NonFiniteValue, UnboundedBelow
from ..executors import Evaluate, NoValue, RowFailure, TookTooLong, WorkerDied
from .stencil import Stencil
from .values import NUMBERS, Numbers, lost_rows, show

Answer: TypeAlias = Any
"""What a policy function answers: a value, "retry", or None for a missing point."""

Policy: TypeAlias = Literal["raise", "stop", "retry", "penalise", "omit"] | Callable[[Array, int, Any], Answer]

NAMES = ("raise", "stop", "retry", "penalise")
"""Policies for exceptions; NaN and infinity may be omitted too."""

RETRIES = 3
"""Further attempts that "retry" makes unless told how many."""

OURS = (WorkerDied, TookTooLong, NoValue)
"""Exceptions that say all themselves."""

PAUSE, LONGEST_PAUSE = 0.02, 10.0
"""Seconds before the first further attempt; twice as many before each next one, up to the second number."""


@dataclass(frozen=True)
class Failures:
    """What to do with points that cannot be evaluated.

    Parameters
    ----------
    on_error : "raise", "stop", "retry", "penalise" or callable
        When the function raises, takes too long, or kills its process. A callable `on_error(x, attempt, exception)`
        answers with a value for x, with None (x is missing) or with "retry"; or it raises.
    nan_policy : the same or "omit", optional
        When it returns NaN or infinity; a callable gets that value for its exception. "omit": the point is missing, but
        -inf ends the run. None: as `on_error`.
    retries : int, optional
        Further attempts before the policy is asked (None: 3 for "retry", else 0).
    """

    on_error: Policy = "raise"
    nan_policy: Policy | None = None
    retries: int | None = None

    def __post_init__(self) -> None:
        for name, policy in (("on_error", self.on_error), ("nan_policy", self.nan_policy)):
            names = NAMES if name == "on_error" else (*NAMES, "omit")
            if not (callable(policy) or policy in names or (policy is None and name == "nan_policy")):
                raise InvalidSetting(f"{name}={policy!r:.60} must be one of {', '.join(names)}, or a callable")
        retries = self.retries
        if retries is not None and (isinstance(retries, bool) or not isinstance(retries, int) or retries < 0):
            raise InvalidSetting(f"retries={retries!r:.60} must be a non-negative integer, or None")

    @classmethod
    def omitting(cls, on_error: Policy, nan_policy: Policy | None, retries: int | None) -> Failures:
        """Those of a caller who can do without a value here and there: NaN is omitted, unless something else is said of
        it, or of all failures."""
        return cls(on_error, "omit" if nan_policy is None and on_error == "raise" else nan_policy, retries)

    def at_start(self) -> Failures:
        """The same at the point where everything begins, which nobody can do without."""
        return replace(self, nan_policy="raise") if self.nan_policy == "omit" else self

    def policy(self, error: Exception | float) -> Policy:
        """The policy for an exception, or for a value that is not finite (or for the error that says so)."""
        finite = isinstance(error, Exception) and not isinstance(error, NonFiniteValue)
        return self.on_error if finite or self.nan_policy is None else self.nan_policy

    def raises(self, error: EvaluationFailed) -> bool:
        """Whether an error that ended a run is raised, rather than kept as its status."""
        policy = self.policy(error)
        return not isinstance(error, MissingValue) and (policy in ("raise", "omit") or callable(policy))

    def answer(self, x: Array, attempt: int, error: Exception | float) -> Answer:
        """What becomes of x after `attempt` attempts."""
        if isinstance(error, NoValue):
            return None
        policy = self.policy(error)
        most = self.retries if self.retries is not None else RETRIES if policy == "retry" else 0
        if attempt <= most:
            return "retry"
        if policy == "penalise" or (policy == "omit" and error != -math.inf):
            return None
        if not callable(policy):
            return "raise"
        return policy(x, attempt, error)


Span: TypeAlias = tuple[int, int]


def checked_values(
    evaluate: Evaluate,
    stencil: Stencil,
    span: Span,
    batch: tuple[Any, ...],
    failures: Failures,
    book: Callable[[int], None],
    kind: Numbers,
) -> tuple[NDArray[np.float64], float, str]:
    """The values of some rows of a stencil, of this kind, the machine epsilon they came with, and why some are missing.

    Missing values are NaN. `book` is told of every point sent. The point of an error is built afresh: the function
    may have written to the one it was given. What was seen before an error goes with it, as `seen`.
    """
    rows = span[1] - span[0]
    try:
        raw = evaluate(stencil.rows(*span), batch)
    except RowFailure as failure:
        asked = Asked(evaluate, stencil, span, batch, failures, book, kind)
        return asked.all(partial(asked.stopped, list(range(rows)), failure))
    except BaseException:
        book(rows)
        raise
    book(rows)
    seen = kind.read(raw, (rows, stencil.d), lambda row: stencil.rows(span[0] + row, span[0] + row + 1)[0, :])
    if seen is not None:
        costs = kind.costs(seen[0])
        if math.isfinite(costs[0]) if rows == 1 else np.isfinite(costs).all():
            return *seen, ""
    asked = Asked(evaluate, stencil, span, batch, failures, book, kind)
    return asked.all(partial(asked.take, range(rows), raw))


def missing_values(stencil: Stencil, values: NDArray[np.float64], why: str) -> MissingValue:
    """The error for a stencil some of whose values are missing."""
    lost = lost_rows(values)
    which = "the point asked for" if stencil.size == 1 else f"{lost.sum()} of {stencil.size} points, the first"
    first = int(lost.argmax())
    return MissingValue(f"no value could be had of {which} {why}", stencil.rows(first, first + 1)[0, :], values)


class Asked:
    """Rows of a stencil, asked for until each has a value or is missing."""

    name = "the function"
    """What is asked, in the words of an error."""
    shape: tuple[int, ...] = ()
    """Of what is asked for a row."""

    def __init__(
        self,
        evaluate: Evaluate,
        stencil: Stencil,
        span: Span,
        batch: tuple[Any, ...],
        failures: Failures,
        book: Callable[[int], None],
        kind: Numbers = NUMBERS,
    ) -> None:
        self.evaluate, self.stencil, self.batch, self.failures, self.book = evaluate, stencil, batch, failures, book
        self.start, rows, self.kind = span[0], span[1] - span[0], kind
        self.values = np.full((rows, *self.shape), np.nan) if self.shape else kind.missing(rows)
        self.attempts: NDArray[np.int64] = np.zeros(rows, dtype=np.int64)
        self.precision, self.why = 0.0, ""
        self.fresh: list[int] = []
        self.again: list[int] = []
        self.alone: list[int] = []

    def at(self, row: int) -> Array:
        return self.stencil.rows(self.start + row, self.start + row + 1)[0, :]

    def all(self, begin: Callable[[], None]) -> tuple[NDArray[np.float64], float, str]:
        """From the first answer on, ask until nothing is left."""
        try:
            begin()
            self._rest()
        except BaseException as error:
            vars(error)["seen"] = self.values
            raise
        return self.values, self.precision, self.why

    def _rest(self) -> None:
        """Ask for rows not sent yet, then for those to be tried again, then for those to be tried alone."""
        while self.fresh or self.again or self.alone:
            if self.fresh:
                rows, self.fresh = self.fresh, []
            elif self.again:
                rows, self.again = sorted(self.again), []
                time.sleep(min(PAUSE * 2.0 ** (int(self.attempts[rows].max()) - 1), LONGEST_PAUSE))
            else:
                rows = [self.alone.pop(0)]
            try:
                raw = self.evaluate(self._block(rows), tuple(ids[rows] if ids.ndim > 1 else ids for ids in self.batch))
            except RowFailure as failure:
                self.stopped(rows, failure)
                continue
            except BaseException:
                self.book(len(rows))
                raise
            self.book(len(rows))
            self.take(rows, raw)

    def _block(self, rows: list[int]) -> Array:
        parts = [self.stencil.rows(self.start + row, self.start + row + 1) for row in rows]
        return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=0)

    def stopped(self, rows: list[int], failure: RowFailure) -> None:
        """The function raised at one of these rows; those after it were not sent."""
        error = _cause(failure)
        self.book(len(rows) if failure.row is None else failure.row + 1)
        if failure.row is None:
            self.attempts[rows] += 1
            for row in rows:
                self._failed(row, error, len(rows))
            return
        done = rows[: failure.row] if failure.values is not None else []
        if done:
            self.take(done, failure.values)
        if isinstance(failure.__cause__, BaseException) and not isinstance(failure.__cause__, Exception):
            raise failure.__cause__
        self.attempts[rows[failure.row]] += 1
        self.fresh = [row for row in rows if row not in done and row != rows[failure.row]]
        self._failed(rows[failure.row], error)

    def take(self, rows: Sequence[int], raw: Any) -> None:
        """Raw values of these rows; any of them may be a failure."""
        self.attempts[rows] += 1
        lost: dict[int, RowFailure] = {}
        if isinstance(raw, list):
            lost = {row: value for row, value in zip(rows, raw, strict=False) if isinstance(value, RowFailure)}
            raw = [value for value in raw if not isinstance(value, RowFailure)]
        kept = [row for row in rows if row not in lost]
        seen = self.read(raw, kept) if kept else None
        if seen is not None:
            if self.values.shape[1:] != seen[0].shape[1:]:  # the length of residuals is known only now
                self.values = self.kind.missing(len(self.values))
            self.values[kept], self.precision = seen[0], max(self.precision, seen[1])
        for row in rows:
            if row in lost:
                self._failed(row, _cause(lost[row]), len(rows) if lost[row].row is None else None)
            elif (wrong := self.wrong(row)) is not None:
                self._failed(row, wrong)

    def read(self, raw: Any, rows: Sequence[int]) -> tuple[NDArray[np.float64], float] | None:
        """Raw values of these rows as float64, and their machine epsilon."""
        return self.kind.read(raw, (len(rows), self.stencil.d), lambda k: self.at(rows[k]))

    def wrong(self, row: int) -> float | None:
        """The value of a row, or what it costs, if that is not finite."""
        cost = float(self.kind.costs(self.values[row : row + 1])[0])
        return None if math.isfinite(cost) else cost

    def _failed(self, row: int, error: Exception | float, block: int | None = None) -> None:
        """Decide on a row that raised (or the block of `block` rows that it is in), or whose value is not finite."""
        x, attempt = self.at(row), int(self.attempts[row])
        self.values[row] = np.nan
        try:
            answer = self.failures.answer(x, attempt, error)
            given = None if answer is None or isinstance(answer, str) else self.kind.answered(answer)
            answer = answer if given is None or np.isfinite(given).all() else None
        except Exception as policy:
            raise EvaluationFailed(
                f"the policy for failures raised {named(policy)} at x = {show(x)}", x
            ) from policy
        said = answer if isinstance(answer, str) else ""
        if said == "retry":
            self.again.append(row)
        elif block is not None and block > 1 and said != "raise":  # which row of the block was it?
            self.alone.append(row)
        elif said == "raise":
            times = "" if attempt == 1 else f" ({attempt} attempts)"
            if isinstance(error, Exception):
                _raise_failed(self.name, error, x, times, block)
            if self.failures.policy(error) == "omit":
                raise UnboundedBelow(f"the function returned -inf at x = {show(x)}{times}", x)
            raise NonFiniteValue(
                f"{self.name} returned {error} at x = {show(x)}{times}; "
                "start elsewhere, bound the variables inside the function, return a finite value there, or pass "
                "x_scale if the steps taken are too long for the variables",
                x,
            )
        elif answer is None or self.shape:  # a policy's number is no gradient
            what = _said(error) if isinstance(error, Exception) else f"the value was {error}"
            self.why = self.why or f"at x = {show(x)} ({what}, {counted(attempt, 'attempt')})"
        else:
            self.values[row] = given


def _cause(failure: RowFailure) -> Exception:
    return failure.__cause__ if isinstance(failure.__cause__, Exception) else failure


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, OURS) else named(error)


def _raise_failed(name: str, cause: Exception, x: Array, times: str, rows: int | None) -> NoReturn:
    what, where = f"{name} raised {named(cause)}", f"at x = {show(x)}{times}"
    remedy = "start elsewhere, return a finite value there, or see on_error"
    if isinstance(cause, OURS):
        what = f"{cause}," if isinstance(cause, TookTooLong) else str(cause)
    if rows is not None:
        where, remedy = f"on an array of shape {(rows, x.shape[0])}{times}", "see on_error"
        if not isinstance(cause, OURS):
            remedy = "pass vectorized=False if it is a function of one point"
    raise EvaluationFailed(f"{what} {where}; {remedy}", x) from cause
