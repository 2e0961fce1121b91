"""The epochs of ZO-SCSG: their geometric length, and what one of them gains (Lemmas 14 and 15)."""

import math

import numpy as np
import pytest

from escapade import Oracle
from escapade._random import geometric
from escapade.methods import ZOSCSG
from escapade.theory import theorem_7

SETTINGS = [(32, 4), (8, 1), (100, 30)]


@pytest.mark.parametrize(("B", "b"), SETTINGS)
def test_the_geometric_law(B, b):
    """Mean theta / (1 - theta) = B / b, and P(N = 0) = 1 - theta; five standard errors of 20,000 draws."""
    theta, draws = B / (B + b), 20_000
    rng = np.random.default_rng(B)
    lengths = np.array([geometric(rng, theta) for _ in range(draws)])
    assert abs(lengths.mean() - B / b) <= 5 * math.sqrt(theta / draws) / (1 - theta)
    assert abs(np.mean(lengths == 0) - (1 - theta)) <= 5 * math.sqrt(theta * (1 - theta) / draws)


@pytest.mark.parametrize("option", [1, 2])
def test_epochs_are_that_long(option):
    """Counted in queries: 2d B for the start, and 4d b (4b for Option II) a step. Mean B/b, or d B/b."""
    d, B, b, draws = 3, 12, 4, 300
    f = Oracle.of(lambda x, ids: (x**2).sum(axis=-1) / 2, vectorized=True, samples=50)
    method = ZOSCSG(B=B, b=b, eta=1e-3, mu=0.1, option=option)
    rng, steps = np.random.default_rng(option), []
    for _ in range(draws):
        before = f.ledger.queries
        method.epoch(f, np.ones(d), rng)
        length, rest = divmod(f.ledger.queries - before - 2 * d * B, 4 * b * (d if option == 1 else 1))
        assert rest == 0
        steps.append(length)
    mean = B / b if option == 1 else d * B / b
    assert abs(np.mean(steps) - mean) <= 5 * math.sqrt(mean * (1 + mean) / draws)


@pytest.mark.parametrize(("B", "b"), SETTINGS)
def test_lemma_15(B, b):
    """E(D_N - D_{N+1}) = (1/theta - 1)(D_0 - E D_N), summed to 1e-12 for a bounded sequence."""
    theta = B / (B + b)
    k = np.arange(math.ceil(math.log(1e-16) / math.log(theta)))
    D = np.sin(np.arange(len(k) + 1)) + np.arange(len(k) + 1) % 3
    weight = theta**k * (1 - theta)
    left, mean = weight @ (D[:-1] - D[1:]), weight @ D[:-1]
    assert math.isclose(left, (1 / theta - 1) * (D[0] - mean), abs_tol=1e-12)


class Sum:
    """The mean of n sums of ridges c_j sin(s_j q_j.x + b_j), q_j orthonormal, and a.x, on a bowl |x|^2 / 2."""

    def __init__(self, seed, d, n, noise):
        rng = np.random.default_rng([seed, d, n])
        self.q = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
        self.c, self.s = noise * rng.standard_normal((n, d)), rng.uniform(0.3, 2, (n, d))
        self.b, self.n, self.d = rng.uniform(0, 6, (n, d)), n, d
        self.a = rng.standard_normal((n, d))
        self.ell = 1 + float(np.max(np.abs(self.c) * self.s**2))

    def __call__(self, x, ids=None):
        ids = slice(None) if ids is None else ids
        phase = self.s[ids] * np.einsum("ijk,...k->...ij", self.q[ids], x) + self.b[ids]
        bowl = (x**2).sum(axis=-1) / 2 + x @ self.a[ids].mean(axis=0)
        return bowl + np.mean(np.sum(self.c[ids] * np.sin(phase), axis=-1), axis=-1)

    def gradients(self, x):
        phase = self.s * np.einsum("ijk,k->ij", self.q, x) + self.b
        return x + self.a + np.einsum("ij,ijk->ik", self.c * self.s * np.cos(phase), self.q)

    def gradient(self, x):
        return self.gradients(x).mean(axis=0)

    def sigma2(self, x):
        """The variance where the epoch starts, all that Lemma 14 uses of sigma."""
        gradients = self.gradients(x)
        return float(np.mean(np.sum((gradients - gradients.mean(axis=0)) ** 2, axis=1)))


def stationary(f):
    x = np.zeros(f.d)
    for _ in range(500):
        x = x - f.gradient(x) / f.ell
    return x


@pytest.mark.parametrize("mu", [1e-3, 0.2])
@pytest.mark.parametrize("where", ["far", "near", "stationary"])
@pytest.mark.parametrize(("option", "d", "B", "b"), [(1, 3, 32, 4), (1, 1, 8, 1), (2, 3, 32, 4), (2, 6, 16, 12)])
def test_one_epoch(option, d, B, b, where, mu):
    """Lemma 14, with its left side less its right side averaged over 100 epochs; four standard errors are allowed.

    (B/b')^(1/3) E |grad f|^2 <= C ell / gamma E(f before - f after) + S sigma^2 / (b'^(1/3) B^(2/3))
    + c (B/b')^(1/3) ell^2 D mu^2, b' = b, C = 4, S = 30, D = d, or for Option II b' = b/d, C = 8, S = 72, D = d^2.
    """
    f = Sum(option, d, 64, 0.2)
    x = stationary(f)
    x = x + {"far": 3.0, "near": 0.3, "stationary": 0.0}[where] * np.ones(d)
    small, gamma, gain, spread, power = (b, 1 / 4, 4, 30, 1) if option == 1 else (b / d, 1 / 8, 8, 72, 2)
    assert 8 * small <= B
    method = ZOSCSG(B=B, b=b, eta=gamma * (small / B) ** (2 / 3) / f.ell, mu=mu, option=option)
    constants = {"ell": f.ell, "rho": 1.0, "sigma": 1.0, "Delta_f": 1.0, "epsilon": 0.1, "delta": 1.0}
    c = theorem_7(**constants, d=d, option=option).c_proof
    sigma2, cube = f.sigma2(x), (B / small) ** (1 / 3)
    allowed = spread * sigma2 / (small ** (1 / 3) * B ** (2 / 3)) + c * cube * f.ell**2 * d**power * mu**2
    whole, excess, before, epochs = Oracle.of(f, vectorized=True, samples=f.n), [], f(x), 100
    for seed in range(epochs):
        after = method.epoch(whole, x, np.random.default_rng([seed, B]))
        g = f.gradient(after)
        excess.append(cube * (g @ g) - gain * f.ell / gamma * (before - f(after)))
    assert np.mean(excess) <= allowed + 4 * np.std(excess, ddof=1) / math.sqrt(epochs)


def expected(d, B, b, variance, terms):
    """Sums over N < terms of P(N) times E |x_N|^2 / |x_0|^2, for f = |x|^2 / 2 and the steps of Option II.

    With y = x - x_0, y+ = y - eta (A y + x_0), E A = I and E |A y|^2 = variance |y|^2. These are lower bounds.
    """
    eta, theta = (b / d / B) ** (2 / 3) / 8, B / (B + b / d)
    along = square = total = 0.0  # E <y, x_0>, E |y|^2
    for k in range(terms):
        total += theta**k * (1 - theta) * (1 + 2 * along + square)
        square = square * (1 - 2 * eta + eta**2 * variance) - 2 * eta * (1 - eta) * along + eta**2
        along = along * (1 - eta) - eta
    return total


def test_option_2_needs_a_direction_a_component():
    """Lemma 14 fails for one direction a minibatch, which is what RandGradEst of f_S says.

    The proof divides the variance of v by b, dropping E <z_i, z_j>, which is zero only if components have
    directions of their own. On |x|^2 / 2 (sigma = 0, mu to 0) with d = b = 256 and B = 8 the lemma promises
    E(8 |grad f|^2 / 4 + 64 f) <= 64 f(x_0), but with a common direction E |x_N|^2 grows without bound.
    """
    d, B = 256, 8
    promised = 32.0  # 64 f(x_0) for |x_0| = 1; the left side is (2 + 32) E |x_N|^2
    for terms in (1000, 2000):
        assert (2 + 32) * expected(d, B, d, d, terms) > 100 * promised
        assert (2 + 32) * expected(d, B, d, 1 + (d - 1) / d, terms) < promised
    assert (2 + 32) * expected(16, B, 16, 16, 2000) < promised  # in few dimensions one direction is enough
