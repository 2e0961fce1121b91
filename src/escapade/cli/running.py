"""What `minimize` and `certify` need of the line before they can be called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problems import Problem
from .failures import CommandError
from .points import read_point

STREAM = 1000
"""Samples of a stream that are averaged for a picture."""


def point_or_start(fun: Callable[..., Any], text: str | None, option: str) -> NDArray[np.float64]:
    """The point on the line; a problem of the library has a start of its own."""
    if text is not None:
        return read_point(text, option)
    if isinstance(fun, Problem):
        return fun.start
    raise CommandError(f"{option} is missing: give the point as {option} 1,2,3 or as a .npy, .csv or .json file")


def scale(text: str | None) -> NDArray[np.float64] | float | None:
    """One number for all variables, or one each."""
    if text is None:
        return None
    values = read_point(text, "--x-scale")
    return float(values[0]) if values.size == 1 else values


def bounds(lower: str | None, upper: str | None, d: int) -> list[tuple[float, float]] | None:
    """Pairs from what the line says of both sides: one number for all variables, or one each."""
    if lower is None and upper is None:
        return None
    sides = []
    for option, text, none in (("--lower", lower, -np.inf), ("--upper", upper, np.inf)):
        values = np.full(d, none) if text is None else read_point(text, option)
        if values.size not in (1, d):
            wanted = f"give one, or one for each of {d} variables"
            raise CommandError(f"{option}: {values.size} numbers, but there are {d} variables: {wanted}")
        sides.append(np.broadcast_to(values, (d,)))
    return [(float(low), float(high)) for low, high in zip(*sides, strict=True)]


def at_one_point(fun: Callable[..., Any], vectorized: bool, samples: Any) -> Callable[[Any], float]:
    """The function for a picture: of one point, averaged over all samples, or over some of a stream."""
    batch: tuple[Any, ...] = ()
    if samples is not None:
        n = np.random.default_rng(0).integers(0, 2**63 - 1, size=STREAM) if samples == "stream" else np.arange(samples)
        batch = (n,)
    if vectorized:
        return lambda x: float(fun(x[None, :], *batch)[0])
    return lambda x: float(fun(x, *batch))
