"""ZO-SCSG-NCF: SCSG epochs, and an online curvature finder where the gradient is small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array
from ..curvature import SampledFinder
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates
from .check import GradientCheck
from .escape import escape
from .scsg import ZOSCSG
from .sgd_ncf import ZOSGDNCF


@dataclass(frozen=True, kw_only=True)
class ZOSCSGNCF:
    """ZO-SCSG-NCF, Algorithm 7 of Zhang, Xiong & Gu (2022)."""

    delta: float
    """The negative curvature that is still accepted."""
    rho: float
    """The escape step is delta / rho."""
    epochs: ZOSCSG | Callable[[float], ZOSCSG]
    """Or those for the sigma^2 that the check saw at this point."""
    check: GradientCheck
    """What decides whether the gradient is small."""
    finder: SampledFinder
    """What looks for negative curvature."""
    fallback: ZOSGDNCF | None = None
    """What line 1 returns when b > B."""
    K: int | None = None
    """The most iterations; None: no end."""

    name: ClassVar[str] = "zo-scsg-ncf"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        if self.fallback is not None and isinstance(self.epochs, ZOSCSG) and self.epochs.b > self.epochs.B:
            return (yield from self.fallback.iterates(f, x, rng))               # line 1
        attempts = count(1)
        for _ in count() if self.K is None else range(self.K):                  # line 2
            small, size, sigma2 = self.check.look(f, x, rng)                    # line 3
            if not small:                                                       # line 4
                epochs = self.epochs if isinstance(self.epochs, ZOSCSG) else self.epochs(sigma2)
                x = epochs.epoch(f, x, rng)                                     # line 5
                yield Iterate(x, Move.DESCENT, grad_norm=size)
            else:
                found = self.finder.attempt(next(attempts))(f, x, rng)          # line 7
                if found.direction is None:                                     # line 8: v = ⊥
                    return Ending.of(found)
                x = escape(f, x, found, self.delta, self.rho, rng)              # x ± (delta / rho) v
                yield Iterate(x, Move.ESCAPE, grad_norm=size)
        return Ending(Stop.ITERATIONS)
