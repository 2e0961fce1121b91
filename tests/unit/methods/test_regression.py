"""Regression models of noisy values: what they find, how sure they are, and the lowest point of a model."""

import numpy as np
import pytest

from escapade.methods.auto.regression import Frame, Guess, Regression, Sample, lowest_within
from escapade.methods.auto.settings import REGRESSION


def sample(frame, X, values, noise):
    u = frame.inside(X)
    distance = np.linalg.norm(u, axis=1)
    order = np.argsort(distance, kind="stable")
    return Sample(
        order, u[order], values[order], np.full(len(X), noise), distance[order], float(np.ptp(values)) or 1.0
    )


def problem(d, seed, count=None):
    """A quadratic, a frame, and points in it, its centre first."""
    rng = np.random.default_rng([seed, d])
    A = rng.standard_normal((d, d))
    H, g, c = A + A.T, rng.standard_normal(d), rng.standard_normal(d)
    frame = Frame.plain(c, 0.3).fitting(H)
    u = rng.uniform(-1, 1, (count or (d + 1) * (d + 2), d))
    u[0] = 0.0
    X = np.array([frame.outside(one) for one in u])
    values = 2.0 + (X - c) @ g + np.einsum("ki,ij,kj->k", X - c, H, X - c) / 2
    return rng, H, g, frame, X, values


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_exact_values_of_a_quadratic_give_its_derivatives(d, seed):
    _, H, g, frame, X, values = problem(d, seed)
    guess = Guess(np.zeros((d, d)), 1.0, 1e-9)
    model = Regression.of(frame, sample(frame, X, values, 0.0), guess, 1.0)
    scale = np.linalg.norm(frame.inverse, 2) ** 2 * np.ptp(values) / frame.radius**2
    assert np.allclose(model.hessian_outside, H, atol=1e-4 * scale)
    assert np.allclose(frame.inverse @ model.gradient / frame.radius, g, atol=1e-4 * scale)
    s = np.full(d, 0.2)
    assert model.changes(s[None, :])[0] == pytest.approx(model.change(s))


def test_a_hessian_that_fits_is_kept_by_few_values():
    """The model of least change of the Hessian: Powell, 2004."""
    _, H, _, frame, X, values = problem(4, 0, count=6)
    inside = frame.radius**2 * frame.metric @ H @ frame.metric
    model = Regression.of(frame, sample(frame, X, values, 0.0), Guess(inside, 1.0, 1e-9), 1.0)
    assert np.linalg.norm(model.hessian - inside) < 0.03 * np.linalg.norm(inside)  # slopes have a wide prior, not none


def test_the_errors_of_the_gradient_are_as_large_as_the_model_thinks():
    """Where f is a quadratic and the noise is known; elsewhere nothing is claimed from it."""
    off = []
    for seed in range(60):
        rng, _, g, frame, X, values = problem(3, seed)
        noise = 0.05 * float(np.ptp(values))
        seen = sample(frame, X, values + noise * rng.standard_normal(len(X)), noise)
        model = Regression.of(frame, seen, Guess(np.zeros((3, 3)), 3.0, 1e-9), 1.0)
        errors = model.gradient - frame.radius * frame.metric @ g
        off.append(float(errors @ np.linalg.solve(model.gradient_covariance, errors)) / 3)
    assert 0.5 < np.mean(off) < 1.6
    assert np.mean(np.array(off) > 16 / 3) < 0.03  # chi^2 of 3 exceeds 16 once in 900


def test_a_rough_function_is_found_to_be_rougher_than_it_was_said_to_be():
    rng, _, _, frame, X, values = problem(2, 0, count=40)
    said = 1e-3 * float(np.ptp(values))
    seen = sample(frame, X, values + 30 * said * rng.standard_normal(40), said)
    model = Regression.of(frame, seen, Guess(np.zeros((2, 2)), 1.0, 1e-6), 1.0)
    for _ in range(6):
        model = Regression.likeliest(frame, seen, model.guess, 1.0, rough=True)
    assert 3 <= model.guess.noise <= 100
    assert model.noise == pytest.approx(model.guess.noise * said)
    assert Regression.likeliest(frame, seen, Guess(np.zeros((2, 2)), 1.0, 1e-6), 1.0, rough=False).guess.noise == 1.0


@pytest.mark.parametrize("kind", ["convex", "indefinite", "hard", "flat", "none"])
def test_no_point_of_the_region_is_lower_than_the_step(kind):
    for seed in range(20):
        rng = np.random.default_rng([seed, 5])
        A, g = rng.standard_normal((4, 4)), rng.standard_normal(4)
        hard = np.diag([-1.0, 0.5, 1.0, 2.0])
        H = {"convex": A @ A.T, "indefinite": A + A.T, "hard": hard, "flat": 0 * A}.get(kind, A)
        H, g = (H + H.T) / 2, (np.r_[0.0, 0.1 * g[1:]] if kind == "hard" else 0 * g if kind == "none" else g)
        s = lowest_within(g, H, 0.7)
        value = g @ s + s @ H @ s / 2
        assert np.linalg.norm(s) <= 0.7 * (1 + 1e-9)
        others = rng.standard_normal((2000, 4))
        others *= 0.7 * (rng.random((2000, 1)) ** 0.25) / np.linalg.norm(others, axis=1, keepdims=True)
        lowest = np.min(others @ g + np.einsum("ki,ij,kj->k", others, H, others) / 2)
        assert value <= lowest + 1e-9 * (np.linalg.norm(H) + np.linalg.norm(g))


def test_a_metric_is_bounded_and_keeps_volumes():
    frame = Frame.plain(np.zeros(3), 1.0).fitting(np.diag([1e8, 1.0, -1e-8]))
    sizes = np.linalg.eigvalsh(frame.metric)
    assert np.prod(sizes) == pytest.approx(1.0)
    assert sizes[-1] / sizes[0] <= REGRESSION.flattest**-REGRESSION.power * (1 + 1e-9)
    assert np.allclose(frame.metric @ frame.inverse, np.eye(3))
    assert Frame.plain(np.zeros(2), 1.0).fitting(np.zeros((2, 2))).metric.tolist() == np.eye(2).tolist()
