"""Whether a Newton step lands where it should: what "minimum" needs when the gradient is not negligible."""

from __future__ import annotations

import numpy as np

from .._array import like
from ..derivatives.measure import Neighbourhood, Vector
from ..derivatives.products import Products
from ..oracle import central

CONTRACTION = 1 / 8
"""The gradient must fall to this share. Newton's method converges (Kantorovich) if rho |g| / lambda^2 < 1/2, and the
gradient after a step is at most rho |g| / (2 lambda^2) of what it was; an inflection such as x^3 leaves one quarter."""

STEPS = 20


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
        if length == 0.0:
            break
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
