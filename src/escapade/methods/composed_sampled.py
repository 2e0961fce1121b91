"""Any descent and any finder on a sampled function: the loop of Algorithm 4, any descent in the place of its step."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import count

import numpy as np

from .._array import Array, to_numpy
from ..curvature import SampledFinder
from ..derivatives.paper import coord_gradient
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates, Method
from .check import FIRST, GradientCheck
from .downhill import downhill
from .escape import escape


@dataclass(frozen=True)
class SampledEscaping:
    """What `Escaping` does on a sampled function; its fields say what these are."""

    descent: Method
    finder: SampledFinder
    check: GradientCheck
    delta: float
    rho: float
    every: int

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        attempts = count(1)
        start, run = x, self.descent.iterates(f, x, rng)
        while True:
            small, size = self.check(f, x, rng)
            if not small:
                x, ending = yield from advance(run, x, self.every)
                if ending is None:
                    continue
                if ending.stop is Stop.UNBOUNDED:
                    return Ending(Stop.UNBOUNDED)
                better = x if bool(np.any(to_numpy(x) != to_numpy(start))) else self._helped(f, x, rng)
                if better is not None:
                    if better is not x:
                        x = better
                        yield Iterate(x, Move.DESCENT, grad_norm=size)
                    start, run = x, self.descent.iterates(f, x, rng)
                    continue
            # The gradient is small, or noise hides the way down; a direction of negative curvature may show.
            found = self.finder.attempt(next(attempts))(f, x, rng)
            if found.direction is None:
                return Ending.of(found)
            x = escape(f, x, found, self.delta, self.rho, rng)
            yield Iterate(x, Move.ESCAPE, grad_norm=size)
            start, run = x, self.descent.iterates(f, x, rng)

    def _helped(self, f: Oracle, x: Array, rng: np.random.Generator) -> Array | None:
        """A step along the gradient of one batch, as long as descends there.

        Queries: 2*d + 13 a sample
        """
        f_S = f.on(f.draw(max(FIRST, self.check.size), rng))
        return downhill(f_S, x, coord_gradient(f_S.tagged("check"), x, self.check.mu))


def advance(run: Iterates, x: Array, most: int) -> Generator[Iterate, None, tuple[Array, Ending | None]]:
    """Up to `most` iterates of a descent from x; where it is then, and its ending if it stopped."""
    for _ in range(most):
        try:
            iterate = next(run)
        except StopIteration as end:
            return x, end.value or Ending(Stop.FINISHED)
        x = iterate.x
        yield iterate
    return x, None
