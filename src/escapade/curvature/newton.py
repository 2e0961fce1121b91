"""Whether a Newton step lands where it should: what "minimum" needs when the gradient is not negligible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from .._array import Vector, is_sparse, like
from ..derivatives.by_gradients import GradientModel, GradientProducts
from ..derivatives.measure import Allowance, LocalModel
from ..derivatives.products import HessianProducts
from ..oracle import Stencil, central, retaken
from . import price
from .settings import NEWTON


def newton_step(hessian: Any, g: Vector) -> Vector:
    """-H^-1 g, for a Hessian that is dense or sparse."""
    return np.asarray(splu(csc_matrix(-hessian)).solve(g) if is_sparse(hessian) else np.linalg.solve(-hessian, g))


def newton_contracts(local: LocalModel, step: Vector | None = None, allowance: Allowance | None = None) -> bool:
    """Whether the gradient at x - H^-1 g is at most an eighth of that at x; not, as far as that would cost more than is
    allowed.

    The third derivative at x alone cannot tell whether a minimiser is near: x^2 - c x^4 + g x has none at all.
    H^-1 g is found by conjugate gradients on products, unless a `step` that comes near to it is known.

    Queries: 4*d if a step is known, else (2*d + 2) * k + 4*d for k <= 20 products; by gradients 1, or 2 * k + 1 of them
    """
    by_gradients = isinstance(local, GradientModel)
    each, last = (0, 0) if by_gradients else (price.products(local.d, 1), 4 * local.d)
    allowance = allowance or Allowance.of(local.f, math.inf)
    if step is not None:
        return allowance.allows(last) and _contracts(local, step)
    g = local.gradient.value
    products = GradientProducts(local) if isinstance(local, GradientModel) else HessianProducts(local)
    s, r = np.zeros(local.d), -g
    p, size = r, float(r @ r)
    for _ in range(min(NEWTON.iterations, 2 * local.d)):
        length = float(np.linalg.norm(p))
        if length == 0.0:
            break
        if not allowance.allows(each + last):
            return False
        image = length * products(p / length).image                                   # H p
        alpha = size / float(p @ image)
        s, r = s + alpha * p, r - alpha * image
        before, size = size, float(r @ r)
        if not np.isfinite(size) or size <= NEWTON.residual[0] * float(g @ g):
            break
        p = r + size / before * p
    if not size <= NEWTON.residual[1] * float(g @ g):
        return False
    return _contracts(local, s)


def _contracts(local: LocalModel, s: Vector) -> bool:
    """Whether the gradient at x + s is at most an eighth of that at x.

    Queries: 4*d; by gradients one of them
    """
    if isinstance(local, GradientModel):
        size = float(np.linalg.norm(local.gradient_at(s)))
        return size <= NEWTON.contraction * float(np.linalg.norm(local.gradient.value)) + float(local.gradient.error)
    h, there = like(local.steps * local.unit, local.x), local.stencil.moved(s, 1.0)

    def row(scale: Vector) -> Stencil:
        own = h * like(scale, there)
        return central(there, own) + central(there, 2 * own)

    values, scale = retaken(local.f.tagged("check"), row, np.tile(np.arange(local.d), 4), local.d)
    up, down, up2, down2 = np.split(values, 4)
    size = float(np.linalg.norm((8 * (up - down) - (up2 - down2)) / (12 * scale * local.steps)))
    g = local.gradient
    return size <= NEWTON.contraction * float(np.linalg.norm(g.value)) + float(g.error)
