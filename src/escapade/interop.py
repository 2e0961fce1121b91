"""Escapade as a method of `scipy.optimize.minimize`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from scipy.optimize import OptimizeWarning

from .minimize import minimize
from .result import Result


def scipy_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    tol: float | None = None,
    bounds: Any = None,
    constraints: Any = (),
    hess: Any = None,
    callback: Callable[..., Any] | None = None,
    **options: Any,
) -> Result:
    """For `scipy.optimize.minimize(fun, x0, method=escapade.scipy_method, options={...})`, and for `basinhopping`.

    `tol` is an absolute `gtol`, and `curvtol` its root unless it is given too; `options` are the keywords of
    `escapade.minimize`, and unknown ones are warned about as SciPy does. `jac` and `hessp` are used, `hess` is not.

    Parameters
    ----------
    fun, x0, args, tol, bounds, constraints, callback, options
        What SciPy hands to a method.
    hess : optional
        Not used; a warning says so.

    Returns
    -------
    Result
        That of `escapade.minimize`.

    Examples
    --------
    >>> import scipy.optimize
    >>> import escapade
    >>> options = {"rng": 0, "maxfev": 1000}
    >>> scipy.optimize.minimize(lambda x: x @ x, [1.0, 2.0], method=escapade.scipy_method, options=options).success
    True
    """
    known = set(inspect.signature(minimize).parameters) - {"fun", "x0", "args", "bounds", "constraints", "callback"}
    unknown = sorted(set(options) - known)
    if hess is not None:
        warnings.warn("Escapade does not use hess: pass hessp beside jac", RuntimeWarning, stacklevel=3)
    if unknown:
        warnings.warn(f"Unknown solver options: {', '.join(unknown)}", OptimizeWarning, stacklevel=3)
    chosen = {key: value for key, value in options.items() if key in known}
    if tol is not None:
        chosen.setdefault("gtol", tol)
    return minimize(fun, x0, args, bounds=bounds, constraints=constraints, callback=callback, **chosen)
