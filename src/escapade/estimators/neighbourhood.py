"""Looking around a point: difference steps that fit the precision, the noise and the structure of f."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, like, to_numpy
from ..errors import InvalidSetting, MissingValue, NonFiniteValue
from ..oracle import Oracle, few_axes, point, some_axes
from . import noise as noise_
from .noise import Noise
from .rows import Interval, Rows, Vector
from .steps import RESOLVED, TRUNCATION_SAFETY, against_noise, curvature_steps, longest, power_of_two

FURTHEST = 512
"""Where noise is small there is one far row, at 2 + j/1024 steps with a random j up to this: no function can have been
made for it."""

WILD = 1e6
"""A step over which f changes by so many times its size is no difference step."""

GROUP = 8
"""So many coordinates of different curvatures are looked at together, for structure below their steps."""

SHORTER = 0.11
"""What a step is shortened to, at most, to see whether f looks the same there: as short as noise and x allow."""

__all__ = ["Interval", "Neighbourhood", "Vector", "as_scale"]


@dataclass
class Neighbourhood(Rows):
    """f around x, measured."""

    flat: bool = False
    """Whether f did not change at all over the longest steps: then nothing can be said of it."""
    began: tuple[dict[str, int], int] = field(default_factory=lambda: ({}, 0))
    """The queries by purpose, and the rounds, when the measurement began."""
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
        longer: float = 1.0,
        rng: np.random.Generator,
    ) -> Neighbourhood:
        """Look around x: its value, the noise there (unless given), three or four rows, and whether those are short.

        With noise=None rounding is assumed, and checked: a difference table that shows more, or values that are all
        multiples of a larger unit, are believed. Steps on which nothing changes at all are lengthened; steps longer
        than the structure of f are cut. `longer` multiplies the first steps, to look as far as something is claimed.

        Queries: 3*d + 26, or 4*d + 17 if the noise is given; 3 more each time a coordinate is cut (4 with noise), 4 for
        every 8 coordinates if their curvatures differ, and the rows again if all steps are changed
        """
        noise_.check_noise(noise)
        unit = as_scale(x_scale, x)
        look = f.tagged("check")
        began = (dict(f.ledger.by_purpose), f.ledger.rounds)
        f0 = look.value(x)
        known = Noise(float(noise), "given") if isinstance(noise, int | float | np.number) else None
        here = cls(f, x, unit, curvtol, f0, Noise(0.0, "rounding"), np.ones(x.shape[0]), began=began)
        here._table = np.array([f0]) if known else noise_.table(look, x, unit, f0, rng)
        here._settle_steps(known, rng, longer, auto=noise == "auto")
        here._learn_scale()
        for _ in range(3):
            if here._consistent(rng):
                break
            here.steps = here.steps / 8
            here._rows.clear()
        return here

    def _settle_steps(self, known: Noise | None, rng: np.random.Generator, longer: float, *, auto: bool) -> None:
        """Steps that fit the noise, and a noise that fits the values seen on them.

        Where nothing at all changes over the steps they are lengthened; where f is not finite over them they are cut.
        """
        stretch, lost = np.full(self.d, longer), None
        self.noise = self._seen_noise(known, auto=auto)
        most = power_of_two(longest(self.x, self.unit))
        for last in (*(False for _ in range(11)), True):
            fitting = curvature_steps(self.x, self.unit, self.noise.level, self.curvtol) / self.unit
            self.steps = np.minimum(stretch * fitting, most)
            self._rows.clear()
            try:
                quiet = against_noise(self.noise.level, self.curvtol) <= epsilon(self.x) ** 0.25
                self.far = 2.0 + (int(rng.integers(FURTHEST + 1)) / 1024 if quiet else 0.0)
                self.take_rows(1.0, -1.0, -self.far, *(() if quiet else (self.far,)))
                change = np.abs(np.concatenate([*self._rows.values()]) - self.f0)
            except NonFiniteValue as error:
                lost = error
                if last:
                    raise
                stretch /= 64
                continue
            wild = np.max(change.reshape(-1, self.d), axis=0) > WILD * (1 + abs(self.f0))
            wild &= self.steps / 64 >= RESOLVED * epsilon(self.x) * np.abs(to_numpy(self.x)) / self.unit
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
                return
            stretch = np.minimum(stretch, 1.0)

    def _still(self, rng: np.random.Generator) -> bool:
        """Whether f does not change when all coordinates move at once either, as x_1 x_2 does around 0.

        A change must be made of squares and fourth powers of the step: values given in steps of their own leap.

        Queries: 12
        """
        signs = np.where(rng.random((4, self.d)) < 0.5, -1.0, 1.0) * self.steps
        places = [point(self.moved(v, t)) for v in signs for t in (1.0, 0.5, 0.25)]
        change = self.f.tagged("check")(sum(places[1:], start=places[0])).reshape(4, 3) - self.f0
        whole, half, quarter = change.T
        fourth = 4 / 3 * (whole - 4 * half)
        foreseen = (whole - fourth) / 16 + fourth / 256
        smooth = np.abs(quarter - foreseen) <= 0.005 * np.abs(whole) + 4 * epsilon(self.x) * abs(self.f0)
        return not (np.all(smooth) and np.any(change))

    def _seen_noise(self, known: Noise | None, *, auto: bool) -> Noise:
        seen = np.concatenate([self._table, *self._rows.values()])
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
        steps = np.diff(self._table)
        if len(np.unique(self._table)) > 3:
            large = np.abs(steps[steps != 0])
            if len(large) < len(steps) and np.min(large) > 8 * floor:  # neighbours that agree to the bit: a staircase
                return float(np.min(large))
            return noise_.quantum(seen, floor) or 0.0
        change = np.abs(seen - self.f0)
        change = change[change > 8 * floor]
        # Rounding explains a flat table if even a parabola through the rows would not show in it.
        shown = (noise_.TABLE_POINTS * noise_.SPACING * epsilon(self.x) ** 0.25 / float(np.max(self.steps))) ** 2
        return float(np.min(change)) if len(change) and np.max(change) * min(shown, 1.0) > 8 * floor else 0.0

    def _consistent(self, rng: np.random.Generator) -> bool:
        """Whether much shorter steps tell the same story, along four random sign vectors.

        All coordinates move at once, so that structure hidden below the step of any of them shows: the odd part must
        be the gradient's, and the even part must scale with the square of the length.

        Queries: 16, and 4 for every 8 coordinates if their curvatures differ
        """
        signs = np.where(rng.random((4, self.d)) < 0.5, -1.0, 1.0) * self.steps
        which, lengths = self._groups(signs[0], rng)
        squares = np.concatenate([np.sum(signs**2, axis=1), np.sum(lengths**2, axis=1)])
        ratios = rng.uniform(0.8, 1.2, len(squares)) * self._shorter(np.sqrt(squares))
        places = [point(self.moved(v, t)) for v, r in zip(signs, ratios, strict=False) for t in (r, -r, 1.0, -1.0)]
        stencil = sum(places[1:], start=places[0])
        if len(which):
            times = np.stack([ratios[4:], -ratios[4:], np.ones(len(which)), -np.ones(len(which))], axis=1).ravel()
            which4 = np.repeat(which, 4, axis=0)
            stencil = stencil + few_axes(self.x, which4, times[:, None] * lengths.repeat(4, axis=0) * self.unit[which4])
        values = self.f.tagged("check")(stencil).reshape(-1, 4)
        (g, slope_error), curvature = self.gradient(), np.abs(self.diagonal()[0]) + self.curvtol
        slopes = np.concatenate([signs @ g, np.sum(g[which] * lengths, axis=1)])
        a, b, c, e = values.T
        odd = np.abs((a - b) / 2 - ratios * slopes)
        noise = 4 * self.noise.norm(1)
        bent = ratios**2 * np.abs((c - e) / 2 - slopes)  # third derivatives, which fall with the cube
        if np.any(odd > noise + ratios * slope_error * np.sqrt(squares) + bent):
            return False
        even, longer, blur = (a + b - 2 * self.f0) / ratios**2, c + e - 2 * self.f0, 2 * noise / ratios**2
        tolerance, off = 0.25 * (np.abs(longer) + self.curvtol * squares) + blur, np.abs(even - longer)
        tolerance[4:] = 0.05 * (np.abs(longer[4:]) + np.sum(curvature[which] * lengths**2, axis=1)) + blur[4:]
        if np.any(off > tolerance):
            return False
        odd_one = np.flatnonzero(off[:4] > 0.005 * np.abs(longer[:4]) + 0.1 * self.curvtol * squares[:4] + blur[:4])
        return len(odd_one) == 0 or self._truncated(signs[odd_one], longer[odd_one], off[odd_one], blur[odd_one])

    def _truncated(self, ways: Vector, longer: Vector, off: Vector, blur: Vector) -> bool:
        """Whether second differences along these rows differ from those of short steps by truncation alone, which half
        the length then shows.

        Queries: 2 for each row
        """
        places = [point(self.moved(v, t)) for v in ways for t in (0.5, -0.5)]
        half = self.f.tagged("check")(sum(places[1:], start=places[0])).reshape(-1, 2).sum(axis=1) - 2 * self.f0
        return not np.any(off > TRUNCATION_SAFETY * np.abs(4 * half - longer) + 2 * blur)

    def _groups(self, signs: Vector, rng: np.random.Generator) -> tuple[NDArray[np.int64], Vector]:
        """Groups of a few coordinates, where curvatures differ, and how far to move each coordinate of a group so that
        their curvatures are alike: a stiff coordinate must not pay for what a soft one hides."""
        curvature = np.abs(self.diagonal()[0]) + self.curvtol
        order, groups = rng.permutation(self.d), -(-self.d // GROUP)
        if self.d == 1 or float(curvature.max()) <= 2 * float(curvature.min()):
            groups = 0
        which, lengths = np.zeros((groups, GROUP), dtype=np.int64), np.zeros((groups, GROUP))
        for row, (i, length) in enumerate(zip(which, lengths, strict=True)):
            own = order[row::groups]
            i[: len(own)] = own
            length[: len(own)] = signs[own] * np.sqrt(curvature[own].min() / curvature[own])
        return which, lengths

    def steady(self, v: Vector, factor: float = 1.0, order: int = 2) -> tuple[bool, float, float]:
        """Whether the curvature along v is the same on much shorter steps, the third derivative along v, and a number
        that the curvature is below.

        The longer step is that of products of this factor; at order 4 it is extrapolated, as they are.

        Queries: 6
        """
        v = v / float(np.linalg.norm(v))
        length = factor * float(np.sqrt(len(v))) / float(np.linalg.norm(v / self.steps))
        t = length * float(self._shorter(np.asarray(length)))
        places = [point(self.moved(v, x)) for x in (t, -t, length, -length, 2 * length, -2 * length)]
        a, b, c, e, far, back = self.f.tagged("check")(sum(places[1:], start=places[0]))
        short, long = (float(a + b) - 2 * self.f0) / t**2, (float(c + e) - 2 * self.f0) / length**2
        longer = (float(far + back) - 2 * self.f0) / (4 * length**2)
        third = abs(float(far - back) / 2 - float(c - e)) / length**3
        seen = (4 * long - longer) / 3 if order == 4 else long
        moved = abs(longer - long) / (1 if order < 4 else 4)  # truncation, which products at twice the steps measure
        blur = 8 * self.noise.norm(1) / t**2
        return abs(short - seen) <= 0.05 * (abs(seen) + self.curvtol) + moved + blur, third, short + blur

    def _shorter(self, length: Vector) -> Vector:
        """The least part of steps of these lengths over which the tolerance shows in spite of noise and of the rounding
        of x; at most `SHORTER`."""
        reach = float(np.linalg.norm(to_numpy(self.x) / self.unit))
        shortest = max(np.sqrt(160 * self.noise.norm(1) / self.curvtol), 2**20 * epsilon(self.x) * reach)
        return np.asarray(np.minimum(SHORTER, shortest / length))

    def _learn_scale(self) -> None:
        """Cut the step of every coordinate whose second differences disagree at two steps.

        A coordinate on a shorter scale than its step shows truncation; cutting by 4 divides it by 16 and
        multiplies the noise by 16, which is done only while noise stays small beside what is measured.
        """
        for _ in range(8):
            reference = np.abs(self.second_differences()) + self.curvtol * self.steps**2
            room = 64 * self.noise.level <= 0.003 * reference
            which = np.flatnonzero((self.uneven() > 0.05 * reference + 8 * self.noise.level) & room)
            if len(which) == 0:
                return
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
