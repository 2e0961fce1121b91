"""The errors of forward products, seen along random directions."""

import numpy as np
import pytest

from escapade import Oracle
from escapade.estimators.neighbourhood import Neighbourhood
from escapade.methods.auto.shaped import GLANCES, Shaped


def products(d, rng, failure, bend=0.5):
    """Products around a point where third derivatives leave forward products inexact, and the exact Hessian there."""
    A, z = np.diag(rng.uniform(0.5, 3, d)), rng.standard_normal(d)

    def fun(X):
        square = np.sum(X * X, axis=1)
        return np.einsum("ij,ij->i", X @ A, X) / 2 + bend * square**2 / 4

    here = Neighbourhood.measure(Oracle.of(fun, vectorized=True), z, curvtol=0.1, rng=rng)
    shaped = Shaped(here, np.ones(d), 1, 1.0, P=np.eye(d), failure=failure)
    shaped.glances = rng.standard_normal((GLANCES, d))
    return shaped, A + bend * (float(z @ z) * np.eye(d) + 2 * np.outer(z, z))


@pytest.mark.parametrize("d", [32, 60])
def test_a_bound_on_the_error_that_fails_as_rarely_as_stated(d):
    failure, missed, sizes = 0.05, 0, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        shaped, H = products(d, rng, failure)
        q = rng.standard_normal(d)
        q /= np.linalg.norm(q)
        product = shaped(q)
        error, before = float(np.linalg.norm(product - H @ q)), shaped.here.f.ledger.queries
        bound = shaped.truncation(q, product)
        assert shaped.here.f.ledger.queries - before == 4 * GLANCES
        missed += error > bound
        sizes.append(bound / error)
    assert missed <= 200 * failure + 4 * np.sqrt(200 * failure)
    assert np.median(sizes) < 6


def test_few_variables_are_measured_again_instead():
    shaped, _ = products(GLANCES, np.random.default_rng(0), 1e-4)
    q = np.ones(GLANCES) / np.sqrt(GLANCES)
    product, before = shaped(q), shaped.here.f.ledger.queries
    shaped.truncation(q, product)
    assert shaped.here.f.ledger.queries - before == GLANCES + 1
