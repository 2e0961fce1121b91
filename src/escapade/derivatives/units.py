"""How far variables may be thought to matter, where their user gave no scale."""

from __future__ import annotations

import numpy as np

from .._array import Vector
from .settings import UNITS


def lengths(x: Vector, x0: Vector | None = None) -> Vector:
    """How far each variable may be thought to matter: its size, or a hundredth of what it was or has travelled since
    x0; a thousandth of the median of these at least. One, where nothing is known of it.
    """
    size = np.abs(x)
    if x0 is not None:
        size = np.maximum(size, UNITS.travelled * np.maximum(np.abs(x0), np.abs(x - x0)))
    known = size[size > UNITS.zero]
    return np.ones(len(x)) if len(known) == 0 else np.maximum(size, UNITS.least * float(np.median(known)))
