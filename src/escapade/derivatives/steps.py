"""Difference steps, decided in one place, and the errors they leave.

With values wrong by eta, a first forward difference of step h is wrong by 2 eta / h + h L / 2, a central one by
eta / h + h^2 M / 6 and a second one by 4 eta / h^2 + h^2 Q / 12, where L, M, Q bound the second, third and
fourth derivatives along the step. Unless they are known, one is taken for each, in units of `x_scale`.

Steps are rounded to powers of two, so that x + h and x - h are exact (but for a change of binade).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, largest, to_numpy
from ..errors import BelowPrecision

CURVATURE_SHARE = 1e-3
"""Second differences are stepped so that noise stays below this share of the curvature tolerance."""

LONGEST = 0.25
"""No difference step is longer than this, in the unit of the variables, unless x asks for it to be resolved at all."""


RESOLVED = 1024
"""No difference step is shorter than this many units in the last place of the coordinate."""

TRUNCATION_SAFETY = 2.5
"""What a difference moves when its step is doubled is its error if the Hessian is Lipschitz and no more, and three
times its error if f is smooth; for a Hessian that is only Hölder of order 1/2 it must be multiplied by this."""


EXPONENT = 0x7FF0000000000000
"""The bits of a positive double that are its exponent."""


def forward_step(eta: float, curvature: float = 1.0) -> float:
    """The step that balances noise and truncation in (f(x+h) - f(x)) / h."""
    return 2 * math.sqrt(eta / curvature)


def central_step(eta: float, third: float = 1.0) -> float:
    """The step that balances noise and truncation in (f(x+h) - f(x-h)) / 2h."""
    return float((3 * eta / third) ** (1 / 3))


def second_step(eta: float, fourth: float = 1.0) -> float:
    """The step that balances noise and truncation in (f(x+h) - 2f(x) + f(x-h)) / h^2."""
    return float((48 * eta / fourth) ** (1 / 4))


def forward_error(eta: float, h: float, ell: float) -> float:
    """The error of a forward difference of an ell-smooth function."""
    return 2 * eta / h + ell * h / 2


def central_error(eta: float, h: float, rho: float) -> float:
    """The error of a central difference of a rho-Hessian-Lipschitz function."""
    return eta / h + rho * h**2 / 6


def second_error(eta: float, h: float, rho: float) -> float:
    """The error of a second difference of a rho-Hessian-Lipschitz function."""
    return 4 * eta / h**2 + rho * h / 3


def product_error(eta: float, h: float, mu: float, rho: float, d: int) -> float:
    """The error of the paper's Hessian-vector product of a vector of length h, divided by h (Lemma 1)."""
    return 2 * math.sqrt(d) * eta / (h * mu) + rho * (h / 2 + math.sqrt(d) * mu**2 / (3 * h))


def gradient_steps(
    x: Array, unit: float | NDArray[np.float64], eta: float, most: float | NDArray[np.float64] = math.inf
) -> NDArray[np.float64]:
    """Steps of central first differences, per coordinate, in the units of x; `most` at most."""
    h = _resolved(max(epsilon(x) ** (1 / 3), central_step(eta)), x, unit)
    return power_of_two(np.minimum(h * unit, most))


def curvature_steps(
    x: Array, unit: NDArray[np.float64], eta: float, curvtol: float
) -> NDArray[np.float64]:
    """Steps of second differences, per coordinate, in the units of x.

    They start at eps^(1/4), grow as sqrt(noise / tolerance) once that is larger, and never fall below what
    the coordinate resolves.
    """
    h = max(epsilon(x) ** 0.25, against_noise(eta, curvtol))
    return power_of_two(_resolved(h, x, unit) * unit)


def against_noise(eta: float, curvtol: float) -> float:
    """The shortest step of a second difference that keeps noise below its share of the curvature tolerance."""
    return math.sqrt(4 * eta / (CURVATURE_SHARE * curvtol))


def longest(x: Array, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """The longest steps that may be taken, per coordinate, in units of `unit`.

    They do not grow with |x|: a feature of size one far from the origin would be stepped over.
    """
    return np.maximum(LONGEST, 4 * shortest(x, unit))


def shortest(x: Array, unit: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The shortest steps that x resolves, per coordinate, in units of `unit`."""
    least: NDArray[np.float64] = RESOLVED * epsilon(x) * np.abs(to_numpy(x).astype(np.float64, copy=False)) / unit
    return least


def _resolved(h: float, x: Array, unit: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
    """h, as far as it is within what x resolves and the longest steps, in units of `unit`."""
    smallest = unit if isinstance(unit, float) else float(unit[unit.argmin()])
    top = largest(to_numpy(x).astype(np.float64, copy=False))
    if RESOLVED * epsilon(x) * top <= h * smallest and h <= LONGEST:
        return h
    least = shortest(x, unit)
    return np.minimum(np.maximum(h, least), np.maximum(LONGEST, 4 * least))


def power_of_two(h: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest power of two to each step: the leading bits of sqrt(2) h."""
    nearest: NDArray[np.float64] = ((math.sqrt(2) * h).view(np.int64) & EXPONENT).view(np.float64)
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
