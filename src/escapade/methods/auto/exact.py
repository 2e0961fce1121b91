"""Differences where the user gives gradients: a gradient a point, and products from two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..._array import Vector, epsilon, norm2
from ...derivatives.by_gradients import GradientModel
from ...derivatives.settings import NOISE
from ...derivatives.sparsity import SparseMatrix, Sparsity, coloured_hessian
from ...derivatives.steps import power_of_two
from ...oracle import points
from .differences import Differences
from .limited_memory import diagonal_model
from .model import Model
from .point import GradientKind, Point
from .settings import REFINE


@dataclass
class ExactDifferences(Differences):
    """What the method asks of a function with gradients."""

    level: float = 0.0
    """The standard deviation of the error of an entry of a gradient, once it was measured."""

    @property
    def few(self) -> bool:
        """All second differences are never cheaper than gradients."""
        return False

    @property
    def price(self) -> float:
        """What a gradient is taken to cost, in values: with reverse differentiation three or four."""
        return 4.0

    def gradient_error(self, p: Point) -> float:
        """The norm of what noise does to a gradient."""
        rounding = max(epsilon(self.x), self.f.gradient_precision) * p.steepness
        return max(self.level * (math.sqrt(self.d) + NOISE.deviations), rounding)

    def update_slopes(self, local: GradientModel) -> None:
        """Take the noise of gradients that was measured."""
        self.level = max(self.level, local.slopes.level)

    def forward(self, p: Point, diagonal: Vector) -> Point:
        """p with its gradient.

        Queries: none; a gradient
        """
        g = self.f.tagged("descent").gradient(self.array(p.y))
        return replace(p, g=g, h=self.ones, row=g, kind=GradientKind.EXACT)

    def central(self, p: Point) -> tuple[Point, Vector]:
        """The same, and ones for a diagonal that nobody asks of it."""
        return self.forward(p, self.ones), self.ones

    def sparse(self, p: Point, sparsity: Sparsity) -> tuple[Point, SparseMatrix]:
        """p with its gradient, and the Hessian of a pattern by differences of gradients.

        Queries: none; a gradient, and two for each group of variables
        """
        q, x = self.forward(p, self.ones), self.array(p.y)
        f, level = self.f.tagged("descent"), max(epsilon(self.x), self.level / (q.steepness + self.curvtol))
        h = power_of_two(float(np.cbrt(level)) * p.scale)
        return q, coloured_hessian(lambda ways: f.gradients(points(x + self.array(ways))), sparsity, h)

    def first_model(self, p: Point) -> Model:
        """A multiple of the identity, as large as the Hessian along the gradient.

        Queries: none; a gradient
        """
        v = p.g / p.steepness if p.steepness > 0 else np.full(self.d, 1 / math.sqrt(self.d))
        s, y, _ = self.product(p, v)
        curvature = norm2(y) / norm2(s) if np.any(s) else 0.0
        return diagonal_model(np.full(self.d, max(curvature, self.curvtol)))

    def product(self, p: Point, q: Vector) -> tuple[Vector, Vector, float]:
        """A short step s along the unit vector q, the change of the gradient over it, and what noise may have done to
        that.

        Queries: none; a gradient
        """
        t = float(np.cbrt(max(epsilon(self.x), self.level / (p.steepness + self.curvtol)))) * float(np.median(p.scale))
        there = self.forward(Point(self.host(p.y + t * q), p.f), self.ones)
        return there.y - p.y, there.g - p.g, 2 * NOISE.significant * self.gradient_error(p)

    def refined(self, p: Point, model: Model) -> Point | None:
        """The point where Newton steps on the model halve the gradient each time, where values show no descent any
        more; None if none does. The model learns from them.

        Queries: 1 a step, and a gradient
        """
        now = p
        for _ in range(REFINE.newton):
            s = self.host(now.y + model.newton(now.g)) - now.y
            if not np.any(s):
                break
            value = self.value(now.y + s)
            if not value <= now.f + NOISE.significant * self.value_error(now.f):
                break
            q = self.forward(Point(now.y + s, value), self.ones)
            model.secant(s, q.g - now.g, self.gradient_error(q) + self.gradient_error(now))
            if not q.steepness < 0.5 * now.steepness:
                break
            now = replace(q, refined=True)
        return None if now is p else now
