"""The finder that takes the cheapest finder that can decide."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..derivatives.measure import Neighbourhood
from ..derivatives.products import Products
from .dense import Dense
from .finding import Finder, Finding
from .lanczos import Lanczos
from .starts import MOST, overlap

SMALL = 24
"""Up to this dimension all second differences cost no more than twenty products or so, and decide more."""

LARGE = 300
"""Beyond this dimension the dense finder is no fall-back."""


@dataclass(frozen=True, kw_only=True)
class Cheapest(Finder):
    """Dense where d is small or noise rules out products; Lanczos elsewhere, with dense to fall back on.

    Queries: those of the finders it takes
    """

    small: int = SMALL
    """Up to this dimension it is the dense finder."""

    name = "auto"

    def at(self, here: Neighbourhood, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        dense = Dense(delta=self.delta, failure=self.failure, depth=self.depth)
        if here.d <= self.small or (here.d <= LARGE and not self._products_can_decide(here)):
            return dense.at(here, rng, shift)
        finding = Lanczos(delta=self.delta, failure=self.failure, depth=self.depth).at(here, rng, shift)
        affordable = here.d <= LARGE and here.f.remaining >= here.d * (here.d + 5)
        if finding.found or finding.certified or not affordable:
            return finding
        last = dense.at(here, rng, shift)
        if last.found or last.certified:
            return last
        return replace(last, reason=f"{last.reason}; before that, {finding.reason}")

    def _products_can_decide(self, here: Neighbourhood) -> bool:
        """Whether noise leaves products exact enough, at the curvature seen on the diagonal, for six starts."""
        error = Products(here, np.ones(here.d)).noise()
        size = float(np.median(np.abs(here.diagonal()[0]))) + self.delta
        return error / size < overlap(here.d, (0.1 * self.failure) ** (1 / MOST)) / 2
