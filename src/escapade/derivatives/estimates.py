"""Estimates with errors from values around a point: gradient, diagonal, Hessian, curvature along a vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .._array import Matrix, Vector, norm2
from ..errors import BudgetExhausted, NonFiniteValue
from ..interval import Estimate, Interval
from . import steps as steps_
from .noise import Noise
from .settings import CONSISTENCY, GRADIENT, NOISE, PRODUCTS, STEPS
from .stencil import CoordinateStencil

if TYPE_CHECKING:
    from .consistency import OddParts


@dataclass(frozen=True)
class GradientRule:
    """What a gradient is wanted for, and what bounds its error."""

    curvtol: float
    gtol: float = math.inf
    """A gradient that is on one side of this, whatever its error, is not measured again."""
    rho: float | None = None
    """A Lipschitz constant of the Hessian: then truncation is bounded and not estimated."""


def gradient(
    stencil: CoordinateStencil,
    noise: Noise,
    rule: GradientRule,
    shorter: OddParts | None = None,
    refinements: int = GRADIENT.refinements,
) -> Estimate[Vector]:
    """The gradient, less what third differences show of its truncation, and a bound on the norm of its error.

    What shorter steps along random vectors show beyond that bound is added to it. Where truncation dominates the noise,
    and it is not clear whether the gradient is within the tolerance, rows are taken again on steps that balance them,
    variable by variable.

    Queries: 0, or 3*d the first time shorter rows are needed, three times at most, and once more if they contradict
    """
    h, third = stencil.steps, stencil.third_differences
    g: Vector = (stencil.row(1.0) - stencil.row(-1.0)) / (2 * h)
    if rule.rho is None:  # wrong by O(h^3) where f is smooth, by far times the correction where its curvature jumps
        g, truncation = g - third / (6 * h), stencil.far * np.abs(third) / (6 * h) + _beyond_scale(stencil, noise, rule)
    else:
        truncation = rule.rho * h**2 / 6
    # The weights of the values in g: 1.5 and 1.9 are the roots of the sums of their squares, times sqrt(2).
    noise_error = (1.5 if stencil.symmetric else 1.9) * noise.norm(stencil.d) / math.sqrt(stencil.d) / h
    truncated, noisy = norm2(truncation), norm2(noise_error)
    total = truncated + noisy + _excess(shorter, g, noisy, truncated, noise)
    first = Estimate(g, total)
    decided = abs(norm2(g) - rule.gtol) > total
    if refinements == 0 or truncated <= NOISE.significant * noisy or decided:
        return first
    finer = stencil.on_steps(steps_.balanced(stencil.shortest, h, truncation, noise_error))
    try:
        second = gradient(finer.complete(), noise, rule, refinements=refinements - 1)
    except BudgetExhausted:  # what is known will have to do
        return first
    off = norm2(second.value - g)
    if off > NOISE.significant * total and not _holds_closer(stencil, noise, rule, second):
        return Estimate(g, total + off)
    return Estimate(second.value, second.error + _excess(shorter, second.value, second.error, truncated, noise))


def _excess(shorter: OddParts | None, g: Vector, known: float, truncation: float, noise: Noise) -> float:
    return 0.0 if shorter is None else shorter.excess_gradient_error(g, known, truncation, noise)


def _holds_closer(stencil: CoordinateStencil, noise: Noise, rule: GradientRule, g: Estimate[Vector]) -> bool:
    """Whether this is the gradient on much shorter steps too, and f changes there: those of the stencil may be below
    the unit in which f is given.

    Queries: 3*d, or 4*d if far rows are taken on both sides
    """
    closer = stencil.on_steps(np.maximum(stencil.steps / 8, stencil.shortest))
    try:
        closer = closer.complete()
        again = gradient(closer, noise, rule, refinements=0)
    except BudgetExhausted:
        return False
    changes = bool(np.any(closer.row(1.0) != stencil.f0))
    return changes and norm2(again.value - g.value) <= NOISE.significant * (g.error + again.error)


def _beyond_scale(stencil: CoordinateStencil, noise: Noise, rule: GradientRule) -> Vector | float:
    """What second differences change by over the longest steps, where that is so much of them that the first terms of
    a series tell nothing of the rest; else 0. In units of the gradient."""
    if not stencil.symmetric:
        return 0.0
    h, change = stencil.steps, stencil.second_changes
    size = np.abs(stencil.second_differences()) + rule.curvtol * h**2
    much = (change > CONSISTENCY.subscale * size + 8 * noise.level) & (h >= STEPS.longest)
    return np.where(much, change, 0.0) / h


def diagonal(stencil: CoordinateStencil, noise: Noise) -> Estimate[Vector]:
    """The diagonal of the Hessian, and a bound on the error of each entry.

    Queries: none beside the usual rows
    """
    error = STEPS.truncation_safety * stencil.second_changes + 4 * noise.norm(1)
    return Estimate(stencil.second_differences() / stencil.steps**2, error / stencil.steps**2)


def third_derivative(stencil: CoordinateStencil) -> float:
    """The largest third derivative along a coordinate.

    Queries: none beside the usual rows
    """
    h = stencil.steps
    return float(np.max(np.abs(stencil.third_differences / h / h / h)))  # a cube may overflow


def third_derivative_along(stencil: CoordinateStencil, v: Vector) -> float:
    """The size of the third derivative along the unit vector v, from odd differences at two steps.

    Queries: 4
    """
    h = PRODUCTS.longest * float(np.median(stencil.steps))
    ends = np.outer((h, -h, 2 * h, -2 * h), v)
    (a, b, c, e), (part,) = stencil.retaken(ends, np.zeros(4, dtype=np.int64), 1, "check")
    return abs(float((c - e) / 2 - (a - b))) / (float(part) * h) / (float(part) * h) / (float(part) * h)


@dataclass(frozen=True)
class CurvatureAlong:
    """The curvature along a unit vector."""

    interval: Interval
    raw: tuple[Estimate[float], ...] = ()
    """Second differences on ever shorter steps, each half the last, with bounds on their noise; not extrapolated."""

    def at_most(self, threshold: float) -> bool:
        """Whether two successive second differences, and not their extrapolation alone, show a curvature of at most
        `threshold` < 0: both below zero by more than noise, and the shorter one below it by more than its own change.

        Extrapolation across an edge of f makes a negative number of two that are not.
        """
        return any(
            max(long.value + long.error, short.value + short.error) < 0
            and short.value + abs(long.value - short.value) + short.error <= threshold
            for long, short in pairwise(self.raw)
        )


def curvature_along(
    stencil: CoordinateStencil, noise: Noise, curvtol: float, v: Vector, threshold: float = -math.inf
) -> CurvatureAlong:
    """The curvature along the unit vector v, from second differences at two steps or more.

    The steps are not those of any product, they shrink while truncation exceeds the noise, and the interval holds both.
    Used to confirm every direction before anyone acts on it: where extrapolation shows a curvature of at most
    `threshold`, they shrink until second differences themselves do, or noise hides their change.

    Queries: 4, and 2 more for each time the step is cut
    """
    value_error = 4 * noise.norm(1)
    h = steps_.confirmation(stencil.x, stencil.unit, stencil.steps, v, value_error, curvtol, stencil.resolution)
    best = Estimate(0.0, math.inf)
    raw: list[Estimate[float]] = []
    extrapolated: list[float] = []
    lost = 0
    for _ in range(STEPS.attempts):
        try:
            pair = stencil.along(v, (h, -h), "curvature")
        except NonFiniteValue:  # here and there, perhaps; or f ends
            raw, extrapolated, lost = [], [], lost + 1
            h *= STEPS.nearby if lost <= STEPS.nearby_tries else 1 / 8
            continue
        noise_error = value_error / h**2
        raw.append(Estimate((float(pair.sum()) - 2 * stencil.f0) / h**2, noise_error))
        if len(raw) > 1:
            long, short = raw[-2].value, raw[-1].value
            extrapolated.append((4 * short - long) / 3)
            moved = abs(short - long)
            best = _better(best, Estimate(short, STEPS.truncation_safety * moved + noise_error))
            if len(extrapolated) > 1:  # noise of an extrapolation: (4 + 1) / 3 times that of a second difference
                moved = abs(extrapolated[-1] - extrapolated[-2])
                best = _better(best, Estimate(extrapolated[-1], STEPS.truncation_safety * moved + 1.7 * noise_error))
            known = moved <= noise_error or best.error <= STEPS.confirm_exact * max(curvtol, abs(best.value))
            if known and not _may_show(raw, best, threshold):
                break
        h /= 2
    return CurvatureAlong(Interval(best.value - best.error, best.value + best.error), tuple(raw))


def _may_show(raw: list[Estimate[float]], best: Estimate[float], threshold: float) -> bool:
    """Whether shorter second differences may yet show the threshold that their extrapolation shows."""
    seen = CurvatureAlong(Interval(best.value - best.error, best.value + best.error), tuple(raw[-2:]))
    if threshold >= 0 or seen.interval.upper > threshold or seen.at_most(threshold):
        return False
    return bool(abs(raw[-2].value - raw[-1].value) > raw[-1].error)


def _better(one: Estimate[float], other: Estimate[float]) -> Estimate[float]:
    return other if other.error < one.error else one


@dataclass(frozen=True)
class DenseHessian:
    """diag(h) H diag(h), h the steps of the stencil, and a bound on the norm of its noise in the same units."""

    scaled: Matrix
    noise: float
    steps: Vector

    @property
    def unscaled(self) -> Matrix:
        """H."""
        return np.asarray(self.scaled / self.steps[:, None] / self.steps)


def dense_hessian(stencil: CoordinateStencil, noise: Noise, order: int = 2, factor: float = 1.0) -> DenseHessian:
    """All second differences around a point.

    Entry ij is f(x + h_i e_i + h_j e_j) - f(x + h_i e_i) - f(x + h_j e_j) + f(x), on one side; at order 2 the mean of
    both sides, in which all odd terms of the error cancel. Order 4 extrapolates from two steps. The diagonal is always
    taken on both sides.

    Queries: d*(d - 1)/2, d*(d - 1) or 2*d*(d - 1) for order 1, 2 or 4, and d for each row not yet known; less what was
    taken before; and as much as an entry takes for each with a missing value, which is taken again on other steps
    """
    scaled = _second_differences(stencil, min(order, 2), factor)
    if order == 4:
        scaled = (4 * scaled - _second_differences(stencil, 2, 2 * factor)) / 3
    d = stencil.d
    if np.isnan(scaled).any():
        i, j = np.nonzero(np.triu(np.isnan(scaled)))
        rows = np.diag(stencil.steps)
        scaled[i, j] = scaled[j, i] = some_second_differences(stencil, rows[i], rows[j], order, factor)
    return DenseHessian(scaled, noise_of_second_differences(noise, d, order) / factor**2, stencil.steps)


def noise_of_second_differences(noise: Noise, m: int, order: int = 2) -> float:
    """A bound on the norm of what noise does to all second differences of m directions."""
    spread = m if noise.bounded else m + 4 * math.sqrt(m)
    norm = dict(zip((1, 2, 4), PRODUCTS.worst if noise.source == "roughness" else PRODUCTS.norm, strict=True))[order]
    return float(norm * spread * noise.level)


def _second_differences(stencil: CoordinateStencil, sides: int, factor: float) -> Matrix:
    d, factors = stencil.d, (factor, -factor)[:sides]
    stencil.take_rows(factor, -factor)
    a = np.zeros((d, d))
    if d > 1:
        i, j = np.triu_indices(d, k=1)
        row = np.mean([stencil.entries(k) for k in factors], axis=0)
        pair = np.mean(stencil.pairs(*factors), axis=0)
        a[i, j] = pair - row[i] - row[j] + stencil.f0
        a += a.T
    a[np.arange(d), np.arange(d)] = stencil.entries(factor) + stencil.entries(-factor) - 2 * stencil.f0
    return a / factor**2


def some_second_differences(
    stencil: CoordinateStencil, one: Matrix, other: Matrix, order: int, factor: float
) -> Vector:
    """The second differences between the displacements in the rows of two matrices, each from values of its own on
    other steps than those of the rows.

    Queries: 3, 6 or 12 for an entry of order 1, 2 or 4, each time it is tried
    """
    n, d = one.shape
    lengths = np.array([1.0, -1.0, 2.0, -2.0][:order])
    same = np.all(one == other, axis=1)  # then on both sides of x
    corners = np.stack([np.where(same[:, None], -other, one + other), one, other], axis=1)
    first = STEPS.nearby * factor
    ends = (first * lengths[:, None, None, None] * corners).reshape(-1, d)
    owner = np.tile(np.repeat(np.arange(n), 3), len(lengths))
    values, scale = stencil.retaken(ends, owner, n, "curvature")
    whole, a, b = np.moveaxis(values.reshape(len(lengths), n, 3), -1, 0)
    k = first * scale * np.abs(lengths)[:, None]
    entries = np.where(same, whole + a - 2 * stencil.f0, whole - a - b + stencil.f0) / k**2
    near: Vector = np.mean(entries[:2], axis=0)
    return near if order < 4 else np.asarray((4 * near - np.mean(entries[2:], axis=0)) / 3)
