"""Sigmoid regression with a nonconvex regulariser."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import NDArray
from scipy.sparse import csr_array

from escapade.problems.base import Array, Matrix, StochasticProblem, Vector, like, positive, rows_times
from escapade.problems.libsvm import load_libsvm

# Largest |second| and |third| derivative of (y - sigma(s))^2 in s, and largest |third| of w^2 / (1 + w^2).
_SECOND, _THIRD, _BUMP = 0.15406, 0.20203, 4.6686


@dataclass(frozen=True, kw_only=True, eq=False)
class NonlinearLeastSquares(StochasticProblem):
    r"""Regularised nonlinear least squares (Liu, Li, Wang, Yi and Yang 2018).

    .. math::

        f(w) = \frac1n \sum_{i=1}^n (y_i - \sigma(w^\top x_i))^2
               + \sum_{j=1}^d \frac{\lambda w_j^2}{1 + \alpha w_j^2}, \qquad \sigma(s) = \frac{1}{1 + e^{-s}}.

    Component ``i`` is the ``i``-th square plus the whole regulariser.

    Parameters
    ----------
    features : array or sparse array of shape (n, d)
        The ``x_i``, kept in CSR form.
    labels : array of shape (n,)
        The ``y_i``, 0 or 1.
    lam, alpha : float
        Weight and shape of the regulariser.

    Notes
    -----
    On the w1a data with ``lam = alpha = 1`` the origin is no saddle: the gradient there has norm
    0.275 and every curvature lies in [2.0, 2.31]. The least value found from several starts is 0.2337528.
    `ell` and `rho` hold everywhere.
    """

    name: ClassVar[str] = "nonlinear_least_squares"

    features: Any
    labels: NDArray[Any]
    lam: float = 1.0
    alpha: float = 1.0
    d: int = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        positive(lam=self.lam, alpha=self.alpha)
        n, d = self._features.shape
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "d", d)
        if self._labels.shape != (n,) or not np.all((self._labels == 0) | (self._labels == 1)):
            raise ValueError(f"labels must be {n} zeros and ones, one per row of features")

    @classmethod
    def w1a(cls, path: str | Path | None = None, *, lam: float = 1.0, alpha: float = 1.0) -> Self:
        """The problem on the w1a data (n = 2477, d = 300), which `load_libsvm` finds or fetches."""
        features, labels = load_libsvm(path)
        return cls(features=features, labels=labels, lam=lam, alpha=alpha)

    @classmethod
    def synthetic(cls, *, d: int, n: int, seed: int = 0, lam: float = 0.1) -> Self:
        """A small instance with Gaussian features and labels from a noisy random half-space."""
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((n, d))
        scores = features @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
        return cls(features=features, labels=(scores > 0).astype(float), lam=lam)

    @cached_property
    def _features(self) -> Any:
        return csr_array(self.features, dtype=np.float64)

    @cached_property
    def _labels(self) -> Vector:
        return np.asarray(self.labels, dtype=float)

    def _losses(self, x: Array, features: Any, labels: Vector) -> Array:
        """Squares of shape (m, rows of features)."""
        if is_numpy_array(x):
            scores = np.ascontiguousarray((features.astype(x.dtype, copy=False) @ x.T).T)
        else:
            scores = rows_times(x, like(features.toarray().T, x))
        residual = like(labels, x) - 0.5 * (1 + array_namespace(x).tanh(0.5 * scores))
        return residual * residual

    def _regulariser(self, x: Array) -> Array:
        square = x * x
        return array_namespace(x).sum(self.lam * square / (1 + self.alpha * square), axis=1)

    def _values(self, x: Array) -> Array:
        losses = self._losses(x, self._features, self._labels)
        return array_namespace(x).mean(losses, axis=1) + self._regulariser(x)

    def _component_values(self, x: Array, ids: NDArray[Any]) -> Array:
        if ids.min() < 0 or ids.max() >= self.n:
            raise ValueError(f"ids span [{ids.min()}, {ids.max()}]; they must lie in [0, n={self.n})")
        return self._losses(x, self._features[ids], self._labels[ids]) + self._regulariser(x)[:, None]

    def _row_values(self, x: Array, ids: NDArray[Any]) -> Array:
        if ids.shape[1] != 1 or not is_numpy_array(x):
            return super()._row_values(x, ids)
        which = ids[:, 0]
        scores = np.asarray(self._features[which].multiply(x).sum(axis=1)).ravel()
        residual = self._labels[which] - 0.5 * (1 + np.tanh(0.5 * scores))
        return np.asarray(residual * residual, dtype=x.dtype) + self._regulariser(x)

    def _sample_values(self, x: Array, ids: NDArray[Any]) -> Array:
        return array_namespace(x).mean(self._component_values(x, ids), axis=1)

    def _sigmoid(self, x: Vector) -> Vector:
        return np.asarray(0.5 * (1 + np.tanh(0.5 * (self._features @ x))))

    def gradient(self, x: Vector) -> Vector:
        x = np.asarray(x, dtype=float)
        s = self._sigmoid(x)
        slope = 2 * (s - self._labels) * s * (1 - s) / self.n
        return np.asarray(self._features.T @ slope + 2 * self.lam * x / (1 + self.alpha * x**2) ** 2)

    def hessian(self, x: Vector) -> Matrix:
        x = np.asarray(x, dtype=float)
        s = self._sigmoid(x)
        first = s * (1 - s)  # sigma' and then sigma'' = sigma' (1 - 2 sigma)
        weight = 2 * (first**2 + (s - self._labels) * first * (1 - 2 * s)) / self.n
        H = (self._features.T @ (self._features * weight[:, None])).toarray()
        square = self.alpha * x**2
        return np.asarray(H + np.diag(2 * self.lam * (1 - 3 * square) / (1 + square) ** 3))

    @cached_property
    def _norms(self) -> Vector:
        return np.asarray(np.sqrt((self._features * self._features).sum(axis=1))).ravel()

    @property
    def ell(self) -> float:
        """``2 lam + c mean |x_i|^2`` with ``c`` the largest second derivative of a square in its score."""
        return float(2 * self.lam + _SECOND * np.mean(self._norms**2))

    @property
    def rho(self) -> float:
        """``4.669 lam sqrt(alpha) + c mean |x_i|^3`` with ``c`` the largest third derivative."""
        return float(_BUMP * self.lam * self.alpha**0.5 + _THIRD * np.mean(self._norms**3))
