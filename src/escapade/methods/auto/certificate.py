"""The certificate part: the only place where a run ends well.

Lanczos runs on P (H - shift + delta) P, with P = (|B| + delta)^(-1/2) from the model: where the model is right all
eigenvalues are alike, and two or three products decide. P is fixed before the random start is drawn, and a congruence
keeps the signs of eigenvalues, so that the bound on the overlap holds as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...curvature import Cheapest, Finding
from ...curvature.finding import Finder
from ...curvature.lanczos import CHEAP, Process
from ...curvature.starts import MOST, Starts, overlap
from ...estimators.hessian_vector import Products
from ...estimators.neighbourhood import Interval, Neighbourhood, Vector
from ...estimators.steps import TRUNCATION_SAFETY
from ...stopping import Ending, Stop
from .model import Matrix

FLATTEST = 1e-3
"""No direction is shrunk by P more than this, beside another."""


SHORTEST = 0.25
"""The step of forward products along q is shortened to this share, beside the step along the coordinates."""


SHOWN = 8
"""Products go on, a little, until this share of the smallest curvature expected has been shown."""

ROOM = 64
"""For a model that was found right, that step is as short as noise below this share of the tolerated error allows."""


@dataclass(frozen=True)
class Settled(Ending):
    """An ending at a point whose neighbourhood has been measured: a driver that takes it need not measure it again."""

    here: Neighbourhood | None = None


def settle(finding: Finding, here: Neighbourhood) -> Settled:
    """The ending at a point where no direction was found."""
    return Settled(Stop.CERTIFIED if finding.certified else Stop.UNDECIDED, finding, here)


def preconditioner(B: Matrix, delta: float, off: float) -> tuple[Matrix, float]:
    """(|B| + delta)^(-1/2), with one as its largest eigenvalue; and the smallest eigenvalue of B.

    A model that its last secants contradicted by more than most the spread of its own eigenvalues is no better
    than none.
    """
    values, vectors = np.linalg.eigh(B)
    if off > 0.5 * float(np.std(values)) / float(np.sqrt(np.mean(values**2)) + delta):
        return np.eye(len(B)), float(values[0])
    root = 1 / np.sqrt(np.where(values > -delta / 2, values, np.abs(values)) + delta)
    root = np.maximum(root / root.max(), FLATTEST)
    return (vectors * root) @ vectors.T, float(values[0])


@dataclass
class Shaped(Products):
    """q -> P (H - shift) P q, P a matrix; what the products showed is kept for the model."""

    P: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    pairs: list[tuple[Vector, Vector]] = field(default_factory=list)
    """Unit vectors u, and Hu."""
    shrink: float = 1.0
    """Multiplies the step along q."""

    def reach(self, factor: float) -> float:
        """How far along q the mixed differences step."""
        return self.shrink * super().reach(factor)

    def _one_sided(self, q: Vector, factor: float, sign: float) -> Vector:
        v = self.P @ q
        length = float(np.linalg.norm(v))
        product = super()._one_sided(v / length, factor, sign)
        self.pairs.append((v / length, product))
        return length * product

    def _finish(self, product: Vector, q: Vector | None) -> Vector:
        product = self.P @ product
        return product if q is None else product - self.shift * (self.P @ (self.P @ q))


SHARES = {1: 0.4, 2: 0.4, 3: 0.15, 6: 0.05}
"""As `starts.PLANS`, in favour of two starts: forward products are mostly too inexact for one."""


@dataclass(frozen=True)
class Shares(Starts):
    """The overlaps that must be undercut, with these shares of the failure probability."""

    def threshold(self, r: int) -> float:
        """The overlap each of r starts must be shown to stay below."""
        return overlap(self.d, (SHARES[r] * self.failure) ** (1 / r))


@dataclass(frozen=True, kw_only=True)
class Informed(Finder):
    """Lanczos preconditioned by a model of the Hessian; what it cannot decide goes to the cheapest finder that can.

    A tenth of the failure probability is kept for that.

    Queries: 2*d + 2 for the first product, d + 1 or 2*d + 2 for each other, 2*d + 2 for a second look at the one that
    matters, besides the neighbourhood; those of the other finder where it is asked
    """

    P: Matrix
    lowest: float = np.inf
    """The smallest eigenvalue that the model leads to expect."""
    trusted: bool = False
    """Whether the model has just been tried and found right."""
    pairs: list[tuple[Vector, Vector]] = field(default_factory=list)

    name = "lanczos on the model"

    def at(self, here: Neighbourhood, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        free = self.free_direction(here, shift)
        if free is not None:
            return free
        most = replace(self, failure=0.9 * self.failure)
        finding = most._informed(here, rng, shift)
        if finding is not None:
            return finding
        return Cheapest(delta=self.delta, failure=0.1 * self.failure, depth=self.depth).at(here, rng, shift)

    def _informed(self, here: Neighbourhood, rng: np.random.Generator, shift: float) -> Finding | None:
        """The answer of preconditioned products, forward if that may do and else symmetric; or None."""
        starts: Vector = rng.standard_normal((MOST, here.d))
        starts /= np.linalg.norm(starts, axis=1, keepdims=True)
        limits = Shares(here.d, self.failure)
        products = Shaped(here, np.ones(here.d), 2, 1.0, shift - self.delta, self.P, self.pairs)
        head: Vector | None = None
        if self.trusted:  # one product may do, and what is wrong with it shows when it is measured again
            products.order, aim = 1, 2
            room = limits.threshold(2) * self.delta
            products.shrink = float(np.clip(ROOM * products.noise() / room, 1 / 64, 1.0))
        else:
            head, odd = products.even(starts[0], 1.0)
            aim = self._plan(products, float(np.linalg.norm(odd)), abs(float(starts[0] @ head)), limits)
        finding = self._attempt(products, starts, head, limits, aim)
        if finding is None and products.order == 1:
            products.order, products.shrink = 2, 1.0
            finding = self._attempt(products, starts, head, limits, 1)
        return finding

    def _attempt(
        self, products: Shaped, starts: Vector, head: Vector | None, limits: Starts, aim: int
    ) -> Finding | None:
        noise, shift = products.noise(), products.shift + self.delta
        first = Process(products, 0.0, starts[0], head)
        finding, done = self._advance(first, noise, limits.threshold(aim))
        if done:
            return finding
        error = noise + products.truncation(*first.critical())
        done_so_far, r = [first], max(aim, 2 if len(first.alpha) <= CHEAP else 1)
        while True:  # a start that does not reach its threshold may reach that of more starts
            fewest = limits.fewest(max(one.bound(0.0, error) for one in done_so_far))
            if fewest is None:
                return None
            r = max(r, fewest)
            if len(done_so_far) == r:
                break
            process = Process(products, 0.0, starts[len(done_so_far)])
            finding, done = self._advance(process, error, limits.threshold(r))
            if done:
                return finding
            done_so_far.append(process)
        level = min(one.level(error, limits.threshold(r)) for one in done_so_far)
        lowest = min(done_so_far, key=lambda one: self._lowest(one)[1])
        below = self.confirm(products.here, self._lowest(lowest)[0], shift, "the lowest Ritz vector")
        if below.found:
            return below
        lower = level - self.delta + shift  # H - shift + delta >= level / P^2 >= level
        reason = f"{len(self.pairs)} one-sided products from {r} starts, product error at most {error:.2g}"
        return self.certified(Interval(lower, max(lower, below.curvature.upper)), reason, below.lowest)

    def _plan(self, products: Shaped, odd: float, size: float, limits: Starts) -> int:
        """Forward products where their error leaves room for one start or two, symmetric ones elsewhere.

        A second start costs less than a second side. The step along q is shortened until noise and the odd error
        balance. Returns the number of starts to aim at.
        """
        products.order, size = 1, min(size, max(self.lowest, 0.0) + self.delta)
        noise = products.noise()
        products.shrink = float(np.clip(np.sqrt(noise / (odd + 1e-300)), SHORTEST, 1.0))
        error = TRUNCATION_SAFETY * odd * products.shrink + products.noise()
        for aim, share in ((1, 0.25), (2, 0.7)):  # a third start may still help where two fall short
            if error < share * limits.threshold(aim) * size:
                return aim
        products.order, products.shrink = 2, 1.0
        return 1

    def _advance(self, process: Process, error: float, threshold: float) -> tuple[Finding | None, bool]:
        """Run until the first term is out of the way, or a Ritz value shows a direction: (finding or None, True)."""
        products, extra = process.products, 2
        while not process.complete:
            process.advance()
            v, curvature = self._lowest(process)
            if curvature <= -0.75 * self.delta:
                reason = f"Ritz value {curvature:.3g} after {len(process.alpha)} products"
                finding = self.confirm(products.here, v, products.shift + self.delta, reason)
                return (finding if finding.found else None), True
            first, second, _ = process.terms(0.0)
            if first < max(threshold / 2, second * error):
                floor, hope = process.level(error, threshold) - self.delta, min(curvature, self._hope)
                if extra == 0 or hope <= self.delta or floor >= hope / SHOWN or first < second * error / 4:
                    return None, False
                extra -= 1
        return None, False

    @property
    def _hope(self) -> float:
        """The smallest eigenvalue that the model leads to expect; a model that is not used is not believed either."""
        return np.inf if np.array_equal(self.P, np.eye(len(self.P))) else self.lowest

    def _lowest(self, process: Process) -> tuple[Vector, float]:
        """The direction of the lowest Ritz value, and the curvature H - shift has along it."""
        theta, z = process.ritz()
        v = self.P @ (np.stack(process.basis).T @ z[:, 0])
        length = float(np.linalg.norm(v))
        return v / length, float(theta[0]) / length**2 - self.delta
