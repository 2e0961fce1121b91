"""Stable Chebyshev recurrences, and the inequality behind the certificates of `ZONCFDeterministic`."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from escapade.curvature import deterministic
from escapade.curvature.deterministic import ZONCFDeterministic, _Chebyshev
from escapade.derivatives.product_errors import ProductError
from escapade.derivatives.products import Product


@pytest.fixture(autouse=True)
def _declared(monkeypatch):
    """Errors of products are those declared, and not measured."""
    monkeypatch.setattr(deterministic.product_errors, "against_far_steps", lambda *_: ProductError(0.0))


def symmetric(spectrum, seed):
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.standard_normal((len(spectrum), len(spectrum))))[0]
    return (q * spectrum) @ q.T


def chebyshev(k, matrix):
    """T_k of a symmetric matrix, through its eigenvalues."""
    x, q = np.linalg.eigh(matrix)
    inside = np.cos(k * np.arccos(np.clip(x, -1, 1)))
    outside = np.sign(x) ** k * np.cosh(k * np.arccosh(np.maximum(np.abs(x), 1)))
    values = np.where(np.abs(x) <= 1, inside, outside)
    return (q * values) @ q.T


def backward(multiply, c):
    """The inexact backward recurrence, as the paper defines it: b_N = c_N, s = b_0 - M(b_1)."""
    N = len(c) - 1
    above, b = np.zeros_like(c[0]), c[N]
    image = np.zeros_like(c[0])
    for r in range(N - 1, -1, -1):
        image = multiply(b)
        above, b = b, 2 * image - above + c[r]
    return b - image


def adversary(matrix, error, kind, rng):
    """Products wrong by exactly `error` times the vector's length: anywhere, or where it hurts most."""
    top = np.linalg.eigh(matrix)[1][:, -1]

    def multiply(u):
        wrong = rng.standard_normal(len(u)) if kind == "anywhere" else top * np.sign(top @ u)
        return matrix @ u + error * np.linalg.norm(u) * wrong / np.linalg.norm(wrong)

    return multiply


@pytest.mark.parametrize("N", [1, 2, 10, 40])
@pytest.mark.parametrize("top", [0.9, 1.0, 1.002, 1.05])
@pytest.mark.parametrize("kind", ["anywhere", "worst"])
def test_stable_computation(N, top, kind):
    """|s - s_exact| <= 2 eps (1 + 2 N C_T) N C_U C_c if eps <= 1 / (4 N C_U); rounding 1e-12 of gamma^N C_c.

    With gamma = top + sqrt(top^2 - 1), |T_k| <= gamma^k and |U_k| <= (k + 1) gamma^k: C_T = 1, C_U = N + 1.
    """
    d = 6
    gamma = max(1.0, top + math.sqrt(max(0.0, top**2 - 1)))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        matrix = symmetric(np.append(rng.uniform(-1, min(1, top), d - 1), top), seed)
        c = rng.standard_normal((N + 1, d))
        if seed % 2:
            c[:N] = 0  # the algorithm's own case: only the last coefficient
        C_T, C_U = 1.0, N + 1.0
        C_c = max(gamma**k * np.linalg.norm(c[k]) for k in range(N + 1))
        exact = sum(chebyshev(k, matrix) @ c[k] for k in range(N + 1))
        assert np.allclose(backward(lambda u, a=matrix: a @ u, c), exact, atol=1e-12 * C_c * (N + 1))
        for error in (1 / (4 * N * C_U), 1e-3 / (4 * N * C_U)):
            inexact = backward(adversary(matrix, error, kind, rng), c)
            bound = error * 2 * (1 + 2 * N * C_T) * N * C_U * C_c
            assert np.linalg.norm(inexact - exact) <= bound + 1e-12 * C_c * (N + 1)


class Fake:
    """Products of a declared error, with what `_Chebyshev` asks of them; it remembers nothing."""

    def __init__(self, matrix, error, hide=None):
        self.matrix, self.error, self.hide = matrix, error, hide
        self.local = SimpleNamespace(d=len(matrix))
        self.shift = 0.0
        self.rng = np.random.default_rng(0)

    def __call__(self, q):
        image = self.matrix @ q
        if self.hide is None:
            wrong = self.rng.standard_normal(len(q))
            image = image + self.error * wrong / np.linalg.norm(wrong)
        else:  # remove what the recurrence would grow along u: M(y) loses its component there, as far as allowed
            image = image + float(np.clip(self.target * (self.hide @ q), -self.error, self.error)) * self.hide
        return Product(image, q, image)

    def noise(self):
        return self.error


def start(matrix, error, hide, seed, T, ell, delta=0.1, failure=1e-12):
    products = Fake(matrix, error, hide)
    products.target = ell + delta / 4  # turns an eigenvalue -delta into one that M shrinks
    # With this C1, no growth is ever enough to be called a direction.
    finder = ZONCFDeterministic(delta=delta, ell=ell, T=T, failure=failure, C1=1e3)
    xi = np.random.default_rng(seed).standard_normal(products.local.d)
    return _Chebyshev(finder, products, ell, xi / np.linalg.norm(xi))


@pytest.mark.parametrize("T", [1, 2, 5, 30, 120])
@pytest.mark.parametrize("error", [0.0, 1e-6, 1e-3, 3e-2])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("below", [1.0, 1.5, 4.0])
def test_overlap_inequality(T, error, hidden, below):
    """|<u, xi>| <= |x_t - x_0| / T_t(a) + 2/ell sum_s |e_s| T_{t-s}(a) / T_t(a) for every u below -delta.

    Whatever the errors; rounding 1e-12.
    """
    ell, delta, d = 2.0, 0.1, 8
    for seed in range(6):
        others = np.random.default_rng(seed).uniform(-0.7 * delta, 0.95 * ell, d - 1)
        matrix = symmetric(np.append(others, -below * delta), seed)
        u = np.linalg.eigh(matrix)[1][:, 0]
        run = start(matrix, error, u if hidden else None, seed, T, ell)
        assert run.grow() is None
        assert run.t == T
        assert abs(u @ run.xi) <= run.bound() * (1 + 1e-12) + 1e-12


def test_without_the_error_term_the_inequality_is_false():
    """Errors that hide u leave |x_t - x_0| / T_t(a) below the overlap: the second term is needed."""
    ell, d, broken = 2.0, 8, 0
    for seed in range(20):
        spectrum = np.append(np.random.default_rng(seed).uniform(0, 0.95 * ell, d - 1), -0.1)
        matrix = symmetric(spectrum, seed)
        u = np.linalg.eigh(matrix)[1][:, 0]
        run = start(matrix, 3e-2, u, seed, 60, ell)
        assert run.grow() is None
        first = math.exp(run.final) / math.cosh(60 * run.angle)
        broken += abs(u @ run.xi) > first
    assert broken >= 10


def test_exact_products_give_the_polynomial():
    """x_{t+1} - x_0 = T_t(M) xi: its length, and with it the first term, to 1e-9."""
    ell, delta, T = 2.0, 0.1, 25
    matrix = symmetric(np.array([-0.3, -0.1, 0.0, 0.5, 1.9]), 1)
    run = start(matrix, 0.0, None, 3, T, ell)
    assert run.grow() is None
    M = -matrix / ell + (1 - 3 * delta / (4 * ell)) * np.eye(5)
    assert math.isclose(math.exp(run.final), np.linalg.norm(chebyshev(T, M) @ run.xi), rel_tol=1e-9)


def test_long_runs_do_not_overflow():
    """Growth by 1e170, past where lengths are rescaled, is carried as a logarithm (to 1e-9 of it)."""
    ell, T = 2.0, 400
    matrix = symmetric(np.append(np.linspace(0, 1.5, 7), -1.2), 2)
    u = np.linalg.eigh(matrix)[1][:, 0]
    run = start(matrix, 0.0, None, 5, T, ell)
    assert run.grow() is None
    assert run.final > 170 * math.log(10)
    growth = np.arccosh(1 + (1.2 - 0.075) / ell)
    assert math.isclose(run.final, T * growth - math.log(2) + math.log(abs(u @ run.xi)), rel_tol=1e-9)
