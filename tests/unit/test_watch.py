"""Sampled runs: sigma along the run, and what happens to one whose f explodes."""

from dataclasses import dataclass

import numpy as np
import pytest

import escapade
from escapade import Oracle
from escapade.curvature import Minibatch
from escapade.derivatives.paper import coord_gradient_spread
from escapade.methods import ZOSGDNCF, GradientCheck
from escapade.problems import MatrixSensing, PhaseRetrieval, StochasticCubic
from escapade.stopping import Ending, Stop
from escapade.trace import Iterate
from escapade.watch import Watch


def phase_retrieval(d, n):
    problem = PhaseRetrieval(d=d, n=n)
    a, _, intensity = problem._data

    def value(x, ids):
        if ids.ndim == 2:
            return (np.sum(x * a[ids[:, 0]], axis=1) ** 2 - intensity[ids[:, 0]]) ** 2 / 4
        return np.mean(((x @ a[ids].T) ** 2 - intensity[ids]) ** 2, axis=1) / 4

    value.ids_by_row = True
    return problem, n, value


def matrix_sensing(rows, n):
    problem = MatrixSensing(n=rows, rank=2, measurements=n)
    sensors, target = problem.sensors.reshape(n, -1), problem.target.ravel()

    def value(x, ids):
        factors = x.reshape(len(x), rows, 2)
        grams = (factors @ factors.transpose(0, 2, 1)).reshape(len(x), -1)
        if ids.ndim == 2:
            return np.sum((grams - target) * sensors[ids[:, 0]], axis=1) ** 2 / 4
        return np.mean(((grams - target) @ sensors[ids].T) ** 2, axis=1) / 4

    value.ids_by_row = True
    return problem, n, value


PROBLEMS = {"phase retrieval": phase_retrieval(6, 400), "matrix sensing": matrix_sensing(3, 400)}
METHODS = (
    *("auto", "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii"),
    *("zo-spider", "zo-spider-ncf", "zo-sgd", "zo-scsg", "zo-scrn"),
)
ARRIVE = {"auto", "zo-sgd-ncf", "zo-scsg-ncf"}


@pytest.mark.parametrize("which", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_no_method_returns_more_than_f_at_a_saddle_of_all_samples(which, method):
    """From zero, where every sample's gradient vanishes and sigma with it. Full size: benchmarks/from_zero.py."""
    problem, n, value = PROBLEMS[which]
    settings = {"samples": n, "vectorized": True, "maxfev": 2_000_000, "gtol": 1e-2, "curvtol": 1e-1, "rng": 0}
    result = escapade.minimize(value, np.zeros(problem.d), method=method, **settings)
    start = float(problem(problem.start))
    assert float(problem(result.x)) <= start
    assert np.isfinite(result.fun)
    assert result.nfev <= 2_000_000
    if method in ARRIVE:
        assert result.success
        assert result.fun < 1e-3 * start


# What a run is told of sigma


@pytest.mark.parametrize("groups", [4, 8, 64])
def test_the_spread_of_groups_is_that_of_samples(groups):
    """f_i(x) = xi_i . x, E |xi|^2 = 6: 1.5 sigma^2 on average over 200 pilots of 64, within four standard errors."""
    xi = np.random.default_rng(0).standard_normal((5000, 6))
    f = Oracle.of(lambda x, ids: x @ xi[ids].mean(axis=0), vectorized=True, samples=5000)
    x, rng = np.zeros(6), np.random.default_rng(1)
    seen = [coord_gradient_spread(f, x, 1e-3, f.draw(64, rng), rng, groups) for _ in range(200)]
    spread = np.array([sigma2 for _, sigma2 in seen])
    sigma2 = float(np.sum(np.var(xi, axis=0)))
    assert abs(spread.mean() - 1.5 * sigma2) <= 4 * spread.std() / np.sqrt(200)
    whole, one = f.on(f.everything()), coord_gradient_spread(f, x, 1e-3, f.draw(1, rng), rng)[1]
    assert one == 0.0
    mean = np.mean([g for g, _ in seen], axis=0)
    exact = [whole.value(e) for e in np.eye(6)]
    assert np.allclose(mean, exact, atol=5 / np.sqrt(200 * 64))


def test_antithetic_pairs_do_not_hide_the_spread():
    """Side by side in a sorted batch, pairs have means of zero: groups must not be made of neighbours."""
    problem = StochasticCubic(d=10, n=64)
    f, x = Oracle.of(problem.sample_value, vectorized=True, samples=64), np.zeros(10)
    _, sigma2 = coord_gradient_spread(f, x, 1e-4, f.everything(), np.random.default_rng(0))
    exact = float(np.mean(np.sum(problem._table[1] ** 2, axis=1)))
    assert exact / 2 < sigma2 < 5 * exact
    check = GradientCheck(epsilon=0.05, sigma2=None, failure=1e-5, mu=1e-4)
    before = f.ledger.queries
    assert check(f, x, np.random.default_rng(0))[0]
    assert f.ledger.queries - before == 2 * 10 * 64  # the first batch is the whole sum


def test_a_check_without_sigma_measures_it_where_it_is():
    _, n, value = PROBLEMS["phase retrieval"]
    check = GradientCheck(epsilon=1e-2, sigma2=None, failure=1e-5, mu=1e-4)
    f = Oracle.of(value, vectorized=True, samples=n)
    small, size, sigma2 = check.look(f, np.zeros(6), np.random.default_rng(0))
    assert small
    assert size < 1e-6
    assert sigma2 < 1e-12
    small, size, sigma2 = check.look(f, np.full(6, 0.5), np.random.default_rng(0))
    assert not small
    assert sigma2 > 1.0
    assert check(f, np.full(6, 0.5), np.random.default_rng(0)) == (small, size)


# A run whose f explodes


def bowl(x, ids):
    return np.sum(x * x, axis=-1) * (1 + 0.1 * np.mean(np.cos(ids)))


@dataclass(frozen=True)
class Grows:
    """x times a factor at every step, down first; each step pays for 2000 values."""

    factor: float

    name = "grows"

    def iterates(self, f, x, rng):
        yield Iterate(0.5 * x)
        for _ in range(200):
            f.on(f.draw(2000, rng)).value(x)
            x = self.factor * x
            yield Iterate(x)
        return Ending(Stop.FINISHED)


@pytest.mark.parametrize("factor", [1.2, 3.0, 1e3, 1e60])
def test_a_run_that_diverges_is_ended_at_the_best_point(factor):
    """With the last factor f overflows between two looks; no error is raised for it."""
    settings = {"samples": 5000, "vectorized": True, "maxfev": 2_000_000, "rng": 0, "gtol": 1e-9}
    with np.errstate(over="ignore"):
        result = escapade.minimize(bowl, np.ones(3), method=Grows(factor), **settings)
    assert result.stop is Stop.DIVERGED
    assert result.fun <= float(bowl(np.ones(3), np.arange(5000)))
    assert np.linalg.norm(result.x) <= np.sqrt(3)
    assert result.nit < 200


def test_a_method_told_a_wrong_sigma_diverges_and_says_so():
    """sigma^2 = 0 and batches of one, what is seen at zero: for ZO-SGD-NCF f went beyond 1e100 on phase retrieval."""
    problem, n, value = PROBLEMS["phase retrieval"]
    check = GradientCheck(epsilon=1e-6, sigma2=0.0, failure=1e-5, mu=1e-4)
    finder = Minibatch(delta=0.1, failure=1e-3)
    method = ZOSGDNCF(delta=0.1, rho=0.2, eta=0.5, batch=1, check=check, finder=finder, mu_step=1e-4)
    settings = {"samples": n, "vectorized": True, "maxfev": 2_000_000, "gtol": 1e-2, "curvtol": 0.1, "rng": 0}
    with np.errstate(over="ignore", invalid="ignore"):
        result = escapade.minimize(value, np.zeros(6), method=method, **settings)
    assert result.stop is Stop.DIVERGED
    assert result.fun <= float(problem(np.zeros(6)))
    assert result.status == 15


def test_a_run_that_only_rises_and_falls_is_not():
    settings = {"samples": 5000, "vectorized": True, "maxfev": 2_000_000, "rng": 0, "gtol": 1e-9}
    result = escapade.minimize(bowl, np.ones(3), method=Grows(0.95), **settings)
    assert result.stop is not Stop.DIVERGED
    assert result.nit == 201


def test_a_look_costs_a_hundredth_and_changes_no_draw():
    f = Oracle.of(bowl, vectorized=True, samples=5000, maxfev=2_000_000)
    watch = Watch(f, np.ones(3))
    assert watch.weight == 100
    before = f.ledger.queries
    assert watch.stop(np.zeros(3)) is None
    assert f.ledger.queries == before  # too early
    f.on(f.draw(5000, np.random.default_rng(0)))(escapade.oracle.points(np.zeros((2, 3))))
    assert watch.stop(np.zeros(3)) is None
    assert f.ledger.by_purpose["watch"] == 200
    assert watch.best.tolist() == [0, 0, 0]
    x, far = watch.conclude(2 * np.ones(3))
    assert (x.tolist(), far) == ([0, 0, 0], False)
    assert f.ledger.by_purpose["watch"] == 200 + 3 * 5000
