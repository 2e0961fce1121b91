"""Difference steps, decided in one place, and the errors they leave.

With values wrong by e, a first forward difference of step h is wrong by 2 e / h + h L / 2, a central one by
e / h + h^2 M / 6 and a second one by 4 e / h^2 + h^2 Q / 12, where L, M, Q bound the second, third and
fourth derivatives along the step. Unless they are known, one is taken for each, in units of `x_scale`.

Steps are rounded to powers of two, so that x + h and x - h are exact (but for a change of binade).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._array import Array, Vector, epsilon, largest, to_numpy
from ..errors import BelowPrecision
from .settings import CONSISTENCY, STEPS

_EXPONENT = 0x7FF0000000000000
"""The bits of a positive double that are its exponent."""


def forward_step(value_error: float, curvature: float = 1.0) -> float:
    """The step that balances noise and truncation in (f(x+h) - f(x)) / h."""
    return 2 * math.sqrt(value_error / curvature)


def central_step(value_error: float, third: float = 1.0) -> float:
    """The step that balances noise and truncation in (f(x+h) - f(x-h)) / 2h."""
    return float((3 * value_error / third) ** (1 / 3))


def second_step(value_error: float, fourth: float = 1.0) -> float:
    """The step that balances noise and truncation in (f(x+h) - 2f(x) + f(x-h)) / h^2."""
    return float((48 * value_error / fourth) ** (1 / 4))


def forward_error(value_error: float, h: float, ell: float) -> float:
    """The error of a forward difference of an ell-smooth function."""
    return 2 * value_error / h + ell * h / 2


def central_error(value_error: float, h: float, rho: float) -> float:
    """The error of a central difference of a rho-Hessian-Lipschitz function."""
    return value_error / h + rho * h**2 / 6


def second_error(value_error: float, h: float, rho: float) -> float:
    """The error of a second difference of a rho-Hessian-Lipschitz function."""
    return 4 * value_error / h**2 + rho * h / 3


def product_error(value_error: float, h: float, mu: float, rho: float, d: int) -> float:
    """The error of the paper's Hessian-vector product of a vector of length h, divided by h (Lemma 1)."""
    return 2 * math.sqrt(d) * value_error / (h * mu) + rho * (h / 2 + math.sqrt(d) * mu**2 / (3 * h))


def gradient_steps(
    x: Array, unit: float | Vector, value_error: float, most: float | Vector = math.inf
) -> Vector:
    """Steps of central first differences, per coordinate, in the units of x; `most` at most."""
    h = _resolved(max(epsilon(x) ** (1 / 3), central_step(value_error)), x, unit)
    return power_of_two(np.minimum(h * unit, most))


def curvature_steps(
    x: Array, unit: Vector, value_error: float, curvtol: float
) -> Vector:
    """Steps of second differences, per coordinate, in the units of x.

    They start at eps^(1/4), grow as sqrt(noise / tolerance) once that is larger, and never fall below what
    the coordinate resolves.
    """
    h = max(epsilon(x) ** 0.25, against_noise(value_error, curvtol))
    return power_of_two(_resolved(h, x, unit) * unit)


def against_noise(value_error: float, curvtol: float) -> float:
    """The shortest step of a second difference that keeps noise below its share of the curvature tolerance."""
    return math.sqrt(4 * value_error / (STEPS.noise_share * curvtol))


def longest(x: Array, unit: Vector) -> Vector:
    """The longest steps that may be taken, per coordinate, in units of `unit`.

    They do not grow with |x|: a feature of size one far from the origin would be stepped over.
    """
    return np.maximum(STEPS.longest, 4 * shortest(x, unit))


def shortest(x: Array, unit: float | Vector) -> Vector:
    """The shortest steps that x resolves, per coordinate, in units of `unit`."""
    least: Vector = STEPS.resolved * epsilon(x) * np.abs(to_numpy(x).astype(np.float64, copy=False)) / unit
    return least


def _resolved(h: float, x: Array, unit: float | Vector) -> float | Vector:
    """h, as far as it is within what x resolves and the longest steps, in units of `unit`."""
    smallest = unit if isinstance(unit, float) else float(unit[unit.argmin()])
    top = largest(to_numpy(x).astype(np.float64, copy=False))
    if STEPS.resolved * epsilon(x) * top <= h * smallest and h <= STEPS.longest:
        return h
    least = shortest(x, unit)
    return np.minimum(np.maximum(h, least), np.maximum(STEPS.longest, 4 * least))


def power_of_two(h: Vector) -> Vector:
    """The nearest power of two to each step: the leading bits of sqrt(2) h."""
    nearest: Vector = ((math.sqrt(2) * h).view(np.int64) & _EXPONENT).view(np.float64)
    return nearest


def require_resolved(name: str, radius: float, x: Array, magnitude: float, curvature: float) -> None:
    """Refuse a literal radius that the dtype, |x| or |f| cannot resolve.

    The point must move (radius > eps |x|), and the change of f it makes, curvature radius^2, must exceed the
    rounding of f.
    """
    eps = epsilon(x)
    top = float(np.max(np.abs(to_numpy(x))))
    floor = max(eps * top, math.sqrt(4 * eps * abs(magnitude) / curvature))
    if radius <= floor:
        raise BelowPrecision(
            f"{name}={radius:.3g} is below {floor:.3g}, the least that {x.dtype} resolves at |x| = {top:.3g} and "
            f"|f| = {abs(magnitude):.3g}; drop the literal radii (the default recurrence is normalised and needs none)"
        )


def balanced(least: Vector, h: Vector, truncation: Any, noise: Any) -> Any:
    """Steps of first differences, at most h, on which the truncation and the noise that h leaves would be alike."""
    fitting = h * np.cbrt(np.minimum(noise / (2 * truncation + 1e-300), 1.0))
    return np.minimum(power_of_two(np.maximum(fitting, least)), h)


def confirmation(
    x: Array, unit: Vector, h: Vector, v: Vector, value_error: float, curvtol: float, resolution: float
) -> float:
    """The first step of second differences along the unit vector v: noise below a share of the tolerance, and what x
    resolves; but not far beyond the steps h that fit the coordinates."""
    y = np.maximum(1.0, np.abs(to_numpy(x).astype(np.float64)) / unit)
    reach = float(np.linalg.norm(v * y))
    of_coordinates = 1 / float(np.linalg.norm(v / h))
    usual = min(epsilon(x) ** 0.25, of_coordinates)  # those of the coordinates may have been cut
    least = max(math.sqrt(value_error / curvtol / STEPS.confirm_noise), STEPS.resolved * epsilon(x) * reach, usual)
    most = max(STEPS.longest / 2, 2 * of_coordinates)
    h0 = STEPS.apart * float(power_of_two(np.asarray(min(least, most, STEPS.lost * of_coordinates))))
    return max(h0, 2 * resolution)  # it is halved once, at least


def short_part(
    x: Array, unit: Vector, lengths: Any, value_error: float, curvtol: float, resolution: float = 0.0
) -> Any:
    """The least part of steps of these lengths over which the tolerance shows in spite of noise and of the rounding of
    x; at most `CONSISTENCY.shortened`, where the resolution asked for allows that."""
    reach = float(np.linalg.norm(to_numpy(x) / unit))
    visible = np.sqrt(CONSISTENCY.smallest_change * value_error / curvtol)
    least = max(visible, CONSISTENCY.rounding_room * epsilon(x) * reach)
    part = np.minimum(CONSISTENCY.shortened, least / lengths)
    return np.asarray(np.minimum(np.maximum(part, resolution * math.sqrt(x.shape[0]) / lengths), 1.0))
