"""How wrong a Hessian-vector product is, as far as further values tell.

A product is compared with another whole one on longer steps, or, where that costs more, with differences of four values
along a few random directions; and it is looked at on much shorter steps, for structure of f below the usual ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from .._array import Vector, norm2
from .products import HessianProducts
from .settings import CONSISTENCY, PRODUCTS, STEPS


@dataclass(frozen=True)
class ProductError:
    """A bound on the norm of a product's error, and what else was seen while measuring it."""

    error: float
    """Infinite where f depends on the scale."""
    third: float = 0.0
    """The largest third derivative seen."""
    scale_dependent: bool = False
    """Whether f depends on the scale within the steps of the products: longer ones would only miss it."""


def many_variables(d: int) -> bool:
    """Whether random directions cost less than another whole product."""
    return d >= PRODUCTS.many_variables


def safety(d: int, failure: float) -> float:
    """What the size of an error that was measured is multiplied by, if the bound may fail with this probability.

    The mean of (w'e)^2 over m normal vectors w is |e|^2 chi^2_m / m: it is divided by what chi^2_m / m exceeds but for
    the failure. Another whole product needs no chance.
    """
    if not many_variables(d):
        return STEPS.truncation_safety
    m = PRODUCTS.components
    return STEPS.truncation_safety / math.sqrt(float(gammaincinv(m / 2, failure)) * 2 / m)


def against_far_steps(products: HessianProducts, q: Vector, image: Vector) -> ProductError:
    """How far the product with q is from one on steps at least twice as long, times a safety factor: symmetric ones
    with symmetric ones, one-sided ones with those on the other side.

    Queries: d + 1, 2*d + 2 or 4*d + 4 for order 1, 2 or 4, and d for each row not yet known
    """
    far = products.local.stencil.far
    if products.order > 1:
        other = products.symmetric(q, far * products.factor)
        third = other.third
    else:
        other = products.one_sided(q, -far * products.factor)
        odd = products.P.T @ ((other.image - image) / (1 + far))
        third = 2 * norm2(odd) / products.reach(products.factor, other.vector)
    return ProductError(STEPS.truncation_safety * norm2(other.image - image), third)


def components(
    products: HessianProducts, q: Vector, image: Vector, directions: Vector, along: float, across: float
) -> Vector:
    """The error of the product with q along each of these vectors, the rows of a matrix: w'(image - P'(H - shift)P q).

    By differences of four values at steps times these factors, which no odd derivative enters; extrapolated if the
    product is.

    Queries: 4*m for m of them, 8*m if the order is 4
    """
    local, m = products.local, len(directions)
    v, length = products.direction(q)
    turned = products.directions(directions.T).T
    t = along * products.reach(products.factor, v)
    u = across * np.array([_usual(products, w) for w in turned])
    a, b = t * np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    corners = (np.outer(a, v) + b[:, None] * (u[:, None] * turned)[:, None, :]).reshape(-1, local.d)
    if products.order == 4:
        corners = np.concatenate([corners, 2 * corners])
    owner = np.tile(np.repeat(np.arange(m), 4), len(corners) // (4 * m))
    values, scale = local.stencil.retaken(corners, owner, m, "curvature")
    mixed = values.reshape(-1, m, 4) @ np.array([1.0, -1.0, -1.0, 1.0]) / (4 * t * u * scale**2)
    seen = mixed[0] if products.order < 4 else (4 * mixed[0] - mixed[1] / 4) / 3
    error: Vector = directions @ image - length * (seen - products.shift * (turned @ v))
    return error


def _usual(products: HessianProducts, w: Vector) -> float:
    """How far differences across the vector of a product step along w."""
    local = products.local
    return products.factor / norm2(w / local.steps) * min(math.sqrt(local.d), PRODUCTS.longest)


def short_steps(products: HessianProducts, q: Vector, room: float, rng: np.random.Generator) -> tuple[float, float]:
    """A random part of the steps along the product with q, and of those across it, as small as leaves noise well below
    `room`; both are then as long."""
    local, (v, length) = products.local, products.direction(q)
    along, across = products.reach(products.factor, v), _usual(products, v)
    typical = products.factor * products.P.typical(local.steps) * min(math.sqrt(local.d), PRODUCTS.longest)
    steps = along / length * typical / math.sqrt(local.d)
    least, even = math.sqrt(local.noise.norm(1) / steps / room), math.sqrt(along / across)
    margin = 1.0 if local.noise.bounded else 3.0  # a bound, or a standard deviation
    part = max(min(rng.uniform(1, 1.5) * max(margin * least, PRODUCTS.closest), PRODUCTS.closer), least)
    return part / even, part * even


def depends_on_scale(
    products: HessianProducts, q: Vector, image: Vector, delta: float, rng: np.random.Generator, known: float = 0.0
) -> bool:
    """Whether the product with q is wrong by more than a part of delta, and than is known, on much shorter steps of a
    random length, as far as a few random directions tell: f depends on the scale within the steps.

    Queries: 16, or 8 if d < 32, twice that if the order is 4; 0 if noise leaves no room
    """
    parts = short_steps(products, q, delta / 16, rng)
    if parts[1] >= 0.5:
        return False
    return not on_short_steps(products, q, image, parts, rng) <= max(CONSISTENCY.subscale * delta, known)


def on_short_steps(
    products: HessianProducts, q: Vector, image: Vector, parts: tuple[float, float], rng: np.random.Generator
) -> float:
    """By how much the product with q is another on these parts of the steps, as far as a few random directions tell.

    Queries: 16, or 8 if d < 32, twice that if the order is 4
    """
    few = price_of_look(products.local.d) // 4
    directions = rng.standard_normal((few, len(q)))
    return norm2(components(products, q, image, directions, *parts)) / math.sqrt(few)


def price_of_look(d: int) -> int:
    """The queries of `on_short_steps`, unless the order is 4."""
    return 4 * (CONSISTENCY.signs if many_variables(d) else CONSISTENCY.signs // 2)


def measured(
    products: HessianProducts,
    q: Vector,
    image: Vector,
    *,
    delta: float,
    room: float,
    failure: float,
    rng: np.random.Generator,
) -> ProductError:
    """The error of the product with q, that of noise apart: on longer steps, and on much shorter ones.

    From 32 variables on it is seen along a few random directions, and exceeds the bound with probability `failure` at
    most; below, the product is taken again. On steps as short as noise allows, if the error may be as large as `room`.

    Queries: 32 to 64, twice that if the order is 4, and under noise those of `against_far_steps` where the error is in
    the way; or those of `against_far_steps` and `depends_on_scale`
    """
    d, far = products.local.d, products.local.stencil.far
    if not many_variables(d):
        found = against_far_steps(products, q, image)
        if depends_on_scale(products, q, image, delta, rng, found.error):
            return ProductError(math.inf, found.third, True)
        return found
    half = failure / 2
    long = _random_components(products, q, image, far, 1.0, half, rng)
    random = products.local.noise.source not in ("rounding", "digits")
    if long.error > room and random:  # noise counts many times in so few
        whole = against_far_steps(products, q, image)
        long = ProductError(min(long.error, whole.error), max(long.third, whole.third))
    along, across = short_steps(products, q, (room + 1e-300) / (4 * safety(d, half)), rng)
    if math.sqrt(along * across) >= PRODUCTS.closer:  # noise leaves no short steps: only a large error shows
        known = PRODUCTS.another * long.error / safety(d, half)
        if depends_on_scale(products, q, image, delta, rng, known):
            return ProductError(math.inf, long.third, True)
        return long
    short = _random_components(products, q, image, along, across, half, rng)
    other = short.error > max(room, min(PRODUCTS.another * long.error, delta))
    return ProductError(max(long.error, short.error), max(long.third, short.third), other)


def _random_components(
    products: HessianProducts,
    q: Vector,
    image: Vector,
    along: float,
    across: float,
    failure: float,
    rng: np.random.Generator,
) -> ProductError:
    """A bound on the error from its components along normal vectors.

    Queries: 32, or 64 if the order is 4
    """
    directions = rng.standard_normal((PRODUCTS.components, len(q)))
    size = float(np.sqrt(np.mean(components(products, q, image, directions, along, across) ** 2)))
    v, length = products.direction(q)
    third = 2 * size / length / products.reach(products.factor, v)
    return ProductError(safety(products.local.d, failure) * size, third)
