"""The anytime certifier: preconditioned Lanczos from random starts, with an inequality that holds at every step.

Once the right side of the inequality (see `process`) is below what a random vector can be expected to have (see
`overlap`), there is no eigenvector below the tolerance, at any stopping time. No ell is needed. The preconditioner is
fixed before the starts are drawn, and a congruence keeps the signs of eigenvalues: the bound holds as it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from .._array import Matrix, Vector, norm2
from .._text import counted
from ..derivatives import product_errors
from ..derivatives.consistency import AlongCheck
from ..derivatives.measure import Allowance, LocalModel
from ..derivatives.preconditioner import IDENTITY, DiagonalPreconditioner, Preconditioner, inverse_root
from ..derivatives.products import KIND, HessianProducts, Order, Product
from ..derivatives.settings import NOISE, STEPS
from ..interval import Interval
from . import price
from .finding import ANYWHERE, Finder, Finding
from .obstacle import Obstacle, after
from .overlap import Thresholds, random_starts
from .process import LanczosProcess
from .settings import FINDER, LANCZOS, PRICE


@dataclass(frozen=True)
class LanczosOutcome:
    """What an attempt, or all of them, came to."""

    finding: Finding
    obstacle: Obstacle = Obstacle.NONE
    error: float = math.inf
    """The largest error of products that was measured; infinite if they were contradicted before."""
    taken: tuple[Product, ...] = ()
    """All products, to update a model with."""
    kind: HessianProducts | None = None
    """Of the last attempt on the usual steps."""
    last: tuple[Product, ...] = ()
    """Its products."""

    @property
    def decided(self) -> bool:
        """Whether a direction was found, or its absence certified."""
        return self.finding.found or self.finding.certified

    @property
    def contradicted(self) -> bool:
        """Whether f was seen to depend on the scale."""
        return self.obstacle is Obstacle.SCALE


@dataclass(frozen=True, kw_only=True)
class Lanczos(Finder):
    """The Lanczos certifier.

    Products are forward differences (d + 1 queries) from two starts where third derivatives leave room for that,
    else symmetric ones (2d + 2) from one. Before a certificate is given, the one product that the error term of each
    start hangs on is measured, at longer steps and on much shorter ones; if its error is too large the differences are
    extrapolated, or shortened; if noise dominates they are lengthened, and more starts are taken.

    Queries: d + 1, 2*d + 2 or 4*d + 4 per product, as much or 32 to 64 for the error of each start, up to three times,
    24 along the softest directions, besides the local model; twice that if the differences must be extrapolated
    """

    preconditioner: Preconditioner | None = None
    """None: the diagonal of the Hessian, where its entries differ."""
    lowest: float | None = None
    """The smallest eigenvalue that a model predicts, if it has just been tried and found right."""
    soft: Matrix | None = None
    """Directions that a model predicts to be soft, as columns: some are looked at on shorter steps too."""

    wanted: float = 0.0
    """A curvature that is worth a few products more, if it can be shown; 0: none."""

    name = "lanczos"

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        free = self.free_direction(local, shift)
        return free or self.search(local, rng, shift).finding

    def search(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> LanczosOutcome:
        """Attempts with products of one kind after another, from the same starts."""
        return self.begin(local, rng, shift, self.allowance(local)).run()

    def begin(
        self, local: LocalModel, rng: np.random.Generator, shift: float, allowance: Allowance
    ) -> LanczosSearch:
        """A search that can be left and taken up again: its starts are drawn once."""
        products, limits = self._plan(local, shift)
        errors = _ErrorBudget(self.failure * (1 - LANCZOS.certificate_share), rng)
        return LanczosSearch(self, products, limits, random_starts(rng, local.d), errors, allowance)

    def _plan(self, local: LocalModel, shift: float) -> tuple[HessianProducts, Thresholds]:
        """Forward products and two starts where the third derivatives leave room for that; else symmetric ones and one.

        A second start costs less than a second side. The step along the vector is shortened until noise and the odd
        error balance.
        """
        P = self.preconditioner or diagonal_preconditioner(local.diagonal.value, self.delta)
        one, two = LANCZOS.plans
        share = LANCZOS.certificate_share * self.failure
        limits = Thresholds(local.d, share, two)
        products = HessianProducts(local, P, 1, 1.0, shift - self.delta)
        room = limits.of(2) * (self.delta + max(self.lowest or 0.0, 0.0))
        odd, noise = _odd_error(products), products.noise()
        along = float(np.clip(np.sqrt(noise / (odd + 1e-300)), 1 / STEPS.lost, 1.0))
        shorter = replace(products, along=along)
        if self.lowest is not None or odd * along + shorter.noise() < room:
            return shorter, limits
        return replace(products, order=2), Thresholds(local.d, share, one)


@dataclass
class LanczosSearch:
    """The attempts of a search: with products of one kind after another, from the same starts."""

    finder: Lanczos
    products: HessianProducts | None
    """Those of the next attempt; None where no others would pass."""
    limits: Thresholds
    starts: Matrix
    errors: _ErrorBudget
    allowance: Allowance
    best: Finding | None = None
    taken: list[Product] = field(default_factory=list)
    tried: set[tuple[int, float]] = field(default_factory=set)
    usual: LanczosOutcome | None = None
    """The last attempt on the usual steps."""

    def run(self, *, completable: bool = False) -> LanczosOutcome:
        """Attempts until one decides, none is left, or nothing is allowed; or, where second differences can complete
        what products have shown, until these cost less."""
        best = self.best or self.finder.undecided("no products are left to try")
        outcome = LanczosOutcome(best) if self.usual is None else replace(self.usual, finding=best)
        while self.products is not None and len(self.tried) < FINDER.attempts:
            kind, needed = self.products, max(len(outcome.last), 1)
            d = kind.local.d
            most = price.most_products(d) if self.finder.preconditioner is None else math.inf
            limit = Limit(self.allowance, d, kind.order, completable, most)
            if not limit.allows(needed * limit.each):
                finding = self.finder.too_dear(outcome.finding, self.allowance, needed * limit.each + limit.checks)
                outcome = replace(outcome, finding=finding, obstacle=Obstacle.PRICE)
                break
            self.tried.add((kind.order, kind.factor))
            attempt = _Attempt(self.finder, kind, self.starts, self.limits, self.errors, limit)
            outcome = attempt.run()
            self.taken += attempt.taken
            outcome = replace(outcome, kind=kind, last=tuple(attempt.taken))
            self.usual = outcome if kind.factor == 1.0 and attempt.taken else self.usual
            if outcome.decided:
                break
            if self.best is None or outcome.finding.curvature.lower > self.best.curvature.lower:
                self.best = outcome.finding
            self.products = self._after(kind, outcome.obstacle)
            if outcome.obstacle is Obstacle.PRICE or (completable and not self._goes_on(outcome, limit)):
                break
        finding = outcome.finding if outcome.decided or self.best is None else self.best
        if outcome.obstacle is Obstacle.PRICE:
            finding = outcome.finding
        if self.usual is not None and not outcome.contradicted:
            outcome = replace(outcome, kind=self.usual.kind, last=self.usual.last)
        return replace(outcome, finding=finding, taken=tuple(self.taken))

    def _goes_on(self, outcome: LanczosOutcome, limit: Limit) -> bool:
        """Whether other products come before second differences complete these: where they cost less, and leave enough
        for these; or where these products are so wrong that nothing would complete them."""
        inexact = outcome.obstacle in (Obstacle.TRUNCATION, Obstacle.NOISE)
        if self.products is None or not inexact or limit.d <= PRICE.small:
            return False
        known = len(outcome.last)
        others, instead = price.products(limit.d, known + 1, self.products.order), limit.instead(known)
        if outcome.obstacle is Obstacle.TRUNCATION and outcome.error > PRICE.inexact * self.finder.delta:
            instead = price.second_differences(limit.d)  # nothing would complete these
        return others <= PRICE.cheap * instead or (others <= instead and limit.allowance.allows(others + instead))

    def _after(self, products: HessianProducts, obstacle: Obstacle) -> HessianProducts | None:
        """Products that may pass where these failed; None if they were tried, or step too far."""
        if obstacle is Obstacle.SCALE:  # the same steps would only be another chance to miss it
            following = replace(products, order=4, factor=products.factor / 4, along=1.0)
        elif products.order == 1:
            following = replace(products, order=2, along=1.0)
        else:
            following = after(products, obstacle)
        known = (following.order, following.factor) in self.tried
        return None if known or following.too_long else following


def diagonal_preconditioner(diagonal: Vector, delta: float) -> Preconditioner:
    """(|D| + delta)^(-1/2) from the diagonal of the Hessian, if its entries differ; else none."""
    sizes = np.abs(diagonal) + delta
    if float(np.max(sizes)) <= LANCZOS.scaled * float(np.min(sizes)):
        return IDENTITY
    return DiagonalPreconditioner(inverse_root(diagonal, delta, LANCZOS.flattest))


@dataclass(frozen=True)
class Limit:
    """What the products of an attempt may cost."""

    allowance: Allowance
    d: int
    order: Order = 2
    completable: bool = False
    """Whether second differences of their complement can be afforded instead."""
    most: float = math.inf
    """After so many second differences come next."""

    @property
    def each(self) -> int:
        """The queries of a product."""
        return price.products(self.d, 1, self.order)

    @property
    def checks(self) -> int:
        """The queries that come after products, before they decide."""
        return price.checks_of_products(self.d, self.order)

    def allows(self, queries: float) -> bool:
        """Whether so many are allowed for products, and what comes after them."""
        return self.allowance.allows(queries + self.checks)

    def instead(self, known: int) -> float:
        """The queries with which second differences would complete so many products; infinite if they cannot."""
        return price.complement(self.d, min(known, self.d), min(self.order, 2)) if self.completable else math.inf

    def passed(self, known: int, lacking: float) -> bool:
        """Whether second differences come next: where they cost less than the products lacking, or could not be
        afforded after another; and after their share of products."""
        if not self.completable:
            return False
        ahead, instead = lacking * self.each, self.instead(known)
        return ahead > instead or not self.allowance.allows(self.each + instead) or known >= self.most


def _odd_error(products: HessianProducts) -> float:
    """What third derivatives are expected to do to a forward product."""
    return products.local.third_derivative * products.reach(1.0) / 2


@dataclass
class _ErrorBudget:
    """The probability with which random directions may miss an error of products: half of what is left each time."""

    left: float
    rng: np.random.Generator

    def spend(self) -> float:
        """What the next measurement may spend."""
        self.left /= 2
        return self.left


@dataclass
class _Start:
    """A start, run so far, and the shifts whose error was measured since its last product."""

    process: LanczosProcess
    measured: list[tuple[float, float]] = field(default_factory=list)

    def certified_shift(self, threshold: float) -> float | None:
        """The highest shift above which the spectrum was shown to lie, with the error measured for it; or None."""
        process = self.process
        passed = [shift for shift, error in self.measured if process.bound(shift, error) < threshold]
        if passed and len(process.alpha) == 1:  # the joint product is the same at every shift
            passed.append(process.certified_shift(max(error for _, error in self.measured), threshold))
        return max(passed, default=None)


@dataclass
class _Attempt:
    """One attempt with products of one kind: starts are run until their first term is out of the way, and their errors
    are measured."""

    finder: Lanczos
    products: HessianProducts
    starts: Matrix
    limits: Thresholds
    errors: _ErrorBudget
    limit: Limit | None = None
    """None: no product is too dear."""
    tried: list[_Start] = field(default_factory=list)
    error: float = math.inf
    """What is expected of the error of products, and then the largest that was measured."""
    measured: bool = False
    """Whether any error was measured."""
    third: float = 0.0
    along: AlongCheck = field(default_factory=AlongCheck)
    """What looks along the softest directions showed."""

    def run(self) -> LanczosOutcome:
        """The outcome of this attempt."""
        products, odd = self.products, _odd_error(self.products) if self.products.order == 1 else 0.0
        self.error = LANCZOS.expected * (products.noise() + odd)
        return self._run_starts() or self._conclude()

    @property
    def taken(self) -> list[Product]:
        """All products of this attempt."""
        return [product for start in self.tried for product in start.process.taken]

    @property
    def local(self) -> LocalModel:
        """The local model."""
        return self.products.local

    def _run_starts(self) -> LanczosOutcome | None:
        """Run starts until they are enough; an outcome where something ends the attempt before."""
        limits = self.limits
        stop = self._begin(limits.of(limits.aim))
        if stop is not None:
            return stop
        first = self.tried[0]
        self.along = self.local.check_along(self._softest(first.process), self.products.factor, self.products.order)
        if not self.along.consistent:
            return self._failed(Obstacle.SCALE, "f has structure below the steps of the products")
        stop = self._measure_first(first)
        while stop is None:  # a start that does not reach its threshold may reach that of more starts
            fewest = limits.fewest(lambda t: all(one.certified_shift(t) is not None for one in self.tried))
            if fewest is None:
                return self._inexact(first.process)
            r = max(len(self.tried), fewest)
            if len(self.tried) == r:
                return None
            if self._starts_too_dear((r - len(self.tried)) * len(first.process.alpha)):
                return self._failed(Obstacle.SLOW, "second differences cost less than further starts")
            stop = self._begin(limits.of(r)) or self._measure(self.tried[-1], limits.of(r))
        return stop

    def _conclude(self) -> LanczosOutcome:
        """The certificate that the starts are enough for, unless what is seen along a direction contradicts it."""
        finder, local, r = self.finder, self.local, len(self.tried)
        shift = self.products.shift + finder.delta
        certified = min(one.certified_shift(self.limits.of(r)) or 0.0 for one in self.tried)
        v = min((self._lowest(one.process) for one in self.tried), key=lambda seen: seen[1])[0]
        below = finder.confirm(local, v, shift, "the lowest Ritz vector")
        if below.found:
            return LanczosOutcome(below, error=self.error)
        upper = min(self.along.upper, below.curvature.upper)
        # H - shift + delta >= certified / |P|^2
        lower = certified / self.products.P.norm**2 - finder.delta + shift
        if lower > upper:
            return self._failed(Obstacle.SCALE, "the curvature along a direction contradicts the products")
        reason = f"{self._told()}, product error at most {self.error:.2g}"
        found = finder.certified(Interval(lower, upper), reason, v)
        third = max(self.third, self.along.third, *(one.process.third for one in self.tried))
        found = replace(found, third=third, hessian_jump=self.along.hessian_jump, softest=below.softest)
        return LanczosOutcome(found, error=self.error)

    def _told(self) -> str:
        """The products of all starts, in words."""
        many = counted(len(self.taken), f"{KIND[self.products.order]} product")
        return f"{many} from {counted(len(self.tried), 'start')}"

    # What ends an attempt

    def _failed(self, obstacle: Obstacle, reason: str, curvature: Interval = ANYWHERE) -> LanczosOutcome:
        finding = self.finder.undecided(reason, curvature)
        return LanczosOutcome(finding, obstacle, self.error if self.measured else math.inf)

    def _inexact(self, first: LanczosProcess) -> LanczosOutcome:
        """The errors of the products dominate."""
        finder, limits = self.finder, self.limits
        noisy = self._noisy(first)
        certified = max(first.certified_shift(self.error, limits.of(r)) for r in (1, max(limits.plan)))
        lower = certified / self.products.P.norm**2 - finder.delta if certified >= 0 else -math.inf
        obstacle = Obstacle.NOISE if noisy else Obstacle.TRUNCATION
        reason = (
            f"products are too inexact: {obstacle.value} leaves errors of {self.error:.2g} at delta={finder.delta:.3g}"
        )
        shift = self.products.shift + finder.delta
        return self._failed(obstacle, reason, Interval(lower + shift, ANYWHERE.upper))

    def _noisy(self, process: LanczosProcess) -> bool:
        """Whether noise explains the errors that were measured."""
        return self.error <= NOISE.significant * process.noise

    # A start

    def _begin(self, threshold: float) -> LanczosOutcome | None:
        """The next start, run until its first term is out of the way."""
        self.tried.append(_Start(LanczosProcess(self.products, self.starts[len(self.tried)])))
        return self._advance(self.tried[-1], threshold)

    def _advance(self, start: _Start, threshold: float) -> LanczosOutcome | None:
        """Run until the first term is out of the way; a Ritz value that shows a direction ends the attempt."""
        finder, process, extra = self.finder, start.process, LANCZOS.extra
        while not process.complete and self._lacking(process, threshold, extra):
            stop = self._too_dear(process, threshold)
            if stop is not None:
                return stop
            extra -= bool(process.alpha) and process.bound(0.0, self.error) < threshold
            process.advance()
            start.measured.clear()
            if process.overflowed:
                return self._failed(Obstacle.TRUNCATION, "the products overflow")
            v, curvature = self._lowest(process)
            if curvature <= -FINDER.candidate * finder.delta:
                reason = f"Ritz value {curvature:.3g} after {counted(len(process.alpha), 'product')}"
                finding = finder.confirm(self.local, v, self.products.shift + finder.delta, reason)
                if finding.found:
                    return LanczosOutcome(finding, error=self.error)
                return self._failed(Obstacle.TRUNCATION, finding.reason, finding.curvature)
        return None

    def _too_dear(self, process: LanczosProcess, threshold: float) -> LanczosOutcome | None:
        """What ends the attempt before another product: what is allowed, or second differences that cost less than the
        products still lacking, at the rate of the last; a further start is given as many as the first took."""
        limit, known, lacking = self.limit, len(self.taken), self._products_lacking(process, threshold)
        if limit is None:
            return None
        if not limit.allows(limit.each):
            finding = self.finder.undecided(f"{counted(known, 'product')} did not decide")
            dear = self.finder.too_dear(finding, limit.allowance, max(lacking, 1.0) * limit.each + limit.checks)
            return LanczosOutcome(dear, Obstacle.PRICE, self.error if self.measured else math.inf)
        usual = len(self.tried[0].process.alpha) if len(self.tried) > 1 else 1
        if len(process.alpha) >= usual and limit.passed(known, lacking):
            return self._failed(Obstacle.SLOW, "products converge slowly, and second differences cost less")
        return None

    def _starts_too_dear(self, products: int) -> bool:
        """Whether further starts, of so many products, cost more than second differences."""
        limit = self.limit
        if limit is None:
            return False
        ahead, instead = products * limit.each, limit.instead(len(self.taken))
        return ahead > instead or (limit.completable and not limit.allows(ahead))

    def _products_lacking(self, process: LanczosProcess, threshold: float) -> float:
        """The products lacking at the rate of the last; 0 before it is known."""
        after = min(LANCZOS.rate_known_after, price.most_products(len(process.q)))
        if len(process.alpha) < after or process.ritz()[0][0] <= 0:
            return 0.0
        return math.log(max(process.terms(0.0)[0] / threshold, 1.0)) / max(process.contraction(), 1e-3)

    def _lacking(self, process: LanczosProcess, threshold: float, extra: int) -> bool:
        """Whether another product would help: towards a certificate, or towards the curvature that "minimum" needs."""
        if not process.alpha:
            return True
        first, _, w = process.terms(0.0)
        inexact = norm2(w) * self.error + process.lost(w)
        if first >= max(LANCZOS.close * threshold - inexact, inexact):
            return True
        if extra <= 0 or first < inexact / 4:
            return False
        wanted = self.finder.wanted
        if wanted == 0.0 or self._lowest(process)[1] <= 2 * wanted:
            return False
        shift = wanted + self.finder.delta
        bound = process.bound(shift, self.error)
        # Not shown yet, nor far from it.
        return threshold <= bound < threshold * math.exp((extra + 1) * process.contraction())

    def _measures_again(self) -> bool:
        """Whether it is allowed to measure the error of a product once more."""
        limit = self.limit
        return limit is None or limit.allowance.allows(price.error_of_products(limit.d, limit.order))

    def _lowest(self, process: LanczosProcess) -> tuple[Vector, float]:
        """The direction of the lowest Ritz value, and the curvature that H less the finder's shift has along it."""
        v, curvature = process.lowest()  # of H - shift + delta
        return v, curvature - self.finder.delta

    def _softest(self, process: LanczosProcess) -> Matrix:
        """The softest directions that the products and the model show, as columns."""
        vectors, soft = process.softest(FINDER.softest), self.finder.soft
        missing = max(min(FINDER.softest, len(vectors)) - vectors.shape[1], 0)
        return vectors if soft is None else np.concatenate([vectors, soft[:, :missing]], axis=1)

    # Its error

    def _measure_first(self, first: _Start) -> LanczosOutcome | None:
        """Measure the error of a first start: against the threshold of one start, if it may do alone."""
        process, alone = first.process, self.limits.of(1)
        self.error = max(self.error, LANCZOS.even * process.odd)
        may_do = process.bound(0.0, self.error) < alone
        return self._measure(first, alone if may_do else self.limits.of(self.limits.aim))

    def _measure(self, start: _Start, threshold: float) -> LanczosOutcome | None:
        """Measure the error of a start; if that dominates, but not too large, go on and measure it again."""
        stop = self._joint_error(start, threshold)
        if stop is not None or start.certified_shift(threshold) is not None:
            return stop
        process = start.process
        own, w, known = start.measured[-1][1], process.terms(0.0)[2], len(process.alpha)
        if LANCZOS.near * norm2(w) * own + process.lost(w) >= threshold:
            return None
        stop = self._advance(start, threshold)
        return self._joint_error(start, threshold) if stop is None and len(process.alpha) > known else stop

    def _joint_error(self, start: _Start, threshold: float) -> LanczosOutcome | None:
        """Measure the joint error that the inequality hangs on: at the highest shift that one larger than expected
        would still allow, or at that which "minimum" needs; if it cannot be shown there, at one that should be, and at
        0.

        It belongs to this start, as it is: that of another start, or with one product more, may be far larger.

        Queries: those of `product_errors.measured`, up to three times
        """
        process = start.process
        shift = process.certified_shift(LANCZOS.allowed * self.error, threshold)
        if self.finder.wanted > 0:
            wanted = self.finder.wanted + self.finder.delta
            shift = wanted if shift < wanted and process.bound(wanted, self.error) < threshold else shift
        first_time, self.measured = not self.measured, True
        largest = 0.0
        for attempt in range(3):
            shift = max(shift, 0.0) if attempt < 2 else 0.0
            q, image, length = process.joint_product(shift)
            room = max(threshold - process.terms(shift)[0], 0.0) / length
            delta, failure, rng = self.finder.delta, self.errors.spend(), self.errors.rng
            found = product_errors.measured(
                self.products, q, image, delta=delta, room=room, failure=failure, rng=rng
            )
            self.third = max(self.third, found.third)
            if found.scale_dependent:
                self.error = found.error
                return self._failed(Obstacle.SCALE, "f depends on the scale within the steps of the products")
            error = process.noise + found.error
            start.measured.append((shift, error))
            largest = max(largest, error)
            if shift == 0.0 or start.certified_shift(threshold) is not None or not self._measures_again():
                break
            shift = process.certified_shift(LANCZOS.again * error, threshold)
        self.error = error if first_time else max(self.error, largest)
        return None
