"""Products of the Hessian in the shape of the model: where the model is right they are those of the identity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from ..._array import norm2
from ...estimators.hessian_vector import Products
from ...estimators.neighbourhood import Vector
from ...estimators.steps import TRUNCATION_SAFETY
from ...oracle import gathered
from .limited import Limited, Shape
from .model import Model, shrunk

FLATTEST = 1e-3
"""No direction is shrunk by P more than this, beside another."""

ALIKE = 0.02
"""A model whose eigenvalues differ by less than this, on average, is no better than a multiple of the identity."""

MUCH = 2.0
"""A factor by which the sum of the eigenvalues of a model may be wrong."""

WIDE = 0.5
"""Eigenvalues that differ by more than this, on average, are far apart."""

UNEVEN = 4.0
"""Curvatures along the coordinates that differ by less are as good as equal."""

GLANCES = 8
"""Random directions along which the error of a product is seen, where that costs less than another product."""


def preconditioner(model: Model, off: float, diagonal: Vector, delta: float) -> Any:
    """(|B| + delta)^(-1/2), of norm one, for what is best known of the Hessian.

    That is the model, unless its last secants contradicted it by more than most the spread of its own eigenvalues, or
    the diagonal that was seen does; then it is this diagonal, if it is uneven, or nothing. In a dense model with
    eigenvalues far apart the diagonal may be wrong by a common factor: the shape is right.
    """
    spread, same = model.spread(delta), diagonal
    if not isinstance(model, Limited) and (total := float(diagonal.sum())) > 0:
        model = cut(model, total)
        spread, factor = model.spread(delta), float(model.diagonal.sum()) / total
        same = diagonal * factor if spread > WIDE and 1 / MUCH < factor < MUCH else diagonal
    if spread < ALIKE or off > 2 * spread or model.misses(same, delta):
        uneven = float(np.max(np.abs(diagonal))) + delta > UNEVEN * (float(np.min(np.abs(diagonal))) + delta)
        return Shape.of(shrunk(diagonal, delta, FLATTEST) if uneven else np.ones(len(diagonal)))
    return model.shape(delta, FLATTEST)


def cut(model: Model, total: float) -> Model:
    """The model, if the sum of its eigenvalues is not much more than this. Else it has kept curvatures that f no longer
    has: the largest become one, such that the sum is right."""
    values, vectors = model.spectrum
    if not (float(values.sum()) > MUCH * total and values[0] > 0):
        return model
    levels = (total - np.cumsum(values) + values) / np.arange(len(values), 0, -1)  # if all from the k-th on are cut
    values = np.minimum(values, levels[np.argmax(levels <= values)])
    smaller = Model((vectors * values) @ vectors.T)
    smaller.spectrum = values, vectors
    return smaller


@dataclass
class Shaped(Products):
    """q -> P (H - shift) P q, P a matrix; what the products showed is kept for the model."""

    P: Any = None
    """A matrix, or what stands for one."""
    pairs: list[tuple[Vector, Vector]] = field(default_factory=list)
    """Unit vectors u, and Hu."""
    shrink: float = 1.0
    """Multiplies the step along q."""
    odd: float = 0.0
    """What third derivatives are expected to do to a forward product."""
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    """Where the random directions come from along which an error is seen."""
    failure: float = 0.0
    """The probability with which they may miss one: half of what is left is spent each time."""

    def direction(self, q: Vector) -> Vector:
        """P q."""
        v: Vector = self.P @ q
        return v

    def reach(self, factor: float, v: Vector | None = None) -> float:
        """How far mixed differences step: usually, and along v."""
        return self.shrink * super().reach(factor, v)

    def truncation(self, q: Vector, product: Vector) -> float:
        """Forward products are measured again on the other side, at far steps, or seen along a few random directions.

        Queries: d + 1, or 32 if that is fewer (order 1)
        """
        if self.order > 1:
            return super().truncation(q, product)
        if self.here.d >= 4 * GLANCES:
            return self._seen_error(q, product)
        far = self.here.far
        other = self._finish(self._mixed(q, -far * self.factor)[0], q)
        self.saw((other - product) / (1 + far), q, self.factor)
        return TRUNCATION_SAFETY * float(np.linalg.norm(other - product))

    def _seen_error(self, q: Vector, product: Vector) -> float:
        """A bound on the error of a product, from its components along normal vectors w, taken by differences of four
        values at far steps, which no odd derivative enters.

        The mean of (w'e)^2 is |e|^2 chi^2 / m: it is divided by what chi^2 / m exceeds but for half of `failure`.

        Queries: 32
        """
        self.failure /= 2
        here, v, glances = self.here, self.direction(q), self.rng.standard_normal((GLANCES, len(q)))
        ways = self.direction(glances.T).T
        u = [super(Shaped, self).reach(self.factor, way) for way in ways]
        t = here.far * self.reach(self.factor, v)  # at the product's own step both would have the same even errors
        corners = [(t, 1.0), (t, -1.0), (-t, 1.0), (-t, -1.0)]
        places = [here.moved(a * v + b * r * w, 1.0) for w, r in zip(ways, u, strict=True) for a, b in corners]
        values = here.f.tagged("curvature")(gathered(places)).reshape(-1, 4)
        mixed = values @ np.array([1.0, -1.0, -1.0, 1.0]) / (4 * t * np.array(u))
        missed = glances @ product - (mixed - self.shift * (ways @ v))
        size = float(np.sqrt(np.mean(missed**2)))
        self.saw(np.full(1, size), q, self.factor)
        return TRUNCATION_SAFETY * size / float(np.sqrt(gammaincinv(GLANCES / 2, self.failure) * 2 / GLANCES))

    def saw(self, odd: Vector, q: Vector, factor: float) -> None:
        """Keep the third derivative that the odd part of a product shows, which was taken along P q."""
        v = self.direction(q)
        length = norm2(v)
        super().saw(odd / length, v / length, factor)

    def _mixed(self, q: Vector, *factors: float) -> list[Vector]:
        v = self.direction(q)
        length = norm2(v)
        products = super()._mixed(v / length, *factors)
        return [length * product for product in products]

    def _finish(self, product: Vector, q: Vector | None) -> Vector:
        if q is None:
            back: Vector = self.P.T @ product
            return back
        v = self.direction(q)
        length = norm2(v)
        self.pairs.append((v / length, product / length))
        image: Vector = self.P.T @ (product - self.shift * v)
        return image
