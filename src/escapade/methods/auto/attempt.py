"""One attempt at a certificate: Lanczos on products of one kind, from as many starts as it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..._array import norm2
from ...curvature import Finding
from ...curvature.finding import SOFTEST
from ...curvature.process import Process, told
from ...curvature.starts import Starts
from ...derivatives.measure import Interval, Vector
from ...derivatives.products import Order
from .quadratic import Matrix
from .shaped import Shaped

if TYPE_CHECKING:
    from .certificate import Informed

EXTRA = 2
"""Products that may be spent on "minimum", after those that the certificate needs."""

LIKELY, ALLOWED = 4.0, 10.0
"""The error of products is expected to be so much larger than its parts, and allowed to be so much larger than expected
where that costs nothing."""

TRIED, DEAR = 10, 0.75
"""After so many products the pace of a start is known; all second differences cost so many rows for each variable."""

EVEN = 0.003
"""What is expected of the error of symmetric products, beside the odd parts that cancel in them."""

BLUNT = 4.0
"""Products whose error is so much more than noise explains are blunt: their steps are too long."""


class Found(Exception):
    """What ends an attempt before its starts are done: a direction, or None if products cannot be believed."""

    def __init__(self, finding: Finding | None) -> None:
        self.finding = finding


@dataclass
class Attempt:
    """Starts are run until their first term is out of the way, and their errors are measured."""

    finder: Informed
    products: Shaped
    starts: Vector
    limits: Starts
    tried: list[Process] = field(default_factory=list)
    error: float = math.inf
    """What is expected of the error of products, and then the largest that was measured."""

    def run(self) -> Finding | None:
        """The answer, or None."""
        products = self.products
        products.blunt, products.slow, products.error, products.bent = False, False, math.inf, 0.0
        self.error = LIKELY * (products.noise() + products.odd)
        try:
            r = self._enough()
        except Found as stop:
            return stop.finding
        return None if r is None else self._concluded(r)

    def _enough(self) -> int | None:
        """Run starts until they are enough, and return how many those are; None if their errors are in the way."""
        products, limits = self.products, self.limits
        first = self._begin(limits.threshold(limits.aim))
        if not products.steady(self._softest(first)):
            return None
        self._settle_first(first)
        r = 1
        while True:  # a start that does not reach its threshold may reach that of more starts
            fewest = limits.fewest(lambda t: all(one.shown(t) is not None for one in self.tried))
            products.error = self.error
            if fewest is None or self.error == math.inf:
                products.blunt = self.error > BLUNT * products.noise() and self._soon(first, 4)
                products.slow = not self._soon(first, 2)
                return None
            r = max(r, fewest)
            if len(self.tried) == r:
                return r
            more = (r - len(self.tried)) * len(first.alpha) * products.order
            if more > products.here.d + 4 and self.finder.dense_next(products):
                return None  # all second differences cost less
            self._settle(self._begin(limits.threshold(r)), limits.threshold(r))

    def _concluded(self, r: int) -> Finding | None:
        """The certificate that r starts are enough for, unless what is seen along a direction contradicts it."""
        finder, products, shift = self.finder, self.products, self.products.shift + self.finder.delta
        level = min(one.shown(self.limits.threshold(r)) or 0.0 for one in self.tried)
        v = self._lowest(min(self.tried, key=lambda one: self._lowest(one)[1]))[0]
        below = finder.confirm(products.here, v, shift, "the lowest Ritz vector")
        if below.found:
            return below
        products.lowest = min(products.lowest, below.curvature.upper)
        lower = level - finder.delta + shift  # H - shift + delta >= level / P^2 >= level
        if lower > products.lowest:
            return None
        reason = f"{told(self.tried)}, product error at most {self.error:.2g}"
        return replace(finder.certified(Interval(lower, products.lowest), reason, v), third=products.third)

    # A start

    def _begin(self, threshold: float) -> Process:
        """The next start, run until its first term is out of the way."""
        process = Process(self.products, 0.0, self.starts[len(self.tried)], threshold=threshold)
        self._advance(process, threshold)
        self.tried.append(process)
        return process

    def _advance(self, process: Process, threshold: float) -> None:
        """Run until the first term is out of the way; a Ritz value that shows a direction ends the attempt."""
        finder, products, extra = self.finder, self.products, EXTRA
        while not process.complete and self._lacking(process, threshold, extra):
            extra -= bool(process.alpha) and process.bound(0.0, self.error) < threshold
            process.advance()
            if process.overflowed or self._hopeless(process, threshold):
                raise Found(None)
            if process.ritz()[0][0] > 0.25 * finder.delta:  # P shrinks: no Ritz vector curves down by 3/4 delta
                continue
            v, curvature = self._lowest(process)
            if curvature <= -0.75 * finder.delta:
                reason = f"Ritz value {curvature:.3g} after {len(process.alpha)} products"
                finding = finder.confirm(products.here, v, products.shift + finder.delta, reason)
                raise Found(finding if finding.found else None)

    def _hopeless(self, process: Process, threshold: float) -> bool:
        """Whether the products still lacking, at the pace of the last, cost more than all second differences."""
        products = self.products
        if len(process.alpha) < TRIED or process.ritz()[0][0] <= 0:
            return False
        lacking = math.log(max(process.terms(0.0)[0] / threshold, 1.0)) / max(process.pace(), 1e-3)
        products.slow = products.order * lacking > DEAR * products.here.d + 4 and self.finder.dense_next(products)
        return products.slow

    def _lacking(self, process: Process, threshold: float, extra: int) -> bool:
        """Whether another product would help: towards a certificate, or towards the curvature that "minimum" needs."""
        if not process.alpha:
            return True
        first, _, w = process.terms(0.0)
        inexact = norm2(w) * self.error + process.lost(w) + process.uneven(w)
        if first >= max(0.95 * threshold - inexact, inexact):
            return True
        if extra <= 0 or first < inexact / 4:
            return False
        wanted = self._wanted()
        if self._lowest(process)[1] <= 2 * wanted:
            return False
        level = wanted + self.finder.delta
        bound = process.bound(level, self.error, joint=True) + process.uneven(process.terms(level)[2])
        return threshold <= bound < threshold * math.exp((extra + 1) * process.pace())  # not shown yet, nor far from it

    def _wanted(self) -> float:
        """The curvature that must be shown before "minimum" can be said without a Newton step."""
        here = self.products.here
        size, third = norm2(here.gradient()[0]), max(self.products.third, here.third_derivative())
        return 1.2 * max(2 * size / float(np.min(here.steps)), float(np.sqrt(6 * third * size)))

    def _lowest(self, process: Process) -> tuple[Vector, float]:
        """The direction of the lowest Ritz value, and the curvature H - shift has along it."""
        v, curvature = process.lowest()  # of H - shift + delta
        return v, curvature - self.finder.delta

    def _softest(self, process: Process) -> Matrix:
        """The softest directions that the products and the model show, as columns."""
        vectors = self.products.direction(process.basis.T @ process.ritz()[1][:, :SOFTEST])
        missing = max(min(SOFTEST, len(vectors)) - vectors.shape[1], 0)
        return np.concatenate([vectors, self.finder.model.spectrum[1][:, :missing]], axis=1)

    # Its error

    def _settle_first(self, first: Process) -> None:
        """Measure the error of a first start, and go on with it where that is worth more than another start."""
        alone, aim = self.limits.threshold(1), self.limits.threshold(self.limits.aim)
        self.error = max(self.error, EVEN * self.products.bent)
        self.error = self._measured(first, alone if first.bound(0.0, self.error, joint=True) < alone else aim)
        for enough in self._worth(first):
            if self._goes_on(first, enough):
                self.error = self._measured(first, enough)

    def _settle(self, process: Process, threshold: float) -> None:
        """Measure the error of a start; if that is in the way, but not too large, go on and measure it again."""
        own, w = self._measured(process, threshold), process.terms(0.0)[2]
        self.error = max(self.error, own)
        near = process.shown(threshold) is None and 1.25 * norm2(w) * own + process.lost(w) < threshold
        if near and self._goes_on(process, threshold):
            self.error = max(self.error, self._measured(process, threshold))

    def _goes_on(self, process: Process, threshold: float) -> bool:
        """Run a start further; whether that took a product more."""
        known = len(process.alpha)
        self._advance(process, threshold)
        return len(process.alpha) > known

    def _measured(self, process: Process, threshold: float) -> float:
        """The error of a start, measured at the highest level that one larger than expected would still allow, or at
        that which "minimum" needs."""
        wanted = self._wanted() + self.finder.delta
        level = process.level(ALLOWED * self.error, threshold, joint=True)
        if level < wanted and process.bound(wanted, self.error, joint=True) < threshold:
            level = wanted
        return process.settle(level, threshold)

    def _worth(self, first: Process) -> list[float]:
        """Thresholds that more products of a first start are worth, where their error lets them be reached: that of a
        start alone, if at its pace another start would cost more; else that of all starts aimed at."""
        enough, alone = self.limits.threshold(self.limits.aim), self.limits.threshold(1)
        bound, second, _ = first.terms(0.0)
        least = 1.25 * second * self.error
        if least < alone and math.log(max(bound / (alone - least), 1.0)) < first.pace() * len(first.alpha):
            return [alone]
        return [enough] if least < enough else []

    def _soon(self, first: Process, order: Order) -> bool:
        """Whether products of an order cost less than all second differences, at the pace of these."""
        pace = -math.log(max(first.terms(0.0)[0], 1e-300)) / len(first.alpha)
        return pace > 0 and order * (3 - math.log(self.limits.threshold(1)) / pace) < self.products.here.d
