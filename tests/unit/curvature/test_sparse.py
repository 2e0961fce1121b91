"""Sparse factors and eigenvalues against dense ones, and secants within a pattern."""

import numpy as np
import pytest
from scipy import sparse

from escapade.curvature import Sparse
from escapade.curvature.sparse_factor import SparseFactor, least, shifted, smallest
from escapade.derivatives.measure import measure
from escapade.derivatives.sparsity import Sparsity, coloured_hessian, sparse_hessian
from escapade.methods.auto.sparse_newton import SparseModel
from escapade.oracle import Oracle


def matrix(d, seed, lowest):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.standard_normal((d, d)) * (rng.random((d, d)) < 3 / d), 1)
    A += A.T + np.diag(rng.standard_normal(d))
    return A + (lowest - np.linalg.eigvalsh(A)[0]) * np.eye(d)


@pytest.mark.parametrize("d", [1, 5, 100, 300])
@pytest.mark.parametrize("lowest", [1.0, 1e-3, -0.7])
def test_factors_exist_for_definite_matrices_alone(d, lowest):
    A = matrix(d, d, lowest)
    factor = SparseFactor.of(sparse.csc_array(A))
    assert (factor is not None) == (lowest > 0)
    if factor is not None:
        G = np.random.default_rng(0).standard_normal((d, 3))
        W = factor.inverse_root(G)
        assert np.allclose(W.T @ A @ W, G.T @ G)
        assert np.allclose(A @ factor.solve(G[:, 0]), G[:, 0], atol=1e-8)


@pytest.mark.parametrize("d", [1, 5, 100, 300])
@pytest.mark.parametrize("lowest", [10.0, 1e-6, -0.7, -1e3])
def test_smallest_eigenvalues_and_their_bound(d, lowest):
    A = matrix(d, d + 1, lowest)
    S = sparse.csc_array(A)
    values, vectors = smallest(S, min(3, d), np.random.default_rng(0))
    size = np.abs(A).sum(axis=1).max()
    assert np.allclose(values, np.linalg.eigvalsh(A)[: len(values)], atol=1e-5 * size)
    assert np.linalg.norm(A @ vectors[:, 0] - values[0] * vectors[:, 0]) < 1e-3 * size
    assert lowest - 1e-4 * size <= least(S, float(values[0])) <= lowest + 1e-12 * size
    assert np.isclose(shifted(S, 2.0).trace(), A.trace() + 2 * d)


def test_many_equal_eigenvalues_do_not_end_the_search():
    block = np.array([[2.0, -1.0], [-1.0, 2.0]])
    S = sparse.csc_array(sparse.block_diag([block] * 100))
    values, _ = smallest(S, 3, np.random.default_rng(0))
    assert np.allclose(values, 1.0, atol=1e-5)


def test_second_differences_and_coloured_gradients_make_the_hessian():
    d = 30
    A = matrix(d, 7, 0.5)
    sparsity = Sparsity.of(A, d)
    f = Oracle.of(lambda x: float(x @ A @ x) / 2)
    local = measure(f, np.zeros(d), curvtol=1e-2, rng=np.random.default_rng(0))
    for order in (1, 2):
        before = f.ledger.queries
        assert np.allclose(sparse_hessian(local.stencil, sparsity, order).toarray(), A, atol=1e-5)
        assert f.ledger.queries - before == order * sparsity.size
    B = coloured_hessian(lambda ways: ways @ A, sparsity, np.full(d, 1e-3))
    assert np.allclose(B.toarray(), A)
    met = (A != 0).astype(int)
    for group in sparsity.groups:
        assert np.all(met[:, group].sum(axis=1) <= 1)


def test_the_finder_states_what_it_asks():
    d = 40
    A = matrix(d, 3, 0.2)
    f = Oracle.of(lambda x: float(x @ A @ x) / 2)
    local = measure(f, np.zeros(d), curvtol=1e-2, rng=np.random.default_rng(0))
    before = f.ledger.queries
    sparsity = Sparsity.of(A, d)
    finding = Sparse.of(sparsity, 1e-2, 1e-3).within(local, np.random.default_rng(1))
    assert finding.certified
    assert f.ledger.queries - before <= sparsity.size + 150
    assert finding.curvature.lower <= 0.2 <= finding.curvature.upper + 1e-9


def test_a_secant_is_met_within_the_pattern():
    d, rng = 25, np.random.default_rng(5)
    A = matrix(d, 4, -0.3)
    sparsity = Sparsity.of(A, d)
    B = SparseModel(sparsity.matrix(np.ones(d), np.zeros(sparsity.size)), sparsity)
    s = rng.standard_normal(d)
    s[3] = 0.0
    better = B.with_secant(s, A @ s)
    assert np.allclose((better.B @ s)[sparsity.ones @ np.abs(s) > 0], (A @ s)[sparsity.ones @ np.abs(s) > 0], atol=1e-6)
    assert np.allclose(better.B.toarray(), better.B.toarray().T)
    assert not np.any(better.B.toarray()[A == 0])
    assert np.linalg.norm(better.B.toarray() - A) <= np.linalg.norm(B.B.toarray() - A) + 1e-9


@pytest.mark.parametrize("lowest", [0.5, -0.5])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
def test_steps_of_the_trust_region(lowest, radius):
    d, rng = 30, np.random.default_rng(2)
    A, g = matrix(d, 9, lowest), rng.standard_normal(d)
    model = SparseModel(sparse.csc_array(A), Sparsity.of(A, d))
    scale = rng.uniform(0.5, 2, d)
    s = model.step(g, radius, scale)
    assert np.linalg.norm(s / scale) <= radius * (1 + 1e-9)
    along = -g * scale**2
    along *= radius / np.linalg.norm(along / scale)
    bend, slope = float(along @ A @ along), float(g @ along)
    t = 1.0 if bend <= 0 else min(1.0, -slope / bend)
    assert model.change(g, s) <= 0.9 * (t * slope + t * t * bend / 2)
