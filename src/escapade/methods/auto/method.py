"""`method="auto"`: a trust region on an SR1 model, and a curvature finder wherever the gradient is small.

A run is a state machine (`Phase`). START measures the start. DESCEND takes steps of the trust region. PROBE looks for a
direction down with a few products, where little is left to gain. ESCAPE leaves a saddle along a direction down. POLL
looks at the coordinates where an escape ended, or at the start. REFINE
measures a point that descent cannot improve on better steps. CERTIFY asks for the certificate, and ends the run or
sends it back. `_Run.select` chooses between DESCEND, PROBE, REFINE and CERTIFY.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, ClassVar, Literal

import numpy as np

from ..._array import Array, Vector, norm2, to_numpy
from ...certificate import Certifier, rules
from ...curvature import Evidence
from ...derivatives.measure import LocalModel
from ...derivatives.sparsity import Sparsity
from ...derivatives.values import EXACT, ValueKind, ValueReport, look
from ...interval import Estimate
from ...oracle import Oracle
from ...stopping import Ending, Stop
from ...tolerances import Tolerances
from ...trace import Iterate, Move
from ..base import Iterates
from .batched import BatchedNewton
from .bounded import in_box
from .box import BoxDifferences, ExactBoxDifferences
from .certify import CertificateSearch, update_with_products
from .dense import DenseMatrix
from .descent import Descent, NoiseState
from .differences import Differences
from .exact import ExactDifferences
from .limited_memory import diagonal_model
from .line_search import Line, leave
from .model import Model
from .point import GradientKind, Point
from .poll import poll
from .probe import probe
from .quadratic import lowest_scaled
from .settings import METHOD, MODEL, NOISY, PROBE, TRUST_REGION
from .sparse_newton import SparseNewton
from .through_noise import Then, ThroughNoise, largest_noise, roughness_report

STEEP = "the gradient alone decides, and the curvature was hardly looked at"


@dataclass(frozen=True, kw_only=True)
class Auto:
    """The default method: no constants, from any start to a certified minimum.

    Queries: d + 1 a step; half a gradient, about, for a saddle whose way out is a coordinate, and 2*d + 10 for another;
    8*d to 20*d for the certificate
    """

    epsilon: float = 1e-4
    """The gradient tolerance."""
    delta: float = 1e-2
    """The curvature tolerance."""
    failure: float = 9e-4
    """The probability with which a certificate may be false."""
    curvature: float | None = None
    """The typical curvature that both tolerances are shares of, so that a smaller one tightens them; None: absolute."""
    noise: float | str | None = None
    """None (rounding), "auto", or the standard deviation of the error of f."""
    prefer: Literal["queries", "rounds"] = "queries"
    """What to save: queries, one after the other, or rounds, with as many queries at once as may help."""
    certificate_maxfev: float | None = None
    """What a certificate may cost, the ladder of lengths apart; None: twice what `certify` allows, or as much as the
    run has cost so far if that is more."""

    sparsity: Sparsity | None = None
    """The pattern of the Hessian, where it is known."""
    certifier: Certifier | None = None
    """The driver's, for problems with bounds."""
    certified: bool = True
    """Whether a certificate is asked for where descent ends; else nothing is spent on one."""

    name: ClassVar[str] = "auto"
    certifies: ClassVar[bool] = True
    uses_gradients: ClassVar[bool] = True

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        if not f.domain.unbounded:
            return (yield from self._in_box(f, x, rng))
        kind = ExactDifferences if f.differentiable else Differences
        differences = kind(f, x, Tolerances(self.epsilon, self.delta, self.curvature))
        certificates = CertificateSearch(
            differences, self.failure, self.noise, rng, self.certified, self.certificate_maxfev
        )
        p = self._start(differences, to_numpy(x).astype(np.float64), rng)
        least = -METHOD.unbounded * (1 + abs(p.f))
        if self.prefer == "rounds" and not f.differentiable and self.sparsity is None:
            return (yield from BatchedNewton(differences, certificates, least).run(p))
        descent = Descent(differences, rng)
        fits = differences.d <= NOISY.variables and differences.in_doubles and not f.differentiable
        report = self._report(differences, p) if fits else EXACT
        began = p.f
        if self.sparsity is not None and report.exact and differences.noise == 0:  # noise asks for other steps
            found = yield from SparseNewton(differences, certificates, self.sparsity, rng, least).run(p)
            if isinstance(found, Ending):
                return found
            p = found
        run = _Run(differences, rng, descent, certificates, least, began, report, fits and self.noise is None)
        return (yield from run.run(p))

    def _report(self, differences: Differences, p: Point) -> ValueReport:
        """What kind of values f gives. Noise that leaves the tolerances visible needs no other descent, if it is known.

        Queries: those of `look`, if the noise was not given
        """
        if self.noise is None:  # a generator of its own: on exact values the draws of the run stay the same
            report = look(differences.f, differences.x, p.f, np.random.default_rng(differences.d))
            slight = report.kind is ValueKind.NOISE and report.level <= NOISY.slight * largest_noise(differences)
            return EXACT if slight else report  # terms that cancel at a minimum round as much
        level = differences.noise
        if level <= largest_noise(differences):
            return EXACT
        return ValueReport(ValueKind.NOISE, level, max(abs(p.f), level))

    def _in_box(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        kind = ExactBoxDifferences if f.differentiable else BoxDifferences
        differences = kind(f, x, Tolerances(self.epsilon, self.delta, self.curvature))
        given: Any = {"gtol": self.epsilon, "curvtol": self.delta, "curvature": self.curvature, "noise": self.noise}
        certifier = replace(self.certifier or Certifier(failure=self.failure, **given), failure=self.failure)
        return (yield from in_box(differences, certifier, rng, self.noise))

    def _start(self, differences: Differences, y: Vector, rng: np.random.Generator) -> Point:
        p = Point(y, differences.f.tagged("descent").value(differences.array(y)))
        if self.noise == "auto":
            differences.measure_noise(p, rng, differences.ones)
        elif self.noise is not None:
            differences.noise = float(self.noise)
        return p


class Phase(Enum):
    """What a run does next."""

    START = auto()
    """Poll the coordinates around x0."""
    DESCEND = auto()
    """Take a trust-region step."""
    PROBE = auto()
    """Look for negative curvature with a few products."""
    ESCAPE = auto()
    """Follow a direction of negative curvature."""
    POLL = auto()
    """Try the coordinates, and correct the model's diagonal."""
    REFINE = auto()
    """Take Newton steps on differences of fourth order."""
    NOISY = auto()
    """Descend on regression models."""
    CERTIFY = auto()
    """Ask for the certificate, and end or go on."""


@dataclass(frozen=True)
class State:
    """Where a run is, and what it does next; or its ending."""

    phase: Phase
    p: Point
    direction: Vector | None = None
    """A direction of negative curvature, to escape along."""
    stuck: bool = False
    """Whether no step descends from p."""
    moved: Move | None = None
    """What led to p, if p is a new iterate."""
    ending: Ending | None = None
    estimated: bool = False
    """Whether the value at p is a model's."""


@dataclass
class _Run:
    """One run: its parts, and what it remembers about curvature and escapes."""

    differences: Differences
    rng: np.random.Generator
    descent: Descent
    certificates: CertificateSearch
    least: float
    """A function that falls below this has no bottom."""
    began: float
    """The value at the start."""
    report: ValueReport = EXACT
    """What is wrong with values."""
    detects_noise: bool = False
    """Whether noise is to be found out."""
    looks: int = 0
    """How often f was looked at for roughness."""
    through_noise: ThroughNoise | None = None
    """The search on regression models, once there is one."""
    length: float = 0.0
    """How far the last escape went."""
    axis: int = -1
    """The coordinate it went along, where it was one."""
    looked_at: float = math.inf
    """The value where curvature was last looked at; before that, infinity."""
    largest_drop: float = 0.0
    """The most that was gained between two such looks."""
    landed: float = -math.inf
    """The value where the last escape, or the last probe, left the run."""
    tested: bool = False
    """Whether the model was compared with second differences since the last escape."""
    fresh: Estimate[float] | None = None
    """The mean of fresh values at the point that the certificate is asked for, where there is noise."""
    escapes: int = 0
    restarts: int = 0
    futile: int = 0
    """Directions that led nowhere."""

    def run(self, p: Point) -> Iterates:
        """From the start to an ending."""
        phases: dict[Phase, Callable[[State], State]] = {
            Phase.START: self.start,
            Phase.DESCEND: self.descend,
            Phase.PROBE: self.probe,
            Phase.ESCAPE: self.escape,
            Phase.POLL: self.poll,
            Phase.REFINE: self.refine,
            Phase.NOISY: self.noisy,
            Phase.CERTIFY: self.certify,
        }
        state = State(Phase.START if self.report.exact else Phase.NOISY, p)
        while True:
            if state.phase is Phase.CERTIFY:
                yield Iterate(self.differences.array(state.p.y), fun=state.p.f, arrived=True)
            state = phases[state.phase](state)
            if state.moved is not None:
                slope = None if len(state.p.g) == 0 else state.p.steepness
                x = self.differences.array(state.p.y)
                yield Iterate(x, state.moved, state.p.f, slope, estimated=state.estimated)
            if state.ending is not None:
                return state.ending

    # Phases: each returns the next state

    def select(self, p: Point, *, stuck: bool = False, probed: bool = False, moved: Move | None = None) -> State:
        """The next phase of a run that knows no direction down."""
        if not probed and self._worth_a_probe(p):  # little is left to gain, and curvature was not looked at lately
            return State(Phase.PROBE, p, stuck=stuck, moved=moved)
        if stuck or self.descent.stagnates(p):  # better differences may show a way on
            return State(Phase.REFINE, p, stuck=stuck, moved=moved)
        if self.descent.arrived(p, self.began):  # the gradient is small
            return State(Phase.CERTIFY, p, moved=moved)
        return State(Phase.DESCEND, p, moved=moved)

    def start(self, state: State) -> State:
        """A gradient, where the user gives them; else all second differences where these are few, or a poll."""
        if isinstance(self.differences, ExactDifferences):
            return self._differentiated(state.p, self.differences)
        if not self.differences.few:
            return self._polled(state.p, None)
        p, B = self.differences.dense(state.p)
        self.descent.model = Model(DenseMatrix(B))
        low, v = lowest_scaled(B)
        if p.steepness <= self.differences.gtol and low < 0 and self._curves_down(p, v, norm2(p.h * v)):  # a saddle
            return State(Phase.ESCAPE, p, v)
        return self.select(p)

    def descend(self, state: State) -> State:
        """One step of the trust region; where most fail, a look whether f is rough."""
        if self._struggles() and (rough := self._rough(state.p)) is not None:
            return rough
        q = self.descent.step(state.p)
        if q is None:  # nothing descends
            return self.select(state.p, stuck=True)
        if q.f < self.least:
            return State(Phase.DESCEND, q, ending=Ending(Stop.UNBOUNDED))
        return self.select(q, moved=Move.DESCENT)

    def probe(self, state: State) -> State:
        """A few products where the model may hide a direction down."""
        p, first = state.p, not math.isfinite(self.looked_at)
        self.largest_drop = 0.0 if first else max(self.largest_drop, self.looked_at - p.f)
        self.tested, self.looked_at, self.landed = True, p.f, p.f
        v = self._probed(p, METHOD.probes[0 if first else 1])
        if v is not None:  # a saddle
            return State(Phase.ESCAPE, p, v)
        return self.select(p, stuck=state.stuck, probed=True)

    def refine(self, state: State) -> State:
        """Newton steps on better differences."""
        p, better = self.descent.refined(state.p)
        if better:
            return self.select(p, moved=Move.DESCENT)
        if state.stuck or self.descent.arrived(p, self.began):  # nothing else descends
            return State(Phase.CERTIFY, p, stuck=state.stuck)
        return State(Phase.DESCEND, p)

    def escape(self, state: State) -> State:
        """Go along the direction, and poll the point where that ends."""
        assert state.direction is not None
        line = self._leave(state.p, state.direction)
        p = Point(self.differences.host(state.p.y + line.t * line.v), line.f)
        if self.futile > METHOD.futile:
            return State(Phase.ESCAPE, p, ending=Ending(Stop.UNDECIDED))
        if line.unbounded:
            return State(Phase.ESCAPE, p, moved=Move.ESCAPE, ending=Ending(Stop.UNBOUNDED))
        return State(Phase.POLL if self.report.exact else Phase.NOISY, p, moved=Move.ESCAPE)

    def noisy(self, state: State) -> State:
        """One more point of the search on regression models; where that ends, whether to go on without it."""
        if self.through_noise is None:
            self.through_noise = ThroughNoise.begin(self.differences, self.rng, self.report, state.p)
        found = self.through_noise.advance()
        if isinstance(found, Point):
            return State(Phase.NOISY, found, moved=Move.DESCENT, estimated=True)
        if found.then is Then.DESCEND:  # noise is gone, or roughness descended through, once
            self.report, self.through_noise, self.looks = EXACT, None, METHOD.looks
            return State(Phase.START, found.p, moved=Move.DESCENT)
        if found.then is Then.CERTIFY:
            self.fresh = found.value
            return State(Phase.CERTIFY, found.p, moved=Move.DESCENT, estimated=found.value is None)
        return State(Phase.NOISY, found.p, moved=Move.DESCENT, ending=found.ending, estimated=found.value is None)

    def certify(self, state: State) -> State:
        """Ask for the certificate: an ending; or a direction down; or back to descent where p is not the place yet."""
        if not self.certificates.wanted:
            return State(Phase.CERTIFY, state.p, ending=Ending(Stop.UNCERTIFIED, value=self.fresh))
        if self.through_noise is not None:
            return self._certify_through_noise(state.p)
        p, trusted = state.p, self.tested and self.descent.contradiction < PROBE.agreed
        before = self.differences.tolerances
        local = self.certificates.measure(p)
        if self.differences.gtol < before.gtol / METHOD.tighter and local.gradient_norm.upper > self.differences.gtol:
            return self.select(self.descent.resume(p, local, noisier=False))  # f curves less here than where it began
        early = self._too_early(p, local)
        if early is not None:  # the gradient is larger, or noise is, than was assumed
            return self.select(early, stuck=self.descent.noise is NoiseState.DOMINATES_CENTRAL)
        hidden = self._hidden(p, local, stuck=state.stuck)
        if hidden is not None:
            return hidden
        if local.gradient_norm.lower > self.differences.gtol:  # a few products may show a way on
            p = p.measured(local)
            v = self._probed(p, METHOD.probes[0])
            if v is None:
                return State(Phase.CERTIFY, p, ending=Ending.of(rules.undecided(STEEP), Evidence(local=local)))
            return State(Phase.ESCAPE, p, v)
        model = self.descent.model
        finding, products = self.certificates.search(local, model, self.descent.recent_contradiction, trusted=trusted)
        self.descent.model = update_with_products(model, products)
        if finding.direction is None:
            return State(Phase.CERTIFY, p, ending=Ending.of(finding, Evidence(local=local, newton=model.newton)))
        return State(Phase.ESCAPE, p, to_numpy(finding.direction).astype(np.float64))

    def _certify_through_noise(self, p: Point) -> State:
        """Ask for the certificate of the point where noise ended the descent: an ending, or a direction down."""
        assert self.through_noise is not None
        local, model = self.certificates.measure(p), Model(DenseMatrix(self.through_noise.hessian))
        if local.gradient_norm.lower > self.differences.gtol:  # it is not small to that tolerance, and noise rules
            evidence = Evidence(rules.undecided(STEEP), local)
            return State(Phase.CERTIFY, p, ending=Ending(Stop.NOISE_LIMITED, evidence, self.fresh))
        finding, _ = self.certificates.search(local, model, math.inf, trusted=False)
        if finding.direction is None:
            ending = replace(Ending.of(finding, Evidence(local=local)), value=self.fresh)
            return State(Phase.CERTIFY, p, ending=ending)
        self.through_noise = None
        return State(Phase.ESCAPE, p.measured(local), to_numpy(finding.direction).astype(np.float64))

    # Noise

    def _struggles(self) -> bool:
        """Whether most of the last steps failed, and f was not looked at for that reason yet."""
        few, last = METHOD.struggles
        ratios = self.descent.region.ratios
        due = self.detects_noise and self.looks < METHOD.looks and len(ratios) >= (self.looks + 1) * last
        return due and sum(not ratio > TRUST_REGION.poor for ratio in ratios[-last:]) >= few

    def _rough(self, p: Point) -> State | None:
        """The descent through noise, if f is rough around p.

        Queries: 36
        """
        self.looks += 1
        report = roughness_report(self.differences, p, self.rng)
        if report is None:
            return None
        self.report = report
        return State(Phase.NOISY, p)

    def _hidden(self, p: Point, local: LocalModel, *, stuck: bool) -> State | None:
        """The descent through noise, where a certificate was asked for and noise or roughness hide the gradient."""
        if not self.detects_noise or local.gradient_norm.upper <= self.differences.gtol:
            return None
        if local.noise.source == "estimated" and local.noise.level > largest_noise(self.differences):
            kind = ValueKind.DIGITS if local.noise.unit else ValueKind.NOISE
            self.report = ValueReport(kind, local.noise.level, max(abs(local.f0), local.noise.level))
            return State(Phase.NOISY, p)
        return self._rough(p) if (stuck or local.report.rough) and self.looks < METHOD.looks else None

    # Escapes

    def _leave(self, p: Point, v: Vector) -> Line:
        """Go along v or -v, whichever does not rise, or the first time leads lower, to the bottom of the valley."""
        if p.kind is not GradientKind.NONE and float(p.g @ v) > 0:
            v = -v
        guess = self.length or 0.5 * float(np.linalg.norm(p.scale * v))
        line = leave(self.differences, p, v, guess, self.differences.gtol, compare=self.escapes == 0)
        self.futile += line.t == 0.0
        self.escapes += 1
        self.length, self.looked_at, self.landed, self.tested = line.t, p.f, line.f, False
        self.largest_drop = max(self.largest_drop, p.f - line.f)
        self.descent.steps = 0
        self.descent.model.along(v, line.curvature)
        return line

    def poll(self, state: State) -> State:
        """Poll the coordinates of the point where an escape ended."""
        return self._polled(state.p, self.descent.model.diagonal)

    def _polled(self, p: Point, diagonal: Vector | None) -> State:
        """Poll the coordinates of a point that may be stationary: escape along the first that curves down, if any."""
        if isinstance(self.differences, ExactDifferences):
            return self._differentiated(p, self.differences)
        seen = poll(self.differences, p, diagonal, self.axis + 1, self.differences.gtol)
        if diagonal is None:
            self.descent.model = diagonal_model(seen.diagonal)
        self.axis = seen.axis
        if seen.axis >= 0:  # a saddle
            return State(Phase.ESCAPE, seen.point, np.eye(1, self.differences.d, seen.axis)[0])
        if seen.stationary and seen.contradiction <= PROBE.agreed:
            self.tested, self.looked_at = True, min(self.looked_at, p.f)
        self.descent.region.at_least(TRUST_REGION.after_escape)
        return self.select(seen.point)

    def _differentiated(self, p: Point, differences: ExactDifferences) -> State:
        """A point that may be stationary, with its gradient; and a first model, where there is none."""
        p = differences.forward(p, differences.ones)
        if len(self.descent.model.diagonal) == 0:
            self.descent.model = differences.first_model(p)
        self.descent.region.at_least(TRUST_REGION.after_escape)
        return self.select(p)

    # Curvature

    def _curves_down(self, p: Point, v: Vector, t: float) -> bool:
        return self.differences.curvature(p, v, t) <= -0.5 * self.differences.curvtol

    def _probed(self, p: Point, most: int) -> Vector | None:
        return probe(self.differences, self.descent.model, p, self.rng, min(self.differences.d, most))

    def _worth_a_probe(self, p: Point) -> bool:
        """Whether little is left to gain by descent, beside what was gained since curvature was last looked at."""
        if self.escapes == 1:  # most runs leave one saddle: the certificate will see whether this is another
            return False
        if self.descent.steps > METHOD.probe_steps and self.landed - p.f < METHOD.far * self.largest_drop:
            return False
        if p.steepness <= self.differences.gtol:
            return not self.tested
        fall = self.looked_at - p.f
        if not math.isfinite(fall) or fall < MODEL.negligible * self.largest_drop:
            return False
        return self.descent.model.gain(p.g) <= MODEL.negligible * fall

    def _too_early(self, p: Point, local: LocalModel) -> Point | None:
        """The point to go on from, where the gradient is not small after all, or the noise larger than was assumed.

        A few times at most. A refined point knows its noise.
        """
        size, error = norm2(local.gradient.value), local.gradient.error
        uncertain = size + error > self.differences.gtol
        noisier = not p.refined and self.differences.update_noise(local.noise, p.f) and uncertain
        large = size - error > self.differences.gtol or (uncertain and size > 2 * error)
        if self.restarts >= METHOD.restarts or not (noisier or large):
            return None
        self.restarts += 1
        return self.descent.resume(p, local, noisier=noisier)
