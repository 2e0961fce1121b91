"""The only door to function values.

Everything that counts, budgets, blocks or catches lives here. A method holds an `Oracle`, calls it with a stencil, and
gets float64 values on the host; the points are built in the namespace, dtype and device of x.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Array, to_numpy
from .._text import named
from ..domain import Domain
from ..errors import (
    BudgetExhausted,
    EvaluationFailed,
    InvalidSetting,
    InvalidValue,
    MissingCapability,
    MissingValue,
    OracleError,
    OutsideDomain,
    TimeExhausted,
)
from ..executors import choose
from .arguments import check_arguments
from .batch import Batch, Components
from .engine import Engine
from .failures import Failures, Span, checked_values, missing_values
from .journal import Record
from .ledger import Ledger
from .stencil import Stencil, point

BLOCK_BYTES = 1 << 24
"""Points are built in blocks of at most this many bytes (or one point)."""


@dataclass(frozen=True)
class Oracle:
    """Function values, counted.

    Parameters
    ----------
    fun : callable
        `fun(x, *args) -> float`; with `vectorized`, `fun(X, *args) -> values` of the rows of X; with
        `samples`, the sample ids come right after the point and the value is their average.
    samples : int, "stream" or None
        n for a finite sum, "stream" for an unlimited supply of 64-bit ids.
    grad : callable, optional
        `grad(x[, ids]) -> gradient`, for the first-order baselines alone; its calls are counted apart.
    maxfev : int or None
        Hard budget of queries. A stencil that would pass it is refused whole, before any of it is evaluated.
    workers, timeout : optional
        Where points are evaluated, and how long one may take: see `executors.choose`.
    failures : Failures, optional
        What to do with points that cannot be evaluated.
    """

    _engine: Engine
    purpose: str = "descent"
    batch: Batch | None = None
    pinned: bool = False
    unit: Array = None
    value_unit: float = 1.0
    """The unit of the values that this view gives."""
    _views: dict[tuple[str, bool], Oracle] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        fun: Callable[..., Any],
        *,
        args: tuple[Any, ...] = (),
        vectorized: bool = False,
        samples: int | Literal["stream"] | None = None,
        maxfev: int | None = None,
        grad: Callable[..., Any] | None = None,
        workers: Any = None,
        timeout: float | None = None,
        failures: Failures | None = None,
    ) -> Oracle:
        """An oracle for a user's function."""
        samples, maxfev = check_arguments(fun, grad, samples, maxfev)
        args = args if isinstance(args, tuple) else (args,)  # as SciPy does
        executor = choose(fun, args, vectorized=vectorized, workers=workers, timeout=timeout)
        engine = Engine(executor, samples, maxfev, grad=grad, failures=failures or Failures())
        engine.resent = getattr(executor, "resent", 0)
        if executor is not workers:  # what was handed in is not ours to close
            engine.close = getattr(executor, "close", engine.close)
        return cls(engine)

    # Views

    def tagged(self, purpose: str, *, pin: bool = False) -> Oracle:
        """The same oracle, counting under another purpose; a pinned purpose stays, whatever is asked of the view."""
        if self.pinned or (purpose == self.purpose and not pin):
            return self
        if (purpose, pin) not in self._views:  # most are asked for many times
            self._views[purpose, pin] = dataclasses.replace(self, purpose=purpose, pinned=pin)
        return self._views[purpose, pin]

    def scaled(self, unit: Array) -> Oracle:
        """f as a function of y = x / unit. The best point is still kept as x."""
        return dataclasses.replace(self, unit=unit)

    def valued(self, unit: float) -> Oracle:
        """f / unit. The best value is still kept as that of f."""
        return dataclasses.replace(self, value_unit=unit)

    def on(self, batch: Batch) -> Oracle:
        """f_S: the average over the sample ids of a batch, a deterministic function."""
        if self.samples is None:
            raise MissingCapability("this function has no samples: pass samples=n or samples='stream'")
        return dataclasses.replace(self, batch=batch)

    def draw(self, size: int, rng: np.random.Generator, *, replace: bool = False) -> Batch:
        """A minibatch of sample ids; without replacement, a batch of n (or more) is the whole sum, exact."""
        if self.samples is None:
            raise MissingCapability("this function has no samples: pass samples=n or samples='stream'")
        if size < 1:
            raise InvalidSetting(f"a batch of size {size} must hold at least one sample")
        if replace or self.samples == "stream":
            most = 2**63 - 1 if self.samples == "stream" else self.samples
            return Batch(rng.integers(0, most, size=size, dtype=np.int64))
        if size >= self.samples:
            return self.everything()
        return Batch(np.sort(rng.choice(self.samples, size=size, replace=False)).astype(np.int64))

    def everything(self) -> Batch:
        """All samples of a finite sum."""
        if not isinstance(self.samples, int):
            raise MissingCapability("a stream has no end: only a finite sum (samples=n) can be taken whole")
        return Batch(np.arange(self.samples, dtype=np.int64))

    def summed(self) -> Oracle:
        """A finite sum as a function of x alone: all its samples are asked for at every point, and its best point is
        kept."""
        return self.on(dataclasses.replace(self.everything(), whole=True))

    def reserve(self, queries: int) -> None:
        """Set these queries of the budget aside (a negative number gives them back)."""
        if self._engine.maxfev is not None:
            self._engine.maxfev -= queries
            self._engine.reserved += queries

    def close(self) -> None:
        """End the processes started for this oracle (not those handed in), and its journal."""
        self._engine.close()
        if self._engine.journal:
            self._engine.journal.close()

    def keep(self, journal: Record) -> None:
        """Take values from a journal as long as it has them, and record those that come after."""
        self._engine.journal = journal

    def until(self, deadline: float) -> None:
        """Refuse every stencil from this moment of the monotonic clock on."""
        self._engine.deadline = deadline

    # Facts

    @property
    def samples(self) -> int | Literal["stream"] | None:
        """n, "stream" or None."""
        return self._engine.samples

    @property
    def ledger(self) -> Ledger:
        """The books, shared by all views."""
        return self._engine.ledger

    @property
    def precision(self) -> float:
        """The largest machine epsilon that values came with: a float32 value of a float64 point is a float32 value."""
        return self._engine.precision

    @property
    def refused(self) -> BudgetExhausted | None:
        """The last stencil that the budget had no room for."""
        return self._engine.refused

    @property
    def remaining(self) -> float:
        """Queries left in the budget (infinity without one)."""
        engine = self._engine
        return np.inf if engine.maxfev is None else engine.maxfev - engine.ledger.queries

    def within(self, domain: Domain) -> None:
        """Ask f nowhere else: every point that is sent to it is checked."""
        self._engine.domain = domain

    def remember(self, memory: int) -> None:
        """Keep the last pairs of a point and its value, in so many bytes."""
        self._engine.store.memory = memory

    @property
    def pairs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The last points, as rows, and their values, as far as they are remembered."""
        return self._engine.store.pairs()

    @property
    def best(self) -> tuple[Array, float | None]:
        """The best point so far and its value; (None, None) before the first, or if values are of many batches."""
        store = self._engine.store
        return (store.best_x, None if store.best_x is None else store.best_fun)

    # The door

    def __call__(self, stencil: Stencil) -> NDArray[np.float64]:
        """The values at the points of a stencil: one round, `stencil.size` queries (times the batch)."""
        ledger, weight = self._engine.ledger, self._weight()
        queries = stencil.size * weight
        self._admit(queries)
        values, why = self._evaluate(stencil, keep_best=self.batch is None or self.batch.whole)
        if self.value_unit != 1.0:
            values = values / self.value_unit
        missing = int(np.sum(np.isnan(values))) if why else 0
        ledger.count(self.purpose, queries - missing * weight)
        if missing:
            raise self._with_best(missing_values(stencil, values, why))
        return values

    def by_group(self, stencil: Stencil, groups: Sequence[Batch]) -> NDArray[np.float64]:
        """The averages over each of these groups of samples apart, one column a group: one round, `stencil.size`
        queries for each sample."""
        self._admit(stencil.size * sum(group.weight for group in groups))
        columns = []
        for group in groups:
            self._in_time()
            part = self.on(group)
            values, why = part._evaluate(stencil, keep_best=False)
            missing = int(np.sum(np.isnan(values))) if why else 0
            self.ledger.count(self.purpose, (stencil.size - missing) * group.weight)
            if missing:
                raise self._with_best(missing_values(stencil, values, why))
            columns.append(values / self.value_unit)
        return np.stack(columns, axis=1)

    def value(self, x: Array) -> float:
        """The value at one point."""
        return float(self(point(x))[0])

    def trial(self, x: Array) -> float:
        """The value at a point that can be done without: infinity if it is missing."""
        try:
            return self.value(x)
        except MissingValue:
            return np.inf

    def observe(self, x: Array) -> float:
        """The value at x for plotting: unmetered, outside the budget, reported apart."""
        seen = dataclasses.replace(self, purpose="observation")
        value = float(seen._evaluate(point(x), keep_best=False)[0][0])
        self.ledger.observations += self._weight()
        return value

    def gradient(self, x: Array) -> NDArray[np.float64]:
        """The exact gradient at x, where the problem declares one: no query, counted apart."""
        grad = self._engine.grad
        if grad is None:
            raise MissingCapability("this function declares no gradient; Neon2 is first-order and needs grad=")
        self.ledger.gradients += self._weight()
        batch = () if self.batch is None else (self.batch.ids,)
        unit = 1.0 if self.unit is None else self.unit
        try:
            g = to_numpy(grad(x * unit, *batch) * unit).astype(np.float64) / self.value_unit
        except Exception as error:
            failed = EvaluationFailed(f"the function grad raised {named(error)}", x)
            raise self._with_best(failed) from error
        if g.shape != tuple(x.shape) or not np.all(np.isfinite(g)):
            what = f"an array of shape {g.shape}" if g.shape != tuple(x.shape) else "NaN or infinity"
            raise InvalidValue(f"the function grad must return {x.shape[0]} finite numbers, but returned {what}", x)
        return g

    def _admit(self, queries: int) -> None:
        """Open a round of so many queries, if the budget and the time have room for it."""
        engine, ledger = self._engine, self._engine.ledger
        if queries > self.remaining:
            most = (engine.maxfev or 0) + engine.reserved
            engine.refused = BudgetExhausted(queries, ledger.queries, most, engine.reserved)
            raise self._with_best(engine.refused)
        self._in_time()
        ledger.rounds += 1

    def _weight(self) -> int:
        if self.batch is not None:
            return self.batch.weight
        if self._engine.samples is None:
            return 1
        raise MissingCapability(
            "this is for functions without samples: choose a method for sampled ones (zo-sgd-ncf, zo-spider-ncf, ...; "
            "`escapade methods` lists them), or evaluate an oracle on a batch, f.on(f.draw(m, rng))"
        )

    def _evaluate(self, stencil: Stencil, *, keep_best: bool) -> tuple[NDArray[np.float64], str]:
        """The values, NaN where one is missing, and why the first of those is."""
        if self.unit is not None:
            stencil = stencil.scaled(self.unit)
        if isinstance(self.batch, Components) and not getattr(self._engine.evaluate, "ids_by_row", False):
            part = dataclasses.replace(self, unit=None)
            return self.batch.one_by_one(stencil, lambda own, rows: part.on(own)._evaluate(rows, keep_best=False))
        size, rows = stencil.size, max(1, BLOCK_BYTES // (8 * stencil.d))
        if 0 < size <= rows:
            return self._block(stencil, (0, size), keep_best)
        blocks = []
        for k in range(0, size, rows):
            try:
                self._in_time()
            except TimeExhausted:  # what was delivered is counted
                self.ledger.count(self.purpose, k * self._weight())
                raise
            blocks.append(self._block(stencil, (k, min(k + rows, size)), keep_best))
        return np.concatenate([np.empty(0), *(v for v, _ in blocks)]), next((why for _, why in blocks if why), "")

    def _in_time(self) -> None:
        """Refuse whatever comes after the deadline."""
        deadline = self._engine.deadline
        if deadline < np.inf and time.monotonic() > deadline:
            raise self._with_best(TimeExhausted("the time allowed is over: raise maxtime"))

    def _block(self, stencil: Stencil, span: Span, keep_best: bool) -> tuple[NDArray[np.float64], str]:
        """The same for the points from one of the stencil to another."""
        engine, journal = self._engine, self._engine.journal
        if not engine.domain.unbounded and not np.all(engine.domain.contains(to_numpy(stencil.rows(*span)))):
            raise OutsideDomain("f was to be asked outside its domain: this is a fault of the method")
        what = stencil, span, () if self.batch is None else self.batch.of_rows(span)
        start = self.ledger.queries == 0 and stencil.size == 1
        failures = engine.failures.at_start() if start else engine.failures
        ask = partial(checked_values, engine.evaluate, *what, failures, self._book)
        try:
            values, precision, lost = journal.block(self.purpose, *what, self.ledger, ask) if journal else ask()
        except (OracleError, KeyboardInterrupt) as error:
            if keep_best and "seen" in vars(error):  # of the rows before the one that failed
                engine.store.add(vars(error)["seen"], stencil, span[0])
            if isinstance(error, OracleError):
                self._with_best(error)
            raise
        engine.precision = max(engine.precision, precision)
        if keep_best:
            engine.store.add(values, stencil, span[0])
        return values, lost

    def _book(self, rows: int) -> None:
        """Book `rows` points sent to the function; and those that had to be sent again, to a worker that lived."""
        engine, ledger = self._engine, self._engine.ledger
        resent: int = getattr(engine.evaluate, "resent", 0)
        rows, engine.resent = rows + resent - engine.resent, resent
        ledger.calls += engine.evaluate.calls(rows)
        ledger.attempts += rows * self._weight()

    def _with_best(self, error: OracleError) -> OracleError:
        error.best_x, error.best_fun = self.best
        return error
