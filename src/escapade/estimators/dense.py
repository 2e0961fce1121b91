"""The whole Hessian by second differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._array import like
from ..oracle import pairs
from .neighbourhood import Neighbourhood

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class DenseHessian:
    """diag(h) H diag(h), h the steps of the neighbourhood, and a bound on the norm of its noise in the same units."""

    scaled: Matrix
    noise: float
    steps: NDArray[np.float64]


def dense_hessian(here: Neighbourhood, order: int = 2, factor: float = 1.0) -> DenseHessian:
    """All second differences around a point.

    Entry ij is (f(x + h_i e_i + h_j e_j) + f(x - h_i e_i - h_j e_j) - f(x ± h_i e_i) - f(x ± h_j e_j) + 2 f(x)) / 2:
    all odd terms of the error cancel. Order 4 extrapolates from two steps.

    Queries: d*(d - 1) or 2*d*(d - 1) for order 2 or 4, and d for each row not yet known
    """
    scaled = _at(here, factor)
    if order == 4:
        scaled = (4 * scaled - _at(here, 2 * factor)) / 3
    # Errors of the row values are shared by a whole row and column: a norm of about 1.6 d eta, 4/3 of it at order 4.
    spread = here.d if here.noise.source == "rounding" else here.d + 4 * math.sqrt(here.d)
    return DenseHessian(scaled, (2.1 if order == 4 else 1.6) * spread * here.noise.level / factor**2, here.steps)


def _at(here: Neighbourhood, factor: float) -> Matrix:
    d, f = here.d, here.f.tagged("curvature")
    here.take_rows(factor, -factor)
    even = here.row(factor) + here.row(-factor)
    a = np.zeros((d, d))
    if d > 1:
        h = like(factor * here.steps * here.unit, here.x)
        values = f(pairs(here.x, h, 1.0) + pairs(here.x, h, -1.0))
        half = len(values) // 2
        i, j = np.triu_indices(d, k=1)
        a[i, j] = (values[:half] + values[half:] - even[i] - even[j] + 2 * here.f0) / 2
        a += a.T
    a[np.arange(d), np.arange(d)] = even - 2 * here.f0
    return a / factor**2
