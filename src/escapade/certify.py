"""`certify`: what is this point?"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ._array import Array, as_point, to_numpy
from ._random import as_generator
from .certificate import Certificate, Certifier, ScaledProblem
from .certificate.geometric import in_geometry, with_books
from .certificate.residuals import ResidualCertifier
from .curvature import Finder, Sparse
from .derivatives.gradient_check import check_gradient
from .derivatives.measure import Books
from .derivatives.units import lengths
from .domain import Geometry
from .errors import BudgetExhausted, InvalidSetting, UnboundedBelow
from .loss import Loss
from .oracle import Failures, Oracle, Policy, jac_of
from .shaped import shaped
from .tolerances import as_scale, require_positive
from .validation import (
    EQUALITIES,
    check_certificate_maxfev,
    check_evidence,
    check_geometry,
    check_resolution,
    check_sparsity,
    check_tolerances,
    known_pairs,
    warn_unused,
)

LOG = logging.getLogger(__name__)


@shaped("x")
def certify(
    fun: Callable[..., Any],
    x: Any,
    args: tuple[Any, ...] = (),
    *,
    gtol: float | None = None,
    curvtol: float | None = None,
    failure: float = 1e-3,
    noise: float | str | None = None,
    x_scale: Any = None,
    rho: float | None = None,
    resolution: float | None = None,
    vectorized: bool = False,
    samples: int | Literal["stream"] | None = None,
    evidence: Literal["sampled", "whole"] = "sampled",
    maxfev: int | None = None,
    certificate_maxfev: int | None = None,
    workers: Any = None,
    timeout: float | None = None,
    on_error: Policy = "raise",
    nan_policy: Policy | None = None,
    retries: int | None = None,
    finder: str | Finder = "auto",
    rng: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    invariances: Any = None,
    known: Any = None,
    residuals: bool = False,
    loss: str = "linear",
    f_scale: float = 1.0,
    jac: Any = None,
    hessp: Callable[..., Any] | None = None,
    grad: Callable[..., Any] | None = None,
    hess_sparsity: Any = None,
) -> Certificate:
    """Check a point that any solver returned, from function values, and gradients where they are given.

    Parameters
    ----------
    fun : callable
        `fun(x, *args) -> float`; with `vectorized`, `fun(X, *args)` gives the values of the rows of X; with
        `samples`, `fun(x, ids, *args)` averages over the sample ids.
    x : array
        The point, of any structure that `minimize` takes.
    args : tuple, optional
        Further arguments of `fun`.
    gtol, curvtol : float, optional
        The paper's epsilon and delta: gradient norm at most `gtol`, smallest eigenvalue at least `-curvtol`, in x, or
        in x / x_scale if that is given; one alone makes the other its square or its root. Where neither is given (and f
        has no samples) they are shares of units learnt from values, as for `minimize`.
    failure : float
        The probability with which the certificate may be false.
    noise : None, "auto" or float
        Rounding only (checked against a difference table), estimated, or the standard deviation of the error of f.
    x_scale : float or array, optional
        The lengths over which the variables matter, if they are known.
    rho : float, optional
        A Lipschitz constant of the Hessian, if known; estimated otherwise.
    resolution : float, optional
        The length below which f is not believed; None finds it out, 0 believes f at all lengths, as for `minimize`.
    maxfev : int, optional
        A hard budget of queries.
    certificate_maxfev : int, optional
        What deciding may cost, the ladder of lengths apart. None: 1.25 times rows and all second differences, and at
        most 400 (d + 1). An undecided certificate names what would let it go on. See docs/cost.md.
    vectorized : bool
        `fun` takes many points at once, as rows.
    samples : int or "stream", optional
        f is an average over this number of samples, or over a stream.
    evidence : "sampled" or "whole"
        What a claim about the curvature of a finite sum rests on: fresh samples, of which kinds that are too rare are
        excluded by name, or values of the whole sum, which exclude nothing. See docs/samples.md.
    workers, timeout, on_error, nan_policy, retries : optional
        Where f is evaluated and what is done when that fails, as for `minimize` with "auto". Differences that need a
        missing point are taken on other steps; where none will do the verdict is "undecided".
    residuals, loss, f_scale : bool, str, float
        `fun` returns a vector of residuals, and the certificate is that of their cost by `loss` and `f_scale`, as in
        `least_squares`; `noise` is that of a residual. It costs far less than from values.
    finder : str or Finder
        One of `escapade.curvature.FINDERS`, or a configured finder.
    bounds, constraints, invariances : optional
        What `minimize` takes. x is judged as it is: a variable is on a bound if and only if it equals it.
    known : (X, f) or Result, optional
        Values already paid for, as for `minimize`.
    jac, hessp : optional
        Gradients, and products of the Hessian with vectors, as for `minimize`; the finders "auto" and "neon2" use them.
    hess_sparsity : matrix, optional
        d x d, dense or sparse, nonzero where f depends on two variables together: the certificate takes those second
        differences alone, and random ones that tell whether any is lacking. See docs/many_variables.md.
    grad : callable, optional
        Deprecated: the old name of `jac`.
    rng : int, Generator or None
        The source of all random draws.

    Returns
    -------
    Certificate

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

    Examples
    --------
    >>> import numpy as np
    >>> import escapade
    >>> def fun(x):
    ...     return 0.5 * x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4
    >>> saddle = escapade.certify(fun, np.zeros(2), rng=0)
    >>> saddle.verdict, saddle.holds, np.abs(saddle.direction).round()
    ('saddle', False, array([0., 1.]))
    >>> escapade.certify(fun, np.array([0.0, np.sqrt(2)]), rng=0).verdict
    'minimum'
    """
    jac = jac_of(jac, grad, args)
    point = as_point(x, "x")
    scale = None if x_scale is None else as_scale(x_scale, point)
    geometry = Geometry.of(bounds, constraints, invariances, point, scale)
    geometry.require(point, "x")
    check_geometry(geometry, samples=samples)
    asked = check_tolerances(gtol, curvtol, failure, noise)
    check_resolution(resolution)
    check_certificate_maxfev(certificate_maxfev, samples)
    if rho is not None:
        require_positive("rho", rho)
    sparsity = check_sparsity(
        hess_sparsity, point.shape[0], geometry=geometry, samples=samples, finder=finder, residuals=residuals
    )
    rho_of = Loss(loss, f_scale) if residuals else None
    if residuals and (jac is not None or known is not None or samples is not None):
        raise InvalidSetting("residuals=True is for a function of x alone: leave jac, known and samples out")
    if residuals and not (finder == "auto" and certificate_maxfev is None):
        raise InvalidSetting("residuals=True has a search of its own: leave finder and certificate_maxfev out")
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
        failures=Failures.omitting(on_error, nan_policy, retries),
        loss=rho_of,
    )
    if known is not None:
        f.know(*known_pairs(known, point, samples))
    generator = as_generator(rng)
    seed = rng if isinstance(rng, int) and not isinstance(rng, bool) else None
    task = Certifier(
        gtol=asked.gtol,
        curvtol=asked.curvtol,
        failure=failure,
        noise=noise,
        x_scale=x_scale,
        rho=rho,
        resolution=resolution,
        finder=finder if sparsity is None else Sparse.of(sparsity, asked.curvtol, failure),
        evidence=check_evidence(evidence, samples),
        maxfev=certificate_maxfev,
        began=Books(),
    )
    relative = gtol is None and curvtol is None
    with closing(f):
        if rho_of is not None:
            told: Any = {"gtol": None, "curvtol": None} if relative else {"gtol": asked.gtol, "curvtol": asked.curvtol}
            told |= {"x_scale": x_scale, "rho": rho, "resolution": resolution, "noise": noise, "geometry": geometry}
            f.within(geometry.domain)
            certificate, _ = ResidualCertifier(failure=failure, loss=rho_of, **told)(f, point, generator)
            return replace(certificate, seed=seed)
        f.within(geometry.domain)
        if f.differentiable and (geometry.equalities is not None or not task.uses_gradients(f)):
            given = finder if isinstance(finder, str) else finder.name
            warn_unused(f"finder={given!r}" if geometry.equalities is None else EQUALITIES)
            f.forget_derivatives()
        if f.differentiable and samples is None:
            scale = as_scale(x_scale, point) if x_scale is not None else lengths(to_numpy(point).astype(np.float64))
            try:
                check_gradient(f, point, scale, generator)
            except (BudgetExhausted, UnboundedBelow) as stop:
                return replace(task.unseen(point, str(stop)), seed=seed, **_books(f))
        if not geometry.plain:
            relative = gtol is None and curvtol is None
            certificate = in_geometry(task, f, point, geometry, generator, relative=relative)
            certificate = with_books(certificate, f, Books())
        elif gtol is None and curvtol is None and samples is None:
            certificate = _in_learnt_units(task, f, point, generator)
        else:
            certificate = task(f, point, generator)
        LOG.info("%s after %d queries: %s", certificate.verdict, certificate.nfev, certificate.reason)
        return replace(certificate, seed=seed, **_books(f))


def _in_learnt_units(task: Certifier, f: Oracle, x: Array, rng: np.random.Generator) -> Certificate:
    """The certificate of x by tolerances that are shares of units learnt there."""
    known: Any = {"x_scale": task.x_scale, "resolution": task.resolution, "answer": True}
    try:
        problem = ScaledProblem.learnt(f, x, rng, **known)
    except (BudgetExhausted, UnboundedBelow) as stop:
        return task.unseen(x, str(stop))
    found = problem.certifier(task)(problem.f, problem.inside(x), rng)
    return problem.certificate(found, x)


def _books(f: Oracle) -> dict[str, Any]:
    """All that was counted."""
    books = f.ledger
    counts: dict[str, Any] = {"nfev": books.queries, "nfev_by_purpose": dict(books.by_purpose)}
    return counts | {"nrounds": books.rounds, "njev": books.gradients, "nhev": books.products, "nknown": books.known}
