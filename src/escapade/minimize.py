"""`minimize`: what users call. It checks what it is given, builds the oracle, and hands both to the driver."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from . import budget
from ._array import as_point, like, to_numpy
from ._random import as_generator
from .certificate import Certifier, ScaledProblem
from .curvature import Sparse
from .derivatives.groups import few_samples
from .domain import Geometry
from .errors import InvalidSetting
from .methods import PRESETS, Auto, Goal, Method, uses_gradients
from .methods.auto import SampledAuto
from .methods.auto.settings import MEMORY
from .oracle import Failures, Journal, Oracle, Policy, jac_of
from .result import Result
from .run import Run
from .shaped import shaped
from .stopping import Callback, Limits, Rule
from .tolerances import as_scale
from .trace import HISTORY
from .validation import (
    CONSTRAINED,
    EQUALITIES,
    check_certificate_maxfev,
    check_evidence,
    check_geometry,
    check_prefer,
    check_resolution,
    check_sparsity,
    check_tolerances,
    known_pairs,
    require_memory,
    warn_unused,
)

MOVED = "x0 lay outside its bounds or equalities, and the run began at the nearest point within them."


@shaped("x0")
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str | Method = "auto",
    gtol: float | None = None,
    curvtol: float | None = None,
    failure: float = 1e-3,
    maxfev: int | None = None,
    certificate_maxfev: int | None = None,
    maxiter: int | None = None,
    maxtime: float | None = None,
    noise: float | str | None = None,
    prefer: Literal["queries", "rounds"] = "queries",
    x_scale: Any = None,
    resolution: float | None = None,
    vectorized: bool = False,
    samples: int | Literal["stream"] | None = None,
    evidence: Literal["sampled", "whole"] = "sampled",
    workers: Any = None,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
    journal: Any = None,
    stop: Rule | None = None,
    timeout: float | None = None,
    on_error: Policy = "raise",
    nan_policy: Policy | None = None,
    retries: int | None = None,
    progress: bool = False,
    history_memory: float | None = HISTORY,
    bounds: Any = None,
    constraints: Any = None,
    invariances: Any = None,
    certificate: Literal["full", "none"] = "full",
    known: Any = None,
    jac: Any = None,
    hessp: Callable[..., Any] | None = None,
    grad: Callable[..., Any] | None = None,
    hess_sparsity: Any = None,
) -> Result:
    """Find a local minimum of a function that can only be evaluated, and certify it.

    Parameters
    ----------
    fun : callable
        `fun(x, *args) -> float`; with `vectorized`, `fun(X, *args)` gives the values of the rows of X; with
        `samples`, `fun(x, ids, *args)` averages over the sample ids.
    x0 : array
        The start. It may be a saddle. A number, an array of any shape, or dictionaries and lists of arrays: `fun` is
        handed points of that structure, and results have it (docs/structured.md).
    args : tuple, optional
        Further arguments of `fun`.
    method : str or method
        A name (see `escapade.methods.PRESETS`), which runs on constants estimated at the start and named in the
        result; or a method object, which runs on exactly the settings it carries.
    gtol, curvtol : float, optional
        Gradient norm at most `gtol`, smallest eigenvalue at least `-curvtol`. A number is absolute, in x, or in
        x / x_scale if that is given; one alone makes the other its square or its root. Where neither is given "auto"
        learns the lengths s of the variables and the typical curvature F of f(s y) from values, and asks for a gradient
        of 1e-6 F and a curvature of -1e-3 F in y = x / s (docs/scale.md); other methods take 1e-4 and 1e-2.
    failure : float
        The probability with which the certificate of the whole run may be false.
    noise : float, "auto" or None
        How wrong values are: a standard deviation, "auto" to measure it (also noise that is piecewise smooth, as a
        solver inside f makes it), or None for rounding, and random noise where it shows.
    x_scale : float or array, optional
        The lengths over which the variables matter, if they are known; f is looked at, and tolerances are meant, in
        x / x_scale.
    resolution : float, optional
        The length below which f is not believed. None: the certificate looks for structure of f below the scale of its
        variables, and claims nothing that holds only below it. 0: f is believed at all lengths. r > 0: the certificate
        takes no step shorter than r, and its claims hold above r. See docs/scale.md.
    vectorized : bool
        `fun` takes many points at once, as rows.
    samples, evidence : optional
        n for an average over the ids 0 to n - 1, "stream" for one over 64-bit ids without end; and what a certificate
        of a finite sum rests on: "sampled" or "whole". See docs/samples.md.
    maxfev, maxiter, maxtime : int, int, float, optional
        Budgets of queries (hard), iterates, and seconds.
    certificate_maxfev : int, optional
        What a certificate may cost. None: twice what `certify` allows, or as much as the run has cost so far if that is
        more. See docs/cost.md.
    prefer : "queries" or "rounds"
        What "auto" saves: queries, or rounds of queries that can be evaluated at once, for people with many workers.
    rng : int, Generator or None
        The source of all random draws: the same one, and the same arguments, give the same result.
    callback : callable, optional
        `callback(intermediate_result)`, or `callback(x)`; raising StopIteration stops the run, and any other exception
        ends it and is raised, with the `result` so far.
    journal : path or Journal, optional
        An SQLite file in which every value is recorded before it is used. A run that was cut short goes on where it was
        when it is started again with the same arguments; its budgets may be raised. See docs/journal.md.
    stop : rule, optional
        A stopping rule, or several combined with | and & (see `escapade.stopping`).
    workers : optional
        Where f is evaluated: None (here), an int (the number of processes), a `concurrent.futures.Executor`, a map-like
        callable, a Dask `Client`, or "ray". The result does not depend on it. See docs/workers.md.
    timeout : float, optional
        Seconds for one evaluation; then its process is killed, and the evaluation has failed.
    on_error, nan_policy : "raise", "stop", "retry", "penalise" or callable
        What to do when f raises (or hangs, or kills its worker), and when it returns NaN or infinity (None: the same;
        for "auto", unless `on_error` is given, "omit": such a point is missing, but NaN at x0 raises and -inf ends the
        run as unbounded).
        "raise" raises (the exception carries the `result` so far) and "stop" ends the run with a status; so does
        "retry" after `retries` more attempts (3), each a little later. "penalise" makes the point a missing one: no
        step goes there, and differences that need it are taken on other steps. A callable
        `on_error(x, attempt, exception)` answers with a value, None (missing) or "retry". See docs/failures.md.
    retries : int, optional
        Further attempts before any of these policies applies.
    progress : bool
        Tell on stderr how far the run is.
    bounds : scipy.optimize.Bounds or sequence of pairs, optional
        f is never asked outside. None and infinities are no bounds; equal ones fix a variable; x0 is moved into them.
    constraints : scipy.optimize.LinearConstraint, optional
        Equalities A x = b, given as LinearConstraint(A, b, b), in variables that are not bounded.
    invariances : vectors or callable, optional
        Directions along which f does not change, or `invariances(x)` that gives them at x (`escapade.rigid_motions`):
        checked by values, and left out of what the certificate says of curvature. See docs/bounds.md.
    certificate : "full" or "none"
        "none": nothing is spent on a certificate, nor kept for one. The status then says that nothing was shown, and
        `success` is False.
    known : (X, f) or Result, optional
        Values already paid for: points as rows, and their values; or a previous result, with those of its history.
        Where these very points come up f is not asked, and "auto" starts at the best of them if it is better than x0.
        `nknown` counts the values that were saved.
    jac : callable or True, optional
        Gradients, in SciPy's forms: `jac(x, *args)`, with `samples` `jac(x, ids, *args)`; or True where `fun` returns
        (value, gradient). They are checked once against values (a wrong one raises `WrongGradient`) and counted as
        `njev`. "auto" and "neon2-gd" use them; other methods are about values alone. See docs/gradients.md.
    hessp : callable, optional
        `hessp(x, v, *args)`: the product of the Hessian with a vector, beside `jac`, for "auto".
    history_memory : float, optional
        Bytes of `history` that are kept (256 MB); past them every other record is given up. None: all are kept.
    hess_sparsity : matrix, optional
        d x d, dense or sparse, nonzero where f depends on two variables together. "auto" then takes Newton steps on
        the whole Hessian, and the certificate those second differences alone; a pattern that lacks much raises
        `WrongSparsity`, and one that lacks little is not certified. See docs/many_variables.md.
    grad : callable, optional
        Deprecated: the old name of `jac`.

    Returns
    -------
    Result
        A SciPy `OptimizeResult`; `success` is True only if its `certificate` holds.

    Raises
    ------
    InvalidSetting
        An argument is out of its range, or does not go with another; the message says which, and what to do.
    WrongGradient
        `jac` contradicts values.
    EvaluationFailed, NonFiniteValue
        The function raised, or returned NaN or infinity, where policies say "raise".
    MissingCapability
        The method needs what the function lacks.
    JournalError
        A journal cannot be used, or is of another run.

    Examples
    --------
    >>> import numpy as np
    >>> import escapade
    >>> def fun(x):
    ...     return 0.5 * x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4
    >>> result = escapade.minimize(fun, np.zeros(2), rng=0)  # from a saddle
    >>> result.success, round(result.fun, 6)
    (True, -1.0)
    >>> print(result.message)
    A minimum was certified.
    """
    jac = jac_of(jac, grad, args)
    given = as_point(x0)
    scale = None if x_scale is None else as_scale(x_scale, given)
    geometry = Geometry.of(bounds, constraints, invariances, given, scale)
    check_geometry(geometry, samples=samples, method=method)
    x = given if geometry.plain else geometry.start(given)
    asked = check_tolerances(gtol, curvtol, failure, noise)
    check_resolution(resolution)
    check_certificate_maxfev(certificate_maxfev, samples)
    relative = method == "auto" and samples is None and gtol is None and curvtol is None
    limits = Limits(maxiter, maxtime, None if callback is None else Callback(callback), stop)
    omits = method == "auto" or isinstance(method, Auto | SampledAuto)
    failures = (Failures.omitting if omits else Failures)(on_error, nan_policy, retries)
    if not (hasattr(method, "iterates") or (isinstance(method, str) and method in PRESETS)):
        raise InvalidSetting(f"method={method!r} must be a method object or one of {', '.join(sorted(PRESETS))}")
    check_prefer(prefer, method)
    sparsity = check_sparsity(hess_sparsity, x.shape[0], geometry=geometry, samples=samples)
    if certificate not in ("full", "none"):
        raise InvalidSetting(f"certificate={certificate!r:.60} must be 'full' or 'none'")
    certified = certificate == "full"
    if not (certified or geometry.plain):
        raise InvalidSetting(f"certificate='none' is not for {CONSTRAINED}, where certificates lead on: leave it out")
    unit = None if scale is None else like(scale, x)
    f = Oracle.of(
        fun,
        args=args,
        vectorized=vectorized,
        samples=samples,
        maxfev=maxfev,
        jac=jac,
        hessp=hessp,
        workers=workers,
        timeout=timeout,
        failures=failures,
    )
    whole = method == "auto" and few_samples(samples, x.shape[0])
    batches = method == "auto" and samples is not None and not whole
    if f.differentiable and (batches or geometry.equalities is not None or not uses_gradients(method)):
        name = method if isinstance(method, str) else method.name
        plain = f"method={name!r}{' on samples' if batches else ''}"
        warn_unused(plain if geometry.equalities is None else EQUALITIES)
        f.forget_derivatives()
    if known is not None:
        pairs = known_pairs(known, x, samples)
        f.know(*pairs)
    f.until(limits.deadline)
    f.within(geometry.domain)
    if omits and geometry.plain and samples is None:
        f.remember(MEMORY)
    if whole:
        f = f.summed()
    share = budget.of_method(failure, sampled=samples is not None and method != "auto")
    goal = Goal(
        *(asked.gtol, asked.curvtol, share, noise),
        prefer=prefer,
        evidence=check_evidence(evidence, samples),
        certificate_maxfev=certificate_maxfev,
    )
    finder = "auto" if sparsity is None else Sparse.of(sparsity, asked.curvtol, failure)
    certifier = Certifier(
        gtol=goal.gtol, curvtol=goal.curvtol, failure=failure, noise=noise, resolution=resolution, gradients=omits,
        maxfev=certificate_maxfev, evidence=evidence, finder=finder,
    )
    generator = as_generator(rng)
    if journal is not None:
        settings = {"method": method, "d": x.shape[0], "dtype": str(x.dtype), "gtol": gtol, "curvtol": curvtol}
        settings |= {"failure": failure, "noise": noise, "x_scale": x_scale, "prefer": prefer, "samples": samples}
        settings |= {"args": args, "grad": f.differentiable}
        since = {  # journals of older versions do not have these, and are read where they are as they were
            "bounds": None if bounds is None else str(geometry.domain),
            "resolution": resolution,
            "evidence": evidence if evidence != "sampled" else None,
            "certificate": None if certified else certificate,
            "known": None if known is None else pairs,
            "certificate_maxfev": certificate_maxfev,
            "hessp": f.has_products or None,
            "hess_sparsity": None if sparsity is None else sparsity.fingerprint,
        }
        record, generator = Journal.of(journal).open(
            settings | {name: value for name, value in since.items() if value is not None},
            {"maxfev": maxfev, "maxiter": maxiter, "maxtime": maxtime, "stop": stop},
            x,
            None if rng is None else generator,
        )
        f.keep(record)
    frame = None if geometry.plain else geometry.frame(x, geometry.across(x))
    problem = ScaledProblem.given(f, unit, frame)
    told: Any = {"relative": relative, "x_scale": unit, "certified": certified, "knows": known is not None}
    run = Run(f, x, problem, method, goal, certifier, generator, limits, progress, geometry, **told)
    run.trace.memory = math.inf if history_memory is None else require_memory(history_memory)
    try:
        result = run.go()
    finally:
        f.close()
    if not np.array_equal(to_numpy(x), to_numpy(given)):
        result.update(message=f"{result.message} {MOVED}")
    if run.error is not None and failures.raises(run.error):
        run.mistake = run.error
    if run.mistake is not None:
        vars(run.mistake)["result"] = result
        raise run.mistake
    return result
