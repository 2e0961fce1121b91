"""Measuring f around a point: steps that fit the precision, the noise and the scale of f, and what they then show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._array import Array, Vector, epsilon, norm2
from ..errors import NonFiniteValue
from ..interval import Estimate, Interval
from ..oracle import Oracle
from ..tolerances import Tolerances, as_scale
from . import consistency, estimates
from . import steps as steps_
from .consistency import AlongCheck, OddParts
from .estimates import CurvatureAlong, DenseHessian, GradientRule
from .ladder import PURPOSE
from .noise import Noise, NoiseEvidence, check_noise, given
from .settings import CONSISTENCY, GRADIENT, STEPS
from .stencil import CoordinateStencil

TOO_DEAR = "f depends on the scale within the steps, and shorter ones are not allowed"
"""Why nothing can be said where shorter steps are not allowed."""


@dataclass(frozen=True)
class Books:
    """What the oracle had counted at some moment."""

    by_purpose: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    gradients: int = 0
    products: int = 0

    @classmethod
    def of(cls, f: Oracle) -> Books:
        """Those of this moment."""
        books = f.ledger
        return cls(dict(books.by_purpose), books.rounds, books.gradients, books.products)


@dataclass(frozen=True)
class Allowance:
    """What a certificate may spend from the moment it began: queries of f on its batch, the ladder of lengths apart."""

    f: Oracle
    most: float
    began: Books

    @classmethod
    def of(cls, f: Oracle, most: float) -> Allowance:
        """From this moment on."""
        return cls(f, most, Books.of(f))

    @property
    def spent(self) -> int:
        """So far."""
        return (_bought(self.f.ledger.by_purpose) - _bought(self.began.by_purpose)) // self._weight

    @property
    def left(self) -> float:
        """What is still allowed."""
        return self.most - self.spent

    def allows(self, queries: float) -> bool:
        """Whether so many more are allowed."""
        return queries <= self.left

    def affords(self, queries: float) -> bool:
        """Whether so many more are allowed, and in the budget."""
        return self.allows(queries) and self._weight * queries <= self.f.remaining

    @property
    def _weight(self) -> int:
        return 1 if self.f.batch is None else max(self.f.batch.weight, 1)


def _bought(by_purpose: Mapping[str, int]) -> int:
    return sum(by_purpose.values()) - by_purpose.get(PURPOSE, 0)


@dataclass(frozen=True)
class ConsistencyReport:
    """What the looks at other scales showed."""

    constant: bool = False
    """f did not change at all over the longest steps: then nothing can be said of it."""
    rough: bool = False
    """Shorter steps tell another story than the steps, however short these are: then nothing can be said."""
    hessian_jump: float = 0.0
    """By how much the Hessian at x may be another on one side than on both together; 0 if f is smooth."""
    reason: str = ""
    """Why nothing can be said, where there is another reason."""
    odd: OddParts | None = None
    """The odd parts of f on shorter steps, which the gradient is held against."""


@dataclass(frozen=True)
class LocalModel:
    """f around x, measured: its value, noise, steps, gradient, diagonal, and whether they hold on shorter steps."""

    stencil: CoordinateStencil
    noise: Noise
    rule: GradientRule
    gradient: Estimate[Vector]
    """The gradient, and a bound on the norm of its error."""
    report: ConsistencyReport = ConsistencyReport()
    began: Books = field(default_factory=Books)
    """The oracle's books when the measurement began."""

    # What is measured

    @property
    def f(self) -> Oracle:
        """The oracle."""
        return self.stencil.f

    @property
    def x(self) -> Array:
        """The point."""
        return self.stencil.x

    @property
    def unit(self) -> Vector:
        """The scale of the variables."""
        return self.stencil.unit

    @property
    def d(self) -> int:
        """The dimension."""
        return self.stencil.d

    @property
    def f0(self) -> float:
        """f(x)."""
        return self.stencil.f0

    @property
    def steps(self) -> Vector:
        """The difference steps of the coordinates."""
        return self.stencil.steps

    @property
    def curvtol(self) -> float:
        """The curvature tolerance that the steps are for."""
        return self.rule.curvtol

    @property
    def gradient_norm(self) -> Interval:
        """An interval that holds the norm of the gradient."""
        size, error = norm2(self.gradient.value), self.gradient.error
        return Interval(max(0.0, size - error), size + error)

    @cached_property
    def diagonal(self) -> Estimate[Vector]:
        """The diagonal of the Hessian, and a bound on the error of each entry."""
        return estimates.diagonal(self.stencil, self.noise)

    @cached_property
    def third_derivative(self) -> float:
        """The largest third derivative along a coordinate."""
        return estimates.third_derivative(self.stencil)

    def asked(self, tolerances: Tolerances) -> LocalModel:
        """The same, judged by these tolerances."""
        if (self.rule.gtol, self.rule.curvtol) == (tolerances.gtol, tolerances.curvtol):
            return self
        return replace(self, rule=replace(self.rule, gtol=tolerances.gtol, curvtol=tolerances.curvtol))

    # What can be asked further

    def sharpened(self, most: float = math.inf) -> LocalModel:
        """The same with the gradient on steps that balance noise and truncation, whatever the tolerance, as far as so
        many queries allow.

        Queries: those of `estimates.gradient`
        """
        rule, each = replace(self.rule, gtol=norm2(self.gradient.value)), len(self.stencil.usual) * self.d
        times = int(min(most / each - 1, GRADIENT.refinements))  # the last may be contradicted
        if times < 1:
            return self
        g = estimates.gradient(self.stencil, self.noise, rule, self.report.odd, times)
        return replace(self, rule=rule, gradient=g)

    def curvature_along(self, v: Vector, threshold: float = -math.inf) -> CurvatureAlong:
        """The curvature along the unit vector v, and whether it is at most `threshold`.

        Queries: 4, and 2 more for each time the step is cut
        """
        return estimates.curvature_along(self.stencil, self.noise, self.curvtol, v, threshold)

    def least_curvature_along(self, v: Vector) -> float:
        """A lower bound on the curvature along the unit vector v, as far as a much shorter step shows one.

        Queries: 2
        """
        return consistency.least_curvature_along(self.stencil, self.noise, self.curvtol, v)

    def third_derivative_along(self, v: Vector) -> float:
        """The size of the third derivative along the unit vector v.

        Queries: 4
        """
        return estimates.third_derivative_along(self.stencil, v)

    def check_along(self, vectors: Vector, factor: float = 1.0, order: int = 2) -> AlongCheck:
        """Whether f is the same function on much shorter steps along these columns.

        Queries: 8*m for m columns
        """
        return consistency.check_along(self.stencil, self.noise, self.curvtol, vectors, factor, order)

    def dense_hessian(self, order: int = 2, factor: float = 1.0) -> DenseHessian:
        """All second differences.

        Queries: those of `estimates.dense_hessian`
        """
        return estimates.dense_hessian(self.stencil, self.noise, order, factor)

    def values(self, displacements: Vector, purpose: str) -> Vector:
        """f at x plus each of these displacements, the rows of a matrix.

        Queries: 1 for each of them
        """
        return self.stencil.values(displacements, purpose)

    def along(self, v: Vector, lengths: Sequence[float] | Vector, purpose: str) -> Vector:
        """f(x + t v) for each of these lengths t.

        Queries: 1 for each of them
        """
        return self.stencil.along(v, lengths, purpose)


def measure(
    f: Oracle,
    x: Array,
    *,
    curvtol: float,
    gtol: float = math.inf,
    rho: float | None = None,
    noise: Noise | float | str | None = None,
    x_scale: Any = None,
    resolution: float = 0.0,
    allowance: Allowance | None = None,
    rng: np.random.Generator,
) -> LocalModel:
    """Look around x: its value, the noise there (unless given), three or four rows, and whether those are short.

    With noise=None rounding is assumed, and checked: a difference table that shows more, unless that fades on a
    much closer one, or values that are all multiples of a larger unit, are believed. Steps on which nothing
    changes at all are lengthened; steps longer than the structure of f are cut, as far as that is allowed. None is
    shorter than the `resolution`.

    Queries: 3*d + 34, or 4*d + 25 if the noise is given; 3 more each time a coordinate is cut (4 with noise), 9 or
    18 for closer tables, 4 for every 8 coordinates if their curvatures differ, the rows again if all steps change
    """
    check_noise(noise)
    unit, began, look = as_scale(x_scale, x), Books.of(f), f.tagged("check")
    f0 = look.value(x)
    evidence = NoiseEvidence.gather(look, x, unit, f0, rng, noise=noise, resolution=resolution)
    start = CoordinateStencil(f, x, unit, f0, np.ones(x.shape[0]), resolution=resolution)
    adapted = _fit_to_noise(start, evidence, given(noise), curvtol, rng, trust_table=noise == "auto")
    stencil, jump = _fit_to_scale(adapted.stencil, adapted.noise, curvtol)
    rule = GradientRule(curvtol, gtol, rho)
    found = _fit_to_shorter(stencil, adapted.noise, rule, rng, allowance or Allowance.of(f, math.inf))
    if found.report.rough and adapted.lost is not None:  # the steps were cut to nothing
        raise adapted.lost
    report = replace(
        found.report, constant=adapted.constant, hessian_jump=max(jump, found.report.hessian_jump)
    )
    return replace(found, report=report, began=began)


@dataclass(frozen=True)
class _Adapted:
    """A stencil whose steps fit the noise, the noise, whether f is constant over it, and the last point where f was not
    finite."""

    stencil: CoordinateStencil
    noise: Noise
    constant: bool = False
    lost: NonFiniteValue | None = None


def _fit_to_noise(
    start: CoordinateStencil,
    evidence: NoiseEvidence,
    known: Noise | None,
    curvtol: float,
    rng: np.random.Generator,
    *,
    trust_table: bool,
) -> _Adapted:
    """Steps that fit the noise, and a noise that fits the values seen on them.

    Where nothing at all changes over the steps they are lengthened; where f is not finite over them they are cut.
    """
    x, unit, d, precision = start.x, start.unit, start.d, start.f.precision
    noise = evidence.noise(x, unit, precision, known=known, trust_table=trust_table)
    stretch, together, lost = np.ones(d), np.zeros(0), None
    least = start.resolution
    most = np.maximum(steps_.power_of_two(steps_.longest(x, unit)), least)
    for attempt in range(STEPS.attempts):
        last = attempt == STEPS.attempts - 1
        fitting = steps_.curvature_steps(x, unit, noise.level, curvtol) / unit
        symmetric = steps_.against_noise(noise.level, curvtol) > epsilon(x) ** 0.25
        far = 2.0 if symmetric else 2.0 + int(rng.integers(STEPS.furthest + 1)) / 1024
        fresh: Any = {"_rows": {}, "_pairs": {}, "_finer": {}}
        steps = np.minimum(np.maximum(stretch * fitting, least), most)
        stencil = replace(start, steps=steps, far=far, symmetric=symmetric, **fresh)
        try:
            stencil = stencil.complete()
        except NonFiniteValue as error:
            lost = error
            if last:
                raise
            stretch /= STEPS.lost
            continue
        wild = _wild(stencil)
        if np.any(wild) and not last:
            stretch[wild] /= STEPS.lost
            continue
        constant = not np.any(stencil.known != start.f0)
        if constant:
            constant, together = consistency.locally_constant(stencil, rng)
        if constant and lost is not None:  # the steps were cut to nothing
            raise lost
        if constant and np.any(stencil.steps < most):
            stretch *= STEPS.cut**2
            continue
        before, seen = noise, np.concatenate([together, stencil.known])
        noise = evidence.noise(
            x, unit, stencil.f.precision, known=known or (before if before.unit else None), rows=seen,
            longest=float(np.max(stencil.steps)), trust_table=trust_table,
        )
        if noise.level <= 16 * before.level:
            break
        stretch = np.minimum(stretch, 1.0)
    return _Adapted(stencil, noise, constant, lost)


def _wild(stencil: CoordinateStencil) -> Any:
    """The coordinates over whose steps f changes out of all proportion, and whose steps can still be cut."""
    change = np.max(np.abs(stencil.known - stencil.f0).reshape(-1, stencil.d), axis=0)
    room = stencil.steps / STEPS.lost >= stencil.shortest
    return (change > STEPS.wild * (1 + abs(stencil.f0))) & room


def _fit_to_scale(stencil: CoordinateStencil, noise: Noise, curvtol: float) -> tuple[CoordinateStencil, float]:
    """Cut the step of every coordinate whose second differences disagree at two steps; and a jump of the Hessian at x.

    A coordinate on a shorter scale than its step shows truncation; cutting by 4 divides it by 16 and multiplies the
    noise by 16, which is done only while noise stays small beside what is measured. Where they disagree as much however
    short the step is, the curvature jumps at x.

    Queries: 3 for each coordinate and cut (4 if far rows are taken on both sides)
    """
    before = np.full(stencil.d, np.inf)
    for _ in range(STEPS.cuts):
        size, clear, change = _disagreement(stencil, noise, curvtol)
        room = (64 * noise.level <= STEPS.noise_room * size) & (stencil.steps / STEPS.cut >= stencil.resolution)
        which = np.flatnonzero(clear & room)
        if len(which) == 0:
            break
        before[which] = (change / size)[which]
        stencil = stencil.with_cut_steps(which, STEPS.cut).complete()
    size, clear, _ = _disagreement(stencil, noise, curvtol)
    return stencil, consistency.diagonal_jump(stencil, clear, before * size)


def _disagreement(stencil: CoordinateStencil, noise: Noise, curvtol: float) -> tuple[Vector, Any, Vector]:
    """The size of second differences, whether they change clearly at another step, and by how much."""
    size = np.abs(stencil.second_differences()) + curvtol * stencil.steps**2
    change = stencil.second_changes
    return size, change > CONSISTENCY.share * size + 8 * noise.level, change


def _fit_to_shorter(
    stencil: CoordinateStencil, noise: Noise, rule: GradientRule, rng: np.random.Generator, allowance: Allowance
) -> LocalModel:
    """Cut all steps as long as much shorter ones tell another story; what is then seen."""
    reason = ""
    for cut in range(CONSISTENCY.cuts + 1):
        g = estimates.gradient(stencil, noise, rule)
        curvatures = estimates.diagonal(stencil, noise).value
        check = consistency.check_scales(stencil, noise, rule.curvtol, g, curvatures, rng, cut=cut > 0)
        too_short = float(np.min(stencil.steps)) / STEPS.cut < stencil.resolution
        if check.consistent or too_short or cut == CONSISTENCY.cuts:
            break
        if not allowance.allows(2 * len(stencil.usual) * stencil.d + consistency.price(stencil.d)):
            reason = TOO_DEAR
            break
        stencil = stencil.on_steps(stencil.steps / STEPS.cut).complete()
    if check.odd is not None:
        g = estimates.gradient(stencil, noise, rule, check.odd)
    report = ConsistencyReport(False, not check.consistent, check.hessian_jump, reason, check.odd)
    return LocalModel(stencil, noise, rule, g, report)
