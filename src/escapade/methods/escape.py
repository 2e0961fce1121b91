"""Leaving a saddle along the direction found."""

from __future__ import annotations

import numpy as np

from .._array import Array, namespace
from .._random import sign
from ..curvature import Finding
from ..oracle import Oracle, point

DOUBLINGS = 40


def escape(f: Oracle, x: Array, found: Finding, delta: float, rho: float | None, rng: np.random.Generator) -> Array:
    """x ± (delta / rho) v with a random sign, as the paper has it; without rho, the length is searched for.

    The search takes the side that falls more, and doubles the step while each doubling gains at least as much again.

    Queries: none with rho; 3, and 1 or 2 per doubling or halving, without
    """
    v = found.direction
    if rho is not None:
        return x + sign(rng) * (delta / rho) * v
    f = f.tagged("escape")
    xp = namespace(x)
    t = 0.02 * max(1.0, float(xp.max(xp.abs(x))))
    start, up, down = f(point(x) + point(x + t * v) + point(x - t * v))
    for _ in range(DOUBLINGS):
        if min(up, down) < start:
            break
        t /= 2
        up, down = f(point(x + t * v) + point(x - t * v))
    v, low = (v, float(up)) if up <= down else (-v, float(down))
    for _ in range(DOUBLINGS):
        further = f.trial(x + 2 * t * v)
        if start - further < 2 * (start - low):
            break
        t, low = 2 * t, further
    return x + t * v
