"""Points that are not vectors: numbers, arrays of any shape, dictionaries and nested structures of arrays.

One adapter at the door. A run sees vectors on the host; the user's function is handed points in the structure of x0,
and results come back in it. Nothing inside knows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from ._array import refuse_half, to_numpy
from .errors import InvalidSetting


@dataclass(frozen=True)
class Leaf:
    """One array of a structure."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    like: Any = None
    """An array of its namespace and device, with no entries; None: NumPy."""

    @property
    def size(self) -> int:
        """The number of its entries."""
        return math.prod(self.shape)

    def array(self, values: NDArray[Any], lead: tuple[int, ...]) -> Any:
        """Host values, with these axes before its own, as such an array."""
        shaped = values.reshape((*lead, *self.shape))
        if self.like is None:
            shaped = shaped.astype(self.dtype, copy=False)
            return shaped[()] if shaped.ndim == 0 else shaped
        xp = array_api_compat.array_namespace(self.like)
        device = array_api_compat.device(self.like)
        return xp.asarray(np.ascontiguousarray(shaped), dtype=self.like.dtype, device=device)


@dataclass(frozen=True)
class Structure:
    """How a point is put together: its arrays, and what holds them."""

    leaves: tuple[Leaf, ...]
    spec: Any
    """Nested plain data with "leaf" in the places of arrays; or a treedef of JAX."""

    @classmethod
    def of(cls, x: Any, name: str = "x0") -> tuple[Structure, NDArray[Any]] | None:
        """The structure of a point and its numbers as one vector; None where it is a vector that needs no adapter."""
        if _is_plain_vector(x):
            return None
        found: list[tuple[str, Any]] = []
        spec = _opened(x, name, found)
        if not found:
            return None
        for path, array in found:
            refuse_half(array.dtype, path)
        arrays = [to_numpy(array) for _, array in found]
        for (path, _), array in zip(found, arrays, strict=True):
            if array.dtype.kind not in "biuf":
                raise InvalidSetting(
                    f"{path}={array.tolist()!r:.60} must hold real numbers, not {array.dtype}: "
                    "convert it to float, and split a complex variable into two real ones"
                )
        dtype = np.result_type(*(a.dtype if a.dtype.kind == "f" else np.dtype(np.float64) for a in arrays))
        leaves = tuple(_leaf(path, given, host) for (path, given), host in zip(found, arrays, strict=True))
        vector = np.concatenate([a.reshape(-1).astype(dtype) for a in arrays])
        if len(vector) == 0:
            raise InvalidSetting(f"{name} must hold at least one number, but its arrays are empty")
        structure = cls(leaves, spec)
        bad = np.flatnonzero(~np.isfinite(vector))
        if len(bad):
            raise InvalidSetting(f"{name} must be finite, but {structure.names[bad[0]]} = {vector[bad[0]]}")
        return structure, vector

    @cached_property
    def names(self) -> list[str]:
        """A name for every number: "w[0, 1]"."""
        out: list[str] = []
        for leaf in self.leaves:
            places = np.ndindex(*leaf.shape)
            out += [f"{leaf.name}[{', '.join(map(str, at))}]" if at else leaf.name for at in places]
        return out

    @property
    def size(self) -> int:
        """The number of variables."""
        return sum(leaf.size for leaf in self.leaves)

    @property
    def on_jax(self) -> bool:
        """Whether points are handed over as JAX's arrays."""
        return any(leaf.like is not None and array_api_compat.is_jax_array(leaf.like) for leaf in self.leaves)

    def built(self, vector: Any) -> Any:
        """A point from its vector; from rows, the points of all of them, each array with one more axis in front."""
        host = to_numpy(vector)
        lead, arrays, start = host.shape[:-1], [], 0
        for leaf in self.leaves:
            arrays.append(leaf.array(host[..., start : start + leaf.size], lead))
            start += leaf.size
        return _closed(self.spec, iter(arrays))

    def flat(self, tree: Any, what: str) -> NDArray[Any]:
        """The vector of something with the structure of the point, such as its gradient."""
        found: list[tuple[str, Any]] = []
        _opened(tree, what, found)
        arrays = [to_numpy(array) for _, array in found]
        shapes, own = [a.shape for a in arrays], [leaf.shape for leaf in self.leaves]
        if shapes != own:
            raise InvalidSetting(f"{what} must have the structure of the point, arrays of shapes {own}, not {shapes}")
        return np.concatenate([a.reshape(-1) for a in arrays])

    def plain(self) -> Any:
        """The structure as JSON can hold it; None where it is one that only JAX knows."""
        if not isinstance(self.spec, list | str):
            return None
        return {"spec": self.spec, "leaves": [[leaf.name, list(leaf.shape), leaf.dtype] for leaf in self.leaves]}

    @classmethod
    def restored(cls, data: Any) -> Structure | None:
        """That of plain data; its arrays are those of NumPy."""
        if data is None:
            return None
        leaves = tuple(Leaf(name, tuple(shape), dtype) for name, shape, dtype in data["leaves"])
        return cls(leaves, data["spec"])


def _is_plain_vector(x: Any) -> bool:
    """A vector that runs take as it is: of NumPy, or of another namespace that computes at once."""
    if array_api_compat.is_jax_array(x):  # every operation of its own shape is compiled: points stay on the host
        return False
    if array_api_compat.is_array_api_obj(x):
        return x.ndim == 1 or 0 in x.shape
    if x is None or isinstance(x, str) or _is_vector(x):
        return True
    return not isinstance(x, Mapping | Sequence | float | int) and not _known_to_jax(x)


def _known_to_jax(x: Any) -> bool:
    """Whether x is of a class that JAX can open."""
    jax = sys.modules.get("jax")
    return jax is not None and not jax.tree_util.all_leaves([x])


def _is_vector(x: Any) -> bool:
    """A sequence of numbers."""
    return isinstance(x, Sequence) and all(_is_number(item) or item is None or isinstance(item, str) for item in x)


def _is_number(x: Any) -> bool:
    return np.ndim(x) == 0 and not isinstance(x, Mapping) and not array_api_compat.is_array_api_obj(x)


def _leaf(path: str, given: Any, host: NDArray[Any]) -> Leaf:
    own = array_api_compat.is_array_api_obj(given) and not isinstance(given, np.ndarray | np.generic)
    dtype = host.dtype if host.dtype.kind == "f" else np.dtype(np.float64)
    like = None
    if own:
        xp = array_api_compat.array_namespace(given)
        kept = given.dtype if host.dtype.kind == "f" else xp.float64
        like = xp.empty((0,), dtype=kept, device=array_api_compat.device(given))
    return Leaf(path, tuple(host.shape), str(dtype), like)


def _opened(x: Any, name: str, found: list[tuple[str, Any]]) -> Any:
    """What holds the arrays of x, which are added to those found; dictionaries by sorted keys, as JAX does."""
    if array_api_compat.is_array_api_obj(x):
        found.append((name, x))
        return "leaf"
    if isinstance(x, Mapping) and type(x) is dict and all(isinstance(key, str) for key in x):
        return ["dict", {key: _opened(x[key], f"{name}[{key!r}]", found) for key in sorted(x)}]
    if type(x) in (list, tuple) and not _is_regular(x):
        if not any(_holds_arrays(item) for item in x):
            raise InvalidSetting(f"{name}={x!r:.60} must be a vector, or hold arrays: its shape is inhomogeneous")
        return [type(x).__name__, [_opened(item, f"{name}[{i}]", found) for i, item in enumerate(x)]]
    if isinstance(x, bool | int | float | np.number | list | tuple) and (_is_regular(x) or _is_number(x)):
        found.append((name, np.asarray(x)))
        return "leaf"
    return _opened_by_jax(x, name, found)


def _is_regular(x: Any) -> bool:
    """Nested lists that hold the numbers of one array; arrays within a list are held by the list."""
    if not isinstance(x, list | tuple):
        return False
    if any(array_api_compat.is_array_api_obj(item) or isinstance(item, Mapping) for item in x):
        return False
    try:
        return np.asarray(x).dtype != object
    except ValueError:
        return False


def _holds_arrays(x: Any) -> bool:
    """Whether there are arrays in it, and not numbers alone."""
    if isinstance(x, list | tuple):
        return any(map(_holds_arrays, x))
    return not _is_number(x)


def _opened_by_jax(x: Any, name: str, found: list[tuple[str, Any]]) -> Any:
    """The same by JAX's flattening, if JAX is there: it knows the classes that were registered with it."""
    jax = sys.modules.get("jax")
    if jax is None:
        raise InvalidSetting(
            f"{name}={x!r:.60} must hold real numbers: a number, an array, or dictionaries with names as keys, lists "
            "and tuples of them (with JAX imported, anything registered with jax.tree_util)"
        )
    leaves, treedef = jax.tree_util.tree_flatten_with_path(x)
    if any(leaf is x for _, leaf in leaves):
        raise InvalidSetting(f"{name}={x!r:.60} must hold real numbers")
    for path, leaf in leaves:
        own: list[tuple[str, Any]] = []
        _opened(leaf, f"{name}{jax.tree_util.keystr(path)}", own)
        found += own
    return treedef


def _closed(spec: Any, arrays: Iterator[Any]) -> Any:
    """The arrays held again by what held them."""
    if spec == "leaf":
        return next(arrays)
    if not isinstance(spec, list):
        return spec.unflatten([next(arrays) for _ in range(spec.num_leaves)])
    kind, held = spec
    if kind == "dict":
        return {key: _closed(item, arrays) for key, item in held.items()}
    items = [_closed(item, arrays) for item in held]
    return tuple(items) if kind == "tuple" else items
