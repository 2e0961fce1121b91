"""The dense finder: all second differences. Chance enters only in how truncation is looked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from .._array import Vector
from ..derivatives import product_errors
from ..derivatives.consistency import AlongCheck
from ..derivatives.estimates import DenseHessian
from ..derivatives.measure import LocalModel
from ..derivatives.preconditioner import DiagonalPreconditioner
from ..derivatives.products import KIND, HessianProducts
from ..derivatives.settings import STEPS
from ..interval import Interval
from .finding import Finder, Finding
from .obstacle import Obstacle, after
from .settings import DENSE, FINDER

SIDED = "third derivatives dominate one-sided differences"


@dataclass(frozen=True, kw_only=True)
class Dense(Finder):
    """The smallest eigenvalue of the Hessian by second differences, d(d-1)/2 of them on one side besides the rows, and
    as many on the other where third derivatives dominate.

    Errors are bounded in the units of the steps, so that variables of very different scales do not drown one
    another: with A = diag(h) H diag(h) known to within e, H >= s as soon as A - e I >= s diag(h)^2.

    Truncation is measured by second differences along random directions, and by a product at twice the steps with the
    lowest eigenvector; products with random vectors are looked at on much shorter ones.

    Queries: d*(d - 1)/2 or d*(d - 1), and 3*d + 76, 16 more from 32 variables on, besides the local model; more if
    the differences must be extrapolated
    """

    name = "dense"

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        free = self.free_direction(local, shift)
        if free is not None:
            return free
        best, tried = self.undecided("nothing was tried"), set()
        products = HessianProducts(local, DiagonalPreconditioner(local.steps), 1)
        for _ in range(FINDER.attempts):
            tried.add((products.order, products.factor))
            finding, obstacle = self._attempt(products, rng, shift)
            if obstacle is Obstacle.NONE:
                return finding
            if best.reason == "nothing was tried" or finding.curvature.lower > best.curvature.lower:
                best = finding
            products = after(products, obstacle)
            if (products.order, products.factor) in tried or products.too_long:
                break
        return best

    def _attempt(
        self, products: HessianProducts, rng: np.random.Generator, shift: float
    ) -> tuple[Finding, Obstacle]:
        local, order = products.local, products.order
        hessian = local.dense_hessian(order, products.factor)
        weight = np.diag(local.steps**2)
        values, vectors = eigh(hessian.scaled, weight)
        low = values[0] - shift
        odd = local.third_derivative * float(np.max(local.steps)) * np.sqrt(local.d)
        if order == 1 and low > -self.depth * self.delta and odd > DENSE.slight * (low + self.delta):
            return self.undecided(SIDED), Obstacle.TRUNCATION
        vectors = vectors * local.steps[:, None]  # from the pencil's coordinates to y
        v = vectors[:, 0]
        seen = self.confirm(local, v, shift, "the lowest eigenvector of all second differences")
        if seen.found:
            return seen, Obstacle.NONE
        along = local.check_along(vectors[:, : FINDER.softest], products.factor, order)
        if not along.consistent:
            return self.undecided("f has structure below the steps of the second differences"), Obstacle.TRUNCATION
        if self._depends_on_scale(products, hessian, rng):
            return self.undecided("f depends on the scale within the steps of the differences"), Obstacle.TRUNCATION
        truncation, third = self._truncation(products, hessian, v, rng)
        error = hessian.noise + truncation
        if not np.isfinite(error):
            return self.undecided("the second differences overflow"), Obstacle.TRUNCATION
        lower = float(eigh(hessian.scaled - error * np.eye(local.d), weight, eigvals_only=True)[0])
        upper = min(along.upper, seen.curvature.upper)
        if lower > upper:
            reason = "the curvature along a direction contradicts the second differences"
            return self.undecided(reason), Obstacle.TRUNCATION
        if order == 1 and lower - shift < (1 - DENSE.slight) * low - DENSE.slight * self.delta:
            return self.undecided(SIDED), Obstacle.TRUNCATION
        if lower - shift >= -self.delta:
            return self._certified(Interval(lower, upper), order, seen, along, third), Obstacle.NONE
        obstacle = Obstacle.NOISE if truncation < hessian.noise else Obstacle.TRUNCATION
        reason = f"second differences are too inexact: {obstacle.value} leaves {self.delta:.3g} unresolved"
        return self.undecided(reason, Interval(lower, upper)), obstacle

    def _certified(
        self, curvature: Interval, order: int, seen: Finding, along: AlongCheck, third: float
    ) -> Finding:
        found = self.certified(curvature, f"all second differences, {KIND[order]}", seen.lowest)
        return replace(found, third=max(third, along.third), hessian_jump=along.hessian_jump)

    def _depends_on_scale(
        self, products: HessianProducts, hessian: DenseHessian, rng: np.random.Generator
    ) -> bool:
        """Whether the Hessian is another on much shorter steps, as far as its products with random vectors tell."""
        h = products.local.steps
        plain = HessianProducts(products.local, order=products.order, factor=products.factor)
        vectors = (v / np.linalg.norm(v) for v in rng.standard_normal((DENSE.products, len(h))))
        images = ((v, hessian.scaled @ (v / h) / h) for v in vectors)
        return any(product_errors.depends_on_scale(plain, v, image, self.delta, rng) for v, image in images)

    def _truncation(
        self, products: HessianProducts, hessian: DenseHessian, v: Vector, rng: np.random.Generator
    ) -> tuple[float, float]:
        """The norm of the truncation error in step units: as large as random directions show it, and as a product at
        twice the steps shows it with the lowest eigenvector, which matters most. And the largest third derivative
        seen."""
        lowest = v / products.local.steps
        lowest /= np.linalg.norm(lowest)
        spread, third = self._spread(products, hessian, rng)
        both = replace(products, order=max(products.order, 2))  # one-sided differences against symmetric ones
        far = product_errors.against_far_steps(both, lowest, hessian.scaled @ lowest)
        return max(spread, far.error), max(third, far.third)

    def _spread(
        self, products: HessianProducts, hessian: DenseHessian, rng: np.random.Generator
    ) -> tuple[float, float]:
        """The Frobenius norm of the error E, times a safety factor: the mean of (g'Eg)^2 over normal vectors g is twice
        its square, or more. No odd derivative enters second differences along g. And the third derivative they show.

        Queries: 2*m, or 4*m if the order is 4, with m = 16, or 2*d if that is less
        """
        local, k = products.local, products.factor * min(1.0, DENSE.nearby / math.sqrt(products.local.d))
        ways = rng.standard_normal((min(DENSE.forms, 2 * local.d), local.d))
        ends = k * ways * local.steps
        far = np.concatenate([ends, 2 * ends]) if products.order == 4 else ends
        both = np.concatenate([far, -far])
        owner = np.tile(np.arange(len(ways)), len(both) // len(ways))
        values, scale = local.stencil.retaken(both, owner, len(ways), "curvature")
        up, down = values.reshape(2, -1, len(ways))
        ends, reach = scale[:, None] * ends, k * scale
        seen = (up[0] + down[0] - 2 * local.f0) / reach**2
        if products.order == 4:
            seen = (4 * seen - (up[1] + down[1] - 2 * local.f0) / (2 * reach) ** 2) / 3
        n = np.linalg.norm(ends, axis=1)
        odd = np.abs((up[0] - down[0]) / 2 - ends @ local.gradient.value) / n / n / n
        off = np.einsum("ki,ij,kj->k", ways, hessian.scaled, ways) - seen
        return STEPS.truncation_safety * math.sqrt(float(np.mean(off**2)) / 2), 6 * float(odd.max())
