"""Stencils: points described, not built.

A stencil knows its length and can make any block of its rows, so that x ± mu e_i for 100,000 coordinates is
evaluated in blocks of a few megabytes instead of the 160 GB of its dense form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array, add_entries, like, namespace, repeat, to_device


@dataclass(slots=True)
class Stencil:
    """`size` points of dimension `d`; `rows(start, stop)` builds some of them as a fresh matrix."""

    size: int
    d: int
    rows: Callable[[int, int], Array]

    def __add__(self, other: Stencil) -> Stencil:
        """The points of both, in one round."""
        cut = self.size

        def rows(start: int, stop: int) -> Array:
            if stop <= cut:
                return self.rows(start, stop)
            if start >= cut:
                return other.rows(start - cut, stop - cut)
            head, tail = self.rows(start, cut), other.rows(0, stop - cut)
            return namespace(head).concat([head, tail], axis=0)

        return Stencil(cut + other.size, self.d, rows)

    def every(self, step: int, start: int) -> Stencil:
        """Every `step`-th point, from one of them on."""
        which = range(start, self.size, step)

        def rows(first: int, last: int) -> Array:
            parts = [self.rows(row, row + 1) for row in which[first:last]]
            return namespace(parts[0]).concat(parts, axis=0)

        return Stencil(len(which), self.d, rows)

    def chosen(self, which: np.ndarray[Any, np.dtype[np.int64]]) -> Stencil:
        """Some of the points, by their numbers."""

        def rows(first: int, last: int) -> Array:
            parts = [self.rows(int(row), int(row) + 1) for row in which[first:last]]
            return namespace(parts[0]).concat(parts, axis=0)

        return Stencil(len(which), self.d, rows)

    def scaled(self, unit: Array) -> Stencil:
        """The points times `unit`, coordinate by coordinate."""
        return Stencil(self.size, self.d, lambda start, stop: self.rows(start, stop) * unit)


def points(matrix: Array) -> Stencil:
    """The rows of a matrix."""
    return Stencil(matrix.shape[0], matrix.shape[1], lambda start, stop: matrix[start:stop, :] + 0.0)


def point(x: Array) -> Stencil:
    """One point."""
    return points(x[None, :])


def axes(x: Array, steps: Array, *, centre: bool = False) -> Stencil:
    """x + steps_i e_i for every coordinate i; and then x, if that is asked for."""
    d = x.shape[0]

    def rows(start: int, stop: int) -> Array:
        block = repeat(x, stop - start)
        if type(block) is np.ndarray:
            block.reshape(-1)[start :: d + 1][: stop - start] += steps[start:stop]  # the diagonal, which ends at d
            return block
        return add_entries(block, np.arange(start, stop), steps[start:stop])

    if centre and type(x) is not np.ndarray:
        return Stencil(d, d, rows) + point(x)
    return Stencil(d + centre, d, rows)


def central(x: Array, steps: Array) -> Stencil:
    """x + steps_i e_i for every coordinate i, and then x - steps_i e_i."""
    d = x.shape[0]
    both = namespace(x).concat([steps, -steps])

    def rows(start: int, stop: int) -> Array:
        return add_entries(repeat(x, stop - start), np.arange(start, stop) % d, both[start:stop])

    return Stencil(2 * d, d, rows)


def some_axes(x: Array, steps: Array, which: np.ndarray[Any, np.dtype[np.int64]]) -> Stencil:
    """x + steps_i e_i for the coordinates i in `which`."""
    chosen = _take(steps, which)

    def rows(start: int, stop: int) -> Array:
        return add_entries(repeat(x, stop - start), which[start:stop], chosen[start:stop])

    return Stencil(len(which), x.shape[0], rows)


def few_axes(x: Array, which: np.ndarray[Any, np.dtype[np.int64]], steps: np.ndarray[Any, Any]) -> Stencil:
    """x + sum_j steps[r, j] e_i, i = which[r, j], for every row r of the two matrices."""

    def rows(start: int, stop: int) -> Array:
        block = repeat(x, stop - start)
        for j in range(which.shape[1]):
            block = add_entries(block, which[start:stop, j], like(steps[start:stop, j], x))
        return block

    return Stencil(len(which), x.shape[0], rows)


def pairs(x: Array, steps: Array, sign: float) -> Stencil:
    """x + sign (steps_i e_i + steps_j e_j) for all i < j, in the order of `numpy.triu_indices`."""
    i, j = np.triu_indices(x.shape[0], k=1)
    along_i, along_j = _take(steps, i), _take(steps, j)

    def rows(start: int, stop: int) -> Array:
        block = add_entries(repeat(x, stop - start), i[start:stop], sign * along_i[start:stop])
        return add_entries(block, j[start:stop], sign * along_j[start:stop])

    return Stencil(len(i), x.shape[0], rows)


def _take(v: Array, index: np.ndarray[Any, np.dtype[Any]]) -> Array:
    return namespace(v).take(v, to_device(index, v), axis=0)
