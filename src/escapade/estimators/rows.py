"""What differences around a point give: gradient, diagonal, curvature along a direction.

Everything here is in the user's variables, or in scaled ones y = x / unit when `x_scale` was given: `steps` are the
lengths of the coordinate differences in y, and gradients and curvatures are those of f as a function of y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, like, to_numpy
from ..errors import NonFiniteValue
from ..oracle import Oracle, central, point
from .noise import Noise
from .steps import LONGEST, RESOLVED, TRUNCATION_SAFETY, power_of_two

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A closed interval that holds a number, as far as was shown."""

    lower: float
    upper: float

    def __str__(self) -> str:
        return f"[{self.lower:.3g}, {self.upper:.3g}]"


@dataclass
class Rows:
    """f around x: the value there, the noise, and central rows f(x ± k steps_i e_i) kept by their factor k."""

    f: Oracle
    x: Array
    unit: Vector
    curvtol: float
    f0: float
    noise: Noise
    steps: Vector
    _rows: dict[float, tuple[Vector, Vector]] = field(default_factory=dict)

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.x.shape[0])

    def row(self, k: float) -> tuple[Vector, Vector]:
        """f(x + k steps_i e_i) and f(x - k steps_i e_i) for all i.

        Queries: 2*d the first time, none after
        """
        self.take_rows(k)
        return self._rows[k]

    def take_rows(self, *factors: float) -> None:
        """Those of these rows that are not known yet, in one round.

        Queries: 2*d for each of them
        """
        missing = [k for k in factors if k not in self._rows]
        if missing:
            stencils = [central(self.x, like(k * self.steps * self.unit, self.x)) for k in missing]
            values = self.f.tagged("check")(sum(stencils[1:], start=stencils[0]))
            for k, row in zip(missing, np.split(values, len(missing)), strict=True):
                self._rows[k] = (row[: self.d], row[self.d :])

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
        h = 2.75 * float(power_of_two(np.asarray(min(h, max(LONGEST / 2, 2 * learnt), 64 * learnt))))
        best = (0.0, math.inf)
        seen: list[float] = []
        extrapolated: list[float] = []
        for _ in range(12):
            try:
                pair = f(point(self.moved(v, h)) + point(self.moved(v, -h)))
            except NonFiniteValue:
                seen, extrapolated, h = [], [], h / 8
                continue
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


def _error(estimate: tuple[float, float]) -> float:
    return estimate[1]
