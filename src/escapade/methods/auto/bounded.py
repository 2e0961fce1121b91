"""`auto` in a box: its trust region over free and active variables, and the certificate of bounded problems.

START takes second differences into the box. DESCEND takes steps of the trust region, whose subproblem changes the
active set; slopes of variables that stay strongly active are the model's for a few steps. MEASURE takes all slopes
again where nothing descends or some were predicted. CERTIFY moves variables onto bounds that they all but reached, and
asks for the certificate; ESCAPE follows the feasible direction of a saddle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

import numpy as np

from ... import budget
from ..._array import Vector, norm2, to_numpy
from ...certificate import Certificate, Certifier
from ...curvature import Evidence, price
from ...derivatives.settings import NOISE
from ...stopping import Ending, Stop
from ...trace import Iterate, Move
from ..base import Iterates
from .box import BoxDifferences, BoxPoint, ExactBoxDifferences
from .dense import DenseMatrix
from .descent import Descent, NoiseState
from .line_search import search
from .model import Model
from .point import GradientKind, Point
from .settings import BOX, DESCENT, METHOD, TRUST_REGION
from .trust_region import Step


@dataclass
class BoxDescent(Descent):
    """The descent, with slopes of strongly active variables predicted."""

    ages: Vector = field(default_factory=lambda: np.zeros(0))
    """For how many steps in a row each slope was predicted."""

    def _accepted(self, p: Point, step: Step) -> Point:
        differences, diagonal = self.differences, self.model.diagonal
        assert isinstance(differences, BoxDifferences)
        q: Point = differences.point(p.y + step.s, step.f)
        self.steps += 1
        self.progress.add(p.f, norm2(step.s))
        if self.noise > NoiseState.SMALL:
            q, _ = differences.central(q)
        else:
            q = self._with_slopes(q, p.g + self.model.B @ step.s, diagonal)
        error = differences.gradient_error(q) + differences.gradient_error(p)
        self.contradictions.append(self.model.secant(step.s, q.g - p.g, error))
        differences.update_diagonal_error(self.contradiction)
        return q

    def _with_slopes(self, q: Point, guess: Vector, diagonal: Vector) -> Point:
        assert isinstance(self.differences, BoxDifferences)
        assert isinstance(q, BoxPoint)
        return self.differences.sloped(q, guess, diagonal, self._measured_anew(q, guess))

    def _measured_anew(self, q: BoxPoint, guess: Vector) -> Any:
        """The variables whose slopes are measured: all but those on bounds that the model holds there strongly, and
        that were measured lately."""
        if len(self.ages) == 0:
            self.ages = np.zeros(len(guess))
        slope = np.where(q.y <= q.lower, guess, np.where(q.y >= q.upper, -guess, -np.inf))
        strong = (slope > BOX.strong * float(np.max(np.abs(guess)))) & (self.ages < BOX.predicted)
        self.ages = np.where(strong, self.ages + 1, 0.0)
        return np.flatnonzero(q.movable & ~strong)

    def gain(self, p: Point) -> float:
        assert isinstance(p, BoxPoint)
        which = np.flatnonzero(p.free)
        if len(which) == 0:
            return 0.0
        assert isinstance(self.model.B, DenseMatrix)
        part = DenseMatrix(np.ascontiguousarray(self.model.B.matrix[np.ix_(which, which)]))
        return -float(p.g[which] @ part.newton(p.g[which])) / 2

    def _agrees(self, diagonal: Vector, least: float = 0.0) -> bool:
        agrees = super()._agrees(diagonal, least)
        if not isinstance(self.model.B, DenseMatrix):  # the subproblem in a box is for dense models
            self.model = Model(DenseMatrix(np.diag(self.model.diagonal)))
        return agrees


class Phase(Enum):
    """What a run in a box does next."""

    START = auto()
    DESCEND = auto()
    MEASURE = auto()
    CERTIFY = auto()
    ESCAPE = auto()


@dataclass(frozen=True)
class State:
    """Where a run is, and what it does next; or its ending."""

    phase: Phase
    p: BoxPoint
    certificate: Certificate | None = None
    moved: Move | None = None
    ending: Ending | None = None


@dataclass
class BoxRun:
    """One run in a box."""

    differences: BoxDifferences
    descent: BoxDescent
    certifier: Certifier
    rng: np.random.Generator
    least: float
    """A function that falls below this has no bottom."""
    began: float
    attempts: int = 0
    escapes: int = 0

    def run(self, p: BoxPoint) -> Iterates:
        """From the start to an ending."""
        phases: dict[Phase, Callable[[State], State]] = {
            Phase.START: self.start,
            Phase.DESCEND: self.descend,
            Phase.MEASURE: self.measure,
            Phase.CERTIFY: self.certify,
            Phase.ESCAPE: self.escape,
        }
        state = State(Phase.START, p)
        while True:
            state = phases[state.phase](state)
            if state.moved is not None:
                slope = None if state.moved is Move.ESCAPE else state.p.steepness
                yield Iterate(self.differences.array(state.p.y), state.moved, state.p.f, slope)
            if state.ending is not None:
                return state.ending

    def select(self, p: BoxPoint, moved: Move | None = None) -> State:
        """The next phase at a point whose gradient is known."""
        if not self.descent.arrived(p, self.began):
            return State(Phase.DESCEND, p, moved=moved)
        if np.any(p.predicted):  # slopes that were not measured here
            return State(Phase.MEASURE, p, moved=moved)
        return State(Phase.CERTIFY, p, moved=moved)

    # Phases

    def start(self, state: State) -> State:
        """Second differences into the box: all of them where these are few."""
        return self.select(self._modelled(state.p))

    def descend(self, state: State) -> State:
        """One step of the trust region."""
        q = self.descent.step(state.p)
        if q is None:  # nothing descends
            return State(Phase.MEASURE if np.any(state.p.predicted) else Phase.CERTIFY, state.p)
        assert isinstance(q, BoxPoint)
        if q.f < self.least:
            return State(Phase.DESCEND, q, ending=Ending(Stop.UNBOUNDED))
        return self.select(q, moved=None if q.y is state.p.y else Move.DESCENT)

    def measure(self, state: State) -> State:
        """All slopes, by differences of two values each, and the model's diagonal."""
        q, _ = self.differences.central(state.p)
        assert isinstance(q, BoxPoint)
        return self.select(q)

    def certify(self, state: State) -> State:
        """The certificate: an ending, or a direction down, or back to descent where p is not the place yet."""
        p = self._snapped(state.p)
        moved = None if p is state.p else Move.DESCENT
        self.attempts += 1
        failure, most = budget.of_certificate(self.certifier.failure, self.attempts), self.certifier.maxfev
        if most is None:
            most = price.cap_of_run(len(self.differences.movable), self.differences.f.ledger.queries)
        certifier = replace(self.certifier, failure=failure, maxfev=most)
        certificate = certifier(self.differences.f, self.differences.array(p.y), self.rng)
        if not math.isfinite(certificate.fun):  # the budget ended before the value
            certificate = replace(certificate, fun=p.f)
        if certificate.verdict == "saddle" and self.escapes < BOX.escapes:
            return State(Phase.ESCAPE, p, certificate, moved=moved)
        if self._too_early(certificate):
            return replace(self.resume(p, certificate), moved=moved)
        stop = Stop.CERTIFIED if certificate.holds else Stop.UNDECIDED
        return State(Phase.CERTIFY, p, ending=Ending(stop, Evidence(certificate=certificate)), moved=moved)

    def _too_early(self, certificate: Certificate) -> bool:
        """Whether the residual that was measured, more than its error, is above the tolerance. A few times at most."""
        low, high = certificate.gradient.lower, certificate.gradient.upper
        size, error = (low + high) / 2, (high - low) / 2
        large = low > certificate.gtol or (high > certificate.gtol and size > 2 * error)
        return large and math.isfinite(high) and self.attempts <= METHOD.restarts and certificate.jac is not None

    def resume(self, p: BoxPoint, certificate: Certificate) -> State:
        """Go on from a point where a certificate was asked for too early, with the slopes and the tolerances that were
        found there."""
        differences = self.differences
        differences.tolerances = replace(
            differences.tolerances, gtol=certificate.gtol, curvtol=certificate.curvtol
        )
        noise = certificate.trusted.get("noise")
        if noise is not None and noise.source in ("given", "estimated"):
            differences.noise = max(differences.noise, noise.value)
        own = certificate.trusted.get("jac")
        if own is not None and isinstance(differences, ExactBoxDifferences):
            differences.level = max(differences.level, own.value)
        if differences.gradient_error(p) > DESCENT.small * differences.gtol:
            self.descent.noise = NoiseState.DOMINATES_FORWARD
        self.descent.region.at_least(TRUST_REGION.after_failure)
        g = to_numpy(certificate.jac).astype(np.float64)
        if np.any(np.isnan(g[p.movable])):  # it was decided before all slopes were known
            return State(Phase.MEASURE, replace(p, predicted=p.movable))
        h = differences.central_steps(p)
        nothing = np.zeros(differences.d, dtype=np.bool_)
        q = replace(p, g=np.nan_to_num(g), h=h, kind=GradientKind.FORWARD, predicted=nothing)
        return State(Phase.DESCEND, q)

    def escape(self, state: State) -> State:
        """Go along the direction of a saddle."""
        p, certificate = state.p, state.certificate
        assert certificate is not None
        v = to_numpy(certificate.direction).astype(np.float64)
        guess = TRUST_REGION.after_escape * norm2(p.scale * v)
        line = search(self.differences, p, v, guess, self.differences.gtol, {0.0: p.f})
        self.escapes += 1
        if line.t == 0.0:
            return State(Phase.CERTIFY, p, ending=Ending(Stop.UNDECIDED, Evidence(certificate=certificate)))
        q = self.differences.point(self.differences.host(p.y + line.t * v), line.f)
        if line.unbounded:
            return State(Phase.ESCAPE, q, moved=Move.ESCAPE, ending=Ending(Stop.UNBOUNDED))
        self.descent.region.at_least(TRUST_REGION.after_escape)
        return State(Phase.START, q, moved=Move.ESCAPE)

    # Parts

    def _modelled(self, p: BoxPoint) -> BoxPoint:
        """p with its gradient, and a new model."""
        q, B = self.differences.modelled(p)
        self.descent.model = Model(DenseMatrix(B))
        return q

    def _snapped(self, p: BoxPoint) -> BoxPoint:
        """p on the bounds that it all but reached, if f does not rise by more than noise.

        Queries: 1 if there are any
        """
        y = self.differences.snapped(p)
        if np.array_equal(y, p.y):
            return p
        value = self.differences.value(y)
        if value > p.f + NOISE.significant * self.differences.value_error(p.f):
            return p
        return replace(p, y=y, f=value)


def in_box(
    differences: BoxDifferences, certifier: Certifier, rng: np.random.Generator, noise: float | str | None
) -> Iterates:
    """A run in a box, from its start.

    Queries: d + 1 a step, fewer where variables are strongly active; and those of the certificate
    """
    y = differences.host(to_numpy(differences.x).astype(np.float64))
    p = differences.point(y, differences.f.tagged("descent").value(differences.array(y)))
    if noise == "auto":
        differences.measure_noise(p, rng, differences.ones)
    elif noise is not None:
        differences.noise = float(noise)
    least = -METHOD.unbounded * (1 + abs(p.f))
    return (yield from BoxRun(differences, BoxDescent(differences, rng), certifier, rng, least, p.f).run(p))
