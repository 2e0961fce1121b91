"""A point of a run: its value, and its gradient where that is known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

import numpy as np

from ..._array import Vector, norm2
from ...derivatives.by_gradients import GradientModel
from ...derivatives.measure import LocalModel

NOT_KNOWN: Vector = np.zeros(0)


class GradientKind(Enum):
    """Where a gradient comes from.

    Each kind is more accurate than the one before.
    """

    NONE = "it is not known"
    FORWARD = "forward differences, corrected by the model's diagonal"
    CENTRAL = "central differences"
    EXACT = "the user's own"
    FOURTH_ORDER = "central differences of fourth order, on steps that fit each variable and the noise"


@dataclass(frozen=True)
class Point:
    """A point on the host, its value and its gradient. A better gradient makes another `Point`."""

    y: Vector
    f: float
    g: Vector = field(default_factory=lambda: NOT_KNOWN)
    h: Vector = field(default_factory=lambda: NOT_KNOWN)
    """The steps behind g."""
    row: Vector = field(default_factory=lambda: NOT_KNOWN)
    """The forward differences (f(x + h_i e_i) - f(x)) / h_i."""
    kind: GradientKind = GradientKind.NONE
    refined: bool = False
    """Whether a refinement was tried here: it is tried once."""

    @property
    def accurate(self) -> bool:
        """Whether a better gradient than this one would take other means than central differences."""
        return self.kind in (GradientKind.CENTRAL, GradientKind.FOURTH_ORDER, GradientKind.EXACT)

    def measured(self, local: LocalModel) -> Point:
        """The same point with the gradient of a local model."""
        if isinstance(local, GradientModel):
            g = local.gradient.value
            return replace(self, g=g, h=np.ones(local.d), row=g, kind=GradientKind.EXACT)
        row = (local.stencil.row(1.0) - local.f0) / local.steps
        return replace(self, g=local.gradient.value, h=local.steps, row=row, kind=GradientKind.CENTRAL)

    @cached_property
    def scale(self) -> Vector:
        """The scale of the trust region: max(|x|, 1), coordinate by coordinate."""
        return np.maximum(np.abs(self.y), 1.0)

    @cached_property
    def inverse_steps(self) -> float:
        """|1 / h|."""
        return norm2(1 / self.h)

    @cached_property
    def steepness(self) -> float:
        """|g|."""
        return norm2(self.g)
