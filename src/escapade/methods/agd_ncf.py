"""Accelerated descent and accelerated negative curvature finding in one recurrence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array, norm
from .._random import ball
from ..derivatives.paper import coord_gradient
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .accelerated import Accelerated, lower
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class ZOAGDNCF(Accelerated):
    """ZO-AGD-NCF: perturbed AGD with accelerated negative curvature finding, Algorithm 3 of Zhang & Gu (2023).

    For T iterations after a perturbation, the accelerated step is taken on f less its linear part at the saddle, and
    kept at distance r; what grows is a direction of negative curvature. It ends as in their Remark 4: where a step
    along it gains less than f_thres, the saddle point that was suspected is returned.

    Queries: 2*d an iterate of the search; otherwise 4*d + 2, with `mu_check` 6*d + 2
    """

    step: float
    """Length of the step along the direction found, 1/4 sqrt(epsilon / rho)."""

    name: ClassVar[str] = "zo-agd-ncf"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        y, saddle, zeta, perturbed = x, x, 0 * x, -self.T - 1                   # line 1
        g_y = None  # the gradient at y, where line 16 has measured it with the step of line 11
        for t in count():                                                       # line 2
            if t - perturbed > self.T:
                g = self._gradient(f, x)
                if self._small(g):                                              # line 3
                    saddle, x, perturbed = x, x + ball(rng, x, self.r), t       # lines 4, 5
                    zeta = g if self.mu_check is None else coord_gradient(f, saddle, self.mu)
                    y, g_y = x, None                                            # line 6
            if t - perturbed == self.T:                                         # line 7
                door, e = f.tagged("escape"), (x - saddle) / norm(x - saddle)   # line 8
                x, low = lower(door, saddle - self.step * e, saddle + self.step * e)    # line 9
                if door.value(saddle) - low < self.f_thres:                     # Remark 4
                    yield Iterate(saddle)
                    return Ending(Stop.FINISHED)
                y, zeta = x, 0 * x                                              # line 10
            searching = t - perturbed < self.T
            if g_y is None:
                g_y = coord_gradient(f.tagged("curvature") if searching else f, y, self.mu)
            x_t, x, size = x, y - self.eta * (g_y - zeta), norm(g_y)            # line 11
            v = x - x_t                                                         # line 12
            y, g_y = x + (1 - self.theta) * v, None                             # line 13
            if searching:                                                       # line 14
                x = saddle + self.r / norm(x - saddle) * (x - saddle)           # line 15
                y = saddle + self.r / norm(y - saddle) * (y - saddle)
            else:
                check = self._gradient(f, y)
                if self._curved(f, x, y, check):                                # line 16
                    x = y = self._exploit(f, x, v)                              # lines 17, 18: v = 0
                elif self.mu_check is None:
                    g_y = check
            move = Move.PERTURB if searching else Move.ESCAPE if t - perturbed == self.T else Move.DESCENT
            yield Iterate(x, move, grad_norm=None if searching else size)
        return Ending(Stop.ITERATIONS)
