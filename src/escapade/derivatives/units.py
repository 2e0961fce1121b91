"""Units of the variables and of the values, estimated from values: tolerances that have no unit are stated in them.

The units are powers of two: a function given in other units, f(x / 2^k) 2^m, is then evaluated at the same points to
the bit, and its runs are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._array import Array, Vector, epsilon, like, to_numpy
from ..errors import NonFiniteValue
from ..oracle import Oracle, central, point
from .settings import STEPS, UNITS
from .steps import power_of_two


@dataclass(frozen=True)
class Units:
    """In y = x / s and f / F a typical curvature is one."""

    s: Vector
    F: float


def estimate_units(f: Oracle, x: Array, f0: float, rng: np.random.Generator) -> Units:
    """Units at a point.

    Queries: 2*d + 4, and up to 62 where x is 0
    """
    host = to_numpy(x).astype(np.float64)
    s = of_variables(host) if np.any(host) else np.full(len(host), length_at_zero(f, x, f0, rng))
    s = power_of_two(s)
    return Units(s, of_values(f, x, f0, s, rng))


def of_variables(x: Vector) -> Vector:
    """The units of variables that are not all 0: the median c of the sizes of those that are not, or the variable's own
    where that is another by a factor of 30.

    A variable's own size alone would make a unit of where it happens to cross 0.
    """
    size = np.abs(x)
    c = float(np.median(size[size > 0]))
    alike = (size == 0) | ((size >= c / UNITS.alike) & (size <= c * UNITS.alike))
    return np.where(alike, c, size)


def lengths(x: Vector, x0: Vector | None = None) -> Vector:
    """How far each variable may be thought to matter: its size, or a hundredth of what it was or has travelled since
    x0; a thousandth of the median of these at least. One, where nothing is known of it.
    """
    size = np.abs(x)
    if x0 is not None:
        size = np.maximum(size, UNITS.travelled * np.maximum(np.abs(x0), np.abs(x - x0)))
    known = size[size > UNITS.zero]
    return np.ones(len(x)) if len(known) == 0 else np.maximum(size, UNITS.least * float(np.median(known)))


def length_at_zero(f: Oracle, x: Array, f0: float, rng: np.random.Generator) -> float:
    """A length at x = 0: that at which the parabola along a random sign vector fails by half; if it never does, the
    length of the Newton step along it; if there is none, 1.

    Queries: 2 for each power of 16 up to where it fails, 54 at most, and 8
    """
    signs = np.where(rng.random(x.shape[0]) < 0.5, -1.0, 1.0)

    def parts(t: float) -> tuple[float, float] | None:
        """The second difference and the slope over t; None where rounding hides the first, or f is not finite."""
        up, down = f.trial(x + like(t * signs, x)), f.trial(x - like(t * signs, x))
        even = (up + down) / 2 - f0
        visible = math.isfinite(even) and abs(even) > 100 * epsilon(x) * max(abs(f0), abs(up), abs(down))
        return (2 * even / t**2, (up - down) / (2 * t)) if visible else None

    def agrees(t: float, curvature: float) -> bool:
        seen = parts(t)
        return seen is not None and abs(seen[0] - curvature) <= 0.5 * abs(curvature)

    first: tuple[float, float] | None = None
    last = 0.0
    for k in range(-UNITS.powers, UNITS.powers + 1):
        t = 16.0**k
        if first is None:
            first, last = parts(t), t
            continue
        if not agrees(t, first[0]):
            low, high = last, t
            for _ in range(UNITS.halvings):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if agrees(middle, first[0]) else (low, middle)
            return low
        last = t
    if first is None or first[1] == 0.0:
        return 1.0
    return abs(first[1] / first[0])


def of_values(f: Oracle, x: Array, f0: float, s: Vector, rng: np.random.Generator) -> float:
    """The unit of values: the geometric mean of |H_ii| s_i^2, each at least 1e-6 of the largest.

    Where the diagonal is none, as that of x_1 x_2 at 0, the curvature along two random vectors; where there is no
    curvature at all, the slope; where f is constant, one.

    Queries: 2*d + 4; twice or three times that where f is not finite there
    """
    d, h = x.shape[0], UNITS.step
    signs = np.where(rng.random((2, d)) < 0.5, -1.0, 1.0)
    for _ in range(3):
        step = like(h * s, x)
        ends = [x + like(sign * h * s * v, x) for v in signs for sign in (1.0, -1.0)]
        try:
            values = f(sum((point(end) for end in ends), start=central(x, step)))
            break
        except NonFiniteValue:
            h /= STEPS.lost
    else:
        return 1.0
    plus, minus, rest = values[:d], values[d : 2 * d], values[2 * d :].reshape(2, 2)
    rounding = 8 * epsilon(x) * max(float(np.max(np.abs(values))), abs(f0)) / h**2
    curvature = np.abs(plus + minus - 2 * f0) / h**2
    along = float(np.max(np.abs(rest.sum(axis=1) - 2 * f0))) / h**2 / d
    if curvature.max() <= rounding:
        slope = float(np.max(np.abs(plus - minus))) / (2 * h)
        seen = along if along > rounding else slope if slope * h > rounding * h**2 else 0.0
        return power(seen) if seen > 0 else 1.0
    return power(typical(curvature))


def typical(curvatures: Vector) -> float:
    """The geometric mean of curvatures, each at least 1e-6 of the largest."""
    sizes = np.abs(curvatures)
    top = float(sizes.max())
    return float(np.exp(np.mean(np.log(np.maximum(sizes, UNITS.floor * top))))) if top > 0 else 0.0


def power(value: float) -> float:
    """The nearest power of two."""
    return float(power_of_two(np.asarray([value]))[0])
