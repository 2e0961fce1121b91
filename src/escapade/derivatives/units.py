"""The units of variables and values, where their user gave none: lengths s, and a curvature F of f(s y).

Both are learnt from values alone and change with f as they should: for c f(x / s) they are those of f times s and c.
All are powers of two, so that a run in these units is the same to the bit for every c and s that are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Vector, epsilon, like, to_numpy
from ..domain import UNBOUNDED, Domain
from ..errors import NonFiniteValue
from ..interval import Estimate
from ..oracle import Oracle, or_nan, points
from ..tolerances import SCALES, Tolerances, Units, as_scale
from .by_gradients import hutchinson
from .measure import LocalModel
from .settings import SLOPES, STEPS, UNITS
from .steps import power_of_two


@dataclass(frozen=True)
class Joint:
    """Variables any orthogonal combinations of which might have been taken instead: they have one length."""

    which: NDArray[np.bool_]
    sizes: Vector
    """How large the variables are, all of them."""


def lengths(x: Vector, x0: Vector | None = None) -> Vector:
    """How far each variable may be thought to matter: its size, or a hundredth of what it was or has travelled since
    x0; a thousandth of the median of these at least. One, where nothing is known of it.
    """
    size = np.abs(x)
    if x0 is not None:
        size = np.maximum(size, UNITS.travelled * np.maximum(np.abs(x0), np.abs(x - x0)))
    known = size[size > UNITS.zero]
    return np.ones(len(x)) if len(known) == 0 else np.maximum(size, UNITS.least * float(np.median(known)))


def learn(
    f: Oracle,
    x: Array,
    rng: np.random.Generator,
    *,
    x_scale: Any = None,
    resolution: float | None = None,
    answer: bool = False,
    joint: Joint | None = None,
) -> Units:
    """The units in which to look at f around a start x, or around an answer that a solver gave.

    Lengths are the sizes of the variables, longer where f is a parabola far beyond them, and shorter for variables
    along which f curves out of all proportion; given ones are rounded to powers of two. Those of `joint` variables are
    the same. F is the geometric mean of the curvatures along the variables. Nothing is looked at nearer than the
    `resolution`.

    Queries: 2*m + 1, m = 32 or d if that is less; 4 more at a start, and 2 for each factor of 16 by which lengths grow;
    at x = 0 up to 64 more; 2*m for each time that lengths are cut, and 4 where f does not curve along the variables
    """
    if not f.domain.unbounded:
        return _learn_inside(f, x, rng, x_scale, resolution, joint, answer=answer)
    return _learn(f, x, rng, x_scale, resolution, joint, answer=answer)


def _learn(
    f: Oracle,
    x: Array,
    rng: np.random.Generator,
    x_scale: Any,
    resolution: float | None,
    joint: Joint | None,
    *,
    answer: bool,
) -> Units:
    f = f.tagged("setup")
    around = _Surroundings(f, x, f.value(x), max(epsilon(x), f.precision), rng, resolution or 0.0, joint)
    if x_scale is not None:
        return around.units(power_of_two(as_scale(x_scale, x)), fixed=True)
    size = np.abs(to_numpy(x).astype(np.float64)) if joint is None else joint.sizes
    known = size[size > (UNITS.zero if answer else 0.0)]
    if len(known) == 0:
        return around.units(np.full(len(size), around.longer(np.ones(len(size)), at_zero=True, answer=answer)))
    typical = _median(known)
    own = power_of_two(np.where(size > UNITS.alike * typical, size, typical))
    return around.units(own if answer else around.longer(own) * own)


def _learn_inside(
    f: Oracle,
    x: Array,
    rng: np.random.Generator,
    x_scale: Any,
    resolution: float | None,
    joint: Joint | None,
    *,
    answer: bool,
) -> Units:
    """The same in a box: around the nearest point with room on both sides; no length is longer than the box is wide."""
    host = to_numpy(x).astype(np.float64)
    size = np.abs(host) if joint is None else joint.sizes
    known = size[size > UNITS.zero]
    typical = _median(known) if len(known) else 1.0
    scale = np.where(size > UNITS.alike * typical, size, typical) if x_scale is None else as_scale(x_scale, x)
    inner = like(f.domain.inset(host, 2 * UNITS.step * scale), x)
    width = f.domain.width(len(host))
    most = np.where(np.isfinite(width) & (width > 0), power_of_two(np.clip(width, *SCALES)), np.inf)
    try:
        found = _learn(f, inner, rng, x_scale, resolution, joint, answer=answer)
    except NonFiniteValue:  # not even there
        return Units(power_of_two(np.minimum(scale, most)), 1.0, 1.0)
    if x_scale is not None or np.all(found.lengths <= most):
        return found
    eps = max(epsilon(x), f.precision)
    around = _Surroundings(f.tagged("setup"), inner, f.tagged("setup").value(inner), eps, rng, resolution or 0.0)
    return around.units(np.minimum(found.lengths, most), fixed=True)


def beside(asked: Tolerances, local: LocalModel, rng: np.random.Generator) -> Tolerances:
    """What is asked for where f was measured: relative tolerances are shares of the curvature there, if f curves less
    than where they were learnt.

    Where it hardly curves on the difference steps, as at a degenerate minimum, its curvature over the lengths of the
    variables counts: tolerances that vanish with the curvature would be out of reach. Far from the start those lengths
    are longer, and the curvature is that over them: a function that flattens as it falls is stationary nowhere.

    Queries: 2*m, m = 32 or d if that is less, where f curves much less than it did, or far from the start
    """
    if asked.curvature is None:
        return asked
    length, seen = reach(to_numpy(local.x).astype(np.float64), local.f.domain), seen_curvature(local.diagonal)
    if length > 1 or seen < asked.curvature / UNITS.less:
        nearest = float(np.min(local.steps))
        around = _Surroundings(local.f.tagged("setup"), local.x, local.f0, epsilon(local.x), rng, nearest)
        over = around.curvature(np.full(local.d, length)) / length**2
        seen = over if length > 1 else max(seen, over)
    return asked.beside(seen, length)


def seen_curvature(diagonal: Estimate[Vector]) -> float:
    """The typical curvature along the variables, as large as the errors of these allow."""
    return typical_curvature(np.abs(diagonal.value) + diagonal.error)


def reach(y: Vector, domain: Domain = UNBOUNDED) -> float:
    """The lengths over which variables matter where a run has come to y, beside those learnt at its start: the size of
    half of them at least, and no more than the widths of a box.
    """
    size = np.abs(y) if domain.unbounded else np.minimum(np.abs(y), domain.width(len(y)))
    far = _median(size)
    return 1.0 if far <= UNITS.alike else float(power_of_two(np.asarray(far)))


def typical_curvature(sizes: Vector) -> float:
    """The geometric mean of these sizes, none of them taken for less than a millionth of the largest; 0 if all are."""
    top = float(np.max(sizes, initial=0.0))
    if not 0 < top < math.inf:
        return 0.0
    top = float(power_of_two(np.asarray(top)))
    return top * math.exp(float(np.mean(np.log(np.maximum(sizes / top, UNITS.floor)))))


@dataclass(frozen=True)
class _Surroundings:
    """f around x, over lengths that are not known yet."""

    f: Oracle
    x: Array
    f0: float
    eps: float
    rng: np.random.Generator
    resolution: float = 0.0
    joint: Joint | None = None

    def _both(self, ends: Vector) -> tuple[Vector, Vector]:
        """f at x plus and minus each of these rows; NaN where it is missing."""
        moved = points(self.x[None, :] + like(np.concatenate([ends, -ends]), self.x))
        try:
            values, _ = or_nan(self.f, moved)
        except NonFiniteValue:  # a policy that raises: one of them at least
            values = np.full(2 * len(ends), np.nan)
        up, down = values.reshape(2, -1)
        return up, down

    # Lengths

    def longer(self, own: Vector, *, at_zero: bool = False, answer: bool = False) -> float:
        """By how much lengths may be longer than these: up to where f along a random sign vector is no parabola any
        more, or to the lowest point of that parabola, if that is nearer.

        At zero, where these say nothing, they may be shorter too; but where f moves in steps, flat to the bit within
        them, it shows no length. The parabola of an answer has its lowest point where x is, which tells no length.

        Queries: 4, and 2 for each factor of 16 between these lengths and those; 6 more at zero where f
        may move in steps
        """
        way = self._signs(1, own)[0]
        seen = {t: self._parabola(t, way) for t in (UNITS.near / UNITS.stride, UNITS.near)}
        t = UNITS.near
        while at_zero and not self._same(seen, t) and t > UNITS.nearest:
            t /= UNITS.stride
            seen[t / UNITS.stride] = self._parabola(t / UNITS.stride, way)
        if not self._same(seen, t):
            return 1.0
        while t < UNITS.furthest:
            if at_zero and seen[t / UNITS.stride].flat and seen[t].visible and self._in_steps(t, way):
                return 1.0
            newton = seen[t].newton
            if t >= newton and not answer:
                return max(0.0 if at_zero else 1.0, float(power_of_two(np.asarray(newton))))
            seen[UNITS.stride * t] = self._parabola(UNITS.stride * t, way)
            if not self._same(seen, UNITS.stride * t):
                return t / UNITS.near
            t *= UNITS.stride
            end = self._end(seen, t)
            if end < UNITS.stride * t:
                return float(power_of_two(np.asarray(end)))
        return 1.0  # a parabola as far as one can see has no length

    def _in_steps(self, t: float, way: Vector) -> bool:
        """Whether f leaves its value at x at once somewhere short of t, as on a mesh: where it is smooth it comes to be
        visible over a longer stretch.

        Queries: 6
        """
        flat, other = t / UNITS.stride, t
        for _ in range(UNITS.halvings):
            middle = math.sqrt(flat * other)
            seen = self._parabola(middle, way)
            if not (seen.flat or seen.visible):
                return False
            flat, other = (middle, other) if seen.flat else (flat, middle)
        return True

    def _signs(self, many: int, own: Vector) -> Vector:
        """Random sign vectors of these lengths, unequal, since terms of f may cancel along even ones."""
        size = (many, len(own))
        return np.where(self.rng.random(size) < 0.5, -1.0, 1.0) * self.rng.uniform(0.5, 1.0, size) * own

    def _parabola(self, t: float, way: Vector) -> _Parabola:
        """That through f(x - t way), f(x) and f(x + t way).

        Queries: 2
        """
        (up,), (down,) = self._both(t * way[None, :])
        even, odd = (up + down) / 2 - self.f0, (up - down) / 2
        rounding = UNITS.visible * self.eps * max(abs(self.f0), abs(up), abs(down))
        slope = odd / t if abs(odd) > rounding else 0.0
        error = 2 * rounding / UNITS.visible / t**2
        flat = bool(up == self.f0 == down)
        return _Parabola(t, 2 * even / t**2, error, slope, flat, bool(abs(even) > rounding), bool(np.isfinite(even)))

    @staticmethod
    def _same(seen: dict[float, _Parabola], t: float) -> bool:
        """Whether f is the same parabola at t as at the next shorter length, or is not seen to be one yet."""
        near, far = seen[t / UNITS.stride], seen[t]
        if not (near.finite and far.finite):
            return False
        if not near.visible:
            return True
        return abs(far.curvature - near.curvature) <= abs(near.curvature) / 2

    @staticmethod
    def _end(seen: dict[float, _Parabola], t: float) -> float:
        """The length at which the parabola fails by half, if what it misses at t, as far as that is visible, grows with
        the square of the length, as it does where f is smooth."""
        near, far = seen[t / UNITS.stride], seen[t]
        excess = abs(far.curvature - near.curvature) - 4 * near.error
        return t * math.sqrt(abs(near.curvature) / (2 * excess)) if near.visible and excess > 0 else math.inf

    # Curvature

    def units(self, own: Vector, *, fixed: bool = False) -> Units:
        """These lengths, cut where f curves out of all proportion unless they are fixed; and the curvature over them.

        Queries: 2*m, and 2*m for each time that lengths are cut; 4 more where f does not curve along the variables
        """
        which = self._some(len(own))
        for _ in range(UNITS.cuts):
            seen = self._curvatures(own, which)
            cut = np.where(seen.beyond, STEPS.lost, 1.0 if fixed else _excess(seen.sizes))
            if fixed or np.all(cut == 1.0):
                break
            own = own.copy()
            own[which] /= cut
            if self.joint is not None and np.any(self.joint.which):
                own[self.joint.which] = np.min(own[self.joint.which])
        F = typical_curvature(seen.sizes[seen.known]) or self._along_signs(own) or 1.0
        value = float(power_of_two(np.asarray(F)))
        return Units(own, value, F)

    def curvature(self, own: Vector) -> float:
        """The curvature over these lengths; 0 if none is seen.

        Queries: 2*m
        """
        seen = self._curvatures(own, self._some(len(own)))
        return typical_curvature(seen.sizes[seen.known])

    def _some(self, d: int) -> NDArray[np.int64]:
        """The variables along which F is measured."""
        return np.arange(d) if d <= UNITS.variables else np.sort(self.rng.choice(d, UNITS.variables, replace=False))

    def _curvatures(self, own: Vector, which: NDArray[np.int64]) -> _Curvatures:
        """|d^2 f / dy_i^2| of these variables, or their slopes where none curves visibly.

        Queries: 2*m
        """
        if self.f.differentiable and (shown := self._by_gradients(own, which)) is not None:
            return shown
        h = np.maximum(UNITS.step, self.resolution / own[which])
        ends = np.zeros((len(which), len(own)))
        ends[np.arange(len(which)), which] = h * own[which]
        up, down = self._both(ends)
        known = np.isfinite(up + down)
        change, slope = np.abs(up + down - 2 * self.f0), np.abs(up - down)
        rounding = 8 * self.eps * np.maximum(np.maximum(np.abs(up), np.abs(down)), abs(self.f0))
        curved = np.any(change[known] > rounding[known])
        sizes = change / h**2 if curved else np.where(change <= rounding, slope / (2 * h), 0.0)
        return _Curvatures(np.where(known, sizes, 0.0), known, ~(np.isfinite(up) | np.isfinite(down)))

    def _by_gradients(self, own: Vector, which: NDArray[np.int64]) -> _Curvatures | None:
        """The same from three products with random sign vectors; None where gradients are no numbers, or variables
        curve out of all proportion: such products tell the large curvatures alone.

        Queries: none; 4 gradients
        """
        known = np.ones(len(which), dtype=np.bool_)
        try:
            seen = np.abs(hutchinson(self.f, self.x, own, UNITS.step, SLOPES.hutchinson, self.rng)[which])
        except NonFiniteValue:
            return None
        return _Curvatures(seen, known, ~known) if np.all(_excess(seen) == 1.0) else None

    def _along_signs(self, own: Vector) -> float:
        """The curvature along random sign vectors, for functions without any along the variables, such as x_1 x_2 at 0.

        Queries: 4
        """
        h = max(UNITS.step, self.resolution / float(np.min(own)))
        ways = self._signs(2, own)
        up, down = self._both(h * ways)
        return float(np.nan_to_num(np.nanmax(np.abs(up + down - 2 * self.f0), initial=0.0))) / (h**2 * len(own))


@dataclass(frozen=True)
class _Curvatures:
    """Those along some variables."""

    sizes: Vector
    """0 where they could not be had."""
    known: NDArray[np.bool_]
    beyond: NDArray[np.bool_]
    """Where f has no value on either side: a length too far."""


@dataclass(frozen=True)
class _Parabola:
    """f(x + t w) as f(x) + slope t + curvature t^2 / 2, from one length t."""

    length: float
    curvature: float
    error: float
    """What rounding makes of it."""
    slope: float
    """0 if it is rounding."""
    flat: bool
    """Whether f is the same to the bit at all three points."""
    visible: bool
    """Whether its curvature is more than rounding."""
    finite: bool

    @property
    def newton(self) -> float:
        """How far its lowest point is, if it has one that is not here."""
        return abs(self.slope) / self.curvature if self.visible and self.slope != 0 and self.curvature > 0 else math.inf


def _median(sizes: Vector) -> float:
    """The median; of an even number the lower of the middle two: the mean of 1 and 1,000 is like neither."""
    return float(np.quantile(sizes, 0.5, method="lower"))


def _excess(sizes: Vector) -> Vector:
    """By how much lengths are to be cut so that no variable curves out of all proportion."""
    some = sizes[sizes > 0]
    if len(some) == 0:
        return np.ones(len(sizes))
    most = UNITS.disproportion * float(power_of_two(np.asarray(_median(some))))
    return np.asarray(power_of_two(np.sqrt(np.maximum(sizes / most, 1.0))))
