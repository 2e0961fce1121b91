"""What accelerated methods that leave saddles share: their settings, and how negative curvature is exploited."""

from __future__ import annotations

from dataclasses import dataclass

from .._array import Array, namespace, norm
from ..derivatives.paper import Steps, coord_gradient
from ..oracle import Oracle, point


@dataclass(frozen=True, kw_only=True)
class Accelerated:
    """What Algorithms 1 and 3 of Zhang & Gu (2023) share: settings, and Algorithm 2, negative curvature exploitation.

    Deviation: line 8 (16) is asked only where |y - x| exceeds `least`. At y = x it would hold with equality, after
    which v is 0 again, and the method would never move.
    """

    epsilon: float
    """A gradient of 3/4 of this is small."""
    eta: float
    """The step size."""
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
