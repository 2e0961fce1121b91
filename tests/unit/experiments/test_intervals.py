"""The interval of a median over seeds covers it as often as it says."""

import math

import numpy as np
import pytest

from escapade.experiments.intervals import COVERAGE, coverage, described, median, rank


@pytest.mark.parametrize("n", [6, 10, 15, 20])
def test_the_interval_covers_the_median_as_often_as_said(n):
    k, rng = rank(n), np.random.default_rng(n)
    assert coverage(n, k) >= COVERAGE
    assert coverage(n, k + 1) < COVERAGE
    draws = rng.exponential(size=(20_000, n))
    inside = 0
    for values in draws[:2000]:
        found = median([float(v) for v in values])
        inside += found.low <= math.log(2) <= found.high
    deviation = math.sqrt(coverage(n, k) * (1 - coverage(n, k)) / 2000)
    assert inside / 2000 == pytest.approx(coverage(n, k), abs=4 * deviation)


def test_runs_that_never_arrive_and_single_runs():
    found = median([math.inf, 3.0, 1.0, 2.0])
    assert (found.value, found.low, found.high) == (2.5, 1.0, math.inf)
    assert found.text() == "2 [1, never] queries"
    assert median([math.inf, math.inf, 1.0]).text() == "never [1, never]"
    assert not median([1.0]).before(median([2.0]))  # one seed shows no spread
    assert math.isnan(median([]).value)


def test_what_an_interval_is_is_said_with_its_probability():
    assert described(10) == "of 10 seeds number 2 and number 9 in order, which cover the median with probability 0.979"
    assert "the least and the greatest, which cover the median with probability 0.750" in described(3)
    assert described(1) == "one seed: no interval"
