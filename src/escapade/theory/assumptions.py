"""What the theorems assume of their constants, counts from real numbers, and lengths that floats resolve."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .._array import Array, epsilon, to_numpy
from ..errors import BelowPrecision, InvalidSetting

Option = Literal[1, 2]
"""Steps along CoordGradEst (I) or RandGradEst (II)."""

ROUNDING = 1e-12
"""A real count this close to an integer, relatively, is that integer."""


def is_number(value: object) -> bool:
    """Whether this is a real number, and no bool."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def require_dimension(theorem: str, d: int) -> int:
    """d, a positive integer."""
    if isinstance(d, bool) or not isinstance(d, int | np.integer) or d < 1:
        raise InvalidSetting(f"d={d!r} must be a positive integer, the dimension ({theorem})")
    return int(d)


def require_positive(theorem: str, **constants: float) -> list[float]:
    """The constants as floats, each positive and finite."""
    for name, value in constants.items():
        if not (is_number(value) and math.isfinite(value) and value > 0):
            raise InvalidSetting(f"{name}={value!r} must be positive and finite ({theorem})")
    return [float(value) for value in constants.values()]


def require_delta(theorem: str, delta: float, ell: float) -> None:
    """delta <= ell, as Theorems 1 and 2 assume."""
    if delta > ell:
        raise InvalidSetting(f"delta={delta!r} must lie in (0, ell={ell!r}] ({theorem} assumes delta <= ell)")


def require_failure(theorem: str, p: float) -> float:
    """p, a probability strictly between 0 and 1."""
    if not (is_number(p) and 0 < p < 1):
        raise InvalidSetting(f"p={p!r} must lie in (0, 1): {theorem} holds with probability 1 - p")
    return float(p)


def require_option(theorem: str, option: int) -> Option:
    """Option I or II."""
    if isinstance(option, bool) or option not in (1, 2):
        raise InvalidSetting(f"option={option!r} must be 1 (CoordGradEst) or 2 (RandGradEst) ({theorem})")
    return 1 if option == 1 else 2


def require_between(theorem: str, name: str, value: float, lower: float, upper: float, bounds: str) -> None:
    """lower <= value <= upper, but for rounding."""
    if not lower * (1 - ROUNDING) <= value <= upper * (1 + ROUNDING):
        raise InvalidSetting(f"{name}={value!r} must lie in {bounds}, here at most {upper:.6g} ({theorem})")


@contextmanager
def representable(theorem: str) -> Iterator[None]:
    """Constants so extreme that a setting overflows are refused by name of the theorem."""
    try:
        yield
    except (OverflowError, ZeroDivisionError):
        raise InvalidSetting(
            f"a setting of {theorem} lies outside the range of float64 at these constants; rescale x or f"
        ) from None


def rounded_up(value: float) -> int:
    """A real count as an integer, at least one."""
    return max(1, math.ceil(value * (1 - ROUNDING)))


def rounded_down(value: float) -> int:
    """The floor of a real count."""
    return math.floor(value * (1 + ROUNDING))


@dataclass(frozen=True)
class Length:
    """A length by which the point is moved, and what f must show over it.

    `slope` is how far a value of f may be off, per unit of the length: a gradient of CoordGradEst is then off by
    sqrt(d) times that, one of RandGradEst by d times that. With None, only the point must move.
    """

    name: str
    value: float
    slope: float | None = None

    def require(self, theorem: str, x: Array | None = None, magnitude: float = 0.0) -> None:
        """Raise `BelowPrecision` if the length is lost in x, or what it shows in values of this magnitude."""
        remedy = "ask for a larger epsilon or delta, shift x and f to the origin, or use the preset's steps"
        if x is None:
            if self.value < sys.float_info.min:
                raise BelowPrecision(
                    f"{self.name}={self.value:.3g} is below {sys.float_info.min:.3g}, the least normal float64 "
                    f"({theorem}); {remedy}"
                )
            return
        top = float(np.max(np.abs(to_numpy(x))))
        floor = epsilon(x) * top
        if self.slope is not None:
            floor = max(floor, epsilon(x) * abs(magnitude) / self.slope)
        if self.value <= floor:
            raise BelowPrecision(
                f"{self.name}={self.value:.3g} is below {floor:.3g}, the least that {x.dtype} resolves at "
                f"|x| = {top:.3g} and |f| = {abs(magnitude):.3g} ({theorem}); {remedy}"
            )


def smoothing(name: str, mu: float, epsilon: float, d: int, option: Option = 1) -> Length:
    """A smoothing parameter, too short once rounding alone can move the gradient by epsilon / 4."""
    return Length(name, mu, epsilon / (4 * (math.sqrt(d) if option == 1 else d)))


class Resolvable:
    """Settings with lengths that must be resolved."""

    theorem: ClassVar[str]

    def lengths(self) -> tuple[Length, ...]:
        """The lengths by which the method moves its point."""
        raise NotImplementedError

    def resolved(self, x: Array | None, magnitude: float) -> None:
        """Raise `BelowPrecision` where x, or values of f of this magnitude, are too large for a length.

        A smoothing parameter is too short if x does not move, or if rounding alone can move the gradient by
        epsilon / 4; a step, if x does not move. Without x, the lengths must be normal float64 numbers.
        """
        for length in self.lengths():
            length.require(self.theorem, x, magnitude)
