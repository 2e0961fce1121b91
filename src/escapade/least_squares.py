"""`least_squares`: what users call whose function returns residuals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from . import budget
from ._array import Array, Matrix, Vector, as_point, to_numpy
from ._random import as_generator
from ._text import counted
from .certificate import Certificate, ScaledProblem
from .certificate.residuals import Fit, ResidualCertifier
from .derivatives.residual_model import Pattern, group_columns
from .domain import Domain, Flags, Geometry
from .errors import InvalidSetting
from .loss import Loss
from .methods import Goal
from .methods.residuals import FitEvidence, ResidualIterate, Residuals
from .oracle import Failures, Journal, Oracle, Policy
from .result import Result
from .run import Run
from .stopping import Callback, Ending, Limits, Rule
from .tolerances import as_scale
from .trace import Iterate, Step
from .validation import check_resolution, check_tolerances, known_keywords


@dataclass(frozen=True)
class Combination:
    """A combination of parameters, and how little the residuals say of it."""

    direction: Vector
    """A unit vector in x / scale, where `scale` are the sizes of the parameters."""
    deviation: float
    """The standard deviation of the fit along it, in these units: 0.01 is one percent of the parameters' sizes."""

    def __str__(self) -> str:
        order = np.argsort(-np.abs(self.direction))[:4]
        terms = " ".join(f"{self.direction[i]:+.2f} x[{i}]" for i in order if abs(self.direction[i]) > 0.05)
        return f"{terms}: known to {self.deviation:.2g} times the sizes of the parameters"


class Fitted(Result):
    """What `least_squares` returns: SciPy's fields, and what was proved; the others are those of `Result`.

    Attributes
    ----------
    x : array
        The parameters.
    cost : float
        Half the sum of rho of the squared residuals.
    fun : array
        The residuals at x.
    jac : array
        The Jacobian there, as it was last known; for a robust loss scaled as SciPy does, so that jac.T @ jac stands
        for the Hessian of the cost.
    grad : array
        The gradient of the cost.
    optimality : float
        Its largest entry that no bound explains.
    active_mask : array of int
        -1, 0 or 1 where a parameter is on its lower bound, on none, on its upper one.
    nfev : int
        Queries, those for differences included (SciPy's `nfev` leaves them out).
    njev : int
        Jacobians asked of the user.
    certificate : Certificate or None
        What was shown about x.
    """

    cost: float
    fun: Any
    jac: Matrix
    grad: Vector
    optimality: float
    active_mask: Any
    njev: int

    def rows(self) -> list[tuple[str, str]]:
        m = 0 if self.fun is None else len(self.fun)
        plain = Result()
        plain.update({**self, "fun": self.cost})
        shown = f"{self.cost:.10g}, {counted(m, 'residual')}"
        return [("cost", shown) if name == "fun" else (name, text) for name, text in plain.rows()]

    def covariance(self, *, absolute: bool = False) -> Matrix:  # type: ignore[override]
        """The covariance of the parameters: (J'J)^-1, times the variance of a residual, 2 cost / (m - d), unless the
        residuals are in units of their standard deviations (`absolute`).

        Infinite where the residuals say nothing of a parameter. A parameter that its bound holds has no standard error:
        its row and column are NaN, and the others' are as if it were known to be there. One that is weakly active, on
        its bound without being held by it, counts as free.
        """
        free = self._free()
        C = np.full((len(free), len(free)), np.nan)
        J, sizes = self._scaled_jacobian(), self._sizes()
        C[np.ix_(free, free)] = _covariance(J[:, free], sizes[free], self._variance(absolute))
        return C

    def softest(self, count: int = 3, *, absolute: bool = False) -> list[Combination]:
        """The combinations of parameters of which the residuals say least, the softest first; those that their bounds
        hold are left out."""
        free = self._free()
        _, sizes, V = np.linalg.svd(self._scaled_jacobian()[:, free], full_matrices=True)
        d = V.shape[0]
        ways = np.zeros((d, len(free)))
        ways[:, free] = V
        full = np.concatenate([sizes, np.zeros(max(0, d - len(sizes)))])[:d]
        known = full > d * np.finfo(np.float64).eps * max(float(np.max(full, initial=0.0)), 1e-300)
        spread = math.sqrt(self._variance(absolute))
        found = [
            Combination(ways[k], spread / float(full[k]) if known[k] else math.inf) for k in range(d - 1, -1, -1)
        ]
        return found[:count]

    def _free(self) -> Flags:
        """The parameters that no bound holds: off all bounds, or weakly active."""
        active, on = None if self.certificate is None else self.certificate.active, self.active_mask != 0
        if active is not None:
            on[list(active.weak)] = False
        return np.asarray(~on)

    def _sizes(self) -> Vector:
        x = np.abs(to_numpy(self.x).astype(np.float64))
        return np.where(x > 0, x, 1.0)

    def _scaled_jacobian(self) -> Matrix:
        if self.jac is None:
            raise InvalidSetting("the run ended before a Jacobian was known: raise maxfev")
        return np.asarray(self.jac * self._sizes())

    def _variance(self, absolute: bool) -> float:
        m, d = self.jac.shape[0], int(np.sum(self._free()))
        if absolute:
            return 1.0
        return 2 * self.cost / (m - d) if m > d else math.inf


def _covariance(J: Matrix, sizes: Vector, variance: float) -> Matrix:
    d = J.shape[1]
    _, w, V = np.linalg.svd(J, full_matrices=True)
    full = np.concatenate([w, np.zeros(max(0, d - len(w)))])[:d]
    known = full > max(J.shape) * np.finfo(np.float64).eps * max(float(np.max(full, initial=0.0)), 1e-300)
    inverse = np.where(known, 1 / np.where(known, full, 1.0) ** 2, 0.0)
    C = (V.T * inverse) @ V * variance
    lost = np.any(np.abs(V[~known]) > 1e-8, axis=0)
    C[lost, :] = C[:, lost] = np.inf
    return np.asarray(C * np.outer(sizes, sizes))


@dataclass
class FitRun(Run):
    """A run on residuals: it keeps those of the last iterate, and the certificate that the method asked for itself."""

    last: ResidualIterate | None = None
    fit: Fit | None = None

    def _record(self, iterate: Iterate) -> Step:
        if isinstance(iterate, ResidualIterate):
            self.last = iterate
        return super()._record(iterate)

    def _certify(self, ending: Ending) -> Certificate:
        evidence = ending.evidence
        if isinstance(evidence, FitEvidence) and evidence.certificate is not None:
            self.fit = evidence.fit
            return replace(evidence.certificate, failure=self.failure)
        task: Any = self.certifier
        certificate: Certificate
        certificate, self.fit = task(self.problem.f.tagged("certificate", pin=True), self.y, self.rng)
        if not math.isfinite(certificate.fun) and self.last is not None:
            certificate = replace(certificate, fun=float(self.last.fun or math.nan))
        return replace(certificate, failure=self.failure)

    def _scale(self) -> None:
        self.y = self.x  # units are learnt where a certificate is asked for

    def known_at(self, x: Array) -> tuple[Vector | None, Matrix | None]:
        """Residuals and Jacobian at x, as far as they are known; the Jacobian of the last iterate elsewhere."""
        r, J = self.f.best_residuals, None
        if self.last is not None:
            J = self.last.jacobian
            if np.array_equal(to_numpy(x), to_numpy(self.last.x)):
                r = self.last.residuals
        if self.fit is not None and np.array_equal(to_numpy(x), to_numpy(self.fit.x)):
            r, J = self.fit.r, self.fit.J
        return r, J


@known_keywords
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    jac: Any = None,
    bounds: Any = None,
    x_scale: Any = None,
    loss: str = "linear",
    f_scale: float = 1.0,
    noise: float | str | None = None,
    gtol: float | None = None,
    curvtol: float | None = None,
    failure: float = 1e-3,
    maxfev: int | None = None,
    max_nfev: int | None = None,
    maxiter: int | None = None,
    maxtime: float | None = None,
    jac_sparsity: Any = None,
    resolution: float | None = None,
    vectorized: bool = False,
    workers: Any = None,
    timeout: float | None = None,
    on_error: Policy = "raise",
    nan_policy: Policy | None = None,
    retries: int | None = None,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
    journal: Any = None,
    stop: Rule | None = None,
    progress: bool = False,
) -> Fitted:
    """Fit parameters to residuals, and certify the fit.

    Minimises 1/2 sum_i f^2 rho((r_i(x) / f)^2), f = `f_scale`. One query is one vector of residuals.

    Parameters
    ----------
    fun : callable
        `fun(x, *args) -> residuals`, a vector of m numbers, m of any size; with `vectorized`, `fun(X, *args)` gives the
        residuals of the rows of X as rows.
    x0 : array
        The start.
    args : tuple, optional
        Further arguments of `fun`.
    bounds : Bounds or pair (lower, upper), optional
        As SciPy's `least_squares` has them; residuals are never asked for outside. Where the answer is on a bound, or
        near one, the certificate is that of values, which `minimize` gives.
    jac : callable, optional
        `jac(x, *args)`, the Jacobian of the residuals, m x d; its calls are counted as `njev`. None: differences.
    x_scale : array, optional
        The lengths over which the parameters matter; None or "jac": their sizes at x0.
    loss, f_scale : str, float
        rho: "linear", "soft_l1", "huber", "cauchy" or "arctan", and the residual at which it begins to matter.
    noise : float or None
        The standard deviation of the error of each residual. None: rounding, and what the certificate finds.
    gtol, curvtol : float, optional
        As for `minimize`, of the cost. None: shares of the curvature of the cost at the answer.
    maxfev, max_nfev, maxiter, maxtime : int, int, int, float, optional
        Budgets of queries (hard, under either name; differences count, which SciPy leaves out), iterates, and seconds.
    jac_sparsity : array or sparse matrix, optional
        m x d, nonzero where a residual depends on a parameter: parameters that share no residual are moved together.
    failure, resolution, vectorized, workers, timeout, on_error, nan_policy, retries, rng : optional
        As for `minimize`.
    callback, journal, stop, progress : optional
        As for `minimize`.

    Returns
    -------
    Fitted
        SciPy's fields, and `certificate`, `covariance()`, `softest()`.

    Raises
    ------
    InvalidSetting
        An argument is out of its range, or does not go with another; the message says which, and what to do.
    EvaluationFailed, NonFiniteValue
        The function raised, or returned NaN or infinity, where policies say "raise".
    JournalError
        A journal cannot be used, or is of another run.

    Examples
    --------
    >>> import numpy as np
    >>> import escapade
    >>> t = np.linspace(0, 1, 20)
    >>> def residuals(p):
    ...     return p[0] * np.exp(-p[1] * t) - 2 * np.exp(-3 * t)
    >>> fit = escapade.least_squares(residuals, [1.0, 1.0], rng=0)
    >>> fit.success, fit.x.round(4)
    (True, array([2., 3.]))
    """
    start = as_point(x0)
    scale = None if x_scale is None or (isinstance(x_scale, str) and x_scale == "jac") else as_scale(x_scale, start)
    geometry = Geometry.of(_as_bounds(bounds, start.shape[0]), None, None, start, scale)
    x = start if geometry.plain else geometry.start(start)
    asked = check_tolerances(gtol, curvtol, failure, noise)
    if isinstance(noise, str):
        noise = None  # the certificate finds it out in any case
    check_resolution(resolution)
    if maxfev is not None and max_nfev is not None:
        raise InvalidSetting(f"maxfev={maxfev} and max_nfev={max_nfev} are the same budget: give one of them")
    maxfev = maxfev if max_nfev is None else max_nfev
    rho = Loss(loss, f_scale)
    pattern = None if jac_sparsity is None else as_pattern(jac_sparsity, x.shape[0])
    limits = Limits(maxiter, maxtime, None if callback is None else Callback(callback), stop)
    failures = Failures.omitting(on_error, nan_policy, retries)
    args = args if isinstance(args, tuple) else (args,)
    f = Oracle.of(
        fun,
        args=args,
        vectorized=vectorized,
        maxfev=maxfev,
        workers=workers,
        timeout=timeout,
        failures=failures,
        loss=rho,
        jac=_jacobian(jac),
    )
    f.until(limits.deadline)
    f.within(geometry.domain)
    relative = gtol is None and curvtol is None
    certifier = ResidualCertifier(
        gtol=None if relative else asked.gtol,
        curvtol=None if relative else asked.curvtol,
        failure=failure,
        loss=rho,
        noise=noise,
        x_scale=scale,
        resolution=resolution,
        pattern=pattern,
        geometry=geometry,
    )
    method = Residuals(
        certifier=certifier,
        failure=budget.of_method(failure, sampled=False),
        loss=rho,
        pattern=pattern or Pattern.dense(x.shape[0]),
        noise=float(noise or 0.0),
        scale=scale,
        domain=geometry.domain,
    )
    generator = as_generator(rng)
    if journal is not None:
        settings = {"method": "least_squares", "d": x.shape[0], "dtype": str(x.dtype), "gtol": gtol, "curvtol": curvtol}
        settings |= {"failure": failure, "noise": noise, "x_scale": x_scale, "loss": [loss, f_scale], "args": args}
        settings |= {"resolution": resolution, "groups": None if pattern is None else len(pattern.groups)}
        settings |= {"jac": jac is not None}
        settings |= {} if bounds is None else {"bounds": str(geometry.domain)}
        bounds_of_run = {"maxfev": maxfev, "maxiter": maxiter, "maxtime": maxtime, "stop": stop}
        record, generator = Journal.of(journal).open(settings, bounds_of_run, x, None if rng is None else generator)
        f.keep(record)
    goal = Goal(asked.gtol, asked.curvtol, failure, noise)
    seen_by_run: Any = certifier
    run = FitRun(f, x, ScaledProblem.given(f, None), method, goal, seen_by_run, generator, limits, progress)
    try:
        result = _fitted(run, run.go(), rho, geometry.domain)
    finally:
        f.close()
    if run.error is not None and failures.raises(run.error):
        run.mistake = run.error
    if run.mistake is not None:
        vars(run.mistake)["result"] = result
        raise run.mistake
    return result


def as_pattern(sparsity: Any, d: int) -> Pattern:
    """`jac_sparsity` as groups of parameters."""
    whole: Any = sparsity.todense() if hasattr(sparsity, "todense") else sparsity
    depends = np.asarray(whole) != 0
    if depends.ndim != 2 or depends.shape[1] != d:
        raise InvalidSetting(
            f"jac_sparsity of shape {depends.shape} must be a matrix with a row for each residual and {d} columns, one "
            "for each parameter"
        )
    return Pattern(depends, group_columns(depends))


def _as_bounds(bounds: Any, d: int) -> Any:
    """SciPy's pair (lower, upper) as `Bounds`; what else there is as it is."""
    listed = isinstance(bounds, list) and all(isinstance(pair, tuple) and None not in pair for pair in bounds)
    if d == 2 and (listed or isinstance(bounds, np.ndarray)) and len(bounds) == 2:
        raise InvalidSetting(
            f"bounds={bounds!r:.60} may be (lower, upper) or a pair for each of 2 parameters: give "
            "scipy.optimize.Bounds(lower, upper), or a tuple of two lists, ([...], [...])"
        )
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        return bounds
    try:
        low, high = (np.broadcast_to(np.asarray(side, dtype=np.float64), (d,)) for side in bounds)
        if np.any(np.isnan(low) | np.isnan(high)):  # None, as in pairs
            return bounds
    except (TypeError, ValueError):
        return bounds
    return Bounds(low, high)


def _jacobian(jac: Any) -> Callable[..., Any] | None:
    """The user's Jacobian; None for differences, by any of SciPy's names."""
    if jac is None or jac in ("2-point", "3-point"):
        return None
    if not callable(jac):
        raise InvalidSetting(f"jac={jac!r:.60} must be a callable, jac(x, *args), or None for differences")
    given: Callable[..., Any] = jac
    return given


def _fitted(run: FitRun, result: Result, loss: Loss, domain: Domain) -> Fitted:
    """SciPy's fields from those of a run."""
    x = result.x
    r, J = run.known_at(x)
    found = Fitted()
    found.update(result)
    cost = math.nan if r is None else float(loss.cost(r))
    grad, optimality, scaled = None, math.nan, J
    lower, upper = domain.sides(x.shape[0])
    host = to_numpy(x).astype(np.float64)
    active = np.where(host == upper, 1, np.where(host == lower, -1, 0))
    if r is not None and J is not None:
        w, v = loss.weights(r)
        grad = J.T @ (w * r)
        held = ((active < 0) & (grad > 0)) | ((active > 0) & (grad < 0))
        optimality = float(np.max(np.abs(np.where(held, 0.0, grad))))
        scaled = J if loss.linear else J * np.sqrt(np.maximum(v, np.finfo(np.float64).eps))[:, None]
    found.update(cost=cost, fun=r, jac=scaled, grad=grad, optimality=optimality, njev=run.f.ledger.gradients)
    found.update(active_mask=active)
    return found
