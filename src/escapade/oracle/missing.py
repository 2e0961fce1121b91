"""Differences some of whose values are missing: taken again on other steps, never made up.

A point where a policy lets f have no value is often one of a few: a point a little nearer, or on the other side, has
one. Whoever asks for differences says which of them each point belongs to, and those with a missing value are asked for
again on steps of another length; the others keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingValue
from .stencil import Stencil
from .values import lost_rows

if TYPE_CHECKING:
    from .oracle import Oracle

SHORTER = (0.8125, 0.6875, 0.90625, 0.59375, 0.53125, 0.125, 2.0**-6)
"""Lengths of other steps, beside the usual ones. The first have few digits, so that x + h is rounded little, and are no
powers of two, so that none leads to a point that was asked for on halved steps; the last two are for a wall nearby."""

MIRRORED = (-1.0, 0.8125, -0.8125, 0.6875, -0.6875, 0.90625, -0.90625, 0.125, -0.125, 2.0**-6, -(2.0**-6))
"""The same for differences on one side, which may be taken on the other."""


def or_nan(f: Oracle, stencil: Stencil) -> tuple[NDArray[np.float64], MissingValue | None]:
    """The values at the points of a stencil, NaN where one is missing, and the error that says so.

    Queries: 1 for each point that has a value
    """
    try:
        return f(stencil), None
    except MissingValue as lost:
        return lost.values, lost


def retaken(
    f: Oracle,
    build: Callable[[NDArray[np.float64]], Stencil],
    owner: NDArray[np.int64],
    count: int,
    lengths: Sequence[float] = SHORTER,
    *,
    strict: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values of `count` differences, and the factor that each took its steps with: 1, or that of `lengths` at which
    no value of it was missing.

    `build` makes the stencil of all of them on steps times these factors, and `owner` tells the difference that each
    point belongs to. Where none of the lengths will do the error is raised, or the values are NaN.

    Queries: 1 for each point, and for each of a difference that is taken again
    """
    scale: NDArray[np.float64] = np.ones(count)
    values, lost = or_nan(f, build(scale))
    for length in lengths:
        if lost is None:
            break
        again = np.isin(owner, np.unique(owner[lost_rows(values)]))
        scale[owner[again]] = length
        rows = np.flatnonzero(again)
        values[rows], lost = or_nan(f, build(scale).chosen(rows))
    if lost is not None and strict:
        raise lost
    return values, scale
