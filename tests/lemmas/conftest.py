"""Functions whose ell and rho are known exactly."""

from dataclasses import dataclass

import numpy as np
import pytest

from escapade import Oracle

EPS = 2.0**-52


@dataclass(frozen=True)
class Ridges:
    """sum_j c_j sin(s_j q_j . x + b_j), q_j orthonormal: ell = max |c_j| s_j^2, rho = max |c_j| s_j^3."""

    q: np.ndarray
    c: np.ndarray
    s: np.ndarray
    b: np.ndarray

    @classmethod
    def random(cls, seed, d):
        rng = np.random.default_rng([seed, d])
        q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        return cls(q, rng.standard_normal(d), rng.uniform(0.3, 2, d), rng.uniform(0, 6, d))

    def _phase(self, x):
        return self.s * (x @ self.q.T) + self.b

    def __call__(self, x):
        return np.sin(self._phase(x)) @ self.c

    def gradient(self, x):
        return (self.c * self.s * np.cos(self._phase(x))) @ self.q

    def hessian(self, x):
        return -(self.q.T * (self.c * self.s**2 * np.sin(self._phase(x)))) @ self.q

    @property
    def ell(self):
        return np.max(np.abs(self.c) * self.s**2)

    @property
    def rho(self):
        return np.max(np.abs(self.c) * self.s**3)

    def rounding(self, x):
        """A bound on the error of a value near x: of the sines, of their sum, and of x itself."""
        phase = self.s * (np.linalg.norm(x) + 2) + np.abs(self.b)
        return 16 * EPS * float(np.sum(np.abs(self.c) * (1 + phase)))


def _oracle(fun):
    return Oracle.of(fun, vectorized=True)


@pytest.fixture(scope="session")
def ridges():
    return Ridges.random


@pytest.fixture(scope="session")
def oracle():
    return _oracle
