"""`method="auto"`: a trust region on an SR1 model, and a curvature finder wherever the gradient is small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..._array import Array, Vector, norm2, to_numpy
from ...certificate import rules
from ...curvature import Evidence
from ...derivatives.measure import LocalModel
from ...oracle import Oracle
from ...stopping import Ending, Stop
from ...trace import Iterate, Move
from ..base import Iterates
from .batched import Abreast
from .certify import CertificateSearch, learn_products
from .descent import Descent
from .differences import FEW, Differences
from .limited_memory import diagonal_model
from .line_search import Line, leave
from .model import Model
from .point import Point
from .poll import poll
from .probe import AGREED, probe
from .quadratic import lowest_scaled

NEAR = 1e-3
"""A Newton step that would gain less than this share of what was gained since the last look at curvature can wait."""

LATE = 2
"""So many steps after an escape the secants have tried the model enough, unless the run has come a long way since."""

PROBES = (12, 1)
"""Products that may be spent on a model that keeps being contradicted: at the start, and later."""

RESTARTS = 3
"""Times a run goes on after a certificate was asked for too early."""

FUTILE = 4
"""Directions that may lead nowhere before a run gives up."""

VAST = 1e25
"""A function that falls below minus this many times its value at the start has no bottom."""

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
    noise: float | str | None = None
    """None (rounding), "auto", or the standard deviation of the error of f."""
    prefer: Literal["queries", "rounds"] = "queries"
    """What to save: queries, one after the other, or rounds, with as many queries at once as may help."""

    name: ClassVar[str] = "auto"
    certifies: ClassVar[bool] = True

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        ask = Differences(f, x, self.delta)
        examiner = CertificateSearch(ask, self.epsilon, self.failure, self.noise, rng)
        p = self._start(ask, to_numpy(x).astype(np.float64), rng)
        bottom = -VAST * (1 + abs(p.f))
        if self.prefer == "rounds":
            return (yield from Abreast(ask, self.epsilon, examiner, bottom).go(p))
        return (yield from _Run(self, ask, rng, Descent(ask, self.epsilon, rng), examiner, bottom).go(p))

    def _start(self, ask: Differences, y: Vector, rng: np.random.Generator) -> Point:
        p = Point(y, ask.f.tagged("descent").value(ask.array(y)))
        if self.noise == "auto":
            ask.measure_noise(p, rng, np.ones(ask.d))
        elif self.noise is not None:
            ask.level = float(self.noise)
        return p


@dataclass
class _Run:
    """The state of one run."""

    settings: Auto
    ask: Differences
    rng: np.random.Generator
    descent: Descent
    examiner: CertificateSearch
    bottom: float
    length: float = 0.0
    """How far the last escape went."""
    axis: int = -1
    """The coordinate it went along, where it was one."""
    mark: float = math.inf
    """The value where curvature was last looked at; before that, infinity."""
    drop: float = 0.0
    """The most that was gained between two such looks."""
    landed: float = -math.inf
    """The value where the last escape, or the last probe, left the run."""
    suspect: bool = True
    """Whether the model has not been tried since the last escape."""
    escapes: int = 0
    restarts: int = 0
    futile: int = 0

    def go(self, p: Point) -> Iterates:
        """From the start to an ending."""
        ask, descent, stuck = self.ask, self.descent, False
        v = self._first_look(p)
        while True:
            if v is not None:
                line = self._leave(p, v)
                p = Point(ask.host(p.y + line.t * v), line.f)
                if self.futile > FUTILE:
                    return Ending(Stop.UNDECIDED)
                yield Iterate(ask.array(p.y), Move.ESCAPE, p.f)
                if line.bottomless:
                    return Ending(Stop.UNBOUNDED)
                v = self._look_around(p, descent.model.diagonal)
                continue
            if self._worth_a_probe(p):
                v = self._probe(p)
            if v is None and (stuck or descent.creeps(p)) and (q := descent.refined(p)) is not None:
                p, stuck = q, False
                yield Iterate(ask.array(p.y), Move.DESCENT, p.f, p.steepness)
                continue
            if v is None and (stuck or descent.arrived(p)):
                ending, v = self._certify(p)
                stuck = v is None and descent.blind
                if ending is not None:
                    return ending
            elif v is None:
                q = descent(p)
                stuck, p = q is None, q or p
                if p.f < self.bottom:
                    return Ending(Stop.UNBOUNDED)
                if not stuck:
                    yield Iterate(ask.array(p.y), Move.DESCENT, p.f, p.steepness)

    # Escape

    def _leave(self, p: Point, v: Vector) -> Line:
        """Go along v or -v, whichever does not rise, or the first time leads lower, to the bottom of the valley."""
        if p.known and float(p.g @ v) > 0:
            v *= -1
        guess = self.length or 0.5 * float(np.linalg.norm(p.scale * v))
        line = leave(self.ask, p, v, guess, self.settings.epsilon, compare=self.escapes == 0)
        self.futile += line.t == 0.0
        self.escapes += 1
        self.length, self.mark, self.landed, self.suspect = line.t, p.f, line.f, True
        self.drop = max(self.drop, p.f - line.f)
        self.descent.steps = 0
        self.descent.model.along(v, line.curvature)
        return line

    def _first_look(self, p: Point) -> Vector | None:
        """The start: all second differences where these are few; else a poll."""
        ask, descent = self.ask, self.descent
        if ask.d > FEW:
            return self._look_around(p, None)
        descent.model = Model(ask.dense(p))
        low, v = lowest_scaled(descent.model.B)
        if p.steepness > self.settings.epsilon or low >= 0:
            return None
        return v if ask.curvature(p, v, norm2(p.h * v))[0] <= -0.5 * ask.curvtol else None

    def _look_around(self, p: Point, diagonal: Vector | None) -> Vector | None:
        """Poll the coordinates of a point that may be stationary; the first that curves down, if one does."""
        descent, gtol = self.descent, self.settings.epsilon
        seen = poll(self.ask, p, diagonal, self.axis + 1, gtol)
        if diagonal is None:
            descent.model = diagonal_model(seen.diagonal)
        self.axis = seen.axis
        if seen.axis >= 0:
            way: Vector = np.eye(1, self.ask.d, seen.axis)[0]
            return way
        if seen.stationary and seen.off <= AGREED:  # the model has been tried
            self.suspect, self.mark = False, min(self.mark, p.f)
        descent.region.radius = max(descent.region.radius, 0.1)
        return None

    # Curvature

    def _worth_a_probe(self, p: Point) -> bool:
        """Whether little is left to gain by descent, beside what was gained since curvature was last looked at."""
        if self.escapes == 1:  # most runs leave one saddle: the certificate will see whether this is another
            return False
        if self.descent.steps > LATE and self.landed - p.f < 0.5 * self.drop:
            return False
        if p.steepness <= self.settings.epsilon:
            return self.suspect
        fall = self.mark - p.f
        return math.isfinite(fall) and fall >= 1e-3 * self.drop and self.descent.model.gain(p.g) <= NEAR * fall

    def _probe(self, p: Point) -> Vector | None:
        first = not math.isfinite(self.mark)
        self.drop = 0.0 if first else max(self.drop, self.mark - p.f)
        self.suspect, self.mark, self.landed = False, p.f, p.f
        return probe(self.ask, self.descent.model, p, self.rng, min(self.ask.d, PROBES[0 if first else 1]))

    def _certify(self, p: Point) -> tuple[Ending | None, Vector | None]:
        """Ask for the certificate of p: an ending, or a direction, or neither if p is not the place for one yet."""
        trusted = not self.suspect and self.descent.off < AGREED
        here = self.examiner.measure(p)
        if self._too_early(p, here):
            return None, None
        if here.gradient_norm.lower > self.settings.epsilon:  # a few products may show a way on
            p.learn(here)
            v = probe(self.ask, self.descent.model, p, self.rng, min(self.ask.d, PROBES[0]))
            return (Ending.of(rules.undecided(STEEP), Evidence(local=here)) if v is None else None), v
        model = self.descent.model
        finding, products = self.examiner.search(here, model, self.descent.settled, trusted=trusted)
        self.descent.model = learn_products(model, products)
        if finding.direction is None:
            return Ending.of(finding, Evidence(local=here, newton=model.newton)), None
        return None, to_numpy(finding.direction).astype(np.float64)

    def _too_early(self, p: Point, here: LocalModel) -> bool:
        """Whether the gradient is not small after all, or the noise larger than was thought.

        Then the run goes on from what was learnt, a few times at most. A polished point knows its noise.
        """
        g, error, epsilon = here.gradient.value, here.gradient.error, self.settings.epsilon
        size = norm2(g)
        noisier = not p.fitted and self.ask.hears(here.noise, p.f) and size + error > epsilon
        large = size - error > epsilon or (size + error > epsilon and size > 2 * error)
        if self.restarts >= RESTARTS or not (noisier or large):
            return False
        self.restarts += 1
        self.descent.resume(p, here, noisier=noisier)
        return True
