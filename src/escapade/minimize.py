"""`minimize`: one driver for every method. Budgets, callbacks, traces, certificates and results live here."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ._array import Array, as_point, like
from ._random import as_generator
from .certificate import Certificate
from .certifier import Certifier
from .errors import BudgetExhausted, EvaluationFailed, InvalidSetting, OracleError
from .estimators.neighbourhood import as_scale
from .methods import PRESETS, Goal, Method
from .oracle import Oracle
from .result import Result
from .stopping import Callback, Ending, Limits, Rule, Stop
from .trace import Iterate, Trace
from .validation import check_tolerances, refuse_constraints

QUIET = (Stop.UNBOUNDED, Stop.BUDGET, Stop.TIME, Stop.CALLBACK, Stop.INTERRUPTED, Stop.NON_FINITE, Stop.USER_ERROR)
"""Endings after which nothing more may be asked of the function (a budget may have been set aside)."""

VALUE_SAMPLES = 10_000
"""The value of a sampled function at the point returned is an average over so many samples, or the whole sum."""


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str | Method = "auto",
    gtol: float = 1e-4,
    curvtol: float | None = None,
    failure: float = 1e-3,
    maxfev: int | None = None,
    maxiter: int | None = None,
    maxtime: float | None = None,
    noise: float | str | None = None,
    x_scale: Any = None,
    vectorized: bool = False,
    samples: int | Literal["stream"] | None = None,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
    stop: Rule | None = None,
    on_error: Literal["raise", "stop"] = "raise",
    progress: bool = False,
    grad: Callable[..., Any] | None = None,
    bounds: Any = None,
    constraints: Any = None,
) -> Result:
    """Find a local minimum of a function that can only be evaluated, and certify it.

    Parameters
    ----------
    fun : callable
        `fun(x, *args) -> float`; with `vectorized`, `fun(X, *args)` gives the values of the rows of X; with
        `samples`, `fun(x, ids, *args)` averages over the sample ids.
    x0 : array
        The start. It may be a saddle.
    method : str or method
        A name (see `escapade.methods.PRESETS`), which runs on constants estimated at the start and named in the
        result; or a method object, which runs on exactly the settings it carries.
    gtol, curvtol, failure : float
        Gradient norm at most `gtol`, smallest eigenvalue at least `-curvtol` (None: sqrt(gtol)), with probability
        1 - `failure` for the whole run. In x / x_scale if `x_scale` is given.
    maxfev, maxiter, maxtime : int, int, float, optional
        Budgets of queries (hard), iterates, and seconds.
    callback : callable, optional
        `callback(intermediate_result)`, or `callback(x)`; raising StopIteration stops the run.
    stop : rule, optional
        A stopping rule, or several combined with | and & (see `escapade.stopping`).
    on_error : "raise" or "stop"
        Whether a failing function raises (the exception carries the `result` so far) or ends the run with a status.
    grad : callable, optional
        Exact gradients, for the first-order baseline "neon2-gd" alone.

    Returns
    -------
    Result
        A SciPy `OptimizeResult`; `success` is True only if its `certificate` holds.
    """
    refuse_constraints(bounds, constraints)
    x = as_point(x0)
    check_tolerances(gtol, curvtol, failure, noise)
    limits = Limits(maxiter, maxtime, None if callback is None else Callback(callback), stop)
    if on_error not in ("raise", "stop"):
        raise InvalidSetting(f"on_error={on_error!r} must be 'raise' or 'stop'")
    if not (hasattr(method, "iterates") or (isinstance(method, str) and method in PRESETS)):
        raise InvalidSetting(f"method={method!r} must be a method object or one of {', '.join(sorted(PRESETS))}")
    unit = None if x_scale is None else like(as_scale(x_scale, x), x)
    f = Oracle.of(fun, args=args, vectorized=vectorized, samples=samples, maxfev=maxfev, grad=grad)
    f.until(limits.deadline)
    goal = Goal(gtol, math.sqrt(gtol) if curvtol is None else curvtol, failure / 2, noise)
    certifier = Certifier(gtol=gtol, curvtol=goal.curvtol, failure=failure / 2, noise=noise, x_scale=x_scale)
    run = _Run(f, x, unit, method, goal, certifier, as_generator(rng), limits, progress)
    result = run.go()
    if run.error is not None and on_error == "raise":
        run.error.result = result
        raise run.error
    return result


@dataclass
class _Run:
    """One run: the state that no method sees."""

    f: Oracle
    x: Array
    unit: Array
    method: str | Method
    goal: Goal
    certifier: Certifier
    rng: np.random.Generator
    limits: Limits
    progress: bool
    trace: Trace = field(default_factory=Trace)
    constants: dict[str, float] = field(default_factory=dict)
    reserved: int = 0
    error: EvaluationFailed | None = None

    def go(self) -> Result:
        name = self.method if isinstance(self.method, str) else self.method.name
        ending, certificate = self._iterate(name), None
        if ending.stop not in QUIET or (ending.stop is Stop.BUDGET and self.reserved):
            try:
                certificate = self._certify(ending)
            except (OracleError, KeyboardInterrupt) as error:
                ending = self._ended(error)
        result = Result.of(self.f, self.x, self.trace, ending.stop, certificate, self.error)
        result.update(method=name, constants=self.constants)
        if self.progress:
            sys.stderr.write(f"\r{result.message}\x1b[K\n")
        return result

    def _ended(self, error: BaseException) -> Ending:
        """Every way a run can be cut short becomes an ending."""
        self.error = error if isinstance(error, EvaluationFailed) else None
        return Ending(Stop.after(error))

    def _iterate(self, name: str) -> Ending:
        f, y = self.f, self.x
        try:
            if self.unit is not None:
                f, y = f.scaled(self.unit), self.x / self.unit
            method = self._configured(f, y)
            if not hasattr(method, "finder"):  # the driver certifies its last iterate, inside the budget
                self._reserve(f, y.shape[0])
            run = method.iterates(f, y, self.rng)
            while True:
                try:
                    iterate = next(run)
                except StopIteration as end:
                    return Ending(end.value.stop, end.value.finding if hasattr(method, "finder") else None)
                self._record(iterate, name)
                stop = self.limits.reached(self.trace, self.f.best[1])
                if stop is not None:
                    return Ending(stop)
        except (OracleError, KeyboardInterrupt) as error:
            return self._ended(error)
        finally:
            self.f.reserve(-self.reserved)

    def _configured(self, f: Oracle, y: Array) -> Method:
        if not isinstance(self.method, str):
            return self.method
        method, self.constants = PRESETS[self.method](f, y, self.rng, self.goal)
        return method

    def _reserve(self, f: Oracle, d: int) -> None:
        if f.remaining < math.inf:
            self.reserved = int(f.remaining // 4)
            if f.samples is None:
                self.reserved = min(self.reserved, 24 * (d + 1) + 40)
            f.reserve(self.reserved)

    def _record(self, iterate: Iterate, name: str) -> None:
        self.x = iterate.x if self.unit is None else iterate.x * self.unit
        step = self.trace.add(iterate, self.x, self.f.ledger)
        if self.progress:
            sys.stderr.write(f"\r{name}  {step}\x1b[K")

    def _certify(self, ending: Ending) -> Certificate:
        """The certificate of the last iterate, with the value there."""
        f = self.f.tagged("certificate", pin=True)
        if ending.finding is not None and self.unit is None:
            certificate = self.certifier.conclude(f, self.x, ending.finding, self.rng)
        else:
            certificate = self.certifier(f, self.x, self.rng)
        # The method's searches spent what its finder carries: half of what was asked for, if it was configured by name.
        spent = getattr(getattr(self.method, "finder", None), "failure", self.goal.failure)
        certificate = replace(certificate, failure=self.goal.failure + max(self.goal.failure, spent))
        if math.isfinite(certificate.fun):
            return certificate
        if f.samples is None:  # the budget ended before the value
            return replace(certificate, fun=f.value(self.x))
        try:
            return replace(certificate, fun=f.on(f.draw(VALUE_SAMPLES, self.rng)).value(self.x))
        except BudgetExhausted:
            return certificate
