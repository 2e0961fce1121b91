"""Proposition 1: is the gradient of a sampled function small?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .._array import Array, norm
from ..derivatives.paper import Steps, coord_gradient, coord_gradient_spread
from ..oracle import Oracle

MOST = 2**31
"""A batch is never larger, whatever a variance says."""

FIRST = 64
"""The first batch looked at; each next one is four times larger."""


def samples_for(count: float) -> int:
    """The number of samples: `count` rounded up, one at least."""
    return max(1, math.ceil(min(count, MOST)))


@dataclass(frozen=True, kw_only=True)
class GradientCheck:
    """Decides between |grad f(x)| <= epsilon and |grad f(x)| >= epsilon / 2 (Proposition 1).

    The median norm over m batches of B = 128 sigma^2 / epsilon^2 samples is compared with 3 epsilon / 4.

    Deviation: a point whose gradient is plainly large is told by a batch far smaller than B; batches grow fourfold
    until the norm clears epsilon by three standard deviations, and only then the median is taken. Where sigma is not
    given it is estimated at every point anew, from the first batch: at a saddle that all samples share it is zero.

    Queries: 2*d per sample
    """

    epsilon: float
    """The gradient norm to reach."""
    sigma2: float | None
    """E |grad f_i - grad f|^2; None measures it at each point."""
    failure: float
    """The probability of a wrong answer."""
    mu: Steps
    """The smoothing parameter."""

    @property
    def size(self) -> int:
        """B."""
        return samples_for(128 * (self.sigma2 or 0.0) / self.epsilon**2)

    @property
    def repeats(self) -> int:
        """m: a median of batches that each fail with probability 1/8 fails with 0.67^m."""
        return math.ceil(math.log(1 / self.failure) / math.log(1 / 0.67)) | 1

    def __call__(self, f: Oracle, x: Array, rng: np.random.Generator) -> tuple[bool, float]:
        """Whether the gradient is small, and the norm that says so."""
        small, size, _ = self.look(f, x, rng)
        return small, size

    def look(self, f: Oracle, x: Array, rng: np.random.Generator) -> tuple[bool, float, float]:
        """The same, and sigma^2."""
        f = f.tagged("gradient check")
        if self.sigma2 is not None:
            return *self._batches(f, x, rng, FIRST), self.sigma2
        batch = f.draw(FIRST, rng)
        g, sigma2 = coord_gradient_spread(f, x, self.mu, batch, rng)
        if len(batch) == f.samples:
            return norm(g) < 0.75 * self.epsilon, norm(g), sigma2
        if norm(g) >= self.epsilon + 3 * math.sqrt(sigma2 / FIRST):
            return False, norm(g), sigma2
        return *replace(self, sigma2=sigma2)._batches(f, x, rng, 4 * FIRST), sigma2

    def _batches(self, f: Oracle, x: Array, rng: np.random.Generator, b: int) -> tuple[bool, float]:
        """Batches of b samples and more, then the median."""
        n, sigma2 = f.samples if isinstance(f.samples, int) else math.inf, self.sigma2 or 0.0
        whole = self.repeats * self.size >= n
        while b < (n if whole else self.repeats * self.size) / 4:
            size = norm(coord_gradient(f.on(f.draw(b, rng)), x, self.mu))
            if size >= self.epsilon + 3 * math.sqrt(sigma2 / b):
                return False, size
            b *= 4
        if whole:
            size = norm(coord_gradient(f.on(f.everything()), x, self.mu))
        else:
            norms = [norm(coord_gradient(f.on(f.draw(self.size, rng)), x, self.mu)) for _ in range(self.repeats)]
            size = float(np.median(norms))
        return size < 0.75 * self.epsilon, size
