"""The descent: steps of the trust region, each with its gradient and its secant."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import count

import numpy as np

from ..._array import Vector, epsilon, norm2
from ...derivatives.by_gradients import GradientModel
from ...derivatives.measure import LocalModel
from ...errors import NonFiniteValue
from .dense import DenseMatrix
from .differences import Differences
from .exact import ExactDifferences
from .limited_memory import diagonal_model
from .model import Model
from .point import GradientKind, Point
from .refine import price, refine
from .settings import DESCENT, MODEL, REFINE, TRUST_REGION
from .stagnation import Progress
from .trust_region import Step, TrustRegion


class NoiseState(IntEnum):
    """What noise leaves of gradients."""

    SMALL = 0
    """Forward differences see the gradient."""
    DOMINATES_FORWARD = 1
    """It dominates forward differences of the gradient: all are central."""
    DOMINATES_CENTRAL = 2
    """It dominates central ones too, though not those of the certificate."""


@dataclass
class Descent:
    """The model, the trust region, and what the secants of a run said about the model."""

    differences: Differences
    rng: np.random.Generator
    model: Model = field(default_factory=lambda: Model(DenseMatrix(np.zeros((0, 0)))))
    region: TrustRegion = field(default_factory=TrustRegion)
    contradictions: list[float] = field(default_factory=list)
    """How much each secant contradicted the model."""
    steps: int = 0
    """Steps since the last escape."""
    noise: NoiseState = NoiseState.SMALL
    progress: Progress = field(default_factory=Progress)

    @property
    def gtol(self) -> float:
        """The gradient tolerance."""
        return self.differences.gtol

    @property
    def contradiction(self) -> float:
        """How much the last secants contradicted the model, on average."""
        last = self.contradictions[-DESCENT.last_secants :]
        return sum(last) / len(last) if last else 0.0

    @property
    def recent_contradiction(self) -> float:
        """The same, or ten times what the last of them did, if that is less."""
        return min(self.contradiction, 10 * self.contradictions[-1]) if self.contradictions else 0.0

    def arrived(self, p: Point, began: float) -> bool:
        """Whether the gradient is small enough to ask for the certificate, or all noise, in a run from f = `began`.

        Relative tolerances are those of typical variables: along one that is much flatter there may be more to gain.
        """
        error, absolute = self.differences.gradient_error(p), self.differences.tolerances.curvature is None
        if p.steepness > max((DESCENT.arrived if absolute else DESCENT.relative) * self.gtol, error):
            return False
        if absolute or p.steepness <= max(DESCENT.beyond * self.gtol, error):
            return True
        noticed = max(DESCENT.worthwhile * (began - p.f), self.differences.value_error(p.f))
        return self.gain(p) <= noticed

    def gain(self, p: Point) -> float:
        """What a Newton step on the model would gain."""
        return self.model.gain(p.g)

    def stagnates(self, p: Point) -> bool:
        """Whether the last steps led far for what they gained: along a valley whose slope is within the tolerance."""
        return self.progress.stagnates(p.f, self.gtol, self.steps)

    def step(self, p: Point) -> Point | None:
        """One step that descends, with its gradient; or p with a better gradient if there is none; or None.

        Queries: d + 1 and a few; 2*d for a better gradient
        """
        differences, least = self.differences, 4 * epsilon(self.differences.x)
        for failed in count():
            step = self.region.attempt(differences, p, self.model)
            if step.f < p.f and step.predicted < 0:
                try:
                    q = self._accepted(p, step)
                except NonFiniteValue:  # f ends here
                    self.region.longest = float(np.linalg.norm(step.s / p.scale)) / 4
                    continue
                self.region.longest *= 2
                return q
            over = -step.predicted <= differences.value_error(p.f) or self.region.size <= least
            if norm2(step.s) == 0.0 or over or (failed >= DESCENT.failed_steps and not p.accurate):
                break
        return None if p.accurate else self._measured_again(p)

    def _accepted(self, p: Point, step: Step) -> Point:
        """The point where a step leads, with its gradient; the model with its secant."""
        differences, diagonal = self.differences, self.model.diagonal
        exact = isinstance(differences, ExactDifferences)
        outdated = not (differences.few or exact) and self.progress.outdated(self.region.ratios, self.steps)
        q, seen = Point(p.y + step.s, step.f), diagonal
        self.steps += 1
        self.progress.add(p.f, norm2(step.s))
        if outdated or self.noise > NoiseState.SMALL:
            q, seen = differences.central(q)
        else:
            q = differences.forward(q, diagonal)
        error = differences.gradient_error(q) + differences.gradient_error(p)
        self.contradictions.append(self.model.secant(step.s, q.g - p.g, error))
        differences.update_diagonal_error(self.contradiction)
        if outdated:
            self._agrees(seen, MODEL.different)
        return q

    def _measured_again(self, p: Point) -> Point:
        """p with a central gradient, and the model that is seen there."""
        if self.differences.few:
            if self.differences.noise_outdated(p):
                self.differences.measure_noise(p, self.rng, self.differences.ones)
            p, B = self.differences.dense(p)
            self.model, self.region.radius = Model(DenseMatrix(B)), TRUST_REGION.after_failure
            return p
        self.differences.measure_noise(p, self.rng, self.differences.ones)
        p, diagonal = self.differences.central(p)
        self._check(diagonal)
        return p

    def refined(self, p: Point) -> tuple[Point, bool]:
        """A better point than p, where the run is stuck or stagnates though p is steep, if there is one; and whether
        there is. It is tried once a point, and where the budget has room for it.

        Queries: those of `refine`
        """
        d = self.differences.d
        if isinstance(self.differences, ExactDifferences):
            exact = None if p.refined or p.steepness <= self.gtol else self.differences.refined(p, self.model)
            return (replace(p, refined=True), False) if exact is None else (exact, True)
        if p.refined or d > REFINE.most or p.steepness <= self.gtol or self.differences.f.remaining < price(d):
            return p, False
        found = refine(self.differences, p, self.rng, REFINE.enough * self.gtol)
        if found is None:
            return replace(p, refined=True), False
        q, self.model = found
        self.region.at_least(TRUST_REGION.after_escape)
        return q, True

    def resume(self, p: Point, local: LocalModel, *, noisier: bool) -> Point:
        """Go on from a point where a certificate was asked for too early, with the gradient that was measured there."""
        if self.noise > NoiseState.SMALL:
            self.noise = NoiseState.DOMINATES_CENTRAL
        elif self.differences.gradient_error(p) > DESCENT.small * self.gtol:
            self.noise = NoiseState.DOMINATES_FORWARD
        q = p.measured(local)
        if isinstance(local, GradientModel):
            return q
        if noisier:
            q = replace(q, f=local.f0)
            if not self._check(local.diagonal.value):  # of a new model: measured again if no step descends
                q = replace(q, kind=GradientKind.FORWARD)
        self.region.at_least(TRUST_REGION.after_failure)
        return q

    def _check(self, diagonal: Vector) -> bool:
        """Whether a model that led nowhere agrees with the diagonal that was seen; if not, the next steps are short."""
        right = self._agrees(diagonal)
        short = TRUST_REGION.after_failure
        self.region.radius = max(self.region.radius, short) if right else short
        return right

    def _agrees(self, diagonal: Vector, least: float = 0.0) -> bool:
        """Whether the model agrees with the diagonal that was seen; else a new, convex one takes its place."""
        if not self.model.misses(diagonal, self.differences.curvtol, least):
            return True
        self.model = diagonal_model(np.maximum(np.abs(diagonal), self.differences.curvtol))
        return False
