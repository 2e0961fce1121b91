"""`prefer="rounds"`: Newton's method with everything asked at once, for people with many workers.

A round asks for a handful of steps of several lengths and, in the belief that the model's own is best, for all first
and second differences there. Where that belief is right, which near a minimum it is, an iteration is one round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..._array import Vector, to_numpy
from ...curvature import Evidence
from ...curvature.settings import PRICE
from ...derivatives.settings import STEPS
from ...errors import MissingValue, NonFiniteValue
from ...oracle import Stencil, central, pairs, point, points
from ...stopping import Ending, Stop
from ...trace import Iterate, Move
from ..base import Iterates
from .certify import CertificateSearch, update_with_products
from .dense import DenseMatrix
from .differences import Differences, hessian_of, with_central
from .limited_memory import diagonal_model
from .model import Model
from .point import Point
from .settings import BATCHED, LINE_SEARCH, TRUST_REGION

Reader = Callable[[Vector, Model, Point | None], tuple[Point, Model]]


@dataclass
class BatchedNewton:
    """One run."""

    differences: Differences
    certificates: CertificateSearch
    least: float
    """A function that falls below this has no bottom."""
    radius: float = 1.0
    extra_steps: int = 0
    """Steps spent on a gradient within the tolerance."""

    def run(self, p: Point) -> Iterates:
        """From the start to an ending."""
        p, model = self._measured(p, diagonal_model(self.differences.ones))
        threshold = -0.5 * self.differences.curvtol
        stuck = False
        while True:
            low, v = model.lowest()
            if stuck or self._arrived(p, low):
                yield Iterate(self.differences.array(p.y), fun=p.f, arrived=True)
                if not self.certificates.wanted:
                    return Ending(Stop.UNCERTIFIED)
                local = self.certificates.measure(p)
                finding, products = self.certificates.search(local, model, 0.0, trusted=True)
                model = update_with_products(model, products)
                if finding.direction is None or self.certificates.attempts >= BATCHED.certificates:
                    return Ending.of(finding, Evidence(local=local, newton=model.newton))
                low, v, stuck = -math.inf, to_numpy(finding.direction).astype(np.float64), False
            q, known = self._round(p, model, v if low <= threshold else None)
            if q is None:
                self.radius /= STEPS.lost
                stuck = self.radius < 1 / LINE_SEARCH.far
                continue
            if q.f < self.least:
                yield Iterate(self.differences.array(q.y), Move.DESCENT, q.f)
                return Ending(Stop.UNBOUNDED)
            moved = Move.ESCAPE if low <= threshold else Move.DESCENT
            if known is None:
                q, known = self._measured(q, model, p)
            p, model = q, known
            yield Iterate(self.differences.array(p.y), moved, p.f, p.steepness)

    def _arrived(self, p: Point, low: float) -> bool:
        """Whether the gradient is small, the model curves up, and no further step is worth it."""
        size, differences = p.steepness, self.differences
        if low <= -0.5 * differences.curvtol or size > max(0.5 * self.differences.gtol, differences.gradient_error(p)):
            return False
        self.extra_steps += 1
        near = size <= BATCHED.near * max(low, 0.0) * float(np.min(differences.second_steps(p)))
        return near or self.extra_steps > BATCHED.extra_steps

    def _round(self, p: Point, model: Model, v: Vector | None) -> tuple[Point | None, Model | None]:
        """The best of several steps, or None; and the model there, if it is the one believed in.

        Queries: 5, 18 more where the model curves down, and those of `_measured`
        """
        differences = self.differences
        steps = [model.step(p.g, self.radius * r, p.scale) for r in BATCHED.radii]
        if v is not None:
            reach = float(np.linalg.norm(p.scale * v))
            steps += [sign * t * reach * v for t in BATCHED.lengths for sign in (1.0, -1.0)]
        places = [differences.host(p.y + s) for s in steps]
        believed = Point(places[0], p.f)
        rest = points(differences.array(np.stack(places[1:])))
        known: Model | None = None
        try:
            stencil, read = self._stencil(believed, rest.size)
            values = differences.f.tagged("line search")(rest + stencil)
            trials = [float(values[rest.size]), *map(float, values[: rest.size])]
            if trials[0] <= min(trials[1:]):
                believed, known = read(values[rest.size :], model, p)
        except NonFiniteValue:  # f ends somewhere here: one by one
            trials = [differences.value(y) for y in places]
        best = int(np.argmin(trials))
        length = float(np.linalg.norm((places[best] - p.y) / p.scale))
        if not trials[best] < p.f or length == 0.0:  # noise alone is lower where x cannot move
            return None, None
        if best or length > TRUST_REGION.edge * self.radius:
            self.radius = 2 * length
        return (believed, known) if best == 0 and known is not None else (Point(places[best], trials[best]), None)

    def _measured(self, p: Point, model: Model, before: Point | None = None) -> tuple[Point, Model]:
        """The point with its gradient, and the model there.

        Queries: 1 + 2*d + d*(d - 1)/2, or 1 + 2*d beyond 300 variables or where the budget has no room for more; as
        many again where a value is missing
        """
        stencil, read = self._stencil(p, 0)
        differences = self.differences
        try:
            return read(differences.f.tagged("descent")(stencil), model, before)
        except MissingValue as lost:  # here and there, perhaps: those again
            if np.isnan(lost.values[0]):
                raise
            p = replace(p, f=float(lost.values[0]))
        if stencil.size > 2 * differences.d + 1:
            q, B = differences.dense(p)
            return q, Model(DenseMatrix(B))
        q, diagonal = differences.central(p)
        return q, diagonal_model(diagonal) if before is None else model

    def _stencil(self, p: Point, more: int) -> tuple[Stencil, Reader]:
        """The differences around p, and how to read their values; `more` queries are asked with them."""
        differences, d = self.differences, self.differences.d
        x, h = differences.array(p.y), differences.second_steps(p)
        stencil = point(x) + central(x, differences.array(h))
        price = more + stencil.size + d * (d - 1) // 2
        dense = d <= PRICE.large and price <= differences.f.remaining
        if dense:
            stencil = stencil + pairs(x, differences.array(h), 1.0)

        def read(values: Vector, model: Model, before: Point | None) -> tuple[Point, Model]:
            plus, minus = values[1 : d + 1], values[d + 1 : 2 * d + 1]
            q, diagonal = with_central(replace(p, f=float(values[0])), h, plus, minus)
            if dense:
                return q, Model(DenseMatrix(hessian_of(values[2 * d + 1 :], plus, q.f, diagonal, h)))
            if before is None:
                return q, diagonal_model(diagonal)
            error = differences.gradient_error(q) + differences.gradient_error(before)
            model.secant(q.y - before.y, q.g - before.g, error)
            return q, model

        return stencil, read
