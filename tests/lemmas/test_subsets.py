"""The variance of the mean over a random subset (Neon2, Fact 2.2)."""

import itertools
import math

import numpy as np
import pytest

from escapade import Oracle


def centred(seed, n, d=3):
    v = np.random.default_rng(seed).standard_normal((n, d))
    return v - v.mean(axis=0)


def spread(v):
    return float(np.mean(np.sum(v**2, axis=1)))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_over_all_subsets(n):
    """E |mean over S|^2 <= [|S| < n] / |S| mean |v_i|^2, with equality for |S| = 1 and n; rounding 1e-13."""
    for seed in range(5):
        v = centred(seed, n)
        for size in range(1, n + 1):
            means = [v[list(S)].mean(axis=0) for S in itertools.combinations(range(n), size)]
            exact = float(np.mean([m @ m for m in means]))
            bound = (size < n) / size * spread(v)
            assert exact <= bound + 1e-13
            assert math.isclose(exact, (n - size) / max(1, n - 1) / size * spread(v), abs_tol=1e-13)
            if size in (1, n):
                assert math.isclose(exact, bound, abs_tol=1e-13)


@pytest.mark.parametrize(("size", "replace"), [(1, False), (4, False), (9, False), (10, False), (4, True), (30, True)])
def test_of_the_batches_the_oracle_draws(size, replace):
    """Within five standard errors: (n - b) / (n - 1) / b without replacement, 1 / b with."""
    n, draws, rng = 10, 4000, np.random.default_rng(size)
    v = centred(0, n)
    f = Oracle.of(lambda x, ids: 0.0, samples=n)
    means = np.array([v[f.draw(size, rng, replace=replace).ids].mean(axis=0) for _ in range(draws)])
    squares = np.sum(means**2, axis=1)
    exact = spread(v) / size if replace else (n - size) / (n - 1) / size * spread(v)
    error = 5 * squares.std() / math.sqrt(draws) + 1e-13
    assert abs(squares.mean() - exact) <= error
    assert squares.mean() <= (replace or size < n) * spread(v) / size + error


def test_a_stream_draws_independent_samples():
    """Ids of a stream do not repeat, and average like independent ones (five standard errors)."""
    rng = np.random.default_rng(0)
    f = Oracle.of(lambda x, ids: 0.0, samples="stream")
    batches = [f.draw(6, rng).ids for _ in range(2000)]
    assert len(np.unique(np.concatenate(batches))) == 12_000
    signs = np.array([np.mean(2.0 * (ids % 2) - 1) for ids in batches])
    assert abs(np.mean(signs**2) - 1 / 6) <= 5 * np.std(signs**2) / math.sqrt(2000)
