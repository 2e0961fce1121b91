"""The softest directions of a certificate, and its Hessian."""

import numpy as np
import pytest

from escapade import Certificate, certify, minimize
from escapade.errors import InvalidSetting
from escapade.problems import random_rotation

A = random_rotation(30, np.random.default_rng(0))
FAR = A @ np.diag(np.concatenate([[1e-3, 0.5], np.linspace(2, 30, 28)])) @ A.T


def decay(x):
    """A fit to which amplitude and offset are nearly the same: a difference of the two is hardly identified."""
    t = np.linspace(0, 0.1, 20)
    model = lambda a, b, k: a * np.exp(-k * t) + b  # noqa: E731
    return float(np.sum((model(*x) - model(1.0, 0.5, 0.3)) ** 2))


@pytest.mark.parametrize("given", [{}, {"gtol": 1e-6, "curvtol": 1e-3}])
def test_the_combination_that_is_not_identified_is_seen(given):
    x = np.array([1.0, 0.5, 0.3])
    c = certify(decay, x, rng=0, **given)
    assert c.holds
    table = c.softest_table(["a", "b", "k"]).splitlines()
    assert len(table) == len(c.softest) == 3
    assert "a" in table[0]
    assert "b" in table[0]
    assert "k" not in table[2] or len(table[2]) > len("k")
    lows = [one.curvature.lower for one in c.softest]
    assert lows == sorted(lows)
    h, exact = 1e-4, np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            e, g = h * np.eye(3)[i], h * np.eye(3)[j]
            exact[i, j] = (decay(x + e + g) - decay(x + e - g) - decay(x - e + g) + decay(x - e - g)) / (4 * h * h)
    assert np.allclose(c.hessian, exact, atol=1e-3 * np.abs(exact).max())
    assert "softest" in str(c)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("d", [6, 30])
def test_the_curvature_along_each_is_in_its_interval(seed, d):
    H = FAR[:d, :d]

    def fun(X):
        return np.einsum("ij,ij->i", X @ H, X) / 2 + np.sum(X**4, axis=1)

    c = certify(fun, np.zeros(d), gtol=1e-4, curvtol=1e-2, vectorized=True, rng=seed)
    assert c.softest
    for one in c.softest:
        assert np.isclose(np.linalg.norm(one.direction), 1.0)
        assert one.curvature.lower <= one.direction @ H @ one.direction <= one.curvature.upper


def test_the_hessian_is_that_in_the_variables_of_x():
    scale = np.array([1e-3, 1.0, 1e3])
    for options in ({}, {"x_scale": scale, "gtol": 1e-6, "curvtol": 1e-3}):
        c = certify(lambda x: float(np.sum((x / scale - 1) ** 2) + x[0] * x[2]), scale * 1.0, rng=0, **options)
        if c.hessian is not None:
            exact = np.diag(2 / scale**2)
            exact[0, 2] = exact[2, 0] = 1.0
            assert np.allclose(c.hessian * np.outer(scale, scale), exact * np.outer(scale, scale), atol=1e-3)


def test_a_run_has_it_too_and_json_keeps_both():
    res = minimize(decay, np.array([0.9, 0.6, 0.2]), rng=0)
    c = res.certificate
    assert c.softest
    again = Certificate.from_json(c.to_json())
    assert [one.curvature for one in again.softest] == [one.curvature for one in c.softest]
    assert np.array_equal(again.softest[0].direction, c.softest[0].direction)
    assert (res.hess is None) == (c.hessian is None)
    assert again.hessian is None if c.hessian is None else np.array_equal(again.hessian, c.hessian)


def test_names_are_as_many_as_parameters():
    c = certify(lambda x: float(x @ x), np.zeros(2), rng=0)
    with pytest.raises(InvalidSetting, match="names"):
        c.softest_table(["one"])
