"""The cubic subproblem against brute force, the hard case included."""

import numpy as np
import pytest
from scipy.optimize import minimize

from escapade.methods.scrn import cubic_step


def model(s, g, H, alpha):
    return g @ s + s @ H @ s / 2 + alpha * np.linalg.norm(s) ** 3 / 6


def brute_force(g, H, alpha, rng):
    """The least value of many local searches."""
    radius = 4 * (np.linalg.norm(H, 2) + np.sqrt(alpha * np.linalg.norm(g))) / alpha + 1e-3
    starts = radius * rng.uniform(-1, 1, (60, len(g)))
    return min(minimize(model, s, args=(g, H, alpha), options={"gtol": 1e-10}).fun for s in starts)


def assert_optimal(s, g, H, alpha):
    """The conditions of a global minimiser: stationary, and H + alpha |s| / 2 >= 0."""
    scale = np.linalg.norm(g) + np.linalg.norm(H, 2) ** 2 / alpha + 1e-300
    shift = alpha * np.linalg.norm(s) / 2
    assert np.linalg.norm(g + H @ s + shift * s) <= 1e-7 * scale
    assert np.linalg.eigvalsh(H)[0] + shift >= -1e-7 * (np.linalg.norm(H, 2) + 1e-300)


def symmetric(rng, d):
    A = rng.standard_normal((d, d))
    return (A + A.T) / 2


@pytest.mark.parametrize("seed", range(6))
def test_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    g, H, alpha = rng.standard_normal(d), symmetric(rng, d), float(rng.uniform(0.2, 5))
    s = cubic_step(g, H, alpha)
    assert model(s, g, H, alpha) <= brute_force(g, H, alpha, rng) + 1e-8
    assert_optimal(s, g, H, alpha)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-6, 1.0, 1e6])
def test_scales_of_the_gradient(alpha, size):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        g, H = size * rng.standard_normal(5), symmetric(rng, 5)
        assert_optimal(cubic_step(g, H, alpha), g, H, alpha)
        definite = H @ H + 0.1 * np.eye(5)
        assert_optimal(cubic_step(g, definite, alpha), g, definite, alpha)


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.3])
def test_the_hard_case(size):
    """No part of g along the lowest eigenvector: that vector makes up the length -2 lambda / alpha."""
    rng = np.random.default_rng(0)
    for alpha in (0.5, 2.0):
        H = np.diag([-1.0, 2.0, 3.0])
        g = np.array([0.0, size, -size])
        s = cubic_step(g, H, alpha)
        assert np.linalg.norm(s) == pytest.approx(2 / alpha, rel=1e-9)
        assert_optimal(s, g, H, alpha)
        assert model(s, g, H, alpha) <= brute_force(g, H, alpha, rng) + 1e-8


def test_a_hard_case_with_a_double_lowest_eigenvalue():
    H, g = np.diag([-1.0, -1.0, 2.0]), np.array([0.0, 0.0, 0.1])
    s = cubic_step(g, H, 1.0)
    assert_optimal(s, g, H, 1.0)
    assert np.linalg.norm(s) == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("tiny", [1e-17, 1e-15, 1e-13, 1e-10, 1e-7])
def test_nearly_hard_cases(tiny):
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    H = Q @ np.diag([-1.0, 0.5, 2.0, 3.0]) @ Q.T
    g = Q @ np.array([tiny, 0.2, -0.1, 0.3])
    assert_optimal(cubic_step(g, H, 1.0), g, H, 1.0)


def test_nothing_to_do():
    assert np.array_equal(cubic_step(np.zeros(3), np.eye(3), 1.0), np.zeros(3))
    assert np.linalg.norm(cubic_step(np.zeros(3), np.zeros((3, 3)), 1.0)) <= 1e-100
