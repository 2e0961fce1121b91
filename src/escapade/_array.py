"""The array namespace of a point, and the few operations the Array API leaves to us.

Algorithms are written against the Python array API standard: they ask `namespace(x)` for the module that
made x and keep its dtype and device. Small host-side algebra (tridiagonal matrices, d x d Hessians) is NumPy.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, TypeAlias

import array_api_compat
import array_api_compat.numpy
import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import idamax
from scipy.sparse import issparse

from .errors import InvalidSetting

Array: TypeAlias = Any
"""An array of the user's kind."""

Vector: TypeAlias = NDArray[np.float64]
"""A vector on the host."""

Matrix: TypeAlias = NDArray[np.float64]
"""A matrix on the host."""


def namespace(x: Array) -> Any:
    """The array API namespace of x."""
    return array_api_compat.numpy if type(x) is np.ndarray else array_api_compat.array_namespace(x)


def is_sparse(matrix: Any) -> bool:
    """Whether it is a sparse matrix of SciPy."""
    return bool(issparse(matrix))


def as_point(x: Any, name: str = "x0") -> Array:
    """A private copy of x as a finite one-dimensional floating array, in its own namespace."""
    if not array_api_compat.is_array_api_obj(x):
        try:
            x = np.asarray(x)
        except ValueError as error:
            raise InvalidSetting(f"{name} must be a vector of real numbers ({error})") from None
    xp = namespace(x)
    host = array_api_compat.is_numpy_array(x)
    refuse_half(x.dtype, name)
    if x.dtype.kind not in "biuf" if host else xp.isdtype(x.dtype, "complex floating"):
        raise InvalidSetting(
            f"{name}={x.tolist() if host else x!r:.60} must hold real numbers, not {x.dtype}: "
            "convert it to float, and split a complex variable into two real ones"
        )
    if not xp.isdtype(x.dtype, "real floating"):
        x = xp.astype(x, xp.float64)
    if x.ndim != 1 or x.shape[0] == 0:
        raise InvalidSetting(
            f"{name} must be a non-empty vector, not an array of shape {tuple(x.shape)}: "
            "flatten it, and reshape inside the function"
        )
    if not bool(xp.all(xp.isfinite(x))):
        bad = int(np.flatnonzero(~np.isfinite(to_numpy(x)))[0])
        raise InvalidSetting(f"{name} must be finite, but {name}[{bad}] = {float(x[bad])}")
    return xp.asarray(x, copy=True)


def refuse_half(dtype: Any, name: str) -> None:
    """Refuse the dtypes that are too coarse to take differences in."""
    short = str(dtype).rpartition(".")[2]
    if short in ("float16", "bfloat16", "half") or short.startswith("float8"):
        raise InvalidSetting(
            f"{name} in {short} has too few digits for differences: pass it as float32 or float64, and convert to "
            f"{short} inside the function if it must compute so"
        )


def like(values: Any, x: Array) -> Array:
    """Host numbers as an array of the namespace, dtype and device of x."""
    if type(x) is np.ndarray:
        return np.asarray(values, dtype=x.dtype)
    return namespace(x).asarray(np.asarray(values), dtype=x.dtype, device=array_api_compat.device(x))


def to_device(index: Any, x: Array) -> Array:
    """Host integers as an index array on the device of x."""
    if type(x) is np.ndarray:
        return np.asarray(index)
    return namespace(x).asarray(np.asarray(index), device=array_api_compat.device(x))


def to_numpy(x: Array) -> np.ndarray[Any, np.dtype[Any]]:
    """x on the host, as a NumPy array."""
    if type(x) is np.ndarray:
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu().numpy())
    if array_api_compat.is_cupy_array(x):
        return np.asarray(x.get())
    return np.asarray(x)


def dot(x: Array, y: Array) -> float:
    """Euclidean inner product, as a host float."""
    return float(namespace(x).sum(x * y))


def norm(x: Array) -> float:
    """Euclidean norm, as a host float; safe from overflow and underflow."""
    xp = namespace(x)
    top = float(xp.max(xp.abs(x)))
    if top == 0.0 or not np.isfinite(top):
        return top
    y = x / top
    return top * float(xp.sqrt(xp.sum(y * y)))


def norm2(v: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Euclidean norm of a host vector, without the options of NumPy's, which cost more than the sum."""
    return math.sqrt(v.dot(v))


def largest(v: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The largest entry of a host vector, in size."""
    return abs(float(v[idamax(v)]))


def epsilon(x: Array) -> float:
    """The machine epsilon of x's dtype."""
    return limits(x)[0]


def limits(x: Array) -> tuple[float, float]:
    """The machine epsilon of x's dtype, and its smallest normal number."""
    if type(x) is np.ndarray:
        return _limits(x.dtype)
    info = namespace(x).finfo(x.dtype)
    return float(info.eps), float(info.smallest_normal)


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The same for NumPy, which is asked for many times."""
    return float(np.finfo(dtype).eps), float(np.finfo(dtype).smallest_normal)


def repeat(x: Array, rows: int) -> Array:
    """`rows` fresh copies of the vector x, as the rows of a matrix."""
    if type(x) is np.ndarray:
        block = np.empty((rows, x.shape[0]), dtype=x.dtype)
        block[:] = x
        return block
    xp = namespace(x)
    return xp.asarray(xp.broadcast_to(x, (rows, x.shape[0])), copy=True)


def add_entries(block: Array, columns: np.ndarray[Any, np.dtype[np.int64]], values: Array) -> Array:
    """Add values[r] to block[r, columns[r]] for every row r; in place where the library allows it."""
    xp = namespace(block)
    where = to_device(columns, block)
    if _indexes_in_place(block):
        block[to_device(np.arange(block.shape[0]), block), where] += values
        return block
    device = array_api_compat.device(block)
    hit = xp.arange(block.shape[1], device=device)[None, :] == where[:, None]
    return block + xp.astype(hit, block.dtype) * values[:, None]


def _indexes_in_place(x: Array) -> bool:
    """NumPy, CuPy and torch arrays take integer-array assignment; the standard does not promise it."""
    return type(x) is np.ndarray or bool(array_api_compat.is_cupy_array(x) or array_api_compat.is_torch_array(x))
