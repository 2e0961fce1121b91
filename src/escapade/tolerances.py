"""What is asked for: tolerances, and the units of variables and values in which they are stated.

Tolerances are absolute, or shares of units that a run learns from the values of f: lengths s of the variables, and a
curvature F of f(s y). A function c f(x / s) from s x0 then gets the same answer as f from x0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._array import Array, Vector, to_numpy
from ._settings import number
from .errors import InvalidSetting


@dataclass(frozen=True)
class Shares:
    """Tolerances that nobody gave."""

    gtol: float = number(
        1e-6, "of F", "the gradient that is small: a Newton step from there gains 1e-12 F / 2",
        "a study on 107 CUTEst problems, not repeated here",
    )
    curvtol: float = number(1e-3, "of F", "the negative curvature that is none", "the same study")
    absolute: float = number(
        1e-4, "1", "the gradient, where no units are learnt; its root for the curvature", "the paper's experiments"
    )


SHARES = Shares()


@dataclass(frozen=True)
class Tolerances:
    """Gradient norm at most `gtol`, smallest eigenvalue at least `-curvtol`."""

    gtol: float
    curvtol: float
    curvature: float | None = None
    """The F that both are shares of, in the units they are stated in; None: they are absolute."""

    @classmethod
    def of(cls, gtol: float | None, curvtol: float | None) -> Tolerances:
        """Absolute ones; if only one is given, `curvtol` is the root of `gtol`, as in the paper.

        Raises
        ------
        InvalidSetting
            If one is not positive and finite.
        """
        for name, value in (("gtol", gtol), ("curvtol", curvtol)):
            if value is not None:
                require_positive(name, value)
        if gtol is None:
            gtol = SHARES.absolute if curvtol is None else float(curvtol) ** 2
        return cls(float(gtol), math.sqrt(gtol) if curvtol is None else float(curvtol))

    @classmethod
    def relative(cls, curvature: float, reach: float = 1.0) -> Tolerances:
        """Shares of this curvature, for variables that matter over lengths of `reach`."""
        return cls(SHARES.gtol * curvature * reach, SHARES.curvtol * curvature, curvature)

    def beside(self, curvature: float, reach: float = 1.0) -> Tolerances:
        """The same where f curves by so much, over such lengths: relative ones are shares of the smaller curvature."""
        if self.curvature is None:
            return self
        smaller = min(curvature, self.curvature) if curvature > 0 else self.curvature
        return self.relative(smaller, reach)


@dataclass(frozen=True)
class Units:
    """What a run learnt of f: in y = x / lengths, f / value is of order one.

    Both are powers of two, so that nothing is rounded by them; unless the lengths were given as `x_scale`.
    """

    lengths: Vector
    """The lengths over which the variables matter."""
    value: float
    """The typical size of changes of f over them."""
    curvature: float
    """F, the typical curvature of f(s y)."""

    def __str__(self) -> str:
        low, high = float(np.min(self.lengths)), float(np.max(self.lengths))
        many = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        return f"variables {many}, curvature {self.curvature:.3g}"


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
