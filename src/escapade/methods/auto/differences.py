"""Values and differences outside the certificate: forward, central and second, each with the step that fits it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._array import Array, Vector, epsilon, largest, like, to_numpy
from ...derivatives.noise import Noise, rounding, table, table_estimate
from ...derivatives.settings import NOISE, STEPS
from ...derivatives.sparsity import SparseMatrix, Sparsity
from ...derivatives.steps import curvature_steps, gradient_steps, power_of_two
from ...errors import NonFiniteValue
from ...oracle import (
    MIRRORED,
    Oracle,
    Stencil,
    axes,
    central,
    few_axes,
    or_nan,
    pairs,
    point,
    points,
    retaken,
    some_axes,
)
from ...tolerances import Tolerances
from .model import Model
from .point import GradientKind, Point
from .quadratic import Matrix
from .settings import DIFFERENCES, PROBE

Index = NDArray[np.int64]


@dataclass
class Differences:
    """What the method asks of f, the noise assumed, and how wrong the model's diagonal may be."""

    f: Oracle
    x: Array
    """The start: its namespace, dtype and device are those of all points."""
    tolerances: Tolerances
    """What is asked for; relative tolerances are tighter where f curves less."""
    noise: float = 0.0
    """The standard deviation of the error of f; 0 for rounding alone."""
    measured_at: float = np.inf
    """|f| where its noise was last measured."""
    diagonal_error: float = DIFFERENCES.diagonal_error
    """How wrong the diagonal of the model may be, relatively."""

    # Tolerances

    @property
    def gtol(self) -> float:
        """The gradient tolerance."""
        return self.tolerances.gtol

    @property
    def curvtol(self) -> float:
        """The curvature tolerance."""
        return self.tolerances.curvtol

    # Points of the user and of the host

    @cached_property
    def d(self) -> int:
        """The dimension."""
        return int(self.x.shape[0])

    @property
    def few(self) -> bool:
        """Whether all second differences are cheap."""
        return self.d <= DIFFERENCES.few

    @property
    def price(self) -> float:
        """What a gradient costs, in values."""
        return self.d + 1.0

    @cached_property
    def _native(self) -> bool:
        return type(self.x) is np.ndarray and self.x.dtype == np.float64

    @property
    def in_doubles(self) -> bool:
        """Whether points are of 64 bits."""
        return bool(epsilon(self.x) <= np.finfo(np.float64).eps)

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

    def model_step(self, model: Model, p: Point, radius: float, scale: Vector) -> Vector:
        """The step of the trust region."""
        return model.step(p.g, radius, scale)

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
        self.measured_at = abs(p.f)
        values = table(self.f.tagged("check"), self.array(p.y), unit, p.f, rng)
        self.noise = max(self.noise, NOISE.safety * (table_estimate(values) or 0.0))

    def noise_outdated(self, p: Point) -> bool:
        """Whether f has fallen so far since its noise was measured that it may be another."""
        return abs(p.f) < DIFFERENCES.outdated * self.measured_at

    def update_noise(self, noise: Noise, value: float) -> bool:
        """Take the noise that was seen around a point of this value; whether it is much more than was assumed."""
        before = self.value_error(value)
        if not noise.bounded:
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
        change, h = self.changes(p, self.forward_steps(p, diagonal), None, "descent")
        row = change / h
        return replace(p, g=row - diagonal * h / 2, h=h, row=row, kind=GradientKind.FORWARD)

    def forward_row(self, p: Point, h: Vector) -> Vector:
        """(f(x + h_i e_i) - f(x)) / h_i, NaN where a value is missing.

        Queries: d
        """
        values, _ = or_nan(self.f.tagged("descent"), axes(self.array(p.y), self.array(h)))
        return np.asarray((values - p.f) / h)

    def central(self, p: Point) -> tuple[Point, Vector]:
        """p with a central gradient, and the diagonal of the Hessian that it shows.

        Queries: 2*d, and 2 for each time that a value of a coordinate is missing
        """
        return with_central(p, *self._both_sides(p, self.central_steps(p)))

    def _both_sides(self, p: Point, h: Vector) -> tuple[Vector, Vector, Vector]:
        """Steps, where a value is missing other ones than these, and f(x ± h_i e_i)."""
        x, owner = self.array(p.y), np.tile(np.arange(self.d), 2)
        f = self.f.tagged("descent")
        values, scale = retaken(f, lambda scale: central(x, self.array(scale * h)), owner, self.d)
        plus, minus = np.split(values, 2)
        return scale * h, plus, minus

    def dense(self, p: Point) -> tuple[Point, Matrix]:
        """p with a central gradient, and all second differences.

        Queries: 2*d + d*(d - 1)/2, and 2 for each step cut; more where values are missing
        """
        f, (h, plus, minus) = self.f.tagged("descent"), self._fitting_sides(p)
        q, diagonal = with_central(p, h, plus, minus)
        mixed = or_nan(f, pairs(self.array(p.y), self.array(h), 1.0))[0] if self.d > 1 else np.zeros(0)
        B = hessian_of(mixed, plus, p.f, diagonal, h)
        return q, self._filled(p, B, h, plus, minus)

    def sparse(self, p: Point, sparsity: Sparsity) -> tuple[Point, SparseMatrix]:
        """p with a central gradient, and the second differences of a pattern; where a value is missing, on the other
        side of the second variable; NaN where there is none either.

        Queries: 2*d, 1 for each pair of the pattern, and 2 for each step cut; more where values are missing
        """
        h, plus, minus = self._fitting_sides(p)
        q, diagonal = with_central(p, h, plus, minus)
        f, x, i, j = self.f.tagged("descent"), self.array(p.y), sparsity.i, sparsity.j
        entries = sparsity.pairs(f, x, h) - plus[i] - plus[j] + p.f
        lost = np.flatnonzero(np.isnan(entries))
        if len(lost):
            both = np.stack([i[lost], j[lost]], axis=1)
            seen = or_nan(f, few_axes(x, both, h[both] * np.array([1.0, -1.0])))[0]
            entries[lost] = plus[i[lost]] + minus[j[lost]] - p.f - seen
        return q, sparsity.matrix(diagonal, entries / (h[i] * h[j]))

    def _fitting_sides(self, p: Point) -> tuple[Vector, Vector, Vector]:
        """Steps of second differences, and f(x ± h_i e_i); steps over which f changes much are cut, twice.

        Queries: 2*d, and 2 for each step cut; more where values are missing
        """
        h, plus, minus = self._both_sides(p, self.second_steps(p))
        for _ in range(2):
            change = np.maximum(np.abs(plus - p.f), np.abs(minus - p.f))
            least = DIFFERENCES.change * abs(p.f) + DIFFERENCES.change_noise * self.value_error(p.f)
            which = np.flatnonzero(change > least)
            if len(which) == 0:
                break
            aim = np.sqrt(DIFFERENCES.change_aim * abs(p.f) / change[which])
            h[which] *= np.maximum(aim, DIFFERENCES.change)
            h = self._resolved(p, h)
            plus[which], minus[which], h[which] = self._cut(p, h, which)
        return h, plus, minus

    def _cut(self, p: Point, h: Vector, which: Index) -> tuple[Vector, Vector, Vector]:
        """The same as `_both_sides` for some coordinates, the steps last."""
        x, n = self.array(p.y), len(which)

        def both(scale: Vector) -> Stencil:
            step = h.copy()
            step[which] *= scale
            return some_axes(x, self.array(step), which) + some_axes(x, self.array(-step), which)

        values, scale = retaken(self.f.tagged("descent"), both, np.tile(np.arange(n), 2), n)
        return values[:n], values[n:], scale * h[which]

    def _filled(self, p: Point, B: Matrix, h: Vector, plus: Vector, minus: Vector) -> Matrix:
        """A model whose missing entries are taken on the other side of the second variable; 0 where there is no value
        either: the secants of later steps will tell.

        Queries: 1 for each of them
        """
        missing = np.isnan(B)
        if not missing.any():
            return B
        i, j = np.nonzero(np.triu(missing))
        ends = np.zeros((len(i), self.d))
        ends[np.arange(len(i)), i], ends[np.arange(len(i)), j] = h[i], -h[j]
        corners = points(self.array(p.y) + self.array(ends))
        seen = or_nan(self.f.tagged("descent"), corners)[0]
        B[i, j] = B[j, i] = np.nan_to_num((plus[i] + minus[j] - p.f - seen) / (h[i] * h[j]))
        return B

    def changes(
        self, p: Point, h: Vector, which: Index | None, purpose: str = "poll", lengths: Sequence[float] = MIRRORED
    ) -> tuple[Vector, Vector]:
        """f(x + h_i e_i) - f(x) for some coordinates (None: all), and their steps h_i: other ones, perhaps on the other
        side, where a value is missing.

        Queries: len(which), and 1 for each time that a value is missing
        """
        x, own = self.array(p.y), h if which is None else h[which]

        def row(scale: Vector) -> Stencil:
            if which is None:
                return axes(x, self.array(scale * h))
            step = h.copy()
            step[which] *= scale
            return some_axes(x, self.array(step), which)

        values, scale = retaken(self.f.tagged(purpose), row, np.arange(len(own)), len(own), lengths)
        return values - p.f, scale * own

    def curvature(self, p: Point, v: Vector, t: float) -> float:
        """The curvature along the unit vector v, from values at p ± t v, or a little nearer where one is missing.

        Queries: 2, and 2 for each time that one is missing
        """

        def both(scale: Vector) -> Stencil:
            s = t * float(scale[0])
            return point(self.array(p.y + s * v)) + point(self.array(p.y - s * v))

        (a, b), scale = retaken(self.f.tagged("curvature"), both, np.zeros(2, dtype=np.int64), 1)
        return float(a + b - 2 * p.f) / (t * float(scale[0])) ** 2


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
