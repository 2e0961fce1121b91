"""Structure below the difference steps, behind stiffer variables or rotated, and inflections that are no minima."""

import tracemalloc

import numpy as np
import pytest

from escapade import certify, minimize
from escapade.problems import random_rotation

ROTATION = random_rotation(8, np.random.default_rng(0))


def stiff(*rest):
    """Curvatures of 1 and 0.5, and stiffer ones."""
    return np.array([1.0, 0.5, *rest])


def bump(x, w=0.02):
    return 1e9 + float(stiff(10, 10, 10) @ x**2) / 2 + 1.5 * w * w * np.exp(-(x[0] ** 2) / (2 * w * w))


def ripple(x):
    return 1e6 + float(stiff(10) @ x**2) / 2 + 2e-6 * np.cos(1000 * x[0])


def short_ripple(x):
    return float(stiff(*[10] * 18) @ x**2) / 2 + 3e-10 * np.cos(1e5 * x[0])


def rotated_ripple(x):
    y = ROTATION.T @ x
    return 1e9 + float(stiff(*[10] * 6) @ y**2) / 2 + 5e-4 * np.cos(100 * y[0])


SADDLES = {bump: 5, ripple: 3, short_ripple: 20, rotated_ripple: 8}


@pytest.mark.parametrize("fun", SADDLES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_a_saddle_hidden_below_the_steps_is_never_certified(fun, seed):
    x = np.zeros(SADDLES[fun])
    assert certify(fun, x, rng=seed).verdict in ("saddle", "undecided")
    for prefer in ("queries", "rounds"):
        result = minimize(fun, x, prefer=prefer, rng=seed)
        assert not (result.success and np.linalg.norm(result.x) < 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_an_inflection_across_the_gradient_is_no_minimum(seed):
    """b + a t + c t^2 / 2 + m t^3 / 6 has no root near 0, along a direction that no coordinate or gradient shows."""
    d, gtol = 30, 1e-4
    u = np.ones(d) / np.sqrt(d)
    Q = np.linalg.qr(np.column_stack([u, np.random.default_rng(0).standard_normal((d, d - 1))]))[0]
    Q[:, 0] = u
    a, b = np.full(d, 2.0), np.zeros(d)
    a[:2], slope = (1.1, 1.0), 0.45 * gtol / np.sqrt(10)
    b[0], b[2] = slope, 3 * slope
    c = 1.1 * a[0] ** 2 / (2 * slope)
    m = 0.2 * c * c / a[0] / 3

    def fun(x):
        y = Q.T @ x
        return float(b @ y + a @ y**2 / 2 + c * y[0] ** 3 / 6 + m * y[0] ** 4 / 24)

    assert certify(fun, np.zeros(d), rng=seed).verdict != "minimum"
    result = minimize(fun, np.zeros(d), rng=seed)
    near = np.linalg.norm(result.x) < 2e-4
    assert not (near and result.certificate is not None and result.certificate.verdict == "minimum")


@pytest.mark.parametrize("prefer", ["queries", "rounds"])
def test_saddles_on_which_no_coordinate_changes_are_left(prefer):
    def product(x):
        return (x[0] * x[1] - 1) ** 2

    def factors(x):
        return float(np.sum((np.eye(4) - x[:8].reshape(4, 2) @ x[8:].reshape(2, 4)) ** 2))

    for fun, d, least in ((product, 2, 0.0), (factors, 16, 2.0)):
        assert certify(fun, np.zeros(d), rng=0).verdict == "saddle"
        result = minimize(fun, np.zeros(d), prefer=prefer, rng=0)
        assert result.success
        assert result.fun == pytest.approx(least, abs=1e-6)


def test_looking_below_the_steps_of_many_variables_takes_little_memory():
    d = 5000
    curvature = np.linspace(1.0, 10.0, d)
    tracemalloc.start()
    certificate = certify(lambda x: x**2 @ curvature, np.zeros(d), vectorized=True, curvtol=0.1, maxfev=25_000, rng=0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert certificate.gradient.upper <= 1e-4
    assert most < 200e6  # all groups as rows would be 400 MB and more


@pytest.mark.parametrize("scale", [3e-6, 5e-6, 1e-5, 2e-5, 3e-5])
@pytest.mark.parametrize("d", [3, 10, 40])
@pytest.mark.parametrize("rotated", [False, True])
def test_a_run_along_a_ridge_that_its_steps_do_not_see(scale, d, rotated):
    """The ridge is narrower than the difference steps, and the start is on top of it; unless the ripple passes for
    noise, which a certificate says, the saddle at its end is not certified."""
    rng = np.random.default_rng(d)
    c = rng.uniform(0.5, 3, d)
    Q = random_rotation(d, rng) if rotated else np.eye(d)
    height = (c[0] + 0.3) * scale**2  # a curvature of -0.3 on top

    def ridge(x):
        y = Q.T @ x
        return 1.0 + float(c @ y**2) / 2 + 0.02 * float(np.sum(y[1:] ** 4)) + height * np.cos(y[0] / scale)

    y = rng.standard_normal(d)
    y[0] = 0.0
    result = minimize(ridge, Q @ y, rng=0, maxfev=300 * (d + 1))
    certificate = result.certificate
    if certificate is None or certificate.trusted["noise"].source == "estimated":
        return
    curvature = c[0] - height / scale**2 * np.cos(float((Q.T @ result.x)[0]) / scale)
    assert certificate.verdict in ("saddle", "undecided", "not stationary") or curvature >= -certificate.curvtol
