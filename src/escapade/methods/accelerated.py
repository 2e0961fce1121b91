"""Accelerated descent that leaves saddles, by a perturbation or by accelerated negative curvature finding."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array, namespace, norm
from .._random import ball
from ..estimators.gradients import Steps, coord_gradient
from ..oracle import Oracle, point
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class Accelerated:
    """What Algorithms 1 and 3 of Zhang & Gu (2023) share: settings, and Algorithm 2, negative curvature exploitation.

    Deviation: line 8 (16) is asked only where |y - x| exceeds `least`. At y = x it would hold with equality, after
    which v is 0 again, and the method would never move.
    """

    epsilon: float
    """A gradient of 3/4 of this is small."""
    eta: float
    theta: float
    """One less the momentum."""
    gamma: float
    """Curvatures below -gamma between x and y are exploited."""
    s: float
    """Length of that step."""
    T: int
    """Iterations between two perturbations."""
    r: float
    """Radius of the perturbation."""
    f_thres: float
    """A perturbation that has gained less after T iterations ends the method."""
    mu: Steps
    """Difference step of line 6 (11)."""
    mu_check: Steps | None = None
    """Difference step of lines 3 and 8 (16); None takes the gradient at y of line 6 (11) again, which saves 2d."""
    least: float = 0.0
    """Rounding hides the curvature between points that are closer than this."""

    def _small(self, g: Array) -> bool:
        return norm(g) <= 0.75 * self.epsilon

    def _gradient(self, f: Oracle, x: Array) -> Array:
        return coord_gradient(f, x, self.mu if self.mu_check is None else self.mu_check)

    def _curved(self, f: Oracle, x: Array, y: Array, g: Array) -> bool:
        """Whether f(x) <= f(y) + <g, x - y> - gamma / 2 |x - y|^2, with g the gradient at y."""
        if norm(x - y) <= self.least:
            return False
        fx, fy = f(point(x) + point(y))
        slope = float(namespace(x).sum(g * (x - y)))
        return bool(fx <= fy + slope - self.gamma / 2 * norm(x - y) ** 2)

    def _exploit(self, f: Oracle, x: Array, v: Array) -> Array:
        """Algorithm 2; the momentum that it returns is 0."""
        if norm(v) >= self.s:                                                   # NCE, line 1
            return x                                                            # line 2
        step = self.s / norm(v) * v                                             # line 4
        return lower(f.tagged("escape"), x + step, x - step)[0]                 # line 5


def lower(f: Oracle, a: Array, b: Array) -> tuple[Array, float]:
    """The lower of two points, and its value."""
    fa, fb = f(point(a) + point(b))
    return (a, float(fa)) if fa <= fb else (b, float(fb))


@dataclass(frozen=True, kw_only=True)
class ZOPerturbedAGD(Accelerated):
    """Zeroth-order perturbed accelerated gradient descent, Algorithm 1 of Zhang & Gu (2023).

    It ends as in their Remark 2: where the Hamiltonian f(x) + |v|^2 / (2 eta) has fallen by less than f_thres within T
    iterations, the point before the perturbation is returned.

    Deviation: t_perturb begins at -T - 1, as in Algorithm 3; printed is 0, with which the first T iterations at a
    saddle do nothing.

    Queries: 4*d + 2 an iterate; 2*d + 2 within T of a perturbation; with `mu_check` another 2*d
    """

    name: ClassVar[str] = "zo-perturbed-agd"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        v, start, before, perturbed = 0 * x, x, 0.0, -self.T - 1                # line 1
        for t in count():                                                       # line 2
            if t - perturbed == self.T and before - self._hamiltonian(f, x, v) < self.f_thres:    # Remark 2
                yield Iterate(start)
                return Ending(Stop.FINISHED)
            if t - perturbed > self.T and self._small(self._gradient(f, x)):    # line 3
                start, before, perturbed = x, self._hamiltonian(f, x, v), t
                x = x + ball(rng, x, self.r)                                    # line 4
            y = x + (1 - self.theta) * v                                        # line 5
            g = coord_gradient(f, y, self.mu)
            x_t, x = x, y - self.eta * g                                        # line 6
            v_t, v = v, x - x_t                                                 # line 7
            check = g if self.mu_check is None else self._gradient(f, y)
            if self._curved(f, x_t, y, check):                                  # line 8
                x, v = self._exploit(f, x_t, v_t), 0 * x                        # line 9
            yield Iterate(x, Move.PERTURB if t - perturbed < self.T else Move.DESCENT, grad_norm=norm(g))
        return Ending(Stop.ITERATIONS)

    def _hamiltonian(self, f: Oracle, x: Array, v: Array) -> float:
        return f.value(x) + norm(v) ** 2 / (2 * self.eta)


@dataclass(frozen=True, kw_only=True)
class ZOAGDNCF(Accelerated):
    """The same with accelerated negative curvature finding, Algorithm 3 of Zhang & Gu (2023).

    For T iterations after a perturbation, the accelerated step is taken on f less its linear part at the saddle, and
    kept at distance r; what grows is a direction of negative curvature. It ends as in their Remark 4: where a step
    along it gains less than f_thres, the saddle point that was suspected is returned.

    Queries: 2*d an iterate of the search; otherwise 4*d + 2, with `mu_check` 6*d + 2
    """

    step: float
    """Length of the step along the direction found, 1/4 sqrt(epsilon / rho)."""

    name: ClassVar[str] = "zo-agd-ncf"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        y, saddle, zeta, perturbed = x, x, 0 * x, -self.T - 1                   # line 1
        g_y = None  # the gradient at y, where line 16 has measured it with the step of line 11
        for t in count():                                                       # line 2
            if t - perturbed > self.T:
                g = self._gradient(f, x)
                if self._small(g):                                              # line 3
                    saddle, x, perturbed = x, x + ball(rng, x, self.r), t       # lines 4, 5
                    zeta = g if self.mu_check is None else coord_gradient(f, saddle, self.mu)
                    y, g_y = x, None                                            # line 6
            if t - perturbed == self.T:                                         # line 7
                door, e = f.tagged("escape"), (x - saddle) / norm(x - saddle)   # line 8
                x, low = lower(door, saddle - self.step * e, saddle + self.step * e)    # line 9
                if door.value(saddle) - low < self.f_thres:                     # Remark 4
                    yield Iterate(saddle)
                    return Ending(Stop.FINISHED)
                y, zeta = x, 0 * x                                              # line 10
            searching = t - perturbed < self.T
            if g_y is None:
                g_y = coord_gradient(f.tagged("curvature") if searching else f, y, self.mu)
            x_t, x, size = x, y - self.eta * (g_y - zeta), norm(g_y)            # line 11
            v = x - x_t                                                         # line 12
            y, g_y = x + (1 - self.theta) * v, None                             # line 13
            if searching:                                                       # line 14
                x = saddle + self.r / norm(x - saddle) * (x - saddle)           # line 15
                y = saddle + self.r / norm(y - saddle) * (y - saddle)
            else:
                check = self._gradient(f, y)
                if self._curved(f, x, y, check):                                # line 16
                    x = y = self._exploit(f, x, v)                              # lines 17, 18: v = 0
                elif self.mu_check is None:
                    g_y = check
            move = Move.PERTURB if searching else Move.ESCAPE if t - perturbed == self.T else Move.DESCENT
            yield Iterate(x, move, grad_norm=None if searching else size)
        return Ending(Stop.ITERATIONS)
