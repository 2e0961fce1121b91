"""Broyden's model: a Jacobian that every step corrects along itself."""

from __future__ import annotations

import numpy as np

from ..._array import Matrix, Vector


def corrected(J: Matrix, s: Vector, missed: Vector, share: float = 1.0) -> Matrix:
    """J such that J s takes in this share of what it missed: the least change in the Frobenius norm (Broyden, 1965)."""
    return np.asarray(J + share * np.outer(missed, s) / float(s @ s))
