"""Whether f tells the same story on much shorter steps, along directions and along all coordinates at once.

Differences on steps of one length cannot show what lies below that length. Each function here looks at f on shorter
steps, along random vectors or given ones, and returns what it saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._array import Vector, epsilon, norm2
from ..interval import Estimate
from ..oracle import Stencil, few_axes, retaken
from . import steps as steps_
from .noise import Noise
from .settings import CONSISTENCY, STEPS
from .stencil import CoordinateStencil


@dataclass(frozen=True)
class OddParts:
    """The odd part (f(x + u) - f(x - u)) / 2 of f along random vectors u and along a short part of each.

    The first vectors move each coordinate by a random part of its step, and only their short parts are known: along
    signs alone the errors of two coordinates may cancel. The others are signs of all steps, and groups of a few.
    """

    vectors: Vector
    groups: NDArray[np.int64]
    lengths: Vector
    """How far each group moves its coordinates."""
    ratios: Vector
    """The short parts."""
    short: Vector
    long: Vector

    def slopes(self, g: Vector) -> Vector:
        """g'u: what the gradient g says of the odd part."""
        slopes: Vector = np.concatenate([self.vectors @ g, np.sum(g[self.groups] * self.lengths, axis=1)])
        return slopes

    def residuals(self, g: Vector) -> Vector:
        """What g misses of the odd part along the short vectors."""
        return self.short - self.ratios * self.slopes(g)

    def third_order(self, g: Vector) -> Vector:
        """What it misses along the long ones, where these are known: third derivatives, which fall with the cube."""
        return self.long - self.slopes(g)[CONSISTENCY.unequal :]

    def explained(self, third: Vector) -> Vector:
        """What third derivatives of that size make of the residuals, in units of the short part."""
        first = np.repeat(np.max(np.abs(third)), CONSISTENCY.unequal)
        return np.asarray(self.ratios**2 * np.append(first, np.abs(third)))

    def excess_gradient_error(self, g: Vector, known: float, truncation: float, noise: Noise) -> float:
        """By how much more than `known` the gradient g is wrong, beyond noise, third derivatives, and what the
        truncation on the steps of the stencil leaves on the shorter ones.

        Along random signs an error shows as large as it is, on average; a safety factor covers the rest.
        """
        residuals, third, ratios = self.residuals(g), self.third_order(g), self.ratios
        n = CONSISTENCY.unequal
        unequal = np.abs(residuals[:n]) - ratios[:n] ** 2 * np.max(np.abs(third))
        left = np.append(unequal, np.abs(residuals[n:] - ratios[n:] ** 3 * third))
        off = (left - 4 * noise.norm(1)) / (ratios * self.mean_steps) - 2 * ratios**2 * truncation
        return CONSISTENCY.safety * max(float(np.max(off)) - known, 0.0)

    @cached_property
    def mean_steps(self) -> Vector:
        """The root-mean-square of the steps of each vector."""
        few = np.maximum(np.count_nonzero(self.lengths, axis=1), 1)
        mean: Vector = np.append(np.mean(self.vectors**2, axis=1), np.sum(self.lengths**2, axis=1) / few)
        return np.sqrt(mean)


@dataclass(frozen=True)
class ScaleCheck:
    """What a look along random vectors showed. `consistent`: f is the same function on much shorter steps."""

    consistent: bool
    odd: OddParts | None = None
    """What was seen of the gradient, if that is consistent."""
    hessian_jump: float = 0.0
    """By how much the Hessian at x may be another on one side than on both together; 0 if f is smooth."""


def check_scales(
    stencil: CoordinateStencil,
    noise: Noise,
    curvtol: float,
    g: Estimate[Vector],
    curvatures: Vector,
    rng: np.random.Generator,
    *,
    cut: bool,
) -> ScaleCheck:
    """Whether f is the same function on much shorter steps: along four random sign vectors, its gradient along two
    whose coordinates move by different parts of their steps, and groups of coordinates where their curvatures differ.

    All coordinates move at once, so that structure hidden below the step of any of them shows: the odd part must
    be the gradient's, and the even part must scale with the square of the length. If nothing changes at all, over
    steps that were cut, these are below the unit in which f is given.

    Queries: 24, and 4 for every 8 coordinates if their curvatures differ
    """
    d, steps, thrice, value_error = stencil.d, stencil.steps, CONSISTENCY.jump_vectors, noise.norm(1)
    sizes = np.abs(curvatures) + curvtol
    signs = np.where(rng.random((CONSISTENCY.signs, d)) < 0.5, -1.0, 1.0) * steps
    groups, lengths = _groups(signs[0], sizes, rng)
    squares = np.concatenate([np.sum(signs**2, axis=1), np.sum(lengths**2, axis=1)])
    short = steps_.short_part(
        stencil.x, stencil.unit, np.sqrt(squares), value_error, curvtol, stencil.resolution
    )
    ratios = rng.uniform(1 - CONSISTENCY.spread, 1 + CONSISTENCY.spread, len(squares)) * short
    unequal = rng.uniform(-1, 1, (CONSISTENCY.unequal, d)) * steps
    few, half, values, scale = _values(stencil, signs, groups, lengths, ratios, ratios[:1] * unequal)
    n = len(unequal)
    unequal, signs = scale[:n, None] * unequal, scale[n : n + len(signs), None] * signs
    lengths, squares = scale[n + len(signs) :, None] * lengths, scale[n:] ** 2 * squares
    jump = _jump_along_signs(ratios[:thrice], values[:thrice], half, noise, steps)
    if cut and np.all(values == stencil.f0):
        return ScaleCheck(False, hessian_jump=jump)
    a, b, c, e = values.T
    parts = np.append(np.repeat(ratios[:1], CONSISTENCY.unequal), ratios)
    odd = OddParts(
        np.concatenate([unequal, signs]), groups, lengths, parts, np.append(few[0] - few[1], a - b) / 2, (c - e) / 2
    )
    allowed = 4 * value_error + parts * g.error * odd.mean_steps
    if np.any(np.abs(odd.residuals(g.value)) > allowed + odd.explained(odd.third_order(g.value))):
        return ScaleCheck(False, hessian_jump=jump)
    short_even, long_even = (a + b - 2 * stencil.f0) / ratios**2, c + e - 2 * stencil.f0
    own = np.sum(sizes[groups] * lengths**2, axis=1)
    tolerance = _even_tolerance(long_even, squares, own, value_error, curvtol) + 8 * value_error / ratios**2
    return ScaleCheck(not np.any(np.abs(short_even - long_even) > tolerance), odd, jump)


def price(d: int) -> int:
    """The queries of `check_scales`, at most."""
    groups = -(-d // CONSISTENCY.group)
    return 4 * (CONSISTENCY.signs + groups) + 2 * (CONSISTENCY.unequal + CONSISTENCY.jump_vectors)


def _values(
    stencil: CoordinateStencil,
    signs: Vector,
    groups: NDArray[np.int64],
    lengths: Vector,
    ratios: Vector,
    closer: Vector,
) -> tuple[Vector, Vector, Vector, Vector]:
    """f on both sides along the short unequal vectors; at a middle length along some signs; and along all signs and
    groups at their short part and their end. In one round. And the factors of the vectors: 1, or another where a value
    was missing along one."""
    thrice = CONSISTENCY.jump_vectors
    middle = CONSISTENCY.middle * signs[:thrice]
    times = np.stack([ratios, -ratios, np.ones(len(ratios)), -np.ones(len(ratios))], axis=1)
    vectors = len(closer) + np.arange(len(ratios))
    owner = np.concatenate(
        [np.tile(np.arange(len(closer)), 2), np.tile(vectors[:thrice], 2), np.repeat(vectors, 4)]
    )
    single = np.concatenate([closer, -closer, middle, -middle])
    single = np.concatenate([single, (times[: len(signs), :, None] * signs[:, None, :]).reshape(-1, stencil.d)])
    which, far = np.repeat(groups, 4, axis=0), times[len(signs) :].reshape(-1, 1) * lengths.repeat(4, axis=0)

    def points(scale: Vector) -> Stencil:
        own = scale[owner][:, None]
        alone = stencil.around(own[: len(single)] * single)
        if not len(groups):
            return alone
        return alone + few_axes(stencil.x, which, own[len(single) :] * far * stencil.unit[which])

    values, scale = retaken(stencil.f.tagged("check"), points, owner, len(closer) + len(ratios))
    few, half, rest = np.split(values, np.cumsum([2 * len(closer), 2 * thrice]))
    return few.reshape(2, -1), half.reshape(2, -1), rest.reshape(-1, 4), scale


def _even_tolerance(even: Vector, squares: Vector, own: Vector, value_error: float, curvtol: float) -> Vector:
    """By how much the even part of f may fail to scale with the square of the length, noise apart."""
    # Where noise leaves no room, truncation cannot be cut.
    room = 256 * value_error <= STEPS.noise_share * curvtol * squares
    share = np.where(room, np.asarray(CONSISTENCY.even_share)[:, None], CONSISTENCY.subscale)
    tolerance: Vector = share[0] * np.abs(even) + share[1] * curvtol * squares
    n = CONSISTENCY.signs
    tolerance[n:] = CONSISTENCY.share * (np.abs(even[n:]) + own)
    return tolerance


def _groups(signs: Vector, sizes: Vector, rng: np.random.Generator) -> tuple[NDArray[np.int64], Vector]:
    """Groups of a few coordinates, where curvatures differ, and how far to move each coordinate of a group so that
    their curvatures are alike: a stiff coordinate must not pay for what a soft one hides."""
    d, size = len(sizes), CONSISTENCY.group
    order, count = rng.permutation(d), -(-d // size)
    if d == 1 or float(sizes.max()) <= 2 * float(sizes.min()):
        return np.zeros((0, size), dtype=np.int64), np.zeros((0, size))
    places = np.full(count * size, d)  # those beyond the last coordinate stay empty
    places[:d] = order
    which = places.reshape(size, count).T
    own = np.append(sizes, np.inf)[which]
    lengths = np.append(signs, 0.0)[which] * np.sqrt(own.min(axis=1, keepdims=True) / own)
    return np.where(which < d, which, 0), lengths


def _jump_along_signs(ratios: Vector, values: Vector, middle: Vector, noise: Noise, steps: Vector) -> float:
    """How much the Hessian at x is another on one side, along the vectors looked at three times."""
    (a, b, c, e), (up, down) = values.T, middle
    n = len(ratios)
    lengths = np.stack([ratios, np.full(n, CONSISTENCY.middle), np.ones(n)])
    jump = hessian_discontinuity(lengths, np.stack([a - b, up - down, c - e]), noise)
    return min(CONSISTENCY.jump_safety, len(steps)) * float(np.max(jump)) / float(np.min(steps)) ** 2


def hessian_discontinuity(t: Vector, change: Vector, noise: Noise) -> Vector:
    """A jump of the second derivative at 0, from the changes of f from -t to t at three lengths t, the shortest first.

    The odd part of f over the length t is g + j t + T t^2, with a j of 0 if f is smooth; the jump is 2 |j|. So much of
    it counts as a fifth derivative as large as the third would not explain, nor noise.
    """
    odd = change / (2 * t)
    near, far = (odd[1] - odd[0]) / (t[1] - t[0]), (odd[2] - odd[1]) / (t[2] - t[1])
    third = (far - near) / (t[2] - t[0])
    jump = np.abs(near - third * (t[0] + t[1])) - np.abs(third) / 2 - 8 * noise.norm(1) / t[0]
    return np.asarray(2 * np.maximum(jump, 0.0))


@dataclass(frozen=True)
class AlongCheck:
    """What looks along given directions on shorter steps showed."""

    consistent: bool = True
    """Whether the curvature along each is the same on the steps and on much shorter ones."""
    third: float = 0.0
    """The largest third derivative along them."""
    upper: float = np.inf
    """The smallest eigenvalue of the Hessian cannot be larger than this."""
    hessian_jump: float = 0.0
    """The largest jump of the curvature along them at x."""

    def __or__(self, other: AlongCheck) -> AlongCheck:
        """Both together."""
        return AlongCheck(
            self.consistent and other.consistent,
            max(self.third, other.third),
            min(self.upper, other.upper),
            max(self.hessian_jump, other.hessian_jump),
        )


def check_along(
    stencil: CoordinateStencil, noise: Noise, curvtol: float, vectors: Vector, factor: float = 1.0, order: int = 2
) -> AlongCheck:
    """Whether the curvature along these columns is the same on much shorter steps.

    There are two shorter steps, because a ripple may fit one. The longer is that of products of this factor; at
    order 4 it is extrapolated, as they are.

    Queries: 8*m for m columns
    """
    found = AlongCheck()
    for v in vectors.T:
        found |= _check_one(stencil, noise, curvtol, v / norm2(v), factor, order)
    return found


def _check_one(
    stencil: CoordinateStencil, noise: Noise, curvtol: float, v: Vector, factor: float, order: int
) -> AlongCheck:
    value_error = noise.norm(1)
    length = factor * float(np.sqrt(len(v))) / norm2(v / stencil.steps)
    part = float(steps_.short_part(stencil.x, stencil.unit, length, value_error, curvtol, stencil.resolution))
    t = length * np.array([min(part, CONSISTENCY.second * CONSISTENCY.shortened), CONSISTENCY.shortened, 1.0, 2.0])
    values, scale = stencil.retaken(np.outer((*t, *-t), v), np.zeros(8, dtype=np.int64), 1, "check")
    t, length, (up, down) = scale * t, float(scale[0]) * length, values.reshape(2, 4)
    *short, long, longer = (up + down - 2 * stencil.f0) / t**2
    third = abs(float(up[3] - down[3]) / 2 - float(up[2] - down[2])) / length / length / length  # a cube may overflow
    jump = float(hessian_discontinuity(t[1:] / length, up[1:] - down[1:], noise)) / length / length
    seen = (4 * long - longer) / 3 if order == 4 else long
    moved = abs(longer - long) / (1 if order < 4 else 4)  # truncation, which products at twice the steps measure
    noise_error = 8 * value_error / t[:2] ** 2
    tolerance = CONSISTENCY.share * (abs(seen) + curvtol) + moved
    same = bool(np.all(np.abs(short - seen) <= tolerance + noise_error))
    truncation = STEPS.truncation_safety * abs(short[0] - short[1])
    return AlongCheck(same, third, float(np.min(short + noise_error)) + truncation, jump)


def least_curvature_along(stencil: CoordinateStencil, noise: Noise, curvtol: float, v: Vector) -> float:
    """What the second difference along the unit vector v on a much shorter step, as short as noise lets the tolerance
    show, says that the curvature is at least: a direction down at the usual steps may be none at x.

    Queries: 2
    """
    value_error = noise.norm(1)
    length = float(np.sqrt(len(v))) / norm2(v / stencil.steps)
    part = float(steps_.short_part(stencil.x, stencil.unit, length, value_error, curvtol, stencil.resolution))
    t = length * min(part, CONSISTENCY.second * CONSISTENCY.shortened)
    (up, down), (scale,) = stencil.retaken(np.outer((t, -t), v), np.zeros(2, dtype=np.int64), 1, "check")
    return float((up + down - 2 * stencil.f0 - 4 * value_error) / (scale * t) ** 2)


def locally_constant(stencil: CoordinateStencil, rng: np.random.Generator) -> tuple[bool, Vector]:
    """Whether f does not change when all coordinates move at once either, as x_1 x_2 does around 0; and those values.

    A change must be made of squares and fourth powers of the step: values given in a unit of their own jump.

    Queries: 12
    """
    signs = np.where(rng.random((CONSISTENCY.signs, stencil.d)) < 0.5, -1.0, 1.0) * stencil.steps
    ends = (np.array([1.0, 0.5, 0.25])[:, None] * signs[:, None, :]).reshape(-1, stencil.d)
    values, _ = stencil.retaken(ends, np.arange(len(ends)) // 3, CONSISTENCY.signs, "check")
    whole, half, quarter = (values.reshape(-1, 3) - stencil.f0).T
    fourth = 4 / 3 * (whole - 4 * half)
    predicted = (whole - fourth) / 16 + fourth / 256
    rounding = 4 * epsilon(stencil.x) * abs(stencil.f0)
    smooth = np.abs(quarter - predicted) <= CONSISTENCY.even_share[0] * np.abs(whole) + rounding
    return not (np.all(smooth) and np.any(whole)), values


def diagonal_jump(stencil: CoordinateStencil, clear: NDArray[np.bool_], before: Vector) -> float:
    """A jump of the Hessian along the coordinates whose second differences disagree `clear`ly, and by as large a share
    as on longer steps (`before`): it does not fall with the step."""
    if stencil.symmetric:  # symmetric differences show none
        return 0.0
    change = stencil.second_changes
    changes = (change / stencil.steps**2)[clear & (change > 0.5 * before)]
    return (stencil.far + 1) / 3 * float(np.sum(changes))  # they may be parts of one

