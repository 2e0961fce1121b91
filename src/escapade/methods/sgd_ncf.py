"""ZO-SGD-NCF: stochastic gradient descent, and an online curvature finder where the gradient is small."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

import numpy as np

from .._array import Array
from ..curvature import SampledFinder
from ..derivatives.paper import Directions, Steps, coord_gradient, rand_gradient_sampled
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates
from .check import GradientCheck, samples_for
from .escape import escape


@dataclass(frozen=True, kw_only=True)
class ZOSGDNCF:
    """ZO-SGD-NCF, Algorithm 4 of Zhang, Xiong & Gu (2022)."""

    delta: float
    """The negative curvature that is still accepted."""
    eta: float
    """Step size: 1 / (4 ell) for Option I, 1 / (32 d ell) for Option II."""
    batch: int | None
    """|S|; None takes 32 sigma^2 / epsilon^2, as Theorem 3, with the sigma that the check saw at this point."""
    check: GradientCheck
    """Lines 2 and 3: whether the gradient norm is at most epsilon, or at least epsilon / 2 (Proposition 1)."""
    finder: SampledFinder
    """What looks for negative curvature."""
    mu_step: Steps
    """The smoothing parameter of steps."""
    rho: float
    """The escape step is delta / rho."""
    option: Literal[1, 2] = 1
    """1 for CoordGradEst, 2 for RandGradEst."""
    directions: Directions = "own"
    """Of Option II: one for every component of S, or one that all of them share."""
    K: int | None = None
    """The most iterations; None: no end."""

    name: ClassVar[str] = "zo-sgd-ncf"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        attempts = count(1)
        for _ in count() if self.K is None else range(self.K):                  # line 1
            small, size, sigma2 = self.check.look(f, x, rng)                    # line 2
            if not small:                                                       # line 3
                batch = self.batch or samples_for(32 * sigma2 / self.check.epsilon**2)
                f_S = f.on(f.draw(batch, rng))                                  # line 4
                x = x - self.eta * self._gradient(f_S, x, rng)                  # lines 5, 6
                yield Iterate(x, Move.DESCENT, grad_norm=size)
            else:
                found = self.finder.attempt(next(attempts))(f, x, rng)          # line 8
                if found.direction is None:                                     # line 9: v = ⊥
                    return Ending.of(found)
                x = escape(f, x, found, self.delta, self.rho, rng)              # x ± (delta / rho) v
                yield Iterate(x, Move.ESCAPE, grad_norm=size)
        return Ending(Stop.ITERATIONS)

    def _gradient(self, f_S: Oracle, x: Array, rng: np.random.Generator) -> Array:
        if self.option == 2:
            return rand_gradient_sampled(f_S, x, float(np.median(self.mu_step)), rng, self.directions)
        return coord_gradient(f_S, x, self.mu_step)
