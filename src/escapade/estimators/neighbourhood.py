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
from ..errors import InvalidSetting
from ..oracle import Oracle, central, point, some_axes
from . import noise as noise_
from .noise import Noise
from .steps import curvature_steps, power_of_two

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
        """Look around x: its value, the noise there (unless given), and two central rows.

        With noise=None rounding is assumed, and checked: a difference table that shows more is believed.

        Queries: 4*d + 10, or 4*d + 1 if the noise is given; 4 more each time a coordinate is cut
        """
        noise_.check_noise(noise)
        unit = as_scale(x_scale, x)
        look = f.tagged("check")
        f0 = look.value(x)
        known = Noise(float(noise), "given") if isinstance(noise, int | float | np.number) else None
        table = None if known else noise_.measure(look, x, unit, f0, rng)
        here = cls(f, x, unit, curvtol, f0, Noise(0.0, "rounding"), np.ones(x.shape[0]))
        here.noise = here._noise_at(abs(f0), known, table, auto=noise == "auto")
        here.steps = curvature_steps(x, unit, here.noise.level, curvtol) / unit
        first, second = here.row(1.0), here.row(2.0)
        top = max(float(np.max(np.abs(r))) for row in (first, second) for r in row)
        here.noise = here._noise_at(max(top, abs(f0)), known, table, auto=noise == "auto")
        here._learn_scale()
        return here

    def _noise_at(self, magnitude: float, known: Noise | None, table: float | None, *, auto: bool) -> Noise:
        floor = noise_.rounding(self.x, magnitude)
        if known is not None:
            return known if known.level > floor else Noise(floor, "rounding")
        if table is not None and noise_.SAFETY * table > (floor if auto else 4 * floor):
            return Noise(noise_.SAFETY * table, "estimated")
        return Noise(floor, "rounding")

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
        """The gradient, extrapolated from two rows, and a bound on the norm of its error."""
        (p1, m1), (p2, m2) = self.row(1.0), self.row(2.0)
        g1, g2 = (p1 - m1) / (2 * self.steps), (p2 - m2) / (4 * self.steps)
        # (4 g1 - g2) / 3 is wrong by O(h^4); what extrapolation changed bounds what it left.
        truncation = float(np.linalg.norm((g2 - g1) / 3))
        spread = float(np.linalg.norm(1 / self.steps)) / math.sqrt(self.d)
        return (4 * g1 - g2) / 3, truncation + 1.5 * self.noise.norm(self.d) * spread

    def second_differences(self, k: float = 1.0) -> Vector:
        """f(x + k h_i e_i) + f(x - k h_i e_i) - 2 f(x): the diagonal of the Hessian times (k h_i)^2, for nothing."""
        plus, minus = self.row(k)
        return plus + minus - 2 * self.f0

    def diagonal(self) -> tuple[Vector, Vector]:
        """The diagonal of the Hessian, and a bound on the error of each entry."""
        one, two = self.second_differences(1.0), self.second_differences(2.0) / 4
        return one / self.steps**2, (np.abs(two - one) + 4 * self.noise.norm(1)) / self.steps**2

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
        reach = float(np.linalg.norm(v * np.maximum(1.0, np.abs(to_numpy(self.x).astype(np.float64)) / self.unit)))
        # The longest of: noise below 1% of the tolerance, what x resolves, the usual step.
        h = max(math.sqrt(100 * eta / self.curvtol), 64 * epsilon(self.x) ** 0.5 * reach, epsilon(self.x) ** 0.25)
        h = 2.75 * float(power_of_two(np.asarray(min(h, reach / 8))))
        best: tuple[float, float] | None = None
        longer = None
        for _ in range(12):
            pair = f(point(self.moved(v, h)) + point(self.moved(v, -h)))
            curvature, blur = (float(pair.sum()) - 2 * self.f0) / h**2, eta / h**2
            if longer is not None:
                error = abs(curvature - longer) + blur
                if best is None or error < best[1]:
                    best = (curvature, error)
                if abs(curvature - longer) <= 4 * blur or best[1] <= 0.02 * max(self.curvtol, abs(curvature)):
                    break
            longer, h = curvature, h / 2
        if best is None:  # unreachable: two passes always happen
            return Interval(-math.inf, math.inf)
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
    if not (np.all(np.isfinite(scale)) and np.all(scale > 0)):
        bad = int(np.flatnonzero(~(np.isfinite(scale) & (scale > 0)))[0])
        raise InvalidSetting(f"x_scale must be positive and finite, but x_scale[{bad}] = {scale[bad]}")
    return scale
