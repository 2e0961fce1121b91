"""Values and differences outside the certificate: forward, central and second, each with the step that fits it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._array import Array, Vector, epsilon, largest, like, to_numpy
from ...derivatives.noise import Noise, rounding, table, table_estimate
from ...derivatives.settings import NOISE, STEPS
from ...derivatives.steps import curvature_steps, gradient_steps, power_of_two
from ...errors import NonFiniteValue
from ...oracle import Oracle, axes, central, pairs, point, some_axes
from .point import GradientKind, Point
from .quadratic import Matrix
from .settings import DIFFERENCES, PROBE


@dataclass
class Differences:
    """What the method asks of f, the noise assumed, and how wrong the model's diagonal may be."""

    f: Oracle
    x: Array
    """The start: its namespace, dtype and device are those of all points."""
    curvtol: float
    noise: float = 0.0
    """The standard deviation of the error of f; 0 for rounding alone."""
    diagonal_error: float = DIFFERENCES.diagonal_error
    """How wrong the diagonal of the model may be, relatively."""

    # Points of the user and of the host

    @cached_property
    def d(self) -> int:
        """The dimension."""
        return int(self.x.shape[0])

    @property
    def few(self) -> bool:
        """Whether all second differences are cheap."""
        return self.d <= DIFFERENCES.few

    @cached_property
    def _native(self) -> bool:
        return type(self.x) is np.ndarray and self.x.dtype == np.float64

    @cached_property
    def ones(self) -> Vector:
        """The units of the variables."""
        return np.ones(self.d)

    def array(self, y: Vector) -> Array:
        """A host point as the user's kind of array."""
        return y if self._native else like(y, self.x)

    def host(self, y: Vector) -> Vector:
        """The nearest point that the dtype can hold."""
        return y if self._native else to_numpy(self.array(y)).astype(np.float64, copy=False)

    # Noise

    def value_error(self, value: float) -> float:
        """How wrong a value of this size can be."""
        return max(2 * self.noise, rounding(self.x, abs(value), self.f.precision))

    def gradient_error(self, p: Point) -> float:
        """The norm of what noise does to a forward gradient at p."""
        return 2 * self.value_error(p.f) * p.inverse_steps

    def measure_noise(self, p: Point, rng: np.random.Generator, unit: Vector) -> None:
        """Take the noise from a difference table in these units of the variables, if it shows more than is assumed.

        Queries: 9
        """
        values = table(self.f.tagged("check"), self.array(p.y), unit, p.f, rng)
        self.noise = max(self.noise, NOISE.safety * (table_estimate(values) or 0.0))

    def update_noise(self, noise: Noise, value: float) -> bool:
        """Take the noise that was seen around a point of this value; whether it is much more than was assumed."""
        before = self.value_error(value)
        if noise.source != "rounding":
            self.noise = max(self.noise, noise.level)
        return self.value_error(value) > DIFFERENCES.noisier * before

    def update_diagonal_error(self, contradiction: float) -> None:
        """Take how wrong the model's diagonal may be from how much secants contradicted the model."""
        self.diagonal_error = min(max(contradiction, PROBE.agreed), 1.0)

    # Steps

    def central_steps(self, p: Point) -> Vector:
        """Steps of central first differences."""
        return self._resolved(p, gradient_steps(self.array(p.y), self.ones, self.value_error(p.f)))

    def forward_steps(self, p: Point, diagonal: Vector) -> Vector:
        """Steps of forward differences: 2 sqrt(noise / error of the diagonal), or those of central ones if shorter."""
        error = self.value_error(p.f)
        most = np.sqrt(4 * error / self.diagonal_error / (np.abs(diagonal) + self.curvtol))
        return self._resolved(p, gradient_steps(self.array(p.y), 1.0, error, most))

    def second_steps(self, p: Point) -> Vector:
        """Steps of second differences."""
        return self._resolved(p, curvature_steps(self.array(p.y), self.ones, self.value_error(p.f), self.curvtol))

    def along_step(self, p: Point) -> float:
        """The step of second differences along a unit vector."""
        return STEPS.apart * float(np.median(self.second_steps(p)))

    def fourth_order_steps(self, p: Point, diagonal: Vector) -> Vector:
        """Steps of first differences of fourth order: noise^(1/5), in units in which a curvature is one, and a fifth
        derivative is taken for one too."""
        h = self.value_error(p.f) ** 0.2 / self.roots(diagonal)
        return self._resolved(p, power_of_two(np.minimum(h, STEPS.longest)))

    def roots(self, diagonal: Vector) -> Vector:
        """Square roots of the curvatures along the coordinates, each at least curvtol."""
        return np.sqrt(np.maximum(np.abs(diagonal), self.curvtol))

    def _resolved(self, p: Point, h: Vector) -> Vector:
        least = DIFFERENCES.resolved * epsilon(self.x)
        return h if least * largest(p.y) <= h[h.argmin()] else np.maximum(h, least * np.abs(p.y))

    # Values, gradients, curvatures

    def value(self, y: Vector, purpose: str = "line search") -> float:
        """f at y; infinite where f is not finite, so that a step there is one that failed.

        Queries: 1
        """
        try:
            return self.f.tagged(purpose).value(self.array(y))
        except NonFiniteValue:
            return math.inf

    def forward(self, p: Point, diagonal: Vector) -> Point:
        """p with the gradient (f(x + h_i e_i) - f(x)) / h_i - h_i D_ii / 2: as good as a central one where D is right.

        Queries: d
        """
        h = self.forward_steps(p, diagonal)
        row = self.forward_row(p, h)
        return replace(p, g=row - diagonal * h / 2, h=h, row=row, kind=GradientKind.FORWARD)

    def forward_row(self, p: Point, h: Vector) -> Vector:
        """(f(x + h_i e_i) - f(x)) / h_i.

        Queries: d
        """
        values: Vector = (self.f.tagged("descent")(axes(self.array(p.y), self.array(h))) - p.f) / h
        return values

    def central(self, p: Point) -> tuple[Point, Vector]:
        """p with a central gradient, and the diagonal of the Hessian that it shows.

        Queries: 2*d
        """
        h = self.central_steps(p)
        values = self.f.tagged("descent")(central(self.array(p.y), self.array(h)))
        return with_central(p, h, *np.split(values, 2))

    def dense(self, p: Point) -> tuple[Point, Matrix]:
        """p with a central gradient, and all second differences; steps over which f changes much are cut, twice.

        Queries: 2*d + d*(d - 1)/2, and 2 for each step cut
        """
        h, f = self.second_steps(p), self.f.tagged("descent")
        plus, minus = np.split(f(central(self.array(p.y), self.array(h))), 2)
        for _ in range(2):
            change = np.maximum(np.abs(plus - p.f), np.abs(minus - p.f))
            least = DIFFERENCES.change * abs(p.f) + DIFFERENCES.change_noise * self.value_error(p.f)
            which = np.flatnonzero(change > least)
            if len(which) == 0:
                break
            aim = np.sqrt(DIFFERENCES.change_aim * abs(p.f) / change[which])
            h[which] *= np.maximum(aim, DIFFERENCES.change)
            h = self._resolved(p, h)
            step = self.array(h)
            both = some_axes(self.array(p.y), step, which) + some_axes(self.array(p.y), -step, which)
            plus[which], minus[which] = np.split(f(both), 2)
        q, diagonal = with_central(p, h, plus, minus)
        mixed = f(pairs(self.array(p.y), self.array(h), 1.0)) if self.d > 1 else np.zeros(0)
        return q, hessian_of(mixed, plus, p.f, diagonal, h)

    def changes(self, p: Point, h: Vector, which: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Vector:
        """f(x + h_i e_i) - f(x) for some coordinates.

        Queries: len(which)
        """
        return self.f.tagged("poll")(some_axes(self.array(p.y), self.array(h), which)) - p.f

    def curvature(self, p: Point, v: Vector, t: float) -> float:
        """The curvature along the unit vector v, from values at p ± t v.

        Queries: 2
        """
        a, b = self.f.tagged("curvature")(point(self.array(p.y + t * v)) + point(self.array(p.y - t * v)))
        return float(a + b - 2 * p.f) / t**2


def with_central(p: Point, h: Vector, plus: Vector, minus: Vector) -> tuple[Point, Vector]:
    """p with its gradient from values at p ± h_i e_i, and the diagonal of the Hessian."""
    q = replace(p, g=(plus - minus) / (2 * h), h=h, row=(plus - p.f) / h, kind=GradientKind.CENTRAL)
    return q, (plus + minus - 2 * p.f) / h**2


def hessian_of(mixed: Vector, row: Vector, f: float, diagonal: Vector, h: Vector) -> Matrix:
    """The Hessian of this diagonal, from f(x + h_i e_i + h_j e_j) for i < j, f(x + h_i e_i) and f(x); or from the means
    of those on both sides."""
    B, (i, j) = np.diag(diagonal / 2), np.triu_indices(len(h), k=1)
    B[i, j] = (mixed - row[i] - row[j] + f) / (h[i] * h[j])
    return B + B.T
