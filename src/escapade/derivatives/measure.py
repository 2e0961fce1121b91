"""Looking around a point: difference steps that fit the precision, the noise and the structure of f."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._array import Array, epsilon, like, to_numpy
from ..errors import InvalidSetting, MissingValue, NonFiniteValue
from ..oracle import Oracle, some_axes
from . import noise as noise_
from .consistency import Looks
from .noise import Noise
from .stencil import Interval, Vector
from .steps import against_noise, curvature_steps, longest, power_of_two, shortest

FURTHEST = 512
"""Where noise is small there is one far row, at 2 + j/1024 steps with a random j up to this: no function can have been
made for it."""

CUTS = 5
"""Times all steps are cut by 4, at most, where shorter ones tell another story."""

ALIKE = 3
"""A table of so few different values tells nothing of noise."""

WILD = 1e6
"""A step over which f changes by so many times its size is no difference step."""

__all__ = ["Interval", "Neighbourhood", "Vector", "as_scale"]


@dataclass
class Neighbourhood(Looks):
    """f around x, measured."""

    flat: bool = False
    """Whether f did not change at all over the longest steps: then nothing can be said of it."""
    began: tuple[dict[str, int], int] = field(default_factory=lambda: ({}, 0))
    """The queries by purpose, and the rounds, when the measurement began."""
    rough: bool = False
    """Whether shorter steps tell another story than the steps, however short these are: then nothing can be said."""
    _table: Vector = field(default_factory=lambda: np.zeros(0))
    _close: Vector = field(default_factory=lambda: np.zeros(0))
    _closer: float = 0.0
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
        gtol: float = math.inf,
        rng: np.random.Generator,
    ) -> Neighbourhood:
        """Look around x: its value, the noise there (unless given), three or four rows, and whether those are short.

        With noise=None rounding is assumed, and checked: a difference table that shows more, unless that fades on a
        much closer one, or values that are all multiples of a larger unit, are believed. Steps on which nothing
        changes at all are lengthened; steps longer than the structure of f are cut.

        Queries: 3*d + 34, or 4*d + 25 if the noise is given; 3 more each time a coordinate is cut (4 with noise), 9 or
        18 for closer tables, 4 for every 8 coordinates if their curvatures differ, the rows again if all steps change
        """
        noise_.check_noise(noise)
        unit = as_scale(x_scale, x)
        look = f.tagged("check")
        began = (dict(f.ledger.by_purpose), f.ledger.rounds)
        f0 = look.value(x)
        known = Noise(float(noise), "given") if isinstance(noise, int | float | np.number) else None
        none, steps = Noise(0.0, "rounding"), np.ones(x.shape[0])
        here = cls(f, x, unit, curvtol, f0, none, steps, gtol=gtol, began=began, _facts=None)
        here._table = np.array([f0]) if known else noise_.table(look, x, unit, f0, rng)
        if noise is None and here._seen_noise(None, auto=False).source == "estimated":
            for here._closer in noise_.CLOSER:
                here._close = noise_.table(look, x, unit, f0, rng, here._closer)
                if len(np.unique(here._close)) > ALIKE:
                    break
        lost = here._settle_steps(known, rng, auto=noise == "auto")
        here._learn_scale()
        for cut in range(CUTS):
            here._facts = {}
            if here._consistent(rng, cut=cut > 0):
                break
            here.steps = here.steps / 4
            here._rows.clear()
        else:
            here._facts = {}
            here.rough = not here._consistent(rng, cut=True)
            if here.rough and isinstance(lost, MissingValue):  # the steps were cut to nothing
                raise lost
        return here

    def _settle_steps(
        self, known: Noise | None, rng: np.random.Generator, *, auto: bool
    ) -> NonFiniteValue | None:
        """Steps that fit the noise, and a noise that fits the values seen on them.

        Where nothing at all changes over the steps they are lengthened; where f is not finite over them they are cut,
        and the last such error is returned.
        """
        stretch = np.ones(self.d)
        lost: NonFiniteValue | None = None
        self.noise = self._seen_noise(known, auto=auto)
        most = power_of_two(longest(self.x, self.unit))
        for last in (*(False for _ in range(11)), True):
            fitting = curvature_steps(self.x, self.unit, self.noise.level, self.curvtol) / self.unit
            self.steps = np.minimum(stretch * fitting, most)
            self._rows.clear()
            try:
                self.both = against_noise(self.noise.level, self.curvtol) > epsilon(self.x) ** 0.25
                self.far = 2.0 + (0.0 if self.both else int(rng.integers(FURTHEST + 1)) / 1024)
                self.take_usual_rows()
                change = np.abs(np.concatenate([*self._rows.values()]) - self.f0)
            except NonFiniteValue as error:
                lost = error
                if last:
                    raise
                stretch /= 64
                continue
            wild = np.max(change.reshape(-1, self.d), axis=0) > WILD * (1 + abs(self.f0))
            wild &= self.steps / 64 >= shortest(self.x, self.unit)
            if np.any(wild) and not last:
                stretch[wild] /= 64
                continue
            self.flat = not np.any(change) and self._still(rng)
            if self.flat and isinstance(lost, MissingValue):  # the steps were cut to nothing
                raise lost
            if self.flat and np.any(self.steps < most):
                stretch *= 16
                continue
            before, self.noise = self.noise, self._seen_noise(known, auto=auto)
            if self.noise.level <= 16 * before.level:
                break
            stretch = np.minimum(stretch, 1.0)
        return lost

    def _seen_noise(self, known: Noise | None, *, auto: bool) -> Noise:
        seen = np.concatenate([self._table, self._together, *self._rows.values()])
        floor = noise_.rounding(self.x, float(np.max(np.abs(seen))), self.f.precision)
        if known is not None:
            return known if known.level > floor else Noise(floor, "rounding")
        if self._rows:
            self._unit = self._unit or self._plateau(seen, floor)
        if self._unit:
            return Noise(self._unit, "rounding")
        table = self._table_noise
        if table is not None and noise_.SAFETY * table > (floor if auto else 4 * floor) and not self._fades(table):
            return Noise(noise_.SAFETY * table, "estimated")
        return Noise(floor, "rounding")

    @cached_property
    def _table_noise(self) -> float | None:
        """What the table alone says."""
        return noise_.table_estimate(self._table)

    def _fades(self, noise: float) -> bool:
        """Whether values much closer together vary as smoothly as rounding lets them: the noise is structure of f."""
        if len(np.unique(self._close)) < 2:  # not looked at, or given in steps of its own
            return False
        if noise <= 4 * noise_.rounding_of_x(self.x, self.unit, self._table):
            return False
        seen = noise_.table_estimate(self._close)
        floor = noise_.rounding(self.x, float(np.max(np.abs(self._close))), self.f.precision)
        floor += noise_.rounding_of_x(self.x, self.unit, self._close, self._closer)
        # Rounding falls with the square of the distance at most, where f does.
        return seen is None or noise_.SAFETY * seen <= max(4 * floor, self._closer**3 * noise)

    def _plateau(self, seen: Vector, floor: float) -> float:
        """The unit in which f is given, if that is well above its rounding; else 0.

        Ten values along a line differ, unless f is given in steps; then the least change seen is such a step. And
        values that are all multiples of one change are: a table alone may be a parabola, and rows a few multiples of
        one curvature, but not both together.
        """
        steps = np.diff(self._table)
        if len(np.unique(self._table)) > 3:
            large, unit = np.abs(steps[steps != 0]), noise_.quantum(seen, floor) or 0.0
            if len(large) < len(steps) and np.min(large) > 8 * floor:  # neighbours that agree to the bit: a staircase
                return max(float(np.min(large)), unit)
            return unit
        change = np.abs(seen - self.f0)
        change = change[change > 8 * floor]
        # Rounding explains a flat table if even a parabola through the rows would not show in it.
        shown = (noise_.TABLE_POINTS * noise_.SPACING * epsilon(self.x) ** 0.25 / float(np.max(self.steps))) ** 2
        return float(np.min(change)) if len(change) and np.max(change) * min(shown, 1.0) > 8 * floor else 0.0

    def _learn_scale(self) -> None:
        """Cut the step of every coordinate whose second differences disagree at two steps.

        A coordinate on a shorter scale than its step shows truncation; cutting by 4 divides it by 16 and
        multiplies the noise by 16, which is done only while noise stays small beside what is measured. Where
        they disagree as much however short the step is, the curvature jumps at x.
        """
        before = np.full(self.d, np.inf)
        for last in (*(False for _ in range(8)), True):
            reference = np.abs(self.second_differences()) + self.curvtol * self.steps**2
            room, uneven = 64 * self.noise.level <= 0.003 * reference, self.uneven()
            far = uneven > 0.05 * reference + 8 * self.noise.level
            which = np.flatnonzero(far & room)
            if last or len(which) == 0:
                jumps = (uneven / self.steps**2)[far & (uneven > 0.5 * before * reference)]
                all_jumps = (self.far + 1) / 3 * float(np.sum(jumps))  # they may be parts of one
                self.jumps = 0.0 if self.both else all_jumps, 0.0  # symmetric differences show none
                return
            before[which] = (uneven / reference)[which]
            self.steps[which] /= 4
            stencils = [some_axes(self.x, like(k * self.steps * self.unit, self.x), which) for k in self._rows]
            values = self.f.tagged("check")(sum(stencils[1:], start=stencils[0]))
            for row, part in zip(self._rows.values(), np.split(values, len(stencils)), strict=True):
                row[which] = part


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
