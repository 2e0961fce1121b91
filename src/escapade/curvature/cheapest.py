"""The finder that takes the cheapest way that can decide."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._array import Matrix
from ..derivatives.measure import Allowance, LocalModel
from ..derivatives.preconditioner import Preconditioner
from ..derivatives.products import VALUES, HessianProducts, Product
from . import price
from .complement import Complement
from .dense import Dense
from .finding import Finder, Finding
from .lanczos import Lanczos, LanczosOutcome
from .obstacle import Obstacle
from .overlap import MOST, PLAN, overlap
from .settings import PRICE


@dataclass(frozen=True, kw_only=True)
class Cheapest(Finder):
    """All second differences where d is small or noise rules out products; elsewhere products, and the second
    differences of their complement where these do not decide.

    With a preconditioner from a model of the Hessian two or three products may decide: these first, but for the fewest
    variables.

    Queries: at most those of `price.cap`, unless `certificate_maxfev` says otherwise
    """

    preconditioner: Preconditioner | None = None
    """As in `Lanczos`."""
    lowest: float | None = None
    """As in `Lanczos`."""
    soft: Matrix | None = None
    """As in `Lanczos`."""
    wanted: float = 0.0
    """See `Lanczos`."""

    name = "auto"
    uses_gradients = True

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        return self.search(local, rng, shift)[0]

    def allowance(self, local: LocalModel) -> Allowance:
        if self.certificate_maxfev is None:
            return replace(self, certificate_maxfev=price.cap(local.d)).allowance(local)
        return super().allowance(local)

    def search(
        self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0
    ) -> tuple[Finding, tuple[Product, ...]]:
        """The finding, and the products behind it, to update a model with."""
        free = self.free_direction(local, shift)
        if free is not None:
            return free, ()
        own = {"delta": self.delta, "failure": self.failure, "depth": self.depth}
        dense, allowance, modelled = Dense(**own), self.allowance(local), self.preconditioner is not None
        few = local.d <= (PRICE.fewest if modelled else PRICE.small)
        pairs = price.second_differences(local.d, 1 if few else 2)
        affordable = allowance.affords(pairs)
        if affordable and (few or not (modelled or self._can_decide(local))):
            return dense.search(local, rng, shift, allowance), ()
        lanczos = Lanczos(
            **own, preconditioner=self.preconditioner, lowest=self.lowest, soft=self.soft, wanted=self.wanted
        )
        products = lanczos.begin(local, rng, shift, allowance)
        outcome = products.run(completable=affordable)
        if outcome.decided or not affordable:
            return self._with_dense_price(outcome.finding, allowance, local.d), outcome.taken
        known, one_sided = self._complement(local, outcome, allowance), outcome.kind is None or outcome.kind.order == 1
        doubt = outcome.contradicted
        last = dense.search(local, rng, shift, allowance, known, one_sided=one_sided, contradicted=doubt)
        if not (last.found or last.certified):
            more = products.run()
            if more.decided:
                return more.finding, more.taken
            last = replace(last, reason=f"{last.reason}; besides, {more.finding.reason}")
        return last, outcome.taken

    def _complement(self, local: LocalModel, outcome: LanczosOutcome, allowance: Allowance) -> Complement | None:
        """What completes the products of a search; None where they are not of values, or wrong, and all second
        differences can still be afforded."""
        kind, known = outcome.kind, outcome.last
        doubtful = outcome.obstacle in (Obstacle.TRUNCATION, Obstacle.SCALE)
        anew = doubtful and outcome.error > PRICE.inexact * self.delta
        wrong = anew and allowance.affords(price.second_differences(local.d))
        if kind is None or not known or wrong or kind.factor != 1.0 or kind.source is not VALUES:
            return None
        return Complement(local, kind, known)

    def _with_dense_price(self, finding: Finding, allowance: Allowance, d: int) -> Finding:
        """An undecided finding at a price, which is that of all second differences if these cost less."""
        if finding.price == 0:
            return finding
        return replace(finding, price=min(finding.price, price.total(allowance, price.second_differences(d))))

    def _can_decide(self, local: LocalModel) -> bool:
        """Whether noise leaves products exact enough, at the curvature seen on the diagonal, for all starts."""
        error = HessianProducts(local).noise()
        size = float(np.median(np.abs(local.diagonal.value))) + self.delta
        return error / size < overlap(local.d, (PLAN[MOST] * self.failure) ** (1 / MOST)) / 2
