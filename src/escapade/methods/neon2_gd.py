"""Neon2+GD: the first-order baseline, on exact gradients that are charged apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array, like
from ..curvature import Neon2Deterministic
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates
from .escape import escape


@dataclass(frozen=True, kw_only=True)
class Neon2GD:
    """Gradient descent with Neon2 (deterministic), Allen-Zhu & Li (2018). It needs a problem with gradients."""

    epsilon: float
    """The gradient norm to reach."""
    delta: float
    """The negative curvature that is still accepted."""
    eta: float
    """The step size."""
    finder: Neon2Deterministic
    """What looks for negative curvature."""
    rho: float | None = None
    """The escape step is delta / rho; None searches for its length."""
    K: int | None = None
    """The most iterations; None: no end."""

    name: ClassVar[str] = "neon2-gd"
    uses_gradients: ClassVar[bool] = True

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        attempts = count(1)
        for _ in count() if self.K is None else range(self.K):
            g = f.gradient(x)
            size = float(np.linalg.norm(g))
            if size >= 0.75 * self.epsilon:
                x = x - self.eta * like(g, x)
                yield Iterate(x, Move.DESCENT, grad_norm=size)
            else:
                found = self.finder.attempt(next(attempts))(f, x, rng)
                if found.direction is None:
                    return Ending.of(found)
                x = escape(f, x, found, self.delta, self.rho, rng)
                yield Iterate(x, Move.ESCAPE, grad_norm=size)
        return Ending(Stop.ITERATIONS)
