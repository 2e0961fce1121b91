"""The only door to function values.

Everything that counts, budgets, blocks or catches lives here. A method holds an `Oracle`, calls it with a stencil, and
gets float64 values on the host; the points are built in the namespace, dtype and device of x.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Array, namespace, to_device, to_numpy
from ..domain import UNBOUNDED, Domain, Frame
from ..errors import (
    BudgetExhausted,
    InvalidSetting,
    MissingCapability,
    MissingValue,
    OracleError,
    OutsideDomain,
    TimeExhausted,
)
from ..executors import Evaluate, Paired, Pairs, choose
from ..loss import Loss
from .arguments import check_arguments, check_derivatives
from .batch import Batch, Components
from .engine import Engine
from .failures import Failures, Span, checked_values, missing_values
from .journal import Record
from .ledger import Ledger
from .stencil import Stencil, point, points
from .values import Numbers, Residuals, lost_rows
from .vectors import checked_vectors

OUTSIDE = "inside the bounds"
"""Why a point outside the domain has no value."""

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
    jac, hessp : callable, optional
        `jac(x[, ids], *args) -> gradient`, and `hessp(x, v, *args) -> H v`; their calls are counted apart. jac=True:
        `fun` returns (value, gradient).
    maxfev : int or None
        Hard budget of queries. A stencil that would pass it is refused whole, before any of it is evaluated.
    workers, timeout : optional
        Where points are evaluated, and how long one may take: see `executors.choose`.
    failures : Failures, optional
        What to do with points that cannot be evaluated.
    loss : Loss, optional
        The function returns a vector of residuals for each point. Its values are what these cost by the loss, one query
        each; `residuals` is the view of the same oracle that gives the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import escapade
    >>> f = escapade.Oracle.of(lambda x: x @ x, maxfev=3)
    >>> float(f.value(np.array([1.0, 2.0]))), f.ledger.queries
    (5.0, 1)
    """

    _engine: Engine
    purpose: str = "descent"
    batch: Batch | None = None
    pinned: bool = False
    unit: Array = None
    inner: tuple[Frame, ...] = ()
    """Frames of variables within those of `unit`, the innermost first."""
    outer: Frame | None = None
    """The frame that those of `unit` lie in."""
    value_unit: float = 1.0
    """The unit of the values that this view gives."""
    vectors: bool = False
    """Whether this view gives residual vectors, as rows, and not what they cost."""
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
        jac: Any = None,
        hessp: Callable[..., Any] | None = None,
        workers: Any = None,
        timeout: float | None = None,
        failures: Failures | None = None,
        loss: Loss | None = None,
    ) -> Oracle:
        """An oracle for a user's function."""
        samples, maxfev = check_arguments(fun, samples, maxfev)
        jac = check_derivatives(jac, hessp, vectorized=vectorized)
        args = args if isinstance(args, tuple) else (args,)  # as SciPy does
        whole = Paired(fun) if jac is True else fun
        executor = choose(
            whole, args, vectorized=vectorized, workers=workers, timeout=timeout, vectors=loss is not None
        )
        kind = Numbers() if loss is None else Residuals(loss)
        engine = Engine(executor, samples, maxfev, failures=failures or Failures(), kind=kind)
        ours = [] if executor is workers else [executor]  # what was handed in is not ours to close
        if jac is True:
            pairs = Pairs(executor)
            engine.evaluate, engine.gradients = pairs, pairs.slopes()
        own = None if isinstance(workers, Evaluate) else workers  # one that was handed in evaluates `fun` alone
        if callable(jac):
            engine.gradients = choose(jac, args, workers=own, timeout=timeout)
        if hessp is not None:
            engine.products = choose(hessp, args, workers=own, timeout=timeout)
        engine.resent = getattr(executor, "resent", 0)
        ours += [one for one in (engine.gradients, engine.products) if one is not None and jac is not True]
        engine.close = partial(_close, ours)
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

    def framed(self, frame: Frame | None) -> Oracle:
        """f as a function of the variables of a frame: of one within those of this view, once that has a unit."""
        if frame is None:
            return self
        if self.unit is None and self.outer is None:
            return dataclasses.replace(self, outer=frame)
        return dataclasses.replace(self, inner=(frame, *self.inner))

    def valued(self, unit: float) -> Oracle:
        """f / unit. The best value is still kept as that of f."""
        return dataclasses.replace(self, value_unit=unit)

    def residuals(self) -> Oracle:
        """The same oracle, giving the vectors of residuals whose costs are its values."""
        if not isinstance(self._engine.kind, Residuals):
            raise MissingCapability("this function returns numbers, and no residuals: least_squares is for those")
        return dataclasses.replace(self, vectors=True)

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

    @property
    def first_budget(self) -> float:
        """The budget that a run began with, which a journal remembers where it was raised since (infinity without)."""
        engine = self._engine
        began = engine.maxfev if engine.journal is None else engine.journal.begun["limits"]["maxfev"]
        return math.inf if began is None else float(began)

    def forget_derivatives(self) -> None:
        """Go on without the user's gradients and products."""
        self._engine.gradients = self._engine.products = None

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
    def differentiable(self) -> bool:
        """Whether the user gave gradients."""
        return self._engine.gradients is not None and not isinstance(self._engine.kind, Residuals)

    @property
    def has_jacobian(self) -> bool:
        """Whether the user gave Jacobians of residuals."""
        return self._engine.gradients is not None and isinstance(self._engine.kind, Residuals)

    @property
    def has_products(self) -> bool:
        """Whether the user gave Hessian-vector products."""
        return self._engine.products is not None

    @property
    def gradient_precision(self) -> float:
        """The largest machine epsilon that gradients came with."""
        return self._engine.gradient_precision

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

    @property
    def domain(self) -> Domain:
        """Where this view may be asked, in its own variables."""
        domain = self._engine.domain
        if domain.unbounded:
            return UNBOUNDED
        if self.outer is not None:
            domain = self.outer.box(domain)
        if self.unit is not None:
            unit = to_numpy(self.unit).astype(np.float64)
            domain = Domain(*(None if side is None else side / unit for side in (domain.lower, domain.upper)))
        for frame in reversed(self.inner):
            domain = frame.box(domain)
        return domain

    def remember(self, memory: int) -> None:
        """Keep the last pairs of a point and its value, in so many bytes."""
        self._engine.store.memory = memory

    @property
    def pairs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The last points, as rows, and their values, as far as they are remembered."""
        return self._engine.store.pairs()

    @property
    def best_residuals(self) -> NDArray[np.float64] | None:
        """The residuals at the best point so far."""
        return self._engine.store.best_residuals

    @property
    def best(self) -> tuple[Array, float | None]:
        """The best point so far and its value; (None, None) before the first, or if values are of many batches."""
        store = self._engine.store
        return (store.best_x, None if store.best_x is None else store.best_fun)

    # The door

    def __call__(self, stencil: Stencil) -> NDArray[np.float64]:
        """The values at the points of a stencil, or the residuals as rows: one round, `stencil.size` queries (times the
        batch)."""
        if self.vectors or not self._engine.store.known or self.samples is not None:
            return self._asked(stencil)
        values, given = self._recalled(stencil)
        self.ledger.known += given
        unknown = np.flatnonzero(np.isnan(values))
        if len(unknown):
            try:
                values[unknown] = self._asked(stencil if len(unknown) == len(values) else stencil.chosen(unknown))
            except MissingValue as lost:
                values[unknown] = lost.values
                raise self._with_best(MissingValue(str(lost), lost.x, values)) from lost
        return values

    def know(self, rows: Array, values: NDArray[np.float64], *, given: bool = True) -> None:
        """Values already paid for at the rows of a matrix: where these very points come up they are not asked for."""
        self._engine.store.know(self._placed(rows), values * self.value_unit, given=given)

    def _recalled(self, stencil: Stencil) -> tuple[NDArray[np.float64], int]:
        """The values known at the points of a stencil, NaN at the others; and how many of them the user gave."""
        rows = max(1, BLOCK_BYTES // (8 * stencil.d))
        spans = [(k, min(k + rows, stencil.size)) for k in range(0, stencil.size, rows)]
        found = [self._engine.store.recall(self._placed(stencil.rows(*span))) for span in spans]
        values = np.concatenate([np.empty(0), *(values for values, _ in found)]) / self.value_unit
        return values, sum(given for _, given in found)

    def _asked(self, stencil: Stencil) -> NDArray[np.float64]:
        """The values at the points of a stencil, every one of them asked for."""
        ledger, weight = self._engine.ledger, self._weight()
        queries = stencil.size * weight
        self._admit(queries)
        values, why = self._evaluate(stencil, keep_best=self.batch is None or self.batch.whole)
        values = self._viewed(values)
        missing = int(np.sum(lost_rows(values))) if why else 0
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
    def _viewed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What was delivered, as this view gives it."""
        unit = self.value_unit
        if self.vectors:
            return values if unit == 1.0 else values / math.sqrt(unit)
        values = self._engine.kind.costs(values)
        return values if unit == 1.0 else values / unit

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
        value = float(self._engine.kind.costs(seen._evaluate(point(x), keep_best=False)[0])[0])
        self.ledger.observations += self._weight()
        return value

    def gradient(self, x: Array) -> NDArray[np.float64]:
        """The user's own gradient at x: no query, counted apart."""
        return np.asarray(self.gradients(point(x))[0])

    def gradients(self, stencil: Stencil) -> NDArray[np.float64]:
        """The user's own gradients at the points of a stencil, as rows: no query, counted apart."""
        evaluate = self._engine.gradients
        if evaluate is None:
            raise MissingCapability("this function declares no gradient: pass it as jac=")
        batch = () if self.batch is None else (self.batch.ids,)
        rows, precision, lost = self._vectors("gradient", evaluate, stencil, batch)
        self._engine.gradient_precision = max(self._engine.gradient_precision, precision)
        self.ledger.gradients += int(np.isfinite(rows[:, 0]).sum()) * self._weight()
        return self._whole(self._pulled(rows) / self.value_unit, stencil, lost)

    def product(self, x: Array, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """The user's own product of the Hessian at x with a vector: no query, counted apart."""
        evaluate = self._engine.products
        if evaluate is None:
            raise MissingCapability("this function declares no Hessian-vector products: pass them as hessp=")
        for frame in self.inner:
            v = frame.direction(v)
        if self.unit is not None:
            v = v * to_numpy(self.unit).astype(np.float64)
        if self.outer is not None:
            v = self.outer.direction(v)
        rows, precision, lost = self._vectors("product", evaluate, point(x), (v,))
        self._engine.gradient_precision = max(self._engine.gradient_precision, precision)
        self.ledger.products += bool(np.isfinite(rows[0, 0]))
        return np.asarray(self._whole(self._pulled(rows) / self.value_unit, point(x), lost)[0])

    def _pulled(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradients of the user's function as those of this view."""
        if self.outer is not None:
            rows = self.outer.pulled(rows)
        if self.unit is not None:
            rows = rows * to_numpy(self.unit)
        for frame in reversed(self.inner):
            rows = frame.pulled(rows)
        return rows

    def _vectors(
        self,
        what: str,
        evaluate: Evaluate,
        stencil: Stencil,
        batch: tuple[Any, ...],
        shape: tuple[int, ...] | None = None,
    ) -> tuple[NDArray[np.float64], float, str]:
        """What one of the user's derivatives says at the points of a stencil, in the user's own units: arrays of this
        shape, vectors if it is None. Points outside the domain are missing, and are not asked for."""
        stencil, domain = self._outward(stencil), self._engine.domain
        if domain.unbounded:
            return self._vectors_outward(what, evaluate, stencil, batch, shape)
        block = domain.snapped(stencil.rows(0, stencil.size))
        inside = np.flatnonzero(domain.contains(to_numpy(block)))
        rows, precision, lost = np.full((stencil.size, *(shape or (stencil.d,))), np.nan), 0.0, ""
        if len(inside):
            part = points(namespace(block).take(block, to_device(inside, block), axis=0))
            rows[inside], precision, lost = self._vectors_outward(what, evaluate, part, batch, shape)
        return rows, precision, lost or (OUTSIDE if len(inside) < stencil.size else "")

    def _vectors_outward(
        self,
        what: str,
        evaluate: Evaluate,
        stencil: Stencil,
        batch: tuple[Any, ...],
        shape: tuple[int, ...] | None = None,
    ) -> tuple[NDArray[np.float64], float, str]:
        """The same for points of the user's function."""
        self._weight()
        self._in_time()
        engine, ledger = self._engine, self.ledger
        self._inside(stencil, (0, stencil.size))
        failures = engine.failures.at_start() if ledger.gradients == 0 else engine.failures
        name = {"gradient": "jac", "product": "hessp"}[what]
        said = f"the function {name}"
        ask = partial(checked_vectors, said, evaluate, stencil, batch, failures, self._book_pairs, shape)
        try:
            if engine.journal is None:
                return ask()
            shape = shape or (stencil.d,)
            span, many = (0, stencil.size), stencil.size * math.prod(shape)
            values, precision, lost = engine.journal.block(
                f"{self.purpose} {what}", stencil, span, batch, ledger, lambda: _flat(ask()), many
            )
            return values.reshape(stencil.size, *shape), precision, lost
        except OracleError as error:
            raise self._with_best(error) from error.__cause__

    def _whole(self, rows: NDArray[np.float64], stencil: Stencil, lost: str) -> NDArray[np.float64]:
        """These rows, or an error if some of them are missing."""
        if lost:
            raise self._with_best(missing_values(stencil, rows[:, 0] if len(rows) > 1 else rows[0, :1], lost))
        return rows

    def _book_pairs(self, rows: int) -> None:
        """Book points sent for their gradients: calls of the function itself, where it gives both."""
        engine = self._engine
        if isinstance(engine.gradients, Pairs):
            engine.ledger.calls += engine.gradients.calls(rows)

    def jacobian(self, x: Array) -> NDArray[np.float64]:
        """The user's own Jacobian of residuals at x, m x d: no query, counted apart."""
        evaluate, length = self._engine.gradients, getattr(self._engine.kind, "length", None)
        if evaluate is None or length is None:
            raise MissingCapability("no Jacobian of residuals was given: pass jac=, or leave it to differences")
        shape = (length, self._dimension(x.shape[0]))
        (J,), precision, lost = self._vectors("gradient", evaluate, point(x), (), shape)
        self._engine.gradient_precision = max(self._engine.gradient_precision, precision)
        self.ledger.gradients += bool(np.isfinite(J[0, 0]))
        J = self._pulled(J)
        flat = (J / math.sqrt(self.value_unit)).reshape(1, -1)
        return np.asarray(self._whole(flat, point(x), lost)).reshape(J.shape)

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
        stencil = self._outward(stencil)
        if not self._engine.domain.unbounded:
            return self._evaluate_inside(stencil, keep_best=keep_best)
        return self._evaluate_all(stencil, keep_best=keep_best)

    def _outward(self, stencil: Stencil) -> Stencil:
        """The points of this view as those of the user's function."""
        if self.inner or self.outer is not None:
            return Stencil(stencil.size, self._dimension(stencil.d), partial(self._placed_rows, stencil))
        return stencil if self.unit is None else stencil.scaled(self.unit)

    def _placed(self, rows: Array) -> Array:
        """Points of this view, the rows of a matrix, as those of the user's function."""
        for frame in self.inner:
            rows = frame.outside(rows)
        if self.unit is not None:
            rows = rows * self.unit
        return rows if self.outer is None else self.outer.outside(rows)

    def _placed_rows(self, stencil: Stencil, start: int, stop: int) -> Array:
        return self._placed(stencil.rows(start, stop))

    def _dimension(self, d: int) -> int:
        """The number of the user's variables, where this view has d."""
        frames = [*self.inner, *([] if self.outer is None else [self.outer])]
        return int(frames[-1].origin.shape[0]) if frames else d

    def _evaluate_inside(self, stencil: Stencil, *, keep_best: bool) -> tuple[NDArray[np.float64], str]:
        """The same for points that may lie outside the domain: those are missing, and are not asked for."""
        domain, rows = self._engine.domain, max(1, BLOCK_BYTES // (8 * stencil.d))
        values, why = self._engine.kind.missing(stencil.size), ""
        for start in range(0, stencil.size, rows):
            stop = min(start + rows, stencil.size)
            block = domain.snapped(stencil.rows(start, stop))
            inside = np.flatnonzero(domain.contains(to_numpy(block)))
            if len(inside) < stop - start:
                block, why = namespace(block).take(block, to_device(inside, block), axis=0), why or OUTSIDE
            if len(inside):
                seen, lost = self._evaluate_all(points(block), keep_best=keep_best)
                if seen.shape[1:] != values.shape[1:]:  # the length of residuals is known only now
                    values = self._engine.kind.missing(stencil.size)
                values[start + inside] = seen
                why = why or lost
        return values, why

    def _evaluate_all(self, stencil: Stencil, *, keep_best: bool) -> tuple[NDArray[np.float64], str]:
        """The same for points of the user's function."""
        if isinstance(self.batch, Components) and not getattr(self._engine.evaluate, "ids_by_row", False):
            part = dataclasses.replace(self, unit=None, inner=(), outer=None)
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
        parts = [v for v, _ in blocks] or [self._engine.kind.missing(0)]
        return np.concatenate(parts), next((why for _, why in blocks if why), "")

    def _in_time(self) -> None:
        """Refuse whatever comes after the deadline."""
        deadline = self._engine.deadline
        if deadline < np.inf and time.monotonic() > deadline:
            raise self._with_best(TimeExhausted("the time allowed is over: raise maxtime"))

    def _block(self, stencil: Stencil, span: Span, keep_best: bool) -> tuple[NDArray[np.float64], str]:
        """The same for the points from one of the stencil to another."""
        engine, journal = self._engine, self._engine.journal
        self._inside(stencil, span)
        what = stencil, span, () if self.batch is None else self.batch.of_rows(span)
        start = self.ledger.queries == 0 and stencil.size == 1
        failures = engine.failures.at_start() if start else engine.failures
        ask = partial(checked_values, engine.evaluate, *what, failures, self._book, engine.kind)
        try:
            values, precision, lost = (
                journal.block(self.purpose, *what, self.ledger, ask, kind=engine.kind) if journal else ask()
            )
        except (OracleError, KeyboardInterrupt) as error:
            if keep_best and "seen" in vars(error):  # of the rows before the one that failed
                self._keep(vars(error)["seen"], stencil, span[0])
            if isinstance(error, OracleError):
                self._with_best(error)
            raise
        engine.precision = max(engine.precision, precision)
        if keep_best:
            self._keep(values, stencil, span[0])
        return values, lost

    def _keep(self, values: NDArray[np.float64], stencil: Stencil, start: int) -> None:
        """Keep what was delivered for the points of a stencil from one on."""
        kind, store = self._engine.kind, self._engine.store
        store.add(kind.costs(values), stencil, start, values if isinstance(kind, Residuals) else None)

    def _inside(self, stencil: Stencil, span: Span) -> None:
        """Refuse points outside the domain of f."""
        domain = self._engine.domain
        if not domain.unbounded and not np.all(domain.contains(to_numpy(stencil.rows(*span)))):
            raise OutsideDomain("f was to be asked outside its domain: this is a fault of the method")

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


def _close(executors: list[Any]) -> None:
    for one in executors:
        if hasattr(one, "close"):
            one.close()


def _flat(found: tuple[NDArray[np.float64], float, str]) -> tuple[NDArray[np.float64], float, str]:
    return found[0].reshape(-1), *found[1:]
