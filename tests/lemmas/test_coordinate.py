"""Lemma 1 and the lemmas of the coordinate estimator, Zhang, Xiong & Gu (2022), up to rounding.

Every bound is enlarged by what rounding can do: an error e for each value, so 2 e sqrt(d) / mu for a difference.
"""

import math

import numpy as np
import pytest

from escapade.derivatives.paper import coord_gradient, coord_gradient_forward, hessian_vector

DIMENSIONS = [1, 2, 7, 30]
STEPS = [1e-4, 1e-2, 0.3, 2.0]


def norm(v):
    return float(np.linalg.norm(v))


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("mu", STEPS)
def test_gradient_bounds(ridges, oracle, d, mu):
    for seed in range(8):
        f = ridges(seed, d)
        x = np.random.default_rng(seed).standard_normal(d)
        slack = 2 * math.sqrt(d) * f.rounding(x) / mu
        central = norm(coord_gradient(oracle(f), x, mu) - f.gradient(x))
        forward = norm(coord_gradient_forward(oracle(f), x, mu) - f.gradient(x))
        assert central <= f.ell * math.sqrt(d) * mu + slack
        assert forward <= f.ell * math.sqrt(d) * mu + slack
        assert central <= f.rho * math.sqrt(d) * mu**2 / 6 + slack


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("mu", STEPS)
def test_steps_may_differ_by_coordinate(ridges, oracle, d, mu):
    """The bound, coordinate by coordinate."""
    f, rng = ridges(1, d), np.random.default_rng(d)
    x, h = rng.standard_normal(d), mu * rng.uniform(0.5, 1, d)
    slack = 2 * f.rounding(x) / h
    error = np.abs(coord_gradient(oracle(f), x, h) - f.gradient(x))
    assert np.all(error <= f.rho * h**2 / 6 + slack)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("mu", [1e-2, 0.3])
def test_the_central_bound_is_attained(oracle, d, mu):
    """By rho/6 sum x_i^3, whose Hessian diag(rho x) is rho-Lipschitz: rounding 1e-10 of the bound."""
    rho, x = 3.0, np.linspace(-1, 1, d)
    error = coord_gradient(oracle(lambda y: rho / 6 * (y**3).sum(axis=-1)), x, mu) - rho / 2 * x**2
    assert math.isclose(norm(error), rho * math.sqrt(d) * mu**2 / 6, rel_tol=1e-9 / mu)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_forward_bound_is_attained_but_for_a_factor_two(oracle, d):
    ell, mu, x = 3.0, 0.25, np.linspace(-1, 1, d)
    error = coord_gradient_forward(oracle(lambda y: ell / 2 * (y**2).sum(axis=-1)), x, mu) - ell * x
    assert math.isclose(norm(error), ell * math.sqrt(d) * mu / 2, rel_tol=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("length", [1e-3, 0.1, 1.0])
def test_hessian_vector_bound(ridges, oracle, d, mu, length):
    for seed in range(5):
        f, rng = ridges(seed, d), np.random.default_rng(seed)
        x, v = rng.standard_normal(d), rng.standard_normal(d)
        v *= length / norm(v)
        error = norm(hessian_vector(oracle(f), x, v, mu) - f.hessian(x) @ v)
        slack = 4 * math.sqrt(d) * f.rounding(x) / mu
        assert error <= f.rho * (length**2 / 2 + math.sqrt(d) * mu**2 / 3) + slack


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0])
def test_hessian_vector_is_exact_on_quadratics(oracle, d, mu):
    """rho = 0, so the error is rounding: 2 e / mu in each coordinate, e = 8 d eps |f|."""
    rng = np.random.default_rng(d)
    a = rng.standard_normal((d, d))
    a, b, x, v = a + a.T, rng.standard_normal(d), rng.standard_normal(d), rng.standard_normal(d)
    size = np.sum(np.abs(a)) * (np.max(np.abs(x)) + np.max(np.abs(v)) + mu) ** 2
    error = norm(hessian_vector(oracle(lambda y: ((y @ a) * y).sum(axis=-1) / 2 + y @ b), x, v, mu) - a @ v)
    assert error <= math.sqrt(d) * 2 * 8 * d * 2.0**-52 * size / mu


def test_the_first_term_of_the_hessian_vector_bound_is_attained(oracle):
    """By rho/6 sum x_i^3 along a coordinate, where the errors of the two gradients cancel."""
    rho, mu, v = 3.0, 0.25, np.array([0.5, 0.0, 0.0])
    error = hessian_vector(oracle(lambda y: rho / 6 * (y**3).sum(axis=-1)), np.ones(3), v, mu) - rho * v
    assert math.isclose(norm(error), rho * 0.5**2 / 2, rel_tol=1e-12)


def test_the_second_term_of_the_hessian_vector_bound_is_attained(oracle):
    """By -rho/6 |x|^3 between x = -mu and x + v = mu, where its third derivative changes sign.

    The two gradients err by rho mu^2 / 6 in opposite senses, and f'(x + v) - f'(x) - f''(x) v = rho v^2 / 4.
    """
    rho, mu = 3.0, 0.25
    f = oracle(lambda y: -rho / 6 * np.abs(y[:, 0]) ** 3)
    product = hessian_vector(f, np.array([-mu]), np.array([2 * mu]), mu)
    exact, mean = -rho * mu * 2 * mu, -rho * mu**2
    assert math.isclose(product[0] - mean, -rho * mu**2 / 3, rel_tol=1e-12)
    assert abs(product[0] - exact) <= rho * ((2 * mu) ** 2 / 2 + mu**2 / 3)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_step_along_negative_curvature_lowers_f(ridges, d):
    """Claim C.2 of Neon2: f(y) - E f(y ± delta/rho v) >= delta^3 / (12 rho^2), rounding 1e-12."""
    for seed in range(20):
        f = ridges(seed, d)
        y = np.random.default_rng(seed).standard_normal(d)
        values, vectors = np.linalg.eigh(f.hessian(y))
        if values[0] >= 0:
            continue
        delta, v = -2 * values[0], vectors[:, 0]
        after = (f(y + delta / f.rho * v) + f(y - delta / f.rho * v)) / 2
        assert f(y) - after >= delta**3 / (12 * f.rho**2) - 1e-12


def test_and_by_no_more_than_that_in_the_worst_case():
    delta, rho = 0.5, 3.0
    f = lambda x: -delta / 4 * x**2 + rho / 6 * abs(x) ** 3  # noqa: E731
    assert math.isclose(-(f(delta / rho) + f(-delta / rho)) / 2, delta**3 / (12 * rho**2), rel_tol=1e-12)
