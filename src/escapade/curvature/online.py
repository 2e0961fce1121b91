"""Finders for sampled functions: the paper's ZO-NCF-Online, and the anytime finder on a large enough minibatch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import Array, Vector, like, to_numpy
from ..derivatives.measure import LocalModel
from ..derivatives.sampling import (
    SampledModel,
    bernstein_batch,
    bernstein_error,
    pilot_size,
)
from ..derivatives.settings import SAMPLING
from ..errors import BudgetExhausted, MissingCapability
from ..interval import Interval
from ..oracle import Batch, Oracle
from .cheapest import Cheapest
from .finding import Finder, Finding, Outcome
from .online_weak import ZONCFOnlineWeak
from .settings import ONLINE


@dataclass(frozen=True, kw_only=True)
class SampledFinder(Finder):
    """A finder for a function with samples: it works on the oracle itself, not in one batch's local model."""

    def __call__(self, f: Oracle, x: Array, rng: np.random.Generator) -> Finding:
        if f.samples is None:
            raise MissingCapability(f"{self.name} needs a sampled function: pass samples=n or samples='stream'")
        try:
            local = SampledModel.measure(
                f, x, delta=self.delta, x_scale=self.x_scale, rng=rng, noise=self.noise
            )
            return self.search(local, rng)
        except BudgetExhausted as stop:
            return Finding(Outcome.UNDECIDED, reason=str(stop), finder=self.name)

    def search(self, local: SampledModel, rng: np.random.Generator) -> Finding:
        """Look for negative curvature of the whole average."""
        raise NotImplementedError

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        raise MissingCapability(f"{self.name} draws its own batches; call it with the oracle")

    def on_the_whole(
        self, local: SampledModel, v: Vector, reason: str, rng: np.random.Generator, looks: int = 1
    ) -> Finding:
        """FOUND if fresh samples show a curvature of at most -delta/2 along v, else UNDECIDED; one of `looks` looks."""
        seen = local.along(v, self.failure / (4 * looks), rng)
        if seen.upper > -self.delta / 2:
            reason = f"{reason}, but fresh samples along it say {seen}"
            return self.undecided(reason, Interval(-math.inf, seen.upper), v)
        step = v * local.unit
        direction = like(step / np.linalg.norm(step), local.x)
        reason = f"{reason}, confirmed on fresh samples: {seen}"
        return Finding(Outcome.FOUND, direction, Interval(-math.inf, seen.upper), reason, self.name, v)


@dataclass(frozen=True, kw_only=True)
class ZONCFOnline(SampledFinder):
    """ZO-NCF-Online, Algorithm 2 of Zhang, Xiong & Gu (2022): the weak finder, repeated.

    Each direction is checked on fresh samples by second differences along it, three queries a sample where the
    paper's product would take 4d. The confidence 1 - p of ⊥ rests on the weak finder's 2/3; both are
    measured by counting (benchmarks/truth.py), not proved for these settings.

    Queries: (4*d + 3) * b * T for each of log(2/p)/log(3) repetitions, and 3 per sample checked
    """

    ell: float | None = None
    """Smoothness; None estimates it from products."""
    batch: int | None = None
    """Samples per product; None chooses."""

    name = "online"

    def search(self, local: SampledModel, rng: np.random.Generator) -> Finding:
        error = local.product_error
        if error > self.delta / 4:
            return self.undecided(f"products are too inexact at delta={self.delta:.3g}: errors of {error:.2g}")
        variance, _ = local.hessian_spread(self.failure, rng)
        ell = self.ell or max(self._norm(local, rng), 2 * self.delta)
        weak = self.weak(ell, variance / local.d)
        repeats = math.ceil(math.log(2 / self.failure) / math.log(3))
        lowest, run = math.inf, 0
        while run < repeats:                                                    # line 1
            v, grew = weak(local, rng)                                           # line 2
            run += 1
            if grew:                                                            # line 3
                finding = self.on_the_whole(local, v, "Oja's method grew", rng, repeats)   # lines 4 to 6
                if finding.found:                                               # line 7
                    return finding
                lowest = min(lowest, finding.curvature.upper)
            elif local.truncation(local.f.draw(SAMPLING.pilot, rng), v) > self.delta / 4:  # an inexact ⊥ shows nothing
                if not local.shorten():
                    return self.undecided(f"products are too inexact at delta={self.delta:.3g}: truncation")
                run = 0
        return self.certified(Interval(-self.delta, lowest), f"{repeats} runs of Oja's method, ell={ell:.3g}")

    def weak(self, ell: float, variance: float) -> ZONCFOnlineWeak:
        """The weak finder that is repeated."""
        return ZONCFOnlineWeak(delta=self.delta, ell=ell, variance=variance, batch=self.batch)

    def _norm(self, local: SampledModel, rng: np.random.Generator) -> float:
        """A multiple of what a short power iteration on one batch shows."""
        batch = local.f.draw(ONLINE.batch, rng)
        q = rng.standard_normal(local.d)
        size = 0.0
        for _ in range(ONLINE.iterations):
            q /= np.linalg.norm(q)
            q = local.product(batch, q)
            size = float(np.linalg.norm(q))
        return ONLINE.norm_safety * size


@dataclass(frozen=True, kw_only=True)
class Minibatch(SampledFinder):
    """The anytime finder on one minibatch, large enough by the matrix Bernstein inequality, exact on a whole sum.

    With |H_S - H| <= e, about delta/8, a certificate at delta - e for f_S is one at delta for f, and a direction found
    for f_S is confirmed on fresh samples. Variances are estimated from a pilot of products.

    Queries: |S| times those of the finder it runs, and (4*d + 3) * pilot_size(failure / 4) for the pilot of a
    sum that is not taken whole
    """

    name = "minibatch"

    def search(self, local: SampledModel, rng: np.random.Generator) -> Finding:
        return self.look_at_batch(local, rng)[0]

    def look_at_batch(
        self, local: SampledModel, rng: np.random.Generator
    ) -> tuple[Finding, LocalModel, float]:
        """The finding, the local model of the batch it looked at, and how far that batch's Hessian can be off."""
        batch, error = self._batch(local, rng)
        below = self.delta - error
        # Deep enough on the batch to be below -delta/2 on the whole.
        depth = (self.delta / 2 + error) / below
        own: Any = {"x_scale": self.x_scale, "noise": self.noise, "certificate_maxfev": math.inf}
        inner = Cheapest(delta=below, failure=self.failure / 2, depth=depth, **own)
        near = inner.look(local.f.on(batch), local.x, rng)
        finding = inner.at(near, rng)
        name = f"{self.name} of {len(batch)}, {finding.finder}"
        if finding.found:
            v = to_numpy(finding.direction).astype(np.float64) / local.unit
            v /= np.linalg.norm(v)
            if error == 0.0:
                return replace(finding, finder=name), near, error
            return replace(self.on_the_whole(local, v, finding.reason, rng), finder=name), near, error
        seen = finding.curvature
        widened = Interval(seen.lower - error, seen.upper + error)
        reason = f"{finding.reason}; the batch is within {error:.2g} of the whole"
        return replace(finding, curvature=widened, reason=reason, finder=name), near, error

    def _batch(self, local: SampledModel, rng: np.random.Generator) -> tuple[Batch, float]:
        n = local.f.samples
        if isinstance(n, int) and n <= SAMPLING.whole:
            return local.f.everything(), 0.0
        variance, top = local.hessian_spread(self.failure / 4, rng)
        size = bernstein_batch(variance, top, local.d, self.delta / 8, self.failure / 4)
        size = max(size, pilot_size(self.failure / 4))
        if isinstance(n, int) and size >= n / 2:
            return local.f.everything(), 0.0
        if size > min(local.f.remaining, 2**31):
            raise BudgetExhausted(size, local.f.ledger.queries, int(min(local.f.remaining, 2**31)))
        return local.f.draw(size, rng), bernstein_error(variance, top, local.d, size, self.failure / 4)
