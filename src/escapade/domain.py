"""Where f may be asked: geometry alone, no values.

Every point that an oracle sends to f lies in its domain. Steps, stencils and finders ask the domain what room there is.
Today it is all of space, or a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._array import Vector
from .errors import InvalidSetting


@dataclass(frozen=True)
class Domain:
    """A box, in the user's variables; None: unbounded on that side."""

    lower: Vector | None = None
    upper: Vector | None = None

    def __post_init__(self) -> None:
        if self.lower is not None and self.upper is not None and np.any(self.lower > self.upper):
            i = int(np.argmax(self.lower > self.upper))
            raise InvalidSetting(
                f"bounds: lower[{i}] = {self.lower[i]} must be at most upper[{i}] = {self.upper[i]}"
            )

    @property
    def unbounded(self) -> bool:
        """Whether it is all of space."""
        sides = ((self.lower, -np.inf), (self.upper, np.inf))
        return all(side is None or bool(np.all(side == infinite)) for side, infinite in sides)

    def contains(self, rows: Vector) -> NDArray[np.bool_]:
        """Which of these points lie in it."""
        inside = np.ones(len(rows), dtype=np.bool_)
        if self.lower is not None:
            inside &= np.all(rows >= self.lower, axis=1)
        if self.upper is not None:
            inside &= np.all(rows <= self.upper, axis=1)
        return inside

    def clip(self, x: Vector) -> Vector:
        """The nearest point of it."""
        return x if self.unbounded else np.clip(x, self.lower, self.upper)

    def room(self, x: Vector) -> tuple[Vector, Vector]:
        """How far each variable may go down and up from a point of it."""
        infinite = np.full(len(x), np.inf)
        down = infinite if self.lower is None else x - self.lower
        up = infinite if self.upper is None else self.upper - x
        return down, up


UNBOUNDED = Domain()
