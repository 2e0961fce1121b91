"""A minibatch of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidSetting
from .stencil import Stencil


@dataclass(frozen=True)
class Batch:
    """A minibatch is a value: the same sample ids serve at several points, and cannot be written to."""

    ids: NDArray[np.int64]
    whole: bool = False
    """Whether these are all samples of a finite sum: its values are those of the function itself."""

    def __post_init__(self) -> None:
        ids = np.array(self.ids, dtype=np.int64)
        if ids.ndim != 1 or len(ids) == 0:
            raise InvalidSetting(f"a batch must be a non-empty vector of ids, not of shape {ids.shape}")
        ids.flags.writeable = False
        object.__setattr__(self, "ids", ids)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def weight(self) -> int:
        """Queries at one point."""
        return len(self.ids)

    def of_rows(self, span: tuple[int, int]) -> tuple[NDArray[np.int64], ...]:
        """The ids that the function is given for the points from one of a stencil to another."""
        del span
        return (self.ids,)


@dataclass(frozen=True)
class Components(Batch):
    """The components of a minibatch apart: row r of a stencil is evaluated on sample r mod |S| alone.

    So are directions of their own asked for in one round. A function whose attribute `ids_by_row` is true is given
    the ids of many rows at once, with shape (rows, 1); others are called once for each component.
    """

    @property
    def weight(self) -> int:
        return 1

    def of_rows(self, span: tuple[int, int]) -> tuple[NDArray[np.int64], ...]:
        return (self.ids[np.arange(*span) % len(self.ids)][:, None],)

    def one_by_one(
        self, stencil: Stencil, evaluate: Callable[[Batch, Stencil], tuple[NDArray[np.float64], str]]
    ) -> tuple[NDArray[np.float64], str]:
        """The values at a stencil, and why one is missing, from those of each component's rows."""
        b, values, reasons = len(self.ids), np.empty(stencil.size), [""]
        for k in range(min(b, stencil.size)):
            values[k::b], why = evaluate(Batch(self.ids[k : k + 1]), stencil.every(b, k))
            reasons.append(why)
        return values, max(reasons, key=bool)
