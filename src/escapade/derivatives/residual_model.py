"""Residuals around a point: their noise, their Jacobian, and what a line through the point says of both.

Everything is in y = x / unit. With w and v the weights of the loss, the gradient of the cost is J'(w r), and its
Hessian J'diag(v)J + S with S = sum_i w_i r_i H_i. Every value is a vector, so that one random line shows the noise of
all residuals, whether the Jacobian is that of r at other lengths, and whether the cost is smooth up to the scale of
its variables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from .._array import Array, Matrix, Vector, epsilon, like, norm2
from ..interval import Estimate, Interval
from ..loss import Loss
from ..oracle import Oracle, Stencil, point, points, retaken
from .against_values import chi_squared_bound
from .jumps import Ends, random_way
from .ladder import Ladder, judged
from .measure import Books
from .noise import Noise, given
from .settings import CONSISTENCY, LADDER, NOISE, RESIDUALS, UNITS
from .steps import power_of_two

Groups = Sequence[NDArray[np.int64]]
"""Variables that are moved together: no residual depends on two of a group."""


@dataclass(frozen=True)
class Pattern:
    """Which residuals depend on which variables, and the groups of variables that share none."""

    depends: NDArray[np.bool_] | None
    """m x d; None: all on all."""
    groups: Groups

    @classmethod
    def dense(cls, d: int) -> Pattern:
        """Every variable apart."""
        return cls(None, [np.array([i]) for i in range(d)])

    def jacobian(self, changes: Matrix, steps: Vector) -> Matrix:
        """The matrix whose columns, those of a group added up, are these rows over the steps."""
        if self.depends is None:
            return np.asarray(changes.T / steps)
        J = np.zeros(self.depends.shape)
        for change, group in zip(changes, self.groups, strict=True):
            J[:, group] = np.where(self.depends[:, group], change[:, None], 0.0) / steps[group]
        return J

    def rows(self, steps: Vector) -> Matrix:
        """The displacements of all groups, as rows."""
        ways = np.zeros((len(self.groups), len(steps)))
        for row, group in zip(ways, self.groups, strict=True):
            row[group] = steps[group]
        return ways


def group_columns(depends: NDArray[np.bool_]) -> Groups:
    """Columns put greedily, the fullest first, into groups no two of which have an entry in one row (Curtis, Powell and
    Reid, 1974)."""
    order = np.argsort(-depends.sum(axis=0), kind="stable")
    groups: list[list[int]] = []
    taken: list[NDArray[np.bool_]] = []
    for j in order:
        column = depends[:, j]
        at = next((k for k, rows in enumerate(taken) if not np.any(rows & column)), None)
        if at is None:
            groups.append([int(j)])
            taken.append(column.copy())
        else:
            groups[at].append(int(j))
            taken[at] |= column
    return [np.array(sorted(group)) for group in groups]


@dataclass(frozen=True)
class Line:
    """Residuals at x ± t u for lengths t that shrink by a factor of four, the longest first."""

    u: Vector
    t: Vector
    plus: Matrix
    minus: Matrix


@dataclass(frozen=True)
class LocalResiduals:
    """Residuals around x, measured."""

    f: Oracle
    """Costs."""
    x: Array
    unit: Vector
    loss: Loss
    r: Vector
    J: Matrix
    """dr / dy."""
    J_noise: Vector
    """A bound on the norm of what noise adds to each column."""
    steps: Vector
    """Of the columns."""
    second: Vector
    """The diagonal of the Hessian of the cost, as far as it is seen."""
    residual_noise: Noise
    """Of each residual."""
    line: Line
    gradient: Estimate[Vector]
    consistent: bool
    """Whether J is the Jacobian of r on the lengths of the line, too."""
    began: Books = field(default_factory=Books)

    @property
    def d(self) -> int:
        return int(self.J.shape[1])

    @property
    def f0(self) -> float:
        """The cost."""
        return float(self.loss.cost(self.r))

    @property
    def gradient_norm(self) -> Interval:
        """An interval that holds the norm of the gradient."""
        size, error = norm2(self.gradient.value), float(self.gradient.error)
        return Interval(max(0.0, size - error), size + error)

    def cost_noise(self, distance: float = 0.0) -> Noise:
        """How wrong a cost is, so far away in y."""
        size = norm2(self.r) + float(np.linalg.norm(self.J)) * distance / math.sqrt(self.d)
        level, m = self.residual_noise.level, len(self.r)
        own = level * size * (math.sqrt(m) if self.residual_noise.bounded else 1.0) + level**2 * math.sqrt(m)
        return replace(self.residual_noise, level=max(own, epsilon(self.x) * self.f0), unit=0.0)

    def same_curvature(self, delta: float) -> bool:
        """Whether the residuals curve along the line, as the cost weighs them, as much at the shorter lengths as at
        those of forms: a ripple of small wavelength does not."""
        line, noise = self.line, self.residual_noise
        weighted = self.loss.weights(self.r)[0] * self.r
        second_r = (line.plus + line.minus - 2 * self.r) @ weighted / line.t**2
        shaken = 4 * noise.norm(1) * float(np.sum(np.abs(weighted))) / line.t**2
        k = int(np.argmax(line.t <= RESIDUALS.reference))
        own, relative = RESIDUALS.agree
        allowed = own * delta * float(line.u @ line.u) + relative * abs(float(second_r[k])) + shaken + float(shaken[k])
        agree = bool(np.all(np.abs(second_r - second_r[k])[k:] <= allowed[k:]))
        return agree and float(np.min(self.second)) >= -delta / 2

    def curvature_at_length(self) -> tuple[float, float]:
        """The curvature along the line at its longest length, and that at its shortest."""
        costs = self.loss.cost(self.line.plus[[0, -1]]) + self.loss.cost(self.line.minus[[0, -1]]) - 2 * self.f0
        far, near = costs / (self.line.t[[0, -1]] * norm2(self.line.u)) ** 2
        return float(far), float(near)

    def residuals(self, displacements: Matrix, purpose: str) -> Matrix:
        """r at x plus each of these rows.

        Queries: 1 for each of them
        """
        moved = points(self.x + like(displacements * self.unit, self.x))
        return self.f.residuals().tagged(purpose)(moved)

    def ends(self) -> Ends | None:
        """The costs at the ends of the line, where it is as long as a look for jumps."""
        line = self.line
        if line.t[0] != LADDER.longest:
            return None
        plus, minus = (float(self.loss.cost(side[:1])[0]) for side in (line.plus, line.minus))
        return Ends(line.u * LADDER.longest, plus, minus)

    def ladder(self, *, gtol: float, curvtol: float) -> Ladder:
        """What the costs along the line say of the scale of the variables. See `ladder`."""
        line = self.line
        costs = np.stack([self.loss.cost(line.plus), self.loss.cost(line.minus)], axis=1)[None]
        reach = float(line.t[0]) * norm2(line.u)
        noise = self.cost_noise(reach).level
        return judged(costs, self.f0, line.t / line.t[0], reach, noise, epsilon(self.x), gtol, curvtol)


def variable_lengths(x: Vector, x0: Vector | None = None) -> Vector:
    """How far each variable may be thought to matter at x: the median of their sizes, or its own where that is another
    by more than a factor.

    A size is |x|, and a hundredth of |x0| and of the way from there at least. One that is small at x, and was not at
    x0, is small by chance.
    """
    if x0 is None:
        size = np.abs(x)
        known = size[size > UNITS.zero]
    else:
        size = np.maximum(np.abs(x), UNITS.travelled * np.maximum(np.abs(x0), np.abs(x - x0)))
        began = np.abs(x0[x0 != 0])
        small = (x0 != 0) & (np.abs(x0) < (float(np.median(began)) if len(began) else 0.0) / UNITS.alike)
        known = size[x0 != 0] if len(began) else size[size > UNITS.zero]
    typical = float(np.median(known)) if len(known) else 1.0
    if x0 is None:
        small = size > UNITS.least * typical
    far = (size > UNITS.alike * typical) | ((size < typical / UNITS.alike) & small)
    return np.asarray(power_of_two(np.where(far, size, typical)))


def measure_residuals(
    f: Oracle,
    x: Array,
    *,
    unit: Vector,
    lengths: Vector,
    loss: Loss,
    pattern: Pattern,
    noise: Noise | float | str | None,
    rng: np.random.Generator,
    known: Vector | None = None,
) -> LocalResiduals:
    """Look around x, in y = x / unit, where variables matter over these lengths (in y): r unless it is `known`, a line,
    a central Jacobian.

    Queries: 2*m + 13 or 2*m + 12 for m groups of variables; 2 more for each length that is added to the line, and for
    each group whose differences lacked a value, each time they are taken again
    """
    began, look = Books.of(f), f.residuals().tagged("check")
    r = look(point(x))[0] if known is None else known
    line = _line(look, x, unit, lengths, r, rng)
    level = _noise(line, r, x, given(noise), f.precision)
    w, v = loss.weights(r)
    size = max(norm2(line.plus[0] - r), norm2(line.minus[0] - r)) / float(line.t[0])
    wrong = level.level * math.sqrt(len(r)) / max(size, 1e-300)
    h = float(np.clip((3 * wrong) ** (1 / 3), epsilon(x) ** (1 / 3), RESIDUALS.longest))
    steps = power_of_two(h * lengths)
    if f.has_jacobian:
        J, column, second_r = f.jacobian(x) * unit, np.zeros(len(unit)), np.zeros(len(unit))
    else:
        plus, minus, steps = _sides(look, x, unit, steps, pattern)
        J = pattern.jacobian((plus - minus) / 2, steps)
        column = level.norm(len(r)) / (math.sqrt(2) * steps)
        second_r = (w * r) @ pattern.jacobian(plus + minus - 2 * r, steps**2)
        drowned = 4 * level.norm(1) * float(np.sum(np.abs(w * r))) / steps**2
        second_r = np.where(np.abs(second_r) > drowned, second_r, 0.0)
    second = np.einsum("ij,i,ij->j", J, v, J) + second_r
    local = LocalResiduals(
        f, x, unit, loss, r, J, column, steps, second, level, line, Estimate(J.T @ (w * r), math.inf), True, began
    )
    return _checked(local, lengths)


def _line(f: Oracle, x: Array, unit: Vector, lengths: Vector, r: Vector, rng: np.random.Generator) -> Line:
    """Residuals along a random line; shorter lengths are added as long as what is left there, once orders one to four
    are taken off, still falls, as noise does not, or stays although values much closer together are smooth: then it is
    structure of f.

    Queries: 12, and 2 for each length that is added; 2 more where something is left and does not fall
    """
    u = random_way(lengths, rng)
    line = _lengths_of_line(f, x, unit, u, LADDER.longest * LADDER.ratio ** -np.arange(float(LADDER.levels)))
    smooth: bool | None = None
    for _ in range(RESIDUALS.levels):
        left, floor = _left(line, r), _rounding(line, r, x, f.precision)
        if np.max(left[-2:]) <= NOISE.significant * floor:  # one alone may be small by chance
            break
        if left[-2] <= RESIDUALS.falling * left[-1]:
            if smooth is None:
                close = _lengths_of_line(f, x, unit, u, np.array([RESIDUALS.close]))
                shaken = float(np.sqrt(np.mean((close.plus + close.minus - 2 * r) ** 2) / 6))
                smooth = shaken <= max(RESIDUALS.smooth * float(left[-1]), NOISE.significant * floor)
            if not smooth:
                break
        closer = _lengths_of_line(f, x, unit, u, line.t[-1:] / LADDER.ratio)
        line = Line(u, *(np.concatenate(pair) for pair in zip(
            (line.t, line.plus, line.minus), (closer.t, closer.plus, closer.minus), strict=True
        )))
    return line


def _lengths_of_line(f: Oracle, x: Array, unit: Vector, u: Vector, t: Vector) -> Line:
    """Queries: 2*m for m lengths, and these again where a value is missing"""
    ends = np.concatenate([t, -t])[:, None] * u

    def build(scale: Vector) -> Stencil:
        return points(x + like(scale[0] * ends * unit, x))

    values, scale = retaken(f, build, np.zeros(len(ends), dtype=np.int64), 1)
    plus, minus = values.reshape(2, len(t), -1)
    return Line(u, scale[0] * t, plus, minus)


def _left(line: Line, r: Vector) -> Vector:
    """What is left of the residuals at each length once orders one to four are taken off by the two longer ones."""
    q = 1 / LADDER.ratio
    even, odd = (line.plus + line.minus) / 2 - r, (line.plus - line.minus) / 2
    even, odd = even[1:] - q**2 * even[:-1], odd[1:] - q * odd[:-1]
    left = np.concatenate([even[1:] - q**4 * even[:-1], odd[1:] - q**3 * odd[:-1]], axis=1)
    return np.asarray(np.sqrt(np.mean(left**2, axis=1)))


def _rounding(line: Line, r: Vector, x: Array, precision: float) -> float:
    """What rounding of residuals, and of points, makes of one of them."""
    magnitude = float(max(np.max(np.abs(r)), np.max(np.abs(line.plus[-1])), np.max(np.abs(line.minus[-1]))))
    steep = float(np.max(np.abs(line.plus[-1] - line.minus[-1]))) / (2 * float(line.t[-1]))
    return float(max(epsilon(x), precision) * (magnitude + steep) + np.finfo(np.float64).tiny)


def _noise(line: Line, r: Vector, x: Array, known: Noise | None, precision: float) -> Noise:
    """What is left at the shortest length of the line."""
    floor = _rounding(line, r, x, precision)
    if known is not None:
        return known if known.level > floor else Noise(floor, "rounding")
    # Even parts are wrong by sqrt(3/2) of a value, odd ones by sqrt(1/2), and what is taken off adds little.
    count = 2 * len(r)
    level = float(_left(line, r)[-1]) * math.sqrt(count / float(chdtri(count, 1 - RESIDUALS.unlucky)))
    if level <= NOISE.significant * floor:
        return Noise(max(floor, NOISE.rounding_bound * level), "rounding")
    return Noise(level, "estimated")


def _sides(
    f: Oracle, x: Array, unit: Vector, steps: Vector, pattern: Pattern
) -> tuple[Matrix, Matrix, Vector]:
    """r on both sides of x along all groups, and the steps that it could be had on.

    Queries: 2*m for m groups
    """
    g = len(pattern.groups)
    rows = pattern.rows(steps)
    owner = np.tile(np.arange(g), 2)

    def build(scale: Vector) -> Stencil:
        ways = scale[:, None] * rows
        return points(x + like(np.concatenate([ways, -ways]) * unit, x))

    values, scale = retaken(f, build, owner, g)
    own = steps.copy()
    for group, factor in zip(pattern.groups, scale, strict=True):
        own[group] *= factor
    return values[:g], values[g:], own


def _checked(local: LocalResiduals, lengths: Vector) -> LocalResiduals:
    """Hold J against the line: on a length below its steps, or the shortest, differences along it must agree with J u,
    but for noise and for a truncation that falls with the square of the length. What they miss, projected on the
    gradient, is the gradient's error.

    No query is made.
    """
    line, w, noise, m = local.line, local.loss.weights(local.r)[0], local.residual_noise, len(local.r)
    h = float(np.max(local.steps / lengths))
    below = np.flatnonzero(line.t <= h / 2)
    k = int(below[0]) if len(below) else len(line.t) - 1
    t = float(line.t[k])
    D = (line.plus - line.minus) / (2 * line.t[:, None])
    unexplained = D[k] - local.J @ line.u
    truncation = norm2(D[k - 1] - D[k]) / (LADDER.ratio**2 - 1) * max(1.0, (h / t) ** 2)
    shaken = noise.norm(m) / (math.sqrt(2) * t) + norm2(local.J_noise * line.u)
    allowed = CONSISTENCY.safety * truncation + 2 * shaken + RESIDUALS.slack * norm2(D[k])
    spread = float(np.sum(np.abs(w * local.r))) if noise.bounded else NOISE.deviations * norm2(w * local.r)
    by_noise = _gradient_noise(local, w)
    explained = noise.level * spread / (math.sqrt(2) * t) + float(by_noise @ np.abs(line.u))
    excess = max(abs(float((w * local.r) @ unexplained)) - explained, 0.0) * min((h / t) ** 2, 1.0)
    error = norm2(by_noise) + CONSISTENCY.safety * excess * math.sqrt(local.d) / norm2(line.u)
    gradient = Estimate(local.gradient.value, error)
    return replace(local, gradient=gradient, consistent=bool(norm2(unexplained) <= allowed))


def with_missed(local: LocalResiduals, lengths: Vector, gtol: float, rng: np.random.Generator) -> LocalResiduals:
    """The same with a bound on what J misses of the gradient, as far as differences of residuals along random vectors,
    shorter than the steps of J, show more than noise: see `against_values`. Two of them, where noise hides nothing that
    matters and these bound it well below `gtol`; else three.

    Queries: 4 or 6; and 2 more for each of them that lacked a value, each time it is taken again
    """
    few, many = RESIDUALS.directions
    z = rng.standard_normal((many, local.d))
    t = RESIDUALS.shorter * float(np.max(local.steps / lengths)) / np.max(np.abs(z) / lengths, axis=1)
    if float(np.max(_hidden(local, z, t))) <= RESIDUALS.visible * gtol:
        first, rest = _missed(local, z[:few], t[:few]), range(few, many)
    else:
        first, rest = np.zeros(0), range(many)
    missed = chi_squared_bound(first, RESIDUALS.unseen / 2) if len(first) else math.inf
    if missed > RESIDUALS.little * gtol:
        seen = np.concatenate([first, _missed(local, z[rest], t[rest])])
        missed = chi_squared_bound(seen, RESIDUALS.unseen / 2)
    return replace(local, gradient=replace(local.gradient, error=float(local.gradient.error) + missed))


def _hidden(local: LocalResiduals, z: Matrix, t: Vector) -> Vector:
    """What noise may do to the differences of `_missed`."""
    w, noise = local.loss.weights(local.r)[0], local.residual_noise
    wr = w * local.r
    spread = float(np.sum(np.abs(wr))) if noise.bounded else NOISE.deviations * norm2(wr)
    return np.asarray(noise.level * spread / (math.sqrt(2) * t) + np.abs(z) @ _gradient_noise(local, w))


def _missed(local: LocalResiduals, z: Matrix, t: Vector) -> Vector:
    """How far the slope of the cost along each of these vectors is from J's, beyond noise, by steps of lengths t.

    Queries: 2*k for k of them, and 2 more for each that lacked a value, each time it is taken again
    """
    ends, x, f = np.concatenate([t[:, None] * z, -t[:, None] * z]), local.x, local.f.residuals().tagged("check")
    owner = np.tile(np.arange(len(z)), 2)

    def build(scale: Vector) -> Stencil:
        return points(x + like(scale[owner][:, None] * ends * local.unit, x))

    values, scale = retaken(f, build, owner, len(z))
    (plus, minus), t = values.reshape(2, len(z), -1), t * scale
    wr = local.loss.weights(local.r)[0] * local.r
    off = np.abs(((plus - minus) / (2 * t[:, None]) - z @ local.J.T) @ wr)
    return np.asarray(np.maximum(off - _hidden(local, z, t), 0.0))


def _gradient_noise(local: LocalResiduals, w: Vector) -> Vector:
    """What noise does to each entry of the gradient: through J, and through r."""
    noise, wr = local.residual_noise, w * local.r
    spread = float(np.sum(np.abs(wr))) if noise.bounded else NOISE.deviations * norm2(wr)
    through_J = 0.0 if local.f.has_jacobian else noise.level * spread / (math.sqrt(2) * local.steps)
    columns = np.sum(np.abs(local.J), axis=0) if noise.bounded else NOISE.deviations * np.linalg.norm(local.J, axis=0)
    return np.asarray(through_J + noise.level * columns)
