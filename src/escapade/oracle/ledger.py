"""The books: who asked for how many values, and in how many rounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Ledger:
    """Counts kept by the oracle alone.

    A query is one value f_i(x) delivered to a method; a round is a batch of points that had to wait for the
    one before it; a call is one call of the user's function; an attempt is one point sent to it, delivered or
    not; an observation is a value read for plotting, outside every budget; a gradient, or a product of the Hessian
    with a vector, is one that the user's own function delivered.
    """

    by_purpose: Counter[str] = field(default_factory=Counter)
    queries: int = 0
    """Those of all purposes."""
    rounds: int = 0
    calls: int = 0
    attempts: int = 0
    observations: int = 0
    gradients: int = 0
    products: int = 0
    known: int = 0
    """Values that were not asked for, because the user knew them."""

    def count(self, purpose: str, queries: int) -> None:
        """Book queries."""
        self.by_purpose[purpose] += queries
        self.queries += queries
