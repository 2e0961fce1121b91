"""Differences that stay in the domain: central where there is room, else from x inward, each with its error.

A one-sided second difference of three points is wrong by O(h). Here a polynomial of degree four goes through x and four
points of each variable, at h, 2h, 3h and 4h from a bound inward or at -2h, -h, h and 2h; what it differs from the cubic
through three of them (0, h, 2h, 4h) bounds its error. Mixed differences are taken at two lengths, or on both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Matrix, Vector, epsilon, like, norm2, to_numpy
from ..interval import Estimate
from ..oracle import Oracle, Stencil, or_nan, points, retaken
from .noise import Noise, inward
from .settings import FEASIBLE, LADDER
from .steps import power_of_two, shortest

Index = NDArray[np.int64]
SHORT = 16.0
"""How much shorter the steps of slopes are that look uncertain, in a second look."""

SINGLE = np.array([1.0, 2.0, -1.0])
CENTRAL, INWARD = np.array([1.0, -1.0, 2.0, -2.0]), np.array([1.0, 2.0, 4.0, 3.0])
"""The points of a variable, in steps; the first three make the cubic."""


@dataclass(frozen=True)
class Around:
    """A point of the domain, with the value and the noise there."""

    f: Oracle
    x: Array
    f0: float
    noise: Noise
    y: Vector = field(init=False)
    """x on the host."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", to_numpy(self.x).astype(np.float64))

    @property
    def error(self) -> float:
        """How wrong one value is."""
        return self.noise.norm(1)

    def displaced(self, moves: Matrix, owner: Index, count: int, purpose: str) -> tuple[Vector, Vector]:
        """The changes of f at x plus each of these rows, and the factor by which those of each of `count` differences
        were shortened, because a value was missing; NaN where none could be had.

        Queries: 1 for each row, and for each of a difference that is taken again
        """

        def build(scale: Vector) -> Stencil:
            return points(self.x[None, :] + like(scale[owner][:, None] * moves, self.x))

        values, scale = retaken(self.f.tagged(purpose), build, owner, count, strict=False)
        return values - self.f0, scale

    def moved(self, which: Index, steps: Matrix) -> Matrix:
        """The steps that the precision of x leaves of these: row i are those of variable which[i]."""
        own = self.y[which][:, None]
        there = to_numpy(like(own + steps, self.x)).astype(np.float64)
        return np.asarray(there - own)


# Single variables


@dataclass(frozen=True)
class Lines:
    """f along some variables: slope, curvature and third derivative of each, with bounds on their errors."""

    which: Index
    steps: Vector
    """Signed: inward from a bound; positive where both sides were used."""
    central: NDArray[np.bool_]
    slope: Estimate[Vector]
    curvature: Estimate[Vector]
    third: Vector

    def of(self, which: Index) -> Lines:
        """Those of some of the variables."""
        rows = np.flatnonzero(np.isin(self.which, which))
        slope, curvature = (Estimate(e.value[rows], e.error[rows]) for e in (self.slope, self.curvature))
        return Lines(self.which[rows], self.steps[rows], self.central[rows], slope, curvature, self.third[rows])


def _coefficients(t: Matrix, change: Matrix, error: float) -> tuple[Matrix, Matrix]:
    """Those of the polynomials through 0 and these changes at these displacements, one a row, from the linear one on;
    and what errors of the values make of them."""
    degree = np.arange(1, t.shape[1] + 1)
    h = np.max(np.abs(t), axis=1, keepdims=True)
    inverse = np.linalg.inv((t / h)[:, :, None] ** degree)
    weight = h**degree
    return np.einsum("kij,kj->ki", inverse, change) / weight, 2 * error * np.abs(inverse).sum(axis=2) / weight


def lines(around: Around, which: Index, curvtol: float) -> Lines:
    """f along these variables; steps over which a polynomial of degree four does not describe f are cut.

    Queries: 4*m for m variables, and 4 for each time that a step is cut
    """
    h, central = _steps(around, which, curvtol)
    found = _lines(around, which, h, central)
    for _ in range(FEASIBLE.cuts):
        rough = found.curvature.error > FEASIBLE.share * (np.abs(found.curvature.value) + curvtol)
        noisy = FEASIBLE.amplified * 2 * around.error * (FEASIBLE.cut / found.steps) ** 2 > FEASIBLE.share * curvtol
        again = np.flatnonzero((rough & ~noisy) | np.isnan(found.slope.value))
        again = again[np.abs(h[again]) / FEASIBLE.cut > shortest(around.x, 1.0)[which[again]]]
        if len(again) == 0:
            break
        h[again] /= FEASIBLE.cut
        closer = _lines(around, which[again], h[again], central[again])
        better = ~(closer.curvature.error >= found.curvature.error[again])
        found = _replaced(found, again[better], closer, better)
    return found


def _replaced(found: Lines, rows: Index, closer: Lines, better: NDArray[np.bool_]) -> Lines:
    """The same with other estimates in some rows."""

    def put(old: Vector, new: Vector) -> Vector:
        changed = old.copy()
        changed[rows] = new[better]
        return changed

    return Lines(
        found.which,
        put(found.steps, closer.steps),
        found.central,
        Estimate(put(found.slope.value, closer.slope.value), put(found.slope.error, closer.slope.error)),
        Estimate(
            put(found.curvature.value, closer.curvature.value), put(found.curvature.error, closer.curvature.error)
        ),
        put(found.third, closer.third),
    )


def _steps(around: Around, which: Index, curvtol: float) -> tuple[Vector, NDArray[np.bool_]]:
    """Signed steps, and where there is room for both sides."""
    least = shortest(around.x, 1.0)[which]
    wanted = max(FEASIBLE.step, math.sqrt(FEASIBLE.amplified * around.error / (FEASIBLE.noise * curvtol)))
    h = power_of_two(np.maximum(min(wanted, FEASIBLE.longest), least))
    down, up = (side[which] for side in around.f.domain.room(around.y))
    near, far = np.minimum(down, up), np.maximum(down, up)
    central = near >= np.minimum(2 * h, far / 2)
    side = np.where(up >= down, 1.0, -1.0)
    return np.where(central, np.minimum(h, near / 2), side * np.minimum(h, far / 4)), central


def _lines(around: Around, which: Index, h: Vector, central: NDArray[np.bool_]) -> Lines:
    m = len(which)
    wanted = h[:, None] * np.where(central[:, None], CENTRAL, INWARD)
    t = around.moved(which, wanted)
    moves = np.zeros((4 * m, len(around.y)))
    moves[np.arange(4 * m), np.repeat(which, 4)] = t.ravel()
    change, scale = around.displaced(moves, np.repeat(np.arange(m), 4), m, "check")
    t, change = t * scale[:, None], change.reshape(m, 4)
    four, noise = _coefficients(t, change, around.error)
    three, _ = _coefficients(t[:, :3], change[:, :3], around.error)
    slope = Estimate(four[:, 0], np.abs(four[:, 0] - three[:, 0]) + noise[:, 0])
    curvature = Estimate(2 * four[:, 1], 2 * np.abs(four[:, 1] - three[:, 1]) + 2 * noise[:, 1])
    return Lines(which, h * scale, central, slope, curvature, 6 * np.abs(four[:, 2]))


def inward_slopes(around: Around, which: Index, enough: float) -> tuple[Estimate[Vector], Vector]:
    """df/dx_i inward from the bounds that these variables are on, with bounds on their errors, and their second
    derivatives: from two values each, and two more where these differ or leave open whether the slope exceeds `enough`.

    Queries: 2*m for m variables, and 2 more for each that two values do not decide
    """
    down, up = (side[which] for side in around.f.domain.room(around.y))
    wanted = max(FEASIBLE.slope_step, FEASIBLE.slope_noise * around.error / enough)
    least = shortest(around.x, 1.0)[which]
    h = np.minimum(power_of_two(np.maximum(min(wanted, FEASIBLE.longest), least)), np.maximum(up, down) / 4)
    t = around.moved(which, np.where(up >= down, 1.0, -1.0)[:, None] * h[:, None] * INWARD[:3])
    near, scale = _changes(around, which, t[:, :2])
    size = np.abs(t) * scale[:, None]
    first, noise = _coefficients(size[:, :2], near, around.error)
    one = near[:, 0] / size[:, 0]
    value, error, second = first[:, 0], np.abs(first[:, 0] - one) + noise[:, 0], 2 * np.abs(first[:, 1])
    clear = (value - error > enough) & (error <= FEASIBLE.slope_share * np.abs(value))
    unclear = np.flatnonzero(~clear & np.isfinite(value))
    if len(unclear):
        far, _ = _changes(around, which[unclear], np.concatenate([t[unclear, 2:], t[unclear, :1] / SHORT], axis=1))
        all_ = np.concatenate([near[unclear], far[:, :1]], axis=1)
        cubic, noise = _coefficients(size[unclear], all_, around.error)
        value[unclear], error[unclear] = cubic[:, 0], np.abs(cubic[:, 0] - value[unclear]) + noise[:, 0]
        closest = SHORT * far[:, 1] / np.abs(t[unclear, 0])  # f may be another function on shorter steps
        less = closest + 2 * SHORT * around.error / np.abs(t[unclear, 0]) < value[unclear] / 2
        error[unclear] = np.where(less, np.maximum(error[unclear], np.abs(value[unclear])), error[unclear])
    error = np.where(np.isfinite(value + error), error, np.inf)
    return Estimate(np.where(np.isfinite(value), value, 0.0), error), second


def _changes(around: Around, which: Index, t: Matrix) -> tuple[Matrix, Vector]:
    m, n = t.shape
    moves = np.zeros((m * n, len(around.y)))
    moves[np.arange(m * n), np.repeat(which, n)] = t.ravel()
    change, scale = around.displaced(moves, np.repeat(np.arange(m), n), m, "check")
    return change.reshape(m, n), scale


# All second differences


def hessian(around: Around, seen: Lines, curvtol: float) -> tuple[Estimate[Matrix], float]:
    """The Hessian in the variables of these lines, a bound on the norm of its error, and the largest third derivative.

    Queries: k*(k - 1) + 2*k for k variables, and 1 more for each with room on both sides; none for one
    """
    H, E, third = np.diag(seen.curvature.value), np.diag(seen.curvature.error), float(np.max(seen.third, initial=0.0))
    if len(seen.which) > 1:
        i, j = np.triu_indices(len(seen.which), 1)
        entries, errors, seen_third = _mixed(around, seen, _mixed_steps(around, seen, curvtol), i, j)
        H[i, j] = H[j, i] = entries
        E[i, j] = E[j, i] = errors
        third = max(third, seen_third)
    return Estimate(H, norm2(E.ravel()) if np.all(np.isfinite(E)) else math.inf), third


def price_of_hessian(seen: Lines) -> int:
    """What `hessian` costs."""
    k = len(seen.which)
    return k * (k - 1) + 2 * k + int(np.sum(seen.central)) if k > 1 else 0


def _mixed_steps(around: Around, seen: Lines, curvtol: float) -> Vector:
    """Signed steps of mixed differences, twice which are within those of the lines."""
    wanted = max(FEASIBLE.mixed_step, math.sqrt(16 * around.error / (FEASIBLE.noise * curvtol)))
    least = shortest(around.x, 1.0)[seen.which]
    h = power_of_two(np.maximum(min(wanted, FEASIBLE.longest), least))
    return np.asarray(np.sign(seen.steps) * np.minimum(h, np.abs(seen.steps)))


def _mixed(around: Around, seen: Lines, h: Vector, i: Index, j: Index) -> tuple[Vector, Vector, float]:
    """Mixed differences from two points each, at one and two steps or on both sides; bounds on their errors, and the
    largest third derivative that they show."""
    which, n, k = seen.which, len(i), len(h)
    both = seen.central[i] & seen.central[j]
    column = np.where(both[:, None], [0, 2], [0, 1])
    t = around.moved(which, h[:, None] * SINGLE)
    singles = [(a, c) for a in range(k) for c in range(3) if c < 2 or seen.central[a]]
    owner, of = np.array([a for a, _ in singles]), np.array([c for _, c in singles])
    moves = np.zeros((len(singles) + 2 * n, len(around.y)))
    moves[np.arange(len(singles)), which[owner]] = t[owner, of]
    rows, pair, col = len(singles) + np.arange(2 * n), np.repeat(np.arange(n), 2), column.ravel()
    moves[rows, which[i][pair]], moves[rows, which[j][pair]] = t[i[pair], col], t[j[pair], col]
    values, _ = or_nan(around.f.tagged("curvature"), points(around.x[None, :] + like(moves, around.x)))
    change = values - around.f0
    along = np.full((k, 3), np.nan)
    along[owner, of] = change[: len(singles)]
    product = t[i[:, None], column] * t[j[:, None], column]
    m = (change[len(singles) :].reshape(n, 2) - along[i[:, None], column] - along[j[:, None], column]) / product
    apart = np.abs(m[:, 0] - m[:, 1])
    value = np.where(both, (m[:, 0] + m[:, 1]) / 2, 2 * m[:, 0] - m[:, 1])
    noise = 16 * around.error / np.min(np.abs(product), axis=1)
    return value, apart + noise, float(np.max(np.maximum(apart - noise, 0.0) / np.abs(h[i]), initial=0.0))


# Other lengths


@dataclass(frozen=True)
class Misfit:
    """Where f leaves the polynomial of second order that differences show, on the way into the domain."""

    amplitude: float = 0.0
    length: float = 0.0


def misfit(
    around: Around,
    which: Index,
    g: Vector,
    H: Matrix | None,
    errors: tuple[float, float],
    tolerances: tuple[float, float],
    rng: np.random.Generator,
) -> Misfit:
    """Compare f with f(x) + g's + s'Hs/2 along random ways into the domain, at lengths that shrink by four: the
    residual falls by 4^3 where f is smooth; where that stops short at a size that matters for the tolerances, f has
    structure of its own there. Without H what f falls short of the slope falls by 4^2, and what it exceeds it by may do
    so by less, as the root of a distance does.

    Queries: 33
    """
    d, levels = len(around.y), FEASIBLE.levels
    part = 4.0 ** -np.arange(levels)
    moves = []
    for _ in range(FEASIBLE.ways):
        ray = np.zeros(d)
        ray[which] = np.where(rng.random(len(which)) < 0.5, -1.0, 1.0) * rng.uniform(0.5, 1.0, len(which))
        moves.append(part[:, None] * inward(around.f.domain, around.y, FEASIBLE.reach * ray, 1.0))
    ends = np.concatenate(moves)
    ends = to_numpy(like(around.y + ends, around.x)).astype(np.float64) - around.y
    values, _ = or_nan(around.f.tagged("check"), points(around.x[None, :] + like(ends, around.x)))
    s, length = ends[:, which], np.linalg.norm(ends, axis=1)
    residual = values - around.f0 - s @ g - (0.0 if H is None else np.einsum("ki,ij,kj->k", s, H, s) / 2)
    size = np.abs(np.nan_to_num(values - around.f0))
    floor = 8 * around.error + epsilon(around.x) * size + errors[0] * length + errors[1] * length**2 / 2
    shape = (FEASIBLE.ways, levels)
    residual, length, floor = residual.reshape(shape), _rms(length.reshape(shape)), _rms(floor.reshape(shape))
    whole = _structure(_rms(residual), length, floor, LADDER.plateau if H is not None else FEASIBLE.level, tolerances)
    if H is None:  # what f falls short of the slope
        whole = whole or _structure(_rms(np.minimum(residual, 0.0)), length, floor, FEASIBLE.plateau, tolerances)
    return whole or Misfit()


def _rms(values: Matrix) -> Vector:
    """The root of the mean square over the ways, of those that have a value."""
    known = np.isfinite(values)
    return np.asarray(np.sqrt(np.sum(np.where(known, values, 0.0) ** 2, axis=0) / np.maximum(known.sum(axis=0), 1)))


def _structure(
    residual: Vector, length: Vector, floor: Vector, plateau: float, tolerances: tuple[float, float]
) -> Misfit | None:
    """Where the residual stops to fall, or appears out of nothing and then is level: clear of its floor, at a size that
    matters."""
    fall = np.log(np.maximum(residual[:-1], floor[:-1]) / np.maximum(residual[1:], floor[1:])) / math.log(4.0)
    matters = (residual / length > tolerances[0]) | (4 * residual / length**2 > tolerances[1])
    seen, stops = (residual > FEASIBLE.clear * floor) & matters, fall < plateau
    structure = stops & seen[1:]
    structure[:-1] |= (fall[1:] > LADDER.sudden) & seen[1:-1] & stops[:-1]
    if not np.any(structure):
        return None
    k = int(np.flatnonzero(structure).max()) + 1
    return Misfit(float(residual[k]), float(length[k]))
