"""Proposition 1: is the gradient of a sampled function small?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._array import Array, norm
from ..derivatives.paper import Steps, coord_gradient
from ..oracle import Oracle

FIRST = 64
"""The first batch looked at; each next one is four times larger."""


@dataclass(frozen=True, kw_only=True)
class GradientCheck:
    """Decides between |grad f(x)| <= epsilon and |grad f(x)| >= epsilon / 2 (Proposition 1).

    The median norm over m batches of B = 128 sigma^2 / epsilon^2 samples is compared with 3 epsilon / 4.

    Deviation: a point whose gradient is plainly large is told by a batch far smaller than B; batches grow fourfold
    until the norm clears epsilon by three standard deviations, and only then the median is taken.

    Queries: 2*d per sample
    """

    epsilon: float
    sigma2: float
    """E |grad f_i - grad f|^2."""
    failure: float
    mu: Steps

    @property
    def size(self) -> int:
        """B."""
        return max(1, math.ceil(128 * self.sigma2 / self.epsilon**2))

    @property
    def repeats(self) -> int:
        """m: a median of batches that each fail with probability 1/8 fails with 0.67^m."""
        return math.ceil(math.log(1 / self.failure) / math.log(1 / 0.67)) | 1

    def __call__(self, f: Oracle, x: Array, rng: np.random.Generator) -> tuple[bool, float]:
        """Whether the gradient is small, and the norm that says so."""
        f, n = f.tagged("check"), f.samples if isinstance(f.samples, int) else math.inf
        whole = self.repeats * self.size >= n
        b = FIRST
        while b < (n if whole else self.repeats * self.size) / 4:
            size = norm(coord_gradient(f.on(f.draw(b, rng)), x, self.mu))
            if size >= self.epsilon + 3 * math.sqrt(self.sigma2 / b):
                return False, size
            b *= 4
        if whole:
            size = norm(coord_gradient(f.on(f.everything()), x, self.mu))
        else:
            norms = [norm(coord_gradient(f.on(f.draw(self.size, rng)), x, self.mu)) for _ in range(self.repeats)]
            size = float(np.median(norms))
        return size < 0.75 * self.epsilon, size
