"""The step of a trust region: the minimiser of a quadratic model within a radius, from an eigendecomposition."""

from __future__ import annotations

import math

import numpy as np

from ..._array import Matrix, Vector, norm2
from .settings import TRUST_REGION

ITERATIONS = 60
CLOSE = 0.05
"""Of the radius: how near to it a constrained step ends."""


def trust_region_step(g: Vector, B: Matrix, radius: float) -> Vector:
    """The s with |s| <= radius that minimises g's + s'Bs/2 (Nocedal & Wright, section 4.3, the hard case included)."""
    w, V = np.linalg.eigh((B + B.T) / 2)
    top = max(abs(float(w[0])), abs(float(w[-1])), 1e-300)
    along = V.T @ g

    def step(shift: float) -> Vector:
        return np.asarray(-along / np.maximum(w + shift, 1e-16 * top))

    if w[0] > 1e-13 * top and norm2(free := step(0.0)) <= radius:
        return np.asarray(V @ free)
    low = max(0.0, -float(w[0]))
    high = low + norm2(g) / radius + 1e-300
    for _ in range(ITERATIONS):  # |s| falls with the shift: bisection, of its logarithm where that has a meaning
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2 if low > 0 else high * 1e-2
        length = norm2(step(middle))
        low, high = (middle, high) if length > radius else (low, middle)
        if (1 - CLOSE) * radius <= length <= radius or high <= 1e-18 * top:
            break
    s = step(high)
    length = norm2(s)
    if length < (1 - 2 * CLOSE) * radius and w[0] < -TRUST_REGION.curved * top:  # hard case: along the lowest
        s[0] = math.copysign(math.sqrt(radius**2 - length**2 + s[0] ** 2), s[0] if s[0] else 1.0)
    return np.asarray(V @ s)


def boxed_step(g: Vector, B: Matrix, radius: float, low: Vector, high: Vector) -> Vector:
    """The same among steps between `low` <= 0 and `high` >= 0: an active set, a variable fixed where the step meets its
    bound first."""
    if np.all(low == -np.inf) and np.all(high == np.inf):
        return trust_region_step(g, B, radius)
    s, free = np.zeros(len(g)), ~(((low >= 0) & (g >= 0)) | ((high <= 0) & (g <= 0)))
    for _ in range(len(g)):
        which = np.flatnonzero(free)
        left = math.sqrt(max(radius**2 - float(s @ s), 0.0))
        if len(which) == 0 or left <= 0:
            break
        part = trust_region_step((g + B @ s)[which], B[np.ix_(which, which)], left)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(part > 0, high[which] / part, np.where(part < 0, low[which] / part, np.inf))
        first = int(np.argmin(room))
        if room[first] >= 1:
            s[which] = part
            break
        j = which[first]
        s[j], free[j] = (high[j] if part[first] > 0 else low[j]), False
    return np.clip(s, low, high)
