"""f_S over groups of samples: counted as any, remembered, grown and tilted."""

import numpy as np
import pytest

from escapade import Oracle
from escapade.errors import BudgetExhausted
from escapade.oracle import Batch, GroupedOracle, Tilt, axes, point

N, D = 40, 3
RNG = np.random.default_rng(810)
A = RNG.standard_normal((N, D))


def fun(X, ids):
    return (X @ A[ids].T).mean(axis=1) + np.sum(X**2, axis=1)


def groups(start, stop):
    return tuple(Batch(part) for part in np.arange(start, stop).reshape(4, -1))


def grouped(**options):
    f = Oracle.of(fun, vectorized=True, samples=N, **options)
    return f, GroupedOracle.over(f, groups(0, 8), 50)


def test_the_value_is_that_of_the_batch_and_costs_as_much():
    f, g = grouped()
    x = np.array([0.3, -1.0, 2.0])
    assert g.tagged("descent").value(x) == pytest.approx(float(fun(x[None, :], np.arange(8))[0]))
    assert f.ledger.queries == 8
    seen = g.seen(point(x))
    assert f.ledger.queries == 8  # remembered
    assert seen.shape == (1, 4)
    assert f.best == (None, None)


def test_a_batch_that_grows_pays_for_the_new_samples_alone():
    f, g = grouped()
    x = np.ones(D)
    stencil = point(x) + axes(x, np.full(D, 0.1))
    g(stencil)
    before = f.ledger.queries
    larger = g.grown(groups(8, 24), stencil)
    assert f.ledger.queries - before == 16 * (D + 1)
    assert larger.size == 24
    rows = np.vstack([x, x + 0.1 * np.eye(D)])
    assert np.allclose(larger.seen(stencil).mean(axis=1), fun(rows, np.arange(24)))
    assert larger.value(x) == pytest.approx(float(fun(x[None, :], np.arange(24))[0]))


def test_a_tilt_adds_a_linear_function_and_scaling_is_kept():
    f, _ = grouped()
    unit = np.array([1.0, 2.0, 4.0])
    g = GroupedOracle.over(f.scaled(unit), groups(0, 8), 50)
    y, slope = np.array([1.0, 0.5, 0.25]), np.array([1.0, -2.0, 0.5])
    tilted = g.tilted(Tilt(slope, np.zeros(D)))
    assert tilted.value(y) == pytest.approx(float(fun((y * unit)[None, :], np.arange(8))[0] + slope @ y))


def test_a_budget_refuses_the_whole_and_the_sum_keeps_its_best_point():
    f, g = grouped(maxfev=10)
    with pytest.raises(BudgetExhausted):
        g(point(np.ones(D)) + point(np.zeros(D)))
    assert f.ledger.queries == 0
    whole = Oracle.of(fun, vectorized=True, samples=N)
    value = whole.summed().value(np.ones(D))
    assert whole.best[1] == value
    assert whole.ledger.queries == N
