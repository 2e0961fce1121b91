"""Gradients and Hessian-vector products of the user's own functions, with the failures of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from .._array import epsilon, to_numpy
from ..errors import InvalidValue
from ..executors import Evaluate, RowFailure
from .failures import Asked, Failures
from .stencil import Stencil
from .values import show


def checked_vectors(
    name: str,
    evaluate: Evaluate,
    stencil: Stencil,
    batch: tuple[Any, ...],
    failures: Failures,
    book: Callable[[int], None],
    shape: tuple[int, ...] | None = None,
) -> tuple[NDArray[np.float64], float, str]:
    """A vector (or an array of this shape) for each row of a stencil as float64, NaN where it is missing; the machine
    epsilon they came with; and why some are missing. `book` is told of every point sent."""
    span = (0, stencil.size)
    asked = _AskedVectors(name, shape or (stencil.d,), evaluate, stencil, span, batch, failures, book)
    try:
        raw = evaluate(stencil.rows(*span), batch)
    except RowFailure as failure:
        return asked.all(partial(asked.stopped, list(range(stencil.size)), failure))
    except BaseException:
        book(stencil.size)
        raise
    book(stencil.size)
    return asked.all(partial(asked.take, range(stencil.size), raw))


class _AskedVectors(Asked):
    """The same for a function that gives a vector for each row."""

    def __init__(
        self, name: str, shape: tuple[int, ...], evaluate: Evaluate, stencil: Stencil, *rest: Any
    ) -> None:
        self.name, self.shape = name, shape
        super().__init__(evaluate, stencil, *rest)

    def read(self, raw: Any, rows: Sequence[int]) -> tuple[NDArray[np.float64], float] | None:
        precision, vectors = 0.0, np.empty((len(rows), *self.shape))
        for k, (row, value) in enumerate(zip(rows, raw, strict=True)):
            vector = _as_vector(value)
            if vector is None or vector.shape != self.shape:
                wanted = " x ".join(map(str, self.shape))
                x, what = self.at(row), "something else" if vector is None else f"an array of shape {vector.shape}"
                must = f"{self.name} must return {wanted} real numbers"
                raise InvalidValue(f"{must}, but returned {what} at x = {show(x)}", x)
            if vector.dtype.kind == "f":
                precision = max(precision, epsilon(vector))
            vectors[k] = vector
        return vectors, precision

    def wrong(self, row: int) -> float | None:
        return None if np.isfinite(self.values[row]).all() else math.nan


def _as_vector(value: Any) -> NDArray[Any] | None:
    """What was returned as an array of real numbers; None if it is none."""
    try:
        vector = to_numpy(value) if array_api_compat.is_array_api_obj(value) else np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        return None
    return vector if vector.dtype.kind in "fiub" else None
