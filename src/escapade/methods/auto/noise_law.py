"""How wrong values are, by their size: measured where it is needed, and again where f has become another."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..._array import Vector
from ...derivatives.noise import printed_unit
from ...derivatives.values import ValueKind, ValueReport, noise_of_table
from .settings import NOISY


@dataclass(frozen=True)
class NoiseRecord:
    """The noise of values of one size."""

    size: float
    variance: float
    weight: float
    """The differences behind it."""


@dataclass
class NoiseLaw:
    """The standard deviation of a value's error as a function of its size."""

    kind: ValueKind
    rounding: float
    """The error of an exact value, of its size."""
    records: list[NoiseRecord] = field(default_factory=list)

    @classmethod
    def of(cls, report: ValueReport, rounding: float) -> NoiseLaw:
        """What a look at the values of a start says."""
        law = cls(report.kind, rounding)
        if report.level > 0:
            law.records.append(NoiseRecord(max(report.size, 3 * report.level), report.level**2, 3))
        return law

    @property
    def silent(self) -> bool:
        """Whether no noise was seen."""
        return not self.records

    def deviation(self, values: Vector) -> Vector:
        """The standard deviation of the error of each value: that of the records of like sizes, in proportion."""
        size, exact = np.abs(values), self.rounding * np.abs(values)
        if not self.records:
            return exact
        known = np.array([one.size for one in self.records])
        size = np.maximum(size, NOISY.smallest * float(known.min()))
        apart = np.log10(np.maximum(size, 1e-300)[:, None] / known)
        weight = np.array([one.weight for one in self.records]) * np.exp(-2 * apart**2) + 1e-12
        variance = np.array([one.variance for one in self.records]) * (size[:, None] / known) ** 2
        out: Vector = np.maximum(np.sqrt((weight * variance).sum(1) / weight.sum(1)), exact)
        return out

    def unknown(self, value: float, error: float) -> bool:
        """Whether values of this size are far from all whose noise was measured."""
        size = max(abs(value), 3 * error, 1e-300)
        if self.kind is ValueKind.STEPS or not 0 < len(self.records) < NOISY.records:
            return False
        return min(abs(math.log10(one.size / size)) for one in self.records) > NOISY.decades

    def add(self, values: Vector) -> None:
        """Take what close values in a row show."""
        if len(values) < NOISY.least:
            return
        size = abs(float(np.mean(values)))
        if self.kind is ValueKind.DIGITS:
            level = printed_unit(values) / math.sqrt(12)
        else:
            level = noise_of_row(values)
        level = max(level, self.rounding * size)
        self.records.append(NoiseRecord(max(size, 3 * level, 1e-300), level**2, len(values) - 3))


def noise_of_row(values: Vector) -> float:
    """The standard deviation of the noise of a few equally spaced close values, from their third differences."""
    d = np.diff(values, 3)
    return math.sqrt(float(np.mean(d * d)) / 20) if len(d) else noise_of_table(values)
