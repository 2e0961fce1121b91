"""The descent: steps of the trust region, each with its gradient and its secant."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import numpy as np

from ..._array import Vector, epsilon, norm2
from ...derivatives.measure import LocalModel
from ...errors import NonFiniteValue
from .differences import FEW, Differences
from .limited_memory import diagonal_model
from .model import Model
from .point import Point
from .progress import Progress
from .refine import MOST, polish
from .trust_region import Region, Tried

LOST = 8
"""So many steps may fail before the gradient and the model are measured anew."""

DOUBLINGS = 30
"""A step may be doubled so often."""

ANOTHER = 0.5
"""A diagonal that differs from that of a stale model by this, relatively and on average, is another."""

ENOUGH = 0.3
"""The share of the tolerance that a polish may leave of the gradient."""


@dataclass
class Descent:
    """The model, the trust region, and what the secants of a run said about the model."""

    ask: Differences
    epsilon: float
    """The gradient tolerance."""
    rng: np.random.Generator
    model: Model = field(default_factory=lambda: Model(np.zeros((0, 0))))
    region: Region = field(default_factory=Region)
    offs: list[float] = field(default_factory=list)
    """How much each secant contradicted the model."""
    steps: int = 0
    """Steps since the last escape."""
    fine: bool = False
    """Whether noise hides the gradient from forward differences, and all are central."""
    blind: bool = False
    """Whether it hides the gradient from those too, though not from the certificate."""
    progress: Progress = field(default_factory=Progress)

    @property
    def off(self) -> float:
        """How much the last secants contradicted the model."""
        last = self.offs[-3:]
        return sum(last) / len(last) if last else 0.0

    @property
    def settled(self) -> float:
        """The same, or ten times what the last of them did, if that is less."""
        return min(self.off, 10 * self.offs[-1]) if self.offs else 0.0

    def resume(self, p: Point, here: LocalModel, *, noisier: bool) -> None:
        """Go on from a point that was thought the last, with the gradient that was measured there."""
        self.blind = self.fine
        self.fine |= self.ask.blur(p) > self.epsilon / 10
        p.learn(here)
        if noisier:
            p.f = here.f0
            p.sharp = self._check(here.diagonal.value)
        self.region.radius = max(self.region.radius, 0.01)

    def _agrees(self, diagonal: Vector, least: float = 0.0) -> bool:
        """Whether the model agrees with the diagonal that was seen; else a new, convex one takes its place."""
        if not self.model.misses(diagonal, self.ask.curvtol, least):
            return True
        self.model = diagonal_model(np.maximum(np.abs(diagonal), self.ask.curvtol))
        return False

    def _check(self, diagonal: Vector) -> bool:
        """The same, of a model that led nowhere: the next steps are short."""
        right = self._agrees(diagonal)
        self.region.radius = max(self.region.radius, 0.01) if right else 0.01
        return right

    def __call__(self, p: Point) -> Point | None:
        """One step that descends, with its gradient; or p with a sharper gradient if there is none; or None.

        Queries: d + 1 and a few; 2*d for a sharper gradient
        """
        ask, least = self.ask, 4 * epsilon(self.ask.x)
        for poor in count():
            tried = self.region.attempt(ask, p, self.model, DOUBLINGS)
            if tried.f < p.f and tried.promised < 0:
                try:
                    q = self._moved(p, tried)
                except NonFiniteValue:  # f ends here
                    self.region.longest = float(np.linalg.norm(tried.s / p.scale)) / 4
                    continue
                self.region.longest *= 2
                return q
            over = norm2(tried.s) == 0.0 or -tried.promised <= ask.eta(p.f) or self.region.size <= least
            if over or (poor >= LOST and not p.sharp):
                break
        if p.sharp:
            return None
        if ask.d <= FEW:
            self.model, self.region.radius = Model(ask.dense(p)), 0.01
        else:
            ask.measure_noise(p, self.rng, ask.ones)
            self._check(ask.central(p))
        return p

    def _moved(self, p: Point, tried: Tried) -> Point:
        """The point where a step leads, with its gradient."""
        ask, before, s = self.ask, self.model.diagonal, tried.s
        stale = ask.d > FEW and self.progress.stale(self.region.kept, self.steps)
        q = Point(p.y + s, tried.f)
        self.steps += 1
        self.progress.add(p.f, norm2(s))
        if stale or self.fine:
            seen = ask.central(q)
        else:
            ask.forward(q, before)
        self.offs.append(self.model.secant(s, q.g - p.g, ask.blur(q) + ask.blur(p)))
        ask.doubt = min(max(self.off, 0.01), 1.0)
        if stale:
            self._agrees(seen, ANOTHER)
        return q

    def refined(self, p: Point) -> Point | None:
        """A better point than p, where the run is stuck, or creeps, though p is steep; or None.

        Queries: those of `polish`
        """
        if p.fitted or self.ask.d > MOST or p.steepness <= self.epsilon:
            return None
        found, p.fitted = polish(self.ask, p, self.rng, ENOUGH * self.epsilon), True
        if found is None:
            return None
        q, self.model = found
        self.region.radius = max(self.region.radius, 0.1)
        return q

    def creeps(self, p: Point) -> bool:
        """Whether the last steps led far for what they gained: along a valley whose slope is within the tolerance."""
        return self.progress.creeps(p.f, self.epsilon, self.steps)

    def arrived(self, p: Point) -> bool:
        """Whether the gradient is small enough to ask for the certificate, or all noise."""
        return p.steepness <= max(0.5 * self.epsilon, self.ask.blur(p))
