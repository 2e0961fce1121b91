"""What is known of f around a point: its steps, its noise, and the coordinate stencil every finder shares.

Everything here is in the user's variables, or in scaled ones y = x / unit when `x_scale` was given: `steps` are the
lengths of the coordinate differences in y, and gradients and curvatures are those of f as a function of y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, like, to_numpy
from ..errors import InvalidSetting, NonFiniteValue
from ..oracle import Oracle, central, point, some_axes
from . import noise as noise_
from .noise import Noise
from .steps import LONGEST, RESOLVED, TRUNCATION_SAFETY, curvature_steps, power_of_two

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A closed interval that holds a number, as far as was shown."""

    lower: float
    upper: float

    def __str__(self) -> str:
        return f"[{self.lower:.3g}, {self.upper:.3g}]"


@dataclass
class Neighbourhood:
    """f around x: the value there, the noise, and central rows f(x ± k steps_i e_i) kept by their factor k."""

    f: Oracle
    x: Array
    unit: Vector
    curvtol: float
    f0: float
    noise: Noise
    steps: Vector
    _rows: dict[float, tuple[Vector, Vector]] = field(default_factory=dict)
    _table: Vector = field(default_factory=lambda: np.zeros(0))
    _unit: float = 0.0

    @classmethod
    def measure(
        cls,
        f: Oracle,
        x: Array,
        *,
        curvtol: float,
        noise: float | str | None = None,
        x_scale: Any = None,
        rng: np.random.Generator,
    ) -> Neighbourhood:
        """Look around x: its value, the noise there (unless given), two central rows, and whether those are short.

        With noise=None rounding is assumed, and checked: a difference table that shows more, or values that are all
        multiples of a larger unit, are believed. Steps on which nothing changes at all are lengthened; steps longer
        than the structure of f are cut.

        Queries: 4*d + 26, or 4*d + 17 if the noise is given; 4 more each time a coordinate is cut, and the rows again
        if all steps are changed
        """
        noise_.check_noise(noise)
        unit = as_scale(x_scale, x)
        look = f.tagged("check")
        f0 = look.value(x)
        known = Noise(float(noise), "given") if isinstance(noise, int | float | np.number) else None
        here = cls(f, x, unit, curvtol, f0, Noise(0.0, "rounding"), np.ones(x.shape[0]))
        here._table = np.array([f0]) if known else noise_.table(look, x, unit, f0, rng)
        here._settle_steps(known, auto=noise == "auto")
        here._learn_scale()
        for _ in range(3):
            if here._consistent(rng):
                break
            here.steps = here.steps / 8
            here._rows.clear()
        return here

    def _settle_steps(self, known: Noise | None, *, auto: bool) -> None:
        """Steps that fit the noise, and a noise that fits the values seen on them.

        Where nothing at all changes over the steps they are lengthened; where f is not finite over them they are cut.
        """
        stretch = 1.0
        self.noise = self._seen_noise(known, auto=auto)
        longest = power_of_two(LONGEST * np.maximum(1.0, np.abs(to_numpy(self.x).astype(np.float64)) / self.unit))
        for last in (*(False for _ in range(11)), True):
            fitting = curvature_steps(self.x, self.unit, self.noise.level, self.curvtol) / self.unit
            self.steps = np.minimum(stretch * fitting, longest)
            self._rows.clear()
            try:
                change = np.abs(np.concatenate([*self.row(1.0), *self.row(2.0)]) - self.f0)
            except NonFiniteValue:
                if last:
                    raise
                stretch /= 64
                continue
            if not np.any(change) and np.any(self.steps < longest):
                stretch *= 16
                continue
            before, self.noise = self.noise, self._seen_noise(known, auto=auto)
            if self.noise.level <= 16 * before.level:
                return
            stretch = min(stretch, 1.0)

    def _seen_noise(self, known: Noise | None, *, auto: bool) -> Noise:
        seen = np.concatenate([self._table, *(part for row in self._rows.values() for part in row)])
        floor = noise_.rounding(self.x, float(np.max(np.abs(seen))), self.f.precision)
        if known is not None:
            return known if known.level > floor else Noise(floor, "rounding")
        if self._rows:
            self._unit = self._unit or self._plateau(seen, floor)
        if self._unit:
            return Noise(self._unit, "rounding")
        table = noise_.table_estimate(self._table)
        if table is not None and noise_.SAFETY * table > (floor if auto else 4 * floor):
            return Noise(noise_.SAFETY * table, "estimated")
        return Noise(floor, "rounding")

    def _plateau(self, seen: Vector, floor: float) -> float:
        """The unit in which f is given, if that is well above its rounding; else 0.

        Ten values along a line differ, unless f is given in steps; then the least change seen is such a step. And
        values that are all multiples of one change are: a table alone may be a parabola, and rows a few multiples of
        one curvature, but not both together.
        """
        if len(np.unique(self._table)) > 3:
            return noise_.quantum(seen, floor) or 0.0
        change = np.abs(seen - self.f0)
        change = change[change > 8 * floor]
        # Rounding explains a flat table if even a parabola through the rows would not show in it.
        shown = (noise_.TABLE_POINTS * noise_.SPACING * epsilon(self.x) ** 0.25 / float(np.max(self.steps))) ** 2
        return float(np.min(change)) if len(change) and np.max(change) * min(shown, 1.0) > 8 * floor else 0.0

    def _consistent(self, rng: np.random.Generator) -> bool:
        """Whether steps about nine times shorter tell the same story, along four random sign vectors.

        All coordinates move at once, so that structure hidden below the step of any of them shows: the odd part must
        be the gradient's, and the even part must scale with the square of the length.

        Queries: 16
        """
        f, (g, slope_error) = self.f.tagged("check"), self.gradient()
        noise = 4 * self.noise.norm(1)
        for _ in range(4):
            signs = np.where(rng.random(self.d) < 0.5, -1.0, 1.0) * self.steps
            ratio = float(rng.uniform(0.09, 0.13))
            near = point(self.moved(signs, ratio)) + point(self.moved(signs, -ratio))
            a, b, c, e = f(near + point(self.moved(signs, 1.0)) + point(self.moved(signs, -1.0)))
            reach = float(np.linalg.norm(signs))
            odd = abs(float(a - b) / 2 - ratio * float(g @ signs))
            if odd > noise + 3 * ratio * slope_error * reach + abs(float(c - e) / 2 - float(g @ signs)):
                return False
            even, longer = float(a + b) - 2 * self.f0, float(c + e) - 2 * self.f0
            tolerance = 0.25 * (abs(longer) + self.curvtol * reach**2)
            if abs(even / ratio**2 - longer) > tolerance + 2 * noise / ratio**2:
                return False
        return True

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.x.shape[0])

    # Rows and what they give

    def row(self, k: float) -> tuple[Vector, Vector]:
        """f(x + k steps_i e_i) and f(x - k steps_i e_i) for all i.

        Queries: 2*d the first time, none after
        """
        if k not in self._rows:
            h = like(k * self.steps * self.unit, self.x)
            values = self.f.tagged("check")(central(self.x, h))
            self._rows[k] = (values[: self.d], values[self.d :])
        return self._rows[k]

    def gradient(self) -> tuple[Vector, float]:
        """The gradient, extrapolated from two rows, and a bound on the norm of its error.

        Where truncation is far above the noise, shorter rows are taken.

        Queries: 0, or 4*d the first time shorter rows are needed
        """
        for k in (1.0, 0.125):
            (p1, m1), (p2, m2) = self.row(k), self.row(2 * k)
            g1, g2 = (p1 - m1) / (2 * k * self.steps), (p2 - m2) / (4 * k * self.steps)
            # (4 g1 - g2) / 3 is wrong by O(h^4) where f is smooth, and by |g2 - g1| 2/3 at a jump of the curvature.
            truncation = float(np.linalg.norm((g2 - g1) * 2 / 3))
            noise = 1.5 * self.noise.norm(self.d) * float(np.linalg.norm(1 / (k * self.steps))) / math.sqrt(self.d)
            if truncation <= 100 * noise or truncation <= 1e-3 * float(np.linalg.norm(g1)):
                break
        return (4 * g1 - g2) / 3, truncation + noise

    def second_differences(self, k: float = 1.0) -> Vector:
        """f(x + k h_i e_i) + f(x - k h_i e_i) - 2 f(x): the diagonal of the Hessian times (k h_i)^2, for nothing."""
        plus, minus = self.row(k)
        return plus + minus - 2 * self.f0

    def diagonal(self) -> tuple[Vector, Vector]:
        """The diagonal of the Hessian, and a bound on the error of each entry."""
        one, two = self.second_differences(1.0), self.second_differences(2.0) / 4
        error = TRUNCATION_SAFETY * np.abs(two - one) + 4 * self.noise.norm(1)
        return one / self.steps**2, error / self.steps**2

    def third_derivative(self) -> float:
        """The largest third derivative seen along a coordinate (from odd differences at two steps)."""
        (p1, m1), (p2, m2) = self.row(1.0), self.row(2.0)
        odd = (p2 - m2) / 2 - (p1 - m1)
        return float(np.max(np.abs(odd / self.steps**3)))

    # Other looks

    def moved(self, direction: Vector, length: float) -> Array:
        """x + length * direction, for a direction in y."""
        return self.x + like(length * direction * self.unit, self.x)

    def along(self, v: Vector) -> Interval:
        """The curvature along the unit vector v, from second differences at two steps or more.

        The steps are not those of any product, they shrink while truncation exceeds the noise, and the
        interval holds both. Used to confirm every direction before anyone acts on it.

        Queries: 4, and 2 more for each time the step is cut
        """
        f = self.f.tagged("curvature")
        eta = 4 * self.noise.norm(1)
        y = np.maximum(1.0, np.abs(to_numpy(self.x).astype(np.float64)) / self.unit)
        reach = float(np.linalg.norm(v * y))
        # Noise below 1% of the tolerance, and what x resolves; but not far beyond the steps that were learnt.
        h = max(math.sqrt(100 * eta / self.curvtol), RESOLVED * epsilon(self.x) * reach, epsilon(self.x) ** 0.25)
        learnt = 1 / float(np.linalg.norm(v / self.steps))
        h = 2.75 * float(power_of_two(np.asarray(min(h, reach / 8, 64 * learnt))))
        best, seen, extrapolated = (0.0, math.inf), [], []
        for _ in range(12):
            pair = f(point(self.moved(v, h)) + point(self.moved(v, -h)))
            blur = eta / h**2
            seen.append((float(pair.sum()) - 2 * self.f0) / h**2)
            if len(seen) > 1:
                extrapolated.append((4 * seen[-1] - seen[-2]) / 3)
                moved = abs(seen[-1] - seen[-2])
                best = min(best, (seen[-1], TRUNCATION_SAFETY * moved + blur), key=_error)
                if len(extrapolated) > 1:
                    moved = abs(extrapolated[-1] - extrapolated[-2])
                    best = min(best, (extrapolated[-1], TRUNCATION_SAFETY * moved + 1.7 * blur), key=_error)
                if moved <= blur or best[1] <= 0.02 * max(self.curvtol, abs(best[0])):
                    break
            h /= 2
        return Interval(best[0] - best[1], best[0] + best[1])

    def third_along(self, v: Vector) -> float:
        """The size of the third derivative along the unit vector v, from odd differences at two steps.

        Queries: 4
        """
        h = 8 * float(np.median(self.steps))
        f = self.f.tagged("check")
        near = point(self.moved(v, h)) + point(self.moved(v, -h))
        far = point(self.moved(v, 2 * h)) + point(self.moved(v, -2 * h))
        a, b, c, e = f(near + far)
        return abs(float((c - e) / 2 - (a - b))) / h**3

    def _learn_scale(self) -> None:
        """Cut the step of every coordinate whose second differences disagree at two steps.

        A coordinate on a shorter scale than its step shows truncation; cutting by 4 divides it by 16 and
        multiplies the noise by 16, which is done only while noise stays small beside what is measured.
        """
        for _ in range(8):
            one, two = self.second_differences(1.0), self.second_differences(2.0) / 4
            reference = np.abs(one) + self.curvtol * self.steps**2
            room = 64 * self.noise.level <= 0.003 * reference
            which = np.flatnonzero((np.abs(two - one) > 0.05 * reference + 8 * self.noise.level) & room)
            if len(which) == 0:
                return
            self.steps[which] /= 4
            for k, (plus, minus) in self._rows.items():
                h = like(k * self.steps * self.unit, self.x)
                values = self.f.tagged("check")(some_axes(self.x, h, which) + some_axes(self.x, -h, which))
                plus[which], minus[which] = values[: len(which)], values[len(which) :]


def _error(estimate: tuple[float, float]) -> float:
    return estimate[1]


def as_scale(x_scale: Any, x: Array) -> Vector:
    """`x_scale` as a positive vector; ones by default."""
    if x_scale is None:
        return np.ones(x.shape[0])
    try:
        scale = np.broadcast_to(np.asarray(to_numpy(x_scale), dtype=np.float64), x.shape).copy()
    except (TypeError, ValueError):
        raise InvalidSetting(
            f"x_scale={x_scale!r:.60} must be a positive number, or one for each of the {x.shape[0]} variables"
        ) from None
    fine = (scale >= 1e-100) & (scale <= 1e100)
    if not np.all(fine):
        bad = int(np.flatnonzero(~fine)[0])
        raise InvalidSetting(
            f"x_scale must be positive and finite, between 1e-100 and 1e100, but x_scale[{bad}] = {scale[bad]}"
        )
    return scale
