"""From the origin of the octopus, through d saddles, to a certified minimum; and PAGD as printed, which stays."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import methods

from escapade.stopping import Stop

CERTIFYING = [
    "zo-gd-ncf",
    "zo-gd-ncf-ii",
    "pagd",
    "neon2-gd",
    "zo-scrn",
    "auto",
    "escaping-nelder-mead",
    "escaping-powell",
    "escaping-cobyqa",
    "escaping-bfgs",
    "escaping-l-bfgs-b",
]


def assert_reached(name, d, seed):
    result, problem = methods.on_octopus(name, d, seed)
    assert result.success, (seed, result.message)
    assert float(problem(result.x)) == pytest.approx(-d * 139.870432574, abs=1e-3)
    assert result.fun == pytest.approx(float(problem(result.x)))
    assert methods.is_second_order(problem, result.x, 1e-4, methods.DELTA)


@pytest.mark.parametrize("name", CERTIFYING)
def test_the_minimum_is_reached_and_certified(name):
    for seed in (0, 1):
        assert_reached(name, 10, seed)


def test_zpsgd_comes_within_a_hundredth():
    for seed in range(3):
        result, problem = methods.on_octopus("zpsgd", 10, seed)
        assert float(problem(result.x)) <= 0.99 * problem.minimum
        if result.success:
            assert methods.is_second_order(problem, result.x, 1e-4, methods.DELTA)


@pytest.mark.parametrize("d", [10, 30, 50])
def test_pagd_as_printed_stops_at_the_first_saddle_and_says_so(d):
    for seed in range(10):
        result, problem = methods.on_octopus("pagd as printed", d, seed)
        assert result.stop is Stop.SADDLE
        assert not result.success
        assert result.certificate.verdict == "saddle"
        assert np.array_equal(result.x, np.zeros(d))
        v = result.certificate.direction
        assert v @ problem.hessian(result.x) @ v <= -methods.DELTA / 2


def test_rspi_is_reported_as_it_is():
    """Its random search has no small steps in 100,000 queries: it leaves saddles, and nothing is certified."""
    result, problem = methods.on_octopus("rspi", 10, 0)
    assert float(problem(result.x)) <= 0.9 * problem.minimum
    assert not result.success or methods.is_second_order(problem, result.x, 1e-4, methods.DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("name", CERTIFYING)
def test_the_full_bar_at_ten(name):
    for seed in range(10):
        assert_reached(name, 10, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zo-gd-ncf", "pagd", "neon2-gd"])
def test_the_full_bar_at_thirty(name):
    for seed in range(10):
        assert_reached(name, 30, seed)


@pytest.mark.slow
def test_the_full_bar_for_zpsgd():
    for seed in range(10):
        result, problem = methods.on_octopus("zpsgd", 10, seed)
        assert float(problem(result.x)) <= 0.99 * problem.minimum
