"""A number known to within an error, and a closed interval that holds one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class Interval:
    """A closed interval that holds a number, as far as was shown."""

    lower: float
    """Its lower end, -inf where nothing was shown."""
    upper: float
    """Its upper end, inf where nothing was shown."""

    def __or__(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.lower, other.lower), max(self.upper, other.upper))

    def __mul__(self, factor: float) -> Interval:
        """The same of a positive multiple of the number."""
        return Interval(factor * self.lower, factor * self.upper)

    def __str__(self) -> str:
        return f"[{self.lower:.3g}, {self.upper:.3g}]"


@dataclass(frozen=True)
class Estimate(Generic[Value]):
    """A value and a bound on its error: of a vector, on the norm of the error, or on each entry of it."""

    value: Value
    error: Any
