"""What happens when the user's function raises, or returns what is not a number. The one place for it.

Policies other than "raise" (retry, penalise, timeouts) belong here and nowhere else.
"""

from __future__ import annotations

from typing import Any, NoReturn

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from .._array import Array, to_numpy
from ..errors import EvaluationFailed, InvalidValue, NonFiniteValue
from ..executors.local import Evaluate, RowFailure


def checked_values(evaluate: Evaluate, block: Array, batch: tuple[Any, ...]) -> NDArray[np.float64]:
    """The values of the rows of a block as float64, or a typed error that names the point."""
    try:
        raw = evaluate(block, batch)
    except RowFailure as failure:
        _raise_failed(failure, block)
    values = _as_floats(raw, block)
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        x = _copy(block, row)
        raise NonFiniteValue(
            f"the function returned {values[row]} at x = {_show(x)}; "
            "start elsewhere, bound the variables inside the function, or return a finite value there",
            x,
        )
    return values


def _as_floats(raw: Any, block: Array) -> NDArray[np.float64]:
    """Raw results as float64, or InvalidValue at the first that is not one real number."""
    m = block.shape[0]
    single = isinstance(raw, list)
    try:
        values = to_numpy(raw) if array_api_compat.is_array_api_obj(raw) else np.asarray(raw)
    except (ValueError, TypeError):
        values = np.empty(0, dtype=object)
    if values.shape == (m,) and values.dtype.kind in "fiub":
        return values.astype(np.float64)
    if not single:
        shape = getattr(raw, "shape", None)
        what = f"{type(raw).__name__} of shape {tuple(shape)}" if shape is not None else type(raw).__name__
        kind = f" and dtype {values.dtype}" if values.dtype.kind not in "fiub" else ""
        raise InvalidValue(
            f"with vectorized=True the function must return {m} real values for {m} points (rows of an array "
            f"of shape {tuple(block.shape)}), but returned {what}{kind}; return an array of shape ({m},), "
            "or pass vectorized=False for a function of one point",
            _copy(block, 0),
        )
    out = np.empty(m)
    for row, value in enumerate(raw):
        out[row] = _as_float(value, block, row)
    return out


def _as_float(value: Any, block: Array, row: int) -> float:
    """One result as a float, or InvalidValue."""
    scalar = to_numpy(value) if array_api_compat.is_array_api_obj(value) else value
    if not isinstance(scalar, str | bytes) and np.ndim(scalar) == 0:
        kind = np.asarray(scalar).dtype.kind
        if kind in "fiub":
            return float(scalar)
        if kind == "O" and hasattr(scalar, "__float__"):
            return float(scalar)
    shape = getattr(value, "shape", None)
    what = (
        f"an array of shape {tuple(shape)}" if shape not in (None, ()) else f"{value!r:.60} ({type(value).__name__})"
    )
    x = _copy(block, row)
    raise InvalidValue(
        f"the function must return one real number, but returned {what} at x = {_show(x)}; "
        "return float(value), or pass vectorized=True if it maps the rows of a matrix to values",
        x,
    )


def _raise_failed(failure: RowFailure, block: Array) -> NoReturn:
    cause = failure.__cause__
    row = 0 if failure.row is None else failure.row
    x = _copy(block, row)
    where = f"at x = {_show(x)}" if failure.row is not None else f"on a block of shape {tuple(block.shape)}"
    raise EvaluationFailed(f"the function raised {type(cause).__name__}: {cause} {where}", x) from cause


def _copy(block: Array, row: int) -> Array:
    return block[row, :] + 0.0


def _show(x: Array) -> str:
    return np.array2string(to_numpy(x), threshold=6, edgeitems=3, precision=6)
