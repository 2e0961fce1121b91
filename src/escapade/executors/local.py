"""In-process executors: a scalar function in a loop, or a vectorised one in one call."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from .._array import Array
from . import padding


@runtime_checkable
class Evaluate(Protocol):
    """The one method: raw values of the rows of a block.

    `batch` is () for a plain function and (ids,) for a sampled one. A failure at row r is reported by raising
    `RowFailure(r)` from the user's exception, which ends the block; or, by an executor that goes on with the other
    rows, as a `RowFailure` in the place of the value, in a list.
    """

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> Any: ...

    def calls(self, rows: int) -> int:
        """How often the user's function is called for `rows` rows."""
        ...


class RowFailure(Exception):
    """The user's function raised at this row of the block, or was interrupted; the cause says what (None: at some row).

    `values` are those of the rows before it, where the executor has them.
    """

    def __init__(self, row: int | None, values: list[Any] | None = None) -> None:
        super().__init__(row)
        self.row, self.values = row, values


class NoValue(Exception):
    """Whoever evaluates says that a point has no value: it is missing, whatever the policy for failures is."""

    def at(self, row: int) -> RowFailure:
        """The same for a row of a block."""
        failure = RowFailure(row)
        failure.__cause__ = self
        return failure


@dataclass(frozen=True)
class Serial:
    """`fun(x, [ids,] *args) -> float`, one point at a time."""

    fun: Callable[..., Any]
    args: tuple[Any, ...] = ()
    ids_by_row: ClassVar[bool] = True
    """It takes ids of shape (rows, k), too: row r is averaged over ids[r]."""

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> list[Any]:
        own = batch[0] if batch and batch[0].ndim > 1 else None
        fun, extra = self.fun, batch + self.args
        rows = block if isinstance(block, np.ndarray) else [block[r, :] for r in range(block.shape[0])]
        out: list[Any] = []
        try:
            for x in rows:
                if own is not None:
                    extra = (own[len(out)], *self.args)
                value = fun(x, *extra) if extra else fun(x)
                # An array may be overwritten by the next call; a float may not.
                out.append(value if isinstance(value, float) else copy.copy(value))
        except BaseException as error:  # Ctrl-C too: what was paid for is not lost
            raise RowFailure(len(out), out) from error
        return out

    def calls(self, rows: int) -> int:
        return rows


@dataclass(frozen=True)
class Vectorized:
    """`fun(X, [ids,] *args) -> values`, one for every row of X."""

    fun: Callable[..., Any]
    args: tuple[Any, ...] = ()

    @property
    def ids_by_row(self) -> bool:
        """Whether the function says that it takes ids of shape (rows, k) too: row r is averaged over ids[r]."""
        return bool(getattr(self.fun, "ids_by_row", False))

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> Any:
        try:
            if self.pad:
                return padding.evaluated(lambda *points: self.fun(*points, *self.args), block, batch)
            return self.fun(block, *batch, *self.args)
        except Exception as error:
            raise RowFailure(None) from error

    @property
    def pad(self) -> bool:
        """Whether the function asks for blocks of a few sizes, by an attribute `pad`: see `padding`."""
        return bool(getattr(self.fun, "pad", False))

    def calls(self, rows: int) -> int:
        return len(padding.parts(rows)) if self.pad else 1
