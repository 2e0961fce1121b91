"""Bounds from groups of samples: what they promise, counted, and that the search finds the worst direction."""

import math

import numpy as np
import pytest
from scipy.special import erf

from escapade.curvature.group_bounds import (
    gradient_norm,
    least_by_inequality,
    least_over_directions,
    smallest_eigenvalue,
    student,
)
from escapade.curvature.small_ball import directions, failure_of, forms_for, radius_of, relative_spread
from escapade.derivatives.groups import critical, mean_above, mean_below, standard_error

DRAWS = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": lambda rng, shape: (np.exp(0.5) - np.exp(rng.standard_normal(shape))) / 2.161,
    "student": lambda rng, shape: rng.standard_t(5, shape) / math.sqrt(5 / 3),
}
"""Samples of mean 0 and deviation 1; the lognormal ones have their long tail on the side that a bound must not miss."""


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize(("p", "allowed"), [(0.05, 1.25), (0.01, 1.6)])
def test_a_lower_bound_on_a_mean_misses_as_often_as_it_says(kind, p, allowed):
    """1,024 samples in 128 groups; a lognormal's skewness of 6.2 leaves the level a little above p, not at twice it."""
    rng = np.random.default_rng(700)
    q = DRAWS[kind](rng, (128, 8, 4000)).mean(axis=1)
    missed = np.mean(q.mean(axis=0) - critical(q, p) * standard_error(q) > 0)
    assert missed <= allowed * p + 3 * math.sqrt(p / 4000)
    assert missed >= p / 3


def test_skewness_is_corrected_only_where_it_is_dangerous():
    rng = np.random.default_rng(701)
    q = np.exp(rng.standard_normal(128))
    assert critical(q[:, None], 1e-3)[0] == pytest.approx(student(128, 1e-3))
    assert critical(-q[:, None], 1e-3)[0] > 1.1 * student(128, 1e-3)
    assert mean_above(q, 1e-3) < q.mean() < mean_below(q, 1e-3)


def _hessians(rng, d, G, spread=1.0):
    A = rng.standard_normal((G, d, d))
    return np.diag(np.linspace(0, 1, d)) + spread * (A + A.transpose(0, 2, 1)) / 2


@pytest.mark.parametrize("d", [1, 2, 5, 12])
@pytest.mark.parametrize("seed", [702, 703])
def test_no_direction_tried_at_random_is_worse_than_the_one_found(d, seed):
    rng = np.random.default_rng(seed)
    H = _hessians(rng, d, 128)
    least, proved = least_over_directions(H, 1e-3, 1.0, rng)
    assert proved is (d == 1)
    V = rng.standard_normal((5_000, d))
    V /= np.linalg.norm(V, axis=1)[:, None]
    q = np.einsum("ki,gij,kj->gk", V, H, V, optimize=True)
    values = q.mean(axis=0) - critical(q, 1e-3) * standard_error(q)
    assert least <= values.min() + 5e-3
    assert least_by_inequality(H, float(critical(q, 1e-3).max())) <= least + 5e-3


def test_the_inequality_proves_what_is_far_from_the_threshold():
    rng = np.random.default_rng(705)
    H = _hessians(rng, 4, 64, spread=0.05)
    _, proved = least_over_directions(H, 1e-3, -0.2, rng)
    assert proved


@pytest.mark.parametrize("kind", DRAWS)
def test_false_certificates_at_the_boundary_are_as_rare_as_promised(kind):
    """The smallest eigenvalue is 2% below the tolerance, along a direction of its own spread."""
    rng, p, runs, d, wrong = np.random.default_rng(706), 0.05, 300, 3, 0
    for _ in range(runs):
        noise = DRAWS[kind](rng, (64, 16, d)).mean(axis=1)
        H = np.zeros((64, d, d))
        H[:, np.arange(d), np.arange(d)] = np.array([-1.02, 0.0, 1.0]) + noise
        wrong += smallest_eigenvalue(H, p, -1.0, rng).curvature.lower >= -1.0
    assert wrong <= p * runs + 3 * math.sqrt(p * runs)


def test_the_norm_of_a_gradient_lies_in_its_interval():
    rng, p, d, wrong = np.random.default_rng(707), 0.05, 4, [0, 0]
    g = np.array([1.0, 0.5, 0.0, -0.2])
    for _ in range(400):
        seen = gradient_norm(g + DRAWS["lognormal"](rng, (64, 16, d)).mean(axis=1), p, rng)
        wrong[0] += seen.upper < np.linalg.norm(g)
        wrong[1] += seen.lower > np.linalg.norm(g)
    assert sum(wrong) <= p * 400 + 3 * math.sqrt(p * 400)


@pytest.mark.parametrize(("m", "tau"), [(3, 0.0079), (6, 0.083), (10, 0.229), (20, 0.555)])
def test_radii_of_forms(m, tau):
    assert radius_of(m, 1e-3) == pytest.approx(tau, rel=0.02)
    assert failure_of(m, radius_of(m, 1e-3)) == pytest.approx(1e-3)


@pytest.mark.parametrize("others", [0.0, 0.9, -0.9, 5.0])
def test_forms_of_a_matrix_with_an_eigenvalue_below_minus_one_are_rarely_all_small(others):
    """Whatever its other eigenvalues are; those that cancel the first come nearest to the bound."""
    rng, m = np.random.default_rng(708), 4
    eigenvalues = np.array([-1.0, others, others / 2])
    for tau in (0.1, 0.4):
        forms = np.abs((rng.standard_normal((40_000, m, 3)) ** 2) @ eigenvalues)
        assert np.mean(np.all(forms <= tau, axis=1)) <= float(erf(math.sqrt(tau))) ** m + 0.004


def test_random_directions_are_preconditioned_and_a_price_is_weighed():
    rng = np.random.default_rng(709)
    B = np.diag([0.5, 2.0, 8.0])
    U = directions(B, 0.1, 4000, rng)
    assert np.allclose(U.T @ U / 4000, np.diag(1 / (np.diag(B) + 0.1)), atol=0.15)
    assert directions(-B, 0.1, 3, rng) is None
    H = B + 0.1 * _hessians(rng, 3, 64)
    assert relative_spread(H, 0.1) < relative_spread(H, 0.0) < math.inf
    few, more = forms_for(1.0, 1e-3, form=1.0, sample=1e-6)
    many, less = forms_for(1.0, 1e-3, form=1e-6, sample=1.0)
    assert few < many
    assert more > less >= 1.0
