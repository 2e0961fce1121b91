"""`minimize`: one driver for every method. Budgets, callbacks, traces, certificates and results live here."""

from __future__ import annotations

import inspect
import math
import sys
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.optimize import OptimizeResult

from ._array import Array, as_point, like
from ._random import as_generator
from .certificate import Certificate
from .certify import Certifier, check_tolerances, refuse_constraints
from .curvature.finding import require_positive
from .errors import BudgetExhausted, EvaluationFailed, InvalidSetting, NonFiniteValue, TimeExhausted
from .estimators.neighbourhood import as_scale
from .methods import PRESETS, Goal, Method
from .oracle import Oracle
from .result import Result
from .stopping import Ending, Rule, Stop
from .trace import Iterate, Move, Step, Trace

NO_CERTIFICATE = (Stop.BUDGET, Stop.TIME, Stop.CALLBACK, Stop.INTERRUPTED, Stop.NON_FINITE, Stop.USER_ERROR)
"""Endings after which nothing more may be asked of the function (a budget may have been set aside)."""

VERDICTS = {"saddle": Stop.SADDLE, "not stationary": Stop.NOT_STATIONARY, "undecided": Stop.UNDECIDED}


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
    for name, value in (("maxiter", maxiter), ("maxtime", maxtime)):
        if value is not None:
            require_positive(name, value)
    if on_error not in ("raise", "stop"):
        raise InvalidSetting(f"on_error={on_error!r} must be 'raise' or 'stop'")
    if isinstance(method, str) and method not in PRESETS:
        raise InvalidSetting(f"method={method!r} must be a method object or one of {', '.join(sorted(PRESETS))}")
    unit = None if x_scale is None else like(as_scale(x_scale, x), x)
    f = Oracle.of(fun, args=args, vectorized=vectorized, samples=samples, maxfev=maxfev, grad=grad)
    if maxtime is not None:
        f.until(time.monotonic() + maxtime)
    goal = Goal(gtol, math.sqrt(gtol) if curvtol is None else curvtol, failure / 2, noise)
    certifier = Certifier(gtol=gtol, curvtol=goal.curvtol, failure=failure / 2, noise=noise, x_scale=x_scale)
    return _Run(f, x, unit, method, goal, certifier, as_generator(rng), maxiter, callback, stop, progress).go(on_error)


class _Run:
    """One run: the state that no method sees."""

    def __init__(
        self,
        f: Oracle,
        x: Array,
        unit: Array,
        method: str | Method,
        goal: Goal,
        certifier: Certifier,
        rng: np.random.Generator,
        maxiter: int | None,
        callback: Callable[..., Any] | None,
        rule: Rule | None,
        progress: bool,
    ) -> None:
        self.f, self.x, self.unit, self.method, self.goal, self.certifier = f, x, unit, method, goal, certifier
        self.rng, self.maxiter, self.callback, self.rule, self.progress = rng, maxiter, callback, rule, progress
        self.trace, self.reserved = Trace(), 0
        self.constants: dict[str, float] = {}
        self.error: EvaluationFailed | None = None
        self.name = method if isinstance(method, str) else method.name

    def go(self, on_error: str) -> Result:
        ending = self._iterate()
        certificate = None
        if ending.stop not in NO_CERTIFICATE or (ending.stop is Stop.BUDGET and self.reserved):
            certificate = self._certify(ending)
        result = self._result(ending.stop, certificate)
        if self.progress:
            sys.stderr.write(f"\r{result.message}\x1b[K\n")
        if self.error is not None and on_error == "raise":
            self.error.result = result
            raise self.error
        return result

    def _iterate(self) -> Ending:
        """Run the method; every way it can end becomes an ending."""
        f, y = self.f, self.x
        try:
            if self.unit is not None:
                f, y = f.scaled(self.unit), self.x / self.unit
            method = self._configured(f, y)
            if not hasattr(method, "finder"):  # the driver certifies its last iterate, inside the budget
                self.reserved = 0 if f.remaining == math.inf else int(min(f.remaining // 4, 24 * (y.shape[0] + 1) + 40))
                f.reserve(self.reserved)
            return self._advance(method, f, y)
        except BudgetExhausted:
            return Ending(Stop.BUDGET)
        except TimeExhausted:
            return Ending(Stop.TIME)
        except EvaluationFailed as error:
            self.error = error
            return Ending(Stop.NON_FINITE if isinstance(error, NonFiniteValue) else Stop.USER_ERROR)
        except KeyboardInterrupt:
            return Ending(Stop.INTERRUPTED)
        finally:
            self.f.reserve(-self.reserved)

    def _configured(self, f: Oracle, y: Array) -> Method:
        if not isinstance(self.method, str):
            return self.method
        method, self.constants = PRESETS[self.method](f, y, self.rng, self.goal)
        return method

    def _advance(self, method: Method, f: Oracle, y: Array) -> Ending:
        run = method.iterates(f, y, self.rng)
        while True:
            try:
                iterate = next(run)
            except StopIteration as end:
                ending: Ending = end.value
                return ending
            self._record(iterate)
            stop = self._asked_to_stop()
            if stop is not None:
                run.close()
                return Ending(stop)

    def _record(self, iterate: Iterate) -> None:
        self.x = iterate.x if self.unit is None else iterate.x * self.unit
        ledger = self.f.ledger
        nit = len(self.trace) + 1
        self.trace.steps.append(
            Step(nit, iterate.move, iterate.fun, iterate.grad_norm, ledger.queries, dict(ledger.by_purpose), self.x)
        )
        if self.progress:
            fun = "" if iterate.fun is None else f"  f = {iterate.fun:.8g}"
            size = "" if iterate.grad_norm is None else f"  |g| = {iterate.grad_norm:.2e}"
            line = f"{self.name}  iterate {nit}  {ledger.queries} queries  {iterate.move.value}{fun}{size}"
            sys.stderr.write(f"\r{line}\x1b[K")

    def _asked_to_stop(self) -> Stop | None:
        if self.callback is not None:
            try:
                _call(self.callback, self._intermediate())
            except StopIteration:
                return Stop.CALLBACK
        if self.rule is not None and self.rule(self.trace):
            return Stop.RULE
        return Stop.ITERATIONS if self.maxiter is not None and len(self.trace) >= self.maxiter else None

    def _intermediate(self) -> OptimizeResult:
        step = self.trace[-1]
        shown = OptimizeResult()
        shown.update(x=self.x + 0.0, fun=step.fun, nit=step.nit, nfev=step.nfev)
        shown.update(move=step.move.value, grad_norm=step.grad_norm)
        return shown

    def _certify(self, ending: Ending) -> Certificate | None:
        f = self.f.tagged("certificate", pin=True)
        try:
            if ending.finding is not None and self.unit is None:
                return self.certifier.conclude(f, self.x, ending.finding, self.rng)
            return self.certifier(f, self.x, self.rng)
        except EvaluationFailed as error:
            self.error = error
        except (TimeExhausted, KeyboardInterrupt):
            pass
        return None

    def _result(self, stop: Stop, certificate: Certificate | None) -> Result:
        x, fun = self.x, math.nan
        best_x, best_fun = self.f.best
        if certificate is not None:
            fun = certificate.fun
            if certificate.holds:
                stop = Stop.CERTIFIED
            elif stop in (Stop.FINISHED, Stop.CERTIFIED, Stop.UNDECIDED):
                stop = VERDICTS[certificate.verdict]
        else:
            known = [step for step in self.trace if step.fun is not None]
            if known:
                lowest = min(known, key=lambda step: step.fun if step.fun is not None else math.inf)
                x, fun = lowest.x, float(lowest.fun or 0.0)
            elif best_x is not None:
                x, fun = best_x, float(best_fun if best_fun is not None else math.nan)
        ledger = self.f.ledger
        result = Result()
        result.update(
            x=x,
            fun=fun,
            success=certificate is not None and certificate.holds,
            status=stop.status,
            message=stop.sentence + ("" if self.error is None else f" {self.error}"),
            stop=stop,
            certificate=certificate,
            nfev=ledger.queries,
            ncalls=ledger.calls,
            nit=len(self.trace),
            nfev_by_purpose=dict(ledger.by_purpose),
            nrounds=ledger.rounds,
            ngrad=ledger.gradients,
            n_escapes=sum(step.move is Move.ESCAPE for step in self.trace),
            x_best=best_x,
            fun_best=best_fun,
            history=self.trace,
            method=self.name,
            constants=self.constants,
        )
        return result


def _call(callback: Callable[..., Any], intermediate: OptimizeResult) -> None:
    """SciPy's two callback signatures."""
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
        callback(intermediate_result=intermediate)
    else:
        callback(intermediate.x)
