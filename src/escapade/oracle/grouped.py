"""f_S for a batch S of several groups of samples, as a function of x alone; the averages of each group are remembered.

A method that minimises f_S asks this oracle as any other. What the groups say apart tells how far f_S may be from f,
and serves again when S grows.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .._array import Array, to_numpy
from .batch import Batch
from .oracle import Oracle
from .stencil import Stencil

Values = NDArray[np.float64]


@dataclass
class Memory:
    """The averages of each group at the last points."""

    most: int
    """Points that are remembered."""
    values: OrderedDict[bytes, Values] = field(default_factory=OrderedDict)

    def add(self, rows: Values, values: Values) -> None:
        """The averages at these points, a row each."""
        for x, seen in zip(rows, values, strict=True):
            self.values[x.tobytes()] = seen
            self.values.move_to_end(x.tobytes())
        while len(self.values) > self.most:
            self.values.popitem(last=False)

    def get(self, rows: Values) -> Values | None:
        """Those at these points, if all are remembered."""
        found = [self.values.get(x.tobytes()) for x in rows]
        return None if any(one is None for one in found) else np.stack(found)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Tilt:
    """A linear function, slope'(x - anchor), that is added to f_S."""

    slope: Values
    anchor: Values

    def __call__(self, rows: Values) -> Values:
        added: Values = (rows - self.anchor) @ self.slope
        return added


@dataclass(frozen=True)
class GroupedOracle(Oracle):
    """f_S, and the averages of the groups that S is made of."""

    groups: tuple[Batch, ...] = ()
    memory: Memory = field(default_factory=lambda: Memory(0))
    tilt: Tilt | None = None

    @classmethod
    def over(cls, f: Oracle, groups: tuple[Batch, ...], most: int) -> GroupedOracle:
        """That of an oracle, over these groups."""
        return cls(f._engine, f.purpose, unit=f.unit, groups=groups, memory=Memory(most))

    @property
    def size(self) -> int:
        """Samples in all."""
        return sum(group.weight for group in self.groups)

    def tilted(self, tilt: Tilt | None) -> GroupedOracle:
        """The same with this linear function added, or none."""
        return replace(self, tilt=tilt)

    def seen(self, stencil: Stencil) -> Values:
        """The averages of each group at the points of a stencil, a column a group; those remembered are not asked for.

        Queries: none, or 1 for each point and sample
        """
        rows = _rows(stencil)
        known = self.memory.get(rows)
        if known is None:
            self(stencil)
            known = self.memory.get(rows)
        assert known is not None
        return known

    def grown(self, more: tuple[Batch, ...], stencil: Stencil) -> GroupedOracle:
        """f_S for an S with more samples in each group, which knows the values at a stencil.

        Queries: 1 for each point and new sample
        """
        old, new = self.seen(stencil), Oracle(self._engine, self.purpose, unit=self.unit).by_group(stencil, more)
        share = self.size / (self.size + sum(group.weight for group in more))
        pairs = zip(self.groups, more, strict=True)
        groups = tuple(Batch(np.concatenate([a.ids, b.ids])) for a, b in pairs)
        larger = replace(self, groups=groups, memory=Memory(self.memory.most))
        larger.memory.add(_rows(stencil), share * old + (1 - share) * new)
        return larger

    def _weight(self) -> int:
        return self.size

    def _evaluate(self, stencil: Stencil, *, keep_best: bool) -> tuple[Values, str]:
        del keep_best
        columns, reasons = [], [""]
        plain = Oracle(self._engine, self.purpose, unit=self.unit)
        for group in self.groups:
            self._in_time()
            values, why = plain.on(group)._evaluate(stencil, keep_best=False)
            columns.append(values)
            reasons.append(why)
        table, rows = np.stack(columns, axis=1), _rows(stencil)
        self.memory.add(rows, table)
        means = table.mean(axis=1)
        return means if self.tilt is None else means + self.tilt(rows), max(reasons, key=bool)


def _rows(stencil: Stencil) -> Values:
    rows: Array = stencil.rows(0, stencil.size)
    return np.ascontiguousarray(to_numpy(rows), dtype=np.float64)
