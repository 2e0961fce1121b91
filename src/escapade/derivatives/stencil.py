"""What differences around a point give: gradient, diagonal, curvature along a direction.

Everything here is in the user's variables, or in scaled ones y = x / unit when `x_scale` was given: `steps` are the
lengths of the coordinate differences in y, and gradients and curvatures are those of f as a function of y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, like, norm2, to_numpy
from ..errors import BudgetExhausted, NonFiniteValue
from ..oracle import Oracle, Stencil, axes, pairs, points
from .noise import Noise
from .steps import LONGEST, RESOLVED, TRUNCATION_SAFETY, power_of_two, shortest

Vector = NDArray[np.float64]

BEYOND = 0.25
"""Second differences that change by more, relatively, when their steps are doubled are beyond the scale of f."""

ABOVE = 4.0
"""Truncation that is so much more than noise is worth rows on shorter steps."""

Reckon = TypeVar("Reckon", bound=Callable[..., Any])


def reckoned_once(reckon: Reckon) -> Reckon:
    """Keep what follows from the rows, once steps and noise no longer change."""

    @wraps(reckon)
    def fact(rows: Rows, *args: Any) -> Any:
        if rows._facts is None:
            return reckon(rows, *args)
        key = reckon.__name__, *args
        if key not in rows._facts:
            rows._facts[key] = reckon(rows, *args)
        return rows._facts[key]

    return cast(Reckon, fact)


@dataclass(frozen=True)
class Interval:
    """A closed interval that holds a number, as far as was shown."""

    lower: float
    upper: float

    def __str__(self) -> str:
        return f"[{self.lower:.3g}, {self.upper:.3g}]"


@dataclass
class Rows:
    """f around x: the value there, the noise, and rows f(x + k steps_i e_i) and pairs f(x + k (steps_i e_i + steps_j
    e_j)) kept by their factor k, of either sign."""

    f: Oracle
    x: Array
    unit: Vector
    curvtol: float
    f0: float
    noise: Noise
    steps: Vector
    far: float = 2.0
    """The factor of the rows that are compared with those at one step."""
    both: bool = False
    """Whether those are taken on both sides, which is needed where steps are long: fourth derivatives cancel."""
    finer: int = 3
    """How often the gradient may be measured again on shorter steps."""
    gtol: float = math.inf
    """The gradient tolerance: a gradient that is on one side of it, whatever its error, is not measured again."""
    _fitted: tuple[Vector, Rows] | None = None
    _rows: dict[float, Vector] = field(default_factory=dict)
    _pairs: dict[float, Vector] = field(default_factory=dict)
    _facts: dict[tuple[Any, ...], Any] | None = field(default_factory=dict)
    """What was reckoned from the rows; None while these change."""

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.x.shape[0])

    def row(self, k: float) -> Vector:
        """f(x + k steps_i e_i) for all i.

        Queries: d the first time, none after
        """
        if k not in self._rows:
            self.take_rows(k)
        return self._rows[k]

    def take_rows(self, *factors: float) -> None:
        """Those of these rows that are not known yet, in one round.

        Queries: d for each of them
        """
        missing = [k for k in factors if k not in self._rows]
        if missing:
            stencils = [axes(self.x, like(k * self.steps * self.unit, self.x)) for k in missing]
            values = self.f.tagged("check")(sum(stencils[1:], start=stencils[0]))
            self._rows.update(zip(missing, values.reshape(len(missing), -1), strict=True))

    def pairs(self, *factors: float) -> list[Vector]:
        """f(x + k (steps_i e_i + steps_j e_j)) for all i < j and each of these factors k; those not known yet are taken
        in one round.

        Queries: d*(d - 1)/2 for each of them the first time, none after
        """
        missing = [k for k in factors if k not in self._pairs]
        if missing:
            stencils = [pairs(self.x, like(k * self.steps * self.unit, self.x), 1.0) for k in missing]
            values = self.f.tagged("curvature")(sum(stencils[1:], start=stencils[0]))
            self._pairs.update(zip(missing, values.reshape(len(missing), -1), strict=True))
        return [self._pairs[k] for k in factors]

    def take_usual_rows(self) -> None:
        """The rows at one step on both sides, and the far ones.

        Queries: 3*d, or 4*d if far rows are taken on both sides, the first time
        """
        self.take_rows(1.0, -1.0, -self.far, *((self.far,) if self.both else ()))

    @reckoned_once
    def gradient(self, rho: float | None = None) -> tuple[Vector, float]:
        """The gradient, less what third differences show of its truncation, and a bound on the norm of its error.

        With a `rho`, a Lipschitz constant of the Hessian, the truncation is bounded and not estimated.

        Where truncation is above the noise, and in the way of telling whether the gradient is within the tolerance,
        rows are taken again on steps that balance them, variable by variable.

        Queries: 0, or 3*d the first time shorter rows are needed, three times at most, and once more if they contradict
        """
        h, third = self.steps, self.third_differences()
        g: Vector = (self.row(1.0) - self.row(-1.0)) / (2 * h)
        if rho is None:  # wrong by O(h^3) where f is smooth, by far times the correction where its curvature jumps at x
            g, truncation = g - third / (6 * h), self.far * np.abs(third) / (6 * h) + self._beyond() / h
        else:
            truncation = rho * h**2 / 6
        noise = (1.5 if self.both else 1.9) * self.noise.norm(self.d) / math.sqrt(self.d) / h
        error = norm2(truncation), norm2(noise)
        total = error[0] + error[1] + self._astray(g, error[1], error[0])
        if self.finer == 0 or error[0] <= ABOVE * error[1] or abs(norm2(g) - self.gtol) > total:
            return g, total
        if self._fitted is None or self._fitted[0] is not h:
            fitting = h * np.cbrt(np.minimum(noise / (2 * truncation + 1e-300), 1.0))
            fitting = np.minimum(power_of_two(np.maximum(fitting, shortest(self.x, self.unit))), h)
            same = self.f, self.x, self.unit, self.curvtol, self.f0, self.noise
            self._fitted = h, Rows(*same, fitting, self.far, self.both, self.finer - 1, self.gtol)
        try:
            finer, blur = self._fitted[1].gradient(rho)
        except BudgetExhausted:  # what is known will have to do
            return g, total
        off = norm2(finer - g)
        if off > 4 * total and not self._fitted[1]._holds(finer, blur):  # neither is believed
            return g, total + off
        return finer, blur + self._astray(finer, blur, error[0])

    def _astray(self, g: Vector, known: float, truncation: float) -> float:
        """By how much more than is known a gradient is wrong, as far as other looks tell, if these steps leave such a
        truncation."""
        return 0.0

    def slope(self, rho: float | None = None) -> Interval:
        """The norm of the gradient."""
        g, error = self.gradient(rho)
        size = norm2(g)
        return Interval(max(0.0, size - error), size + error)

    def sharpen(self) -> None:
        """From now on the gradient is the one on steps that balance noise and truncation, whatever the tolerance."""
        self.gtol, self._facts = norm2(self.gradient()[0]), {}

    def _holds(self, g: Vector, error: float) -> bool:
        """Whether this is the gradient on much shorter steps too, and f changes there: those of the rows may be below
        the unit in which f is given.

        Queries: 3*d, or 4*d if far rows are taken on both sides
        """
        steps = np.maximum(self.steps / 8, shortest(self.x, self.unit))
        closer = Rows(self.f, self.x, self.unit, self.curvtol, self.f0, self.noise, steps, self.far, self.both, 0)
        try:
            again, blur = closer.gradient()
        except BudgetExhausted:
            return False
        return bool(np.any(closer.row(1.0) != self.f0)) and norm2(again - g) <= 4 * (error + blur)

    def _beyond(self) -> Any:
        """What second differences change by over the longest steps, where that is so much of them that the first terms
        of a series tell nothing of the rest; else 0."""
        if not self.both:
            return 0.0
        uneven = self.uneven()
        much = BEYOND * (np.abs(self.second_differences()) + self.curvtol * self.steps**2) + 8 * self.noise.level
        return np.where((uneven > much) & (self.steps >= LONGEST), uneven, 0.0)

    def second_differences(self, k: float = 1.0) -> Vector:
        """f(x + k h_i e_i) + f(x - k h_i e_i) - 2 f(x): the diagonal of the Hessian times (k h_i)^2, for nothing."""
        return self.row(k) + self.row(-k) - 2 * self.f0

    @reckoned_once
    def third_differences(self) -> Vector:
        """The third derivatives along the coordinates times h_i^3, for nothing: from both sides if far rows are taken
        on both, else over [-far h, h]."""
        far = self.far
        self.take_usual_rows()
        plus, minus, back = self.row(1.0), self.row(-1.0), self.row(-far)
        if self.both:
            return 3 / (far**2 - 1) * ((self.row(far) - back) / far - (plus - minus))
        one, two = (plus - self.f0) / (1 + far), (minus - self.f0) / (far - 1)  # divided differences
        return 3 * (one + two) - 6 * (back - self.f0) / (far * (far**2 - 1))

    def uneven(self) -> Vector:
        """How much second differences change when they are taken at far steps, or else one step aside."""
        if self.both:
            return np.abs(self.second_differences(self.far) / self.far**2 - self.second_differences(1.0))
        return np.abs(self.third_differences())

    @reckoned_once
    def diagonal(self) -> tuple[Vector, Vector]:
        """The diagonal of the Hessian, and a bound on the error of each entry."""
        error = TRUNCATION_SAFETY * self.uneven() + 4 * self.noise.norm(1)
        return self.second_differences() / self.steps**2, error / self.steps**2

    @reckoned_once
    def third_derivative(self) -> float:
        """The largest third derivative seen along a coordinate."""
        return float(np.max(np.abs(self.third_differences() / self.steps**3)))

    # Other looks

    def moved(self, direction: Vector, length: float) -> Array:
        """x + length * direction, for a direction in y."""
        return self.x + like(length * direction * self.unit, self.x)

    def around(self, ways: Vector) -> Stencil:
        """x plus each of these displacements in y, the rows of a matrix."""
        return points(self.x + like(ways * self.unit, self.x))

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
                pair = f(self.around(np.outer((h, -h), v)))
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
        a, b, c, e = f(self.around(np.outer((h, -h, 2 * h, -2 * h), v)))
        return abs(float((c - e) / 2 - (a - b))) / h**3


def _error(estimate: tuple[float, float]) -> float:
    return estimate[1]
