"""ZO-GD-NCF: gradient descent, and a curvature finder where the gradient is small."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

import numpy as np

from .._array import Array, norm
from ..curvature import Finder
from ..derivatives.paper import Steps, coord_gradient, rand_gradient
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates
from .escape import escape


@dataclass(frozen=True, kw_only=True)
class ZOGDNCF:
    """ZO-GD-NCF, Algorithm 5 of Zhang, Xiong & Gu (2022)."""

    epsilon: float
    """The gradient norm to reach."""
    delta: float
    """The negative curvature that is still accepted."""
    eta: float
    """Step size: 1 / (4 ell) for Option I, 1 / (8 d ell) for Option II."""
    finder: Finder
    """What looks for negative curvature."""
    mu_check: Steps
    """mu_1, the smoothing parameter of line 2."""
    mu_step: Steps | None = None
    """mu_2, that of lines 3 and 4; None takes the gradient of the check for Option I."""
    rho: float | None = None
    """The escape step is delta / rho; None searches for its length."""
    option: Literal[1, 2] = 1
    """1 for CoordGradEst, 2 for RandGradEst."""
    K: int | None = None
    """The most iterations; None: no end."""

    name: ClassVar[str] = "zo-gd-ncf"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        attempts = count(1)
        for _ in count() if self.K is None else range(self.K):                  # line 1
            g = coord_gradient(f.tagged("check"), x, self.mu_check)
            if norm(g) >= 0.75 * self.epsilon:                                  # line 2
                x = x - self.eta * self._gradient(f, x, g, rng)                 # lines 3, 4
                yield Iterate(x, Move.DESCENT, grad_norm=norm(g))
            else:
                found = self.finder.attempt(next(attempts))(f, x, rng)          # line 6
                if found.direction is None:                                     # line 7: v = ⊥
                    return Ending.of(found)
                x = escape(f, x, found, self.delta, self.rho, rng)              # x ± (delta / rho) v
                yield Iterate(x, Move.ESCAPE, grad_norm=norm(g))
        return Ending(Stop.ITERATIONS)

    def _gradient(self, f: Oracle, x: Array, g: Array, rng: np.random.Generator) -> Array:
        mu = self.mu_check if self.mu_step is None else self.mu_step
        if self.option == 2:
            return rand_gradient(f, x, float(np.median(mu)), rng)
        return g if self.mu_step is None else coord_gradient(f, x, mu)
