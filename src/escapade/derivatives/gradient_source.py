"""Products from exact gradients: differences of two or more of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .._array import Vector, epsilon, norm, norm2, to_numpy
from .measure import LocalModel
from .products import HessianProducts


@dataclass(frozen=True)
class Gradients:
    """A source of products for functions that declare gradients. The gradient at x is asked for once."""

    _at_x: dict[bytes, Vector] = field(default_factory=dict, repr=False)

    def one_sided(self, local: LocalModel, v: Vector, reach: float, factors: tuple[float, ...]) -> list[Vector]:
        """See `Source`. One gradient for each factor, and one at x; no query."""
        f = local.f
        key = to_numpy(local.x).tobytes()
        if key not in self._at_x:
            self._at_x[key] = f.gradient(local.x)
        g = self._at_x[key]
        ends = [f.gradient(local.stencil.moved(v, k * reach)) for k in factors]
        return [(end - g) * local.unit / (k * reach) for end, k in zip(ends, factors, strict=True)]

    def noise(self, products: HessianProducts, h: float) -> float:
        """See `Source`: gradients are taken to be exact to rounding."""
        local = products.local
        top = float(np.max(np.abs(local.diagonal.value)))
        size = norm2(local.gradient.value) + top * (norm(local.x) + 1)
        return 4 * epsilon(local.x) * size * math.sqrt(local.d) / h
