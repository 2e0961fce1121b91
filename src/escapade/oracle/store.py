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
    known: dict[bytes, tuple[float, bool]] = field(default_factory=dict, repr=False)
    """Values that need not be asked for, by the bytes of their points; and whether the user gave them."""
    _firsts: set[float] = field(default_factory=set, repr=False)
    """The first coordinates of their points."""
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
        if not np.isfinite(values[lowest]) and np.isfinite(values).any():  # NaN is missing, and -inf no value to keep
            lowest = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        if -np.inf < values[lowest] < self.best_fun:
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

    def know(self, rows: Array, values: NDArray[np.float64], *, given: bool) -> None:
        """These values of the rows of a matrix need not be asked for."""
        host = to_numpy(rows) + 0.0  # -0 is 0
        for k, value in enumerate(values.tolist()):
            self.known[host[k].tobytes()] = (value, given)
            self._firsts.add(float(host[k, 0]))
            if value < self.best_fun and given:
                self.best_fun, self.best_x = value, rows[k, :] + 0.0

    def recall(self, rows: Array) -> tuple[NDArray[np.float64], int]:
        """The values known of these rows, NaN of the others; and how many of them the user gave."""
        host, given = to_numpy(rows), 0
        values = np.full(len(host), np.nan)
        for k in np.flatnonzero(np.isin(host[:, 0], np.fromiter(self._firsts, dtype=np.float64))):
            value, own = self.known.get((host[k] + 0.0).tobytes(), (np.nan, False))
            values[k], given = value, given + own
        return values, given

    def pairs(self) -> Pairs:
        """The points kept, as rows, and their values; the oldest first."""
        if not self._blocks:
            return np.zeros((0, 0)), np.zeros(0)
        rows, values = zip(*self._blocks, strict=True)
        return np.concatenate(rows), np.concatenate(values)
