"""What happens when the user's function raises, or returns what is not a number. The one place for it.

Policies other than "raise" (retry, penalise, timeouts) belong here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from .._array import Array, to_numpy
from ..errors import EvaluationFailed, InvalidValue, NonFiniteValue
from ..executors.local import Evaluate, RowFailure
from .stencil import Stencil


def checked_values(
    evaluate: Evaluate, stencil: Stencil, start: int, stop: int, batch: tuple[Any, ...]
) -> tuple[NDArray[np.float64], float]:
    """The values at some rows of a stencil as float64, and the machine epsilon they came with; or a typed error.

    The point of an error is built afresh: the function may have written to the one it was given.
    """

    def at(row: int) -> Array:
        return stencil.rows(start + row, start + row + 1)[0, :]

    try:
        raw = evaluate(stencil.rows(start, stop), batch)
    except RowFailure as failure:
        _raise_failed(failure, (stop - start, stencil.d), at)
    values, precision = _as_floats(raw, (stop - start, stencil.d), at)
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        x = at(row)
        raise NonFiniteValue(
            f"the function returned {values[row]} at x = {_show(x)}; "
            "start elsewhere, bound the variables inside the function, return a finite value there, or pass x_scale "
            "if the steps taken are too long for the variables",
            x,
        )
    return values, precision


def _as_floats(
    raw: Any, shape: tuple[int, int], at: Callable[[int], Array]
) -> tuple[NDArray[np.float64], float]:
    """Raw results as float64 and their machine epsilon, or InvalidValue at the first that is not one real number."""
    m = shape[0]
    try:
        values = to_numpy(raw) if array_api_compat.is_array_api_obj(raw) else np.asarray(raw)
    except (ValueError, TypeError, RuntimeError):  # ragged, or tensors that do not convert: one by one, below
        values = np.empty(0, dtype=object)
    if values.shape == (m,) and values.dtype.kind in "fiub":
        return values.astype(np.float64), float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else 0.0
    if isinstance(raw, list) and len(raw) == m:
        return np.asarray([_as_float(value, row, at) for row, value in enumerate(raw)]), 0.0
    kind = f" and dtype {values.dtype}" if values.dtype.kind not in "fiubO" else ""
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
        f"the function must return one real number, but returned {_describe(value)} at x = {_show(x)}; "
        "return float(value), or pass vectorized=True if it maps the rows of a matrix to values",
        x,
    )


def _raise_failed(failure: RowFailure, shape: tuple[int, int], at: Callable[[int], Array]) -> NoReturn:
    cause = failure.__cause__
    x = at(failure.row or 0)
    if failure.row is not None:
        where = f"at x = {_show(x)}; start elsewhere, or return a finite value there"
    else:
        where = f"on an array of shape {shape}; pass vectorized=False if it is a function of one point"
    error = EvaluationFailed(f"the function raised {type(cause).__name__}: {cause} {where}", x)
    error.row = failure.row
    raise error from cause


def _describe(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape not in (None, ()):
        return f"an array of shape {tuple(shape)}"
    return f"{value!r:.60} ({type(value).__name__})"


def _show(x: Array) -> str:
    return np.array2string(to_numpy(x), threshold=6, edgeitems=3, precision=6)
