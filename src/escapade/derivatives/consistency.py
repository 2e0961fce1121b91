"""Looking again: whether f tells the same story on much shorter steps, along directions and all coordinates at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._array import epsilon, norm2, to_numpy
from ..oracle import few_axes
from .stencil import Rows, Vector

GROUP = 8
"""So many coordinates of different curvatures are looked at together, for structure below their steps."""

SHORTER = 0.11
"""What a step is shortened to, at most, to see whether f looks the same there: as short as noise and x allow."""


HALF, TWICE = 0.45, 2
"""Where so many of the random vectors are looked at once more, between their ends and the shorter steps."""

SLANT, ASTRAY = 1.0, 3.0
"""How many times its error a gradient may seem wrong on shorter steps before all steps are cut; and how many times what
they show, along a few random vectors, is added to that error."""

UNEQUAL = 2
"""So many random vectors move coordinates by different parts of their steps."""

JUMP_SAFETY = 2.0
"""How much larger a jump of the curvature may be than two random vectors show it."""


@dataclass
class Odd:
    """The odd part of f along random vectors, of all coordinates and of a few, much closer than their ends; and at
    these, but for the first vectors, whose coordinates move by different parts of their steps: along signs alone the
    errors of two coordinates may cancel."""

    ways: Vector
    which: NDArray[np.int64]
    lengths: Vector
    ratios: Vector
    short: Vector
    long: Vector

    def slopes(self, g: Vector) -> Vector:
        """What a gradient says of the odd part, at the ends."""
        slopes: Vector = np.concatenate([self.ways @ g, np.sum(g[self.which] * self.lengths, axis=1)])
        return slopes

    def missed(self, g: Vector) -> Vector:
        """What it misses of that much closer."""
        return self.short - self.ratios * self.slopes(g)

    def third(self, g: Vector) -> Vector:
        """What it misses at the ends, where these are known: third derivatives, which fall with the cube."""
        return self.long - self.slopes(g)[UNEQUAL:]

    def off(self, g: Vector) -> Vector:
        """What it misses much closer, beside those."""
        third, missed, ratios = self.third(g), self.missed(g), self.ratios
        first = np.abs(missed[:UNEQUAL]) - ratios[:UNEQUAL] ** 2 * np.max(np.abs(third))
        return np.append(first, np.abs(missed[UNEQUAL:] - ratios[UNEQUAL:] ** 3 * third))

    @cached_property
    def step(self) -> Vector:
        """The root-mean-square of the steps of each vector."""
        few = np.maximum(np.count_nonzero(self.lengths, axis=1), 1)
        mean: Vector = np.append(np.mean(self.ways**2, axis=1), np.sum(self.lengths**2, axis=1) / few)
        return np.sqrt(mean)


@dataclass
class Looks(Rows):
    """Rows, and looks at f that tell whether its structure lies below their steps."""

    jumps: tuple[float, float] = (0.0, 0.0)
    """How much the curvature of f is another, at x, on one side and on the other than on both together, as far as that
    shows along all coordinates, and along random vectors: 0 if f is smooth."""
    _odd: Odd | None = None
    """What was seen of the gradient on shorter steps, once these tell the same story."""
    _together: Vector = field(default_factory=lambda: np.zeros(0))
    """Values where all coordinates moved at once, because none alone changed f."""

    def _consistent(self, rng: np.random.Generator, *, cut: bool = False) -> bool:
        """Whether much shorter steps tell the same story, along four random sign vectors, and the gradient's along two
        whose coordinates move by different parts of their steps.

        All coordinates move at once, so that structure hidden below the step of any of them shows: the odd part must
        be the gradient's, and the even part must scale with the square of the length. If nothing changes at all, over
        steps that were cut, these are below the unit in which f is given.

        Queries: 24, and 4 for every 8 coordinates if their curvatures differ
        """
        self._odd = None
        signs = np.where(rng.random((4, self.d)) < 0.5, -1.0, 1.0) * self.steps
        which, lengths = self._groups(signs[0], rng)
        squares = np.concatenate([np.sum(signs**2, axis=1), np.sum(lengths**2, axis=1)])
        ratios = rng.uniform(0.8, 1.2, len(squares)) * self._shorter(np.sqrt(squares))
        times = np.stack([ratios, -ratios, np.ones(len(ratios)), -np.ones(len(ratios))], axis=1)
        unequal = rng.uniform(-1, 1, (UNEQUAL, self.d)) * self.steps
        closer = ratios[:1] * unequal
        stencil = self.around(np.concatenate([closer, -closer, HALF * signs[:TWICE], -HALF * signs[:TWICE]]))
        stencil = stencil + self.around((times[:4, :, None] * signs[:, None, :]).reshape(-1, self.d))
        if len(which):
            which4 = np.repeat(which, 4, axis=0)
            far = times[4:].reshape(-1, 1) * lengths.repeat(4, axis=0)
            stencil = stencil + few_axes(self.x, which4, far * self.unit[which4])
        few, half, rest = np.split(self.f.tagged("check")(stencil), np.cumsum([2 * UNEQUAL, 2 * TWICE]))
        values, (up, down) = rest.reshape(-1, 4), few.reshape(2, UNEQUAL)
        self.jumps = self.jumps[0], self._jump(ratios[:TWICE], values[:TWICE], half.reshape(2, TWICE))
        if cut and np.all(values == self.f0):
            return False
        a, b, c, e = values.T
        parts = np.append(np.repeat(ratios[:1], UNEQUAL), ratios)
        short, long = np.append(up - down, a - b) / 2, (c - e) / 2
        odd = Odd(np.concatenate([unequal, signs]), which, lengths, parts, short, long)
        (g, slope_error), curvature = self.gradient(), np.abs(self.diagonal()[0]) + self.curvtol
        noise, third = 4 * self.noise.norm(1), np.abs(odd.third(g))
        bent = parts**2 * np.append(np.repeat(third.max(), UNEQUAL), third)
        if np.any(np.abs(odd.missed(g)) > noise + SLANT * parts * slope_error * odd.step + bent):
            return False
        self._odd, self._facts = odd, {}
        even, longer, blur = (a + b - 2 * self.f0) / ratios**2, c + e - 2 * self.f0, 2 * noise / ratios**2
        room = 64 * noise <= 1e-3 * self.curvtol * squares  # where noise leaves none, truncation cannot be cut
        share = np.where(room, [[0.005], [0.1]], 0.25)
        tolerance, off = share[0] * np.abs(longer) + share[1] * self.curvtol * squares + blur, np.abs(even - longer)
        tolerance[4:] = 0.05 * (np.abs(longer[4:]) + np.sum(curvature[which] * lengths**2, axis=1)) + blur[4:]
        return not np.any(off > tolerance)

    def _astray(self, g: Vector, known: float, truncation: float) -> float:
        """By how much more than is known a gradient is wrong, as far as shorter steps along random vectors tell, beyond
        noise and what third derivatives explain: along random signs an error shows as large as it is, on average. What
        is left of the truncation on the steps, on shorter ones, belongs to these."""
        if self._odd is None:
            return 0.0
        parts = self._odd.ratios
        off = (self._odd.off(g) - 4 * self.noise.norm(1)) / (parts * self._odd.step) - 2 * parts**2 * truncation
        return ASTRAY * max(float(np.max(off)) - known, 0.0)

    def _jump(self, ratios: Vector, values: Vector, half: Vector) -> float:
        """How much the curvature at x is another on one side, along the vectors looked at three times.

        Along each, the odd part of f over the length t is g + j t + T t^2, with a j of 0 if f is smooth. So much of it
        counts as a fifth derivative as large as the third would not explain, nor noise.
        """
        (a, b, c, e), (up, down) = values.T, half
        leap = self._leap(np.stack([ratios, np.full(TWICE, HALF), np.ones(TWICE)]), np.stack([a - b, up - down, c - e]))
        return min(JUMP_SAFETY, self.d) * float(np.max(leap)) / float(np.min(self.steps)) ** 2

    def _leap(self, t: Vector, change: Vector) -> Vector:
        """2 |j|, from the changes of f from -t to t at three lengths t, the shortest first."""
        odd = change / (2 * t)
        near, far = (odd[1] - odd[0]) / (t[1] - t[0]), (odd[2] - odd[1]) / (t[2] - t[1])
        third = (far - near) / (t[2] - t[0])
        leap = np.abs(near - third * (t[0] + t[1])) - np.abs(third) / 2 - 8 * self.noise.norm(1) / t[0]
        return np.asarray(2 * np.maximum(leap, 0.0))

    def _groups(self, signs: Vector, rng: np.random.Generator) -> tuple[NDArray[np.int64], Vector]:
        """Groups of a few coordinates, where curvatures differ, and how far to move each coordinate of a group so that
        their curvatures are alike: a stiff coordinate must not pay for what a soft one hides."""
        curvature = np.abs(self.diagonal()[0]) + self.curvtol
        order, groups = rng.permutation(self.d), -(-self.d // GROUP)
        if self.d == 1 or float(curvature.max()) <= 2 * float(curvature.min()):
            return np.zeros((0, GROUP), dtype=np.int64), np.zeros((0, GROUP))
        places = np.full(groups * GROUP, self.d)  # those beyond the last coordinate stay empty
        places[: self.d] = order
        which = places.reshape(GROUP, groups).T
        own = np.append(curvature, np.inf)[which]
        lengths = np.append(signs, 0.0)[which] * np.sqrt(own.min(axis=1, keepdims=True) / own)
        return np.where(which < self.d, which, 0), lengths

    def steady(self, v: Vector, factor: float = 1.0, order: int = 2) -> tuple[bool, float, float]:
        """Whether the curvature along v is the same on much shorter steps, the third derivative along v, and a number
        that the curvature is below.

        There are two shorter steps, because a ripple may fit one. The longer is that of products of this factor; at
        order 4 it is extrapolated, as they are.

        Queries: 8
        """
        v = v / norm2(v)
        length = factor * float(np.sqrt(len(v))) / norm2(v / self.steps)
        t = length * np.array([min(float(self._shorter(np.asarray(length))), 0.7 * SHORTER), SHORTER, 1.0, 2.0])
        up, down = self.f.tagged("check")(self.around(np.outer((*t, *-t), v))).reshape(2, 4)
        *short, long, longer = (up + down - 2 * self.f0) / t**2
        third = abs(float(up[3] - down[3]) / 2 - float(up[2] - down[2])) / length**3
        leap = float(self._leap(t[1:] / length, up[1:] - down[1:])) / length**2
        self.jumps = self.jumps[0], max(self.jumps[1], leap)
        seen = (4 * long - longer) / 3 if order == 4 else long
        moved = abs(longer - long) / (1 if order < 4 else 4)  # truncation, which products at twice the steps measure
        blur, tolerance = 8 * self.noise.norm(1) / t[:2] ** 2, 0.05 * (abs(seen) + self.curvtol) + moved
        return bool(np.all(np.abs(short - seen) <= tolerance + blur)), third, float(np.min(short + blur))

    def _shorter(self, length: Vector) -> Vector:
        """The least part of steps of these lengths over which the tolerance shows in spite of noise and of the rounding
        of x; at most `SHORTER`."""
        reach = float(np.linalg.norm(to_numpy(self.x) / self.unit))
        shortest = max(np.sqrt(160 * self.noise.norm(1) / self.curvtol), 2**20 * epsilon(self.x) * reach)
        return np.asarray(np.minimum(SHORTER, shortest / length))

    def _still(self, rng: np.random.Generator) -> bool:
        """Whether f does not change when all coordinates move at once either, as x_1 x_2 does around 0.

        A change must be made of squares and fourth powers of the step: values given in steps of their own leap.

        Queries: 12
        """
        signs = np.where(rng.random((4, self.d)) < 0.5, -1.0, 1.0) * self.steps
        ways = (np.array([1.0, 0.5, 0.25])[:, None] * signs[:, None, :]).reshape(-1, self.d)
        self._together = self.f.tagged("check")(self.around(ways))
        change = self._together.reshape(4, 3) - self.f0
        whole, half, quarter = change.T
        fourth = 4 / 3 * (whole - 4 * half)
        foreseen = (whole - fourth) / 16 + fourth / 256
        smooth = np.abs(quarter - foreseen) <= 0.005 * np.abs(whole) + 4 * epsilon(self.x) * abs(self.f0)
        return not (np.all(smooth) and np.any(change))
