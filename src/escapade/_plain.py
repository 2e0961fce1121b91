"""Results as plain data, as JSON has them, and back.

NaN and infinities are null. They come back as what the type of the field says: None where it may be None, the far ends
of an interval, infinity in a pair of tolerances, NaN elsewhere.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from ._array import is_sparse, to_numpy

ENDS = (-math.inf, math.inf)
"""What null is at the ends of an interval; another infinity there is its name."""

POINTS = ("x", "x0", "x_best", "direction")
"""Fields in the dtype of the point; other arrays are float64."""


def plain(value: Any) -> Any:
    """A value of a result as JSON can hold it: a dataclass of numbers alone as their list, another as a dictionary."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if _of_numbers(type(value)):
            numbers = [float(getattr(value, field.name)) for field in dataclasses.fields(value)]
            return [None if x == end else _finite(x) for x, end in zip(numbers, ENDS, strict=True)]
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if is_sparse(value):
        entries: Any = sparse.coo_array(value)
        rows, columns = (side.tolist() for side in entries.coords)
        return {"shape": list(value.shape), "rows": rows, "columns": columns, "entries": plain(entries.data)}
    if hasattr(value, "shape") and tuple(value.shape) != ():
        host = to_numpy(value)
        return host.tolist() if np.isfinite(host).all() else plain(host.tolist())
    return float(value) if math.isfinite(value) else None


def _finite(x: float) -> float | str:
    """A number, or its name if JSON has none for it."""
    return x if math.isfinite(x) else str(x)


def dtype_of(x: Any) -> str:
    """The name of the dtype of a point."""
    return str(getattr(x, "dtype", "float64")).rpartition(".")[2]


def restored(cls: Any, data: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """The fields of a class from plain data: those that it declares, as it declares them."""
    hints = get_type_hints(cls)
    return {
        name: np.asarray(item, dtype=dtype) if name in POINTS and item is not None else value_of(hints[name], item)
        for name, item in data.items()
        if name in hints
    }


def value_of(hint: Any, data: Any) -> Any:
    """Plain data as a value of this type."""
    kind, within = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return None if data is None else value_of(next(one for one in within if one is not NoneType), data)
    if kind is float:
        return math.nan if data is None else float(data)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if dataclasses.is_dataclass(kind):
        return _instance(kind, data)
    if kind is dict:
        return {within[0](key): value_of(within[1], item) for key, item in data.items()}
    if kind is list:
        return [value_of(within[0], item) for item in data]
    if kind is tuple:
        return tuple(math.inf if item is None else item for item in data)
    if isinstance(data, dict) and data.keys() == {"shape", "rows", "columns", "entries"}:
        return sparse.csc_array((data["entries"], (data["rows"], data["columns"])), shape=data["shape"])
    return np.asarray(data, dtype=np.float64) if isinstance(data, list) else data


def _instance(cls: Any, data: Any) -> Any:
    """A dataclass: one of numbers alone is an interval, the ends of which may be infinite."""
    if isinstance(data, list):
        return cls(*(end if item is None else float(item) for item, end in zip(data, ENDS, strict=True)))
    fields = restored(cls, data, "float64")
    return cls(**{name: math.inf if data[name] is None and item is not None else item for name, item in fields.items()})


def _of_numbers(cls: type) -> bool:
    """Whether it is a pair of numbers, such as an interval."""
    return list(get_type_hints(cls).values()) == [float, float]
