"""Whether a Newton step lands where it should: what "minimum" needs when the gradient is not negligible."""

from __future__ import annotations

import numpy as np

from .._array import like
from ..estimators.hessian_vector import Products
from ..estimators.neighbourhood import Neighbourhood, Vector
from ..oracle import central, point

CONTRACTION = 1 / 8
"""The gradient must fall to this share. Newton's method converges (Kantorovich) if rho |g| / lambda^2 < 1/2, and the
gradient after a step is at most rho |g| / (2 lambda^2) of what it was; an inflection such as x^3 leaves one quarter."""

STEPS = 20

STRAIGHT = 0.05
"""A curvature that changes by less, relatively, is one curvature."""


def settles(here: Neighbourhood, radius: float, step: Vector | None = None) -> bool:
    """Whether a minimiser lies within `radius`, which is further than the rows have looked.

    Not much further, and f is a parabola along the Newton step, where the products and the looks along all coordinates
    at once have been: that is enough. Else the step must be seen to contract the gradient.

    Queries: 6 if a step is known and that is enough, besides those of `newton_contracts` if not
    """
    near = step is not None and radius <= here.reach and _parabolic(here, step, radius)
    return near or newton_contracts(here, step)


def _parabolic(here: Neighbourhood, step: Vector, radius: float) -> bool:
    """Whether the curvature along the step is positive, and the same at three lengths up to the radius.

    Queries: 6
    """
    v, t = step / float(np.linalg.norm(step)), radius * np.array([1.0, 0.5, 0.25])
    places = [point(here.moved(v, s)) for s in (*t, *-t)]
    ahead, back = np.split(here.f.tagged("check")(sum(places[1:], start=places[0])), 2)
    bends, blur = (ahead + back - 2 * here.f0) / t**2, 4 * here.noise.norm(1) / t**2
    bent = np.abs((ahead - back) / 2 - t * float(here.gradient()[0] @ v)) / t**2  # by third derivatives
    straight = np.all(np.maximum(np.abs(bends - bends[0]), bent) <= STRAIGHT * bends[0] + 2 * blur)
    return bool(straight and bends[0] > 2 * blur[0])


def newton_contracts(here: Neighbourhood, step: Vector | None = None) -> bool:
    """Whether the gradient at x - H^-1 g is at most an eighth of that at x.

    The third derivative at x alone cannot tell whether a minimiser is near: x^2 - c x^4 + g x has none at all.
    H^-1 g is found by conjugate gradients on products, unless a `step` that comes near to it is known.

    Queries: 4*d if a step is known, else (2*d + 2) * k + 4*d for k <= 20 products
    """
    if step is not None:
        return _contracts(here, step)
    g, _ = here.gradient()
    products = Products(here, np.ones(here.d))
    s, r = np.zeros(here.d), -g
    p, size = r, float(r @ r)
    for _ in range(min(STEPS, 2 * here.d)):
        length = float(np.linalg.norm(p))
        image = length * products(p / length)                                   # H p
        alpha = size / float(p @ image)
        s, r = s + alpha * p, r - alpha * image
        before, size = size, float(r @ r)
        if not np.isfinite(size) or size <= 1e-4 * float(g @ g):
            break
        p = r + size / before * p
    if not size <= 1e-2 * float(g @ g):
        return False
    return _contracts(here, s)


def _contracts(here: Neighbourhood, s: Vector) -> bool:
    """Whether the gradient at x + s is at most an eighth of that at x.

    Queries: 4*d
    """
    g, error = here.gradient()
    h = like(here.steps * here.unit, here.x)
    values = here.f.tagged("check")(central(here.moved(s, 1.0), h) + central(here.moved(s, 1.0), 2 * h))
    up, down, up2, down2 = np.split(values, 4)
    there = (8 * (up - down) - (up2 - down2)) / (12 * here.steps)
    return float(np.linalg.norm(there)) <= CONTRACTION * float(np.linalg.norm(g)) + error
