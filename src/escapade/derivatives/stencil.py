"""Values around a point: rows along the coordinates and pairs of them, cached by the factor of their steps.

Everything here is in scaled variables y = x / unit: `steps` are the lengths of the coordinate differences in y, and
differences are those of f as a function of y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Vector, like
from ..errors import MissingValue
from ..oracle import Oracle, Stencil, axes, or_nan, pairs, points, retaken, some_axes
from ..oracle.missing import SHORTER
from .steps import shortest


@dataclass(frozen=True)
class CoordinateStencil:
    """f around x on given steps: rows f(x + k h_i e_i) and pairs f(x + k (h_i e_i + h_j e_j)), k a factor of either
    sign. It holds no policy: whoever asks for a factor pays for it once."""

    f: Oracle
    x: Array
    unit: Vector
    f0: float
    """f(x)."""
    steps: Vector
    far: float = 2.0
    """The factor of the rows that are compared with those at one step."""
    resolution: float = 0.0
    """No step is shorter, in units of `unit`: the user asked for nothing below."""
    symmetric: bool = False
    """Whether far rows are taken on both sides, which long steps need: fourth derivatives cancel."""
    _rows: dict[float, Vector] = field(default_factory=dict, repr=False)
    _pairs: dict[float, Vector] = field(default_factory=dict, repr=False)
    _finer: dict[bytes, CoordinateStencil] = field(default_factory=dict, repr=False)
    _lost: dict[float, MissingValue] = field(default_factory=dict, repr=False)
    """The rows in which a value is missing, and the errors that say so."""

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.x.shape[0])

    @property
    def shortest(self) -> Vector:
        """The shortest steps that x and the resolution asked for leave."""
        return np.maximum(shortest(self.x, self.unit), self.resolution)

    @property
    def usual(self) -> tuple[float, ...]:
        """The factors of the rows that every estimate uses."""
        return (1.0, -1.0, -self.far, self.far) if self.symmetric else (1.0, -1.0, -self.far)

    def row(self, k: float) -> Vector:
        """f(x + k h_i e_i) for all i; an error where one is missing.

        Queries: d the first time, none after
        """
        row = self.entries(k)
        if k in self._lost:
            raise self._lost[k]
        return row

    def entries(self, k: float) -> Vector:
        """The same, NaN where one is missing.

        Queries: d the first time, none after
        """
        self.take_rows(k)
        return self._rows[k]

    def take_rows(self, *factors: float) -> None:
        """Those of these rows that are not known yet, in one round; NaN where a value is missing.

        Queries: d for each of them
        """
        missing = [k for k in factors if k not in self._rows]
        if missing:
            stencils = [axes(self.x, like(k * self.steps * self.unit, self.x)) for k in missing]
            values, lost = or_nan(self.f.tagged("check"), sum(stencils[1:], start=stencils[0]))
            self._rows.update(zip(missing, values.reshape(len(missing), -1), strict=True))
            self._note(lost)

    def _note(self, lost: MissingValue | None) -> None:
        """Which rows have lost a value."""
        if lost is not None:
            self._lost.update({k: lost for k, row in self._rows.items() if np.isnan(row).any()})

    def complete(self) -> CoordinateStencil:
        """The stencil with all usual rows: coordinates where one of these values is missing take other steps.

        Queries: d for each row not yet known, and those rows again for each coordinate and step tried
        """
        stencil = self
        stencil.take_rows(*stencil.usual)
        for length in SHORTER:
            lost = [k for k in stencil.usual if k in stencil._lost]
            if not lost:
                return stencil
            which = np.flatnonzero(np.isnan(np.sum([stencil._rows[k] for k in lost], axis=0)))
            steps = stencil.steps.copy()
            steps[which] = length * self.steps[which]
            stencil = stencil._with_other_steps(which, steps)
        for k in stencil.usual:
            stencil.row(k)
        return stencil

    def pairs(self, *factors: float) -> list[Vector]:
        """f(x + k (h_i e_i + h_j e_j)) for all i < j and each of these factors k; those not known yet in one round. NaN
        where one is missing.

        Queries: d*(d - 1)/2 for each of them the first time, none after
        """
        missing = [k for k in factors if k not in self._pairs]
        if missing:
            stencils = [pairs(self.x, like(k * self.steps * self.unit, self.x), 1.0) for k in missing]
            values, _ = or_nan(self.f.tagged("curvature"), sum(stencils[1:], start=stencils[0]))
            self._pairs.update(zip(missing, values.reshape(len(missing), -1), strict=True))
        return [self._pairs[k] for k in factors]

    def price_of_pairs(self, *factors: float) -> int:
        """The queries that `pairs` would take."""
        return sum(k not in self._pairs for k in factors) * self.d * (self.d - 1) // 2

    def price_of_rows(self, *factors: float) -> int:
        """The queries that these rows would take."""
        return sum(k not in self._rows for k in factors) * self.d

    @property
    def known(self) -> Vector:
        """All values of the rows taken so far, none of them missing in a complete stencil."""
        return np.concatenate([*self._rows.values()])

    # Other stencils at the same point

    def on_steps(self, steps: Vector) -> CoordinateStencil:
        """The stencil on these steps at the same point; asked for twice, it is the same one, with its rows."""
        key = steps.tobytes()
        if key not in self._finer:
            self._finer[key] = self._with(steps, {})
        return self._finer[key]

    def with_cut_steps(self, which: NDArray[np.int64], factor: float) -> CoordinateStencil:
        """The stencil with the steps of these coordinates divided by a factor; the other entries of its rows stay.

        Queries: len(which) for each row that is known
        """
        steps = self.steps.copy()
        steps[which] /= factor
        return self._with_other_steps(which, steps)

    def _with_other_steps(self, which: NDArray[np.int64], steps: Vector) -> CoordinateStencil:
        stencils = [some_axes(self.x, like(k * steps * self.unit, self.x), which) for k in self._rows]
        values, lost = or_nan(self.f.tagged("check"), sum(stencils[1:], start=stencils[0]))
        rows = {k: row.copy() for k, row in self._rows.items()}
        for row, part in zip(rows.values(), np.split(values, len(stencils)), strict=True):
            row[which] = part
        other = self._with(steps, rows)
        other._note(lost or next(iter(self._lost.values()), None))
        return other

    def _with(self, steps: Vector, rows: dict[float, Vector]) -> CoordinateStencil:
        kept = {"far": self.far, "resolution": self.resolution, "symmetric": self.symmetric}
        return CoordinateStencil(self.f, self.x, self.unit, self.f0, steps, **kept, _rows=rows)  # type: ignore[arg-type]

    # Other points

    def moved(self, direction: Vector, length: float) -> Array:
        """x + length * direction, for a direction in y."""
        return self.x + like(length * direction * self.unit, self.x)

    def around(self, displacements: Vector) -> Stencil:
        """x plus each of these displacements in y, the rows of a matrix."""
        return points(self.x + like(displacements * self.unit, self.x))

    def values(self, displacements: Vector, purpose: str) -> Vector:
        """f at x plus each of these displacements, the rows of a matrix.

        Queries: 1 for each of them
        """
        return self.f.tagged(purpose)(self.around(displacements))

    def retaken(
        self, displacements: Vector, owner: NDArray[np.int64], count: int, purpose: str
    ) -> tuple[Vector, Vector]:
        """The same for displacements that belong to `count` differences: one with a missing value is taken again, all
        of its displacements times a factor; and these factors. See `oracle.retaken`.

        Queries: 1 for each displacement, and for each of a difference that is taken again
        """
        f = self.f.tagged(purpose)
        return retaken(f, lambda scale: self.around(scale[owner][:, None] * displacements), owner, count)

    def along(self, v: Vector, lengths: Sequence[float] | Vector, purpose: str) -> Vector:
        """f(x + t v) for each of these lengths t.

        Queries: 1 for each of them
        """
        return self.values(np.outer(lengths, v), purpose)

    # Differences

    def second_differences(self, k: float = 1.0) -> Vector:
        """f(x + k h_i e_i) + f(x - k h_i e_i) - 2 f(x): the diagonal of the Hessian times (k h_i)^2."""
        return self.row(k) + self.row(-k) - 2 * self.f0

    @cached_property
    def third_differences(self) -> Vector:
        """The third derivatives along the coordinates times h_i^3: from both sides if the far rows are, else over
        [-far h, h]."""
        far = self.far
        self.take_rows(*self.usual)
        plus, minus, back = self.row(1.0), self.row(-1.0), self.row(-far)
        if self.symmetric:
            return 3 / (far**2 - 1) * ((self.row(far) - back) / far - (plus - minus))
        one, two = (plus - self.f0) / (1 + far), (minus - self.f0) / (far - 1)  # divided differences
        return 3 * (one + two) - 6 * (back - self.f0) / (far * (far**2 - 1))

    @property
    def second_changes(self) -> Vector:
        """How much second differences change when they are taken at far steps, or else one step aside."""
        if self.symmetric:
            return np.abs(self.second_differences(self.far) / self.far**2 - self.second_differences(1.0))
        return np.abs(self.third_differences)
