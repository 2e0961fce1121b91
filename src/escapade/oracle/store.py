"""What was delivered: the best point, and the last pairs of a point and its value, in bounded memory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._array import Array, to_numpy
from .stencil import Stencil

Pairs = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass
class Store:
    """The best point always; the last pairs where `memory` (bytes) is left for them, the oldest given up first."""

    memory: int = 0
    best_x: Array = None
    best_fun: float = np.inf
    best_residuals: NDArray[np.float64] | None = None
    """There, where values are costs of residuals."""
    _blocks: deque[Pairs] = field(default_factory=deque, repr=False)
    _size: int = 0

    def add(
        self,
        values: NDArray[np.float64],
        stencil: Stencil,
        start: int,
        residuals: NDArray[np.float64] | None = None,
    ) -> None:
        """These values, NaN where one is missing, of the points of a stencil from one on; and the residuals, as rows,
        whose costs they are."""
        lowest = int(values.argmin())
        if np.isnan(values[lowest]) and not np.isnan(values).all():
            lowest = int(np.nanargmin(values))
        if values[lowest] < self.best_fun:
            row = stencil.rows(start + lowest, start + lowest + 1)  # the block may have been written to
            self.best_fun, self.best_x = float(values[lowest]), row[0, :]
            self.best_residuals = None if residuals is None else residuals[lowest].copy()
        if self.memory > 0:
            self._keep(values, stencil, start)

    def _keep(self, values: NDArray[np.float64], stencil: Stencil, start: int) -> None:
        most = max(1, self.memory // (8 * (stencil.d + 1)))
        start, values = start + max(0, len(values) - most), values[-most:]
        rows = to_numpy(stencil.rows(start, start + len(values))).astype(np.float64)
        self._blocks.append((rows, values.copy()))
        self._size += rows.nbytes + values.nbytes
        while self._size > self.memory and len(self._blocks) > 1:
            rows, values = self._blocks.popleft()
            self._size -= rows.nbytes + values.nbytes

    def pairs(self) -> Pairs:
        """The points kept, as rows, and their values; the oldest first."""
        if not self._blocks:
            return np.zeros((0, 0)), np.zeros(0)
        rows, values = zip(*self._blocks, strict=True)
        return np.concatenate(rows), np.concatenate(values)
