"""Two-point descent: a gradient from as few as two values, and an isotropic perturbation in every step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array, norm
from .._random import gausses
from ..derivatives.paper import gauss_gradient_central
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class ZOTwoPoint:
    """The two-point method of Ren, Tang & Li (2023), arXiv 2209.13555: x - eta (g_u(x) + Y) with 2m values a step.

    g_u is the mean of m symmetric differences along Gaussian directions, Y is N(0, (r^2 / d) I). It ends after T steps.

    Deviation: read were the abstract and the introduction, which state 2m values a step for any m in [1, d], an
    isotropic perturbation in each step, and the counts. That directions and perturbation are Gaussian, and how r is
    scaled, is assumed; the settings of the theorem were not read, and are not in `theory`.

    Queries: 2*m an iterate
    """

    eta: float
    """The step size."""
    u: float
    """Radius of the smoothing."""
    r: float
    """Root of the mean square of the length of the perturbation."""
    m: int
    """Directions a step."""
    T: int | None = None
    """Steps."""

    name: ClassVar[str] = "zo-two-point"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        scale = self.r / math.sqrt(x.shape[0])
        for _ in count() if self.T is None else range(self.T):
            g = gauss_gradient_central(f, x, self.u, rng, self.m)
            Y = scale * gausses(rng, x, 1)[0, :]
            x = x - self.eta * (g + Y)
            yield Iterate(x, Move.DESCENT, grad_norm=norm(g))
        return Ending(Stop.ITERATIONS)
