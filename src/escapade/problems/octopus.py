"""A chain of d saddles, each leading to the next, that ends in a minimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import e
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from escapade.problems.base import Array, Matrix, Problem, Vector, at_least, positive


@dataclass(frozen=True, kw_only=True)
class Octopus(Problem):
    r"""The octopus of Du, Jin, Lee, Jordan, Poczos and Singh (2017), Section 4.

    With :math:`a = |x|` and :math:`i` the first index with :math:`a_i \le 2\tau` (:math:`i = d+1` if none),

    .. math::

        f(x) = \sum_{j<i} L (a_j - 4\tau)^2 - (i-1)\nu + h(a_i, a_{i+1}) + \sum_{j>i} L a_j^2
               + \frac{L+\gamma}{\tau} \sum_{j>i} \max(a_j - \tau, 0)^3,

    where :math:`h = -\gamma a_i^2` for :math:`a_i \le \tau`, :math:`h = g_1(a_i) + (g_2(a_i) - L) a_{i+1}^2`
    for :math:`\tau < a_i \le 2\tau` (without the second term when :math:`i = d`), and :math:`h = 0` when
    :math:`i = d + 1`. With :math:`v = s - \tau` and :math:`u = (s - 2\tau)/\tau`,

    .. math::

        g_1(s) &= -\gamma s^2 + \frac{10\gamma - 14L}{3\tau} v^3 + \frac{5L - 3\gamma}{2\tau^2} v^4, \\
        g_2(s) &= -\gamma - (L + \gamma)(10u^3 + 15u^4 + 6u^5), \qquad \nu = 4L\tau^2 - g_1(2\tau).

    The function is twice continuously differentiable in the tube :math:`a_j \in [2\tau, 6\tau]` for :math:`j
    < i`, :math:`a_j \le \tau` for :math:`j > i`. The last sum is zero there. It is not in the original, which
    is unbounded below outside the tube; it pushes a stray iterate back, and the jumps outside the tube
    remain.

    Parameters
    ----------
    d : int
        Number of variables.
    tau, L, gamma : float
        Width of the tube, curvature across it and strength of the negative curvature. The defaults are those
        of the original experiments, with ``nu = 139.870432574``.

    Notes
    -----
    At the saddles and minima the curvatures are ``-2 gamma`` and ``2 L`` (5.44 by default), but
    on the way from one saddle to the next the curvature goes down to -14.4. `ell` and `rho` hold on that
    whole path (``a_j = 4 tau`` before ``i``, 0 after), so ``ell = 14.4``; the often quoted ``ell = e`` is too
    small everywhere.
    """

    name: ClassVar[str] = "octopus"

    d: int
    tau: float = e
    L: float = e
    gamma: float = 1.0

    def __post_init__(self) -> None:
        at_least("d", self.d, 1)
        positive(tau=self.tau, L=self.L, gamma=self.gamma)

    @cached_property
    def nu(self) -> float:
        """Drop in value from one saddle to the next."""
        v = self.tau
        return 4 * self.L * v**2 - (-4 * self.gamma * v**2 + self._c3 * v**3 + self._c4 * v**4)

    @cached_property
    def _c3(self) -> float:
        return (10 * self.gamma - 14 * self.L) / (3 * self.tau)

    @cached_property
    def _c4(self) -> float:
        return (5 * self.L - 3 * self.gamma) / (2 * self.tau**2)

    def _values(self, x: Array) -> Array:
        xp, tau, L, gamma, d = array_namespace(x), self.tau, self.L, self.gamma, self.d
        a = xp.abs(x)
        i = xp.argmax(xp.astype(a <= 2 * tau, xp.uint8), axis=1)
        flat, row = xp.reshape(a, (-1,)), d * xp.arange(x.shape[0], dtype=i.dtype, device=device(x))
        s = xp.take(flat, row + i)  # a_i, unless the row has left every inner slab
        done = s > 2 * tau
        i = xp.where(done, d, i)

        j = xp.arange(d, dtype=i.dtype, device=device(x))
        r = xp.where(j < i[:, None], a - 4 * tau, a)
        value = L * xp.vecdot(r, r) - self.nu * xp.astype(i, x.dtype)

        middle = (s > tau) & ~done
        h = -(gamma + L) * s * s  # the sum has already counted L a_i^2
        if bool(xp.any(middle)):
            t = xp.take(flat, row + xp.where(i < d - 1, i + 1, 0))  # a_{i+1}
            v, u = s - tau, (s - 2 * tau) / tau
            blend = v * v * v * (self._c3 + self._c4 * v)
            g2 = -gamma - (L + gamma) * (u * u * u) * (10 + u * (15 + 6 * u))
            h = xp.where(middle, h + blend + xp.where(i < d - 1, (g2 - L) * t * t, 0.0), h)
        value = xp.where(done, value, value + h)

        outside = a > tau
        tube = xp.sum(i) + xp.count_nonzero(middle)  # the entries beyond tau that the tube allows
        if bool(xp.count_nonzero(outside) > tube):  # the wall
            over = xp.where(outside & (j > i[:, None]), a - tau, 0.0)
            value = value + (L + gamma) / tau * xp.sum(over * over * over, axis=1)
        return value

    def _locate(self, x: Vector) -> tuple[Vector, Vector, int]:
        """Magnitudes, signs and the index ``i`` counted from zero."""
        x = np.asarray(x, dtype=float)
        inner = np.flatnonzero(np.abs(x) <= 2 * self.tau)
        return np.abs(x), np.where(x < 0, -1.0, 1.0), int(inner[0]) if inner.size else self.d

    def _g1(self, s: float) -> tuple[float, float]:
        """First and second derivative of ``g_1``."""
        v = s - self.tau
        first = -2 * self.gamma * s + 3 * self._c3 * v**2 + 4 * self._c4 * v**3
        return first, -2 * self.gamma + 6 * self._c3 * v + 12 * self._c4 * v**2

    def _g2(self, s: float) -> tuple[float, float, float]:
        """``g_2`` and its first and second derivative."""
        u, c = (s - 2 * self.tau) / self.tau, self.L + self.gamma
        value = -self.gamma - c * u**3 * (10 + 15 * u + 6 * u**2)
        first = -30 * c * u**2 * (1 + u) ** 2 / self.tau
        return value, first, -60 * c * u * (1 + u) * (1 + 2 * u) / self.tau**2

    def gradient(self, x: Vector) -> Vector:
        a, sign, i = self._locate(x)
        tau, L = self.tau, self.L
        g = 2 * L * a
        g[:i] -= 8 * L * tau
        g[i + 1 :] += 3 * (L + self.gamma) / tau * np.maximum(a[i + 1 :] - tau, 0) ** 2
        if i < self.d:
            g[i] = -2 * self.gamma * a[i]
            if a[i] > tau:
                g[i] = self._g1(a[i])[0]
                if i + 1 < self.d:
                    value, first, _ = self._g2(a[i])
                    g[i] += first * a[i + 1] ** 2
                    g[i + 1] += 2 * (value - L) * a[i + 1]
        return np.asarray(sign * g)

    def hessian(self, x: Vector) -> Matrix:
        a, sign, i = self._locate(x)
        tau, L = self.tau, self.L
        diagonal = np.full(self.d, 2 * L)
        diagonal[i + 1 :] += 6 * (L + self.gamma) / tau * np.maximum(a[i + 1 :] - tau, 0)
        H = np.diag(diagonal)
        if i < self.d:
            H[i, i] = -2 * self.gamma
            if a[i] > tau:
                H[i, i] = self._g1(a[i])[1]
                if i + 1 < self.d:
                    value, first, second = self._g2(a[i])
                    H[i, i] += second * a[i + 1] ** 2
                    H[i + 1, i + 1] += 2 * (value - L)
                    H[i, i + 1] = H[i + 1, i] = 2 * first * a[i + 1] * sign[i] * sign[i + 1]
        return H

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """Points ``(4 tau, ..., 4 tau, 0, ..., 0)`` for k = 0, ..., d-1, of value ``-k nu``."""
        return tuple(np.where(np.arange(self.d) < k, 4 * self.tau, 0.0) for k in range(self.d))

    @property
    def minima(self) -> tuple[Vector, ...]:
        """The point ``(4 tau, ..., 4 tau)``; every change of signs gives another."""
        return (np.full(self.d, 4 * self.tau),)

    @property
    def minimum(self) -> float:
        """Value ``-d nu`` at the minima."""
        return -self.d * self.nu

    @property
    def ell(self) -> float:
        """Largest curvature on the path through the saddles (14.4 by default)."""
        turning = -self._c3 / (4 * self._c4) if self._c4 else 0.0  # g_1'' is a parabola in v
        s = self.tau * (1 + np.array([0.0, np.clip(turning / self.tau, 0, 1), 1.0]))
        return float(max(2 * self.L, *(abs(self._g1(float(k))[1]) for k in s)))

    @property
    def rho(self) -> float:
        """Upper bound on the third derivative on the path: ``max |g_1'''| + max |2 g_2'|``."""
        third = max(abs(6 * self._c3), abs(6 * self._c3 + 24 * self._c4 * self.tau))
        return third + 2 * (self.L + self.gamma) / self.tau * 30 / 16
