"""The gradient part: values, forward differences corrected by the model's diagonal, and central ones near the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._array import Array, Vector, epsilon, largest, like, to_numpy
from ...derivatives.noise import Noise, rounding, table, table_estimate
from ...derivatives.settings import NOISE, STEPS
from ...derivatives.steps import curvature_steps, gradient_steps, power_of_two
from ...errors import NonFiniteValue
from ...oracle import Oracle, axes, central, pairs, point, some_axes
from .point import Point
from .quadratic import Matrix

NOISIER = 50
"""Noise that is larger than was thought by less than this makes no difference."""

FEW = 8
"""Up to this dimension all second differences are taken at the start, and where a model has failed."""


@dataclass
class Differences:
    """Every question the method asks of f outside the certificate, with the step that fits it."""

    f: Oracle
    x: Array
    """The start: its namespace, dtype and device are those of all points."""
    curvtol: float
    level: float = 0.0
    """The standard deviation of the error of f; 0 for rounding alone."""
    doubt: float = 0.3
    """How wrong the diagonal of the model may be, relatively."""

    @cached_property
    def d(self) -> int:
        """The dimension."""
        return int(self.x.shape[0])

    @cached_property
    def _native(self) -> bool:
        """Whether the user's kind of array is that of the host."""
        return type(self.x) is np.ndarray and self.x.dtype == np.float64

    @cached_property
    def ones(self) -> Vector:
        """The units of the variables."""
        return np.ones(self.d)

    def measure_noise(self, p: Point, rng: np.random.Generator, unit: Vector) -> None:
        """Take the noise from a difference table in these units of the variables, where one shows more than is known.

        Queries: 9
        """
        values = table(self.f.tagged("check"), self.array(p.y), unit, p.f, rng)
        self.level = max(self.level, NOISE.safety * (table_estimate(values) or 0.0))

    def hears(self, noise: Noise, value: float) -> bool:
        """Learn the noise that was seen around a point of this value; whether it is much more than was thought."""
        before = self.eta(value)
        if noise.source != "rounding":
            self.level = max(self.level, noise.level)
        return self.eta(value) > NOISIER * before

    def array(self, y: Vector) -> Array:
        """A host point as the user's kind of array."""
        return y if self._native else like(y, self.x)

    def host(self, y: Vector) -> Vector:
        """The nearest point that the dtype can hold."""
        return y if self._native else to_numpy(self.array(y)).astype(np.float64, copy=False)

    def eta(self, value: float) -> float:
        """How wrong a value of this size can be."""
        return max(2 * self.level, rounding(self.x, abs(value), self.f.precision))

    def value(self, y: Vector, purpose: str = "line search") -> float:
        """f at y; infinite where f is not finite, so that a step there is one that failed.

        Queries: 1
        """
        try:
            return self.f.tagged(purpose).value(self.array(y))
        except NonFiniteValue:
            return math.inf

    def short(self, p: Point) -> Vector:
        """Steps of central first differences, and of forward ones whose diagonal is right."""
        return self._fit(p, gradient_steps(self.array(p.y), self.ones, self.eta(p.f)))

    def careful(self, p: Point, diagonal: Vector) -> Vector:
        """Steps of forward differences whose diagonal is wrong by `doubt`, relatively: 2 sqrt(noise / that error)."""
        eta = self.eta(p.f)
        most = np.sqrt(4 * eta / self.doubt / (np.abs(diagonal) + self.curvtol))
        return self._fit(p, gradient_steps(self.array(p.y), 1.0, eta, most))

    def long(self, p: Point) -> Vector:
        """Steps of second differences."""
        return self._fit(p, curvature_steps(self.array(p.y), self.ones, self.eta(p.f), self.curvtol))

    def fitting(self, p: Point, diagonal: Vector) -> Vector:
        """Steps of first differences of fourth order: noise^(1/5), in units in which a curvature is one, and a fifth
        derivative is taken for one too."""
        h = self.eta(p.f) ** 0.2 / self.roots(diagonal)
        return self._fit(p, power_of_two(np.minimum(h, STEPS.longest)))

    def roots(self, diagonal: Vector) -> Vector:
        """The roots of curvatures along the coordinates, of the tolerance at least: one over the units in which these
        are one."""
        return np.sqrt(np.maximum(np.abs(diagonal), self.curvtol))

    def _fit(self, p: Point, h: Vector) -> Vector:
        least = 64 * epsilon(self.x)
        return h if least * largest(p.y) <= h[h.argmin()] else np.maximum(h, least * np.abs(p.y))

    def forward(self, p: Point, diagonal: Vector) -> None:
        """The gradient (f(x + h_i e_i) - f(x)) / h_i - h_i D_ii / 2: as good as a central one where D is right.

        Queries: d
        """
        p.h = self.careful(p, diagonal)
        p.rise = self.rises(p, p.h)
        p.g, p.sharp = p.rise - diagonal * p.h / 2, False

    def rises(self, p: Point, h: Vector) -> Vector:
        """(f(x + h_i e_i) - f(x)) / h_i.

        Queries: d
        """
        values = self.f.tagged("descent")(axes(self.array(p.y), self.array(h)))
        return (values - p.f) / h

    def central(self, p: Point) -> Vector:
        """The gradient from a central row, and the diagonal of the Hessian that it shows.

        Queries: 2*d
        """
        p.h = self.short(p)
        values = self.f.tagged("descent")(central(self.array(p.y), self.array(p.h)))
        plus, minus = values[: self.d], values[self.d :]
        p.g, p.sharp = (plus - minus) / (2 * p.h), True
        p.rise = (plus - p.f) / p.h
        return (plus + minus - 2 * p.f) / p.h**2

    def dense(self, p: Point) -> Matrix:
        """The gradient from a central row, and all second differences; steps over which f changes by more than a
        thousandth of itself are cut until it does not, twice at most.

        Queries: 2*d + d*(d - 1)/2, and 2 for each step cut
        """
        h, d, f = self.long(p), self.d, self.f.tagged("descent")
        plus, minus = np.split(f(central(self.array(p.y), self.array(h))), 2)
        for _ in range(2):
            change = np.maximum(np.abs(plus - p.f), np.abs(minus - p.f))
            which = np.flatnonzero(change > 1e-3 * abs(p.f) + 1e4 * self.eta(p.f))
            if len(which) == 0:
                break
            h[which] *= np.maximum(np.sqrt(1e-4 * abs(p.f) / change[which]), 1e-3)
            h = self._fit(p, h)
            step = self.array(h)
            both = some_axes(self.array(p.y), step, which) + some_axes(self.array(p.y), -step, which)
            plus[which], minus[which] = np.split(f(both), 2)
        p.h, p.g, p.rise = h, (plus - minus) / (2 * h), (plus - p.f) / h
        p.sharp = True
        mixed = f(pairs(self.array(p.y), self.array(h), 1.0)) if d > 1 else np.zeros(0)
        return assembled(mixed, plus, p.f, (plus + minus - 2 * p.f) / h**2, h)

    def some(self, p: Point, h: Vector, which: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Vector:
        """f(x + h_i e_i) - f(x) for some coordinates.

        Queries: len(which)
        """
        return self.f.tagged("poll")(some_axes(self.array(p.y), self.array(h), which)) - p.f

    def blur(self, p: Point) -> float:
        """The norm of what noise does to a forward gradient at p."""
        return 2 * self.eta(p.f) * p.fineness

    def curvature(self, p: Point, v: Vector, t: float) -> tuple[float, float]:
        """The curvature along the unit vector v and the slope there, from values at p ± t v.

        Queries: 2
        """
        a, b = self.f.tagged("curvature")(point(self.array(p.y + t * v)) + point(self.array(p.y - t * v)))
        return float(a + b - 2 * p.f) / t**2, float(a - b) / (2 * t)


def assembled(mixed: Vector, row: Vector, f: float, diagonal: Vector, h: Vector) -> Matrix:
    """The Hessian of this diagonal, from f(x + h_i e_i + h_j e_j) for i < j, f(x + h_i e_i) and f(x); or from the means
    of those on both sides."""
    B, (i, j) = np.diag(diagonal / 2), np.triu_indices(len(h), k=1)
    B[i, j] = (mixed - row[i] - row[j] + f) / (h[i] * h[j])
    return B + B.T
