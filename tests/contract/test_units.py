"""Answers do not depend on units: c f(x / s) from s x0 is answered as f from x0 is."""

import math

import numpy as np
import pytest

from escapade import certify, minimize
from escapade.derivatives.jumps import across
from escapade.derivatives.noise import Noise
from escapade.oracle import Failures, Oracle
from escapade.stopping import Stop


def rosenbrock(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def saddle(x):
    """A saddle at 0, minima at x0 = ±1 and 0 else."""
    return float(x[0] ** 4 / 4 - x[0] ** 2 / 2 + np.arange(1, len(x)) @ x[1:] ** 2)


def exponentials(x):
    with np.errstate(over="ignore", invalid="ignore"):  # far from 0, where lengths are not known yet
        return float(np.sum(np.exp(0.3 * x) + np.exp(-0.5 * x)) + 0.1 * np.sum(x[1:] * x[:-1]))


def hyperbola(x):
    """No curvature along the variables at 0."""
    return float(x[0] * x[1] + np.sum(x**4))


FUNCTIONS = {"rosenbrock": rosenbrock, "saddle": saddle, "exponentials": exponentials, "hyperbola": hyperbola}
STARTS = {"far": [-1.2, 2.0, 0.5], "uneven": [1.5, -0.3, 0.004]}


def in_units(fun, c, s):
    return lambda x: c * fun(x / s)


@pytest.mark.parametrize(("c", "s"), [(2.0**40, 1.0), (2.0**-20, 2.0**17), (1.0, 2.0**-30), (2.0**20, 2.0**30)])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_units_that_are_powers_of_two_change_no_bit(name, start, c, s):
    fun, x0 = FUNCTIONS[name], np.array(STARTS[start])
    one, other = minimize(fun, x0, rng=1), minimize(in_units(fun, c, s), s * x0, rng=1)
    assert other.nfev == one.nfev
    np.testing.assert_array_equal(other.x, s * one.x)
    assert other.fun == c * one.fun
    a, b = one.certificate, other.certificate
    assert b.verdict == a.verdict
    assert (b.gtol, b.curvtol, b.gradient.upper) == (c * a.gtol, c * a.curvtol, c * a.gradient.upper)
    np.testing.assert_array_equal(b.units.lengths, s * a.units.lengths)


@pytest.mark.parametrize("start", ["far", "zero"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_units_change_no_success(name, start):
    fun, x0 = FUNCTIONS[name], np.array(STARTS.get(start, np.zeros(3)))
    one, same = minimize(fun, x0, rng=1), 0
    units = [(1e12, 1.0), (1e-12, 1.0), (1.0, 1e9), (1.0, 1e-9)]
    for c, s in units:
        other = minimize(in_units(fun, c, s), s * x0, rng=1)
        same += other.success == one.success
        assert not (other.success and np.array_equal(other.x, s * x0)), "a saddle, or far from a minimum"
    assert one.success
    assert same >= 3


@pytest.mark.parametrize("c", [1e-9, 1.0, 1e9])
def test_an_answer_is_what_it_is_in_any_units(c):
    for s in (1e-7, 1.0, 1e6):
        scaled = in_units(saddle, c, s)
        assert certify(scaled, s * np.array([1.0, 0.0, 0.0]), rng=0).verdict == "minimum"
        assert certify(scaled, s * np.array([1.5, 0.2, 0.1]), rng=0).verdict == "not stationary"
        assert certify(scaled, np.zeros(3), rng=0).verdict == "saddle"


def test_small_units_are_not_certified_unmoved():
    """1e-6 f, and x in units of 1e5, were "second-order" at x0 by absolute tolerances."""
    for c, s in ((1e-6, 1.0), (1.0, 1e5)):
        x0 = s * np.array([1.3, 0.7])
        result = minimize(in_units(rosenbrock, c, s), x0, rng=0)
        assert result.success
        np.testing.assert_allclose(result.x, s, rtol=1e-5)


@pytest.mark.parametrize(("power", "least"), [(4, 0.0), (4, 1.0), (6, 0.0)])
def test_degenerate_minima_are_certified(power, least):
    """Their curvature vanishes; tolerances that were shares of it would be out of reach."""
    result = minimize(lambda x: least + float(np.sum((x - 1) ** power)), [3.0, -1.0, 0.5, 1.0], rng=0)
    assert result.certificate.verdict == "second-order"
    assert np.all(np.abs(result.x - 1) < 0.02)
    assert certify(lambda x: float(np.sum(x**power)), np.zeros(3), rng=0).holds


def test_the_result_names_its_units_and_says_that_it_did_not_move():
    result = minimize(lambda x: float(x @ x), [0.0, 0.0], rng=0)
    assert result.message.endswith("It is x0, unmoved.")
    assert "units" in str(result)
    assert "unmoved" not in minimize(lambda x: float(x @ x), [1.0, 0.0], rng=0).message


def test_given_tolerances_are_absolute():
    c = certify(lambda x: float(x @ x), [1e-3, 0.0], gtol=1e-2, rng=0)
    assert (c.gtol, c.curvtol, c.units) == (1e-2, 0.1, None)
    assert c.holds
    assert certify(lambda x: float(x @ x), [1e-3, 0.0], curvtol=1e-2, rng=0).gtol == pytest.approx(1e-4)


def test_a_given_scale_is_kept():
    result = minimize(in_units(rosenbrock, 1.0, 2.0**10), np.full(2, -1e3), x_scale=2.0**10, rng=0)
    assert result.success
    np.testing.assert_array_equal(result.certificate.units.lengths, np.full(2, 2.0**10))


# Jumps within the scale of f, and flat functions


def steps_of_a_solver(x, every=0.11, jump=1e-5):
    """Smooth around most points, with a gradient that is not that of what it approximates: it jumps here and there."""
    n = math.floor(float(np.sum(x)) / every)
    return float(np.sum((x - 1 - 1e-3 * np.sin(7.0 * n)) ** 2 * np.arange(1, len(x) + 1))) + jump * math.sin(9.0 * n)


def looked(fun, x, seed):
    f = Oracle.of(fun, failures=Failures.omitting("raise", None, None))
    tolerances = {"gtol": 1e-6, "curvtol": 1e-3, "rng": np.random.default_rng(seed)}
    found = across(f, x, np.ones(len(x)), np.ones(len(x)), Noise(1e-15, "rounding"), **tolerances)
    return found, f.ledger.queries


@pytest.mark.parametrize("seed", range(5))
def test_jumps_within_the_scale_are_seen(seed):
    found, queries = looked(steps_of_a_solver, np.full(3, 1.0), seed)
    assert queries == 24 + 28
    assert found.size >= 1e-6
    assert found.spacing < 0.1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_smooth_functions_do_not_jump(name):
    for seed in range(5):
        x = 1 + 0.3 * np.random.default_rng(seed).standard_normal(3)
        found, queries = looked(FUNCTIONS[name], x, seed)
        assert (found.size, queries) == (0.0, 24)


def test_a_kink_is_no_jump():
    for seed in range(5):
        found, _ = looked(lambda x: float(x @ x) + max(float(np.sum(x)) - 0.02, 0.0), np.zeros(3), seed)
        assert found.size == 0.0


def test_a_smooth_step_is_no_jump_where_it_is_wide_enough():
    for width, jumps in ((1e-2, False), (1e-5, True)):
        found, _ = looked(lambda x, w=width: math.tanh((x[0] - 0.01) / w), np.array([0.003]), 0)
        assert (found.size > 0) is jumps


def test_a_look_for_jumps_where_points_are_missing_shows_none():
    found, queries = looked(lambda x: math.nan if x[0] > 0.05 else 1e-4 * (x[0] > 0.0), np.zeros(2), 0)
    assert found.size == 0.0
    assert queries <= 24


def test_no_success_on_a_function_that_jumps():
    for seed in range(5):
        x0 = 1 + 0.3 * np.random.default_rng(seed).standard_normal(3)
        assert not minimize(steps_of_a_solver, x0, rng=seed, maxfev=2000).success


def test_a_constant_function_is_second_order_if_every_digit_counts():
    constant = certify(lambda x: 3.0, [1.0, 2.0], rng=0)
    assert constant.verdict == "undecided"
    assert "resolution=0" in constant.remedy
    believed = certify(lambda x: 3.0, [1.0, 2.0], resolution=0, rng=0)
    assert believed.verdict == "second-order"
    assert (believed.gradient.upper, believed.curvature.lower, believed.curvature.upper) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e25])
def test_a_deep_minimum_is_no_missing_bottom_in_any_unit(unit):
    def deep(x):
        return unit * (float(np.sum((x - 3) ** 2)) - 1e3)

    def falling(x):
        return unit * float(np.sum(x**3))

    assert minimize(deep, np.array([1.0, 5.0]), rng=0).success
    assert minimize(falling, np.array([-1.0, -2.0]), rng=0).stop is Stop.UNBOUNDED


def test_a_variable_that_ran_off_to_1e130_raises_nothing():
    def decay(x):
        with np.errstate(over="ignore", under="ignore"):
            return float((x[0] - 1) ** 2 + np.exp(-x[1]))

    for size in (1e40, 1e110, 1e150):
        assert certify(decay, np.array([1.0, size]), gtol=1e-4, rng=0).verdict in ("second-order", "undecided")
        assert certify(decay, np.array([1.0, size]), rng=0).verdict in ("second-order", "undecided")


@pytest.mark.parametrize(
    "fun", [lambda x: float(-((1 + x @ x) ** 0.4)), lambda x: float(-np.sum((1 + x * x) ** 0.4))], ids=["cone", "sum"]
)
def test_a_function_that_flattens_as_it_falls_has_no_minimum(fun):
    """Tolerances far from the start are shares of the curvature there, over the lengths that variables have there."""
    for seed in range(3):
        x0 = 2 * np.random.default_rng(seed).standard_normal(5)
        assert not minimize(fun, x0, rng=seed, maxfev=4000).success


def test_tolerances_are_shares_of_the_units_named_far_from_the_start_too():
    weights = np.array([1.0, 3.0, 10.0])
    res = minimize(lambda x: float(np.sum(weights * (x - 1000) ** 2)), [1.0, 2.0, -1.0], rng=0)
    cert, slope = res.certificate, 2 * weights * (res.x - 1000)
    assert cert.verdict == "minimum"
    assert cert.gtol == pytest.approx(1e-6 * cert.units.curvature)
    assert cert.curvtol == pytest.approx(1e-3 * cert.units.curvature)
    assert np.min(cert.units.lengths) > 100
    assert np.linalg.norm(slope * cert.units.lengths) <= cert.gradient.upper
    softest = np.min(2 * weights * cert.units.lengths**2)
    assert cert.curvature.lower <= softest <= cert.curvature.upper
    assert np.all(np.abs((res.x - 1000) / cert.units.lengths) <= cert.radius)


def tilted(x):
    """A strict saddle at (1, 1000): curvatures 5 and -1 in variables of such sizes."""
    u, v = x[0] - 1, x[1] / 1000 - 1
    return float(u**2 + v**2 + 3 * u * v + 0.1 * (u**4 + v**4))


def test_variables_of_very_different_size_hide_no_saddle():
    start = np.array([1.0, 1000.0])
    cert = certify(tilted, start, rng=0)
    assert cert.verdict == "saddle"
    assert max(cert.units.lengths) > 100 * min(cert.units.lengths)
    step = 0.1 * cert.direction / np.linalg.norm(cert.direction / cert.units.lengths)  # in x, as f takes it
    assert min(tilted(start + step), tilted(start - step)) < tilted(start)
    res = minimize(tilted, start, rng=0)
    assert res.success
    assert res.fun < -1


def test_curvature_that_is_negative_within_the_tolerance_is_said():
    flat = lambda x: float(x[0] ** 2 - 1e-4 * x[1] ** 2 + 1e-9 * x[1] ** 4)  # noqa: E731
    res = minimize(flat, [0.0, 0.0], gtol=1e-6, curvtol=1e-2)
    assert res.success
    assert "curve down there, by less than curvtol" in res.message


def test_a_saddle_that_a_solver_left_in_its_rounding_is_left():
    """Variables that are zero but for rounding tell no lengths, nor does the highest point of a parabola."""
    well = lambda x: float(0.5 * x[0] ** 2 - x[1] ** 2 + x[1] ** 4 / 4)  # noqa: E731
    ends = [
        minimize(well, 1e-8 * np.random.default_rng(k).standard_normal(2), rng=k)
        for k in range(8)
    ]
    assert all(abs(end.fun + 1) < 1e-3 for end in ends if end.success)
    assert sum(end.success for end in ends) >= 4
