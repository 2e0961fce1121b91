"""Averages over n samples with exact derivatives, for `samples.py`: values for the solver, gradient and Hessian for the
judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
BLOCK = 2_000_000


@dataclass(frozen=True)
class SampledProblem:
    """f(x) = mean_i F_i(x)."""

    name: str
    n: int
    d: int
    losses: Callable[[Matrix, Any], Matrix]
    """Rows of points and sample ids to a matrix of values."""
    gradients: Callable[[Vector, Any], Matrix]
    """One point and ids to the gradient of each sample."""
    hessian: Callable[[Vector], Matrix]
    """Of the whole sum."""
    saddle: Vector

    def sample_value(self, X: Matrix, ids: NDArray[np.int64]) -> Vector:
        """The mean over these ids at the rows of X."""
        total, rows = np.zeros(len(X)), max(1, BLOCK // len(X))
        for k in range(0, len(ids), rows):
            total += self.losses(X, ids[k : k + rows]).sum(axis=1)
        return total / len(ids)

    def whole(self, X: Matrix) -> Vector:
        """The whole sum."""
        return self.sample_value(X, np.arange(self.n))

    def gradient(self, x: Vector) -> Vector:
        """Exact."""
        rows = max(1, BLOCK // self.d)
        parts = [self.gradients(x, np.arange(k, min(k + rows, self.n))).sum(axis=0) for k in range(0, self.n, rows)]
        return np.sum(parts, axis=0) / self.n


def cubic(n: int, d: int = 20, seed: int = 0) -> SampledProblem:
    """x'(A + diag(xi)) x / 2 + zeta'x + |x|^3 / 3 with signs that cancel: 0 is a saddle of the sum."""
    rng = np.random.default_rng([seed, 1])
    half = n // 2
    xi, zeta = rng.uniform(-0.1, 0.1, (half, d)), rng.uniform(-1, 1, (half, d))
    A = np.ones(d)
    A[: d // 2] = -0.5
    A = A * np.linspace(0.5, 1.5, d)
    sign = np.tile([1.0, -1.0], half)[:, None]
    xi, zeta = sign * xi.repeat(2, axis=0), sign * zeta.repeat(2, axis=0)

    def losses(X: Matrix, ids: Any) -> Matrix:
        return 0.5 * (X * X) @ (A + xi[ids]).T + X @ zeta[ids].T + (np.linalg.norm(X, axis=1) ** 3 / 3)[:, None]

    def gradients(x: Vector, ids: Any) -> Matrix:
        return (A + xi[ids]) * x + zeta[ids] + np.linalg.norm(x) * x

    def hessian(x: Vector) -> Matrix:
        r = np.linalg.norm(x)
        return np.diag(A) + r * np.eye(d) + np.outer(x, x) / max(r, 1e-300)

    return SampledProblem("cubic", n, d, losses, gradients, hessian, np.zeros(d))


def _logistic(name: str, features: Matrix, labels: Vector, lam: float = 0.1) -> SampledProblem:
    """Logistic loss and the penalty lam sum w^2 / (1 + w^2)."""
    Z = features * labels[:, None]
    n, d = Z.shape

    def losses(X: Matrix, ids: Any) -> Matrix:
        return np.logaddexp(0, -(X @ Z[ids].T)) + lam * np.sum(X**2 / (1 + X**2), axis=1)[:, None]

    def gradients(x: Vector, ids: Any) -> Matrix:
        s = -1 / (1 + np.exp(np.clip(Z[ids] @ x, -500, 500)))
        return s[:, None] * Z[ids] + lam * 2 * x / (1 + x**2) ** 2

    def hessian(x: Vector) -> Matrix:
        s = 1 / (1 + np.exp(np.clip(Z @ x, -500, 500)))
        return (Z.T * (s * (1 - s))) @ Z / n + np.diag(lam * 2 * (1 - 3 * x**2) / (1 + x**2) ** 3)

    return SampledProblem(name, n, d, losses, gradients, hessian, np.zeros(d))


def logistic(n: int, d: int = 20, seed: int = 7) -> SampledProblem:
    """Gaussian features of unequal sizes."""
    rng = np.random.default_rng([seed, 2])
    A = rng.standard_normal((n, d)) * np.linspace(0.5, 2, d)
    w = 1.5 * rng.standard_normal(d) / np.sqrt(d)
    return _logistic("logistic", A, np.where(rng.random(n) < 1 / (1 + np.exp(-A @ w)), 1.0, -1.0))


def real(name: str) -> SampledProblem:
    """Breast cancer (569 samples, 30 variables), or digits: 0 to 4 against 5 to 9 (1797 samples, 10 variables)."""
    from sklearn.datasets import load_breast_cancer, load_digits

    data = load_breast_cancer() if name == "breast cancer" else load_digits()
    X = np.asarray(data.data, dtype=float)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12)
    if name == "digits":
        X = np.linalg.svd(X, full_matrices=False)[0][:, :10] * np.sqrt(len(X))
    return _logistic(name, X, np.where(np.asarray(data.target) >= (1 if name == "breast cancer" else 5), 1.0, -1.0))


def _quartic(name: str, A: Matrix, target: Vector, r: int) -> SampledProblem:
    """(|U'a|^2 - b)^2 / 4 over samples (a, b), U of r columns: phase retrieval is r = 1."""
    n, m = A.shape

    def projections(X: Matrix, ids: Any) -> list[Matrix]:
        Y = X.reshape(len(X), r, m)
        return [Y[:, j] @ A[ids].T for j in range(r)]

    def losses(X: Matrix, ids: Any) -> Matrix:
        total = -target[ids][None, :]
        for one in projections(X, ids):
            total = total + one**2
        return 0.25 * total**2

    def gradients(x: Vector, ids: Any) -> Matrix:
        P = [one[0] for one in projections(x[None, :], ids)]
        residual = sum(p**2 for p in P) - target[ids]
        return np.concatenate([(residual * p)[:, None] * A[ids] for p in P], axis=1)

    def hessian(x: Vector) -> Matrix:
        P = [one[0] for one in projections(x[None, :], np.arange(n))]
        residual = sum(p**2 for p in P) - target
        H = np.zeros((r * m, r * m))
        for j in range(r):
            for k in range(r):
                w = 2 * P[j] * P[k] + (residual if j == k else 0.0)
                H[j * m : (j + 1) * m, k * m : (k + 1) * m] = (A.T * w) @ A / n
        return H

    return SampledProblem(name, n, r * m, losses, gradients, hessian, np.zeros(r * m))


def phase(n: int, d: int = 20, seed: int = 1) -> SampledProblem:
    """Phase retrieval: all samples share the saddle at 0, and the minima."""
    rng = np.random.default_rng([seed, 3])
    A, z = rng.standard_normal((n, d)), rng.standard_normal(d)
    return _quartic("phase retrieval", A, (A @ (z / np.linalg.norm(z))) ** 2, 1)


def sensing(n: int, m: int = 10, r: int = 2, seed: int = 2) -> SampledProblem:
    """Matrix sensing with measurements a'UU'a: minima are not isolated."""
    rng = np.random.default_rng([seed, 4])
    U, A = rng.standard_normal((m, r)) / np.sqrt(m), rng.standard_normal((n, m))
    return _quartic("matrix sensing", A, np.sum((A @ U) ** 2, axis=1), r)


def factorisation(n: int, m: int = 6, r: int = 2, seed: int = 5) -> SampledProblem:
    """(u_i'v_j - M_ij)^2 / 2 over noisy entries (i, j), with a small penalty."""
    rng = np.random.default_rng([seed, 5])
    U, V = rng.standard_normal((m, r)), rng.standard_normal((m, r))
    i, j = rng.integers(0, m, n), rng.integers(0, m, n)
    target = np.sum(U[i] * V[j], axis=1) + 0.1 * rng.standard_normal(n)
    d, lam = 2 * m * r, 1e-2

    def parts(X: Matrix) -> tuple[Matrix, Matrix]:
        return X[:, : m * r].reshape(-1, m, r), X[:, m * r :].reshape(-1, m, r)

    def losses(X: Matrix, ids: Any) -> Matrix:
        a, b = parts(X)
        residual = np.einsum("kir,kjr->kij", a, b)[:, i[ids], j[ids]] - target[ids]
        return 0.5 * residual**2 + 0.5 * lam * np.sum(X**2, axis=1)[:, None]

    def gradients(x: Vector, ids: Any) -> Matrix:
        a, b = (one[0] for one in parts(x[None, :]))
        rows = np.arange(len(i[ids]))
        residual = np.sum(a[i[ids]] * b[j[ids]], axis=1) - target[ids]
        g = np.zeros((len(rows), 2, m, r))
        g[rows, 0, i[ids]] = residual[:, None] * b[j[ids]]
        g[rows, 1, j[ids]] = residual[:, None] * a[i[ids]]
        return g.reshape(len(rows), d) + lam * x

    counts, sums = np.zeros((m, m)), np.zeros((m, m))
    np.add.at(counts, (i, j), 1.0)
    np.add.at(sums, (i, j), target)

    def hessian(x: Vector) -> Matrix:
        a, b = (one[0] for one in parts(x[None, :]))
        H, e = np.zeros((2, m, r, 2, m, r)), np.eye(r)
        W = counts / n
        R = (counts * (a @ b.T) - sums) / n
        for k in range(m):
            H[0, k, :, 0, k, :] = (b.T * W[k]) @ b
            H[1, k, :, 1, k, :] = (a.T * W[:, k]) @ a
            for q in range(m):
                block = W[k, q] * np.outer(b[q], a[k]) + R[k, q] * e
                H[0, k, :, 1, q, :] = block
                H[1, q, :, 0, k, :] = block.T
        return H.reshape(d, d) + lam * np.eye(d)

    return SampledProblem("factorisation", n, d, losses, gradients, hessian, np.zeros(d))


def network(n: int, inputs: int = 4, hidden: int = 8, seed: int = 3) -> SampledProblem:
    """A network of 49 weights with tanh units, and a small penalty; 0 is a saddle of it but for its constant."""
    rng = np.random.default_rng([seed, 6])
    A = rng.standard_normal((n, inputs))
    y = np.sin(1.5 * A[:, 0]) + 0.5 * A[:, 1] * A[:, 2] + 0.1 * rng.standard_normal(n)
    d, k, lam = inputs * hidden + 2 * hidden + 1, inputs * hidden, 1e-3

    def losses(X: Matrix, ids: Any) -> Matrix:
        B = A[ids]
        W = X[:, :k].reshape(-1, inputs, hidden)
        out = np.repeat(X[:, -1:], len(B), axis=1)
        for j in range(hidden):
            out += np.tanh(W[:, :, j] @ B.T + X[:, k + j][:, None]) * X[:, k + hidden + j][:, None]
        return 0.5 * (out - y[ids]) ** 2 + 0.5 * lam * np.sum(X**2, axis=1)[:, None]

    def pieces(x: Vector, B: Matrix) -> tuple[Matrix, Matrix, Vector]:
        T = np.tanh(B @ x[:k].reshape(inputs, hidden) + x[k : k + hidden])
        v = x[k + hidden : -1]
        S = 1 - T * T
        outer = (B[:, :, None] * (S * v)[:, None, :]).reshape(len(B), k)
        J = np.concatenate([outer, S * v, T, np.ones((len(B), 1))], axis=1)
        return J, T, T @ v + x[-1]

    def gradients(x: Vector, ids: Any) -> Matrix:
        J, _, out = pieces(x, A[ids])
        return (out - y[ids])[:, None] * J + lam * x

    def hessian(x: Vector) -> Matrix:
        h = 1e-5
        rows = [gradient(x + h * e) - gradient(x - h * e) for e in np.eye(d)]
        H = np.array(rows) / (2 * h)
        return (H + H.T) / 2

    def gradient(x: Vector) -> Vector:
        step = max(1, BLOCK // d)
        return np.sum([gradients(x, np.arange(q, min(q + step, n))).sum(axis=0) for q in range(0, n, step)], axis=0) / n

    start = np.zeros(d)
    start[-1] = y.mean() / (1 + lam)
    return SampledProblem("network", n, d, losses, gradients, hessian, start)


SYNTHETIC = {
    "cubic": cubic, "logistic": logistic, "phase": phase, "sensing": sensing, "factorisation": factorisation,
    "network": network,
}
