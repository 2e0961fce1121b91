"""The whole Hessian by second differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .measure import Neighbourhood

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class DenseHessian:
    """diag(h) H diag(h), h the steps of the neighbourhood, and a bound on the norm of its noise in the same units."""

    scaled: Matrix
    noise: float
    steps: NDArray[np.float64]


NOISE = {1: 2.1, 2: 1.6, 4: 2.1}
"""The norm of what noise does to all entries, in units of d eta, by order: errors of the row values are shared by a
whole row and column."""


def dense_hessian(here: Neighbourhood, order: int = 2, factor: float = 1.0) -> DenseHessian:
    """All second differences around a point.

    Entry ij is f(x + h_i e_i + h_j e_j) - f(x + h_i e_i) - f(x + h_j e_j) + f(x), on one side; at order 2 the mean of
    both sides, in which all odd terms of the error cancel. Order 4 extrapolates from two steps. The diagonal is always
    taken on both sides.

    Queries: d*(d - 1)/2, d*(d - 1) or 2*d*(d - 1) for order 1, 2 or 4, and d for each row not yet known; less what was
    taken before
    """
    scaled = _at(here, min(order, 2), factor)
    if order == 4:
        scaled = (4 * scaled - _at(here, 2, 2 * factor)) / 3
    spread = here.d if here.noise.source == "rounding" else here.d + 4 * math.sqrt(here.d)
    return DenseHessian(scaled, NOISE[order] * spread * here.noise.level / factor**2, here.steps)


def _at(here: Neighbourhood, sides: int, factor: float) -> Matrix:
    d, factors = here.d, (factor, -factor)[:sides]
    here.take_rows(factor, -factor)
    a = np.zeros((d, d))
    if d > 1:
        i, j = np.triu_indices(d, k=1)
        row, pair = np.mean([here.row(k) for k in factors], axis=0), np.mean(here.pairs(*factors), axis=0)
        a[i, j] = pair - row[i] - row[j] + here.f0
        a += a.T
    a[np.arange(d), np.arange(d)] = here.second_differences(factor)
    return a / factor**2
