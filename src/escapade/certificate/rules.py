"""What each verdict needs. The only place that says so."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Vector
from ..curvature import Finding, Outcome
from ..curvature.finding import ANYWHERE
from ..derivatives.settings import CONSISTENCY
from ..interval import Estimate, Interval
from .settings import RULES

Verdict = Literal["minimum", "second-order", "saddle", "not stationary", "undecided"]

HESSIAN_JUMPS = "the curvature of f jumps at x: it is another on one side than on the other"


def verdict_of(
    gradient: Interval, finding: Finding, *, gtol: float, curvtol: float, rho: float
) -> tuple[Verdict, float | None]:
    """The verdict, and the radius within which a strict minimiser lies if it is "minimum".

    "saddle": a direction of curvature at most -curvtol/2 was confirmed. "not stationary": the gradient norm exceeds
    gtol. "second-order": it is at most gtol, and the smallest curvature at least -curvtol. "minimum": besides, that
    curvature is some lambda > 0 with rho |g| < lambda^2 / 2.
    """
    if finding.found:
        return "saddle", None
    if gradient.lower > gtol:
        return "not stationary", None
    if not (gradient.upper <= gtol and finding.certified and finding.curvature.lower >= -curvtol):
        return "undecided", None
    radius = minimum_radius(gradient.upper, finding.curvature.lower, rho)
    return ("second-order" if radius is None else "minimum"), radius


def verdict_in_box(
    residual: Interval, reduced: Interval, finding: Finding, *, gtol: float, curvtol: float, rho: float
) -> tuple[Verdict, float | None]:
    """The same where some variables are bounded.

    The residual of the Karush-Kuhn-Tucker conditions takes the place of the gradient. The finding is about the Hessian
    in the variables that are free or weakly active: that subspace holds the critical cone, in which curvature matters.
    For "minimum" the gradient in all of these, `reduced`, must be small beside it. A direction of the finding must be
    feasible, with a lower value seen along it.
    """
    verdict, _ = verdict_of(residual, finding, gtol=gtol, curvtol=curvtol, rho=rho)
    if verdict not in ("minimum", "second-order"):
        return verdict, None
    radius = minimum_radius(reduced.upper, finding.curvature.lower, rho)
    return ("second-order" if radius is None else "minimum"), radius


def kkt_residual(gradient: Estimate[Vector], slopes: Estimate[Vector]) -> Interval:
    """The norm of the residual of the Karush-Kuhn-Tucker conditions: gradients of free variables, and the part of the
    slopes inward from bounds that is negative."""
    size, error = np.abs(gradient.value), gradient.error
    lower = [np.maximum(size - error, 0.0), np.maximum(-slopes.value - slopes.error, 0.0)]
    upper = [size + error, np.maximum(slopes.error - slopes.value, 0.0)]
    low, high = (float(np.linalg.norm(np.concatenate(parts))) for parts in (lower, upper))
    return Interval(low, high)


def strongly_active(slopes: Estimate[Vector], gtol: float) -> NDArray[np.bool_]:
    """On which bounds f rises inward, to first order and by more than the tolerance, whatever the errors are."""
    return np.asarray(slopes.value - slopes.error > gtol)


def falls_inward(slopes: Estimate[Vector], gtol: float) -> NDArray[np.bool_]:
    """From which bounds f surely falls inward by more than the tolerance."""
    return np.asarray(slopes.value + slopes.error < -gtol)


def down_along(near: float, far: float, error: float, curvtol: float) -> bool:
    """Whether two second differences along a direction, the first at half the step of the second, confirm a curvature
    of at most -curvtol/2."""
    return near + abs(far - near) + error <= -curvtol / 2


def minimum_radius(g: float, curvature: float, rho: float) -> float | None:
    """2 |g| / lambda, if there must be a strict minimiser so near: lambda > 0 and rho |g| < lambda^2 / 2 (Kantorovich).

    Kantorovich's radius lies between half of that and that, and would rest on a rho that is known.
    """
    return 2 * g / curvature if curvature > 0 and rho * g < curvature**2 / 2 else None


def within_reach(radius: float, eps: float) -> bool:
    """Whether a ball is within the steps of differences on samples, where no value at its end is looked at."""
    return bool(radius <= eps**0.25)


def estimated_rho(thirds: Iterable[float]) -> float:
    """A Lipschitz constant of the Hessian, from the third derivatives that were seen."""
    return CONSISTENCY.safety * max(thirds)


def largest_gradient(curvature: float, rho: float, step: float) -> float:
    """The largest gradient norm with which "minimum" follows from this curvature without a Newton step: the radius is
    within the difference steps."""
    return min(curvature * step / 2, curvature**2 / (2 * rho + 1e-300))


def wanted_curvature(g: float, rho: float, step: float) -> float:
    """The curvature with which "minimum" follows from a gradient of this norm without a Newton step, and some more."""
    return RULES.margin * max(2 * g / step, math.sqrt(2 * rho * g))


def nearly_stationary(gradient: Interval, gtol: float) -> bool:
    """Whether a point that is not stationary may be meant to be: a solver stopped there, by a tolerance of its own."""
    return gradient.lower <= RULES.nearly * gtol


def ask_for_positive(curvature: Interval, curvtol: float) -> bool:
    """Whether a search that certified -curvtol has left open whether the curvature is positive, and it may be."""
    return curvature.lower <= 0 and curvature.upper > RULES.unclear * curvtol


def allow_for_hessian_jump(finding: Finding, jump: float, curvtol: float) -> Finding:
    """The finding, as far as a jump of the Hessian at x leaves it: differences on both sides do not show one."""
    if not finding.certified or jump == 0.0:
        return finding
    lower, upper = finding.curvature.lower - RULES.margin * jump, finding.curvature.upper
    if lower >= -curvtol:
        return replace(finding, curvature=Interval(lower, upper))
    return undecided(HESSIAN_JUMPS, Interval(-math.inf, upper))


def attainable(
    verdict: Verdict, gradient: Interval, finding: Finding, *, gtol: float, curvtol: float
) -> tuple[float, float] | None:
    """For an undecided verdict, the tolerances that could be shown, where both intervals have an end."""
    shown = gradient.upper, -finding.curvature.lower
    if verdict != "undecided" or not all(map(math.isfinite, shown)) or finding.reason == HESSIAN_JUMPS:
        return None
    return max(gtol, RULES.room * shown[0]), max(curvtol, RULES.room * shown[1])


def undecided(reason: str, curvature: Interval = ANYWHERE) -> Finding:
    """A finding that shows nothing, and why."""
    return Finding(Outcome.UNDECIDED, curvature=curvature, reason=reason)


def flat() -> Finding:
    """What follows where f is constant, and every digit of it counts: no gradient, and no curvature."""
    reason = "f does not change at all around x, and was to be believed at all lengths (resolution=0)"
    return Finding(Outcome.CERTIFIED, curvature=Interval(0.0, 0.0), reason=reason)
