"""Where f may be asked, and what its variables are: geometry alone, no values.

Every point that an oracle sends to f lies in its `Domain`, a box. Steps, stencils, models and finders see f through
views whose domain is that box in their own variables; a point outside is a missing one, and f is not asked there. A
`Frame` says how the variables of such a view become those of f: some of them vary and the others are fixed
(`Selection`), or all move in a plane (`Plane`), as they do under linear equalities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._array import Array, Matrix, Vector, like, namespace, repeat, to_device, to_numpy
from .errors import InvalidSetting

Flags = NDArray[np.bool_]
Index = NDArray[np.int64]

ZERO = 64.0
"""Roundings of x below which a coordinate in a plane is zero."""

SAME = 4.0
"""Units in the last place within which a number is a bound that was scaled and scaled back."""


@dataclass(frozen=True)
class Domain:
    """A box; None: unbounded on that side."""

    lower: Vector | None = None
    upper: Vector | None = None

    def __post_init__(self) -> None:
        if self.lower is not None and self.upper is not None and np.any(self.lower > self.upper):
            i = int(np.argmax(self.lower > self.upper))
            raise InvalidSetting(
                f"bounds: lower[{i}] = {self.lower[i]} must be at most upper[{i}] = {self.upper[i]}"
            )

    @cached_property
    def unbounded(self) -> bool:
        """Whether it is all of space."""
        sides = ((self.lower, -np.inf), (self.upper, np.inf))
        return all(side is None or bool(np.all(side == infinite)) for side, infinite in sides)

    def contains(self, rows: Vector) -> Flags:
        """Which of these points lie in it."""
        inside = np.ones(len(rows), dtype=np.bool_)
        if self.lower is not None:
            inside &= np.all(rows >= self.lower, axis=1)
        if self.upper is not None:
            inside &= np.all(rows <= self.upper, axis=1)
        return inside

    def clip(self, x: Vector) -> Vector:
        """The nearest point of it."""
        return x if self.unbounded else np.clip(x, self.lower, self.upper)

    def snapped(self, x: Array) -> Array:
        """The same points, on a bound where they differ from it by rounding alone."""
        if self.unbounded:
            return x
        xp, eps = namespace(x), float(namespace(x).finfo(x.dtype).eps)
        for side in (self.lower, self.upper):
            if side is not None and np.any(np.isfinite(side)):
                finite = np.where(np.isfinite(side), side, 0.0)
                near = like(np.where(np.isfinite(side), SAME * eps * np.abs(finite), -1.0), x)
                bound = like(finite, x)
                x = xp.where(xp.abs(x - bound) <= near, bound, x)
        return x

    def room(self, x: Vector) -> tuple[Vector, Vector]:
        """How far each variable may go down and up from a point of it."""
        infinite = np.full(len(x), np.inf)
        down = infinite if self.lower is None else x - self.lower
        up = infinite if self.upper is None else self.upper - x
        return down, up

    def sides(self, d: int) -> tuple[Vector, Vector]:
        """The lower and the upper bounds of d variables."""
        lower = np.full(d, -np.inf) if self.lower is None else self.lower
        return lower, np.full(d, np.inf) if self.upper is None else self.upper

    def width(self, d: int) -> Vector:
        """The widths of its sides."""
        lower, upper = self.sides(d)
        return upper - lower

    def inset(self, x: Vector, margin: Vector) -> Vector:
        """The nearest point that keeps this distance from all bounds, or is halfway between two that are nearer."""
        lower, upper = self.sides(len(x))
        own = np.minimum(margin, (upper - lower) / 2)
        return np.clip(x, lower + own, np.maximum(upper - own, lower + own))


UNBOUNDED = Domain()


def read_bounds(bounds: Any, x: Array) -> Domain:
    """The box that SciPy's `Bounds` or a sequence of pairs describes, in the precision of x; None and infinities:
    none."""
    if bounds is None:
        return UNBOUNDED
    d = x.shape[0]
    lower, upper = _sides(bounds, d)
    for name, side, empty in (("lower", lower, np.inf), ("upper", upper, -np.inf)):
        wrong = np.isnan(side) | (side == empty)
        if np.any(wrong):
            i = int(np.argmax(wrong))
            raise InvalidSetting(f"bounds: {name}[{i}] = {side[i]} must be a number, or None where there is no bound")
    box = Domain(lower, upper)
    if box.unbounded:
        return UNBOUNDED
    return Domain(_rounded(lower, x, np.inf, lower == upper), _rounded(upper, x, -np.inf, lower == upper))


def _sides(bounds: Any, d: int) -> tuple[Vector, Vector]:
    lists = isinstance(bounds, tuple) and all(isinstance(side, list | np.ndarray) for side in bounds)
    if d == 2 and lists and len(bounds) == 2:
        raise InvalidSetting(
            f"bounds={bounds!r:.60} may be (lower, upper) or a pair for each of 2 variables: give "
            "scipy.optimize.Bounds(lower, upper), or a list of two tuples, [(...), (...)]"
        )
    try:
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            sides: Any = (bounds.lb, bounds.ub)
            lower, upper = (np.broadcast_to(np.asarray(side, dtype=np.float64), (d,)).copy() for side in sides)
            return lower, upper
        pairs = [(low, high) for low, high in bounds]
        if len(pairs) == d:
            return (
                np.array([-np.inf if low is None else float(low) for low, _ in pairs]),
                np.array([np.inf if high is None else float(high) for _, high in pairs]),
            )
    except (TypeError, ValueError):
        pass
    raise InvalidSetting(
        f"bounds={bounds!r:.60} must be a pair (lower, upper) for each of the {d} variables, None for no bound, "
        "or scipy.optimize.Bounds"
    )


def _rounded(side: Vector, x: Array, inward: float, fixed: Flags) -> Vector:
    """The bounds in x's own precision, none of them farther out than it was."""
    own = to_numpy(like(side, x))
    kept = own.astype(np.float64)
    out = (kept < side) if inward > 0 else (kept > side)
    moved = np.nextafter(own, np.asarray(inward, dtype=own.dtype)).astype(np.float64)
    return np.where(out & ~fixed, moved, kept)


# Frames


class Frame(Protocol):
    """Other variables z of which x is an affine function."""

    @property
    def origin(self) -> Array:
        """A point x; z = 0 is there, but for the variables that are one of z."""
        ...

    def outside(self, rows: Array) -> Array:
        """Points z, the rows of a matrix, as points x."""
        ...

    def inside(self, x: Array) -> Array:
        """A point x of the frame as z."""
        ...

    def direction(self, v: Vector) -> Vector:
        """A direction of z as one of x."""
        ...

    def box(self, domain: Domain) -> Domain:
        """The domain in z."""
        ...

    def owner(self, index: int) -> int:
        """The variable of x that a bounded one of z is."""
        ...

    def moved(self, d: int) -> tuple[int, ...]:
        """The variables of x that are not fixed."""
        ...

    def slopes(self, g: Vector) -> Vector | None:
        """The gradient in x from that in z, NaN where nothing moves; None where all that is known is a part of it."""
        ...

    def pulled(self, rows: Matrix) -> Matrix:
        """Gradients in x, the rows of a matrix, as those in z."""
        ...

    def lengths(self, own: Vector) -> Vector:
        """Lengths of the variables of x from those of z; one where nothing moves."""
        ...


@dataclass(frozen=True)
class Selection:
    """Some variables; the others stay where they are."""

    origin: Array
    which: Index
    """The variables that vary."""

    def outside(self, rows: Array) -> Array:
        fixed, k, d = repeat(self.origin, rows.shape[0]), len(self.which), self.origin.shape[0]
        if type(fixed) is np.ndarray:
            fixed[:, self.which] = rows
            return fixed
        source = k + np.arange(d)
        source[self.which] = np.arange(k)
        both = namespace(rows).concat([rows, fixed], axis=1)
        return namespace(rows).take(both, to_device(source, rows), axis=1)

    def inside(self, x: Array) -> Array:
        return namespace(x).take(x, to_device(self.which, x), axis=0)

    def owner(self, index: int) -> int:
        return int(self.which[index])

    def moved(self, d: int) -> tuple[int, ...]:
        return tuple(int(i) for i in self.which)

    def slopes(self, g: Vector) -> Vector | None:
        whole = np.full(self.origin.shape[0], np.nan)
        whole[self.which] = g
        return whole

    def pulled(self, rows: Matrix) -> Matrix:
        return rows[:, self.which]

    def lengths(self, own: Vector) -> Vector:
        whole = np.ones(self.origin.shape[0])
        whole[self.which] = own
        return whole

    def direction(self, v: Vector) -> Vector:
        whole = np.zeros(self.origin.shape[0])
        whole[self.which] = v
        return whole

    def box(self, domain: Domain) -> Domain:
        return Domain(*(None if side is None else side[self.which] for side in (domain.lower, domain.upper)))


@dataclass(frozen=True)
class Plane:
    """x = origin + units * (columns z). A variable that is bounded must be one of z, or stay where it is."""

    origin: Array
    columns: Matrix
    """Orthonormal."""
    units: Vector

    @cached_property
    def basis(self) -> Matrix:
        """x - origin, by z."""
        return np.asarray(self.units[:, None] * self.columns)

    def outside(self, rows: Array) -> Array:
        return self.origin + namespace(rows).matmul(rows, like(self.basis.T, rows))

    def inside(self, x: Array) -> Array:
        here, origin = to_numpy(x).astype(np.float64), to_numpy(self.origin).astype(np.float64)
        z = self.columns.T @ ((here - origin) / self.units)
        top = float(np.max(np.maximum(np.abs(here), np.abs(origin)) / self.units))
        return like(np.where(np.abs(z) > ZERO * float(np.finfo(z.dtype).eps) * top, z, 0.0), x)

    def direction(self, v: Vector) -> Vector:
        return np.asarray(self.basis @ v)

    def box(self, domain: Domain) -> Domain:
        if domain.unbounded:
            return UNBOUNDED
        lower, upper = domain.sides(len(self.columns))
        own = self._own
        bounded = np.isfinite(lower[own]) | np.isfinite(upper[own])
        single = bounded & (np.count_nonzero(self.columns, axis=0) == 1)
        unit = self.units[own]
        return Domain(np.where(single, lower[own] / unit, -np.inf), np.where(single, upper[own] / unit, np.inf))

    @cached_property
    def _own(self) -> Index:
        """The variable that each of z moves most, the only one where that is bounded."""
        return np.asarray(np.argmax(np.abs(self.columns), axis=0))

    def owner(self, index: int) -> int:
        return int(self._own[index])

    def moved(self, d: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.flatnonzero(np.any(self.columns != 0, axis=1)))

    def slopes(self, g: Vector) -> Vector | None:
        return None

    def pulled(self, rows: Matrix) -> Matrix:
        return np.asarray(rows @ self.basis)

    @cached_property
    def joint(self) -> Flags:
        """Which of z move several variables: norms in x / lengths are those in z only if these have one length."""
        return np.asarray(np.count_nonzero(self.columns, axis=0) > 1)

    def sizes(self, x: Vector) -> Vector:
        """How large each of z is: those that move several variables are as large as these, wherever the plane is."""
        z = np.abs(self.columns.T @ (x / self.units))
        moved = np.any(self.columns[:, self.joint] != 0, axis=1)
        return np.where(self.joint, np.median(np.abs(x / self.units)[moved]) if np.any(moved) else 0.0, z)

    def lengths(self, own: Vector) -> Vector:
        whole = np.ones(len(self.columns))
        moved = np.any(self.columns[:, self.joint] != 0, axis=1)
        whole[moved] = np.max(own[self.joint], initial=0.0)
        whole[self._own[~self.joint]] = own[~self.joint]
        return np.asarray(self.units * whole)


def selection(x: Array, which: Flags) -> Selection:
    """The variables among these that vary, at x."""
    return Selection(x, np.flatnonzero(which))


def fixed(domain: Domain, d: int) -> Flags:
    """The variables whose bounds leave them one value."""
    lower, upper = domain.sides(d)
    return np.asarray(lower == upper)


# Equalities


def null_space(rows: Matrix) -> Matrix:
    """An orthonormal basis of what these rows leave free: of the variables that they touch, and the other variables one
    by one."""
    d = rows.shape[1]
    touched = np.any(rows != 0, axis=0)
    part, others = rows[:, touched], np.flatnonzero(~touched)
    _, sizes, vectors = np.linalg.svd(part, full_matrices=True)
    rank = int(np.sum(sizes > max(part.shape, default=1) * np.finfo(float).eps * np.max(sizes, initial=0.0)))
    inner = vectors[rank:].T
    basis = np.zeros((d, inner.shape[1] + len(others)))
    basis[touched, : inner.shape[1]] = inner
    basis[others, inner.shape[1] + np.arange(len(others))] = 1.0
    return basis


@dataclass(frozen=True)
class Equalities:
    """A x = b."""

    A: Matrix
    b: Vector

    def nearest(self, x: Vector, units: Vector) -> Vector:
        """The nearest point to x that fulfils them, in x / units."""
        correction, *_ = np.linalg.lstsq(self.A * units, self.b - self.A @ x, rcond=None)
        moved = self.A.any(axis=0)
        nearest = np.where(moved, x + units * correction, x)
        violation = float(np.max(np.abs(self.A @ nearest - self.b), initial=0.0))
        size = 1 + float(np.max(np.abs(self.b), initial=0.0)) + float(np.max(np.abs(self.A) @ np.abs(x)))
        if violation > 1e-9 * size:
            raise InvalidSetting(f"constraints: no x fulfils A x = b, the nearest misses it by {violation:.2g}")
        return nearest


def read_equalities(constraints: Any, d: int, domain: Domain) -> Equalities | None:
    """Those of a `LinearConstraint(A, b, b)`; None for no constraint."""
    one = _only(constraints)
    if one is None:
        return None
    A = np.atleast_2d(np.asarray(one.A.toarray() if hasattr(one.A, "toarray") else one.A, dtype=np.float64))
    low, high = (np.broadcast_to(np.asarray(side, dtype=np.float64), (A.shape[0],)) for side in (one.lb, one.ub))
    if not np.array_equal(low, high) or not np.all(np.isfinite(low)):
        raise InvalidSetting("constraints: only equalities are supported, LinearConstraint(A, b, b) with a finite b")
    if A.shape[1] != d or not np.all(np.isfinite(A)):
        raise InvalidSetting(f"constraints: A of shape {A.shape} must have a finite column for each of {d} variables")
    lower, upper = domain.sides(d)
    both = np.flatnonzero(np.any(A != 0, axis=0) & (np.isfinite(lower) | np.isfinite(upper)))
    if len(both):
        raise InvalidSetting(
            f"constraints: variable {both[0]} is bounded and stands in an equality too: leave out its bounds, or "
            "eliminate it by substitution"
        )
    return Equalities(A, low)


def _only(constraints: Any) -> Any:
    """The one linear constraint; None if there is none."""
    if constraints is None or (isinstance(constraints, list | tuple) and len(constraints) == 0):
        return None
    one = constraints[0] if isinstance(constraints, list | tuple) and len(constraints) == 1 else constraints
    if not all(hasattr(one, name) for name in ("A", "lb", "ub")):
        raise InvalidSetting(
            "constraints: only linear equalities are supported, one scipy.optimize.LinearConstraint(A, b, b); "
            "eliminate others by substitution, or add a smooth penalty to the function"
        )
    return one


# Invariances

Directions = Callable[[Vector], Matrix]
"""From a point to the directions, as rows, along which f does not change there."""


def read_invariances(invariances: Any, x: Vector, domain: Domain) -> Directions | None:
    """Vectors, or a function of x that gives them, as one function; None for none."""
    if invariances is None:
        return None
    d = len(x)
    constant = None if callable(invariances) else _as_rows(invariances, d)

    def directions(y: Vector) -> Matrix:
        return _as_rows(invariances(y.copy()), d) if constant is None else constant

    rows = directions(x)
    if len(rows) == 0:
        return None
    lower, upper = domain.sides(d)
    both = np.flatnonzero(np.any(rows != 0, axis=0) & (np.isfinite(lower) | np.isfinite(upper)))
    if len(both):
        raise InvalidSetting(
            f"invariances: variable {both[0]} is bounded, and f cannot be the same along a direction that moves it: "
            "leave out its bounds, or the direction"
        )
    return directions


def _as_rows(given: Any, d: int) -> Matrix:
    try:
        rows = np.asarray([to_numpy(row) for row in given], dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.full((1, 0), math.nan)
    if rows.ndim == 1 and rows.shape == (d,):
        rows = rows[None, :]
    if rows.size == 0 and rows.shape[0] == 0:
        return np.zeros((0, d))
    if rows.ndim != 2 or rows.shape[1] != d or not np.all(np.isfinite(rows)):
        raise InvalidSetting(
            f"invariances: directions must be finite vectors of {d} numbers, or a function of x that gives them"
        )
    return rows


def rigid_motions(atoms: int, dimension: int = 3) -> Directions:
    """Translations and rotations of a cluster of atoms, x being their positions, atom after atom: for `invariances`.

    Parameters
    ----------
    atoms : int
        How many there are.
    dimension : 2 or 3
        Of the space they move in.

    Returns
    -------
    callable
        The directions at x, as rows.

    Examples
    --------
    >>> import numpy as np
    >>> import escapade
    >>> escapade.rigid_motions(4)(np.arange(12.0)).shape  # three translations, three rotations
    (6, 12)
    """
    if isinstance(atoms, bool) or not isinstance(atoms, int) or atoms < 1:
        raise InvalidSetting(f"atoms={atoms!r} must be a positive number of atoms")
    if dimension not in (2, 3):
        raise InvalidSetting(f"dimension={dimension!r} must be 2 or 3")

    def directions(x: Vector) -> Matrix:
        if len(x) != dimension * atoms:
            right = dimension * atoms
            raise InvalidSetting(f"rigid_motions({atoms}, {dimension}) are for {right} variables, not {len(x)}")
        positions = x.reshape(atoms, dimension)
        moves = [np.tile(axis, (atoms, 1)) for axis in np.eye(dimension)]
        for i in range(dimension):
            for j in range(i):
                turn = np.zeros_like(positions)
                turn[:, i], turn[:, j] = positions[:, j], -positions[:, i]
                moves.append(turn)
        return np.asarray([move.ravel() for move in moves])

    return directions


def independent(rows: Matrix, tolerance: float = 1e-8) -> Matrix:
    """An orthonormal basis, as columns, of the space that these rows span; each row counts for its direction alone."""
    sizes = np.linalg.norm(rows, axis=1)
    rows = rows[sizes > 1e-12 * max(float(np.max(sizes, initial=0.0)), 1e-300)]
    if len(rows) == 0:
        return np.zeros((rows.shape[1], 0))
    _, values, vectors = np.linalg.svd(rows / np.linalg.norm(rows, axis=1)[:, None], full_matrices=False)
    return np.asarray(vectors[values > tolerance * values[0]].T)


# All of it


@dataclass(frozen=True)
class Geometry:
    """What a user said of the variables: bounds, equalities, and directions along which f does not change."""

    domain: Domain = UNBOUNDED
    equalities: Equalities | None = None
    invariant: Directions | None = None
    scale: Vector | None = None
    """x_scale, where that was given."""

    @classmethod
    def of(cls, bounds: Any, constraints: Any, invariances: Any, x: Array, scale: Vector | None) -> Geometry:
        """The geometry that these arguments describe, at a point."""
        domain = read_bounds(bounds, x)
        equalities = read_equalities(constraints, x.shape[0], domain)
        start = domain.clip(to_numpy(x).astype(np.float64))
        return cls(domain, equalities, read_invariances(invariances, start, domain), scale)

    @property
    def plain(self) -> bool:
        """Whether nothing was said."""
        return self.domain.unbounded and self.equalities is None and self.invariant is None

    def start(self, x: Array) -> Array:
        """The nearest point that fulfils all."""
        host = self.domain.clip(to_numpy(x).astype(np.float64))
        if self.equalities is not None:
            host = self.equalities.nearest(host, np.ones(len(host)) if self.scale is None else self.scale)
        return like(host, x)

    def require(self, x: Array, name: str) -> None:
        """Refuse a point that is elsewhere."""
        host = to_numpy(x).astype(np.float64)
        if not self.domain.contains(host[None, :])[0]:
            i = int(np.argmax(self.domain.clip(host) != host))
            lower, upper = self.domain.sides(len(host))
            raise InvalidSetting(
                f"{name}[{i}] = {host[i]} must lie within its bounds [{lower[i]}, {upper[i]}]: pass "
                f"np.clip({name}, lower, upper)"
            )
        if self.equalities is not None:
            violation = np.abs(self.equalities.A @ host - self.equalities.b)
            most = 1e-8 * (np.abs(self.equalities.A) @ np.abs(host) + np.abs(self.equalities.b) + 1e-300)
            if np.any(violation > most):
                i = int(np.argmax(violation - most))
                raise InvalidSetting(
                    f"{name} must fulfil the constraints, but misses equality {i} by {violation[i]:.2g}: pass its "
                    "projection"
                )

    def across(self, x: Array) -> Matrix | None:
        """The directions of invariance at x, as orthonormal rows; None where there are none."""
        if self.invariant is None:
            return None
        rows = independent(self.invariant(to_numpy(x).astype(np.float64))).T
        return rows if len(rows) else None

    def frame(self, x: Array, rows: Matrix | None = None) -> Selection | Plane | None:
        """The variables that are left at x by the equalities, bounds that leave one value, and these rows, across which
        to stay; None if those are all."""
        d = x.shape[0]
        stays = fixed(self.domain, d)
        together = [part for part in (None if self.equalities is None else self.equalities.A, rows) if part is not None]
        if not together:
            return selection(x, ~stays) if np.any(stays) and not np.all(stays) else None
        units = np.ones(d) if self.scale is None else self.scale
        columns = null_space(np.concatenate([self._conormal(part, units, k) for k, part in enumerate(together)]))
        columns = columns[:, ~np.any(columns[stays] != 0, axis=0)] if np.any(stays) else columns
        if columns.shape[1] == 0:
            raise InvalidSetting("constraints and bounds leave one point, nothing to minimise over: evaluate f there")
        host = to_numpy(x).astype(np.float64)
        single = np.any(columns[:, np.count_nonzero(columns, axis=0) == 1] != 0, axis=1)
        inner = columns @ (columns.T @ (host / units))
        return Plane(like(np.where(single, 0.0, host - units * inner), x), columns, units)

    def _conormal(self, rows: Matrix, units: Vector, k: int) -> Matrix:
        """Rows in x / units: of equalities A, or directions to stay across."""
        if self.equalities is not None and k == 0:
            return rows * units
        return rows / units

