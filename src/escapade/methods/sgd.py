"""ZO-SGD: steps along the gradient of a minibatch, by coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array
from ..derivatives.paper import Steps, coord_gradient
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class ZOSGD:
    """ZO-SGD: lines 4 and 5 of Algorithm 4 alone, Zhang, Xiong & Gu (2022). It stops at no point of its own.

    Queries: 2*d * batch for each step
    """

    eta: float
    """The step size."""
    batch: int
    """|S|."""
    mu: Steps
    """The smoothing parameter."""
    T: int | None = None
    """Steps; None: no end."""

    name: ClassVar[str] = "zo-sgd"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        for _ in count() if self.T is None else range(self.T):
            f_S = f.on(f.draw(self.batch, rng))                                 # line 4
            x = x - self.eta * coord_gradient(f_S, x, self.mu)                  # line 5
            yield Iterate(x, Move.DESCENT)
        return Ending(Stop.ITERATIONS)
