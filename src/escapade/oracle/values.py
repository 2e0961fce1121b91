"""From what a function returned to float64, or to an error that says what it should have returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, to_numpy
from ..errors import InvalidValue
from ..executors import RowFailure
from ..loss import Loss


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


@dataclass
class Numbers:
    """What a function returns for each point: one real number."""

    def read(
        self, raw: Any, shape: tuple[int, int], at: Callable[[int], Array]
    ) -> tuple[NDArray[np.float64], float] | None:
        """See `as_floats`."""
        return as_floats(raw, shape, at)

    def missing(self, rows: int) -> NDArray[np.float64]:
        """What stands for values that are missing."""
        return np.full(rows, np.nan)

    def costs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number for each of these values, by which they compare; not finite where one is no use."""
        return values

    def answered(self, answer: Any) -> NDArray[np.float64]:
        """What a policy gave for a value; NaN where that is none."""
        value = np.asarray(float(answer))
        return value if np.isfinite(value) else np.asarray(np.nan)


NUMBERS = Numbers()


@dataclass
class Residuals(Numbers):
    """What a function returns for each point: a vector of residuals, always as long as the first; and what it costs."""

    loss: Loss
    length: int | None = None

    def read(
        self, raw: Any, shape: tuple[int, int], at: Callable[[int], Array]
    ) -> tuple[NDArray[np.float64], float] | None:
        """Raw results as rows of float64 and their machine epsilon; None if some of them are failures."""
        if isinstance(raw, list) and any(isinstance(value, RowFailure) for value in raw):
            return None
        if not hasattr(raw, "__len__") or len(raw) != shape[0]:
            raise InvalidValue(
                f"with vectorized=True the function must return a matrix with {shape[0]} rows of residuals for "
                f"{shape[0]} points (rows of an array of shape {shape}), but returned {_describe(raw)}; return an "
                f"array of shape ({shape[0]}, m), or pass vectorized=False for a function of one point",
                at(0),
            )
        eps, rows = 0.0, []
        for row in range(shape[0]):
            values = self._vector(raw[row], lambda row=row: at(row))  # type: ignore[misc]
            eps = max(eps, epsilon(values) if values.dtype.kind == "f" else 0.0)
            rows.append(values.astype(np.float64))
        return np.stack(rows), eps

    def _vector(self, value: Any, at: Callable[[], Array]) -> NDArray[Any]:
        try:
            vector = to_numpy(value) if array_api_compat.is_array_api_obj(value) else np.asarray(value)
        except (ValueError, TypeError, RuntimeError):
            vector = np.empty((0, 0), dtype=object)
        if vector.ndim != 1 or vector.dtype.kind not in "fiub" or len(vector) == 0:
            what = f"an array of shape {vector.shape}" if vector.ndim > 1 else _describe(value)
            raise InvalidValue(
                f"the function must return a vector of residuals, but returned {what} at x = {show(at())}; return a "
                "one-dimensional array of real numbers (for a function of one number, use minimize)",
                at(),
            )
        if self.length is not None and len(vector) != self.length:
            raise InvalidValue(
                f"the function returned {len(vector)} residuals at x = {show(at())}, and {self.length} at the first "
                "point: return as many everywhere (NaN for one that is missing)",
                at(),
            )
        self.length = len(vector)
        return np.asarray(vector)

    def missing(self, rows: int) -> NDArray[np.float64]:
        return np.full((rows, self.length or 1), np.nan)

    def costs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.loss.cost(values)

    def answered(self, answer: Any) -> NDArray[np.float64]:
        value = np.asarray(answer, dtype=np.float64)
        fits = value.shape == (self.length,) and np.isfinite(value).all()
        return value if fits else np.full(self.length or 1, np.nan)


def lost_rows(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values, numbers or rows, are missing."""
    return np.isnan(values) if values.ndim == 1 else np.asarray(np.isnan(values).any(axis=1))


def _describe(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape not in (None, ()):
        return f"an array of shape {tuple(shape)}"
    return f"{value!r:.60} ({type(value).__name__})"


def show(x: Array) -> str:
    return np.array2string(to_numpy(x), threshold=6, edgeitems=3, precision=6)
