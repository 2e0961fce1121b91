"""The finder for functions with gradients: Lanczos on differences of gradients, up to the whole Hessian.

A product costs two gradients whatever the dimension is. From one random start the inequality of `process` certifies; at
any time all products together are the Hessian in the space they span, and d of them are all of it: then its smallest
eigenvalue, less the norm of the errors, decides without chance.

What is certified of the user's derivatives is held against values. Let M = P'(B - shift)P be what Lanczos saw, with
M >= s, and H the Hessian of values. R^-2 = s + Y (theta - s) Y', for Ritz pairs theta, Y whose residuals are small, is
at most M and a tenth of s more. Had P'(H - shift)P an eigenvalue below (1 - t) s for some t < 1, then R'P'(H - B)P R
would have one below -0.9 t, and the small ball of `random_forms` bounds that by second differences of values along PRg.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from .. import budget
from .._array import Matrix, Vector, like, norm2
from .._text import counted
from ..derivatives.against_values import missed_curvature
from ..derivatives.by_gradients import GradientModel, GradientProducts
from ..derivatives.measure import LocalModel
from ..derivatives.preconditioner import IDENTITY, Preconditioner
from ..derivatives.products import Product
from ..derivatives.settings import SLOPES, STEPS
from ..errors import MissingCapability
from ..interval import Interval
from .finding import ANYWHERE, Finder, Finding, Outcome
from .overlap import Thresholds, random_starts
from .process import LanczosProcess
from .random_forms import tolerance
from .settings import BY_GRADIENTS, FINDER, LANCZOS

SCALE = "jac depends on the scale within the steps of its differences"

DISAGREE = "jac and differences of values disagree at x about the curvature along random directions"


@dataclass(frozen=True, kw_only=True)
class ByGradients(Finder):
    """Lanczos on products that are symmetric differences of gradients, or the user's own.

    Queries: 6 or a few more for each direction tried, and 10 for the curvature that is certified; two gradients a
    product, at most d products, four gradients for the error that a certificate hangs on, up to three times, or 10 for
    that of the whole Hessian
    """

    preconditioner: Preconditioner | None = None
    """Fixed before the starts are drawn; None: a diagonal, where that helps."""
    wanted: float = 0.0
    """A curvature that is worth half as many products more, if it can be shown; 0: none."""

    name = "gradients"
    uses_gradients = True

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        return self.search(local, rng, shift)[0]

    def search(
        self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0
    ) -> tuple[Finding, tuple[Product, ...]]:
        """The finding, and the products behind it, to update a model with."""
        if not isinstance(local, GradientModel):
            raise MissingCapability("the finder 'gradients' needs a function with gradients: pass jac=")
        P = self.preconditioner or IDENTITY
        products = GradientProducts(local, P, shift - self.delta, local.f.has_products)
        search = _Search(self, products, random_starts(rng, local.d), rng)
        return search.run(), tuple(search.taken)

    def free_direction(self, local: LocalModel, shift: float) -> Finding | None:
        """None: the diagonal of the Hessian is not known."""
        return None


@dataclass(frozen=True)
class _Known:
    """What is known of M = P'(B - shift)P for the Hessian B of the user's gradients."""

    low: float
    """M is at least this."""
    values: Vector
    """Eigenvalues."""
    vectors: Matrix
    """Their eigenvectors, as columns."""
    error: float
    whole: bool = False
    """Whether these are all of them."""


@dataclass
class _Search:
    """One search: the starts that were run, and what is known of the error of products."""

    finder: ByGradients
    products: GradientProducts
    starts: Matrix
    rng: np.random.Generator
    tried: list[LanczosProcess] = field(default_factory=list)
    limits: Thresholds = field(init=False)
    expected: float = field(init=False)
    """What is expected of the error of products, and then the largest that was measured."""

    def __post_init__(self) -> None:
        share = LANCZOS.certificate_share * budget.of_search(self.finder.failure)
        self.limits = Thresholds(self.local.d, share, LANCZOS.plans[0])
        self.expected = LANCZOS.expected * self.products.noise()

    @property
    def local(self) -> GradientModel:
        """The local model."""
        return self.products.local

    @property
    def taken(self) -> list[Product]:
        """All products."""
        return [product for process in self.tried for product in process.taken]

    @property
    def left(self) -> int:
        """The products that may still be taken."""
        return max(self.local.d, BY_GRADIENTS.most) - len(self.taken)

    def run(self) -> Finding:
        """A direction, a certificate, or neither."""
        first, threshold = self._process(), self.limits.of(1)
        found = self._advance(first, threshold)
        if found is not None:
            return found
        low = self._shown(first, threshold)
        if low is not None:
            return self._certified(low)
        if self.local.d - len(first.alpha) <= self.left and self.local.d <= BY_GRADIENTS.whole:
            return self._whole(first)
        return self._more_starts(first)

    # A start

    def _process(self) -> LanczosProcess:
        products: object = self.products
        process = LanczosProcess(products, self.starts[len(self.tried)])  # type: ignore[arg-type]
        self.tried.append(process)
        return process

    def _advance(self, process: LanczosProcess, threshold: float) -> Finding | None:
        """Run a start until its first term is out of the way, or the errors of products are in it; a direction, where a
        Ritz value shows one."""
        extra, refused = -1, False
        while not process.complete and self.left > 0:
            if process.alpha:
                first, _, w = process.terms(0.0)
                inexact = norm2(w) * self.expected + process.lost(w)
                passed = first + inexact < LANCZOS.close * threshold
                if first < inexact / 4 or (passed and extra == 0):
                    break
                if passed:
                    extra = self._extra(process, threshold) if extra < 0 else extra - 1
                    if extra == 0:
                        break
            process.advance()
            if process.overflowed:
                return self.finder.undecided("products of gradients overflow")
            v, curvature = process.lowest()
            if curvature - self.finder.delta <= -FINDER.candidate * self.finder.delta and not refused:
                found = self._confirmed(v, f"Ritz value {curvature - self.finder.delta:.3g} after "
                                        f"{counted(len(process.alpha), 'product')} of gradients")
                if found.found:
                    return found
                refused = True
        return None

    def _extra(self, process: LanczosProcess, threshold: float) -> int:
        """The products worth spending on the curvature that "minimum" needs."""
        wanted = self.finder.wanted
        if wanted == 0.0 or process.lowest()[1] - self.finder.delta <= 2 * wanted:
            return 0
        if process.bound(wanted + self.finder.delta, self.expected) < threshold:
            return 0
        return max(LANCZOS.extra, len(process.alpha) // 2)

    def _shown(self, process: LanczosProcess, threshold: float) -> float | None:
        """The highest shift above which the spectrum was shown to lie, at least 0; or None.

        Queries: none; four gradients, up to three times
        """
        shift = process.certified_shift(LANCZOS.allowed * self.expected, threshold)
        for attempt in range(3):
            shift = max(shift, 0.0) if attempt < 2 else 0.0
            if process.terms(shift)[0] >= threshold:
                shift = 0.0
            if process.terms(shift)[0] >= threshold:
                return None
            error = self._joint_error(process, shift)
            if process.bound(shift, error) < threshold:
                return shift
            if shift == 0.0:
                return None
            shift = process.certified_shift(LANCZOS.again * error, threshold)
        return None

    def _joint_error(self, process: LanczosProcess, shift: float) -> float:
        """The error of the one product that the inequality hangs on at this shift."""
        q, image, _ = process.joint_product(shift)
        error, other = self.products.error(q, image, self.finder.delta)
        error = math.inf if other else error + process.noise
        if math.isfinite(error):
            self.expected = max(self.expected, error)
        return error

    # Beyond one start

    def _whole(self, process: LanczosProcess) -> Finding:
        """All of the Hessian: products with vectors orthogonal to those taken, until they span the space."""
        finder, d, basis = self.finder, self.local.d, process.basis
        images = [product.image for product in process.taken]
        while len(basis) < d:
            q = self.rng.standard_normal(d)
            for _ in range(2):
                q -= basis.T @ (basis @ q)
            q /= np.linalg.norm(q)
            process.taken.append(self.products(q))
            images.append(process.taken[-1].image)
            basis = np.concatenate([basis, q[None, :]])
        B = np.stack(images, axis=1) @ basis
        skew = float(np.linalg.norm(B - B.T, 2)) / 2  # no Hessian is: so much of B is error, or no gradient
        B = (B + B.T) / 2
        values, vectors = np.linalg.eigh(B)
        v, length = self.products.direction(vectors[:, 0])
        lowest = float(values[0]) / length**2 - finder.delta
        if lowest <= -FINDER.candidate * finder.delta:
            return self._confirmed(v, f"lowest eigenvalue {lowest:.3g} of the Hessian by gradients")
        error, other = self._error_of_whole(B, vectors[:, 0])
        error = max(error, skew)
        if other:
            return finder.undecided(SCALE)
        low = float(values[0]) - error
        if low < 0:
            reason = f"products of gradients are too inexact: errors of {error:.2g} at delta={finder.delta:.3g}"
            return finder.undecided(reason, self._open(low))
        reason = f"the whole Hessian by {counted(d, 'product')} of gradients, error at most {error:.2g}"
        return self._seen(_Known(low, values, vectors, error, whole=True), v, reason)

    def _error_of_whole(self, B: Matrix, lowest: Vector) -> tuple[float, bool]:
        """The norm of the error of B: of noise, and of truncation as large as random vectors and the lowest eigenvector
        show it on longer steps; and whether the latter is another on much shorter ones.

        Queries: none; 10 gradients
        """
        d, products = self.local.d, self.products
        one, other = products.error(lowest, B @ lowest, self.finder.delta)
        noise, squares = products.noise(), []
        for _ in range(SLOPES.vectors):
            w = self.rng.standard_normal(d)
            w /= np.linalg.norm(w)
            squares.append(norm2(products.on(w, SLOPES.far).image - B @ w) ** 2)
        spread = math.sqrt(max(float(np.mean(squares)) - noise**2, 0.0) * d)
        return max(STEPS.truncation_safety * spread, one) + 2 * noise, other

    def _more_starts(self, first: LanczosProcess) -> Finding:
        """As many starts as the errors of products make necessary, all of which must pass a larger threshold."""
        for r in (r for r in self.limits.plan if r > 1):
            threshold = self.limits.of(r)
            lows = [self._shown(first, threshold)]
            while lows[-1] is not None and len(lows) < r:
                process = self.tried[len(lows)] if len(lows) < len(self.tried) else self._process()
                found = self._advance(process, threshold)
                if found is not None:
                    return found
                lows.append(self._shown(process, threshold) if process.alpha else None)
            if None not in lows:
                return self._certified(min(low for low in lows if low is not None))
        return self._undecided(first)

    def _undecided(self, first: LanczosProcess) -> Finding:
        """What is known after all products that may be taken."""
        finder, threshold = self.finder, self.limits.of(1)
        shift = first.certified_shift(LANCZOS.allowed * self.expected, threshold)
        curvature = ANYWHERE
        if math.isfinite(shift) and first.bound(shift, self._joint_error(first, shift)) < threshold:
            curvature = self._open(shift)
        many = counted(len(self.taken), "product")
        why = "their errors are in the way" if self.left > 0 else "more would decide, or a larger curvtol"
        return finder.undecided(f"{many} of gradients do not decide: {why}", curvature)

    # Answers

    def _certified(self, shift: float) -> Finding:
        v = min((process.lowest() for process in self.tried), key=lambda seen: seen[1])[0]
        starts = counted(len(self.tried), "start")
        reason = f"{counted(len(self.taken), 'product')} of gradients from {starts}, error at most {self.expected:.2g}"
        return self._seen(self._ritz_pairs(shift), v, reason)

    def _lower(self, low: float) -> float:
        """The lower bound on the curvature of f where P'(B - shift)P is at least so much."""
        return low / self.products.P.norm**2 + self.products.shift

    def _open(self, low: float) -> Interval:
        """What is left to say of the curvature where nothing is certified: nothing by products of the user's own, which
        nothing has borne out, nor by a negative bound on M where P stretches vectors unequally."""
        if self.products.own or (low < 0 and self.products.P is not IDENTITY):
            return ANYWHERE
        return Interval(self._lower(low), ANYWHERE.upper)

    def _seen(self, known: _Known, v: Vector, reason: str) -> Finding:
        """The certificate, unless values along the softest direction contradict it, or along random ones.

        Queries: 16 or a few more, and four gradients; six gradients more where products are not the whole Hessian
        """
        finder, shift = self.finder, self.products.shift + self.finder.delta
        seen = finder.confirm(self.local, v, shift, "the softest direction of the gradients")
        if seen.found:
            return seen
        low, shown = self._by_values(known)
        lower, upper = self._lower(low), seen.curvature.upper
        if low < 0 or lower > upper:
            return finder.undecided(DISAGREE)
        third = max(product.third for product in self.taken)
        found = finder.certified(Interval(lower, upper), reason, v)
        return replace(found, third=third, hessian_jump=self.products.jump(v), shown=shown)

    # Against values

    def _ritz_pairs(self, low: float) -> _Known:
        """What the first start knows of M, which was shown to be at least `low`: Ritz pairs of small residuals."""
        process = self.tried[0]
        theta, z = process.ritz()
        s = max(low, BY_GRADIENTS.least * self.finder.delta)
        residuals = np.hypot(process.beta[-1] * np.abs(z[-1]), self.expected)
        order = np.argsort(residuals)
        small = np.sqrt(np.cumsum(residuals[order] ** 2)) <= BY_GRADIENTS.residual * s
        kept = np.array([j for j in order[small] if theta[j] > s], dtype=np.int64)
        return _Known(low, theta[kept], process.basis.T @ z[:, kept], self.expected)

    def _by_values(self, known: _Known) -> tuple[float, bool]:
        """What values leave of a lower bound on M, and whether they show it; else they do not contradict it, and the
        bound rests on the user's derivatives. Their own products are then held against their gradients.

        Queries: 10; eight gradients where products are not the whole Hessian, and ten more for products of the user's
        """
        products, local, m = self.products, self.local, BY_GRADIENTS.forms
        s = max(known.low, BY_GRADIENTS.least * self.finder.delta)
        g = self.rng.standard_normal((local.d, m))
        inside = known.vectors.T @ g
        scaled = inside / np.sqrt(np.maximum(known.values, s))[:, None]
        roots = known.vectors @ (scaled - inside / math.sqrt(s)) + g / math.sqrt(s)
        ways = products.directions(roots)
        tau = (1 - BY_GRADIENTS.residual) * tolerance(m, budget.of_check(self.finder.failure))
        if known.whole:
            images = known.vectors @ (known.values[:, None] * (known.vectors.T @ roots))
            error = products.noise() if products.own else known.error  # of the user's own, nothing else is excused
            claimed, doubt = np.sum(roots * images, axis=0), error * np.sum(roots**2, axis=0)
        else:
            claimed, doubt = self._forms(products, roots)
        shifted = products.shift * np.sum(ways**2, axis=0)
        slope, wanted = norm2(local.gradient.value), SLOPES.share * tau
        missed = missed_curvature(
            local.stencil, ways, claimed + shifted, doubt, slope=slope, noise=local.noise, wanted=wanted
        )
        if missed.shown <= BY_GRADIENTS.shown * tau and known.low >= missed.shown / tau * s:
            return known.low - missed.shown / tau * s, True
        excess = missed.excess
        if products.own:
            again, wrong = self._forms(replace(products, own=False), roots)
            excess = max(excess, float(np.max(np.abs(again - claimed) - wrong - doubt)))
        return known.low - excess / tau * s, False

    def _forms(self, products: GradientProducts, roots: Matrix) -> tuple[Vector, Vector]:
        """w'Mw for these columns w, and how wrong each may be: by noise, and by what a longer step shows along the
        largest of them.

        Queries: none; two gradients for each, or one product of the user's own, and two gradients more
        """
        sizes = np.sum(roots**2, axis=0)
        units = roots / np.sqrt(sizes)
        forms = sizes * np.array([q @ products(q).image for q in units.T])
        largest = int(np.argmax(np.abs(forms)))
        truncation = 0.0
        if not products.own:
            q = units[:, largest]
            truncation = abs(float(q @ products.on(q, SLOPES.far).image) - float(forms[largest]) / sizes[largest])
        return forms, sizes * (products.noise() + STEPS.truncation_safety * truncation)

    def _confirmed(self, v: Vector, reason: str) -> Finding:
        """FOUND if values along v show the curvature, or gradients on two other steps where values cannot tell.

        Queries: 6 or a few more; and four gradients
        """
        finder, local = self.finder, self.local
        shift = self.products.shift + finder.delta
        found = finder.confirm(local, v, shift, reason)
        threshold = shift - finder.depth * finder.delta
        if found.found:
            return found
        along = local.curvature_along(v)
        if along.interval.lower > threshold:
            return found
        plain = GradientProducts(local)
        sizes = [float(v @ plain.on(v, k).hessian_image) for k in (STEPS.apart, STEPS.apart / 2)]
        noise = plain.noise() + abs(sizes[0] - sizes[1])
        if max(sizes) + noise > threshold:
            return found
        v = -v if float(local.gradient.value @ v) > 0 else v
        step = v * local.unit
        told = f"{reason}, confirmed by gradients on two other steps: {max(sizes):.3g}"
        direction, seen = like(step / np.linalg.norm(step), local.x), Interval(-math.inf, max(sizes) + noise)
        return Finding(Outcome.FOUND, direction, seen, told, finder.name, v)
