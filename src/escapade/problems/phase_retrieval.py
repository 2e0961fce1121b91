"""Recovering a vector from the magnitudes of its projections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from escapade.problems.base import Array, Matrix, Problem, Vector, at_least, like, rows_times


@dataclass(frozen=True, kw_only=True)
class PhaseRetrieval(Problem):
    r"""Real phase retrieval by least squares on intensities (Sun, Qu and Wright 2018).

    .. math:: f(x) = \frac{1}{4n} \sum_{i=1}^n \bigl((a_i^\top x)^2 - (a_i^\top x_*)^2\bigr)^2

    with Gaussian ``a_i`` and a random unit signal :math:`x_*`. The global minima are :math:`\pm x_*`, of
    value 0. All curvatures at the origin are negative or zero: it is a local maximum, a strict saddle in the
    sense that a direction of negative curvature leaves it.

    Parameters
    ----------
    d : int
        Number of variables.
    n : int
        Number of measurements; well above ``d`` for the landscape to be benign.
    seed : int
        Seed of the measurements and of the signal.
    """

    name: ClassVar[str] = "phase_retrieval"

    d: int
    n: int
    seed: int = 0

    def __post_init__(self) -> None:
        at_least("d", self.d, 1)
        at_least("n", self.n, 1)

    @cached_property
    def _data(self) -> tuple[Matrix, Vector, Vector]:
        """Measurement vectors in rows, signal, intensities."""
        rng = np.random.default_rng(self.seed)
        a, signal = rng.standard_normal((self.n, self.d)), rng.standard_normal(self.d)
        signal /= np.linalg.norm(signal)
        return a, signal, (a @ signal) ** 2

    def _values(self, x: Array) -> Array:
        a, _, intensity = self._data
        projection = rows_times(x, like(a.T, x))
        residual = projection * projection - like(intensity, x)
        return array_namespace(x).mean(residual * residual, axis=1) / 4

    def gradient(self, x: Vector) -> Vector:
        a, _, intensity = self._data
        p = a @ x
        return np.asarray(a.T @ ((p**2 - intensity) * p) / self.n)

    def hessian(self, x: Vector) -> Matrix:
        a, _, intensity = self._data
        weight = 3 * (a @ x) ** 2 - intensity
        return np.asarray((a.T * weight) @ a / self.n)

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """The origin."""
        return (np.zeros(self.d),)

    @property
    def minima(self) -> tuple[Vector, ...]:
        """The signal and its opposite."""
        signal = self._data[1]
        return signal.copy(), -signal

    @property
    def minimum(self) -> float:
        """Zero."""
        return 0.0
