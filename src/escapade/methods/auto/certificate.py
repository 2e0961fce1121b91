"""The certificate part: the only place where a run ends well.

Lanczos runs on P (H - shift + delta) P, with P = (|B| + delta)^(-1/2) from the model: where the model is right all
eigenvalues are alike, and two or three products decide. P is fixed before the random start is drawn, and a congruence
keeps the signs of eigenvalues, so that the bound on the overlap holds as it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ..._words import counted
from ...curvature import Cheapest, Dense, Finding
from ...curvature.finding import SOFTEST, Finder
from ...curvature.newton import REACH, SURE
from ...curvature.process import Process
from ...curvature.starts import MOST, Starts
from ...estimators.hessian_vector import KIND, Order, Products
from ...estimators.neighbourhood import Interval, Neighbourhood, Vector
from .model import Model
from .quadratic import Matrix
from .shaped import Shaped, preconditioner

EXTRA = 2
"""Products that may be spent on "minimum", after those that the certificate needs."""

SHORTEST = 1 / 64
"""The step of forward products along q is shortened to this share, at most."""

RARELY, UNSEEN = 0.02, 0.05
"""Shares of the failure probability that are kept: for the finder that is asked where this one fails, and for errors of
products that no glance shows."""

LIKELY, ALLOWED = 4.0, 10.0
"""The error of products is expected to be so much larger than its parts, and allowed to be so much larger than expected
where that costs nothing."""

SHARES = {1: {1: 0.8, 2: 0.1, 3: 0.05, 6: 0.05}, 2: {1: 0.06, 2: 0.92, 3: 0.01, 6: 0.01}}
"""As `starts.PLANS`, by the number of starts aimed at, which is settled before any of them is drawn."""

SMALL, EXACT = (50, 100), 0.1
"""Up to the first dimension all second differences are the next to be asked for, and up to the second if products were
contradicted, or their error was this much of the tolerance: what defeats these takes many times as many of others."""

BLUNT = 4.0
"""Products whose error is so much more than noise explains are blunt: their steps are too long."""

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
            small = here.d if self._dense_next(products) else Cheapest.small
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
        finding = self._attempt(products, starts, limits)
        if finding is None and products.order == 1 and not (products.slow and self._dense_next(products)):
            products.order, products.shrink, products.odd = 2, 1.0, 0.0
            finding = self._attempt(products, starts, limits)
        if finding is None and products.blunt and not products.within:
            products.order = 4
            finding = self._attempt(products, starts, limits)
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

    def _attempt(self, products: Shaped, starts: Vector, limits: Starts) -> Finding | None:
        error, shift, before = LIKELY * (products.noise() + products.odd), products.shift + self.delta, len(self.pairs)
        products.blunt, products.slow, products.error = False, False, math.inf
        first = Process(products, 0.0, starts[0])
        finding, done = self._advance(first, error, limits.threshold(limits.aim))
        if done:
            return finding
        if not products.steady(self._softest(products, first)):
            return None
        alone, known = first.bound(0.0, error, joint=True) < limits.threshold(1), len(first.alpha)
        error = self._settle(first, error, limits.threshold(1 if alone else limits.aim))
        for enough in self._worth(first, error, limits):  # a product more, not a start more
            finding, done = self._advance(first, error, enough)
            if done:
                return finding
            if len(first.alpha) > known:
                error = self._settle(first, error, enough)
        tried, r = [first], 1
        while True:  # a start that does not reach its threshold may reach that of more starts
            fewest = limits.fewest(lambda t: all(one.shown(t) is not None for one in tried))
            products.error = error
            if fewest is None or error == math.inf:
                products.blunt = error > BLUNT * products.noise() and self._soon(first, limits.threshold(1), 4)
                products.slow = not self._soon(first, limits.threshold(1), 2)
                return None
            r = max(r, fewest)
            if len(tried) == r:
                break
            more = (r - len(tried)) * len(first.alpha) * products.order
            if more > products.here.d + 4 and self._dense_next(products):
                return None  # all second differences cost less
            process = Process(products, 0.0, starts[len(tried)])
            finding, done = self._advance(process, error, limits.threshold(r))
            if done:
                return finding
            error = max(error, self._settle(process, error, limits.threshold(r)))
            tried.append(process)
        level = min(one.shown(limits.threshold(r)) or 0.0 for one in tried)
        v = self._lowest(min(tried, key=lambda one: self._lowest(one)[1]))[0]
        below = self.confirm(products.here, v, shift, "the lowest Ritz vector")
        if below.found:
            return below
        products.lowest = min(products.lowest, below.curvature.upper)
        lower = level - self.delta + shift  # H - shift + delta >= level / P^2 >= level
        if lower > products.lowest:
            return None  # what was seen along a direction contradicts it
        many = f"{len(self.pairs) - before} {KIND[products.order]} products from {counted(r, 'start')}"
        reason = f"{many}, product error at most {error:.2g}"
        return replace(self.certified(Interval(lower, products.lowest), reason, v), third=products.third)

    def _settle(self, process: Process, error: float, threshold: float) -> float:
        """Measure the error of a start, expected to be this: at the highest level that a larger one would still allow,
        or at that which "minimum" needs."""
        wanted = self._wanted(process.products) + self.delta
        level = process.level(ALLOWED * error, threshold, joint=True)
        if level < wanted and process.bound(wanted, error, joint=True) < threshold:
            level = wanted
        return process.settle(level, threshold)

    def _worth(self, first: Process, error: float, limits: Starts) -> list[float]:
        """Thresholds that more products of a first start are worth, where their error lets them be reached: that of a
        start alone, if at its pace another start would cost more; else that of all starts aimed at."""
        enough, alone = limits.threshold(limits.aim), limits.threshold(1)
        bound, second, _ = first.terms(0.0)
        least = 1.25 * second * error
        if least < alone and math.log(max(bound / (alone - least), 1.0)) < first.pace() * len(first.alpha):
            return [alone]
        return [enough] if least < enough else []

    def _soon(self, first: Process, threshold: float, order: Order) -> bool:
        """Whether products of an order cost less than all second differences, at the pace of these."""
        pace = -math.log(max(first.terms(0.0)[0], 1e-300)) / len(first.alpha)
        return pace > 0 and order * (3 - math.log(threshold) / pace) < first.products.here.d

    def _dense_next(self, products: Shaped) -> bool:
        """Whether all second differences are asked for where these products do not decide."""
        exact = products.error == math.inf or products.error < EXACT * self.delta
        return products.here.d <= SMALL[bool(exact)]

    def _softest(self, products: Shaped, process: Process) -> Matrix:
        """The softest directions that the products and the model show, as columns."""
        vectors = products.direction(process.basis.T @ process.ritz()[1][:, :SOFTEST])
        missing = max(SOFTEST - vectors.shape[1], 0)
        return np.concatenate([vectors, self.model.spectrum[1][:, :missing]], axis=1)

    def _advance(self, process: Process, error: float, threshold: float) -> tuple[Finding | None, bool]:
        """Run until the first term is out of the way, or a Ritz value shows a direction: (finding or None, True)."""
        products, extra = process.products, EXTRA
        while not process.complete and self._lacking(process, error, threshold, extra):
            extra -= bool(process.alpha) and process.bound(0.0, error) < threshold
            process.advance()
            if process.overflowed:
                return None, True
            if process.ritz()[0][0] > 0.25 * self.delta:  # P shrinks: no Ritz vector curves down by 3/4 delta
                continue
            v, curvature = self._lowest(process)
            if curvature <= -0.75 * self.delta:
                reason = f"Ritz value {curvature:.3g} after {len(process.alpha)} products"
                finding = self.confirm(products.here, v, products.shift + self.delta, reason)
                return (finding if finding.found else None), True
        return None, False

    def _lacking(self, process: Process, error: float, threshold: float, extra: int) -> bool:
        """Whether another product would help: towards a certificate, or towards the curvature that "minimum" needs."""
        if not process.alpha:
            return True
        first, second, w = process.terms(0.0)
        inexact = second * error + process.lost(w)
        if first >= max(0.95 * threshold - inexact, inexact):
            return True
        if extra <= 0 or first < inexact / 4:
            return False
        wanted = self._wanted(process.products)
        return self._lowest(process)[1] > 2 * wanted and process.bound(wanted + self.delta, error) >= threshold

    def _wanted(self, products: Products) -> float:
        """The curvature that must be shown before "minimum" can be said without the gradient at a Newton step."""
        here = products.here
        g, error = here.gradient()
        size, third = float(np.linalg.norm(g)) + error, max(products.third, here.third_derivative())
        near, least, steps = 2 * size, float(np.sqrt(6 * third * size)), float(np.min(here.steps))
        looked = max(near / (REACH * steps), float(np.sqrt(4 * SURE * third * size)))  # where the ball ends
        return 1.2 * min(max(near / steps, least), looked)

    def _lowest(self, process: Process) -> tuple[Vector, float]:
        """The direction of the lowest Ritz value, and the curvature H - shift has along it."""
        v, curvature = process.lowest()  # of H - shift + delta
        return v, curvature - self.delta
