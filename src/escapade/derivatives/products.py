"""Hessian-vector products by differences.

The paper's product differences two coordinate gradients, 4d queries. The mixed difference

    (f(x + hv + mu e_i) - f(x + hv) - f(x + mu e_i) + f(x)) / (h mu)

needs d + 1 new ones, because the row f(x + mu e_i) serves every product; averaged with its mirror image at (-h, -mu)
all odd terms of the error cancel (2d + 2 queries), and extrapolated from two steps so does h^2 (4d + 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Vector, epsilon, like, norm, norm2, to_numpy
from ..errors import MissingValue
from ..oracle import Stencil, axes, or_nan, retaken
from ..oracle.missing import SHORTER
from ..oracle.values import show
from .measure import LocalModel
from .preconditioner import IDENTITY, Preconditioner
from .settings import PRODUCTS, STEPS

Order = Literal[1, 2, 4]

KIND: dict[int, str] = {1: "one-sided", 2: "symmetric", 4: "extrapolated"}
"""What differences of an order are called."""

NOISE_FACTOR: dict[int, float] = {1: math.sqrt(2), 2: 1.12, 4: 1.55}
"""Root-mean-square of the independent errors of a product, in units of noise / (h mu), from the weights of its values;
the errors that all its coordinates share, those of f(x) and f(x ± hv), are as large again."""


class Source(Protocol):
    """Where products come from: one-sided differences of what can be asked around a point."""

    def one_sided(self, local: LocalModel, v: Vector, reach: float, factors: tuple[float, ...]) -> list[Vector]:
        """H v from a step of length k * reach along the unit vector v, for each factor k of either sign; NaN where f is
        missing there."""
        ...

    def noise(self, products: HessianProducts, h: float) -> float:
        """A bound on the norm of what noise adds to a product with a unit vector and a step of length h along it."""
        ...


@dataclass(frozen=True)
class Values:
    """Products from function values, by mixed differences."""

    def one_sided(self, local: LocalModel, v: Vector, reach: float, factors: tuple[float, ...]) -> list[Vector]:
        """See `Source`.

        Queries: d + 1 for each factor, and d for each row not yet known; 2 more for each factor where a value of a
        coordinate is missing, each time it is taken again
        """
        stencil = local.stencil
        stencil.take_rows(*factors)
        mu, ends = like(local.steps * local.unit, local.x), [stencil.moved(v, k * reach) for k in factors]
        parts = [axes(z, k * mu, centre=True) for z, k in zip(ends, factors, strict=True)]
        values = or_nan(local.f.tagged("curvature"), sum(parts[1:], start=parts[0]))[0].reshape(len(factors), -1)
        images = [
            (row[:-1] - row[-1] - stencil.entries(k) + local.f0) / (k * k * reach * local.steps)
            for row, k in zip(values, factors, strict=True)
        ]
        which = np.flatnonzero(np.isnan(np.sum(images, axis=0)))
        if len(which) and np.isfinite(values[:, -1]).all():
            others = self._some(local, v, reach, factors, which, values[:, -1])
            for image, other in zip(images, others, strict=True):
                image[which] = other
        return images

    @staticmethod
    def _some(
        local: LocalModel,
        v: Vector,
        reach: float,
        factors: tuple[float, ...],
        which: NDArray[np.int64],
        centres: Vector,
    ) -> Vector:
        """These entries of the products, on steps of their coordinates that are none of the stencil's."""
        stencil, n, m = local.stencil, len(factors), len(which)
        k, across = np.asarray(factors), np.zeros((m, local.d))
        across[np.arange(m), which] = STEPS.nearby * local.steps[which]
        owner = np.tile(np.arange(m), 2 * n)

        def corners(scale: Vector) -> Stencil:
            rows = (k[:, None, None] * (scale[:, None] * across)[None]).reshape(-1, local.d)
            ends = np.repeat(k * reach, m)[:, None] * v[None, :]
            return stencil.around(np.concatenate([ends + rows, rows]))

        values, scale = retaken(local.f.tagged("curvature"), corners, owner, m)
        far, near = values.reshape(2, n, m)
        step = k[:, None] * reach * k[:, None] * scale * STEPS.nearby * local.steps[which]
        return np.asarray((far - centres[:, None] - near + local.f0) / step)

    def noise(self, products: HessianProducts, h: float) -> float:
        """See `Source`."""
        local = products.local
        shared = 1.0 if local.noise.source == "rounding" else 0.5
        spread = products.P.weighted_norm(1 / local.steps) / math.sqrt(local.d)
        values = NOISE_FACTOR[products.order] * local.noise.norm(local.d, shared) * spread / products.factor
        # x + hv is rounded: a relative error of the displacement, times a curvature of the size seen.
        top = products.P.largest_curvature(np.abs(local.diagonal.value))
        return (values + top * epsilon(local.x) * norm(local.x / like(local.unit, local.x))) / h


VALUES = Values()


@dataclass(frozen=True)
class Product:
    """A product P'(H - shift)P q, and what else its values show."""

    image: Vector
    vector: Vector
    """The unit vector v along P q."""
    hessian_image: Vector
    """H v."""
    odd: float = 0.0
    """By how much one side of a symmetric product is wrong: the norm of its odd part."""
    third: float = 0.0
    """The third derivative |T[v, v]| that the odd part shows."""
    shortness: float = 1.0
    """The step along v, beside the usual one."""


@dataclass(frozen=True)
class HessianProducts:
    """q -> P'(H - shift)P q around a point, by mixed differences, with a bound on what noise does to it.

    H is the Hessian in y = x / unit, P a preconditioner. `factor` multiplies all difference steps, and `along` those
    along the vector alone.
    """

    local: LocalModel
    P: Preconditioner = IDENTITY
    order: Order = 2
    factor: float = 1.0
    shift: float = 0.0
    along: float = 1.0
    source: Source = VALUES

    def __call__(self, q: Vector) -> Product:
        """The product with a unit vector q.

        Queries: d + 1, 2*d + 2 or 4*d + 4 for order 1, 2 or 4
        """
        return self.one_sided(q) if self.order == 1 else self.symmetric(q, self.factor)

    def one_sided(self, q: Vector, factor: float | None = None) -> Product:
        """The same, on one side only: that of the sign of the factor.

        Queries: d + 1
        """
        v, length = self.direction(q)
        (product,), reach = self._taken(v, (self.factor if factor is None else factor,))
        return self._finished(product, v, length, reach)

    def symmetric(self, q: Vector, factor: float) -> Product:
        """The product to second order, or fourth, and its odd part.

        Queries: 2*d + 2 or 4*d + 4 for order 1 and 2, or 4
        """
        v, length = self.direction(q)
        factors = (factor, -factor, 2 * factor, -2 * factor) if self.order == 4 else (factor, -factor)
        (plus, minus, *far), reach = self._taken(v, factors)
        product, odd = (plus + minus) / 2, (plus - minus) / 2
        if far:
            product = (4 * product - (far[0] + far[1]) / 2) / 3
        found = self._finished(product, v, length, reach)
        third = 2 * norm2(odd) / (factor * reach)
        return replace(found, odd=length * norm2(self.P.T @ odd), third=third)

    def _taken(self, v: Vector, factors: tuple[float, ...]) -> tuple[list[Vector], float]:
        """One-sided products for these factors, and the step along v: another where f is missing at its end."""
        usual = self.reach(1.0, v)
        for length in (1.0, *SHORTER):
            found = self.source.one_sided(self.local, v, length * usual, factors)
            if not np.isnan(np.sum(found)):
                break
        else:
            lost = self.local.stencil.moved(v, factors[0] * usual)
            why = f"no value could be had near the end of a product's step, x = {show(lost)}"
            raise MissingValue(why, lost, found[0])
        return found, length * usual

    # Steps

    def direction(self, q: Vector) -> tuple[Vector, float]:
        """The unit vector along P q, and the length of P q."""
        v = self.P @ q
        length = norm2(v)
        return v / length, length

    def directions(self, vectors: Vector) -> Vector:
        """P applied to each column."""
        return np.asarray(self.P @ vectors)

    def reach(self, factor: float, v: Vector | None = None) -> float:
        """How far mixed differences step: usually, and along v, where no coordinate goes far beyond its own step."""
        local = self.local
        step = self._typical if v is None else 1 / norm2(v / local.steps)
        return self.along * factor * step * min(math.sqrt(local.d), PRODUCTS.longest)

    @cached_property
    def _typical(self) -> float:
        return self.P.typical(self.local.steps)

    @property
    def too_long(self) -> bool:
        """Whether the steps are longer than any that could still be called a difference."""
        return self.factor > 1 and self.factor * float(np.max(self.local.steps)) > STEPS.longest

    def noise(self, shortness: float = 1.0) -> float:
        """A bound on the norm of what noise adds to a product with a unit vector whose step was so short."""
        return self.source.noise(self, shortness * self.reach(self.factor))

    def _finished(self, product: Vector, v: Vector, length: float, reach: float) -> Product:
        image = self.P.T @ (length * (product - self.shift * v))
        return Product(np.asarray(image), v, product, shortness=reach / self.reach(1.0))


def mixed_product(local: LocalModel, q: Array, order: Order = 2) -> Array:
    """H q for a unit vector q, from the shared rows of a local model.

    Queries: d + 1, 2*d + 2 or 4*d + 4 for order 1, 2 or 4
    """
    return like(HessianProducts(local, order=order)(to_numpy(q).astype(np.float64)).image, local.x)


