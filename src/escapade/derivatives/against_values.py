"""The user's gradient and its products against values, along random directions, with a stated probability of a miss.

Let e be the error of a gradient and z Gaussian. A central difference of values shows z'e, which is normal with a
deviation of |e|: the squares of r of them, in units of |e|^2, are a chi-squared number of r degrees of freedom, so that
with c its quantile at p, |e|^2 <= sum (z'e)^2 / c but for a probability of p, whatever e is.

Second differences of values show v'(H - B)v, for a Hessian H and the B of the user's gradients. With v = R g, g
Gaussian and R a root of the inverse of what B is known to be at least, they bound the curvature that B misses by the
small ball of `curvature.random_forms`.

Differences are wrong by noise and by truncation, of which half a step along the direction that misses most tells: where
nothing else is missed, none has more of it. What is beyond these contradicts the user's derivatives; where these
alone leave a claim open, values say nothing against it, and it rests on the derivatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from .._array import Vector, epsilon, norm2, to_numpy
from .noise import Noise
from .settings import NOISE, SLOPES, STEPS
from .stencil import CoordinateStencil


@dataclass(frozen=True)
class Missed:
    """What values say of an error: at most `shown`, and `excess` of it clearly."""

    shown: float = 0.0
    """A bound, with all that values are wrong by."""
    excess: float = 0.0
    """The same without: 0 where they contradict nothing."""


def missed_slope(
    stencil: CoordinateStencil,
    g: Vector,
    *,
    own: float,
    third: float,
    noise: Noise,
    count: int,
    failure: float,
    rng: np.random.Generator,
) -> Missed:
    """A bound on the norm of the error of the gradient g, whose entries have a noise of deviation `own`, from central
    differences on steps that fit a third derivative of this size.

    Queries: 2*m + 2 for m directions
    """
    z = rng.standard_normal((count, stencil.d))
    sizes = np.linalg.norm(z, axis=1)
    ways = z / sizes[:, None]
    error = _value_error(stencil, norm2(g), noise)
    t = np.full(count, _within(stencil, np.cbrt(3 * error / third) if third > 0 else math.inf))
    (up, down), t = _ends(stencil, ways, t, "check")
    slopes = (up - down) / (2 * t)
    off, wrong = np.abs(slopes - ways @ g), error / t
    largest = int(np.argmax(off))
    (up, down), (near,) = _ends(stencil, ways[[largest]], t[[largest]] / 2, "check")
    moved = abs(float((up - down)[0]) / (2 * near) - slopes[largest])
    truncation = moved * np.maximum(t / t[largest], 1.0) ** 2 + wrong[largest]
    wrong = sizes * (wrong + STEPS.truncation_safety * truncation)
    off *= sizes
    beyond = np.maximum(off - wrong - NOISE.deviations * own * sizes, 0.0)
    return Missed(chi_squared_bound(off + wrong, failure), chi_squared_bound(beyond, failure))


def chi_squared_bound(parts: Vector, failure: float) -> float:
    """A bound on the norm of a vector from its products with independent Gaussian ones, but for this probability."""
    return norm2(parts) / math.sqrt(2 * float(gammaincinv(len(parts) / 2, failure)))


def missed_curvature(
    stencil: CoordinateStencil,
    ways: Vector,
    claimed: Vector,
    doubt: Vector,
    *,
    slope: float,
    noise: Noise,
    wanted: float,
) -> Missed:
    """The largest v'Hv - v'Bv along these columns v, where v'Bv is `claimed` but for a `doubt`, from second differences
    on steps on which noise is `wanted` at most; `slope` is the norm of the gradient.

    Queries: 2*m + 2 for m columns
    """
    sizes = np.linalg.norm(ways, axis=0)
    units = (ways / sizes).T
    error = _value_error(stencil, slope, noise)
    t = np.array([_within(stencil, size * math.sqrt(4 * error / wanted)) for size in sizes])
    (up, down), t = _ends(stencil, units, t, "curvature")
    forms = sizes**2 * (up + down - 2 * stencil.f0) / t**2
    off, shaken = np.abs(forms - claimed), 4 * error * sizes**2 / t**2
    largest = int(np.argmax(off))
    (up, down), (near,) = _ends(stencil, units[[largest]], t[[largest]] / 2, "curvature")
    closer = sizes[largest] ** 2 * float((up + down)[0] - 2 * stencil.f0) / near**2
    power = (sizes * t) ** 2
    truncation = abs(closer - forms[largest]) * np.maximum(power / power[largest], 1.0) + shaken[largest]
    wrong = shaken + doubt + STEPS.truncation_safety * truncation
    return Missed(float(np.max(off + wrong)), float(np.max(np.maximum(off - wrong, 0.0))))


def _value_error(stencil: CoordinateStencil, slope: float, noise: Noise) -> float:
    """What noise, and the rounding of points where f has a slope, make of a value."""
    far = norm2(to_numpy(stencil.x).astype(np.float64) / stencil.unit)
    return noise.norm(1) + epsilon(stencil.x) * far * slope


def _within(stencil: CoordinateStencil, t: float) -> float:
    """A step along a unit vector that x resolves, and that is not far beyond those of coordinates."""
    far = norm2(to_numpy(stencil.x).astype(np.float64) / stencil.unit)
    least = STEPS.resolved * epsilon(stencil.x) * max(far, 1e-300)
    return float(max(min(t, SLOPES.reach * float(np.min(stencil.steps)), STEPS.longest), least))


def _ends(
    stencil: CoordinateStencil, units: Vector, t: Vector, purpose: str
) -> tuple[Vector, Vector]:
    """f on both sides along these rows, and the steps on which it is known.

    Queries: 2*m for m rows
    """
    m = len(units)
    ends = t[:, None] * units
    values, scale = stencil.retaken(np.concatenate([ends, -ends]), np.tile(np.arange(m), 2), m, purpose)
    return values.reshape(2, m), t * scale


def decided(size: float, error: float, gtol: float) -> bool:
    """Whether a norm that is known so well is at most gtol, or more."""
    return size + error <= gtol or size - error > gtol
