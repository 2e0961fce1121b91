"""Medians over seeds, and how sure they are.

The interval of a median is between two order statistics: of n independent runs the number below the true median is
binomial with p = 1/2, so that from the k-th least to the k-th greatest the interval covers the median with probability
1 - 2 P(fewer than k below), whatever the distribution, and runs that never get there (infinite times) need no
treatment of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

COVERAGE = 0.95
"""At least so much, where there are seeds enough (six); with fewer it is the range, which covers less."""


@dataclass(frozen=True)
class Median:
    """A median with an interval, or NaN without runs."""

    value: float
    low: float
    high: float

    def before(self, other: Median) -> bool:
        """Whether the whole interval is before the whole other one."""
        return self.high < other.low

    def text(self, unit: str = "queries") -> str:
        """In words."""
        if math.isnan(self.value):
            return "not run"
        return f"{_time(self.value)} [{_time(self.low)}, {_time(self.high)}]" + (
            f" {unit}" if unit and math.isfinite(self.value) else ""
        )


def median(values: Sequence[float]) -> Median:
    """The median of the runs; of a single run the interval is everything."""
    if not values:
        return Median(math.nan, math.nan, math.nan)
    ordered, n = sorted(values), len(values)
    if n == 1:
        return Median(ordered[0], 0.0, math.inf)
    k = rank(n)
    return Median(_middle(ordered), ordered[k - 1], ordered[n - k])


def rank(n: int) -> int:
    """k: the interval is from the k-th least to the k-th greatest of n."""
    k = 1
    while k < n // 2 and coverage(n, k + 1) >= COVERAGE:
        k += 1
    return k


def coverage(n: int, k: int) -> float:
    """The probability that the interval covers the median."""
    return 1 - 2 * sum(comb(n, i) for i in range(k)) / float(2**n)


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _time(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "never"


def described(n: int) -> str:
    """What the interval is, for n seeds."""
    if n < 2:
        return "one seed: no interval"
    k = rank(n)
    ends = "the least and the greatest" if k == 1 else f"number {k} and number {n + 1 - k} in order"
    return f"of {n} seeds {ends}, which cover the median with probability {coverage(n, k):.3f}"
