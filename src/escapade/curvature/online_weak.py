"""ZO-NCF-Online-Weak: Oja's method on minibatch Hessian-vector products, with confidence 2/3."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._array import Vector
from ..derivatives.sampling import SampledModel
from ..errors import InvalidSetting
from ..oracle import Batch
from ..tolerances import require_positive
from .settings import ONLINE


@dataclass(frozen=True, kw_only=True)
class ZONCFOnlineWeak:
    """ZO-NCF-Online-Weak, Algorithm 1 of Zhang, Xiong & Gu (2022).

    `weak(local, rng)` returns the last unit direction, and whether it grew (False is ⊥); with probability 2/3 it
    does if the smallest eigenvalue is at most -delta.

    Deviation: the direction is kept at length one and its length as a logarithm; products are taken on minibatches, and
    eta = min(1 / (2 ell), delta b / (v log(100 d))) with v the variance of a product, where the paper has ell^2 for v
    and b = 1; T is what growth by (100d)^C_0 from a start of typical overlap needs; and the last iterate is returned,
    not one of a random earlier time.

    Queries: (4*d + 3) * b * T
    """

    delta: float
    """The negative curvature to look for."""
    ell: float
    """An upper bound on the curvature."""
    variance: float
    """E |(H_i - H) q|^2 for unit q."""
    batch: int | None = None
    """b; None takes the largest that costs no more in all (or the whole sum)."""
    C0: float = 1.0
    """The constant C_0 of Algorithm 1."""

    def __post_init__(self) -> None:
        require_positive("delta", self.delta)
        require_positive("ell", self.ell)
        if self.batch is not None and self.batch < 1:
            raise InvalidSetting(f"batch={self.batch!r} must be at least 1")

    def size(self, d: int) -> int:
        """b: beyond v log(100d) / (2 ell delta) samples a step cannot be longer, and they would be wasted."""
        return self.batch or max(1, math.ceil(self.variance * math.log(100 * d) / (2 * self.ell * self.delta)))

    def __call__(self, local: SampledModel, rng: np.random.Generator) -> tuple[Vector, bool]:
        d, b = local.d, self.size(local.d)
        n = local.f.samples
        whole = local.f.everything() if isinstance(n, int) and b >= n / 2 else None
        noise = 0.0 if whole is not None else self.variance / b
        grow = self.C0 * math.log(100 * d)                                      # log(r / sigma)
        eta = min(1 / (2 * self.ell), self.delta / (noise * math.log(100 * d)) if noise else math.inf)   # line 1
        T = math.ceil(ONLINE.steps * (grow + math.log(3 * math.sqrt(d))) / math.log1p(eta * self.delta))
        z = rng.standard_normal(d)
        z /= np.linalg.norm(z)                                                  # line 2
        log = 0.0
        for _ in range(T):
            batch: Batch = whole or local.f.draw(b, rng, replace=False)
            z = z - eta * self.product(local, batch, z)                          # line 6
            length = float(np.linalg.norm(z))
            z, log = z / length, log + math.log(length)
            if log >= grow:                                                     # line 7: |x_{t+1} - x_0| >= r
                return z, True
        return z, False

    def product(self, local: SampledModel, batch: Batch, q: Vector) -> Vector:
        """H_S q."""
        return local.product(batch, q)
