"""How wrong values are, by their size: measured where it is needed, and again where f has become another."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..._array import Vector
from ...derivatives.noise import printed_unit
from ...derivatives.settings import VALUES
from ...derivatives.values import ValueKind, ValueReport, scatter
from .settings import NOISY


@dataclass(frozen=True)
class NoiseRecord:
    """The noise of values of one size."""

    size: float
    level: float
    """Its standard deviation."""
    weight: float
    """The differences behind it."""


@dataclass
class NoiseLaw:
    """The standard deviation of a value's error as a function of its size."""

    kind: ValueKind
    rounding: float
    """The error of an exact value, of its size."""
    records: list[NoiseRecord] = field(default_factory=list)
    close: bool = True
    """Whether errors differ between points however close they are."""
    gone: bool = False
    """Whether the last values that were measured showed none."""

    @classmethod
    def of(cls, report: ValueReport, rounding: float) -> NoiseLaw:
        """What a look at the values of a start says."""
        law = cls(report.kind, rounding, close=report.close)
        if report.level > 0:
            law.records.append(NoiseRecord(max(report.size, 3 * report.level), report.level, 5))
        return law

    @property
    def silent(self) -> bool:
        """Whether no noise was seen."""
        return not self.records

    def deviation(self, values: Vector) -> Vector:
        """The standard deviation of the error of each value: a power of its size, between the zeroth and the first,
        fitted to the records of like sizes; the first, in proportion, where there is but one."""
        size, exact = np.abs(values), self.rounding * np.abs(values)
        if not self.records:
            return exact
        known = np.array([one.size for one in self.records])
        if self.kind is not ValueKind.DIGITS:
            size = np.maximum(size, NOISY.smallest * float(known.min()))
        apart = np.log(known / np.maximum(size, 1e-300)[:, None])
        weight = np.array([one.weight for one in self.records]) * np.exp(-NOISY.alone * apart**2) + NOISY.faint
        weight = weight / weight.sum(1, keepdims=True)
        relative = np.log([max(one.level, 1e-300) for one in self.records]) - np.log(known)
        off = apart - (weight * apart).sum(1, keepdims=True)
        slope = (weight * off * relative).sum(1) / ((weight * off**2).sum(1) + NOISY.proportion)
        slope = np.zeros(len(size)) if self.kind is ValueKind.DIGITS else np.clip(slope, -1.0, 0.0)
        at = (weight * relative).sum(1) - slope * (weight * apart).sum(1)
        out: Vector = np.maximum(np.exp(at) * size, exact)
        return out

    def unknown(self, value: float, error: float, *, again: bool) -> bool:
        """Whether values of this size are far from all whose noise was measured, or it is time to look again.

        Close values do not tell roughness.
        """
        size = max(abs(value), 3 * error, 1e-300)
        if self.kind is ValueKind.STEPS or not self.records or not self.close:
            return False
        if self.kind is ValueKind.NOISE and len(self.records) >= NOISY.records:
            return False
        return again or min(abs(math.log10(one.size / size)) for one in self.records) > NOISY.decades

    def add(self, values: Vector, size: float) -> None:
        """Take what values of this size show: close ones in a row, or, for digits, any."""
        digits = self.kind is ValueKind.DIGITS
        level = printed_unit(values) / math.sqrt(12) if digits else scatter(values)
        if digits and level == 0.0:  # too few to tell: as it was, in proportion
            level = float(self.deviation(np.array([size]))[0])
        level = max(level, self.rounding * size)
        self.gone = self.kind is ValueKind.NOISE and level <= VALUES.clear * size
        self.records = [one for one in self.records if not self._contradicts(one, size, level)]
        self.records.append(NoiseRecord(max(size, 3 * level, 1e-300), level, max(1, len(values) - 2)))


    @staticmethod
    def _contradicts(record: NoiseRecord, size: float, level: float) -> bool:
        """Whether values of the same size had noise of another size before: its law has changed."""
        alike = abs(math.log10(record.size / max(size, 3 * level, 1e-300))) < NOISY.decades / 2
        ratio = (level + 1e-300) / (record.level + 1e-300)
        return alike and not 1 / NOISY.another < ratio**2 < NOISY.another

