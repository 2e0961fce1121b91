"""The law of noise: its size as a function of the size of values."""

import numpy as np
import pytest

from escapade.derivatives.values import EXACT, ValueKind, ValueReport
from escapade.methods.auto.noise_law import NoiseLaw, NoiseRecord

SIZES = (100.0, 20.0, 4.0, 0.8, 0.16)
"""As far apart as a run measures them."""


def law(*records, kind=ValueKind.NOISE):
    return NoiseLaw(kind, 1e-16, [NoiseRecord(size, level, 5) for size, level in records])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_power_of_the_size_is_followed_within_the_sizes_that_were_measured(power):
    """Half a power is that of sums of squares, and of counts."""
    known = law(*((size, 0.01 * size**power) for size in SIZES))
    values = np.geomspace(0.16, 100, 30)
    assert np.allclose(known.deviation(values), 0.01 * values**power, rtol=0.1)
    below = np.array([0.05])  # half a decade further down, where it will be measured next
    assert 0.6 < known.deviation(below)[0] / (0.01 * below[0] ** power) < 1.5


def test_measured_levels_that_scatter_leave_the_law_within_a_factor_of_two():
    values, off = np.geomspace(0.16, 100, 20), []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        known = law(*((size, 0.01 * np.sqrt(size * rng.chisquare(5) / 5)) for size in SIZES))
        off.append(known.deviation(values) / (0.01 * np.sqrt(values)))
    assert np.mean((np.array(off) > 0.5) & (np.array(off) < 2)) > 0.97
    assert 0.85 < np.median(off) < 1.15


def test_one_record_is_taken_in_proportion_and_none_leaves_rounding():
    assert np.allclose(law((10.0, 0.1)).deviation(np.array([100.0, 10.0, 2.0])), [1.0, 0.1, 0.02])
    assert law((10.0, 0.1)).deviation(np.array([0.0]))[0] > 0  # not below a tenth of the smallest size
    silent = NoiseLaw.of(EXACT, 1e-16)
    assert silent.silent
    assert silent.deviation(np.array([2.0]))[0] == 2e-16


def test_values_that_are_all_zero_leave_a_law_that_is_a_number():
    known = law((10.0, 0.1), (1e-300, 0.0))
    assert np.all(np.isfinite(known.deviation(np.array([0.0, 1e-200, 1.0, 10.0]))))
    assert known.deviation(np.array([10.0]))[0] == pytest.approx(0.1, rel=1e-6)


def test_digits_stay_in_proportion():
    known = law((10.0, 1e-5), (1.0, 1e-5), kind=ValueKind.DIGITS)
    assert known.deviation(np.array([1e-6]))[0] <= 1e-10


def test_another_law_replaces_the_records_that_it_contradicts():
    rng = np.random.default_rng(0)
    known = NoiseLaw.of(ValueReport(ValueKind.NOISE, 1e-3, 1.0), 1e-16)
    known.add(1.0 + 0.1 * rng.standard_normal(7), 1.0)
    assert len(known.records) == 1
    assert known.deviation(np.array([1.0]))[0] > 0.03
    known.add(np.full(7, 1.0) + 1e-17, 1.0)
    assert known.gone


def test_roughness_is_not_measured_by_close_values():
    rough = NoiseLaw.of(ValueReport(ValueKind.NOISE, 1e-3, 1.0, spacing=1e-3), 1e-16)
    assert not rough.unknown(1e-9, 0.0, again=True)
