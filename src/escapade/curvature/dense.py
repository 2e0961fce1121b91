"""The dense finder: all second differences. Chance enters only in how truncation is looked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import eigh

from .._array import Matrix, Vector
from ..derivatives import product_errors
from ..derivatives.consistency import AlongCheck
from ..derivatives.estimates import DenseHessian
from ..derivatives.measure import Allowance, LocalModel
from ..derivatives.preconditioner import DiagonalPreconditioner
from ..derivatives.products import KIND, HessianProducts
from ..derivatives.settings import CONSISTENCY, STEPS
from ..errors import MissingValue
from ..interval import Interval
from . import price, soft
from .complement import Complement
from .finding import Finder, Finding, Soft
from .obstacle import Obstacle, after
from .settings import DENSE, FINDER, SOFT
from .soft import Spectrum

SIDED = "third derivatives dominate one-sided differences"


@dataclass(frozen=True, kw_only=True)
class Dense(Finder):
    """The smallest eigenvalue of the Hessian by second differences, d(d-1)/2 of them on one side besides the rows, and
    as many on the other where third derivatives dominate; or, where products have shown a part of it, those of their
    complement.

    Errors are bounded in the units of the steps, so that variables of very different scales do not drown one
    another: with A = diag(h) H diag(h) known to within e, H >= s as soon as A - e I >= s diag(h)^2.

    Truncation is measured by second differences along random directions, and by a product at twice the steps with the
    lowest eigenvector; products with random vectors are looked at on much shorter ones.

    Queries: d*(d - 1)/2 or d*(d - 1), and 3*d + 76, 16 more from 32 variables on, besides the local model; more if
    the differences must be extrapolated
    """

    name = "dense"

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        return self.free_direction(local, shift) or self.search(local, rng, shift, self.allowance(local))

    def search(
        self,
        local: LocalModel,
        rng: np.random.Generator,
        shift: float,
        allowance: Allowance,
        complement: Complement | None = None,
        *,
        one_sided: bool = True,
        contradicted: bool = False,
    ) -> Finding:
        """Attempts with second differences of one kind after another, as far as they are allowed; first with those of
        the complement of products, if there were any. Where products were contradicted on shorter steps, more of these
        are looked at: the same looks would only be another chance to miss it."""
        best, tried = self.undecided("nothing was tried"), set()
        products = HessianProducts(local, DiagonalPreconditioner(local.steps), 1 if one_sided else 2)
        forms = _Forms(local, rng)
        for _ in range(FINDER.attempts):
            looks = DENSE.products * (DENSE.contradicted if contradicted else 1)
            attempt = _Attempt(self, products, shift, forms, allowance, looks, complement)
            if not allowance.allows(attempt.price):
                return self.too_dear(best, allowance, attempt.price)
            tried.add((products.order, products.factor))
            finding, obstacle = attempt.run(rng)
            if obstacle is Obstacle.NONE:
                return finding
            if best.reason == "nothing was tried" or finding.curvature.lower > best.curvature.lower:
                best = finding
            products = after(products, obstacle)
            if (products.order, products.factor) in tried or products.too_long:
                break
        return best


@dataclass(frozen=True)
class _Forms:
    """Second differences along random directions, asked for once for each kind of steps."""

    local: LocalModel
    rng: np.random.Generator
    taken: dict[tuple[bool, float], tuple[Matrix, Vector, float]] = field(default_factory=dict)

    def error(self, hessian: DenseHessian, order: int, factor: float) -> tuple[float, float]:
        """The Frobenius norm of the error E of a Hessian in step units, times a safety factor: the mean of (g'Eg)^2
        over normal vectors g is twice its square, or more. No odd derivative enters second differences along g. And
        the third derivative they show.

        Queries: 2*m the first time, or 4*m if the order is 4, with m = 16, or 2*d if that is less
        """
        key = (order == 4, factor)
        if not self.known(order, factor):
            self.taken[key] = self._take(*key)
        ways, seen, third = self.taken[key]
        off = np.einsum("ki,ij,kj->k", ways, hessian.scaled, ways) - seen
        return STEPS.truncation_safety * math.sqrt(float(np.mean(off**2)) / 2), third

    def known(self, order: int, factor: float) -> bool:
        """Whether they were asked for."""
        return (order == 4, factor) in self.taken

    def _take(self, extrapolated: bool, factor: float) -> tuple[Matrix, Vector, float]:
        local, k = self.local, factor * min(1.0, DENSE.nearby / math.sqrt(self.local.d))
        ways = self.rng.standard_normal((min(DENSE.forms, 2 * local.d), local.d))
        ends = k * ways * local.steps
        far = np.concatenate([ends, 2 * ends]) if extrapolated else ends
        both = np.concatenate([far, -far])
        owner = np.tile(np.arange(len(ways)), len(both) // len(ways))
        values, scale = local.stencil.retaken(both, owner, len(ways), "curvature")
        up, down = values.reshape(2, -1, len(ways))
        ends, reach = scale[:, None] * ends, k * scale
        seen = (up[0] + down[0] - 2 * local.f0) / reach**2
        if extrapolated:
            seen = (4 * seen - (up[1] + down[1] - 2 * local.f0) / (2 * reach) ** 2) / 3
        n = np.linalg.norm(ends, axis=1)
        odd = np.abs((up[0] - down[0]) / 2 - ends @ local.gradient.value) / n / n / n  # a cube may overflow
        return ways, seen, 6 * float(odd.max())


@dataclass(frozen=True)
class _Attempt:
    """One attempt with second differences of one kind."""

    finder: Dense
    products: HessianProducts
    """Of the same order and steps."""
    shift: float
    forms: _Forms
    allowance: Allowance
    looks: int = DENSE.products
    """Random vectors whose products are looked at on much shorter steps."""
    complement: Complement | None = None

    @property
    def local(self) -> LocalModel:
        """The local model."""
        return self.products.local

    @property
    def completes(self) -> bool:
        """Whether products have shown a part of the Hessian."""
        return self.complement is not None and self.products.order <= 2 and self.products.factor == 1.0

    @property
    def price(self) -> int:
        """What the attempt costs at most."""
        stencil, order, k = self.local.stencil, self.products.order, self.products.factor
        checks = price.checks(stencil.d, again=self.forms.known(order, k), looks=self.looks) * (2 if order == 4 else 1)
        checks += stencil.price_of_rows(stencil.far * k, -stencil.far * k)
        if self.complement is not None and self.completes:
            return self.complement.price(order) + checks
        factors = (k, -k, 2 * k, -2 * k) if order == 4 else (k, -k)[:order]
        return stencil.price_of_pairs(*factors) + checks

    def run(self, rng: np.random.Generator) -> tuple[Finding, Obstacle]:
        """The finding, and what is in its way."""
        finder, local, shift, order = self.finder, self.local, self.shift, self.products.order
        hessian = self._hessian()
        weight = np.diag(local.steps**2)
        values, vectors = eigh(hessian.scaled, weight)
        low = values[0] - shift
        odd = local.third_derivative * float(np.max(local.steps)) * np.sqrt(local.d)
        if order == 1 and low > -finder.depth * finder.delta and odd > DENSE.slight * (low + finder.delta):
            return finder.undecided(SIDED), Obstacle.TRUNCATION
        vectors = vectors * local.steps[:, None]  # from the pencil's coordinates to y
        v = vectors[:, 0]
        seen = finder.confirm(local, v, shift, "the lowest eigenvector of all second differences")
        if seen.found:
            return replace(seen, hessian=hessian.unscaled), Obstacle.NONE
        spread = self.forms.error(hessian, order, self.products.factor)
        if order == 1 and self._too_sided(self._lowest(hessian, spread[0]), low):
            return finder.undecided(SIDED), Obstacle.TRUNCATION
        far = self._far(hessian, v)
        truncation, third = max(spread[0], far.error), max(spread[1], far.third)
        lower = self._lowest(hessian, truncation)
        if order == 1 and self._too_sided(lower, low):
            return finder.undecided(SIDED), Obstacle.TRUNCATION
        along = local.check_along(vectors[:, : FINDER.softest], self.products.factor, order)
        if not along.consistent:
            return finder.undecided("f has structure below the steps of the second differences"), Obstacle.TRUNCATION
        if self._depends_on_scale(hessian, spread[0], rng):
            return finder.undecided("f depends on the scale within the steps of the differences"), Obstacle.TRUNCATION
        error = hessian.noise + truncation
        if not np.isfinite(error):
            return finder.undecided("the second differences overflow"), Obstacle.TRUNCATION
        upper = min(along.upper, seen.curvature.upper)
        if lower > upper:
            reason = "the curvature along a direction contradicts the second differences"
            return finder.undecided(reason), Obstacle.TRUNCATION
        softest = _soft(hessian, vectors[:, : FINDER.softest], error)
        if lower - shift >= -finder.delta:
            found = self._certified(Interval(lower, upper), seen, along, third)
            return replace(found, softest=softest, hessian=hessian.unscaled), Obstacle.NONE
        better = self._soft_again(hessian, error, Interval(lower, upper))
        if better is not None and better.found:
            return better, Obstacle.NONE
        if better is not None:
            found = self._certified(better.curvature, seen, along, third)
            return replace(found, reason=f"{found.reason}, {better.reason}", softest=better.softest,
                           hessian=better.hessian), Obstacle.NONE
        obstacle = Obstacle.NOISE if truncation < hessian.noise else Obstacle.TRUNCATION
        delta = finder.delta
        reason = f"second differences are too inexact: {obstacle.value} leaves {delta:.3g} unresolved"
        return replace(finder.undecided(reason, Interval(lower, upper)), softest=softest), obstacle

    def _hessian(self) -> DenseHessian:
        if self.complement is not None and self.completes:
            return self.complement.hessian(self.products.order)
        return self.local.dense_hessian(self.products.order, self.products.factor)

    def _lowest(self, hessian: DenseHessian, truncation: float) -> float:
        """The smallest eigenvalue that this error leaves; not a number if that is none."""
        error = hessian.noise + truncation
        if not np.isfinite(error):
            return math.nan
        inexact = hessian.scaled - error * np.eye(self.local.d)
        return float(eigh(inexact, np.diag(self.local.steps**2), eigvals_only=True)[0])

    def _soft_again(self, hessian: DenseHessian, error: float, curvature: Interval) -> Finding | None:
        """What the softest directions, measured again, show in spite of this error: a direction down, or that there is
        none; None if neither."""
        finder, local, least = self.finder, self.local, self.shift - self.finder.delta
        spectrum = Spectrum.of(hessian, error)
        m = spectrum.fewest(least, SOFT.room * finder.delta)
        if m is None or not self.allowance.allows(soft.price(m)):
            return None
        try:
            block = soft.measure(local, spectrum.vectors[:, :m], finder.delta)
        except MissingValue:
            return None
        v, seen = block.lowest
        if seen.upper <= self.shift - finder.depth * finder.delta:
            found = finder.confirm(local, v, self.shift, "the softest directions, measured again")
            return found if found.found else None
        lower, upper = spectrum.lowest(block.value, block.error), min(curvature.upper, seen.upper)
        if not least <= lower <= upper or spectrum.contradicts(block):
            return None
        S, values = block.directions, np.diag(spectrum.values[:m])
        reason = f"the softest {m} measured again"
        found = finder.certified(Interval(lower, upper), reason)
        return replace(found, softest=block.soft, hessian=hessian.unscaled + S @ (block.value - values) @ S.T)

    def _too_sided(self, lower: float, low: float) -> bool:
        """Whether the errors of one-sided differences make much of the lowest curvature."""
        return lower - self.shift < (1 - DENSE.slight) * low - DENSE.slight * self.finder.delta

    def _certified(self, curvature: Interval, seen: Finding, along: AlongCheck, third: float) -> Finding:
        reason = f"all second differences, {KIND[self.products.order]}"
        if self.complement is not None and self.completes:
            k = len(self.complement.taken)
            reason = f"{k} products and the second differences of their complement, {KIND[self.products.order]}"
        found = self.finder.certified(curvature, reason, seen.lowest)
        one_sided = self.products.order == 1
        third, jump = max(third, along.third), along.hessian_jump
        return replace(found, third=third, hessian_jump=jump, one_sided=one_sided)

    def _depends_on_scale(self, hessian: DenseHessian, truncation: float, rng: np.random.Generator) -> bool:
        """Whether the Hessian is another on much shorter steps, as far as its products with random vectors tell, and by
        more than truncation of this Frobenius norm in step units, which the certificate allows for, explains: it makes
        an error of |E|_F / sqrt(d) in the product with a unit vector.

        Queries: those of `product_errors.depends_on_scale` for each vector, twice where truncation may explain it
        """
        local, delta, kind = self.local, self.finder.delta, self.products
        plain = HessianProducts(local, order=kind.order, factor=kind.factor)
        for v in rng.standard_normal((self.looks, local.d)):
            q, v = v / local.steps, v / np.linalg.norm(v)
            q /= np.linalg.norm(q)
            parts = product_errors.short_steps(plain, v, delta / 16, rng)
            if parts[1] >= 0.5:  # noise leaves no room
                continue
            image = hessian.scaled @ (v / local.steps) / local.steps
            if product_errors.on_short_steps(plain, v, image, parts, rng) <= CONSISTENCY.subscale * delta:
                continue
            known, again = truncation / math.sqrt(local.d), 2 * product_errors.price_of_look(local.d)
            if not (known > 0 and self.allowance.allows(again)):
                return True
            if not product_errors.on_short_steps(kind, q, hessian.scaled @ q, parts, rng) <= known:
                return True
        return False

    def _far(self, hessian: DenseHessian, v: Vector) -> product_errors.ProductError:
        """What a product at twice the steps shows of the truncation, with the lowest eigenvector, which matters most.

        Queries: 2*d + 2 or 4*d + 4, and d for each row not yet known
        """
        lowest = v / self.local.steps
        lowest /= np.linalg.norm(lowest)
        both = replace(self.products, order=max(self.products.order, 2))  # one-sided differences against symmetric ones
        return product_errors.against_far_steps(both, lowest, hessian.scaled @ lowest)


def _soft(hessian: DenseHessian, vectors: Matrix, error: float) -> tuple[Soft, ...]:
    """These columns as directions, with the curvature along each that an error in step units leaves."""
    found = []
    for column in vectors.T:
        v = column / np.linalg.norm(column)
        w = v / hessian.steps
        curvature, off = float(w @ hessian.scaled @ w), error * float(w @ w)
        found.append(Soft(v, Interval(curvature - off, curvature + off)))
    return tuple(found)
