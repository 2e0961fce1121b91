"""`minimize`: what users call. It checks what it is given, builds the oracle, and hands both to the driver."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from ._array import as_point, like
from ._random import as_generator
from .certifier import Certifier
from .errors import InvalidSetting
from .estimators.neighbourhood import as_scale
from .methods import PRESETS, Goal, Method
from .oracle import Oracle
from .result import Result
from .run import Run
from .stopping import Callback, Limits, Rule
from .validation import check_tolerances, refuse_constraints


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
    run = Run(f, x, unit, method, goal, certifier, as_generator(rng), limits, progress)
    result = run.go()
    if run.error is not None and on_error == "raise":
        run.error.result = result
        raise run.error
    return result
