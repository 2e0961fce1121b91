"""RSPI: random search, and a power iteration for directions of negative curvature."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

import numpy as np

from .._array import Array, like, to_numpy
from .._random import sphere
from ..derivatives.paper import coord_gradient
from ..oracle import Oracle, point
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class RSPI:
    """RSPI, Lucchi, Orvieto & Solomou (2021), in two forms.

    "printed" runs the power iteration in every iteration, as in Zhang, Xiong & Gu (2022); "authors" runs it only when
    the random step failed, as the authors' own program does.
    """

    sigma_1: float
    """The length of the random step."""
    sigma_2: float
    """The length of the step along DFPI's direction."""
    T_DFPI: int
    """Power iterations."""
    eta: float
    """Step of the power iteration."""
    c: float
    """Difference step of its gradients."""
    r: float
    """Distance of its gradients from x."""
    shrink: float = 1.0
    """rho_sigma1: sigma_1 is multiplied by this every T_sigma1 iterations."""
    every: int = 20
    """T_sigma1."""
    K: int | None = None
    """The most iterations; None: no end."""
    form: Literal["printed", "authors"] = "printed"
    """"printed", or as the code of the "authors": where power iterations run."""

    name: ClassVar[str] = "rspi"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        fx, sigma_1 = f.value(x), self.sigma_1
        for k in count() if self.K is None else range(self.K):                  # line 3
            x_k, before = x, fx
            x, fx = self._best(f, x, fx, sigma_1 * sphere(rng, x))              # lines 4, 5
            yield Iterate(x, Move.SEARCH, fun=fx)
            if self.form == "printed" or fx == before:
                s = self._dfpi(f.tagged("curvature"), x_k, rng)                 # line 6
                x, fx = self._best(f.tagged("escape"), x, fx, self.sigma_2 * s)    # line 7
                yield Iterate(x, Move.ESCAPE, fun=fx)
            if (k + 1) % self.every == 0:                                       # line 8
                sigma_1 *= self.shrink
        return Ending(Stop.ITERATIONS)

    @staticmethod
    def _best(f: Oracle, x: Array, fx: float, step: Array) -> tuple[Array, float]:
        """The best of x and x ± step."""
        up, down = f(point(x + step) + point(x - step))
        candidates = ((x, fx), (x + step, float(up)), (x - step, float(down)))
        return min(candidates, key=lambda pair: pair[1])

    def _dfpi(self, f: Oracle, x: Array, rng: np.random.Generator) -> Array:
        """Derivative-free power iteration."""
        s = to_numpy(sphere(rng, x)).astype(np.float64)                         # DFPI, line 3
        for _ in range(self.T_DFPI):                                            # line 4
            up = coord_gradient(f, x + like(self.r * s, x), self.c)             # line 5
            down = coord_gradient(f, x - like(self.r * s, x), self.c)           # line 6
            s = s - self.eta * to_numpy(up - down) / (2 * self.r)               # line 7
            s = s / np.linalg.norm(s)                                           # line 8
        return like(s, x)
