"""The instances that rates are measured on: some are easy, and on some a term of the theory is attained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..problems.base import Array, Matrix, Problem, StochasticProblem, Vector


@dataclass(frozen=True, kw_only=True)
class Spectrum(Problem):
    """A quadratic with curvatures evenly spaced from 1/d to 1, the first of which is `lowest`.

    Quadratics have rho = 0, so products are exact and only the number of them is seen.
    """

    name: ClassVar[str] = "spectrum"

    d: int
    lowest: float

    @property
    def diagonal(self) -> Vector:
        """The curvatures."""
        entries = np.linspace(1 / self.d, 1.0, self.d)
        entries[0] = self.lowest
        return entries

    def _values(self, x: Array) -> Array:
        return 0.5 * np.sum(self.diagonal * x * x, axis=1)

    def gradient(self, x: Vector) -> Vector:
        return self.diagonal * x

    def hessian(self, x: Vector) -> Matrix:
        return np.diag(self.diagonal)

    @property
    def ell(self) -> float:
        """1."""
        return 1.0


class _Slide(Problem):
    """phi(x_1) + (x_2^2 + ... + x_d^2) / 2 from the origin: phi falls, and the other variables are at rest."""

    def _phi(self, s: Vector) -> tuple[Vector, Vector, Vector]:
        """phi and its two derivatives."""
        raise NotImplementedError

    def _values(self, x: Array) -> Array:
        return self._phi(x[:, 0])[0] + 0.5 * np.sum(x[:, 1:] ** 2, axis=1)

    def gradient(self, x: Vector) -> Vector:
        return np.append(self._phi(x[:1])[1], x[1:])

    def hessian(self, x: Vector) -> Matrix:
        return np.diag(np.append(self._phi(x[:1])[2], np.ones(len(x) - 1)))


@dataclass(frozen=True, kw_only=True)
class Ramp(_Slide):
    r"""A ramp of slope s and height 1 that levels out: the worst case of a descent, one for every epsilon.

    With s = 2 epsilon the gradient is above epsilon nearly all the way down. A step 1 / (4 ell) along it gains about
    s^2 / (4 ell), so that gradient descent needs 4 ell Delta_f / s^2 = ell Delta_f / epsilon^2 steps: the first term of
    Theorem 4, with the constant one. The function changes with epsilon, as it may: the bound is over all functions with
    the same ell, rho and Delta_f = 1.

    .. math:: \varphi(x) = s w \log(1 + e^{(L - x) / w}), \qquad w = \sqrt{s / (10 \rho)}

    With p = 1 / (1 + exp((x - L) / w)) its derivatives are -s p, s p (1 - p) / w and -s p (1 - p) (1 - 2p) / w^2. So
    the second is at most s / (4 w) = sqrt(10 rho s) / 4, which is at most ell = 1 for s <= 1.6 / rho, and the third at
    most s / (6 sqrt(3) w^2) < rho. L is such that phi(0) = 1.
    """

    name: ClassVar[str] = "ramp"

    d: int
    slope: float
    rho: float = 1.0
    ell: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.slope <= 1.6 / self.rho:
            raise ValueError(f"slope={self.slope} must lie in (0, {1.6 / self.rho:.3g}], 1.6 / rho, so that ell is 1")

    @property
    def width(self) -> float:
        """w."""
        return math.sqrt(self.slope / (10 * self.rho))

    @property
    def length(self) -> float:
        """L, about 1/s."""
        return 1 / self.slope + self.width * math.log1p(-math.exp(-1 / (self.slope * self.width)))

    def _phi(self, s: Vector) -> tuple[Vector, Vector, Vector]:
        t = (self.length - s) / self.width
        p = 0.5 * (1 + np.tanh(t / 2))
        value = self.slope * self.width * np.logaddexp(0.0, t)
        return value, -self.slope * p, self.slope / self.width * p * (1 - p)

    @property
    def minimum(self) -> float:
        """0, at infinity."""
        return 0.0


@dataclass(frozen=True, kw_only=True)
class Tail(_Slide):
    r"""One function on which gradient descent needs nearly epsilon^-2 steps for every epsilon.

    .. math:: \varphi'(x) = -(1 + x)^{-a}, \qquad a = 1.05

    f falls by 1 / (a - 1) = 20 in all. Steps of 1 / (4 ell) follow :math:`\dot x = (1 + x)^{-a} / (4 \ell)`, so that
    :math:`(1 + x)^{a + 1} = 1 + (a + 1) t / (4 \ell)`: the gradient is epsilon at :math:`x = \epsilon^{-1/a} - 1`,
    after :math:`t = 4 \ell (\epsilon^{-(1 + 1/a)} - 1) / (a + 1)` steps. The exponent 1 + 1/a = 1.952 tends to 2 as a
    tends to 1, and f is bounded below for every a > 1. That steepest descent can take epsilon^(-2 + tau) iterations for
    every tau > 0 is due to Cartis, Gould and Toint (2010). Left of the origin phi is its Taylor polynomial.
    """

    name: ClassVar[str] = "tail"

    d: int
    a: float = 1.05

    def _phi(self, s: Vector) -> tuple[Vector, Vector, Vector]:
        a, right, left = self.a, 1 + np.maximum(s, 0.0), np.minimum(s, 0.0)
        value = right ** (1 - a) / (a - 1) - left + a * left**2 / 2
        return value, -(right**-a) + a * left, a * right ** (-a - 1)

    @property
    def minimum(self) -> float:
        """0, at infinity."""
        return 0.0

    @property
    def ell(self) -> float:
        """a."""
        return self.a

    @property
    def rho(self) -> float:
        """a (a + 1)."""
        return self.a * (self.a + 1)


@dataclass(frozen=True, kw_only=True)
class Noisy(StochasticProblem):
    r"""A function seen through an endless stream of components.

    .. math:: f_i(x) = f(x) + \frac{\sigma}{\sqrt d} \sum_j \zeta_{ij} x_j
              + \kappa \sum_{j \ge j_0} \xi_{ij} (1 - \cos x_j)

    with independent random signs. Gradients deviate by exactly sigma where x is 0 (Assumption 2), and by at most
    kappa sin(x_j) more in each variable; Hessians deviate by at most kappa, in norm. The mean of b signs is drawn at
    once, from its binomial law, by a generator that the batch's ids seed. So a batch of a million costs no more than
    one of ten, and the same batch is the same function wherever it is evaluated; but batches that overlap are
    independent, which no method here would notice.
    """

    name: ClassVar[str] = "noisy"

    problem: Problem
    sigma: float = 0.0
    kappa: float = 0.0
    first: int = 0
    """j_0: curvatures of earlier variables are the same in all components."""
    seed: int = 0

    @property
    def d(self) -> int:  # type: ignore[override]
        """That of the function."""
        return self.problem.d

    def _values(self, x: Array) -> Array:
        return self.problem(x)

    def _signs(self, ids: NDArray[Any]) -> Matrix:
        """The means of zeta and xi over a batch."""
        b, ends = len(ids), (int(ids[0]), int(ids[-1]))
        rng = np.random.default_rng([self.seed, b, *ends])
        return 2 * rng.binomial(b, 0.5, (2, self.d)) / b - 1

    def _sample_values(self, x: Array, ids: NDArray[Any]) -> Array:
        zeta, xi = self._signs(ids)
        noise = x @ zeta * (self.sigma / math.sqrt(self.d))
        curved = (1 - np.cos(x[:, self.first :])) @ xi[self.first :]
        return self.problem(x) + noise + self.kappa * curved

    def _component_values(self, x: Array, ids: NDArray[Any]) -> Array:
        return np.stack([self._sample_values(x, ids[i : i + 1]) for i in range(len(ids))], axis=1)

    def gradient(self, x: Vector) -> Vector:
        return self.problem.gradient(x)

    def hessian(self, x: Vector) -> Matrix:
        return self.problem.hessian(x)

    @property
    def start(self) -> Vector:
        """That of the function."""
        return self.problem.start
