"""Products of the Hessian in the shape of the model: where the model is right they are those of the identity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from ..._array import norm2
from ...derivatives.measure import Vector
from ...derivatives.products import CLOSER, GLANCES, Products
from ...derivatives.steps import TRUNCATION_SAFETY
from .limited_memory import Limited, Shape
from .model import Model
from .quadratic import shrunk

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


ANOTHER = 3.0
"""An error so much larger on shorter steps than on far ones, or larger than the tolerance, is not believed to be
truncation: f is another function there."""


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
    """Where the random directions come from along which errors are seen."""
    failure: float = 0.0
    """The probability with which they may miss one: half of what is left is spent each time."""
    delta: float = math.inf
    """The curvature tolerance."""
    blunt: bool = False
    """Whether errors were seen that noise does not explain, in the way of a certificate."""
    slow: bool = False
    """Whether others of their kind would take longer than all second differences."""
    error: float = math.inf
    """The largest error seen; infinite if products were contradicted before it was."""
    within: bool = False
    """Whether f was seen to be another function within the steps: longer ones would only miss it."""
    hidden: bool = False
    """Whether that was seen on much shorter steps, and products with any vector are wrong."""

    def direction(self, q: Vector) -> Vector:
        """P q."""
        v: Vector = self.P @ q
        return v

    def reach(self, factor: float, v: Vector | None = None) -> float:
        """How far mixed differences step: usually, and along v."""
        return self.shrink * super().reach(factor, v)

    def truncation(self, q: Vector, product: Vector, room: float = 0.0) -> float:
        """From 32 variables on errors are seen along a few random directions; else products are measured again, forward
        ones on the other side, at far steps, and looked at on shorter ones.

        Queries: 32 or 64, twice that if the order is 4; or d + 1, 2*d + 2 or 4*d + 4 for order 1, 2 or 4, and d for a
        row not yet known, and those of `hides`
        """
        if self.hidden:
            return math.inf
        if self.here.d >= 4 * GLANCES:
            error = self.glances(q, product, self.here.far, 1.0)
            return max(error, self.seen_closer(q, product, room, error))
        if self.order > 1:
            error = super().truncation(q, product)
        else:
            far = self.here.far
            other = self._finish(self._mixed(q, -far * self.factor)[0], q)
            self.saw((other - product) / (1 + far), q, self.factor)
            error = TRUNCATION_SAFETY * norm2(other - product)
        return max(error, self._seen_at_all(q, product, error))

    def seen_closer(self, q: Vector, product: Vector, room: float, far: float) -> float:
        """The error of a product on much shorter steps, of a random length: what f is within the steps of products does
        not show on longer ones. As short as noise allows, if the error may be as large as `room`; where that is not
        short, it is taken for 0 unless much shorter steps show a large one.

        Queries: 32, or 16, twice that if the order is 4; or none
        """
        closer = self.closer(q, (room + 1e-300) / (4 * self._safety(self.failure / 2)), self.rng)
        if math.sqrt(closer[0] * closer[1]) >= CLOSER:
            return self._seen_at_all(q, product, ANOTHER * far / self._safety(self.failure))
        error = self.glances(q, product, *closer)
        self.within |= error > max(room, min(ANOTHER * far, self.delta))
        return error

    def _seen_at_all(self, q: Vector, product: Vector, known: float) -> float:
        """Infinity if f is another function on much shorter steps, or was on others; else 0."""
        self.hidden = self.hides(q, product, self.delta, self.rng, known)
        self.within |= self.hidden
        return math.inf if self.within else 0.0

    def glances(self, q: Vector, product: Vector, along: float, across: float) -> float:
        """A bound on the error of a product, from its components along normal vectors w, taken by differences of four
        values at steps times these factors, which no odd derivative enters.

        The mean of (w'e)^2 is |e|^2 chi^2 / m: it is divided by what chi^2 / m exceeds but for half of `failure`.

        Queries: 32, or 64 if the order is 4
        """
        self.failure /= 2
        ways = self.rng.standard_normal((GLANCES, len(q)))
        size = float(np.sqrt(np.mean(self.missed(q, product, ways, along, across) ** 2)))
        self.saw(np.full(1, size), q, self.factor)
        return self._safety(self.failure) * size

    @property
    def caution(self) -> float:
        """What the error of a product is multiplied by once it is measured."""
        return self._safety(self.failure / 4) if self.here.d >= 4 * GLANCES else super().caution

    def _safety(self, failure: float) -> float:
        """What the root-mean-square of the components along so few vectors is multiplied by."""
        return TRUNCATION_SAFETY / math.sqrt(float(gammaincinv(GLANCES / 2, failure)) * 2 / GLANCES)

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
