"""ZPSGD: Gaussian-smoothed gradients, and a little noise in every step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array, norm
from .._random import ball
from ..derivatives.paper import gauss_gradient
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class ZPSGD:
    """ZPSGD, Jin, Liu, Ge & Jordan (2018), as printed by Zhang, Xiong & Gu (2022). It has no stopping test."""

    eta: float
    """The step size."""
    r: float
    """Radius of the noise."""
    m: int
    """Mini-batch size: directions a step."""
    sigma: float
    """Radius of the smoothing."""
    T: int | None = None
    """Steps; None: no end."""

    name: ClassVar[str] = "zpsgd"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        for _ in count() if self.T is None else range(self.T + 1):
            g = gauss_gradient(f, x, self.sigma, rng, self.m)
            x = x - self.eta * (g + ball(rng, x, self.r))
            yield Iterate(x, Move.DESCENT, grad_norm=norm(g))
        return Ending(Stop.ITERATIONS)
