"""Products of the Hessian in the shape of the model: where the model is right they are those of the identity."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._array import norm2
from ...estimators.hessian_vector import Products
from ...estimators.neighbourhood import Vector
from ...estimators.steps import TRUNCATION_SAFETY
from .model import Matrix

FLATTEST = 1e-3
"""No direction is shrunk by P more than this, beside another."""


def preconditioner(B: Matrix, delta: float, off: float) -> tuple[Matrix, float]:
    """(|B| + delta)^(-1/2), with one as its largest eigenvalue; and the smallest eigenvalue of B.

    A model that its last secants contradicted by more than most the spread of its own eigenvalues is no better
    than none.
    """
    values, vectors = np.linalg.eigh(B)
    if off > 0.5 * float(np.std(values)) / float(np.sqrt(np.mean(values**2)) + delta):
        return np.eye(len(B)), float(values[0])
    root = 1 / np.sqrt(np.where(values > -delta / 2, values, np.abs(values)) + delta)
    root = np.maximum(root / root.max(), FLATTEST)
    return (vectors * root) @ vectors.T, float(values[0])


@dataclass
class Shaped(Products):
    """q -> P (H - shift) P q, P a matrix; what the products showed is kept for the model."""

    P: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    pairs: list[tuple[Vector, Vector]] = field(default_factory=list)
    """Unit vectors u, and Hu."""
    shrink: float = 1.0
    """Multiplies the step along q."""
    odd: float = 0.0
    """What third derivatives are expected to do to a forward product."""

    def reach(self, factor: float) -> float:
        """How far along q the mixed differences step."""
        return self.shrink * super().reach(factor)

    def truncation(self, q: Vector, product: Vector) -> float:
        """Forward products are measured again on the other side, at far steps.

        Queries: d + 1 (order 1)
        """
        if self.order > 1:
            return super().truncation(q, product)
        far = self.here.far
        other = self._finish(self._one_sided(q, far * self.factor, -1.0), q)
        self.saw((other - product) / (1 + far), q, self.factor)
        return TRUNCATION_SAFETY * float(np.linalg.norm(other - product))

    def saw(self, odd: Vector, q: Vector, factor: float) -> None:
        """Keep the third derivative that the odd part of a product shows, which was taken along P q."""
        super().saw(odd / norm2(self.P @ q), q, factor)

    def _one_sided(self, q: Vector, factor: float, sign: float) -> Vector:
        v = self.P @ q
        length = norm2(v)
        product = super()._one_sided(v / length, factor, sign)
        self.pairs.append((v / length, product))
        return length * product

    def _finish(self, product: Vector, q: Vector | None) -> Vector:
        product = self.P @ product
        return product if q is None else product - self.shift * (self.P @ (self.P @ q))
