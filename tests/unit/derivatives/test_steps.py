"""Difference steps, and the errors they leave."""

import math

import numpy as np
import pytest

from escapade import certify
from escapade.derivatives import steps
from escapade.derivatives.measure import measure
from escapade.derivatives.settings import STEPS
from escapade.errors import BelowPrecision
from escapade.oracle import Oracle

VALUE_ERRORS = [1e-16, 1e-9, 1e-4]
RANGE = np.linspace(0.2, 5, 400)


@pytest.mark.parametrize("value_error", VALUE_ERRORS)
@pytest.mark.parametrize("bound", [0.1, 1.0, 30.0])
def test_each_step_minimises_its_error(value_error, bound):
    for step, error in (
        (steps.forward_step(value_error, bound), lambda h: steps.forward_error(value_error, h, bound)),
        (steps.central_step(value_error, bound), lambda h: steps.central_error(value_error, h, bound)),
        (steps.second_step(value_error, bound), lambda h: 4 * value_error / h**2 + h**2 * bound / 12),
    ):
        assert error(step) <= min(error(k * step) for k in RANGE) * (1 + 1e-12)


@pytest.mark.parametrize("h", [1e-3, 0.1, 1.0])
def test_errors_are_attained(h):
    """The worst function and the worst noise of size value_error reach each bound, up to rounding 1e-9 of it."""
    value_error, bound = 0.01 * h**3, 3.0
    parabola, cubic = (lambda x: bound / 2 * x**2), (lambda x: bound / 6 * x**3)
    kink = lambda x: bound / 6 * abs(x) ** 3  # noqa: E731
    forward = ((parabola(h) + value_error) - (parabola(0.0) - value_error)) / h
    assert math.isclose(forward, steps.forward_error(value_error, h, bound), rel_tol=1e-9)
    central = ((cubic(h) + value_error) - (cubic(-h) - value_error)) / (2 * h)
    assert math.isclose(central, steps.central_error(value_error, h, bound), rel_tol=1e-9)
    second = ((kink(h) + value_error) - 2 * (kink(0.0) - value_error) + (kink(-h) + value_error)) / h**2
    assert math.isclose(second, steps.second_error(value_error, h, bound), rel_tol=1e-9)


@pytest.mark.parametrize("d", [1, 4, 9])
def test_product_error_is_lemma_1_and_noise(d):
    value_error, h, mu, rho = 1e-10, 1e-3, 1e-2, 2.0
    noise = math.sqrt(d) * 4 * value_error / (2 * mu) / h  # four values over 2 mu, in d coordinates
    lemma = rho * (h**2 / 2 + math.sqrt(d) * mu**2 / 3) / h
    assert math.isclose(steps.product_error(value_error, h, mu, rho, d), noise + lemma, rel_tol=1e-12)


def is_power_of_two(h):
    return np.all(np.frexp(h)[0] == 0.5)


def test_power_of_two():
    h = np.geomspace(1e-12, 1e3, 301)
    rounded = steps.power_of_two(h)
    assert is_power_of_two(rounded)
    assert np.all(np.abs(np.log2(rounded / h)) <= 0.5 + 1e-12)
    exact = 2.0 ** np.arange(-40, 10)
    assert np.array_equal(steps.power_of_two(exact), exact)


KINDS = {
    "gradient": lambda x, unit, value_error: steps.gradient_steps(x, unit, value_error),
    "curvature": lambda x, unit, value_error: steps.curvature_steps(x, unit, value_error, 0.1),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value_error", [0.0, 1e-12, 1e-3])
def test_steps_are_powers_of_two_between_their_floor_and_ceiling(kind, dtype, value_error):
    x = np.array([0.0, 1e-9, -1.0, 37.0, -1e6], dtype=dtype)
    unit = np.array([1.0, 1.0, 4.0, 0.5, 1.0])
    h = KINDS[kind](x, unit, value_error)
    y, eps = np.abs(x.astype(float)) / unit, float(np.finfo(dtype).eps)
    root = math.sqrt(2) * (1 + 1e-12)  # the rounding to a power of two
    assert is_power_of_two(h)
    assert np.all(h <= root * STEPS.longest * np.maximum(1, y) * unit)
    capped = np.minimum(STEPS.resolved * eps * y, STEPS.longest * np.maximum(1, y))
    assert np.all(h * root >= capped * unit)
    least = eps ** (1 / 3 if kind == "gradient" else 1 / 4)
    assert np.all(h * root >= min(least, STEPS.longest) * unit)
    if value_error == 0 and dtype == np.float64:  # nothing but the dtype decides at 0
        assert h[0] == 2.0 ** round(math.log2(least))
    moved = x + h.astype(dtype)
    assert np.all(moved != x)
    if dtype == np.float64:  # exact, but for the change of binade at 1e-9
        assert np.all((moved - x == h)[[0, 2, 3, 4]])


def test_noise_lengthens_the_steps_as_the_docstring_says():
    x, unit = np.zeros(1), np.ones(1)
    value_error, curvtol = 1e-9, 0.1
    h = steps.curvature_steps(x, unit, value_error, curvtol)[0]
    # Noise in a second difference stays below its share of the tolerance, up to the rounding of the step.
    assert 0.49 < 4 * value_error / h**2 / (STEPS.noise_share * curvtol) < 2.01
    g = steps.gradient_steps(x, unit, value_error)[0]
    assert abs(math.log2(g / steps.central_step(value_error))) <= 0.5


def test_require_resolved_names_value_floor_and_remedy():
    x = np.array([3.0, -4.0])
    floor = 2.0**-52 * 4
    steps.require_resolved("radius", 1.01 * floor, x, 0.0, 1.0)
    with pytest.raises(BelowPrecision, match=rf"radius={floor:.3g} is below.*float64.*\|x\| = 4.*drop"):
        steps.require_resolved("radius", floor, x, 0.0, 1.0)
    floor = math.sqrt(4 * 2.0**-52 * 5 / 2)
    steps.require_resolved("radius", 1.01 * floor, x, -5.0, 2.0)
    with pytest.raises(BelowPrecision, match=r"\|f\| = 5"):
        steps.require_resolved("radius", 0.99 * floor, x, -5.0, 2.0)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("given", [False, True])
def test_a_stiff_variable_has_steps_of_its_own_for_its_slope(offset, given):
    def fun(x):
        return offset + 1e4 * float(np.exp(50 * x[0]) - 50 * x[0]) + float(x[1] ** 2)

    x, rho = np.array([1e-5, 0.3]), 1e4 * 50**3 * math.exp(0.5)
    f = Oracle.of(fun)
    local = measure(f, x, curvtol=0.01, rho=rho if given else None, rng=np.random.default_rng(0))
    gradient, asked = local.sharpened().gradient, f.ledger.queries
    g, error = gradient.value, gradient.error
    truth = np.array([5e5 * math.expm1(50 * x[0]), 2 * x[1]])
    assert np.linalg.norm(g - truth) <= error < 1e-2
    local.sharpened()
    assert f.ledger.queries == asked


def test_a_gradient_is_measured_again_only_where_its_error_is_in_the_way():
    def fun(X):
        return np.sum(X**2, axis=1) + 20 * np.sum(X**3, axis=1)

    x, spent = np.full(4, 1e-3), {}
    size = float(np.linalg.norm(2 * x + 60 * x**2))
    for gtol in (size / 2, size, 2 * size):
        f = Oracle.of(fun, vectorized=True)
        local = measure(f, x, curvtol=0.01, gtol=gtol, rng=np.random.default_rng(0))
        seen = local.gradient_norm
        assert seen.lower <= size <= seen.upper
        spent[gtol] = f.ledger.queries
    assert spent[size / 2] == spent[2 * size] == spent[size] - 3 * 4
    finer = local.sharpened().gradient_norm
    assert finer.lower <= size <= finer.upper
    assert finer.upper - finer.lower < (seen.upper - seen.lower) / 100


def test_a_gradient_that_cannot_be_paid_for_is_the_one_known():
    def fun(x):
        return 0.5e8 * x[1] ** 2 * (1 + 100 * x[1]) + x[0] ** 2 / 2

    x, gaps = np.array([0.0, 1e-13]), []
    for budget in range(1, 120):
        seen = certify(fun, x, maxfev=budget, rng=0)
        assert seen.nfev <= budget
        slope = 1e-5 * (1.0 if seen.units is None else seen.units.lengths[1])
        assert seen.gradient.lower <= slope <= seen.gradient.upper
        gaps.append(seen.gradient.upper - seen.gradient.lower)
    assert gaps[0] == math.inf
    assert gaps[-1] < 1e-5


@pytest.mark.parametrize("fourth", [0.0, 1e4, 1e6])
def test_a_curvature_is_shown_by_second_differences_themselves(fourth):
    """On the first steps they are positive, and their extrapolation tells the curvature; shorter ones show it too."""
    f = Oracle.of(lambda x: -0.05 * float(x @ x) + fourth * float(np.sum(x**4)))
    local = measure(f, np.zeros(2), curvtol=0.1, rng=np.random.default_rng(0))
    along = local.curvature_along(np.array([0.6, 0.8]), -0.05)
    assert along.interval.lower <= -0.1 <= along.interval.upper <= -0.05
    assert along.at_most(-0.05)
    assert not along.at_most(-0.2)


def test_an_extrapolation_across_an_edge_shows_no_curvature():
    f = Oracle.of(lambda x: max(0.0, float(x[0]) - 0.01) ** 2)
    local = measure(f, np.zeros(1), curvtol=1e-2, noise=1e-6, rng=np.random.default_rng(0))
    for level in (-1e-9, -0.01):
        assert not local.curvature_along(np.ones(1), level).at_most(level)
