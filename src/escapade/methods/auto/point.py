"""A point of a run, and what is known there."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..._array import Vector, norm2
from ...derivatives.measure import LocalModel

UNKNOWN: Vector = np.zeros(0)


@dataclass
class Point:
    """A point on the host, its value, and its gradient where that is known."""

    y: Vector
    f: float
    g: Vector = field(default_factory=lambda: UNKNOWN)
    h: Vector = field(default_factory=lambda: UNKNOWN)
    rise: Vector = field(default_factory=lambda: UNKNOWN)
    """The one-sided differences (f(x + h_i e_i) - f(x)) / h_i behind g, and their steps."""
    sharp: bool = False
    """Whether the gradient came from central differences."""
    fitted: bool = False
    """Whether differences whose steps fit each variable and the noise were tried there."""
    _fineness: tuple[Vector | None, float] = (None, 0.0)

    @property
    def known(self) -> bool:
        """Whether the gradient was measured."""
        return len(self.g) > 0

    def learn(self, here: LocalModel) -> None:
        """Take the gradient that was measured there for a certificate."""
        self.g, self.h = here.gradient.value.copy(), here.steps.copy()
        self.rise = (here.stencil.row(1.0) - here.f0) / here.steps
        self.sharp = True

    @cached_property
    def scale(self) -> Vector:
        """The scale of the trust region: max(|x|, 1), coordinate by coordinate."""
        return np.maximum(np.abs(self.y), 1.0)

    @property
    def fineness(self) -> float:
        """|1 / h|, reckoned once for each h."""
        if self._fineness[0] is not self.h:
            self._fineness = self.h, norm2(1 / self.h)
        return self._fineness[1]

    @property
    def steepness(self) -> float:
        """|g|."""
        return norm2(self.g)
