"""What is asked for: tolerances, and the units of the variables in which they are stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._array import Array, Vector, to_numpy
from .errors import InvalidSetting


@dataclass(frozen=True)
class Tolerances:
    """Gradient norm at most `gtol`, smallest eigenvalue at least `-curvtol`."""

    gtol: float
    curvtol: float

    @classmethod
    def of(cls, gtol: float, curvtol: float | None) -> Tolerances:
        """Those asked for; a `curvtol` of None is the root of `gtol`, as in the paper.

        Raises
        ------
        InvalidSetting
            If one is not positive and finite.
        """
        require_positive("gtol", gtol)
        if curvtol is not None:
            require_positive("curvtol", curvtol)
        return cls(float(gtol), math.sqrt(gtol) if curvtol is None else float(curvtol))


SCALES = (1e-100, 1e100)
"""x_scale beyond these leaves no room for squares in float64."""


def require_positive(name: str, value: float) -> None:
    """Refuse what is not a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InvalidSetting(f"{name}={value!r} must be a positive number")
    if not (math.isfinite(value) and value > 0):
        raise InvalidSetting(f"{name}={value!r} must be positive and finite")


def require_probability(name: str, value: float) -> None:
    """Refuse what is not a probability strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise InvalidSetting(f"{name}={value!r} must lie in (0, 1): it is the probability of a false certificate")


def as_scale(x_scale: Any, x: Array) -> Vector:
    """`x_scale` as a positive vector; ones by default."""
    if x_scale is None:
        return np.ones(x.shape[0])
    try:
        scale = np.broadcast_to(np.asarray(to_numpy(x_scale), dtype=np.float64), x.shape).copy()
    except (TypeError, ValueError):
        raise InvalidSetting(
            f"x_scale={x_scale!r:.60} must be a positive number, or one for each of the {x.shape[0]} variables"
        ) from None
    allowed = (scale >= SCALES[0]) & (scale <= SCALES[1])
    if not np.all(allowed):
        bad = int(np.flatnonzero(~allowed)[0])
        raise InvalidSetting(
            f"x_scale must be positive and finite, between 1e-100 and 1e100, but x_scale[{bad}] = {scale[bad]}"
        )
    return scale
