"""The octopus against its definition read line by line."""

import math

import numpy as np
import pytest

from escapade.problems import Octopus


def literal(x: np.ndarray, tau: float, L: float, gamma: float) -> float:
    """The definition, one branch and one index at a time, indices from 1."""
    d = len(x)
    a = [0.0] + [abs(float(v)) for v in x]

    def g1(s):
        cube = (10 * gamma - 14 * L) / (3 * tau) * (s - tau) ** 3
        return -gamma * s**2 + cube + (5 * L - 3 * gamma) / (2 * tau**2) * (s - tau) ** 4

    def g2(s):
        u = (s - 2 * tau) / tau
        return -gamma - (L + gamma) * (10 * u**3 + 15 * u**4 + 6 * u**5)

    nu = 4 * L * tau**2 - g1(2 * tau)
    i = next((k for k in range(1, d + 1) if a[k] <= 2 * tau), d + 1)
    total = sum(L * (a[j] - 4 * tau) ** 2 for j in range(1, i)) - (i - 1) * nu
    if i == d + 1:
        return total
    if a[i] <= tau:
        total += -gamma * a[i] ** 2 + sum(L * a[j] ** 2 for j in range(i + 1, d + 1))
    else:
        total += g1(a[i]) + sum(L * a[j] ** 2 for j in range(i + 2, d + 1))
        if i < d:
            total += g2(a[i]) * a[i + 1] ** 2
    return total + (L + gamma) / tau * sum(max(a[j] - tau, 0) ** 3 for j in range(i + 1, d + 1))


@pytest.mark.parametrize("parameters", [(math.e, math.e, 1.0), (1.0, 2.0, 0.5)])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_matches_the_literal_definition(d, parameters):
    tau, L, gamma = parameters
    octopus = Octopus(d=d, tau=tau, L=L, gamma=gamma)
    rng = np.random.default_rng(d)
    knots = tau * rng.choice([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0], (200, d))
    tube = np.array([s for s in (*octopus.saddles, *octopus.minima) for _ in range(20)])
    tube = tube + tau * rng.uniform(-2, 2, tube.shape) * (rng.random(tube.shape) < 0.5)
    for X in (knots, tube, tau * rng.uniform(-7, 7, (300, d))):
        expected = [literal(x, tau, L, gamma) for x in X]
        np.testing.assert_allclose(octopus(X), expected, rtol=1e-12, atol=1e-10)


def test_default_constants():
    octopus = Octopus(d=10)
    assert octopus.nu == pytest.approx(139.870432574, abs=1e-9)
    assert octopus.minimum == pytest.approx(-1398.70432574, abs=1e-7)
    assert octopus.ell == pytest.approx(14.386, abs=1e-3)
    assert [float(octopus(s)) for s in octopus.saddles] == pytest.approx([-k * octopus.nu for k in range(10)])


def test_curvature_at_the_saddles_and_minima():
    octopus = Octopus(d=4)
    for s in octopus.saddles:
        np.testing.assert_allclose(np.linalg.eigvalsh(octopus.hessian(s)), [-2.0] + 3 * [2 * math.e])
    np.testing.assert_allclose(np.linalg.eigvalsh(octopus.hessian(octopus.minima[0])), 4 * [2 * math.e])


def test_derivatives_in_the_middle_of_a_leg():
    octopus = Octopus(d=4)
    for i in range(4):
        x = octopus.saddles[i].copy()
        x[i], x[i + 1 :] = -1.5 * octopus.tau, 0.4
        x[i + 1 : i + 2] *= -1
        steps = 1e-4 * np.eye(4)
        gradient = np.array([(octopus(x + s) - octopus(x - s)) / 2e-4 for s in steps])
        hessian = np.array([(octopus.gradient(x + s) - octopus.gradient(x - s)) / 2e-4 for s in steps])
        np.testing.assert_allclose(octopus.gradient(x), gradient, atol=1e-5)
        np.testing.assert_allclose(octopus.hessian(x), hessian, atol=1e-5)


def test_smoothness_constants_hold_on_the_path_and_ell_is_reached():
    octopus = Octopus(d=3)
    legs = np.linspace(0, 4 * octopus.tau, 400)
    path = [np.array([4 * octopus.tau] * k + [s] + [0.0] * (2 - k)) for k in range(3) for s in legs]
    hessians = np.array([octopus.hessian(x) for x in path])
    curvature = np.abs(np.linalg.eigvalsh(hessians)).max()
    assert 0.999 * octopus.ell < curvature <= octopus.ell
    change = np.linalg.norm(np.diff(hessians[:400], axis=0), 2, axis=(1, 2)) / np.diff(legs)
    assert change.max() <= octopus.rho


def test_twice_continuously_differentiable_in_the_tube():
    octopus = Octopus(d=3)
    for knot in (1, 2):
        for sign in (-1, 1):
            below, above = (np.array([sign * knot * octopus.tau * (1 + s), 0.3, -0.2]) for s in (-1e-9, 1e-9))
            assert float(octopus(below)) == pytest.approx(float(octopus(above)), abs=1e-5)
            np.testing.assert_allclose(octopus.gradient(below), octopus.gradient(above), atol=1e-5)
            np.testing.assert_allclose(octopus.hessian(below), octopus.hessian(above), atol=1e-5)


def test_the_wall_bounds_the_function_where_the_original_falls_without_end():
    octopus = Octopus(d=2)
    reach = octopus.tau * np.geomspace(2, 1e6, 50)
    values = octopus(np.stack([np.full(50, 1.99 * octopus.tau), reach], axis=1))
    assert values.min() > octopus.minimum
    assert np.all(np.diff(values) > 0)


def test_the_wall_is_silent_in_the_tube():
    octopus = Octopus(d=3)
    inside = np.array([4 * octopus.tau, 0.1, octopus.tau * 0.999])
    assert float(octopus(inside)) == pytest.approx(octopus.L * inside[2] ** 2 - 0.01 - octopus.nu)


@pytest.mark.parametrize("wrong", [{"d": 0}, {"d": 2, "tau": 0.0}, {"d": 2, "gamma": -1.0}, {"d": 2, "L": math.inf}])
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match="must be"):
        Octopus(**wrong)
