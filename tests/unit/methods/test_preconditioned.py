"""The shape that products are taken in, and the errors of forward ones, seen along random directions."""

import numpy as np
import pytest

import escapade
from escapade import Oracle
from escapade.derivatives.measure import measure
from escapade.derivatives.product_errors import measured
from escapade.derivatives.products import HessianProducts
from escapade.derivatives.settings import PRODUCTS
from escapade.methods.auto.certify import model_preconditioner
from escapade.methods.auto.dense import DenseMatrix
from escapade.methods.auto.model import Model


def products(d, rng, curving=0.5):
    """Products around a point where third derivatives leave forward products inexact, and the exact Hessian there."""
    A, z = np.diag(rng.uniform(0.5, 3, d)), rng.standard_normal(d)

    def fun(X):
        square = np.sum(X * X, axis=1)
        return np.einsum("ij,ij->i", X @ A, X) / 2 + curving * square**2 / 4

    local = measure(Oracle.of(fun, vectorized=True), z, curvtol=0.1, rng=rng)
    return HessianProducts(local, order=1), A + curving * (float(z @ z) * np.eye(d) + 2 * np.outer(z, z))


@pytest.mark.parametrize("d", [32, 60])
def test_a_bound_on_the_error_that_fails_as_rarely_as_stated(d):
    failure, failed, sizes = 0.05, 0, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        multiply, H = products(d, rng)
        q = rng.standard_normal(d)
        q /= np.linalg.norm(q)
        image = multiply(q).image
        error, before = float(np.linalg.norm(image - H @ q)), multiply.local.f.ledger.queries
        found = measured(multiply, q, image, delta=0.1, room=0.0, failure=failure, rng=rng)
        spent = multiply.local.f.ledger.queries - before
        assert spent == 4 * PRODUCTS.components + 16  # those, and a look on shorter steps
        assert not found.scale_dependent
        failed += error > found.error
        sizes.append(found.error / error)
    assert failed <= 200 * failure + 4 * np.sqrt(200 * failure)
    assert np.median(sizes) < 6


def test_few_variables_are_measured_again_instead():
    d, rng = PRODUCTS.components, np.random.default_rng(0)
    multiply, _ = products(d, rng)
    q = np.ones(d) / np.sqrt(d)
    image, before = multiply(q).image, multiply.local.f.ledger.queries
    found = measured(multiply, q, image, delta=0.1, room=0.0, failure=1e-4, rng=rng)
    assert multiply.local.f.ledger.queries - before == d + 1 + 8
    assert not found.scale_dependent


def turned(values, seed=0):
    """A matrix of these eigenvalues, along random directions."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


def test_a_model_wrong_by_a_factor_has_the_right_shape():
    H = turned(np.geomspace(1, 1000, 40))
    for factor in (0.6, 1.0, 1.7):
        P = model_preconditioner(Model(DenseMatrix(factor * H)), 0.0, np.diag(H), 1e-2) @ np.eye(40)
        seen = np.linalg.eigvalsh(P @ H @ P)
        assert seen[-1] < 1.1 * seen[0]


def test_what_curvatures_were_does_not_cost_the_certificate():
    """A rotated quartic is far stiffer at its start than at its minimum. With the model of the start, and errors of the
    products seen at longer steps than they have, the run takes 173 rows, 109 of them for the certificate."""
    d = 100
    Q, scales = np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0], np.linspace(0.01, 1, d)

    def fun(X):
        squares = (X @ Q.T) ** 2
        return squares @ scales + np.sum(squares**2, axis=1)

    result = escapade.minimize(fun, np.random.default_rng(0).standard_normal(d), vectorized=True, rng=0)
    assert result.success
    assert result.nfev <= 110 * (d + 1)


def trigonometric(X):
    d, cosines = X.shape[1], np.cos(X)
    rest = d - np.sum(cosines, axis=1, keepdims=True) + np.arange(1, d + 1) * (1 - cosines) - np.sin(X)
    return np.sum(rest**2, axis=1)


def test_blunt_products_are_extrapolated():
    """Fourth derivatives grow with the square of the index. Without the model, which is right, the certificate takes
    350 rows and more."""
    d = 100
    settings = {"gtol": 1e-4, "certificate_maxfev": 10**5, "vectorized": True}
    result = escapade.minimize(trigonometric, np.full(d, 1 / d), **settings, rng=0)
    assert result.success
    assert "extrapolated" in result.certificate.reason
    assert result.nfev_by_purpose["curvature"] + result.nfev_by_purpose["check"] <= 130 * (d + 1)


@pytest.mark.parametrize("seed", range(4))
def test_a_blunt_product_is_not_another_function(seed):
    """Powell's singular function: curvatures of 500 that vanish, which the model keeps, and fourth derivatives."""
    d = 100

    def fun(X):
        a, b, c, e = (X[:, k::4] for k in range(4))
        return np.sum((a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4, axis=1)

    x0 = np.tile([3.0, -1.0, 0.0, 1.0], d // 4)
    x0 += 0.01 * np.random.default_rng(seed).standard_normal(d) * np.maximum(np.abs(x0), 0.1)
    result = escapade.minimize(fun, x0, vectorized=True, rng=seed)
    assert result.success
    assert result.nfev_by_purpose["curvature"] <= 180 * (d + 1)
