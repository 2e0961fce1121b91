"""`prefer="rounds"`: Newton's method with everything asked at once, for people with many workers.

A round asks for a handful of steps of several lengths and, in the belief that the model's own is best, for all first
and second differences there. Where that belief is right, which near a minimum it is, an iteration is one round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._array import Vector, to_numpy
from ...curvature import Evidence
from ...errors import NonFiniteValue
from ...oracle import Stencil, central, pairs, point, points
from ...stopping import Ending, Stop
from ...trace import Iterate, Move
from ..base import Iterates
from .certify import CertificateSearch, learn_products
from .differences import Differences, assembled
from .limited_memory import diagonal_model
from .model import Model
from .point import Point

WIDE = 300
"""Up to this dimension a round asks for all second differences; beyond, for the gradient, and SR1 keeps the model."""

RADII = (1.0, 0.25, 4.0, 0.0625, 16.0)
"""The trust regions tried at once, the first of them the one believed in."""

LENGTHS = tuple(4.0**k for k in range(-6, 3))
"""Steps along a direction of negative curvature, on both sides, in units of the scale of x."""

POLISH = 2
"""Steps that may be spent on a gradient that is within the tolerance already."""

TRIES = 8
"""Certificates that may be asked for."""


@dataclass
class Abreast:
    """The state of one run."""

    ask: Differences
    epsilon: float
    examiner: CertificateSearch
    bottom: float
    radius: float = 1.0
    polished: int = 0

    def go(self, p: Point) -> Iterates:
        """From the start to an ending."""
        model = self._look(p, diagonal_model(np.ones(self.ask.d)))
        stuck = False
        while True:
            low, v = model.lowest()
            if stuck or self._arrived(p, low):
                here = self.examiner.measure(p)
                finding, products = self.examiner.search(here, model, 0.0, trusted=True)
                model = learn_products(model, products)
                if finding.direction is None or self.examiner.attempts >= TRIES:
                    return Ending.of(finding, Evidence(local=here, newton=model.newton))
                low, v, stuck = -math.inf, to_numpy(finding.direction).astype(np.float64), False
            q, known = self._round(p, model, v if low <= -0.5 * self.ask.curvtol else None)
            if q is None:
                self.radius /= 64
                stuck = self.radius < 1e-10
                continue
            if q.f < self.bottom:
                yield Iterate(self.ask.array(q.y), Move.DESCENT, q.f)
                return Ending(Stop.UNBOUNDED)
            moved = Move.ESCAPE if low <= -0.5 * self.ask.curvtol else Move.DESCENT
            model = known or self._look(q, model, p)
            p = q
            yield Iterate(self.ask.array(p.y), moved, p.f, p.steepness)

    def _arrived(self, p: Point, low: float) -> bool:
        """Whether the gradient is small, the model curves up, and Newton's method has had its last word."""
        size = p.steepness
        if low <= -0.5 * self.ask.curvtol or size > max(0.5 * self.epsilon, self.ask.blur(p)):
            return False
        self.polished += 1
        return self.polished > POLISH or size <= 0.1 * max(low, 0.0) * float(np.min(self.ask.long(p)))

    # One round

    def _round(self, p: Point, model: Model, v: Vector | None) -> tuple[Point | None, Model | None]:
        """The best of several steps, or None; and the model there, if it is the one believed in.

        Queries: 5, 18 more where the model curves down, and those of `_look`
        """
        ask = self.ask
        steps = [model.step(p.g, self.radius * r, p.scale) for r in RADII]
        if v is not None:
            reach = float(np.linalg.norm(p.scale * v))
            steps += [sign * t * reach * v for t in LENGTHS for sign in (1.0, -1.0)]
        places = [ask.host(p.y + s) for s in steps]
        believed = Point(places[0], p.f)
        rest = points(ask.array(np.stack(places[1:])))
        try:
            stencil, read = self._stencil(believed)
            values = ask.f.tagged("line search")(rest + stencil)
            believed.f = float(values[rest.size])
            trials, known = [believed.f, *map(float, values[: rest.size])], read(values[rest.size :], model, p)
        except NonFiniteValue:  # f ends somewhere here: one by one
            trials, known = [ask.value(y) for y in places], None
        best = int(np.argmin(trials))
        length = float(np.linalg.norm((places[best] - p.y) / p.scale))
        if not trials[best] < p.f or length == 0.0:  # noise alone is lower where x cannot move
            return None, None
        if best or length > 0.9 * self.radius:
            self.radius = 2 * length
        return (believed, known) if best == 0 else (Point(places[best], trials[best]), None)

    def _look(self, p: Point, model: Model, before: Point | None = None) -> Model:
        """The gradient and the model at p.

        Queries: 1 + 2*d + d*(d - 1)/2, or 1 + 2*d beyond 300 variables
        """
        stencil, read = self._stencil(p)
        return read(self.ask.f.tagged("descent")(stencil), model, before)

    def _stencil(self, p: Point) -> tuple[Stencil, Callable[[Vector, Model, Point | None], Model]]:
        """The differences around p, and how to read their values."""
        ask, d = self.ask, self.ask.d
        x, h = ask.array(p.y), ask.long(p)
        stencil = point(x) + central(x, ask.array(h))
        if d <= WIDE:
            stencil = stencil + pairs(x, ask.array(h), 1.0)

        def read(values: Vector, model: Model, before: Point | None) -> Model:
            p.f, plus, minus = float(values[0]), values[1 : d + 1], values[d + 1 : 2 * d + 1]
            p.h, p.g, p.sharp = h, (plus - minus) / (2 * h), True
            diagonal = (plus + minus - 2 * p.f) / h**2
            if d <= WIDE:
                return Model(assembled(values[2 * d + 1 :], plus, p.f, diagonal, h))
            if before is None:
                return diagonal_model(diagonal)
            model.secant(p.y - before.y, p.g - before.g, ask.blur(p) + ask.blur(before))
            return model

        return stencil, read
