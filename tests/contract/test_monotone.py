"""A looser tolerance is never undecided where a tighter one is certified, on the same points and seeds."""

import numpy as np
import pytest
from scipy.optimize import minimize as descend

from escapade import certify
from escapade.problems import LennardJones, LinearNetwork, Octopus, OffAxis, random_rotation


def settled(f, x, gradient):
    for _ in range(3):
        x = descend(lambda x: float(f(x)), x, jac=gradient, method="BFGS", options={"gtol": 1e-11}).x
    return x


def of_problem(p, seed, size=0.8):
    return p, settled(p, size * np.random.default_rng(seed).standard_normal(p.d), p.gradient)


def factorisation():
    n, r = 8, 4
    M = np.random.default_rng(8).standard_normal((n, r + 1))
    M = M @ M.T

    def loss(X):
        U = np.atleast_2d(X).reshape(-1, n, r)
        values = np.sum((U @ U.transpose(0, 2, 1) - M) ** 2, axis=(1, 2)) / 4
        return values if np.ndim(X) == 2 else values[0]

    def gradient(x):
        U = x.reshape(n, r)
        return ((U @ U.T - M) @ U).ravel()

    return loss, settled(loss, np.random.default_rng(0).standard_normal(n * r), gradient)


def network():
    """One hidden layer of tanh, with weight decay; gradients by complex steps."""
    X, y = np.random.default_rng(1).standard_normal((40, 4)), np.random.default_rng(2).standard_normal(40)

    def loss(rows):
        W = np.atleast_2d(rows)
        hidden = np.tanh(np.einsum("np,kpq->knq", X, W[:, :20].reshape(-1, 4, 5)) + W[:, None, 20:25])
        values = np.mean((np.einsum("knq,kq->kn", hidden, W[:, 25:30]) - y) ** 2, axis=1)
        values = values + 0.005 * np.sum(W * W, axis=1)
        return values if np.ndim(rows) == 2 else values[0]

    def gradient(x):
        return np.asarray(loss(x + 1e-30j * np.eye(30)).imag / 1e-30)

    return loss, settled(loss, 0.5 * np.random.default_rng(3).standard_normal(30), gradient)


def chained(d):
    turn = random_rotation(d, np.random.default_rng(d))

    def fun(X):
        Y = X @ turn
        return np.sum((Y[:, 1:] - Y[:, :-1]) ** 2, axis=1) + 1e-3 * np.sum(Y**2, axis=1) + np.sum(Y**4, axis=1)

    return fun, np.zeros(d)


def least_squares(residuals, start):
    """The minimum of a sum of squares, by complex steps; residuals take rows."""

    def fun(X):
        values = np.sum(residuals(np.atleast_2d(X)) ** 2, axis=1)
        return values if np.ndim(X) == 2 else values[0]

    start = np.asarray(start, dtype=float)
    return fun, settled(fun, start, lambda x: fun(x + 1e-30j * np.eye(len(x))).imag / 1e-30)


def brown_dennis(x):
    (a, b, c, d), t = x.T[:, :, None], np.arange(1, 21) / 5
    return (a + t * b - np.exp(t)) ** 2 + (c + d * np.sin(t) - np.cos(t)) ** 2


def jennrich_sampson(x):
    i = np.arange(1, 11)
    return 2 + 2 * i - np.exp(i * x[:, :1]) - np.exp(i * x[:, 1:])


def biggs(x):
    (a, b, c, d, e, f), t = x.T[:, :, None], np.arange(1, 14) / 10
    y = np.exp(-t) - 5 * np.exp(-10 * t) + 3 * np.exp(-4 * t)
    return c * np.exp(-t * a) - d * np.exp(-t * b) + f * np.exp(-t * e) - y


def kowalik_osborne(x):
    y = np.array([0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])
    u = np.array([4, 2, 1, 1 / 2, 1 / 4, 1 / 6, 1 / 8, 1 / 10, 1 / 12, 1 / 14, 1 / 16])
    a, b, c, d = x.T[:, :, None]
    return y - a * (u * u + u * b) / (u * u + u * c + d)


def broyden_tridiagonal(x):
    y = np.pad(x, ((0, 0), (1, 1)))
    return (3 - 2 * x) * x - y[:, :-2] - 2 * y[:, 2:] + 1


POINTS = {
    "cluster of 7": lambda: of_problem(LennardJones(atoms=7), 0),
    "cluster of 10": lambda: of_problem(LennardJones(atoms=10), 1),
    "linear network": lambda: of_problem(LinearNetwork(widths=(3, 4, 3)), 0, 0.5),
    "network": network,
    "factorisation": factorisation,
    "chain": lambda: chained(26),
    "octopus": lambda: (Octopus(d=30), Octopus(d=30).minima[0]),
    "off-axis": lambda: (OffAxis(d=26, seed=1, offset=10.0), OffAxis(d=26, seed=1, offset=10.0).minima[0]),
}
CLASSICS = {
    "Brown and Dennis": (brown_dennis, [25.0, 5.0, -5.0, -1.0], 1e4),
    "Jennrich and Sampson": (jennrich_sampson, [0.3, 0.4], 1e4),
    "Biggs": (biggs, [1.0, 2.0, 1.0, 1.0, 1.0, 1.0], 1.0),
    "Kowalik and Osborne": (kowalik_osborne, [0.25, 0.39, 0.415, 0.39], 0.1),
    "Broyden": (broyden_tridiagonal, -np.ones(30), 10.0),
}
"""Residuals, where to start, and the size of their curvatures."""
LOOSER = (1e-4, 1e-3, 1e-2, 1e-1)


@pytest.mark.parametrize("name", POINTS)
def test_a_looser_tolerance_is_never_undecided_where_a_tighter_one_is_certified(name):
    f, x = POINTS[name]()
    for seed in range(3):
        held = [certify(f, x, gtol=1e-3, curvtol=c, vectorized=True, rng=seed).holds for c in LOOSER]
        assert held == sorted(held), (name, seed, held)
    assert any(held)


@pytest.mark.parametrize("name", CLASSICS)
def test_at_minima_of_classic_sums_of_squares_too(name):
    residuals, start, size = CLASSICS[name]
    f, x = least_squares(residuals, start)
    for seed in range(3):
        asked = {"gtol": 1e-4 * size, "vectorized": True, "rng": seed}
        held = [certify(f, x, curvtol=c * size, **asked).holds for c in (1e-6, *LOOSER)]
        assert held == sorted(held), (name, seed, held)
    assert any(held)
