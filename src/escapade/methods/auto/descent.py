"""The descent: steps of the trust region, each with its gradient and its secant."""

from __future__ import annotations

import math
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
from .probe import mend
from .progress import Progress
from .refine import MOST, SHOWN, polish
from .trust_region import LITTLE, Region, Tried

KEPT, EARLY = 0.01, 2
"""A step that keeps less of its promise, one of so many after a start or an escape, is tried shorter."""

PATIENCE = 3
"""So many times a step is tried shorter that way."""

LOST = 8
"""So many steps may fail before the gradient and the model are measured anew."""

FIRST, DOUBLINGS = 3, 30
"""So often a first step may be doubled, on a model that nothing has confirmed yet, and any other."""

POLISH, FARTHER = 3, 30.0
"""Steps that may be spent on a gradient so small that "minimum" can be said, if it is not larger than that by more."""

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
    polished: int = 0
    """Those of them with a gradient within the tolerance."""
    fine: bool = False
    """Whether noise hides the gradient from forward differences, and all are central."""
    blind: bool = False
    """Whether it hides the gradient from those too, though not from the certificate."""
    wary: bool = False
    """Whether a step was thought the last, and was not."""
    progress: Progress = field(default_factory=Progress)
    shrunk: tuple[float, float] = (1.0, 1.0)
    """What the last two steps left of the gradient."""

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
        self.wary |= p.foreseen
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
        spare: Tried | None = None
        for poor in count():
            tried = self.region.attempt(ask, p, self.model, DOUBLINGS if self.steps else FIRST)
            length, rise, eta = norm2(tried.s), tried.f - p.f, ask.eta(p.f)
            if self.region.kept[-1] <= LITTLE and ask.noisier(p, self.rng, self.model.diagonal):
                ask.forward(p, self.model.diagonal)
                return p
            if length > 0 and rise >= 0 and SHOWN * eta < (bend := 2 * (rise - float(p.g @ tried.s))) < math.inf:
                self.model.along(tried.s / length, bend / length**2)
            enough = p.f if spare is None else p.f + 0.5 * (spare.f - p.f)  # of steps that gain alike, the shortest
            if tried.f < enough and tried.promised < 0:
                spare = tried
            over = length == 0.0 or -tried.promised <= eta or self.region.size <= least
            if spare is None and (over or (poor >= LOST and not p.sharp)):
                break
            kept = KEPT if self.steps < EARLY else 0.0
            if spare is not None and (over or poor >= PATIENCE or spare.f - p.f <= kept * spare.promised):
                try:
                    q = self._moved(p, spare)
                except NonFiniteValue:  # f ends here
                    self.region.longest, spare = float(np.linalg.norm(spare.s / p.scale)) / 4, None
                    continue
                self.region.longest *= 2
                return q
        if p.sharp:
            return None
        if ask.d <= FEW:
            self.model, self.region.radius = Model(ask.dense(p)), 0.01
        else:
            ask.measure_noise(p, self.rng, ask.ones)
            self._check(ask.central(p))
        return p

    def _moved(self, p: Point, tried: Tried) -> Point:
        """The point where a step leads, with its gradient, unless that can wait for the certificate."""
        ask, size = self.ask, p.steepness
        last, before = self._foreseen(p, max(self.shrunk) * size), self.model.diagonal
        stale = not last and ask.d > FEW and self.progress.stale(self.region.kept, self.steps)
        q, s = None, tried.longer
        if s is not None:
            q = self._lower(Point(p.y + s, tried.f), before, alone=last or stale or self.fine)
        if s is None or q is None:
            s, q = tried.s, Point(p.y + tried.s, tried.f)
        self.steps += 1
        self.progress.add(p.f, norm2(s))
        if last:
            q.g, q.h, q.rise, q.loose = p.g + self.model.B @ s, p.h, p.rise, p.loose
            q.foreseen, self.shrunk = True, (1.0, 1.0)
            return q
        seen = ask.central(q) if stale or self.fine else before
        if not q.known:
            ask.forward(q, before)
        self.shrunk = (self.shrunk[1], q.steepness / size)
        self.offs.append(self.model.secant(s, q.g - p.g, ask.blur(q) + ask.blur(p)))
        ask.doubt = min(max(self.off, 0.01), 1.0)
        q.recentred(before, self.model.diagonal)
        if stale:
            self._agrees(seen, ANOTHER)
        return q

    def _lower(self, q: Point, diagonal: Vector, *, alone: bool) -> Point | None:
        """q, if f is lower there than it was given; with its gradient, unless the value alone will do.

        Queries: d + 1, or 1
        """
        given = q.f
        try:
            if alone:
                q.f = self.ask.value(q.y)
            else:
                self.ask.forward(q, diagonal, guessed=True)
        except NonFiniteValue:  # f ends on the way there
            return None
        return q if q.f < given else None

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
        """Whether the gradient is small enough to ask for the certificate, or all noise; a few steps more are taken if
        that is easy to improve on."""
        if p.foreseen:
            return True
        size, blur = p.steepness, self.ask.blur(p)
        if size > 0.5 * self.epsilon or size <= blur:
            return size <= blur
        close = self._close(p)
        if size <= close or self.polished > POLISH:
            return True
        self.polished += 1
        return size > FARTHER * close

    def _foreseen(self, p: Point, size: float) -> bool:
        """Whether a step from p that leaves a gradient of this size is the last."""
        if self.wary or size > 0.6 * self.epsilon:
            return False
        if size > self._aim(p):
            mend(self.ask, self.model, p)
        return size <= self._aim(p)

    def _aim(self, p: Point) -> float:
        """The gradient that a last step should lead to."""
        close = self._close(p, 0.7)
        return close if 0.5 * self.epsilon <= FARTHER * close else 0.7 * self.epsilon

    def _close(self, p: Point, share: float = 0.5) -> float:
        """A gradient with which "minimum" can be said without a Newton step, the minimiser being nearer than the steps
        of the differences; half the tolerance where the valley is too flat for that."""
        low, flat = self.model.lowest()[0], 2 * self.ask.curvtol
        if low <= flat and self.off < 0.1:
            return share * self.epsilon
        close = 0.12 * max(low, flat) * float(np.min(self.ask.long(p)))
        return min(max(close, 2 * self.ask.blur(p)), share * self.epsilon)
