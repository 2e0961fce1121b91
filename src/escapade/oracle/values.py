"""From what a function returned to float64, or to an error that says what it should have returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, to_numpy
from ..errors import InvalidValue
from ..executors import RowFailure


def as_floats(
    raw: Any, shape: tuple[int, int], at: Callable[[int], Array]
) -> tuple[NDArray[np.float64], float] | None:
    """Raw results as float64 and their machine epsilon, or InvalidValue at the first that is not one real number.

    None if some of them are failures.
    """
    m = shape[0]
    try:
        values = to_numpy(raw) if type(raw) is not list and array_api_compat.is_array_api_obj(raw) else np.asarray(raw)
    except (ValueError, TypeError, RuntimeError):  # ragged, or tensors that do not convert: one by one, below
        values = np.empty(0, dtype=object)
    if values.shape == (m,) and values.dtype.kind in "fiub":
        own = values.astype(np.float64, copy=type(raw) is not list)  # a caller's array may be written to
        return own, epsilon(values) if values.dtype.kind == "f" else 0.0
    if isinstance(raw, list) and any(isinstance(value, RowFailure) for value in raw):
        return None
    if isinstance(raw, list) and len(raw) == m:
        return np.asarray([_as_float(value, row, at) for row, value in enumerate(raw)]), 0.0
    dtype = getattr(raw, "dtype", values.dtype)
    kind = f" and dtype {dtype}" if getattr(dtype, "kind", "f") not in "fiub" else ""
    raise InvalidValue(
        f"with vectorized=True the function must return {m} real values for {m} points (rows of an array "
        f"of shape {shape}), but returned {_describe(raw)}{kind}; return an array of shape ({m},), "
        "or pass vectorized=False for a function of one point",
        at(0),
    )


def _as_float(value: Any, row: int, at: Callable[[int], Array]) -> float:
    """One result as a float, or InvalidValue."""
    try:
        number = np.asarray(to_numpy(value) if array_api_compat.is_array_api_obj(value) else value)
        if number.ndim == 0 and (number.dtype.kind in "fiub" or hasattr(number.item(), "__float__")):
            return float(number.item())
    except (ValueError, TypeError, OverflowError):
        pass
    x = at(row)
    raise InvalidValue(
        f"the function must return one real number, but returned {_describe(value)} at x = {show(x)}; "
        "return float(value), or pass vectorized=True if it maps the rows of a matrix to values",
        x,
    )


def _describe(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape not in (None, ()):
        return f"an array of shape {tuple(shape)}"
    return f"{value!r:.60} ({type(value).__name__})"


def show(x: Array) -> str:
    return np.array2string(to_numpy(x), threshold=6, edgeitems=3, precision=6)
