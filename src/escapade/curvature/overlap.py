"""How small the overlap of a random unit vector with a fixed one can be.

A uniform unit vector q of R^d has |<u, q>| < t with probability I_{t^2}(1/2, (d-1)/2), the regularised incomplete beta
function. A finder that shows |<u, q>| < t for every eigenvector u below the tolerance has therefore certified with that
failure probability. With r independent starts, all of which must pass, each needs only the t of p^(1/r), which is
far larger: starts are how an honest certificate is bought when products are inexact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import betaincinv

from .._array import Matrix
from .settings import CHEBYSHEV

PLAN = dict(CHEBYSHEV.plan)
"""Numbers of starts that may be used, and the share of the failure probability each may spend (in all, one)."""

MOST = max(PLAN)
"""Starts that are drawn."""


def overlap(d: int, probability: float) -> float:
    """The t with P(|<u, q>| < t) = probability; 1 in one dimension, where the overlap is always 1."""
    return 1.0 if d == 1 else math.sqrt(float(betaincinv(0.5, (d - 1) / 2, probability)))


def random_starts(rng: np.random.Generator, d: int) -> Matrix:
    """Independent uniform unit vectors, as rows. They are kept for a whole search: a new try is no new chance."""
    starts: Matrix = rng.standard_normal((MOST, d))
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    return starts


@dataclass(frozen=True)
class Thresholds:
    """The overlaps that must be undercut, by number of starts."""

    d: int
    failure: float
    plan: dict[int, float] = field(default_factory=lambda: PLAN)
    """Shares of the failure probability, by number of starts."""

    @property
    def aim(self) -> int:
        """The number of starts that may spend most."""
        return max(self.plan, key=lambda r: self.plan[r])

    def of(self, r: int) -> float:
        """The overlap each of r starts must be shown to stay below."""
        return overlap(self.d, (self.plan[r] * self.failure) ** (1 / r))

    def fewest(self, passes: Callable[[float], bool]) -> int | None:
        """The fewest starts whose threshold passes; None if there are none."""
        return next((r for r in self.plan if passes(self.of(r))), None)
