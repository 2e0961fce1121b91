"""Where many runs start: points that were given, or drawn within a box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ._array import Array, Matrix, Vector, as_point
from ._text import counted
from .errors import InvalidSetting
from .structure import Structure

Sampler = Literal["sobol", "lhs", "uniform"]
SAMPLERS = ("sobol", "lhs", "uniform")


def given(starts: Any) -> tuple[Sequence[Array], Structure | None]:
    """The starts that somebody gave, as points; and their structure, that of the first, if they are no vectors."""
    try:
        own = list(starts)
    except TypeError:
        own = []
    known = Structure.of(own[0], "starts[0]") if own else None
    structure = None if known is None else known[0]
    points = [as_point(_vector(x, i, structure), f"starts[{i}]") for i, x in enumerate(own)]
    odd = [i for i, x in enumerate(points) if x.shape != points[0].shape]
    if odd:
        raise InvalidSetting(
            f"starts[{odd[0]}] has {counted(points[odd[0]].shape[0], 'variable')}, but starts[0] has "
            f"{points[0].shape[0]}: all starts are points of one function"
        )
    if not points:
        raise InvalidSetting(f"starts={starts!r:.60} must hold at least one vector: pass [x0] * n for n runs from x0")
    return points, structure


def _vector(x: Any, i: int, structure: Structure | None) -> Any:
    return x if structure is None else structure.flat(x, f"starts[{i}]")


def sampled(n: Any, within: Any, sampler: str, rng: np.random.Generator, name: str = "within") -> Matrix:
    """n points within a box: of a scrambled Sobol sequence, a Latin hypercube, or independent ones."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidSetting(f"n={n!r} must be a positive number of starts")
    if sampler not in SAMPLERS:
        raise InvalidSetting(f"sampler={sampler!r} must be one of {', '.join(SAMPLERS)}")
    low, high = box(within, name)
    return low + (high - low) * _unit(int(n), len(low), sampler, rng)


def box(within: Any, name: str = "within") -> tuple[Vector, Vector]:
    """The ends of a box given as SciPy's `Bounds`, or as a pair for every variable."""
    try:
        if hasattr(within, "lb"):
            low, high = np.broadcast_arrays(np.atleast_1d(within.lb), np.atleast_1d(within.ub))
        else:
            low, high = np.asarray(within, dtype=np.float64).reshape(-1, 2).T
        low, high = low.astype(np.float64), high.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(
            f"{name}={within!r:.60} must be a pair (low, high) for every variable, or scipy.optimize.Bounds"
        ) from None
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high) & (low <= high)))
    if len(low) == 0 or len(bad):
        where = f": {name}[{bad[0]}] = ({low[bad[0]]}, {high[bad[0]]})" if len(bad) else ""
        remedy = "pass starts= otherwise" if name == "within" else "pass starts=, or a box to draw them from as within="
        raise InvalidSetting(f"{name}= must be a box with finite ends, low <= high{where}; {remedy}")
    return low, high


def _unit(n: int, d: int, sampler: str, rng: np.random.Generator) -> Matrix:
    """n points of the unit cube."""
    if sampler == "uniform":
        return rng.random((n, d))
    from scipy.stats import qmc  # slow to import, and only wanted here

    kind: Any = qmc.Sobol if sampler == "sobol" else qmc.LatinHypercube
    try:
        engine = kind(d, rng=rng)
    except TypeError:  # SciPy before 1.15
        engine = kind(d, seed=rng)
    if sampler == "lhs":
        return np.asarray(engine.random(n))
    return np.asarray(engine.random_base2((n - 1).bit_length())[:n])  # its first n: a power of two is balanced
