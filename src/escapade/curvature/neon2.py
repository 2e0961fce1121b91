"""Neon2: the first-order finders the paper starts from, for a problem that declares gradients."""

from __future__ import annotations

from dataclasses import dataclass

from .._array import Vector
from ..derivatives.gradient_source import Gradients
from ..derivatives.measure import LocalModel
from ..derivatives.products import HessianProducts
from ..derivatives.sampling import SampledModel
from ..oracle import Batch
from .deterministic import ZONCFDeterministic
from .online import ZONCFOnline
from .online_weak import ZONCFOnlineWeak


@dataclass(frozen=True, kw_only=True)
class Neon2Deterministic(ZONCFDeterministic):
    """Neon2 (deterministic), Allen-Zhu & Li (2018): the Chebyshev recurrence on differences of gradients.

    Deviation: gradients are differenced symmetrically and at a step that precision allows, as in
    `ZONCFDeterministic`; the local model and the confirmation use function values.

    Queries: none per product (2 gradients each), besides the local model
    """

    name = "neon2"
    uses_gradients = True

    def products(self, local: LocalModel, shift: float) -> HessianProducts:
        return HessianProducts(local, order=2, shift=shift, source=Gradients())


class Neon2OnlineWeak(ZONCFOnlineWeak):
    """Neon2 (online, weak), Allen-Zhu & Li (2018): Oja's method on differences of stochastic gradients.

    Queries: none (two stochastic gradients a sample)
    """

    def product(self, local: SampledModel, batch: Batch, q: Vector) -> Vector:
        f, h = local.f.on(batch), local.reach
        return (f.gradient(local.moved(q, h)) - f.gradient(local.moved(q, -h))) * local.unit / (2 * h)


@dataclass(frozen=True, kw_only=True)
class Neon2Online(ZONCFOnline):
    """Neon2 (online), Allen-Zhu & Li (2018): the weak finder, repeated.

    Queries: those of the pilot and of the check of each direction; products take gradients
    """

    name = "neon2-online"
    uses_gradients = True

    def weak(self, ell: float, variance: float) -> ZONCFOnlineWeak:
        return Neon2OnlineWeak(delta=self.delta, ell=ell, variance=variance, batch=self.batch)
