"""Broyden's model: a Jacobian that every step corrects along itself."""

from __future__ import annotations

import numpy as np

from ..._array import Matrix, Vector


def corrected(J: Matrix, s: Vector, secant_error: Vector, share: float = 1.0) -> Matrix:
    """J with this share of the secant error taken in: the least change in the Frobenius norm (Broyden, 1965)."""
    return np.asarray(J + share * np.outer(secant_error, s) / float(s @ s))
