"""Broyden's model: a Jacobian that every step corrects along itself."""

from __future__ import annotations

import numpy as np

from ..._array import Matrix, Vector
from ...domain import Flags


def corrected(J: Matrix, s: Vector, secant_error: Vector, share: float = 1.0) -> Matrix:
    """J with this share of the secant error taken in: the least change in the Frobenius norm (Broyden, 1965)."""
    return np.asarray(J + share * np.outer(secant_error, s) / float(s @ s))


def corrected_within(J: Matrix, depends: Flags, s: Vector, secant_error: Vector, share: float = 1.0) -> Matrix:
    """The same within a pattern: the least change of each row in the entries that it has (Schubert, 1970)."""
    squares = depends @ s**2
    rows = np.where(squares > 0, secant_error / np.where(squares > 0, squares, 1.0), 0.0)
    return np.asarray(J + share * np.where(depends, np.outer(rows, s), 0.0))
