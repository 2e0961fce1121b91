"""A Gaussian process through residual vectors: one kernel matrix, as many right-hand sides as there are residuals.

The kernel is a squared exponential of one length, plus a constant and a linear part whose variances are large: what
the observations say of these is believed. Observations are values r(z) and directional derivatives J(z) u, which
differences give. The length is that of the largest marginal likelihood, the variance of each residual profiled out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._array import Matrix, Vector
from .settings import MODELS


@dataclass(frozen=True)
class Observations:
    """What is known of r: rows of values at points z, or of derivatives there along u."""

    z: Matrix
    u: Matrix
    """Zero for values."""
    is_value: Vector
    """1 for values, 0 for derivatives."""
    seen: Matrix
    variance: Vector
    """Of the noise of each."""

    @classmethod
    def none(cls, d: int, m: int) -> Observations:
        """Nothing yet."""
        return cls(np.empty((0, d)), np.empty((0, d)), np.empty(0), np.empty((0, m)), np.empty(0))

    def __len__(self) -> int:
        return len(self.is_value)

    def with_value(self, z: Vector, r: Vector, variance: float = 0.0) -> Observations:
        """One value more."""
        return self._with(z[None, :], np.zeros((1, len(z))), 1.0, r[None, :], variance)

    def with_derivatives(self, z: Vector, J: Matrix, variance: float = 0.0) -> Observations:
        """The derivatives along all axes."""
        d = len(z)
        return self._with(np.tile(z, (d, 1)), np.eye(d), 0.0, J.T, variance)

    def _with(self, z: Matrix, u: Matrix, is_value: float, seen: Matrix, variance: float) -> Observations:
        n = len(z)
        return Observations(
            np.concatenate([self.z, z]),
            np.concatenate([self.u, u]),
            np.concatenate([self.is_value, np.full(n, is_value)]),
            np.concatenate([self.seen, seen]),
            np.concatenate([self.variance, np.full(n, variance)]),
        )

    def nearest(self, z: Vector, keep: int) -> Observations:
        """The nearest to z, old ones counted as farther."""
        if len(self) <= keep:
            return self
        age = np.arange(len(self))[::-1]
        order = np.argsort(np.sum((self.z - z) ** 2, axis=1) * (1 + age / keep) ** 2, kind="stable")
        which = np.sort(order[:keep])
        return Observations(self.z[which], self.u[which], self.is_value[which], self.seen[which], self.variance[which])


@dataclass(frozen=True)
class Surrogate:
    """r near a point z0 as the process predicts it, exact at z0: functions of z - z0."""

    z: Matrix
    """Of the observations, from z0."""
    u: Matrix
    is_value: Vector
    weights: Matrix
    length: float
    linear: float
    """The variance of the linear part."""
    at_centre: Vector
    """What is taken off, so that the process is exact at z0."""

    def residuals(self, s: Vector, r0: Vector) -> Vector:
        """r(z0 + s), where r(z0) = r0."""
        return r0 + self.mean(s) - self.at_centre

    def mean(self, s: Vector) -> Vector:
        """Of r(z0 + s) less the r0 that it was fitted with."""
        _, P, a = self._parts(s)
        k = np.where(self.is_value > 0, P, P * a / self.length**2)
        lin = np.where(self.is_value[:, None] > 0, self.z, self.u) @ s
        return np.asarray((k + self.linear * lin + MODELS.flat * self.is_value) @ self.weights)

    def _parts(self, s: Vector) -> tuple[Matrix, Vector, Vector]:
        delta = s - self.z
        P = np.exp(-np.sum(delta**2, axis=1) / (2 * self.length**2))
        return delta, P, np.sum(delta * self.u, axis=1)

    def jacobian(self, s: Vector) -> Matrix:
        """J(z0 + s)."""
        delta, P, a = self._parts(s)
        l2, value = self.length**2, self.is_value[:, None] > 0
        rows = np.where(value, -delta / l2, self.u / l2 - a[:, None] * delta / l2**2) * P[:, None]
        rows = rows + self.linear * np.where(value, self.z, self.u)
        return np.asarray(self.weights.T @ rows)

    def second_order(self, s: Vector, by: Vector) -> Matrix:
        """sum_i by_i H_i(z0 + s)."""
        delta, P, a = self._parts(s)
        l2, b = self.length**2, self.weights @ by
        value = self.is_value > 0
        both = np.where(value, b * P / l2**2, b * P * a / l2**3)
        H = (delta.T * both) @ delta
        cross = np.where(value, 0.0, b * P / l2**2)
        mixed = (self.u.T * cross) @ delta
        H -= mixed + mixed.T
        H -= np.eye(len(s)) * float(np.sum(np.where(value, b * P / l2, b * P * a / l2**2)))
        return np.asarray(H)


def fitted(known: Observations, z0: Vector, r0: Vector, noise: float = 0.0) -> Surrogate | None:
    """The process through these observations, with the length that makes them most likely, and the variance beside that
    of the noise if there is some; None if none fits.

    Without noise it is r0 at z0. With noise it is what all observations say of z0.
    """
    z, R = known.z - z0, known.seen - np.outer(known.is_value, r0)
    scales = [0.0] if noise == 0 else [10.0 ** (-2 * k) / noise**2 for k in range(MODELS.variances)]
    best: tuple[float, Surrogate] | None = None
    for power in range(MODELS.lengths[0], MODELS.lengths[1] + 1):
        length = 2.0**power
        linear = MODELS.flat / length**2
        K = _kernel(z, known.u, known.is_value, length, linear)
        D = 1 / np.sqrt(np.diag(K))
        C = D[:, None] * K * D
        for scale in scales:
            solved = _solved(C + np.diag(MODELS.nugget + known.variance * D**2 * scale), D, R)
            if solved is not None and (best is None or solved[0] > best[0]):
                weights = solved[1]
                raw = Surrogate(z, known.u, known.is_value, weights, length, linear, np.zeros(R.shape[1]))
                best = solved[0], raw
    if best is None:
        return None
    found = best[1]
    return found if noise > 0 else replace(found, at_centre=found.mean(np.zeros(len(z0))))


def _solved(C: Matrix, D: Vector, R: Matrix) -> tuple[float, Matrix] | None:
    """The log likelihood of R, each residual with a variance of its own, and the weights of the kernel; None if the
    matrix C of correlations is not definite."""
    try:
        L = np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        return None
    Y = np.linalg.solve(L, D[:, None] * R)
    fit = np.sum(Y**2, axis=0)
    fit = fit[fit > 0]
    top = float(np.max(fit, initial=0.0))
    score = -len(R) / 2 * float(np.sum(np.log(fit + 1e-30 * top)))
    score -= R.shape[1] * float(np.sum(np.log(np.diag(L))) - np.sum(np.log(D)))
    return score, D[:, None] * np.linalg.solve(L.T, Y)


def _kernel(z: Matrix, u: Matrix, is_value: Vector, length: float, linear: float) -> Matrix:
    """The covariances of all observations."""
    l2 = length**2
    square = np.sum(z**2, axis=1)
    P = np.exp(-np.maximum(square[:, None] + square[None, :] - 2 * z @ z.T, 0.0) / (2 * l2))
    zu = np.sum(z * u, axis=1)
    a = zu[:, None] - u @ z.T                                                   # u_s'(z_s - z_t)
    b = z @ u.T - zu[None, :]                                                   # u_t'(z_s - z_t)
    v, w = is_value[:, None], is_value[None, :]
    K = P * (v * w + v * (1 - w) * b / l2 - (1 - v) * w * a / l2 + (1 - v) * (1 - w) * ((u @ u.T) / l2 - a * b / l2**2))
    lin = np.where(v > 0, z, u)
    return np.asarray(K + linear * lin @ lin.T + MODELS.flat * v * w)
