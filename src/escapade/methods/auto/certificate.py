"""The certificate part: the only place where a run ends well.

Lanczos runs on P (H - shift + delta) P, with P = (|B| + delta)^(-1/2) from the model: where the model is right all
eigenvalues are alike, and two or three products decide. P is fixed before the random start is drawn, and a congruence
keeps the signs of eigenvalues, so that the bound on the overlap holds as it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ...curvature import Cheapest, Dense, Finding
from ...curvature.finding import Finder
from ...curvature.starts import MOST, Starts
from ...derivatives.measure import Neighbourhood, Vector
from .attempt import Attempt
from .model import Model
from .shaped import Shaped, preconditioner

SHORTEST = 1 / 64
"""The step of forward products along q is shortened to this share, at most."""

RARELY, UNSEEN = 0.02, 0.05
"""Shares of the failure probability that are kept: for the finder that is asked where this one fails, and for errors of
products that no glance shows."""

SHARES = {1: {1: 0.8, 2: 0.1, 3: 0.05, 6: 0.05}, 2: {1: 0.06, 2: 0.92, 3: 0.01, 6: 0.01}}
"""As `starts.PLANS`, by the number of starts aimed at, which is settled before any of them is drawn."""

SMALL, EXACT = (50, 100), 0.1
"""Up to the first dimension all second differences are the next to be asked for, and up to the second if products were
contradicted, or their error was this much of the tolerance: what defeats these takes many times as many of others."""

WITHIN = "f is another function within the steps of the differences"


@dataclass(frozen=True, kw_only=True)
class Informed(Finder):
    """Lanczos preconditioned by a model of the Hessian; what it cannot decide goes to the cheapest finder that can.

    Queries: d + 1, 2*d + 2 or 4*d + 4 a product, as much or 32 to 64 for the error of each start, up to three times, 24
    along the softest directions, besides the neighbourhood; those of the other finder where it is asked
    """

    model: Model
    off: float = 0.0
    """How much the last secants contradicted it."""
    trusted: bool = False
    """Whether the model has just been tried and found right."""
    pairs: list[tuple[Vector, Vector]] = field(default_factory=list)

    name = "lanczos on the model"

    def taught(self) -> Model:
        """The model, with all products of this finder."""
        for u, product in self.pairs:
            self.model.secant(u, product, 0.0, exact=True)
        self.pairs.clear()
        return self.model

    def at(self, here: Neighbourhood, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        free = self.free_direction(here, shift)
        if free is not None:
            return free
        most = replace(self, failure=(1 - RARELY - UNSEEN) * self.failure)
        finding, products = most._informed(here, rng, shift)
        if finding is None:
            small = here.d if self.dense_next(products) else Cheapest.small
            cheapest = Cheapest(delta=self.delta, failure=RARELY * self.failure, depth=self.depth, small=small)
            finding, doubt = cheapest.at(here, rng, shift), products.error == math.inf
            if finding.certified and (products.within or (doubt and finding.finder != Dense.name)):
                return self.undecided(WITHIN)
        return finding

    def _informed(self, here: Neighbourhood, rng: np.random.Generator, shift: float) -> tuple[Finding | None, Shaped]:
        """The answer of preconditioned products, forward if that may do, else symmetric, and extrapolated where those
        are blunt; or None. And the products."""
        P = preconditioner(self.model, self.off, here.diagonal()[0], self.delta)
        products = Shaped(here, np.ones(here.d), 1, 1.0, shift - self.delta, P=P, pairs=self.pairs, rng=rng)
        products.failure, products.delta = UNSEEN * self.failure, self.delta
        limits = self._plan(products)
        starts: Vector = rng.standard_normal((MOST, here.d))
        starts /= np.linalg.norm(starts, axis=1, keepdims=True)
        finding = Attempt(self, products, starts, limits).run()
        if finding is None and products.order == 1 and not (products.slow and self.dense_next(products)):
            products.order, products.shrink, products.odd = 2, 1.0, 0.0
            finding = Attempt(self, products, starts, limits).run()
        if finding is None and products.blunt and not products.within:
            products.order = 4
            finding = Attempt(self, products, starts, limits).run()
        return finding, products

    def _plan(self, products: Shaped) -> Starts:
        """Forward products and two starts where the third derivatives leave room for that; else symmetric ones and one.

        A second start costs less than a second side. The step along q is shortened until noise and the odd error
        balance.
        """
        here, limits = products.here, Starts(products.here.d, self.failure, SHARES[2])
        room = limits.threshold(2) * (self.delta + (max(self.model.lowest()[0], 0.0) if self.trusted else 0.0))
        odd, noise = here.third_derivative() * products.reach(1.0) / 2, products.noise()
        products.shrink = float(np.clip(np.sqrt(noise / (odd + 1e-300)), SHORTEST, 1.0))
        products.odd = odd * products.shrink
        if self.trusted or products.odd + products.noise() < room:
            return limits
        products.order, products.shrink, products.odd = 2, 1.0, 0.0
        return replace(limits, plan=SHARES[1])

    def dense_next(self, products: Shaped) -> bool:
        """Whether all second differences are asked for where these products do not decide."""
        exact = products.error == math.inf or products.error < EXACT * self.delta
        return products.here.d <= SMALL[bool(exact)]
