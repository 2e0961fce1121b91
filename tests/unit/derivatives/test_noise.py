"""Noise: its bounds, its floor, and how well a difference table measures it."""

import math

import numpy as np
import pytest

from escapade import Oracle
from escapade.derivatives import noise
from escapade.derivatives.noise import Noise, check_noise, rounding, table_estimate
from escapade.derivatives.settings import NOISE
from escapade.errors import InvalidSetting

SEEDS = 200


def table(sigma, seed, law="normal"):
    rng = np.random.default_rng(seed)
    t = 3e-5 * np.arange(NOISE.points + 1)
    normal, uniform = rng.standard_normal(len(t)), math.sqrt(3) * rng.uniform(-1, 1, len(t))
    errors = normal if law == "normal" else uniform
    slope, phase = rng.standard_normal(2)
    return 5.0 + slope * t + np.sin(t + phase) + sigma * errors


@pytest.mark.parametrize("law", ["normal", "uniform"])
@pytest.mark.parametrize("sigma", [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3])
def test_a_table_recovers_the_noise_within_a_factor_three(sigma, law):
    found = [table_estimate(table(sigma, seed, law)) for seed in range(SEEDS)]
    good = sum(e is not None and sigma / 3 <= e <= 3 * sigma for e in found)
    assert good >= 0.85 * SEEDS
    assert not any(e is not None and e > 30 * sigma for e in found)


def test_a_smooth_table_shows_no_more_than_rounding():
    found = [table_estimate(table(0.0, seed)) for seed in range(SEEDS)]
    assert all(e is None or e < 1e-14 for e in found)


def test_a_constant_or_exactly_linear_table_has_no_noise():
    assert table_estimate(np.full(NOISE.points + 1, 3.0)) is None
    assert table_estimate(np.arange(NOISE.points + 1.0)) is None


@pytest.mark.parametrize("sigma", [1e-6, 1e-3])
def test_measure_along_a_line(sigma):
    good = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        errors = np.random.default_rng(1000 + seed)
        f = Oracle.of(lambda x, e=errors: float(np.sum(x**2)) + sigma * e.standard_normal())
        x = rng.standard_normal(4)
        estimate = table_estimate(noise.table(f, x, np.ones(4), f.value(x), rng))
        good += estimate is not None and sigma / 3 <= estimate <= 3 * sigma
    assert good >= 40


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_norm_bounds(count):
    """Rounding: every vector of bounded errors. Normal noise: beyond it about once in 30,000 times."""
    rng = np.random.default_rng(count)
    rounding_ = Noise(2.0, "rounding")
    assert np.linalg.norm(2.0 * np.ones(count)) <= rounding_.norm(count) * (1 + 1e-12)
    assert np.linalg.norm(3.0 * np.ones(count)) <= rounding_.norm(count, 0.5) * (1 + 1e-12)
    given = Noise(2.0, "given")
    norms = np.linalg.norm(2.0 * rng.standard_normal((2000, count)), axis=1)
    assert norms.max() <= given.norm(count)
    assert norms.max() >= given.norm(count) / 4  # and it is a bound of the right size
    shared = 2.0 * (rng.standard_normal((2000, count)) + 0.5 * rng.standard_normal((2000, 1)))
    assert np.linalg.norm(shared, axis=1).max() <= given.norm(count, 0.5)


def test_rounding_is_relative_with_a_floor():
    assert rounding(np.zeros(2), 3.0) == 3.0 * 2.0**-52
    assert rounding(np.zeros(2, np.float32), 3.0) == 3.0 * 2.0**-23
    assert rounding(np.zeros(2), 0.0) == np.finfo(np.float64).smallest_normal


def test_check_noise():
    for good in (None, "auto", 0, 0.0, 1e-3, np.float32(2)):
        check_noise(good)
    for bad in ("none", True, -1e-9, math.nan, math.inf, [1.0]):
        with pytest.raises(InvalidSetting, match="noise="):
            check_noise(bad)


def test_a_few_differences_that_are_whole_by_chance_are_no_unit():
    """Values around the minimum of Rosenbrock's function: the least difference, 35 of it, and much larger ones."""
    values = np.cumsum([0.0, 4.4e-11, 35 * 4.4e-11, *(1e-6 * np.sqrt([2, 3, 5, 7, 11, 13]))])
    assert noise.quantum(values, 1e-20) is None
    assert noise.quantum(4.4e-11 * np.cumsum([0, 1, 35, 7, 3, 3, 1, 12, 8]), 1e-20) == pytest.approx(4.4e-11)
