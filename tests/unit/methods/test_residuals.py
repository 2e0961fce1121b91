"""The parts of the method for residuals: steps, Broyden's correction, the Gaussian process, groups of columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from escapade.derivatives.residual_model import group_columns, variable_lengths
from escapade.methods.residuals.broyden import corrected
from escapade.methods.residuals.gaussian_process import Observations, fitted
from escapade.methods.residuals.step import boxed_step, trust_region_step


@given(st.integers(0, 10_000), st.integers(1, 8), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_a_trust_region_step_is_the_lowest_point_within_the_radius(seed, d, radius):
    rng = np.random.default_rng(seed)
    g, B = rng.standard_normal(d), rng.standard_normal((d, d))
    B = (B + B.T) / 2
    s = trust_region_step(g, B, radius)
    assert np.linalg.norm(s) <= radius * 1.1
    value = g @ s + s @ B @ s / 2
    others = rng.standard_normal((2000, d))
    others *= 0.9 * radius * rng.uniform(0, 1, (2000, 1)) / np.linalg.norm(others, axis=1, keepdims=True)
    least = np.min(others @ g + np.einsum("ij,jk,ik->i", others, B, others) / 2)
    assert value <= least + 1e-9 * abs(least)


@given(st.integers(0, 10_000), st.integers(1, 6))
@settings(deadline=None)
def test_a_step_in_a_box_is_feasible_and_leads_down(seed, d):
    rng = np.random.default_rng(seed)
    g, J = rng.standard_normal(d), rng.standard_normal((d + 2, d))
    B, low, high = J.T @ J, -rng.uniform(0, 1, d), rng.uniform(0, 1, d)
    low[rng.random(d) < 0.3] = 0.0
    high[rng.random(d) < 0.3] = np.inf
    s = boxed_step(g, B, 10.0, low, high)
    assert np.all(s >= low)
    assert np.all(s <= high)
    assert g @ s + s @ B @ s / 2 <= 1e-12
    pushed = np.where(((low >= 0) & (g > 0)) | ((high <= 0) & (g < 0)), 0.0, g)
    assert np.any(s != 0) == np.any(pushed != 0)


def test_broyden_takes_in_what_was_missed():
    rng = np.random.default_rng(0)
    J, s, missed = rng.standard_normal((4, 3)), rng.standard_normal(3), rng.standard_normal(4)
    np.testing.assert_allclose(corrected(J, s, missed) @ s, J @ s + missed)
    across = np.linalg.svd(s[None, :])[2][1:].T
    np.testing.assert_allclose(corrected(J, s, missed) @ across, J @ across, atol=1e-14)


def waves(z):
    return np.array([np.sin(z[0]) + z[1], z[0] * z[1], np.cos(z[1]) + z[0] ** 2])


def slopes(z):
    return np.array([[np.cos(z[0]), 1.0], [z[1], z[0]], [2 * z[0], -np.sin(z[1])]])


def observed(rng, points=14, noise=0.0):
    z0 = np.array([0.3, -0.2])
    known = Observations.none(2, 3).with_value(z0, waves(z0), noise**2)
    known = known.with_derivatives(z0, slopes(z0), noise**2)
    for _ in range(points):
        z = z0 + 0.5 * rng.standard_normal(2)
        known = known.with_value(z, waves(z) + noise * rng.standard_normal(3), noise**2)
    return known, z0


def test_the_process_goes_through_what_was_seen_and_predicts_what_was_not():
    known, z0 = observed(np.random.default_rng(0))
    process = fitted(known, z0, waves(z0))
    for z, seen, value in zip(known.z, known.seen, known.is_value, strict=True):
        if value:
            np.testing.assert_allclose(process.residuals(z - z0, waves(z0)), seen, atol=1e-3)
    np.testing.assert_allclose(process.jacobian(np.zeros(2)), slopes(z0), atol=1e-3)
    s = np.array([0.1, 0.15])
    np.testing.assert_allclose(process.residuals(s, waves(z0)), waves(z0 + s), atol=1e-2)


def test_derivatives_of_the_process_are_those_of_its_mean():
    known, z0 = observed(np.random.default_rng(1))
    process, s, h, by = fitted(known, z0, waves(z0)), np.array([0.2, -0.1]), 1e-4, np.array([1.0, -2.0, 0.5])
    ways = h * np.eye(2)
    J = np.array([(process.residuals(s + v, by) - process.residuals(s - v, by)) / (2 * h) for v in ways]).T
    np.testing.assert_allclose(process.jacobian(s), J, atol=1e-5)
    H = np.array([by @ (process.jacobian(s + v) - process.jacobian(s - v)) / (2 * h) for v in ways])
    np.testing.assert_allclose(process.second_order(s, by), H, atol=1e-5)


def test_under_noise_the_process_is_nearer_to_the_truth_than_what_was_seen():
    better = 0
    for seed in range(10):
        known, z0 = observed(np.random.default_rng(seed), points=30, noise=0.05)
        process = fitted(known, z0, known.seen[0], 0.05)
        truth = np.array([waves(z) for z in known.z[known.is_value > 0]])
        inside = np.array([process.residuals(z - z0, known.seen[0]) for z in known.z[known.is_value > 0]])
        better += np.linalg.norm(inside - truth) < np.linalg.norm(known.seen[known.is_value > 0] - truth)
    assert better >= 9


def test_the_nearest_and_newest_are_kept():
    known = Observations.none(1, 1)
    for z in (5.0, 0.1, 0.12, 0.1):
        known = known.with_value(np.array([z]), np.array([z]))
    np.testing.assert_array_equal(known.nearest(np.zeros(1), 2).z[:, 0], [0.12, 0.1])


@given(st.integers(0, 10_000))
def test_columns_of_a_group_share_no_row(seed):
    rng = np.random.default_rng(seed)
    depends = rng.random((12, 9)) < 0.25
    groups = group_columns(depends)
    assert sorted(np.concatenate(groups)) == list(range(9))
    assert all(depends[:, group].sum(axis=1).max() <= 1 for group in groups)


@pytest.mark.parametrize(
    ("x", "x0", "lengths"),
    [
        ([0.0, 0.0], None, [1, 1]),
        ([2.0, 3.0, 0.0], None, [2, 2, 2]),
        ([0.02, 4000.0, 250.0], [0.02, 4000.0, 250.0], [1 / 64, 256, 256]),
        ([1e-9, 1.0, 1.0], [1.0, 1.0, 1.0], [1, 1, 1]),  # small by chance
        ([0.2, 0.1, 0.3], [25.0, 40.0, 40.0], [0.5, 0.5, 0.5]),  # that came far
        ([1e4, 1.0, 1.0], None, [8192, 1, 1]),
    ],
)
def test_how_far_variables_matter(x, x0, lengths):
    found = variable_lengths(np.array(x), None if x0 is None else np.array(x0))
    np.testing.assert_array_equal(found, lengths)
