"""How smooth a function is where it is roughest, from values along lines."""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, like, norm
from .._random import spheres
from ..oracle import Oracle, Stencil, points
from .noise import rounding
from .settings import LADDER, SMOOTHNESS

Roughness = Literal["smooth", "curvature", "slope", "jump", "noise", "flat"]
"""What jumps: nothing, the second derivative, the first, f, f everywhere; or f does not change at all."""


def roughest(
    f: Oracle, x: Array, unit: NDArray[np.float64], reach: float, level: float, rng: np.random.Generator
) -> tuple[Roughness, float]:
    """Magnify the spot where third differences are largest, and read off how fast they fall with the step h.

    They fall as h^3 where the third derivative is bounded, as h^2 where the curvature jumps, as h where the
    slope does, and not at all where f does. Also returned: how far from x that spot is, in units of `unit`.

    Queries: 27, and 9 for each of up to 9 magnifications
    """
    rays = spheres(rng, x, LADDER.lines) * like(unit, x)[None, :]
    grid = np.arange(-4.0, 5.0)
    h, centre = reach / 4, 0.0
    lines = [_line(x, rays[k, :], h * grid) for k in range(LADDER.lines)]
    table = f(reduce(add, lines)).reshape(LADDER.lines, -1)
    if np.ptp(table) == 0:
        return "flat", 0.0
    line = int(np.argmax(np.max(np.abs(np.diff(table, 3)), axis=1)))
    values, sizes, change = table[line], list[float](), np.zeros(1)
    for _ in range(SMOOTHNESS.levels):
        third, first = np.abs(np.diff(values, 3)), np.abs(np.diff(values))
        noise_error = rounding(x, float(np.max(np.abs(values)))) + epsilon(x) * norm(x) * float(first.max()) / h
        if third.max() <= 20 * (level + noise_error):
            break
        sizes.append(float(third.max()))
        centre, h, change = centre + h * (int(third.argmax()) - 2.5), h / SMOOTHNESS.zoom, first
        values = f(_line(x, rays[line, :], centre + h * grid))
    falls = min(4, len(sizes) - 1)
    if falls < 2:
        return "smooth", 0.0  # as far as the noise lets one see
    order = math.log(sizes[-1 - falls] / sizes[-1], SMOOTHNESS.zoom) / falls
    if order > SMOOTHNESS.orders[1]:  # 2 and 3 are told apart only from five steps
        return ("curvature" if order < SMOOTHNESS.orders[2] and falls == 4 else "smooth"), abs(centre)
    if order > SMOOTHNESS.orders[0]:
        return "slope", abs(centre)
    return ("noise" if np.median(change) > SMOOTHNESS.typical * change.max() else "jump"), abs(centre)


def _line(x: Array, ray: Array, t: NDArray[np.float64]) -> Stencil:
    """x + t_k ray for every k."""
    return points(x[None, :] + like(t, x)[:, None] * ray[None, :])
