"""The user's gradient against differences of values along random directions.

A right gradient agrees with central differences on some steps; a wrong one contradicts them on all that show a slope,
along any random direction. Where one does, along two, the coordinate at fault is found by bisection. Noise, roughness,
digits and truncation only ever make differences uncertain, and an uncertain difference accuses nobody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._array import Array, Matrix, Vector, epsilon, like, norm2, to_numpy
from ..domain import Domain
from ..errors import MissingValue, NonFiniteValue, WrongGradient
from ..interval import Estimate
from ..oracle import Oracle, Stencil, or_nan, point, points
from ..oracle.values import show
from .settings import GRADIENT_CHECK as CHECK


def check_gradient(f: Oracle, x: Array, lengths: Vector, rng: np.random.Generator) -> None:
    """Refuse a gradient that is none of f, near x, where variables matter over these lengths.

    Queries: 2, and 4 where the gradient agrees on the first steps; 2 more for each further step, up to 16 a direction;
    for a wrong gradient 16 for each of two directions, and for each of log2(d) + 2 parts of one

    Raises
    ------
    WrongGradient
        It names the coordinate, and both slopes.
    """
    f = f.tagged("check")
    f.know(x[None, :], np.array([f.value(x)]), given=False)  # where nobody can do without one
    x, lengths = _with_room(f, x, lengths)
    there = _aside(f, x, lengths, rng)
    if there is None:
        return
    for _ in range(2):
        way = _signs(rng, len(lengths)) * lengths
        if there.slope(way).agrees is not False:
            return
    _accuse(there, way)


def _with_room(f: Oracle, x: Array, lengths: Vector) -> tuple[Array, Vector]:
    """The nearest point around which steps over these lengths stay in the domain, or over shorter ones where it is
    narrower; none for a variable that is fixed."""
    if f.domain.unbounded:
        return x, lengths
    reach, host = CHECK.aside + CHECK.first, to_numpy(x).astype(np.float64)
    y = f.domain.inset(host, reach * lengths)
    down, up = f.domain.room(y)
    return like(y, x), np.minimum(lengths, np.minimum(down, up) / reach)


def check_jacobian(
    f: Oracle, x: Array, r: Vector, J: Matrix, weights: Vector, lengths: Vector, rng: np.random.Generator
) -> None:
    """Refuse a Jacobian J that is none of the residuals r, at x, or nearby where bounds leave no room: the same for a
    sum of residuals with these weights.

    `f` gives vectors of residuals.

    Queries: 2, and 2 where J agrees on the first steps; 2 more for each further step, up to 16 a direction; 1 more
    where bounds leave no room; for a wrong Jacobian 16 for each of two directions, and for each of log2(d) + 2 parts of
    one, and 2

    Raises
    ------
    WrongGradient
        It names the entry, and what it is by jac and by values.
    """
    f, at = f.tagged("check"), x
    x, lengths = _with_room(f, x, lengths)
    if not np.array_equal(to_numpy(x), to_numpy(at)):
        r, J = f(point(x))[0], f.jacobian(x)
    there = _Place(_Weighted(f, weights), x, float(weights @ r), J.T @ weights)
    for _ in range(2):
        way = _signs(rng, len(lengths)) * lengths
        if there.slope(way).agrees is not False:
            return
    try:
        _accuse(there, way)
    except WrongGradient as wrong:
        j = wrong.coordinate
    else:
        return
    h = CHECK.first * CHECK.ratio**-2 * float(lengths[j])
    ends = points(x[None, :] + like(np.outer([h, -h], np.eye(1, len(lengths), j)[0]), x))
    up, down = f(ends)
    column = (up - down) / (2 * h)
    i = int(np.argmax(np.abs(weights * (column - J[:, j]))))
    raise WrongGradient(
        f"jac is not the Jacobian of fun: at x = {show(x)} jac[{i}, {j}] is {J[i, j]:.6g}, and {column[i]:.6g} by "
        f"central differences of fun. Correct column {j} of jac, or leave jac out: differences are then taken",
        j,
        float(J[i, j]),
        float(column[i]),
    )


@dataclass(frozen=True)
class _Weighted:
    """A sum of residuals with weights, as far as its slopes are looked at."""

    f: Oracle
    weights: Vector

    @property
    def domain(self) -> Domain:
        """That of residuals."""
        return self.f.domain

    @property
    def precision(self) -> float:
        """That of residuals."""
        return self.f.precision

    @property
    def gradient_precision(self) -> float:
        """That of the Jacobian."""
        return self.f.gradient_precision

    def __call__(self, stencil: Stencil) -> Vector:
        """The sums at the points of a stencil."""
        try:
            return np.asarray(self.f(stencil) @ self.weights)
        except MissingValue as lost:
            raise MissingValue(str(lost), lost.x, lost.values @ self.weights) from lost

    def gradients(self, stencil: Stencil) -> Matrix:
        """Their gradients there."""
        places = (stencil.rows(k, k + 1)[0] for k in range(stencil.size))
        return np.stack([self.f.jacobian(place).T @ self.weights for place in places])


def _aside(f: Oracle, x: Array, lengths: Vector, rng: np.random.Generator) -> _Place | None:
    """A point near x where f and its gradient are numbers, or x itself."""
    for part in (CHECK.aside, CHECK.aside / CHECK.ratio**2, 0.0):
        z = x + like(part * _signs(rng, len(lengths)) * lengths, x)
        try:
            return _Place(f, z, f.value(z), f.gradient(z))
        except NonFiniteValue:
            if part == 0.0:
                raise
    return None


def _signs(rng: np.random.Generator, d: int) -> Vector:
    """A random sign vector, unequal, so that the errors of no two coordinates cancel along it."""
    return np.where(rng.random(d) < 0.5, -1.0, 1.0) * rng.uniform(0.5, 1.0, d)


@dataclass(frozen=True)
class _Slopes:
    """The slope along a direction, by the gradient and by values."""

    claimed: float
    seen: Estimate[float]
    agrees: bool | None
    """None: the values do not tell."""


@dataclass(frozen=True)
class _Place:
    """A point with its value and its gradient."""

    f: Any
    """An oracle, or a sum of residuals of one."""
    z: Array
    value: float
    g: Vector
    changes: list[float] = field(default_factory=list)
    """The sizes of all changes of f that were seen."""
    again: list[Vector] = field(default_factory=list)
    """Gradients next to z, where one was doubted."""

    def slope(self, way: Vector) -> _Slopes:
        """Both slopes along a vector; the values end as soon as an exact difference agrees. The exactest tells, or a
        shorter one that agrees: f may have structure below the exactest.

        Queries: 4 to 16
        """
        claimed, size = float(self.g @ way), norm2(self.g * way)
        exact = self.f.gradient_precision <= 2 * np.finfo(np.float64).eps
        close = (1.0 if exact else CHECK.ratio) * CHECK.tolerance * size
        best, agrees, before, longer = Estimate(math.nan, math.inf), False, math.nan, list[float]()
        for level in range(CHECK.levels):
            difference, floor = self._difference(way, CHECK.first * CHECK.ratio**-level)
            better = (CHECK.ratio**2 * difference - before) / (CHECK.ratio**2 - 1)  # h^2 cancels
            before = difference
            longer.append(better)
            if level == 0:
                continue
            near = longer[-3:] if level > 2 else longer[max(1, level - 1) :]
            error = max(max(near) - min(near), abs(better - difference)) + floor
            if not math.isfinite(error):
                continue
            near_claimed = abs(better - claimed) <= max(close, 2 * error)
            if level == 1:  # two steps may agree with the gradient, and contradict it only with a third
                if near_claimed and error <= close / 4:
                    return _Slopes(claimed, Estimate(better, error), True)
                continue
            if error < best.error:
                best, agrees = Estimate(better, error), near_claimed
            agrees |= near_claimed and error <= CHECK.informative * max(size, abs(better))
            if agrees and best.error <= close / 4:
                break
        if agrees:
            return _Slopes(claimed, best, True)
        off = abs(best.value - claimed)
        clear = off > max(close, CHECK.clear * best.error) and off > CHECK.clear * self._gradient_noise(way)
        return _Slopes(claimed, best, False if clear else None)

    def _gradient_noise(self, way: Vector) -> float:
        """By how much the slope along a vector differs between points that are all but the same.

        Queries: none; four gradients the first time
        """
        if not self.again:
            own = np.maximum(np.abs(to_numpy(self.z).astype(np.float64)), np.abs(way))
            close = 4 * epsilon(self.z) * np.arange(1, 5)[:, None] * own
            try:
                near = self.f.domain.clip(to_numpy(self.z).astype(np.float64) + close)
                self.again.extend(self.f.gradients(points(like(near, self.z))))
            except NonFiniteValue:
                return math.inf
        return float(np.max(np.abs((np.stack(self.again) - self.g) @ way)))

    def _difference(self, way: Vector, h: float) -> tuple[float, float]:
        """The central difference along a vector on this step, and what the rounding of f and of x makes of it.

        Queries: 2
        """
        ends = points(self.z[None, :] + like(np.outer([h, -h], way), self.z))
        try:
            up, down = or_nan(self.f, ends)[0]
        except NonFiniteValue:  # a policy that raises
            return math.nan, math.inf
        eps = max(epsilon(self.z), self.f.precision)
        moved = float(np.abs(self.g) @ np.abs(to_numpy(self.z).astype(np.float64)))
        floor = 4 * (eps * max(abs(up), abs(down)) + epsilon(self.z) * moved) / h
        if up != down:
            self.changes.append(abs(float(up - down)))
            return float((up - down) / (2 * h)), float(floor)
        return 0.0, float(floor + min(self.changes, default=math.inf) / h)  # flat, or given in units


def _accuse(there: _Place, way: Vector) -> None:
    """Name the coordinate whose slope contradicts values most, by halves of a direction along which they do.

    Queries: 16 for each of log2(d) + 2 parts
    """
    which, slopes = np.arange(len(way)), there.slope(way)
    off = slopes.seen.value - slopes.claimed
    while len(which) > 1:
        half = which[: len(which) // 2]
        slopes = there.slope(np.where(np.isin(np.arange(len(way)), half), way, 0.0))
        seen = slopes.claimed if slopes.agrees else slopes.seen.value
        part = seen - slopes.claimed if math.isfinite(seen) else 0.0
        left = abs(part) >= abs(off - part)
        which, off = (half, part) if left else (which[len(half) :], off - part)
    i = int(which[0])
    axis = np.zeros(len(way))
    axis[i] = way[i]
    slopes = there.slope(axis)
    claimed, seen = slopes.claimed / way[i], slopes.seen.value / way[i]
    if slopes.agrees is not False or abs(claimed - seen) <= CHECK.coordinate * max(abs(claimed), abs(seen)):
        return
    steps = CHECK.first * abs(float(way[i])) * CHECK.ratio ** -np.arange(CHECK.levels)
    raise WrongGradient(
        f"jac is not the gradient of fun: at x = {show(there.z)} the slope along coordinate {i} is {claimed:.6g} by "
        f"jac[{i}], and {seen:.6g} by central differences of fun on steps from {steps[-1]:.2g} to {steps[0]:.2g}. "
        f"Correct jac[{i}], or leave jac out: gradients are then taken from values",
        i,
        claimed,
        seen,
    )
