"""Zeroth-order perturbed accelerated gradient descent."""

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
from .accelerated import Accelerated
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class ZOPerturbedAGD(Accelerated):
    """ZO-Perturbed-AGD, Algorithm 1 of Zhang & Gu (2023).

    It ends as in their Remark 2: where the Hamiltonian f(x) + |v|^2 / (2 eta) has fallen by less than f_thres within T
    iterations, the point before the perturbation is returned.

    Deviation: t_perturb begins at -T - 1, as in Algorithm 3; printed is 0, with which the first T iterations at a
    saddle do nothing.

    Queries: 4*d + 2 an iterate; 2*d + 2 within T of a perturbation; with `mu_check` another 2*d
    """

    name: ClassVar[str] = "zo-perturbed-agd"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        v, start, before, perturbed = 0 * x, x, 0.0, -self.T - 1                # line 1
        for t in count():                                                       # line 2
            if t - perturbed == self.T and before - self._hamiltonian(f, x, v) < self.f_thres:    # Remark 2
                yield Iterate(start)
                return Ending(Stop.FINISHED)
            if t - perturbed > self.T and self._small(self._gradient(f, x)):    # line 3
                start, before, perturbed = x, self._hamiltonian(f, x, v), t
                x = x + ball(rng, x, self.r)                                    # line 4
            y = x + (1 - self.theta) * v                                        # line 5
            g = coord_gradient(f, y, self.mu)
            x_t, x = x, y - self.eta * g                                        # line 6
            v_t, v = v, x - x_t                                                 # line 7
            check = g if self.mu_check is None else self._gradient(f, y)
            if self._curved(f, x_t, y, check):                                  # line 8
                x, v = self._exploit(f, x_t, v_t), 0 * x                        # line 9
            yield Iterate(x, Move.PERTURB if t - perturbed < self.T else Move.DESCENT, grad_norm=norm(g))
        return Ending(Stop.ITERATIONS)

    def _hamiltonian(self, f: Oracle, x: Array, v: Array) -> float:
        return f.value(x) + norm(v) ** 2 / (2 * self.eta)
