"""The dense finder: all second differences. Chance enters only in how truncation is looked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from ..derivatives.estimates import DenseHessian, dense_hessian
from ..derivatives.measure import Interval, Neighbourhood, Vector
from ..derivatives.products import KIND, Products
from ..derivatives.steps import TRUNCATION_SAFETY
from .finding import SOFTEST, Finder, Finding

ATTEMPTS = 7
"""Changes of step length or order of the differences before the finder gives up."""

SLIGHT = 0.1
"""The part of the lowest curvature and the tolerance that third derivatives may make of it: else differences are taken
on both sides."""

FORMS = 16
"""Random directions along which second differences are compared with those of all pairs."""

NEARBY = 3.0
"""How far these go, in steps: their truncation is little more than that of pairs, their noise less than that of all."""

LOOKS = 2
"""Random vectors whose products are looked at on much shorter steps."""

SIDED = "third derivatives are in the way of one-sided differences"


@dataclass(frozen=True, kw_only=True)
class Dense(Finder):
    """The smallest eigenvalue of the Hessian by second differences, d(d-1)/2 of them on one side besides the rows, and
    as many on the other where third derivatives are in the way.

    Errors are bounded in the units of the steps, so that variables of very different scales do not drown one
    another: with A = diag(h) H diag(h) known to within e, H >= s as soon as A - e I >= s diag(h)^2.

    Truncation is measured by second differences along random directions, and by a product at twice the steps with the
    lowest eigenvector; products with random vectors are looked at on much shorter ones.

    Queries: d*(d - 1)/2 or d*(d - 1), and 3*d + 76, 16 more from 32 variables on, besides the neighbourhood; more if
    the differences must be extrapolated
    """

    name = "dense"

    def at(self, here: Neighbourhood, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        free = self.free_direction(here, shift)
        if free is not None:
            return free
        best, tried = self.undecided("nothing was tried"), set()
        products = Products(here, here.steps, 1)
        for _ in range(ATTEMPTS):
            tried.add((products.order, products.factor))
            finding, obstacle = self._attempt(here, rng, shift, products)
            if not obstacle:
                return finding
            best = max(best, finding, key=lambda one: one.curvature.lower)
            products = products.after(obstacle)
            if (products.order, products.factor) in tried or products.too_long:
                break
        return best

    def _attempt(
        self, here: Neighbourhood, rng: np.random.Generator, shift: float, products: Products
    ) -> tuple[Finding, str]:
        hessian = dense_hessian(here, products.order, products.factor)
        weight = np.diag(here.steps**2)
        values, vectors = eigh(hessian.scaled, weight)
        low, odd = values[0] - shift, here.third_derivative() * float(np.max(here.steps)) * np.sqrt(here.d)
        if products.order == 1 and low > -self.depth * self.delta and odd > SLIGHT * (low + self.delta):
            return self.undecided(SIDED), "truncation"
        vectors = vectors * here.steps[:, None]  # from the pencil's coordinates to y
        v = vectors[:, 0]
        seen = self.confirm(here, v, shift, "the lowest eigenvector of all second differences")
        if seen.found:
            return seen, ""
        if not products.steady(vectors[:, :SOFTEST]):
            return self.undecided("f has structure below the steps of the second differences"), "truncation"
        if self._hidden(products, hessian, rng):
            return self.undecided("f is another function within the steps of the second differences"), "truncation"
        truncation = self._truncation(products, hessian, v, rng)
        error = hessian.noise + truncation
        if not np.isfinite(error):
            return self.undecided("the second differences overflow"), "truncation"
        lower = float(eigh(hessian.scaled - error * np.eye(here.d), weight, eigvals_only=True)[0])
        if lower > min(products.lowest, seen.curvature.upper):
            return self.undecided("the curvature along a direction contradicts the second differences"), "truncation"
        if products.order == 1 and lower - shift < (1 - SLIGHT) * low - SLIGHT * self.delta:
            return self.undecided(SIDED), "truncation"
        interval = Interval(lower, seen.curvature.upper)
        if lower - shift >= -self.delta:
            found = self.certified(interval, f"all second differences, {KIND[products.order]}", seen.lowest)
            return replace(found, third=products.third), ""
        obstacle = "noise" if truncation < hessian.noise else "truncation"
        reason = f"second differences are too inexact: {obstacle} leaves {self.delta:.3g} unresolved"
        return self.undecided(reason, interval), obstacle

    def _hidden(self, products: Products, hessian: DenseHessian, rng: np.random.Generator) -> bool:
        """Whether the Hessian is another on much shorter steps, as far as its products with random vectors tell."""
        h = products.metric
        plain = replace(products, metric=np.ones(len(h)))
        looks = (v / np.linalg.norm(v) for v in rng.standard_normal((LOOKS, len(h))))
        return any(plain.hides(v, hessian.scaled @ (v / h) / h, self.delta, rng) for v in looks)

    def _truncation(
        self, products: Products, hessian: DenseHessian, v: Vector, rng: np.random.Generator
    ) -> float:
        """The norm of the truncation error in step units: as large as random directions show it, and as a product at
        twice the steps shows it with the lowest eigenvector, which matters most."""
        lowest = v / products.metric
        lowest /= np.linalg.norm(lowest)
        return float(max(self._spread(products, hessian, rng), products.truncation(lowest, hessian.scaled @ lowest)))

    def _spread(self, products: Products, hessian: DenseHessian, rng: np.random.Generator) -> float:
        """The Frobenius norm of the error E, times a safety factor: the mean of (g'Eg)^2 over normal vectors g is twice
        its square, or more. No odd derivative enters second differences along g.

        Queries: 2*m, or 4*m if the order is 4, with m = 16, or 2*d if that is less
        """
        here, k = products.here, products.factor * min(1.0, NEARBY / math.sqrt(products.here.d))
        ways = rng.standard_normal((min(FORMS, 2 * here.d), here.d))
        ends = k * ways * here.steps
        far = np.concatenate([ends, 2 * ends]) if products.order == 4 else ends
        up, down = here.f.tagged("curvature")(here.around(np.concatenate([far, -far]))).reshape(2, -1, len(ways))
        seen = (up[0] + down[0] - 2 * here.f0) / k**2
        if products.order == 4:
            seen = (4 * seen - (up[1] + down[1] - 2 * here.f0) / (2 * k) ** 2) / 3
        bent = np.abs((up[0] - down[0]) / 2 - ends @ here.gradient()[0]) / np.linalg.norm(ends, axis=1) ** 3
        products.third = max(products.third, 6 * float(bent.max()))
        off = np.einsum("ki,ij,kj->k", ways, hessian.scaled, ways) - seen
        return TRUNCATION_SAFETY * math.sqrt(float(np.mean(off**2)) / 2)
