"""`certify`: what is this point?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

from ._array import as_point
from ._random import as_generator
from .certificate import Certificate, Certifier
from .curvature import Finder
from .oracle import Failures, Oracle, Policy
from .tolerances import as_scale, require_positive
from .validation import check_resolution, check_tolerances, refuse_constraints


def certify(
    fun: Callable[..., Any],
    x: Any,
    args: tuple[Any, ...] = (),
    *,
    gtol: float = 1e-4,
    curvtol: float | None = None,
    failure: float = 1e-3,
    noise: float | str | None = None,
    x_scale: Any = None,
    rho: float | None = None,
    resolution: float | None = None,
    vectorized: bool = False,
    samples: int | Literal["stream"] | None = None,
    maxfev: int | None = None,
    workers: Any = None,
    timeout: float | None = None,
    on_error: Policy = "raise",
    nan_policy: Policy | None = None,
    retries: int | None = None,
    finder: str | Finder = "auto",
    grad: Callable[..., Any] | None = None,
    rng: Any = None,
    bounds: Any = None,
    constraints: Any = None,
) -> Certificate:
    """Check a point that any solver returned, from function values alone.

    Parameters
    ----------
    fun : callable
        `fun(x, *args) -> float`; with `vectorized`, `fun(X, *args)` gives the values of the rows of X; with
        `samples`, `fun(x, ids, *args)` averages over the sample ids.
    x : array
        The point.
    gtol, curvtol : float
        The paper's epsilon and delta: gradient norm at most `gtol`, smallest eigenvalue at least `-curvtol`
        (None: sqrt(gtol)). In x / x_scale if `x_scale` is given.
    failure : float
        The probability with which the certificate may be false.
    noise : None, "auto" or float
        Rounding only (checked against a difference table), estimated, or the standard deviation of the error of f.
    rho : float, optional
        A Lipschitz constant of the Hessian, if known; estimated otherwise.
    resolution : float, optional
        The length below which f is not believed; None finds it out, 0 believes f at all lengths, as for `minimize`.
    samples : int or "stream", optional
        f is an average over this number of samples, or over a stream.
    workers, timeout, on_error, nan_policy, retries : optional
        Where f is evaluated and what is done when that fails, as for `minimize` with "auto". Differences that need a
        missing point are taken on other steps; where none will do the verdict is "undecided".
    finder : str or Finder
        One of `escapade.curvature.FINDERS`, or a configured finder.

    Returns
    -------
    Certificate
    """
    refuse_constraints(bounds, constraints)
    point = as_point(x, "x")
    asked = check_tolerances(gtol, curvtol, failure, noise)
    check_resolution(resolution)
    if rho is not None:
        require_positive("rho", rho)
    as_scale(x_scale, point)
    f = Oracle.of(
        fun,
        args=args,
        vectorized=vectorized,
        samples=samples,
        maxfev=maxfev,
        grad=grad,
        workers=workers,
        timeout=timeout,
        failures=Failures.omitting(on_error, nan_policy, retries),
    )
    seed = rng if isinstance(rng, int) and not isinstance(rng, bool) else None
    task = Certifier(
        gtol=asked.gtol,
        curvtol=asked.curvtol,
        failure=failure,
        noise=noise,
        x_scale=x_scale,
        rho=rho,
        resolution=resolution,
        finder=finder,
    )
    with closing(f):
        return replace(task(f, point, as_generator(rng)), seed=seed)
