"""`method="auto"` on averages: the steps of `auto` on batches of samples that grow, then on the whole.

A batch S is a function f_S without noise, and its minimisation is that of `auto`, step for step. It is left for one
four times as large, which holds it, when it has told what it can: what a step is predicted to gain is less than what
the choice of samples may make of it, and the gradient, in units of the model's curvatures, is less than its own
sampling error. The first alone would leave a batch at every saddle. Values at the point are used again.

A finite sum is not taken whole step by step: once the next batch would be a third of it, its gradient at the point is
measured, and f_S gets a slope that gives it the same gradient there; its minimiser is nearly that of the sum. Then
again. A stream grows until its gradient is known well enough, or until half of what may be spent is.

The certificate is that of fresh samples (`certificate/sampled.py`); a direction that it finds leads back to descent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import ClassVar, Literal

import numpy as np

from ... import budget
from ..._array import Array, Vector, norm2, to_numpy
from ...certificate.sampled import SampledCertifier, Shown, second_price
from ...curvature import Evidence, Outcome
from ...derivatives.groups import FreshSamples, WholeRow, second_order
from ...derivatives.settings import GROUPS
from ...oracle import Batch, GroupedOracle, Oracle, Tilt, axes, point
from ...stopping import Ending, Stop
from ...tolerances import Tolerances
from ...trace import Move
from ..base import Iterates
from .certify import CertificateSearch
from .dense import DenseMatrix
from .descent import Descent
from .differences import Differences
from .method import Phase, State, _Run
from .model import Model
from .point import GradientKind, Point
from .settings import LIMITED_MEMORY, METHOD, SAMPLED, TRUST_REGION


@dataclass(frozen=True, kw_only=True)
class SampledAuto:
    """The default method for averages over samples.

    Queries: see docs/samples.md
    """

    epsilon: float = 1e-4
    """The gradient tolerance."""
    delta: float = 1e-2
    """The curvature tolerance."""
    failure: float = 9e-4
    """The probability with which a certificate may be false."""
    noise: float | str | None = None
    """None (rounding), "auto", or the standard deviation of the error of a value."""
    evidence: Literal["sampled", "whole"] = "sampled"
    """What the certificate of a finite sum rests on."""

    certified: bool = True
    """Whether a certificate is asked for where descent ends; else nothing is spent on one."""

    name: ClassVar[str] = "auto"
    certifies: ClassVar[bool] = True

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        d = int(x.shape[0])
        samples = FreshSamples(f, rng, groups=SAMPLED.groups)
        first = tuple(samples.draw(max(SAMPLED.least, SAMPLED.per_variable * d)))
        grouped = GroupedOracle.over(f.tagged("descent"), first, SAMPLED.remembered * (d + 1) + SAMPLED.trials)
        differences = Differences(grouped, x, Tolerances(self.epsilon, self.delta, None))
        if isinstance(self.noise, float | int):
            differences.noise = float(self.noise) / math.sqrt(grouped.size)
        certificates = CertificateSearch(differences, (1 - SAMPLED.tests) * self.failure, self.noise, rng)
        y = to_numpy(x).astype(np.float64)
        p = Point(y, grouped.tagged("descent").value(differences.array(y)))
        least = -METHOD.unbounded * (1 + abs(p.f))
        run = _SampledRun(differences, rng, Descent(differences, rng), certificates, least, p.f)
        run.root, run.samples, run.task = f, samples, self
        return (yield from run.run(p))


class Stage(Enum):
    """Which function the steps are those of."""

    BATCH = auto()
    """f_S."""
    CORRECTED = auto()
    """f_S with the gradient of the whole sum at one point."""
    WHOLE = auto()
    """The whole sum."""


@dataclass
class _SampledRun(_Run):
    """A run of `auto` on batches: what is another than on a plain function."""

    root: Oracle = field(init=False)
    """f, of which batches are taken."""
    samples: FreshSamples = field(init=False)
    task: SampledAuto = field(init=False)
    stage: Stage = Stage.BATCH
    target: float = 0.0
    """The gradient of a corrected batch at which the whole one is measured again."""
    anchor: WholeRow | None = None
    """The whole sum where it was last measured..."""
    anchored: Point | None = None
    """...and the batch there, with the whole gradient."""
    mark: int = 0
    """Queries when it was."""
    fitted: int = 0
    """Queries when the model was last fitted to second differences..."""
    fitted_at: float = math.inf
    """...and the gradient there."""
    escaped: int = 0
    """Samples of the batch on which a fitted model showed a way down: a second one on the same may be its error."""
    asked: int = 0
    """Certificates that were asked for."""

    # The batch

    @property
    def batch(self) -> GroupedOracle:
        f = self.differences.f
        assert isinstance(f, GroupedOracle)
        return f

    @property
    def whole_size(self) -> float:
        n = self.root.samples
        return float(n) if isinstance(n, int) else math.inf

    def _group_gradients(self, p: Point) -> Vector:
        """The gradients of the groups less their mean, a row a group.

        Queries: none, or d + 1 a sample where they are not remembered
        """
        x, h = self.differences.array(p.y), self.differences.array(p.h)
        values = self.batch.seen(point(x) + axes(x, h))
        rows = (values[1:] - values[0]) / p.h[:, None]
        deviations: Vector = (rows - rows.mean(axis=1)[:, None]).T
        return deviations

    def _sampling_error(self, p: Point) -> float:
        """The standard error of the gradient."""
        D = self._group_gradients(p)
        return math.sqrt(float(np.sum(D**2)) / (len(D) * (len(D) - 1)))

    def _known(self, p: Point) -> bool:
        """Whether the gradient is small, and so is its sampling error, as where all samples have their minimum."""
        enough = SAMPLED.small * self.differences.gtol
        return p.steepness <= enough and self._sampling_error(p) <= enough

    def _exhausted(self, p: Point) -> bool:
        """Whether the sampling error drowns both what a step is predicted to gain, and the gradient."""
        D, model = self._group_gradients(p), self.descent.model
        share = max(0.0, 1 - self.batch.size / self.whole_size) / (len(D) * (len(D) - 1))
        s = model.step(p.g, self.descent.region.size, model.scaled(p.scale))
        if -model.change(p.g, s) >= math.sqrt(share * float(np.sum((D @ s) ** 2))):
            return False
        noise = -share * sum(float(row @ model.newton(row)) for row in D)
        return 2 * model.gain(p.g) < SAMPLED.decrement * noise

    def _spent(self, p: Point) -> bool:
        """Whether the batch has told what it can; or as much was spent on a corrected one as the next whole gradient
        costs, or two steps."""
        if self.stage is Stage.BATCH:
            return self._exhausted(p)
        points = max(self.whole_size, SAMPLED.steps * self.batch.size)
        return self.root.ledger.queries - self.mark > points * (self.differences.d + 1)

    # The model

    def _fitted(self, p: Point, *, leaving: bool = False) -> bool:
        """Fit the model to second differences on a part of the batch, if as much was spent on steps since that was last
        done and these contracted little.

        Queries: (d*(d + 3)/2 + 1) a sample
        """
        d, spent = self.differences.d, self.root.ledger.queries - self.fitted
        few, many = (one * d for one in SAMPLED.hessian)
        allowed = SAMPLED.hessian_price * self.whole_size * (d + 1) if self.whole_size < math.inf else self._left() / 8
        size = int(min(self.batch.size, many, allowed / second_price(d)))
        price = size * second_price(d)
        news = self.descent.steps > 0 or self.fitted == 0
        cheap = leaving and news and price <= SAMPLED.cheap / SAMPLED.hessian_price * allowed
        if size < min(few, self.batch.size) or d > LIMITED_MEMORY.large or not (cheap or spent >= price):
            return False
        if not cheap and p.steepness < SAMPLED.contracted * self.fitted_at:
            self.fitted_at = p.steepness
            return False
        each = max(1, size // len(self.batch.groups))
        groups = [Batch(group.ids[:each]) for group in self.batch.groups]
        h = self.differences.second_steps(p)
        seen = second_order(self.root.tagged("descent"), self.differences.array(p.y), h, groups)
        self.descent.model = Model(DenseMatrix(seen.matrices.mean(axis=0)))
        self.fitted, self.fitted_at, self.descent.steps = self.root.ledger.queries, p.steepness, 0
        self.descent.region.at_least(TRUST_REGION.after_failure)
        return True

    # Phases

    def select(self, p: Point, *, stuck: bool = False, probed: bool = False, moved: Move | None = None) -> State:
        """The next phase: that of `auto`, unless the batch has told what it can."""
        if self.stage is not Stage.WHOLE and p.kind is not GradientKind.NONE:
            few = self.batch.size <= SAMPLED.probed * self.differences.d
            if few and self.stage is Stage.BATCH and not probed and self._worth_a_probe(p):
                return State(Phase.PROBE, p, stuck=stuck, moved=moved)
            small = p.steepness <= max(self.target, SAMPLED.small * self.differences.gtol)
            leaving = stuck or small or self._spent(p)
            if self._fitted(p, leaving=leaving and self.stage is Stage.BATCH):
                low, v = self.descent.model.lowest()
                downwards = p.steepness <= self.differences.gtol and low <= -self.differences.curvtol / 2
                if downwards and self.escaped != self.batch.size:
                    self.escaped = self.batch.size
                    return State(Phase.ESCAPE, self._on_the_batch(p), v, moved=moved)
                leaving = stuck or small or self._spent(p)
            if leaving:
                return State(Phase.CERTIFY, p, stuck=stuck, moved=moved)
            if self.descent.stagnates(p):
                return State(Phase.CERTIFY, p, stuck=True, moved=moved)
            return State(Phase.DESCEND, p, moved=moved)
        return super().select(p, stuck=stuck, probed=probed, moved=moved)

    def certify(self, state: State) -> State:
        """Leave the batch: for a larger one, for the whole sum, or for the certificate."""
        p = state.p
        if self.stage is Stage.WHOLE:
            return super().certify(state) if state.stuck else self._ask(p, WholeRow(p.f, p.h, p.row))
        if p.kind is GradientKind.NONE or p.h.size == 0:
            p = self.differences.forward(p, self.descent.model.diagonal)
        if self.root.samples == "stream":
            return self._stream(p)
        if self.stage is Stage.CORRECTED:
            return self._measure_whole(p)
        wanted = SAMPLED.growth * self.batch.size
        if wanted <= SAMPLED.share * self.whole_size and not self._known(p):
            return self.select(self._grown(p, wanted))
        return self._measure_whole(p)

    def _grown(self, p: Point, size: int) -> Point:
        """p on a batch of so many samples, with a gradient of the same steps.

        Queries: d + 1 a new sample
        """
        x, h = self.differences.array(p.y), self.differences.array(p.h)
        stencil, correction = point(x) + axes(x, h), p.g - p.row
        tilt = self.batch.tilt
        more = tuple(self.samples.draw(size - self.batch.size))
        larger = self.batch.tilted(None).grown(more, stencil)
        self.differences.f = larger.tilted(tilt)
        values = larger.memory.get(np.vstack([p.y[None, :], p.y + np.diag(p.h)]))
        values = larger.seen(stencil).mean(axis=1) if values is None else values.mean(axis=1)
        slope, added = (0.0, 0.0) if tilt is None else (tilt.slope, float(tilt(p.y)))
        row = (values[1:] - values[0]) / p.h + slope
        self.descent.region.at_least(SAMPLED.radius)
        self.descent.steps = 0
        return Point(p.y, float(values[0]) + added, row + correction, p.h, row, GradientKind.FORWARD)

    # A finite sum

    def _measure_whole(self, p: Point) -> State:
        """The gradient of the whole sum at p, and what it asks for: a certificate, a corrected batch, or a larger one.

        Queries: N
        """
        row = WholeRow.of(self.root.tagged("descent"), self.differences.array(p.y), p.h)
        correction = p.g - p.row
        g, before = row.row + correction, self.anchored
        if norm2(g) <= SAMPLED.enough * self.differences.gtol:
            return self._ask(self._corrected(p, row, g), row)
        larger = 0
        if before is not None and self.anchor is not None:
            if row.f0 > self.anchor.f0 and norm2(g) > before.steepness:  # the batch misled
                p, row, larger = before, self.anchor, SAMPLED.growth * self.batch.size
                g, correction = row.row + (p.g - p.row), p.g - p.row
            elif norm2(g - p.g) > SAMPLED.mismatch * before.steepness:
                larger = SAMPLED.doubled * self.batch.size
        if larger > self.whole_size / 2:
            return self._take_whole(p, row, g)
        p = self._corrected(p, row, g)
        if larger:
            p = self._grown(p, larger)
            p = self._corrected(p, row, g)
        return State(Phase.DESCEND, p)

    def _corrected(self, p: Point, row: WholeRow, g: Vector) -> Point:
        """p on the batch with the slope that gives it the gradient g of the whole sum."""
        tilt = self.batch.tilt
        own = p.g if tilt is None else p.g - tilt.slope
        value = p.f if tilt is None else p.f - float(tilt(p.y))
        self.differences.f = self.batch.tilted(Tilt(g - own, p.y))
        q = Point(p.y, value, g, p.h, g - (p.g - p.row), GradientKind.FORWARD)
        self.stage, self.anchor, self.anchored = Stage.CORRECTED, row, q
        self.target = max(SAMPLED.reduction * norm2(g), SAMPLED.small * self.differences.gtol)
        self.mark = self.root.ledger.queries
        self.descent.region.at_least(min(1.0, SAMPLED.reach * norm2(g)))
        self.descent.steps = 0
        return q

    def _take_whole(self, p: Point, row: WholeRow, g: Vector) -> State:
        """Go on with the whole sum: no batch is much cheaper."""
        self.stage, self.target = Stage.WHOLE, 0.0
        self.differences.f = self.root.summed()
        return super().select(Point(p.y, row.f0, g, p.h, row.row, GradientKind.FORWARD))

    # A stream

    def _stream(self, p: Point) -> State:
        """A larger batch, as long as half of what may be spent pays for it, and its gradient is not known so well."""
        d, gtol, error = self.differences.d, self.differences.gtol, self._sampling_error(p)
        known = error <= SAMPLED.known * gtol
        if known and p.steepness <= SAMPLED.enough * gtol:
            return self._ask(p, None)
        size = self.batch.size
        times = SAMPLED.growth if known else min(SAMPLED.growth, GROUPS.aim * (error / (SAMPLED.known * gtol)) ** 2)
        wanted = int(size * max(SAMPLED.doubled if known else GROUPS.growth[0], times))
        price = (wanted - size) * (d + 1) + 2 * wanted * (d + 3)
        if price > self._left() / 2:
            return self._ask(p, None)
        return self.select(self._grown(p, wanted))

    def _left(self) -> float:
        """Queries that may still be spent."""
        left = self.root.remaining
        if self.root.samples == "stream" and left == math.inf:
            return GROUPS.allowance * (self.differences.d + 1) - self.root.ledger.queries
        return left

    # The certificate

    def _ask(self, p: Point, row: WholeRow | None) -> State:
        """Ask for the certificate at p: an ending, or a direction to escape along, or descent on more samples."""
        if not self.task.certified:
            return State(Phase.CERTIFY, p, ending=Ending(Stop.FINISHED))
        self.asked += 1
        shown = self._shown(p, row)
        if shown is None:
            return self._by_the_whole_sum(p, row)
        finding = shown.finding
        if finding.outcome is Outcome.FOUND and self.asked <= SAMPLED.certificates:
            direction = to_numpy(finding.direction).astype(np.float64)
            return State(Phase.ESCAPE, self._on_the_batch(p), direction)
        stop = Stop.CERTIFIED if finding.certified else Stop.UNDECIDED
        return State(Phase.CERTIFY, p, ending=Ending(stop, Evidence(finding=finding, shown=shown)))

    def _shown(self, p: Point, row: WholeRow | None) -> Shown | None:
        task = self.task
        tests = SampledCertifier(
            gtol=task.epsilon,
            curvtol=task.delta,
            failure=budget.of_certificate(SAMPLED.tests * task.failure, self.asked),
            noise=task.noise,
            evidence=task.evidence,
        )
        d = self.differences.d
        if not tests.looks(self.root, d):
            return None
        first = GROUPS.longer * tests.first_price(d)
        allowed = max(self._left(), min(first, GROUPS.allowance * (d + 1)))
        return replace(tests, allowance=allowed)(self.root, self.differences.array(p.y), self.rng, row)

    def _by_the_whole_sum(self, p: Point, row: WholeRow | None) -> State:
        """The certificate of `auto` on the whole sum, where samples do not decide."""
        self.stage, self.differences.f = Stage.WHOLE, self.root.summed()
        if row is not None:
            p = replace(p, f=row.f0, row=row.row, g=row.row + (p.g - p.row))
        return super().certify(State(Phase.CERTIFY, p))

    def _on_the_batch(self, p: Point) -> Point:
        """p on the batch itself, to descend on it again."""
        self.target, self.anchor, self.anchored = 0.0, None, None
        if self.stage is Stage.WHOLE:
            return p
        self.stage, tilt = Stage.BATCH, self.batch.tilt
        self.differences.f = self.batch.tilted(None)
        if tilt is None:
            return p
        return replace(p, f=p.f - float(tilt(p.y)), g=p.g - tilt.slope, row=p.row - tilt.slope)

