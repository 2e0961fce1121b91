"""ZO-SCRN: cubic-regularised Newton steps on Gaussian-smoothed gradients and Hessians."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from .._array import Array, like, to_numpy
from ..derivatives.paper import gauss_gradient
from ..oracle import Oracle, point, points
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ZOSCRN:
    """ZO-SCRN, Balasubramanian & Ghadimi (2022).

    The gradient is the mean of (f(x + nu u) - f(x)) / nu u, the Hessian that of
    (u u' - I) (f(x + nu u) + f(x - nu u) - 2 f(x)) / (2 nu^2), over standard normal u; the step minimises
    g's + s'Hs / 2 + alpha |s|^3 / 6. It stops when a step is shorter than `tolerance`.
    """

    nu: float
    """Smoothing radius of the Hessian."""
    nu_gradient: float
    """Smoothing radius of the gradient: at the Hessian's, second-order terms would be noise above any small gtol."""
    m_gradient: int
    """Directions of a gradient."""
    m_hessian: int
    """Directions of a Hessian."""
    alpha: float
    """The weight of the cubic term."""
    tolerance: float
    """The run ends at a step shorter than this."""
    batch: int | Callable[[Oracle, Array, np.random.Generator], int] = 1
    """Samples behind every value, if the function has samples; or how many at a point."""
    T: int | None = None
    """The most steps; None: no end."""

    name: ClassVar[str] = "zo-scrn"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        for _ in count() if self.T is None else range(self.T):
            batch = self.batch if isinstance(self.batch, int) else self.batch(f, x, rng)
            f_x = f if f.samples is None else f.on(f.draw(batch, rng))
            g = to_numpy(gauss_gradient(f_x, x, self.nu_gradient, rng, self.m_gradient)).astype(np.float64)
            H = self._hessian(f_x.tagged("curvature"), x, rng)
            s = cubic_step(g, H, self.alpha)
            if np.linalg.norm(s) <= self.tolerance:
                return Ending(Stop.FINISHED)
            x = x + like(s, x)
            yield Iterate(x, Move.DESCENT, fun=None, grad_norm=float(np.linalg.norm(g)))
        return Ending(Stop.ITERATIONS)

    def _hessian(self, f: Oracle, x: Array, rng: np.random.Generator) -> Vector:
        u = rng.standard_normal((self.m_hessian, x.shape[0]))
        step = like(self.nu * u, x)
        values = f(points(x[None, :] + step) + points(x[None, :] - step) + point(x))
        w = (values[: len(u)] + values[len(u) : -1] - 2 * values[-1]) / (2 * self.nu**2)
        return np.asarray((u.T * w) @ u / len(u) - np.mean(w) * np.eye(x.shape[0]))


def cubic_step(g: Vector, H: Vector, alpha: float) -> Vector:
    """The minimiser of g's + s'Hs / 2 + alpha |s|^3 / 6, by eigendecomposition.

    It is s = -(H + alpha r / 2)^-1 g with r = |s| and H + alpha r / 2 >= 0; in the hard case, where g has no part
    along the lowest eigenvector, that vector makes up the missing length.
    """
    values, vectors = np.linalg.eigh(H)
    c = vectors.T @ g
    low = max(0.0, -2 * float(values[0]) / alpha)                               # H + alpha r / 2 >= 0 from here on
    gaps = values - min(float(values[0]), 0.0)

    def step(t: float) -> Vector:
        """For r = low + t: t keeps its digits where r is close to low."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.divide(-c, gaps + alpha * t / 2, out=np.zeros_like(c), where=c != 0)

    def length(t: float) -> float:
        return float(np.linalg.norm(step(t)))

    if length(0.0) <= low:                                                      # the hard case
        s = step(0.0)
        s[0] = np.sqrt(max(0.0, low**2 - float(s[1:] @ s[1:])))
        return np.asarray(vectors @ s)
    high = max(low, 1e-12)
    while length(high) > low + high:
        high *= 2
    t = brentq(lambda t: (low + t) / length(t) - 1, 0.0, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    return np.asarray(vectors @ step(float(t)))
