"""Neon2: the first-order finders the paper starts from, for a problem that declares gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._array import epsilon, norm
from ..derivatives.measure import Neighbourhood, Vector
from ..derivatives.products import Products
from ..derivatives.sampling import SampledNeighbourhood
from ..oracle import Batch
from .deterministic import ZONCFDeterministic
from .online import ZONCFOnline
from .online_weak import ZONCFOnlineWeak


@dataclass
class GradientProducts(Products):
    """The same products from differences of exact gradients: two gradients each, four at order 4."""

    def even(self, q: Vector, factor: float) -> tuple[Vector, Vector]:
        product = self._difference(q, factor)
        if self.order == 4:
            product = (4 * product - self._difference(q, 2 * factor)) / 3
        return self._finish(product, q), np.zeros_like(q)

    def _difference(self, q: Vector, factor: float) -> Vector:
        here, h = self.here, self.reach(factor)
        up = here.f.gradient(here.moved(self.metric * q, h))
        down = here.f.gradient(here.moved(self.metric * q, -h))
        return (up - down) * here.unit / (2 * h)

    def noise(self) -> float:
        here = self.here
        top = float(np.max(np.abs(here.diagonal()[0])))
        size = float(np.linalg.norm(here.gradient()[0])) + top * (norm(here.x) + 1)
        return 4 * epsilon(here.x) * size * math.sqrt(here.d) / self.reach(self.factor)


@dataclass(frozen=True, kw_only=True)
class Neon2Deterministic(ZONCFDeterministic):
    """Neon2 (deterministic), Allen-Zhu & Li (2018): the Chebyshev recurrence on differences of gradients.

    Deviation: gradients are differenced symmetrically and at a step that precision allows, as in
    `ZONCFDeterministic`; the neighbourhood and the confirmation use function values.

    Queries: none per product (2 gradients each), besides the neighbourhood
    """

    name = "neon2"

    def products(self, here: Neighbourhood, shift: float) -> Products:
        return GradientProducts(here, np.ones(here.d), 2, 1.0, shift)


class Neon2OnlineWeak(ZONCFOnlineWeak):
    """Neon2 (online, weak), Allen-Zhu & Li (2018): Oja's method on differences of stochastic gradients.

    Queries: none (two stochastic gradients a sample)
    """

    def product(self, here: SampledNeighbourhood, batch: Batch, q: Vector) -> Vector:
        f, h = here.f.on(batch), here.reach
        return (f.gradient(here.moved(q, h)) - f.gradient(here.moved(q, -h))) * here.unit / (2 * h)


@dataclass(frozen=True, kw_only=True)
class Neon2Online(ZONCFOnline):
    """Neon2 (online), Allen-Zhu & Li (2018): the weak finder, repeated.

    Queries: those of the pilot and of the check of each direction; products take gradients
    """

    name = "neon2-online"

    def weak(self, ell: float, variance: float) -> ZONCFOnlineWeak:
        return Neon2OnlineWeak(delta=self.delta, ell=ell, variance=variance, batch=self.batch)
