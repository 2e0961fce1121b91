"""Averages over groups of samples: values, gradients and Hessians of each group apart, from one set of differences.

A sample's values at all points of a stencil share its noise, so differences on a group have no noise but that of the
choice of samples; how far groups differ from one another shows how far their average may be from the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from .._array import Array, Matrix, Vector, epsilon, like
from ..errors import MissingCapability
from ..oracle import Batch, Oracle, axes, central, pairs, point
from .settings import GROUPS


@dataclass(frozen=True)
class GroupDifferences:
    """Group averages of f, its gradient and its Hessian around one point; rows are groups."""

    size: int
    """Samples in all."""
    values: Vector
    gradients: Matrix
    hessians: Matrix | None = None
    """Of shape (groups, d, d)."""

    def joined(self, other: GroupDifferences) -> GroupDifferences:
        """The same on the samples of both, group by group."""
        a, b = self.size / (self.size + other.size), other.size / (self.size + other.size)
        hessians = None
        if self.hessians is not None and other.hessians is not None:
            hessians = a * self.hessians + b * other.hessians
        return GroupDifferences(
            self.size + other.size,
            a * self.values + b * other.values,
            a * self.gradients + b * other.gradients,
            hessians,
        )

    @property
    def matrices(self) -> Matrix:
        """The Hessians, which must have been taken."""
        if self.hessians is None:
            raise MissingCapability("these differences are of first order: they hold no Hessians")
        return self.hessians

    def without_hessians(self) -> GroupDifferences:
        """Values and gradients alone."""
        return replace(self, hessians=None)


def second_order(f: Oracle, x: Array, h: Vector, groups: Sequence[Batch]) -> GroupDifferences:
    """All second differences of each group, the mixed ones from one side, and central gradients.

    Queries: (d*(d + 3)/2 + 1) * b for b samples
    """
    d, step = len(h), like(h, x)
    stencil = point(x) + central(x, step)
    values = f.by_group(stencil + pairs(x, step, 1.0) if d > 1 else stencil, groups)
    f0, plus, minus = values[0], values[1 : d + 1], values[d + 1 : 2 * d + 1]
    hessians = np.zeros((values.shape[1], d, d))
    if d > 1:
        i, j = np.triu_indices(d, k=1)
        hessians[:, i, j] = ((values[2 * d + 1 :] - plus[i] - plus[j] + f0) / (h[i] * h[j])[:, None]).T
        hessians += hessians.transpose(0, 2, 1)
    hessians[:, np.arange(d), np.arange(d)] = ((plus + minus - 2 * f0) / h[:, None] ** 2).T
    return GroupDifferences(_size(groups), f0, ((plus - minus) / (2 * h[:, None])).T, hessians)


def first_order(f: Oracle, x: Array, h: Vector, diagonal: Vector, groups: Sequence[Batch]) -> GroupDifferences:
    """Forward gradients of each group, corrected by this diagonal of the Hessian.

    Queries: (d + 1) * b for b samples
    """
    values = f.by_group(point(x) + axes(x, like(h, x)), groups)
    rows = (values[1:] - values[0]) / h[:, None]
    return GroupDifferences(_size(groups), values[0], (rows - (diagonal * h / 2)[:, None]).T)


def _size(groups: Sequence[Batch]) -> int:
    return sum(group.weight for group in groups)


def few_samples(samples: int | str | None, d: int) -> bool:
    """Whether a finite sum is so small that it is taken whole from the start."""
    least = max(GROUPS.few * d, max(GROUPS.least, GROUPS.per_variable * d) / GROUPS.share)
    return isinstance(samples, int) and samples < least


@dataclass
class FreshSamples:
    """Samples drawn independently of x, a few more each time, randomly permuted into groups.

    Of a finite sum they are drawn without replacement, and no use is made of that.
    """

    f: Oracle
    rng: np.random.Generator
    groups: int = GROUPS.count
    used: int = 0
    """Of a finite sum."""

    def __post_init__(self) -> None:
        n = self.f.samples
        self._order = self.rng.permutation(n) if isinstance(n, int) else None

    @property
    def left(self) -> float:
        """How many more there are."""
        return math.inf if self._order is None else len(self._order) - self.used

    def draw(self, size: int) -> list[Batch]:
        """Groups of equal size, about `size` samples in all."""
        each = max(1, -(-size // self.groups))
        if self._order is None:
            ids = self.f.draw(each * self.groups, self.rng).ids
        else:
            ids = self._order[self.used : self.used + each * self.groups]
            each, self.used = len(ids) // self.groups, self.used + len(ids)
        return [Batch(part) for part in ids[: each * self.groups].reshape(self.groups, each)]


def critical(groups: Matrix, failure: float) -> Vector:
    """How many standard errors below its average the mean of each column may lie, but for `failure`.

    Student's quantile; where the groups are skewed to the left, so that large negative ones are rarely among them, that
    of Johnson's statistic in the monotone form of Hall (1992), which is larger. It inverts
    T + h T^2 + h^2 T^3 / 3 + skew / (6 sqrt(G)), h = skew / (3 sqrt(G)).
    """
    G = len(groups)
    t = float(stdtrit(G - 1, 1 - failure))
    away = groups - groups.mean(axis=0)
    spread = np.sqrt(np.mean(away**2, axis=0))
    skew = np.minimum(np.mean(away**3, axis=0) / (spread**3 + 1e-300), 0.0) / math.sqrt(G)
    h = np.minimum(skew / 3, -epsilon(groups) ** 0.5)
    corrected = (np.cbrt(1 + 3 * h * (t - skew / 6)) - 1) / h
    quantile: Vector = np.maximum(t, corrected)
    return quantile


def standard_error(groups: Matrix) -> Vector:
    """Of the mean of each column."""
    error: Vector = np.std(groups, axis=0, ddof=1) / math.sqrt(len(groups))
    return error


def mean_above(groups: Vector, failure: float) -> float:
    """A lower confidence bound on the mean that these groups are of."""
    column = groups[:, None]
    return float(groups.mean() - critical(column, failure)[0] * standard_error(column)[0])


def mean_below(groups: Vector, failure: float) -> float:
    """An upper confidence bound on it."""
    return -mean_above(-groups, failure)


@dataclass(frozen=True)
class WholeRow:
    """The whole sum at x, and its forward differences there."""

    f0: float
    h: Vector
    row: Vector
    """(f(x + h_i e_i) - f(x)) / h_i."""

    @classmethod
    def of(cls, f: Oracle, x: Array, h: Vector) -> WholeRow:
        """That of the whole sum of f.

        Queries: (d + 1) * n
        """
        values = f.summed()(point(x) + axes(x, like(h, x)))
        return cls(float(values[0]), h, (values[1:] - values[0]) / h)
