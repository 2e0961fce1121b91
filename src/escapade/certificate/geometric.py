"""The certificate of a point of a problem with bounds, equalities or invariances, in the variables that these leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._array import Array, like, to_numpy
from ..derivatives import invariance
from ..derivatives.measure import Books
from ..derivatives.noise import is_number
from ..derivatives.settings import FEASIBLE
from ..derivatives.units import lengths
from ..domain import Geometry, independent
from ..errors import BudgetExhausted, MissingValue, UnboundedBelow
from ..oracle import Oracle
from ..tolerances import as_scale
from . import rules
from .certificate import Certificate
from .certifier import Certifier
from .scaled import ScaledProblem
from .settings import RULES


def in_geometry(
    task: Certifier, f: Oracle, x: Array, geometry: Geometry, rng: np.random.Generator, *, relative: bool
) -> Certificate:
    """The certificate of x; where tolerances are `relative` they are shares of units that are learnt there.

    Queries: those of `invariance.check`, of `units.learn` if relative, and of the certificate in the variables left
    """
    rows, count, unseen = None, 0, 0.0
    try:
        if geometry.invariant is not None:
            level = float(task.noise) if is_number(task.noise) else 0.0  # type: ignore[arg-type]
            x0 = None if task.x0 is None else to_numpy(task.x0).astype(np.float64)
            seen = invariance.check(f, x, geometry.invariant, level, rng, x0)
            if seen.refuted:
                remedy = "leave out the direction, or give noise= if f is noisy"
                return replace(task.unseen(x, seen.refuted), remedy=remedy, fun=f.tagged("check").value(x))
            rows = independent(seen.rows).T
            count, unseen = len(rows), seen.unseen
        frame = geometry.frame(x, rows if count else None)
        known: dict[str, Any] = {"x_scale": task.x_scale, "resolution": task.resolution, "answer": True}
        if relative and not _nothing_left(geometry, x):
            problem = ScaledProblem.learnt(f, x, rng, frame, **known)
        else:
            unit = None if task.x_scale is None else like(as_scale(task.x_scale, x), x)
            problem = ScaledProblem.given(f, unit, frame)
    except (BudgetExhausted, UnboundedBelow, MissingValue) as stop:
        return task.unseen(x, str(stop))
    inner = problem.certifier(task)
    if inner.x0 is not None:
        inner = replace(inner, x0=problem.inside(inner.x0))
    y = problem.inside(x)
    wanted = count > 0 and inner.finder == "auto" and not f.differentiable  # gradients tell about "minimum" at once
    if wanted and y.shape[0] <= RULES.across:
        inner = replace(inner, finder="dense")
    certificate = replace(problem.certificate(inner(problem.f, y, rng), x), invariant=count)
    if certificate.holds and unseen * _square(problem) > certificate.curvtol / 2:
        finding = rules.undecided("noise hides whether f is the same along the invariances", certificate.curvature)
        blank = replace(task, gtol=certificate.gtol, curvtol=certificate.curvtol)
        return blank.written(x, certificate.fun, certificate.gradient, finding, certificate.trusted, 0.0)
    return certificate if certificate.holds else _with_snap(certificate, x, geometry)


def _with_snap(certificate: Certificate, x: Array, geometry: Geometry) -> Certificate:
    """The same, naming the variables that all but are on a bound to which f falls: on it they would be active."""
    y = to_numpy(x).astype(np.float64)
    if certificate.jac is None or geometry.domain.unbounded:
        return certificate
    lower, upper = geometry.domain.sides(len(y))
    g, near = np.nan_to_num(to_numpy(certificate.jac).astype(np.float64)), FEASIBLE.hint * lengths(y)
    bound = np.where((y > lower) & (y - lower <= near) & (g > 0), lower, np.nan)
    bound = np.where((y < upper) & (upper - y <= near) & (g < 0), upper, bound)
    which = np.flatnonzero(np.isfinite(bound))
    if len(which) == 0:
        return certificate
    moved = ", ".join(f"x[{i}] = {bound[i]:.10g}" for i in which[:3]) + (", ..." if len(which) > 3 else "")
    return replace(certificate, remedy=f"f falls towards bounds that are all but reached: certify x with {moved}")


def _nothing_left(geometry: Geometry, x: Array) -> bool:
    """Whether bounds leave every variable one value."""
    lower, upper = geometry.domain.sides(x.shape[0])
    return bool(np.all(lower == upper))


def _square(problem: ScaledProblem) -> float:
    """What a curvature in x is at most in y, as the certificate states it."""
    return 1.0 if problem.unit is None else float(np.max(to_numpy(problem.unit).astype(np.float64))) ** 2


def with_books(certificate: Certificate, f: Oracle, began: Books) -> Certificate:
    """The same with what was spent since some moment of the oracle's books."""
    now, before = Books.of(f), began.by_purpose
    spent = {k: n - before.get(k, 0) for k, n in now.by_purpose.items() if n > before.get(k, 0)}
    return replace(
        certificate,
        nfev=sum(spent.values()),
        nfev_by_purpose=spent,
        nrounds=now.rounds - began.rounds,
        njev=now.gradients - began.gradients,
        nhev=now.products - began.products,
    )
