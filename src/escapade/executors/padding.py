"""Blocks of a few sizes, for functions that are compiled anew for every shape.

A block is cut into blocks of `SIZES`, and the last part is filled up with copies of its last row where that wastes at
most half of it. The values of the copies are thrown away: they are no queries, because nobody is given them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np

from .._array import Array, namespace, to_numpy

SIZES = (1, 16, 128, 1024)
"""Rows of the blocks that reach the function."""


def parts(rows: int) -> list[tuple[int, int, int]]:
    """How a block of so many rows is cut: the first row of each part, the one after its last, and its padded size."""
    cut: list[tuple[int, int, int]] = []
    start = 0
    while start < rows:
        left = rows - start
        above = next((size for size in SIZES if size >= left), SIZES[-1])
        below = max(size for size in SIZES if size <= left)
        size = above if 2 * left >= above else below
        cut.append((start, min(start + size, rows), size))
        start += size
    return cut


def evaluated(fun: Callable[..., Any], block: Array, batch: tuple[Any, ...]) -> Any:
    """The values of the rows of a block, asked for in blocks of a few sizes."""
    values = []
    for start, stop, size in parts(int(block.shape[0])):
        own = tuple(_padded(ids, start, stop, size) if ids.ndim > 1 else ids for ids in batch)
        raw = fun(_padded(block, start, stop, size), *own)
        if not array_api_compat.is_array_api_obj(raw):
            raw = np.asarray(raw)
        if tuple(raw.shape) != (size,):
            return raw  # whoever asked says what it should have been
        values.append(to_numpy(raw)[: stop - start])
    return values[0] if len(values) == 1 else np.concatenate(values)


def _padded(block: Array, start: int, stop: int, size: int) -> Array:
    rows = block[start:stop, :]
    if stop - start == size:
        return rows
    xp = namespace(block)
    last = xp.broadcast_to(block[stop - 1 : stop, :], (size - (stop - start), block.shape[1]))
    return xp.concat([rows, last], axis=0)
