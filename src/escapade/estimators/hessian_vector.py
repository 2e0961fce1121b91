"""Hessian-vector products from function values.

The paper's product differences two coordinate gradients, 4d queries. The mixed difference

    (f(x + hq + mu e_i) - f(x + hq) - f(x + mu e_i) + f(x)) / (h mu)

needs d + 1 new ones, because the row f(x + mu e_i) serves every product; averaged with its mirror image at (-h, -mu)
all odd terms of the error cancel (2d + 2 queries), and extrapolated from two steps so does h^2 (4d + 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from .._array import Array, epsilon, like, norm, norm2, to_numpy
from ..oracle import Oracle, axes
from .neighbourhood import Neighbourhood, Vector
from .steps import LONGEST, TRUNCATION_SAFETY

Order = Literal[1, 2, 4]

KIND: dict[int, str] = {1: "one-sided", 2: "symmetric", 4: "extrapolated"}
"""What differences of an order are called."""

GLANCES, FEW = 8, 4
"""Random directions along which the error of a product is seen, and those that tell whether f hides another."""

CLOSEST, CLOSER = 1 / 256, 1 / 8
"""Where errors are seen again, beside the steps of products, at least and at most."""

HIDDEN = 0.25
"""The part of the curvature tolerance that such an error may be."""

NOISE_FACTOR: dict[int, float] = {1: math.sqrt(2), 2: 1.12, 4: 1.55}
"""Root-mean-square of the independent errors of a product, in units of noise / (h mu); the errors that all its
coordinates share, those of f(x) and f(x ± hq), are as large again."""


def hessian_vector(f: Oracle, x: Array, v: Array, mu: float) -> Array:
    """The paper's product: sum_i (f(x+v+mu e_i) - f(x+v-mu e_i) + f(x-mu e_i) - f(x+mu e_i)) / (2 mu) e_i.

    Section 2.2, Zhang, Xiong & Gu (2022). Error at most rho (|v|^2 / 2 + sqrt(d) mu^2 / 3) (Lemma 1); none on
    quadratics.

    Queries: 4*d
    """
    a, b, c, e = product_values(f, x, v, mu)
    return like((a - b + c - e) / (2 * mu), x)


def product_values(f: Oracle, x: Array, v: Array, mu: float) -> Vector:
    """The values that the paper's product is made of, as four rows: at x + v + mu e_i, x + v - mu e_i, x - mu e_i and
    x + mu e_i.

    Queries: 4*d
    """
    h = like(np.full(x.shape[0], mu), x)
    values: Vector = f(axes(x + v, h) + axes(x + v, -h) + axes(x, -h) + axes(x, h)).reshape(4, -1)
    return values


@dataclass
class Products:
    """q -> P (H - shift) P q around a point, by mixed differences, with a bound on what noise does to it.

    `metric` is the diagonal of P (ones: the user's variables). `factor` multiplies the difference steps.
    """

    here: Neighbourhood
    metric: Vector
    order: Order = 2
    factor: float = 1.0
    shift: float = 0.0
    third: float = 0.0
    """The largest third derivative seen: |T[q, q]| over the unit vectors q multiplied with, from the odd parts."""
    shortest: float = 1.0
    """The shortest step along a vector so far, beside the usual one."""
    lowest: float = math.inf
    """The smallest eigenvalue cannot be larger: the least curvature that was seen along a vector, and its error."""
    bent: float = 0.0
    """The largest odd part of a symmetric product: how wrong one side of it was."""

    def reach(self, factor: float, v: Vector | None = None) -> float:
        """How far mixed differences step: usually, and along v, where no coordinate goes far beyond its own step."""
        step = self._typical if v is None else 1 / norm2(v / self.here.steps)
        return factor * step * min(math.sqrt(self.here.d), 8.0)

    def direction(self, q: Vector) -> Vector:
        """P q: the direction in y that q (or each column of it) stands for."""
        return (self.metric * q.T).T

    @cached_property
    def _typical(self) -> float:
        return float(np.median(self.here.steps / self.metric))

    def __call__(self, q: Vector) -> Vector:
        """The product with a unit vector q.

        Queries: d + 1, 2*d + 2 or 4*d + 4 for order 1, 2 or 4
        """
        if self.order == 1:
            return self.one_sided(q)
        return self.even(q, self.factor)[0]

    def one_sided(self, q: Vector) -> Vector:
        """The same, on one side only.

        Queries: d + 1
        """
        return self._finish(self._mixed(q, self.factor)[0], q)

    @property
    def caution(self) -> float:
        """What the error of a product is multiplied by once it is measured."""
        return TRUNCATION_SAFETY

    def even(self, q: Vector, factor: float) -> tuple[Vector, Vector]:
        """The product to second order, or fourth, and the odd part of its forward form (the third derivatives).

        Queries: 2*d + 2 or 4*d + 4 for order 1 and 2, or 4
        """
        plus, minus, *far = self._mixed(q, factor, -factor, *((2 * factor, -2 * factor) if self.order == 4 else ()))
        product, odd = (plus + minus) / 2, (plus - minus) / 2
        self.saw(odd, q, factor)
        if far:
            product = (4 * product - (far[0] + far[1]) / 2) / 3
        product, odd = self._finish(product, q), self._finish(odd, None)
        if factor == self.factor:
            self.bent = max(self.bent, norm2(odd))
        return product, odd

    def steady(self, vectors: Vector) -> bool:
        """Whether f is one function, on shorter steps too, along these columns; the third derivatives and the lowest
        curvature seen are kept.

        Queries: 8*m for m columns
        """
        seen = [self.here.steady(v, self.factor, self.order) for v in vectors.T]
        self.third = max(self.third, *(third for _, third, _ in seen))
        self.lowest = min(self.lowest, *(upper for _, _, upper in seen))
        return all(same for same, _, _ in seen)

    def saw(self, odd: Vector, q: Vector, factor: float) -> None:
        """Keep the third derivative that the odd part of a product shows."""
        self.third = max(self.third, 2 * norm2(odd) / self.reach(factor, self.metric * q))

    def _mixed(self, q: Vector, *factors: float) -> list[Vector]:
        """One-sided products with q, each on steps times a factor of either sign, in one round."""
        here, v = self.here, self.metric * q
        here.take_rows(*factors)
        reach = self.reach(1.0, v)
        self.shortest = min(self.shortest, reach / self.reach(1.0))
        mu, ends = like(here.steps * here.unit, here.x), [here.moved(v, k * reach) for k in factors]
        parts = [axes(z, k * mu, centre=True) for z, k in zip(ends, factors, strict=True)]
        values = here.f.tagged("curvature")(sum(parts[1:], start=parts[0])).reshape(len(factors), -1)
        return [
            (row[:-1] - row[-1] - here.row(k) + here.f0) / (k * k * reach * here.steps)
            for row, k in zip(values, factors, strict=True)
        ]

    def _finish(self, product: Vector, q: Vector | None) -> Vector:
        product = self.metric * product
        return product if q is None else product - self.shift * self.metric**2 * q

    def noise(self) -> float:
        """A bound on the norm of what noise adds to a product with a unit vector, the shortest of them so far."""
        here, h = self.here, self.shortest * self.reach(self.factor)
        shared = 1.0 if here.noise.source == "rounding" else 0.5
        values = NOISE_FACTOR[self.order] * here.noise.norm(here.d, shared) * self._spread / self.factor
        return (values + self._rounding_of_x) / h

    @cached_property
    def _spread(self) -> float:
        return norm2(self.metric / self.here.steps) / math.sqrt(self.here.d)

    @cached_property
    def _rounding_of_x(self) -> float:
        """x + hq is rounded: a relative error of the displacement, times a curvature of the size seen."""
        here = self.here
        top = float(np.max(np.abs(here.diagonal()[0]) * self.metric**2))
        return top * epsilon(here.x) * norm(here.x / like(here.unit, here.x))

    def truncation(self, q: Vector, product: Vector, room: float = 0.0) -> float:
        """How far the product with q is from a symmetric one at far steps, at least twice as long, times a safety
        factor: as far as values can tell, a bound on its truncation error. (`room`, what it may be, is for others.)

        Queries: 2*d + 2 or 4*d + 4, and d for each row not yet known
        """
        far = self.even(q, self.here.far * self.factor)[0]
        return TRUNCATION_SAFETY * norm2(far - product)

    def missed(self, q: Vector, product: Vector, ways: Vector, along: float, across: float) -> Vector:
        """The error of the product with q along each of these vectors, the rows of a matrix, by differences of four
        values at steps times these factors, which no odd derivative enters; extrapolated if the product is.

        Queries: 4*m for m of them, 8*m if the order is 4
        """
        here, v, turned = self.here, self.direction(q), self.direction(ways.T).T
        t = along * self.reach(self.factor, v)
        u = across * np.array([Products.reach(self, self.factor, way) for way in turned])
        a, b = t * np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0])
        corners = (np.outer(a, v) + b[:, None] * (u[:, None] * turned)[:, None, :]).reshape(-1, here.d)
        if self.order == 4:
            corners = np.concatenate([corners, 2 * corners])
        values = here.f.tagged("curvature")(here.around(corners)).reshape(-1, len(ways), 4)
        mixed = values @ np.array([1.0, -1.0, -1.0, 1.0]) / (4 * t * u)
        seen = mixed[0] if self.order < 4 else (4 * mixed[0] - mixed[1] / 4) / 3
        error: Vector = ways @ product - (seen - self.shift * (turned @ v))
        return error

    def closer(self, q: Vector, room: float, rng: np.random.Generator) -> tuple[float, float]:
        """A random part of the steps of the product with q, and of those across it, as small as leaves noise well below
        this; both are as long."""
        along, across = self.reach(self.factor, self.direction(q)), Products.reach(self, self.factor, self.direction(q))
        steps = along * Products.reach(self, self.factor) / math.sqrt(self.here.d)
        least, even = math.sqrt(self.here.noise.norm(1) / steps / room), math.sqrt(along / across)
        margin = 1.0 if self.here.noise.source == "rounding" else 3.0  # a bound, or a standard deviation
        part = max(min(rng.uniform(1, 1.5) * max(margin * least, CLOSEST), CLOSER), least)
        return part / even, part * even

    def hides(
        self, q: Vector, product: Vector, delta: float, rng: np.random.Generator, known: float = 0.0
    ) -> bool:
        """Whether the product with q is wrong by more than a part of delta, and than is known, on much shorter steps of
        a random length, as far as a few random directions tell: f is another function within the steps.

        Queries: 16, or 8 if d < 32, twice that if the order is 4; 0 if noise leaves no room
        """
        closer = self.closer(q, delta / 16, rng)
        if closer[1] >= 0.5:
            return False
        ways = rng.standard_normal((FEW if self.here.d >= 4 * GLANCES else FEW // 2, len(q)))
        missed = norm2(self.missed(q, product, ways, *closer)) / math.sqrt(len(ways))
        return not missed <= max(HIDDEN * delta, known)

    def after(self, obstacle: str) -> Products:
        """Products that may pass where these failed: longer steps against noise, extrapolation and then shorter
        steps against truncation."""
        if obstacle == "noise":
            return replace(self, order=4, factor=4 * self.factor)
        if self.order == 4:
            return replace(self, factor=self.factor / 4)
        return replace(self, order=2 if self.order == 1 else 4)

    @property
    def too_long(self) -> bool:
        """Whether the steps are longer than any that could still be called a difference."""
        return self.factor > 1 and self.factor * float(np.max(self.here.steps)) > LONGEST


def mixed_product(here: Neighbourhood, q: Array, order: Order = 2) -> Array:
    """H q for a unit vector q, from the shared rows of a neighbourhood.

    Queries: d + 1, 2*d + 2 or 4*d + 4 for order 1, 2 or 4
    """
    products = Products(here, np.ones(here.d), order)
    return like(products(to_numpy(q).astype(np.float64)), here.x)
