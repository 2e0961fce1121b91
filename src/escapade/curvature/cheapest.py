"""The finder that takes the cheapest finder that can decide."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .._array import Matrix
from ..derivatives.measure import LocalModel
from ..derivatives.preconditioner import Preconditioner
from ..derivatives.products import HessianProducts, Product
from .dense import Dense
from .finding import Finder, Finding
from .lanczos import Lanczos
from .overlap import MOST, PLAN, overlap
from .settings import CHOICE


@dataclass(frozen=True, kw_only=True)
class Cheapest(Finder):
    """Dense where d is small or noise rules out products; Lanczos elsewhere, with dense to fall back on.

    With a preconditioner from a model of the Hessian, two or three products may decide: Lanczos first, whatever d is.

    Queries: those of the finders it takes
    """

    preconditioner: Preconditioner | None = None
    lowest: float | None = None
    soft: Matrix | None = None
    wanted: float = 0.0
    """See `Lanczos`."""

    name = "auto"
    uses_gradients = True

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        return self.search(local, rng, shift)[0]

    def search(
        self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0
    ) -> tuple[Finding, tuple[Product, ...]]:
        """The finding, and the products behind it, to update a model with."""
        free = self.free_direction(local, shift)
        if free is not None:
            return free, ()
        own = {"delta": self.delta, "failure": self.failure, "depth": self.depth}
        dense, modelled = Dense(**own), self.preconditioner is not None
        if not modelled and (local.d <= CHOICE.small or (local.d <= CHOICE.large and not self._can_decide(local))):
            return dense.at(local, rng, shift), ()
        affordable = local.d <= CHOICE.large and local.f.remaining >= local.d * (local.d + 5)
        alternative = CHOICE.dense_share * local.d + 4 if affordable else math.inf
        lanczos = Lanczos(
            **own, preconditioner=self.preconditioner, lowest=self.lowest, soft=self.soft, wanted=self.wanted
        )
        products = lanczos.begin(local, rng, shift)
        outcome = products.run(alternative)
        if outcome.decided or not affordable:
            return outcome.finding, outcome.taken
        last = dense.at(local, rng, shift)
        if not (last.found or last.certified):
            more = products.run()
            if more.decided:
                return more.finding, more.taken
            last = replace(last, reason=f"{last.reason}; besides, {more.finding.reason}")
        return last, outcome.taken

    def _can_decide(self, local: LocalModel) -> bool:
        """Whether noise leaves products exact enough, at the curvature seen on the diagonal, for all starts."""
        error = HessianProducts(local).noise()
        size = float(np.median(np.abs(local.diagonal.value))) + self.delta
        return error / size < overlap(local.d, (PLAN[MOST] * self.failure) ** (1 / MOST)) / 2
