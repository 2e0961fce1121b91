"""f around a point, measured by the user's own gradients: their noise, the steps of their differences, and whether
values tell the same.

A product is a symmetric difference of two gradients. Its error is known where it matters, as that of products of values
is: by comparing it with others on longer steps and on much shorter ones.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import budget
from .._array import Array, Vector, epsilon, norm2, to_numpy
from ..errors import NonFiniteValue
from ..interval import Estimate
from ..oracle import Oracle
from ..oracle.missing import SHORTER
from ..tolerances import Tolerances, as_scale
from . import steps as steps_
from .against_values import Missed, decided, missed_slope
from .estimates import GradientRule
from .measure import Books, ConsistencyReport, LocalModel
from .noise import Noise, NoiseEvidence, check_noise, given, spacing
from .preconditioner import IDENTITY, Preconditioner
from .products import Product
from .settings import CONSISTENCY, NOISE, SLOPES, STEPS
from .stencil import CoordinateStencil


@dataclass(frozen=True)
class Slopes:
    """The user's gradients around x, in y = x / unit, and their noise."""

    stencil: CoordinateStencil
    g: Vector
    """The gradient at x."""
    level: float = 0.0
    """The standard deviation of the error of an entry of a gradient."""

    def at(self, displacements: Vector) -> Vector:
        """The gradients at x plus each of these displacements, as rows.

        Queries: none; a gradient for each
        """
        return self.stencil.f.gradients(self.stencil.around(displacements)) * self.stencil.unit

    def product(self, v: Vector, t: float) -> Product:
        """H v for a unit vector v, from gradients at x ± t v, or nearer where one is missing.

        Queries: none; two gradients, and two more each time that one is missing
        """
        for part in (1.0, *SHORTER):
            try:
                up, down = self.at(np.outer([part * t, -part * t], v))
                break
            except NonFiniteValue as error:
                lost = error
        else:
            raise lost
        t *= part
        image = (up - down) / (2 * t)
        third = norm2(up + down - 2 * self.g) / t**2
        return Product(image, v, image, third=third, shortness=part)

    def noise(self, t: float) -> float:
        """A bound on the norm of what noise makes of a product of this step."""
        return self.norm / (math.sqrt(2) * t)

    def jump(self, near: Product, far: Product, t: float) -> float:
        """By how much H v may be another on one side of x than on both together, from odd parts at t and a longer step:
        they are proportional to the step where f is smooth, and do not fall with it where the Hessian jumps at x."""
        s, r = t * near.shortness, SLOPES.far * t * far.shortness
        odd = near.third * s
        slope = (far.third * r - odd) / (r - s)
        return max(odd - slope * s - 8 * self.norm / s, 0.0) / 2

    def estimate(self, missed: Missed, gtol: float) -> Estimate[Vector]:
        """The gradient with the error that values leave it, where that decides whether its norm is at most gtol; else
        with no more than what they contradict, and its noise."""
        error = max(missed.shown, self.norm)
        return Estimate(self.g, error if decided(norm2(self.g), error, gtol) else self.norm + missed.excess)

    @property
    def norm(self) -> float:
        """A bound on the norm of the error of a gradient."""
        return self.level * (math.sqrt(self.stencil.d) + NOISE.deviations)


@dataclass(frozen=True)
class GradientModel(LocalModel):
    """f around x, measured by gradients: the rows of its stencil are not asked for."""

    _: KW_ONLY
    slopes: Slopes
    step: float
    """How far products step along a unit vector."""
    seen: tuple[Product, ...]
    """The products behind that step."""
    missed: Missed
    """What values say of the error of the gradient."""

    @property
    def shown(self) -> bool:
        """Whether values show the gradient as well as its error says."""
        return float(self.gradient.error) >= self.missed.shown

    def asked(self, tolerances: Tolerances) -> LocalModel:
        """The same, judged by these tolerances: they say how much of the gradient values must show."""
        model = super().asked(tolerances)
        return replace(model, gradient=self.slopes.estimate(self.missed, tolerances.gtol))

    @cached_property
    def diagonal(self) -> Estimate[Vector]:
        """The diagonal of the Hessian, as far as products with random sign vectors show it."""
        own = np.mean([self.d * one.vector * one.hessian_image for one in self.seen], axis=0)
        off = np.mean([norm2(one.hessian_image) for one in self.seen])
        return Estimate(own, np.full(self.d, off))

    @cached_property
    def third_derivative(self) -> float:
        """The largest third derivative that was seen."""
        return max((one.third for one in self.seen), default=0.0)

    def third_derivative_along(self, v: Vector) -> float:
        """The size of the third derivative along the unit vector v.

        Queries: none; two gradients
        """
        return self.slopes.product(v, SLOPES.far * self.step).third

    def sharpened(self, most: float = math.inf) -> LocalModel:
        """The same with the gradient as exact as its own noise, and what values contradict, leave it."""
        return replace(self, gradient=Estimate(self.slopes.g, self.slopes.norm + self.missed.excess))

    def gradient_at(self, displacement: Vector) -> Vector:
        """The gradient somewhere else.

        Queries: none; one gradient
        """
        return np.asarray(self.slopes.at(displacement[None, :])[0])


@dataclass(frozen=True)
class GradientProducts:
    """q -> P'(H - shift)P q around a point, by symmetric differences of gradients or the user's own products."""

    local: GradientModel
    P: Preconditioner = IDENTITY
    shift: float = 0.0
    own: bool = False
    """Whether the user gave products."""

    def __call__(self, q: Vector) -> Product:
        """The product with a unit vector q.

        Queries: none; two gradients, or one product of the user's own
        """
        if not self.own:
            return self.on(q, 1.0)
        v, length = self.direction(q)
        unit = self.local.unit
        image = unit * self.local.f.product(self.local.x, unit * v)
        return self._finished(Product(image, v, image), length)

    def on(self, q: Vector, factor: float) -> Product:
        """The same by gradients on steps of another length.

        Queries: none; two gradients
        """
        v, length = self.direction(q)
        return self._finished(self._slopes.product(v, factor * self.local.step), length)

    def noise(self, shortness: float = 1.0) -> float:
        """A bound on the norm of what noise adds to a product with a unit vector whose step was so short."""
        slopes, size = self._slopes, self.P.norm**2
        if self.own:
            eps = max(epsilon(self.local.x), self.local.f.gradient_precision)
            return 4 * eps * size * max((norm2(one.hessian_image) for one in self.local.seen), default=0.0)
        return slopes.noise(shortness * self.local.step) * size

    def jump(self, v: Vector) -> float:
        """A jump of the Hessian at x along the unit vector v: see `Slopes.jump`.

        Queries: none; four gradients
        """
        slopes, t = self._slopes, self.local.step
        return slopes.jump(slopes.product(v, t), slopes.product(v, SLOPES.far * t), t)

    def error(self, q: Vector, image: Vector, delta: float) -> tuple[float, bool]:
        """A bound on the error of the product with q, beside noise, from longer steps and much shorter ones; and
        whether the shorter ones tell of another function.

        Queries: none; four gradients
        """
        part = self._short(delta)
        far, short = self.on(q, SLOPES.far), self.on(q, part)
        off, closer = norm2(far.image - image), norm2(short.image - image)
        noise = self.P.norm**2 * self._slopes.noise(part * self.local.step * short.shortness)
        error = STEPS.truncation_safety * max(off, closer - noise)
        return error, closer > noise + max(CONSISTENCY.subscale * delta, STEPS.truncation_safety * off)

    def _short(self, delta: float) -> float:
        """The part of the usual step that is as short as noise lets delta show, and x resolves; an eighth at most."""
        local, noise = self.local, self.P.norm**2 * self._slopes.norm
        reach = float(np.linalg.norm(to_numpy(local.x) / local.unit))
        least = max(SLOPES.visible * noise / delta, CONSISTENCY.rounding_room * epsilon(local.x) * reach)
        return min(SLOPES.short, least / local.step)

    def direction(self, q: Vector) -> tuple[Vector, float]:
        """The unit vector along P q, and the length of P q."""
        v = self.P @ q
        length = norm2(v)
        return v / length, length

    def directions(self, vectors: Vector) -> Vector:
        """P applied to each column."""
        return np.asarray(self.P @ vectors)

    @property
    def _slopes(self) -> Slopes:
        return self.local.slopes

    def _finished(self, product: Product, length: float) -> Product:
        image = self.P.T @ (length * (product.hessian_image - self.shift * product.vector))
        return replace(product, image=np.asarray(image))


def measure_by_gradients(
    f: Oracle,
    x: Array,
    *,
    curvtol: float,
    gtol: float = math.inf,
    noise: Noise | float | str | None = None,
    x_scale: Any = None,
    failure: float,
    rng: np.random.Generator,
) -> GradientModel:
    """Look around x by gradients: their noise, a step for their products, and what values say of them at x, with a
    share of the probability `failure` of a false certificate.

    Queries: 18, or 9 if the noise of values is given; 9 or 18 more for closer tables where it is not that of rounding,
    14 more where values contradict the gradient; and 10 to 27 gradients
    """
    check_noise(noise)
    unit, began, look = as_scale(x_scale, x), Books.of(f), f.tagged("check")
    f0 = look.value(x)
    evidence = NoiseEvidence.gather(look, x, unit, f0, rng, noise=noise, thrifty=True)
    error = evidence.noise(x, unit, f.precision, known=given(noise), trust_table=noise == "auto")
    steps = steps_.curvature_steps(x, unit, error.level, curvtol) / unit
    stencil = CoordinateStencil(f, x, unit, f0, steps)
    first = Slopes(stencil, f.gradient(x) * unit)
    slopes, typical = _with_noise(first, rng)
    sign = np.where(rng.random(stencil.d) < 0.5, -1.0, 1.0) / math.sqrt(stencil.d)
    step, seen, jump = _fitting_step(slopes, sign, typical + curvtol)
    missed = _missed(slopes, seen[-1].third, error, gtol, budget.of_check(failure), rng)
    constant = not np.any(slopes.g) and not any(np.any(one.hessian_image) for one in seen)
    jump *= math.sqrt(stencil.d)  # a random vector shows so much of the norm of a jump
    report = ConsistencyReport(constant=constant, hessian_jump=jump)
    gradient, rule = slopes.estimate(missed, gtol), GradientRule(curvtol, gtol)
    around = {"slopes": slopes, "step": step, "seen": tuple(seen), "missed": missed}
    return GradientModel(stencil, error, rule, gradient, report, began, **around)  # type: ignore[arg-type]


def _missed(
    slopes: Slopes, third: float, noise: Noise, gtol: float, failure: float, rng: np.random.Generator
) -> Missed:
    """What values say of the error of the gradient, along a few random directions; along more where they contradict
    it, and leave open whether its norm is at most gtol.

    Queries: 8, or 28 where they do
    """
    known: Any = {"own": slopes.level, "third": third, "noise": noise, "rng": rng}
    missed, size = Missed(), norm2(slopes.g)
    for count in SLOPES.directions:
        share = failure / len(SLOPES.directions)
        missed = missed_slope(slopes.stencil, slopes.g, count=count, failure=share, **known)
        if missed.excess == 0.0 or decided(size, slopes.estimate(missed, gtol).error, gtol):
            break
    return missed


def _with_noise(slopes: Slopes, rng: np.random.Generator) -> tuple[Slopes, float]:
    """The noise of gradients, from a table along a random line; and how large the Hessian is along it.

    What fades on a table that is much closer is structure of the gradient, and no noise: steps must not step over it.

    Queries: none; 5 gradients, up to 13 for few variables, and as many again where they show more than rounding, or
    where one is missing
    """
    stencil, d = slopes.stencil, slopes.stencil.d
    ray = rng.standard_normal(d)
    ray /= np.linalg.norm(ray)
    rows, t = _table(slopes, ray, 1.0)
    eps = max(epsilon(stencil.x), stencil.f.gradient_precision)
    floor, shown = eps * float(np.max(np.abs(rows))), _scatter(rows)
    if shown > NOISE.significant * floor:
        close, _ = _table(slopes, ray, NOISE.close[0])
        fades = NOISE.agree * _scatter(close) < shown and len(np.unique(close, axis=0)) > NOISE.alike
        shown = _scatter(close) if fades else shown
    level = max(NOISE.safety * shown, floor, np.finfo(np.float64).tiny)
    return replace(slopes, level=level), norm2(rows[1] - rows[0]) / t


def _table(slopes: Slopes, ray: Vector, part: float) -> tuple[Vector, float]:
    """Equally spaced gradients along a line, the one at x first, and their distance."""
    d, x = slopes.stencil.d, slopes.stencil.x
    m = SLOPES.points if d >= SLOPES.entries else SLOPES.points + math.ceil(SLOPES.entries / d)
    for length in (1.0, *SHORTER):
        t = length * part * spacing(x)
        try:
            return np.concatenate([slopes.g[None, :], slopes.at(np.outer(t * np.arange(1, m + 1), ray))]), t
        except NonFiniteValue as error:
            lost = error
    raise lost


def _scatter(rows: Vector) -> float:
    """The standard deviation of an entry, by differences of fourth and fifth order, where smooth parts are gone."""
    return max(math.sqrt(float(np.mean(np.diff(rows, k, axis=0) ** 2)) / math.comb(2 * k, k)) for k in (4, 5))


def _fitting_step(slopes: Slopes, sign: Vector, size: float) -> tuple[float, list[Product], float]:
    """The step on which truncation and noise of products are alike, as far as one along a random sign vector shows;
    that product; and the jump of the Hessian at x that it shows.

    Queries: none; 4 gradients, 8 where the first step does not fit
    """
    x, far = slopes.stencil.x, SLOPES.far
    least = STEPS.resolved * epsilon(x) * max(float(np.linalg.norm(to_numpy(x) / slopes.stencil.unit)), 1e-300)
    h = float(np.clip((slopes.norm / size) ** (1 / 3), least, STEPS.longest / far))
    seen, jump = list[Product](), 0.0
    for _ in range(SLOPES.fits):
        near, other = slopes.product(sign, h), slopes.product(sign, far * h)
        seen, jump = [near], slopes.jump(near, other, h)
        truncation = norm2(other.image - near.image) / (far**2 - 1)
        factor = (slopes.noise(h) / (truncation + 1e-300)) ** (1 / 3)
        if 1 / SLOPES.fitting < factor < SLOPES.fitting:
            break
        h = float(np.clip(h * np.clip(factor, 1 / STEPS.lost, STEPS.lost), least, STEPS.longest / far))
    return h, seen, jump


def hutchinson(
    f: Oracle, x: Array, own: Vector, step: float, many: int, rng: np.random.Generator
) -> Vector:
    """The diagonal of the Hessian of f(own y), as products with random sign vectors show it, from one-sided differences
    of gradients on a step of this length.

    Queries: none; one gradient for each, and one at x
    """
    unit = CoordinateStencil(f, x, own, 0.0, np.ones(len(own)))
    slopes = Slopes(unit, f.gradient(x) * own)
    signs = np.where(rng.random((many, len(own))) < 0.5, -1.0, 1.0)
    t = step / math.sqrt(len(own))
    images = (slopes.at(t * signs) - slopes.g) / t
    return np.asarray(np.mean(signs * images, axis=0))
