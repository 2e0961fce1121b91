"""Preconditioners: the matrix P in P'HP, chosen before any random start is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._array import Vector, norm2


class Preconditioner(Protocol):
    """A matrix P. `norm` is a bound on its norm: then H - s >= t / norm^2 where P'(H - s)P >= t >= 0."""

    @property
    def norm(self) -> float: ...

    def __matmul__(self, v: Vector) -> Vector: ...

    @property
    def T(self) -> Any:
        """The transpose."""
        ...

    def weighted_norm(self, weights: Vector) -> float:
        """A bound on the Frobenius norm of P' diag(weights)."""
        ...

    def typical(self, steps: Vector) -> float:
        """A step along P q for a typical q, where coordinates step so far."""
        ...

    def largest_curvature(self, diagonal: Vector) -> float:
        """The largest of these curvatures along the coordinates, as P scales them."""
        ...


@dataclass(frozen=True)
class DiagonalPreconditioner:
    """P = diag(scale)."""

    scale: Vector

    @property
    def norm(self) -> float:
        return float(np.max(self.scale))

    def __matmul__(self, v: Vector) -> Vector:
        return np.asarray((self.scale * v.T).T)

    @property
    def T(self) -> DiagonalPreconditioner:
        return self

    def weighted_norm(self, weights: Vector) -> float:
        return norm2(self.scale * weights)

    def typical(self, steps: Vector) -> float:
        return float(np.median(steps / self.scale))

    def largest_curvature(self, diagonal: Vector) -> float:
        return float(np.max(diagonal * self.scale**2))


class _Unscaled:
    """What is assumed of a P of norm one about which nothing else is known."""

    def weighted_norm(self, weights: Vector) -> float:
        return norm2(weights)

    def typical(self, steps: Vector) -> float:
        return float(np.median(steps))

    def largest_curvature(self, diagonal: Vector) -> float:
        return float(np.max(diagonal))


@dataclass(frozen=True)
class MatrixPreconditioner(_Unscaled):
    """Any P of norm at most one: a matrix, or what stands for one, with `@` and `.T`."""

    matrix: Any
    norm: float = 1.0

    def __matmul__(self, v: Vector) -> Vector:
        return np.asarray(self.matrix @ v)

    @property
    def T(self) -> Any:
        return self.matrix.T


@dataclass(frozen=True)
class Identity(_Unscaled):
    """P = 1."""

    norm: float = 1.0

    def __matmul__(self, v: Vector) -> Vector:
        return v

    @property
    def T(self) -> Identity:
        return self


IDENTITY = Identity()


def inverse_root(curvatures: Vector, delta: float, flattest: float) -> Vector:
    """1 / sqrt(|curvature| + delta), beside the largest of them, but no smaller than `flattest`.

    A curvature above -delta/2 counts as it is: then H + delta becomes the identity where H is known.
    """
    root = 1 / np.sqrt(np.where(curvatures > -delta / 2, curvatures, np.abs(curvatures)) + delta)
    least: Vector = np.maximum(root / root.max(), flattest)
    return least


