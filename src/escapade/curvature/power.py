"""DFPI: derivative-free power iteration. It can find a direction; it can never certify that there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._array import to_numpy
from ..derivatives.measure import LocalModel
from ..derivatives.paper import coord_gradient
from ..errors import InvalidSetting
from .finding import Finder, Finding


@dataclass(frozen=True, kw_only=True)
class DFPI(Finder):
    """The inexact power iteration of RSPI, Lucchi, Orvieto & Solomou (2021), as printed by Zhang, Xiong & Gu (2022).

    Queries: 4*d*T besides the local model
    """

    T: int = 20
    """T_DFPI, iterations."""
    eta: float | None = None
    """Step of the power iteration, at most 1 / ell; None takes it from the diagonal of the Hessian."""
    c: float | None = None
    """Difference step of the gradients; None takes the local model's."""
    r: float | None = None
    """Distance of the two gradients from x; None takes the local model's."""

    name = "power"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.T < 1:
            raise InvalidSetting(f"T={self.T!r} must be at least 1")

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        f, d = local.f.tagged("curvature"), local.d
        c = self.c if self.c is not None else float(np.median(local.steps))
        r = self.r if self.r is not None else c * min(math.sqrt(d), 8.0)
        eta = self.eta if self.eta is not None else 1 / max(2 * float(np.max(np.abs(local.diagonal.value))), self.delta)
        s = rng.standard_normal(d)
        s /= np.linalg.norm(s)                                                  # line 3
        for _ in range(self.T):
            up = coord_gradient(f, local.stencil.moved(s, r), c * local.unit)             # line 5: g_+
            down = coord_gradient(f, local.stencil.moved(s, -r), c * local.unit)          # line 6: g_-
            product = (to_numpy(up).astype(np.float64) - to_numpy(down)) * local.unit / (2 * r)
            s = s - eta * (product - shift * s)                                 # line 7
            s /= np.linalg.norm(s)                                              # line 8
        return self.confirm(local, s, shift, f"{self.T} power iterations")
