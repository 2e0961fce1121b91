"""Proposition 1: one look at the estimated gradient tells |grad f| >= epsilon/2 from |grad f| <= epsilon.

The verdict is "small" if the estimate is at most 3 epsilon / 4; then |grad f| <= epsilon is promised, and
otherwise |grad f| >= epsilon / 2.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from escapade import Oracle
from escapade.derivatives.paper import coord_gradient


def holds(estimate, true, epsilon):
    return true <= epsilon if estimate <= 0.75 * epsilon else true >= epsilon / 2


@pytest.mark.parametrize("d", [1, 3, 20])
def test_deterministic(ridges, oracle, d):
    small = large = 0
    for seed in range(30):
        f, rng = ridges(seed, d), np.random.default_rng(seed)
        x = rng.standard_normal(d)
        true = float(np.linalg.norm(f.gradient(x)))
        epsilon = true / rng.uniform(0.3, 1.3)
        mu = math.sqrt(3 * epsilon / (2 * f.rho * math.sqrt(d)))
        estimate = float(np.linalg.norm(coord_gradient(oracle(f), x, mu)))
        assert abs(estimate - true) <= epsilon / 4 * (1 + 1e-9)
        assert holds(estimate, true, epsilon)
        small, large = small + (estimate <= 0.75 * epsilon), large + (estimate > 0.75 * epsilon)
    assert min(small, large) >= 3


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("d", [1, 4])
def test_the_deterministic_step_is_as_long_as_it_can_be(oracle, d, sign):
    """A cubic with its bias along its gradient meets the promise exactly; with mu 1% longer it fails."""
    epsilon, rho = 0.1, 2.0
    mu = math.sqrt(3 * epsilon / (2 * rho * math.sqrt(d)))
    true = (0.5 - 1e-6 if sign > 0 else 1 + 1e-6) * epsilon
    f = oracle(lambda x: (sign * rho / 6 * x**3 + true / math.sqrt(d) * x).sum(axis=-1))

    def verdict(step):
        return holds(float(np.linalg.norm(coord_gradient(f, np.zeros(d), step))), true, epsilon)

    assert verdict(mu)
    assert not verdict(1.01 * mu)


def median_of(failure, each):
    """The fewest batches whose median fails with at most this probability when each fails with `each`."""
    return next(m for m in range(1, 999, 2) if binom.sf(m // 2, m, each) <= failure)


def verify(f, x, mu, m, size, rng):
    """The estimate of the proof: the median of |CoordGradEst f_S| over m batches."""
    norms = [np.linalg.norm(coord_gradient(f.on(f.draw(size, rng)), x, mu)) for _ in range(m)]
    return float(np.median(norms)), float(norms[0])


@pytest.mark.parametrize("sign", [1, -1])
def test_online_in_the_worst_case(sign):
    """The worst that variance and bias allow: a batch errs too far, to the same side, with probability 33%.

    (The proof lets a batch be off by epsilon/4 with probability 1/2, which no median corrects; but what makes
    a verdict wrong is an error to one side, and by Cantelli's inequality that has probability 1/3 at most.)
    Promise: wrong in at most p of the runs; four standard errors are allowed.
    """
    d, epsilon, rho, p, n, far = 2, 0.1, 2.0, 0.02, 100, 33
    longest = epsilon / 8 * math.sqrt((n - far) / (2 * far))
    shift = longest * np.where(np.arange(n) < far, 1, -far / (n - far))
    sigma2 = np.mean(shift**2)
    assert math.isclose(sigma2, epsilon**2 / 128)
    true = (0.5 - 1e-6 if sign > 0 else 1 + 1e-6) * epsilon

    def fun(x, ids):
        slope = (true + sign * np.mean(shift[ids])) / math.sqrt(d)
        return (sign * rho / 6 * x**3 + slope * x).sum(axis=-1)

    f = Oracle.of(fun, vectorized=True, samples=n)
    mu = math.sqrt(3 * epsilon / (4 * rho * math.sqrt(d)))
    size = max(1, math.ceil(128 * sigma2 / epsilon**2 - 1e-9))
    m = median_of(p, 1 / 3)
    runs, wrong, wrong_alone = 300, 0, 0
    for seed in range(runs):
        median, first = verify(f, np.zeros(d), mu, m, size, np.random.default_rng(seed))
        wrong += not holds(median, true, epsilon)
        wrong_alone += not holds(first, true, epsilon)
    assert wrong <= runs * p + 4 * math.sqrt(runs * p)
    assert wrong_alone >= 0.25 * runs  # a single batch does not keep the promise


def test_online_on_finite_sums(ridges):
    """Slopes and ridges with their true variance, five batches: no failure in 100 runs, and both verdicts."""
    d, n, slope = 3, 40, np.array([3.0, -2.0, 2.0])
    parts = [ridges(seed, d) for seed in range(n)]

    def fun(x, ids):
        return x @ slope + np.mean([parts[i](x) for i in ids], axis=0) / 2

    f = Oracle.of(fun, vectorized=True, samples=n)
    rho = max(part.rho for part in parts) / 2
    verdicts, sizes = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(d)
        gradients = slope + np.array([part.gradient(x) for part in parts]) / 2
        true = float(np.linalg.norm(gradients.mean(axis=0)))
        sigma2 = float(np.mean(np.sum((gradients - gradients.mean(axis=0)) ** 2, axis=1)))
        epsilon = true / rng.uniform(0.3, 1.3)
        mu = math.sqrt(3 * epsilon / (4 * rho * math.sqrt(d)))
        size = max(1, math.ceil(128 * sigma2 / epsilon**2))
        median, _ = verify(f, x, mu, 5, size, rng)
        assert holds(median, true, epsilon)
        verdicts.append(median <= 0.75 * epsilon)
        sizes.append(size)
    assert 10 <= sum(verdicts) <= 90
    assert 2 <= np.median(sizes) <= n / 2
