"""ZO-SCSG: epochs of stochastically controlled gradient steps, of geometric length."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

import numpy as np

from .._array import Array
from .._random import geometric
from ..derivatives.paper import Directions, Steps, coord_gradient, rand_gradient_sampled
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class ZOSCSG:
    """ZO-SCSG, Algorithm 6 of Zhang, Xiong & Gu (2022). It stops at no point of its own."""

    B: int
    """The batch of an epoch."""
    b: int
    """The mini-batch of a step."""
    eta: float
    """The step size."""
    mu: Steps
    """The smoothing parameter."""
    option: Literal[1, 2] = 1
    """1 for CoordGradEst, 2 for RandGradEst."""
    directions: Directions = "own"
    """Of Option II: one for every component of a minibatch, or one that all of them share."""
    T: int | None = None
    """Epochs; None: no end."""

    name: ClassVar[str] = "zo-scsg"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        for _ in count() if self.T is None else range(self.T):                  # line 1
            x = self.epoch(f, x, rng)
            yield Iterate(x, Move.DESCENT)
        return Ending(Stop.ITERATIONS)

    def epoch(self, f: Oracle, x: Array, rng: np.random.Generator) -> Array:
        """Lines 2 to 12."""
        f_I = f.on(f.draw(self.B, rng))                                         # line 2
        v = coord_gradient(f_I, x, self.mu)                                     # line 3
        start, size = x, len(f_I.batch) if f_I.batch else self.B                # line 4
        b = self.b if self.option == 1 else self.b / x.shape[0]
        for _ in range(geometric(rng, size / (size + b))):                      # lines 5, 6
            f_k = f.on(f.draw(self.b, rng))                                     # line 7
            x = x - self.eta * (self._difference(f_k, x, start, rng) + v)       # lines 8 to 10
        return x                                                                # line 12

    def _difference(self, f_k: Oracle, x: Array, start: Array, rng: np.random.Generator) -> Array:
        """The same minibatch, and for Option II the same directions, at both points."""
        if self.option == 1:
            return coord_gradient(f_k, x, self.mu) - coord_gradient(f_k, start, self.mu)
        seed, mu = int(rng.integers(2**63)), float(np.median(self.mu))

        def gradient(z: Array) -> Array:
            return rand_gradient_sampled(f_k, z, mu, np.random.default_rng(seed), self.directions)

        return gradient(x) - gradient(start)
