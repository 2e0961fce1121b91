"""Points, steps and differences in a box: what bounds change for the trust region and its gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._array import Vector, epsilon, norm2
from ...derivatives.settings import FEASIBLE, NOISE
from ...oracle import or_nan, points
from . import quadratic
from .dense import DenseMatrix
from .differences import Differences, Index
from .model import Model
from .point import GradientKind, Point
from .quadratic import Matrix
from .settings import BOX

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class BoxPoint(Point):
    """A point of a box. Its steepness is the residual of the Karush-Kuhn-Tucker conditions."""

    lower: Vector = field(default_factory=lambda: np.zeros(0))
    upper: Vector = field(default_factory=lambda: np.zeros(0))
    predicted: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """The variables whose slopes are the model's, and were not measured here."""

    @cached_property
    def scale(self) -> Vector:
        """max(|x|, 1), or half the width of the box where that is less."""
        size = np.maximum(np.abs(self.y), 1.0)
        half = (self.upper - self.lower) / 2
        return np.where(half > 0, np.minimum(size, half), size)

    @cached_property
    def movable(self) -> Flags:
        """The variables that are not fixed."""
        return np.asarray(self.upper > self.lower)

    @cached_property
    def free(self) -> Flags:
        """The variables that may move down their slope."""
        inward = np.where(self.g > 0, self.y > self.lower, np.where(self.g < 0, self.y < self.upper, True))
        return np.asarray(self.movable & inward)

    @cached_property
    def steepness(self) -> float:
        """The norm of the slopes of the variables that may follow them."""
        return norm2(np.where(self.free, self.g, 0.0))


@dataclass
class BoxDifferences(Differences):
    """Differences that stay in a box: forward ones inward, central ones where there is room."""

    @cached_property
    def sides(self) -> tuple[Vector, Vector]:
        """The lower and the upper bounds."""
        return self.f.domain.sides(self.d)

    @cached_property
    def movable(self) -> Index:
        """The variables that are not fixed."""
        lower, upper = self.sides
        return np.flatnonzero(upper > lower)

    def point(self, y: Vector, f: float) -> BoxPoint:
        """A point of the box."""
        lower, upper = self.sides
        return BoxPoint(y, f, lower=lower, upper=upper)

    def host(self, y: Vector) -> Vector:
        return np.clip(super().host(np.clip(y, *self.sides)), *self.sides)

    def model_step(self, model: Model, p: Point, radius: float, scale: Vector) -> Vector:
        lower, upper = self.sides
        assert isinstance(model.B, DenseMatrix)
        return box_step(model.B.matrix, p.g, radius, scale, lower - p.y, upper - p.y)

    def inward(self, p: Point, h: Vector) -> Vector:
        """These steps, to the side with more room where the other has too little, and as long as there is room."""
        down, up = p.y - self.sides[0], self.sides[1] - p.y
        backward = (up < h) & (down > up)
        return np.where(backward, -np.minimum(h, down), np.minimum(h, up))

    def sloped(self, p: BoxPoint, g: Vector, diagonal: Vector, which: Index) -> BoxPoint:
        """p with this gradient, those of some variables measured by one-sided differences.

        Queries: len(which), and 1 for each time that a value is missing
        """
        h = self.inward(p, self.forward_steps(p, diagonal))
        slopes, steps = g.copy(), np.full(self.d, np.inf)
        if len(which):
            change, own = self.changes(p, h, which, "descent")
            slopes[which] = change / own - diagonal[which] * own / 2
            steps[which] = np.abs(own)
        predicted = np.ones(self.d, dtype=np.bool_)
        predicted[which] = False
        return replace(p, g=slopes, h=steps, kind=GradientKind.FORWARD, predicted=predicted & p.movable)

    def central(self, p: Point) -> tuple[Point, Vector]:
        q, diagonal, _, _ = self._parabolas(p, self.central_steps(p))
        return q, diagonal

    def _parabolas(self, p: Point, h: Vector) -> tuple[BoxPoint, Vector, Vector, Vector]:
        """p with its gradient and the diagonal of the Hessian from two values of each variable: on both sides, or at
        one and two steps inward; the first steps, signed, and the changes of f there.

        Queries: 2*d, and more where values are missing
        """
        assert isinstance(p, BoxPoint)
        which, down, up = self.movable, p.y - self.sides[0], self.sides[1] - p.y
        near, far = np.minimum(down, up), np.maximum(down, up)
        both = near >= np.minimum(h, far / 4)
        length = np.where(both, np.minimum(h, near), np.minimum(h, far / 2))
        first = np.where(up >= down, length, -length)
        one, a = self.changes(p, first, which, "descent")
        wanted = np.zeros(self.d)
        wanted[which] = np.where(both[which], -a, 2 * a)
        wanted = np.clip(wanted, -down, up)
        wanted[which] = np.where(wanted[which] == a, a / 2, wanted[which])
        two, b = self.changes(p, wanted, which, "descent", BOX.shorter)
        g, diagonal, steps, change = np.zeros(self.d), np.zeros(self.d), np.full(self.d, np.inf), np.zeros(self.d)
        curvature = 2 * (one / a - two / b) / (a - b)
        g[which], diagonal[which] = one / a - curvature * a / 2, curvature
        steps[which], change[which] = np.abs(a), one
        signed = np.zeros(self.d)
        signed[which] = a
        nothing = np.zeros(self.d, dtype=np.bool_)
        q = replace(p, g=g, h=steps, kind=GradientKind.CENTRAL, predicted=nothing)
        return q, diagonal, signed, change

    def dense(self, p: Point) -> tuple[Point, Matrix]:
        q, diagonal, h, change = self._parabolas(p, self.second_steps(p))
        B, which = np.diag(diagonal), self.movable
        i, j = (which[index] for index in np.triu_indices(len(which), 1))
        if len(i):
            ends = np.zeros((len(i), self.d))
            rows = np.arange(len(i))
            ends[rows, i], ends[rows, j] = h[i], h[j]
            values, _ = or_nan(self.f.tagged("descent"), points(self.array(np.clip(p.y + ends, *self.sides))))
            B[i, j] = B[j, i] = np.nan_to_num((values - p.f - change[i] - change[j]) / (h[i] * h[j]))
        return q, B

    def modelled(self, p: BoxPoint) -> tuple[BoxPoint, Matrix]:
        """p with its gradient, and a first model of the Hessian: all second differences where these are few, else its
        diagonal.

        Queries: those of `dense`, or 2*d
        """
        if self.few:
            q, B = self.dense(p)
        else:
            q, diagonal = self.central(p)
            B = np.diag(diagonal)
        assert isinstance(q, BoxPoint)
        return q, B

    def snapped(self, p: BoxPoint) -> Vector:
        """p, on the bounds that it all but reached and that its slopes lead to."""
        lower, upper = self.sides
        near = FEASIBLE.snap
        y = np.where((p.y - lower <= near) & (p.g >= 0), lower, p.y)
        return np.where((upper - p.y <= near) & (p.g <= 0), upper, y)


@dataclass
class ExactBoxDifferences(BoxDifferences):
    """The same for a function with gradients: all slopes are known at every point."""

    level: float = 0.0
    """The standard deviation of the error of an entry of a gradient, once it was measured."""

    @property
    def few(self) -> bool:
        """All second differences are never cheaper than gradients."""
        return False

    def gradient_error(self, p: Point) -> float:
        """The norm of what noise does to a gradient."""
        rounding = max(epsilon(self.x), self.f.gradient_precision) * p.steepness
        return max(self.level * (math.sqrt(self.d) + NOISE.deviations), rounding)

    def sloped(self, p: BoxPoint, g: Vector, diagonal: Vector, which: Index) -> BoxPoint:
        """p with its gradient.

        Queries: none; a gradient
        """
        g, nothing = self.f.tagged("descent").gradient(self.array(p.y)), np.zeros(self.d, dtype=np.bool_)
        return replace(p, g=g, h=self.ones, row=g, kind=GradientKind.EXACT, predicted=nothing)

    def central(self, p: Point) -> tuple[Point, Vector]:
        """The same, and ones for a diagonal that nobody asks of it."""
        assert isinstance(p, BoxPoint)
        return self.sloped(p, self.ones, self.ones, self.movable), self.ones

    def modelled(self, p: BoxPoint) -> tuple[BoxPoint, Matrix]:
        """p with its gradient, and a multiple of the identity, as large as the Hessian along the way down into the box.

        Queries: none; two gradients
        """
        p = self.sloped(p, self.ones, self.ones, self.movable)
        way, curvature = np.where(p.free, -p.g, 0.0), 0.0
        if np.any(way):
            t = float(np.cbrt(max(epsilon(self.x), self.level / p.steepness))) * float(np.median(p.scale))
            there = self.host(p.y + t * way / norm2(way))
            q = self.sloped(self.point(there, p.f), self.ones, self.ones, self.movable)
            moved = there != p.y
            curvature = norm2((q.g - p.g)[moved]) / norm2((there - p.y)[moved]) if np.any(moved) else 0.0
        return p, np.diag(np.full(self.d, max(curvature, self.curvtol)))


# The subproblem


def box_step(B: Matrix, g: Vector, radius: float, scale: Vector, low: Vector, high: Vector) -> Vector:
    """A step s that makes g's + s'Bs/2 small over |s / scale| <= radius and low <= s <= high: the better one of an
    active-set search that begins with the trust-region step in the free variables, and one that begins with the
    steepest descent along the sides of the box."""
    inward = np.where(g > 0, low < 0, np.where(g < 0, high > 0, True))
    free = (high > low) & inward
    starts = (np.zeros(len(g)), _cauchy(B, g, radius, scale, low, high))
    steps = [_active_set(B, g, radius, scale, low, high, free, s) for s in starts]
    gains = [float(g @ s + s @ (B @ s) / 2) for s in steps]
    return steps[int(np.argmin(gains))]


def _cauchy(B: Matrix, g: Vector, radius: float, scale: Vector, low: Vector, high: Vector) -> Vector:
    """The first local minimiser of the model along the steepest descent, bent at the bounds."""
    way = -g * scale**2
    room = np.where(way > 0, high, low)
    t = np.where(way != 0, room / np.where(way != 0, way, 1.0), np.inf)
    s, now = np.zeros(len(g)), 0.0
    for end in [*np.unique(t[(t > 0) & np.isfinite(t)]), np.inf]:
        ray = np.where(t > now, way, 0.0)
        slope, curvature = float(ray @ (g + B @ s)), float(ray @ (B @ ray))
        if slope >= 0:
            break
        most = min(end - now, _to_radius(s / scale, ray / scale, radius))
        best = -slope / curvature if curvature > 0 else np.inf
        length = min(best, most)
        s = np.clip(s + length * ray, low, high)
        if length < end - now:
            break
        now = end
    return s


def _to_radius(z: Vector, ray: Vector, radius: float) -> float:
    """How far |z + t ray| <= radius reaches."""
    a, b, c = float(ray @ ray), float(z @ ray), radius**2 - float(z @ z)
    return (max(c, 0.0) / (b + np.sqrt(b * b + a * max(c, 0.0)))) if a > 0 and b * b + a * c > 0 else 0.0


def _active_set(
    B: Matrix, g: Vector, radius: float, scale: Vector, low: Vector, high: Vector, free: Flags, s: Vector
) -> Vector:
    """Trust-region steps in the variables that are free, cut at the first bound, which then is active; active ones that
    the model wants back in are released."""
    free, z = free & ~((s <= low) & (low < 0)) & ~((s >= high) & (high > 0)), s
    for k in range(BOX.changes * len(g) + 2):
        which = np.flatnonzero(free)
        left = radius**2 - float(np.sum((z / scale) ** 2))
        slopes = g + B @ z
        if len(which) == 0 or left <= BOX.left * radius**2:
            break
        part = quadratic.trust_region_step(B[np.ix_(which, which)], slopes[which], float(np.sqrt(left)), scale[which])
        room = np.where(part > 0, high[which] - z[which], low[which] - z[which])
        share = np.where(part != 0, room / np.where(part != 0, part, 1.0), np.inf)
        length = min(1.0, float(np.min(share)))
        z = z.copy()
        z[which] = np.clip(z[which] + length * part, low[which], high[which])
        if length < 1.0:
            hit = which[share <= length]
            z[hit] = np.where(part[share <= length] > 0, high[hit], low[hit])
            free[hit] = False
            continue
        slopes = g + B @ z
        back = ~free & (high > low) & (((z <= low) & (slopes < 0)) | ((z >= high) & (slopes > 0)))
        if not np.any(back) or k > BOX.changes * len(g) // 2:
            break
        free = free | back
    return z
