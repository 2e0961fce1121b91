"""Losses of residuals: what a vector of residuals costs, and how a robust loss weighs each of them.

As SciPy has them: cost = 1/2 sum_i f^2 rho((r_i / f)^2) with the scale f; rho(z) = z is least squares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._array import Vector
from .errors import InvalidSetting
from .tolerances import require_positive

Rho = Callable[[Vector], tuple[Vector, Vector, Vector]]
"""rho, rho' and rho'' of z = (r / f)^2."""


def _linear(z: Vector) -> tuple[Vector, Vector, Vector]:
    return z, np.ones_like(z), np.zeros_like(z)


def _soft_l1(z: Vector) -> tuple[Vector, Vector, Vector]:
    t = 1 + z
    return 2 * z / (1 + np.sqrt(t)), t**-0.5, -0.5 * t**-1.5  # 2 (sqrt(1 + z) - 1), and nothing cancels


def _huber(z: Vector) -> tuple[Vector, Vector, Vector]:
    inside, far = z <= 1, np.maximum(z, 1.0)
    return (
        np.where(inside, z, 2 * far**0.5 - 1),
        np.where(inside, 1.0, far**-0.5),
        np.where(inside, 0.0, -0.5 * far**-1.5),
    )


def _cauchy(z: Vector) -> tuple[Vector, Vector, Vector]:
    t = 1 + z
    return np.log1p(z), 1 / t, -1 / t**2


def _arctan(z: Vector) -> tuple[Vector, Vector, Vector]:
    t = 1 + z**2
    return np.arctan(z), 1 / t, -2 * z / t**2


LOSSES: dict[str, Rho] = {
    "linear": _linear,
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": _cauchy,
    "arctan": _arctan,
}
"""By SciPy's names."""


@dataclass(frozen=True)
class Loss:
    """A loss, and the size of a residual at which it begins to matter that it is not a square."""

    name: str = "linear"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in LOSSES:
            raise InvalidSetting(f"loss={self.name!r:.60} must be one of {', '.join(LOSSES)}")
        require_positive("f_scale", self.scale)

    @property
    def linear(self) -> bool:
        """Whether the cost is half the sum of squares."""
        return self.name == "linear"

    def cost(self, residuals: Vector) -> Vector:
        """Half the sum of rho, for each row; NaN where a residual is, infinity where a square overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.linear:
                return np.asarray(np.einsum("...i,...i->...", residuals, residuals) / 2)
            rho = LOSSES[self.name]((residuals / self.scale) ** 2)[0]
            return np.asarray(self.scale**2 * rho.sum(axis=-1) / 2)

    def weights(self, residuals: Vector) -> tuple[Vector, Vector]:
        """For each residual, w and v: the gradient is J'(w r), the Hessian J' diag(v) J + sum_i w_i r_i H_i.

        v is negative where the loss is concave in a residual.
        """
        z = (residuals / self.scale) ** 2
        _, first, second = LOSSES[self.name](z)
        return first, first + 2 * z * second


LINEAR = Loss()
