"""The model of many variables: a diagonal and a few directions must do what a dense matrix does."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import escapade
from escapade.methods.auto import limited_memory
from escapade.methods.auto.dense import DenseMatrix
from escapade.methods.auto.limited_memory import LowRankMatrix, LowRankRoot, diagonal_model
from escapade.methods.auto.model import Model
from escapade.methods.auto.quadratic import trust_region_step
from escapade.methods.auto.settings import LIMITED_MEMORY
from escapade.problems import Cubic, Octopus, OffAxis, Transformed, random_rotation

D = 25


def dense(B):
    return B @ np.eye(len(B.D))


def example(seed, rank=4, low=0.5):
    rng = np.random.default_rng(seed)
    B = LowRankMatrix.of_diagonal(rng.uniform(low, 3.0, D))
    for c in rng.uniform(-1.0, 3.0, rank):
        B = B.plus((c, rng.standard_normal(D)))
    return B, rng


@pytest.mark.parametrize("seed", range(5))
def test_a_low_rank_matrix_is_the_sum_of_its_terms(seed):
    rng = np.random.default_rng(seed)
    diagonal, terms = rng.standard_normal(D), [(c, rng.standard_normal(D)) for c in rng.uniform(-2, 2, 6)]
    terms += [(3.0, np.eye(D)[4]), (-1.0, terms[0][1])]
    B, expected = LowRankMatrix.of_diagonal(diagonal), np.diag(diagonal)
    for c, w in terms:
        B, expected = B.plus((c, w)), expected + c * np.outer(w, w)
    assert np.allclose(dense(B), expected)
    assert np.allclose(B.diagonal, np.diag(expected))
    assert np.allclose(B.U.T @ B.U, np.eye(len(B.values)))
    mean, square = B.moments
    assert mean == pytest.approx(np.mean(np.linalg.eigvalsh(expected)))
    assert square == pytest.approx(np.mean(np.linalg.eigvalsh(expected) ** 2))


def test_a_curvature_along_a_coordinate_costs_no_direction():
    assert len(LowRankMatrix.of_diagonal(np.ones(D)).plus((2.0, np.eye(D)[3])).values) == 0


def test_of_many_directions_those_of_the_largest_corrections_are_kept():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((200, LIMITED_MEMORY.rank + 20)))[0]
    B = LowRankMatrix.of_diagonal(np.zeros(200))
    for k, c in enumerate(np.random.default_rng(1).permutation(np.arange(1.0, LIMITED_MEMORY.rank + 21))):
        B = B.plus((c, Q[:, k]))
    assert sorted(B.values) == pytest.approx(np.arange(21.0, LIMITED_MEMORY.rank + 21))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("radius", [0.01, 0.3, 100.0])
@pytest.mark.parametrize("low", [0.5, -1.0])
def test_its_step_is_as_good_as_that_of_the_dense_matrix(seed, radius, low):
    B, rng = example(seed, low=low)
    g, scale = rng.standard_normal(D), rng.uniform(0.5, 2.0, D)
    s, best = B.step(g, radius, scale), trust_region_step(dense(B), g, radius, scale)
    assert np.linalg.norm(s / scale) <= radius * (1 + 1e-9)

    def change(s):
        return g @ s + s @ (B @ s) / 2

    assert change(s) <= 0.85 * change(best)


@pytest.mark.parametrize("seed", range(5))
def test_its_newton_step_is_that_of_the_dense_matrix(seed):
    B, rng = example(seed)
    assert np.linalg.eigvalsh(dense(B))[0] != 0
    g = rng.standard_normal(D)
    if np.linalg.eigvalsh(dense(B))[0] > 0:
        assert np.allclose(B.newton(g), DenseMatrix(dense(B)).newton(g))
    assert g @ B.newton(g) < 0


@pytest.mark.parametrize("seed", range(5))
def test_its_shape_makes_it_the_identity(seed):
    rng = np.random.default_rng(seed)
    B = LowRankMatrix.of_diagonal(rng.uniform(0.5, 3.0, D))
    for c in rng.uniform(0.5, 3.0, 4):
        B = B.plus((c, rng.standard_normal(D)))
    P = B.inverse_root(0.1, 1e-3)
    whole = P @ np.eye(D)
    assert np.allclose(P.T @ np.eye(D), whole.T)
    assert np.linalg.norm(whole, 2) <= 1 + 1e-12
    transformed = whole.T @ (dense(B) + 0.1 * np.eye(D)) @ whole
    assert np.allclose(transformed, transformed[0, 0] * np.eye(D))
    diagonal = LowRankRoot(np.arange(1.0, D + 1), np.zeros((D, 0)), np.zeros(0))
    assert np.allclose(diagonal @ np.ones(D), np.arange(1.0, D + 1))


@pytest.mark.parametrize("exact", [True, False])
def test_it_learns_from_secants_as_the_dense_model_does(exact):
    rng = np.random.default_rng(3)
    Q = random_rotation(D, rng)
    H = (Q * np.linspace(0.5, 4.0, D)) @ Q.T
    models = [Model(kind.of_diagonal(np.diag(H)), fresh=True) for kind in (DenseMatrix, LowRankMatrix)]
    for _ in range(10):
        s = rng.standard_normal(D)
        offs = [model.secant(s, H @ s, 0.0, exact=exact) for model in models]
        assert offs[0] == pytest.approx(offs[1], rel=0.3)
    assert np.allclose(models[0].B.matrix, dense(models[1].B))
    low, v = models[1].lowest()
    assert v @ (models[0].B @ v) == pytest.approx(low)
    models[1].along(v, -2.0)
    assert v @ (models[1].B @ v) == pytest.approx(-2.0)


def test_the_dimension_decides():
    assert type(diagonal_model(np.ones(LIMITED_MEMORY.large)).B) is DenseMatrix
    assert type(diagonal_model(np.ones(LIMITED_MEMORY.large + 1)).B) is LowRankMatrix


# Runs


@pytest.mark.parametrize(
    ("problem", "tolerances", "most"),
    [
        (OffAxis(d=60, seed=1, offset=100.0), {"gtol": 1e-4, "curvtol": 0.1}, 45),
        (Cubic(d=80), {"gtol": 1e-2, "curvtol": 0.1}, 12),
        (Octopus(d=12), {"gtol": 1e-4, "curvtol": 0.0165}, 30),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_few_directions_lead_to_a_certified_minimum(monkeypatch, problem, tolerances, most, turned):
    monkeypatch.setattr(limited_memory, "LIMITED_MEMORY", replace(LIMITED_MEMORY, large=8))
    if turned:
        rotation = random_rotation(problem.d, np.random.default_rng(0))
        problem, most = Transformed(problem=problem, rotation=rotation), 4 * most
    result = escapade.minimize(problem, problem.start, vectorized=True, rng=0, **tolerances)
    assert result.success
    assert np.linalg.norm(problem.gradient(result.x)) <= tolerances["gtol"]
    assert np.linalg.eigvalsh(problem.hessian(result.x))[0] >= -tolerances["curvtol"]
    assert float(problem(result.x)) <= float(problem.minimum) + 1e-3
    assert result.nfev <= most * (problem.d + 1)


def rosenbrocks(X):
    """Valleys of Rosenbrock, side by side."""
    return np.sum(100 * (X[:, 1::2] - X[:, ::2] ** 2) ** 2 + (1 - X[:, ::2]) ** 2, axis=1)


def test_thousands_of_variables_cost_no_square_of_memory():
    d = 3000
    tracemalloc.start()
    result = escapade.minimize(rosenbrocks, np.tile([-1.2, 1.0], d // 2), vectorized=True, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.success
    assert result.nfev <= 120 * (d + 1)
    assert peak < 0.9 * 8 * d**2 + 40e6


@pytest.mark.parametrize("prefer", ["queries", "rounds"])
def test_a_saddle_of_many_variables_is_left(prefer):
    problem = OffAxis(d=LIMITED_MEMORY.large + 20, seed=0)
    result = escapade.minimize(problem, problem.start, vectorized=True, rng=0, gtol=1e-3, curvtol=0.1, prefer=prefer)
    assert result.success
    assert float(problem(result.x)) == pytest.approx(float(problem.minimum), abs=1e-4)
