"""Option II: the directions of a minibatch."""

import numpy as np
import pytest

from escapade import Oracle
from escapade.errors import BudgetExhausted
from escapade.methods import ZOSCSG
from escapade.problems import StochasticCubic


def reached(epochs, seed, queries=1_000_000):
    """Whether epochs from the saddle come within 1% of the minimum of the stochastic cubic problem, d = 20."""
    problem = StochasticCubic(d=20, n=1000, seed=seed)
    f = Oracle.of(problem.sample_value, vectorized=True, samples=problem.n, maxfev=queries)
    try:
        for step in epochs.iterates(f, problem.start, np.random.default_rng(seed)):
            if float(problem(step.x)) <= 0.99 * problem.minimum:
                return True
    except BudgetExhausted:
        pass
    return False


def test_directions_of_their_own_arrive_where_a_shared_one_does_not():
    """The table's batches and its step 1 / (10 ell), with ell = 4, the curvature there is."""
    settings = {"B": 128, "b": 10, "eta": 1 / 40, "mu": 1e-3, "option": 2}
    assert all(reached(ZOSCSG(**settings), seed) for seed in range(3))  # "own", the default
    assert not reached(ZOSCSG(**settings, directions="shared"), 0)


@pytest.mark.parametrize("directions", ["own", "shared"])
def test_differences_take_the_same_directions_at_both_points(directions):
    """For an affine function a difference at two points is zero but for rounding; with other directions it is not."""
    g = np.arange(1.0, 6.0)
    f = Oracle.of(lambda x, ids: x @ g, vectorized=True, samples=9)
    method = ZOSCSG(B=9, b=4, eta=1e-3, mu=1e-3, option=2, directions=directions)
    f_k = f.on(f.draw(4, np.random.default_rng(0)))
    difference = method._difference(f_k, np.ones(5), np.zeros(5), np.random.default_rng(1))
    assert np.linalg.norm(difference) < 1e-8
    assert f.ledger.queries == 4 * 4
