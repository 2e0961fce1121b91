"""ZO-SPIDER-Coord: normalised steps along a path-integrated gradient estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array, norm
from ..derivatives.paper import Steps, coord_gradient
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class ZOSPIDER:
    """ZO-SPIDER-Coord, Algorithm 9 of Zhang, Xiong & Gu (2022): a first-order point, with high probability.

    Deviation: where S2 reaches the number n of samples, every estimate is that of the whole sum, which costs 2dn
    and is exact; a difference would cost 4 d S2.
    """

    epsilon_tilde: float
    """The norm of the estimated gradient at which it stops."""
    eta: float
    """The step size."""
    S1: int
    """The large batch."""
    S2: int
    """The small batch."""
    q: int
    """The large batch is drawn every q-th time."""
    mu: Steps
    """The smoothing parameter."""
    K: int | None = None
    """The most iterations; None: no end."""

    name: ClassVar[str] = "zo-spider"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        v, previous = x, x
        for k in count() if self.K is None else range(self.K + 1):              # line 1
            v = self.estimate(f, k, x, previous, v, rng)                        # lines 2 to 7
            if norm(v) <= 2 * self.epsilon_tilde:                               # line 8
                return Ending(Stop.FINISHED)                                    # line 9
            previous, x = x, x - self.eta / norm(v) * v                         # line 11
            yield Iterate(x, Move.DESCENT, grad_norm=norm(v))
        return Ending(Stop.ITERATIONS)                                          # not reached with high probability

    def estimate(
        self, f: Oracle, k: int, x: Array, previous: Array, v: Array, rng: np.random.Generator
    ) -> Array:
        """v_k: afresh every q steps, and by differences of the same minibatch at x_k and x_{k-1} between."""
        if isinstance(f.samples, int) and f.samples <= self.S2:
            return coord_gradient(f.on(f.everything()), x, self.mu)             # exact, at half the cost
        if k % self.q == 0:
            return coord_gradient(f.on(f.draw(self.S1, rng)), x, self.mu)       # without replacement
        f_S = f.on(f.draw(self.S2, rng, replace=True))                          # with replacement
        return coord_gradient(f_S, x, self.mu) - coord_gradient(f_S, previous, self.mu) + v

    @staticmethod
    def length(delta: float, rho: float, eta: float) -> int:
        """Mini-steps of length eta in an escape of length delta / rho."""
        return max(1, math.ceil(delta / (rho * eta) * (1 - 1e-12)))
