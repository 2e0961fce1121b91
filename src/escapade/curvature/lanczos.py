"""The anytime finder: Lanczos from a random start, with an inequality that holds at every step (see `process`).

Once its right side is below what a random vector can be expected to have (see `starts`), there is no eigenvector below
the tolerance, at any stopping time. No ell is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..derivatives.measure import Interval, Neighbourhood, Vector
from ..derivatives.products import Order, Products
from .finding import ANYWHERE, SOFTEST, Finder, Finding
from .process import Process, told
from .starts import MOST, Starts

ATTEMPTS = 7
"""Changes of step length or order of the differences before the finder gives up."""

CHEAP = 3
"""A certificate of at most so many products is asked for again from a second start."""

SHY = 0.8
"""The level whose error is measured, beside the highest that the error expected would allow."""

UNEVEN = 32.0
"""Steps that differ by more than this are taken as the scale of the variables."""


@dataclass(frozen=True, kw_only=True)
class Lanczos(Finder):
    """The anytime Lanczos finder.

    Products start as forward differences (d + 1 queries) where the first shows no odd error, as symmetric ones (2d + 2)
    elsewhere, of which the last may be one-sided, for their errors hardly count. Before a certificate is given, the one
    product that the error term of each start hangs on is measured again at twice the steps, and looked at on much
    shorter ones; if it moved too much the differences are extrapolated, or shortened; if noise is what stands in the
    way they are lengthened, and more starts are taken.

    Queries: d + 1 or 2*d + 2 per product, 2*d + 2 for the second look, up to three times for each start, 8 to 32 for
    that on shorter steps, 24 for such looks along the softest directions, besides the neighbourhood; twice that if
    the differences must be extrapolated
    """

    name = "lanczos"

    def at(self, here: Neighbourhood, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        free = self.free_direction(here, shift)
        if free is not None:
            return free
        starts: Vector = rng.standard_normal((MOST, here.d))
        starts /= np.linalg.norm(starts, axis=1, keepdims=True)
        h = here.steps
        metric = h / h.max() if h.max() > UNEVEN * h.min() else np.ones(here.d)
        products = Products(here, metric, 2, 1.0, shift)
        head: Vector | None
        products.order, head = self._first_product(products, starts[0])
        best, tried = self.undecided("nothing was tried"), set()
        for _ in range(ATTEMPTS):
            tried.add((products.order, products.factor))
            finding, obstacle = _Attempt(self, products, starts, head, rng).run()
            if not obstacle:
                return finding
            best = max(best, finding, key=lambda one: one.curvature.lower)
            products, head = products.after(obstacle), None
            if (products.order, products.factor) in tried or products.too_long:
                break
        return best

    def _first_product(self, products: Products, q: Vector) -> tuple[Order, Vector]:
        """The product with q, and the order of the next: 1 if its forward form is as good as its symmetric one.

        Queries: 2*d + 2
        """
        product, odd = products.even(q, products.factor)
        scale = abs(float(q @ product)) + self.delta * float(q @ (products.metric**2 * q))
        small = Starts(len(q), self.failure).threshold(1) * scale / 4
        return (1 if float(np.linalg.norm(odd)) < small else 2), product


@dataclass
class _Attempt:
    """One run at fixed steps. `run` returns the finding, and what stood in the way ("" if nothing did)."""

    finder: Lanczos
    products: Products
    starts: Vector
    head: Vector | None
    rng: np.random.Generator

    def run(self) -> tuple[Finding, str]:
        finder, noise = self.finder, self.products.noise()
        limits = Starts(len(self.starts[0]), finder.failure)
        first = Process(self.products, finder.delta, self.starts[0], self.head, limits.threshold(1))
        suspect = self._advance(first, noise, limits.threshold(1))
        if suspect is not None:
            return suspect
        softest = first.basis.T @ first.ritz()[1][:, :SOFTEST]
        if not self.products.steady(self.products.direction(softest)) or self._hidden(first):
            return self._stuck(first, noise, math.inf, limits)
        error = first.settle(SHY * first.level(noise, limits.threshold(1)), limits.threshold(1))
        r = limits.fewest(lambda t: first.shown(t) is not None)
        if r is None:
            return self._stuck(first, noise, error, limits)
        enough, more = limits.threshold(r), r > 1
        if len(first.alpha) <= CHEAP:
            r = max(r, 2)  # a spectrum this simple makes a second start cheap: one for good measure, if one will do
        tried, level = [first], first.shown(enough) or 0.0
        for q in self.starts[1:r]:
            process = Process(self.products, finder.delta, q, threshold=enough if more else 0.0)
            suspect = self._advance(process, error, enough)
            if suspect is not None:
                return suspect
            if self._hidden(process):
                return self._stuck(process, noise, math.inf, limits)
            if more:
                error = max(error, process.settle(SHY * process.level(error, enough), enough))
            above = process.shown(enough) if more else process.level(error, enough)
            if above is None or above < 0:
                return self._stuck(process, noise, error, limits)
            level = min(level, above)
            tried.append(process)
        return self._certified(tried, level, error)

    def _hidden(self, process: Process) -> bool:
        """Whether f is another function within the steps of the product that the inequality of a start hangs on."""
        return self.products.hides(*process.critical(0.0), self.finder.delta, self.rng)

    def _advance(self, process: Process, error: float, threshold: float) -> tuple[Finding, str] | None:
        """Run until the first term is out of the way, or a Ritz value shows a direction worth confirming."""
        finder, here, products = self.finder, self.products.here, self.products
        extra = None
        while not process.complete:
            process.advance()
            if process.overflowed:
                return finder.undecided("the products overflow"), "truncation"
            v, curvature = process.lowest()
            if curvature <= -0.75 * finder.delta:
                reason = f"Ritz value {curvature:.3g} after {len(process.alpha)} products"
                finding = finder.confirm(here, v, products.shift, reason)
                return finding, "" if finding.found else "truncation"
            first, second, _ = process.terms(0.0)
            if first < max(threshold / 2, second * error):
                if extra is None:
                    extra = 2 + len(process.alpha) // 2
                # A few more products may turn "at least -delta" into "positive".
                floor = process.level(error, threshold) / float(np.max(products.metric)) ** 2 - finder.delta
                if extra == 0 or curvature <= 0 or floor >= curvature / 4 or first < second * error / 4:
                    return None
                extra -= 1
        return None

    def _certified(self, tried: list[Process], level: float, error: float) -> tuple[Finding, str]:
        finder, products = self.finder, self.products
        v, _ = min((one.lowest() for one in tried), key=lambda seen: seen[1])
        below = finder.confirm(products.here, v, products.shift, "the lowest Ritz vector")
        if below.found:
            return below, ""
        # H - shift + delta = P^-1 B P^-1 >= level P^-2.
        lower = level / float(np.max(products.metric)) ** 2 - finder.delta + products.shift
        if lower > min(products.lowest, below.curvature.upper):
            return finder.undecided("the curvature along a direction contradicts the products"), ""  # unlucky starts
        reason = f"{told(tried)}, product error at most {error:.2g}"
        interval = Interval(lower, below.curvature.upper)
        return replace(finder.certified(interval, reason, v), third=products.third), ""

    def _stuck(self, process: Process, noise: float, error: float, limits: Starts) -> tuple[Finding, str]:
        finder, products = self.finder, self.products
        level = max(process.level(error, limits.threshold(r)) for r in (1, MOST))
        side = np.min(products.metric) if level < 0 else np.max(products.metric)
        lower = level / float(side) ** 2 - finder.delta + products.shift
        obstacle = "noise" if error < 4 * noise else "truncation"
        reason = f"products are too inexact: {obstacle} leaves errors of {error:.2g} at delta={finder.delta:.3g}"
        return finder.undecided(reason, Interval(lower, ANYWHERE.upper)), obstacle
