"""The step part: the trust-region step, accepted by the decrease it brings, doubled while doubling pays."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..._array import Vector, norm2
from .differences import Differences
from .line_search import parabola
from .model import Model
from .point import Point

LENGTHEN = 4.0
"""A step inside the region is made this much longer, at most."""

LITTLE = 0.1
"""A step that keeps less of its promise is poor, and the next is shorter."""

WORTH = 0.5
"""A step is tried at its best length if the square of the change is this much, beside the cost of a gradient."""


@dataclass
class Tried:
    """A step that was tried: where it led, the value there, and what the model had promised."""

    s: Vector
    f: float
    promised: float


@dataclass
class Region:
    """The trust region."""

    radius: float = 1.0
    longest: float = math.inf
    """No step is longer: beyond, f was not finite. The limit is relaxed by every step that is taken."""
    kept: list[float] = field(default_factory=list)
    """How much of what was promised each step gained."""

    @property
    def size(self) -> float:
        """How long a step may be."""
        return min(self.radius, self.longest)

    def attempt(self, ask: Differences, p: Point, model: Model, doublings: int) -> Tried:
        """One step of the model, and its doublings while each gains at least half as much again.

        Queries: 1, and 1 for each doubling tried
        """
        self.radius = min(self.radius, self.longest)
        units = model.units
        scale = p.scale if units is None else units * float(np.median(p.scale / units))
        s = model.step(p.g, self.radius, scale)
        s = ask.host(p.y + s) - p.y
        tried = Tried(s, ask.value(p.y + s), model.change(p.g, s))
        length = norm2(s / scale)
        edge = length > 0.9 * self.radius
        if edge and tried.f - p.f <= 0.7 * tried.promised < 0:
            tried = self._doubled(ask, p, tried, doublings)
            length = norm2(tried.s / scale)
        self._resize(tried, p, length, edge)
        model.misled += model.inverse is None and not self.kept[-1] > LITTLE
        poor = not tried.f - p.f <= 0.25 * tried.promised
        return self._adjusted(ask, p, tried) if poor or not edge else tried

    def _adjusted(self, ask: Differences, p: Point, tried: Tried) -> Tried:
        """The step as long as the parabola through both values and the slope would have it, if that is another length.

        With exact lengths the steps of a quasi-Newton method are those of conjugate gradients, as few as there can be
        where the model knows little; a value is cheap beside a gradient, the more so in many dimensions.
        """
        slope = float(p.g @ tried.s)
        bend = 2 * (tried.f - p.f - slope)
        if not (slope < 0 < bend < math.inf):
            return tried
        t = min(-slope / bend, LENGTHEN)
        if (t - 1) ** 2 * (ask.d + 1) < WORTH or (t - 1) ** 2 * bend < 4 * ask.eta(p.f):
            return tried
        s = ask.host(p.y + t * tried.s) - p.y
        value = ask.value(p.y + s)
        if not value < tried.f:
            return tried
        return Tried(s, value, tried.promised)

    def _doubled(self, ask: Differences, p: Point, tried: Tried, doublings: int) -> Tried:
        """Doublings, and then the bottom of the parabola through the last three values."""
        shorter = p.f
        for _ in range(doublings):
            s = ask.host(p.y + 2 * tried.s) - p.y
            if norm2(s / p.scale) > self.longest:
                return tried
            further = ask.value(p.y + s)
            if not further - p.f <= 1.5 * (tried.f - p.f):
                break
            shorter, tried = tried.f, Tried(s, further, 2 * tried.promised)
        else:
            return tried
        if not math.isfinite(further):
            return tried
        near = (0.5, shorter) if shorter != p.f else (0.0, p.f)
        t, foreseen, _ = parabola(near, (1.0, tried.f), (2.0, further))
        if not near[0] < t < 2.0 or tried.f - foreseen < 0.05 * (p.f - tried.f):
            return tried
        s = ask.host(p.y + t * tried.s) - p.y
        value = ask.value(p.y + s)
        return Tried(s, value, t * tried.promised) if value < tried.f else tried

    def _resize(self, tried: Tried, p: Point, length: float, edge: bool) -> None:
        kept = (tried.f - p.f) / tried.promised if tried.promised < 0 else -1.0
        self.kept.append(kept)
        if not kept > LITTLE:
            self.radius = min(self.radius, length) / 4
        elif kept > 0.7 and edge:
            self.radius = max(self.radius, 2 * length)
        elif kept < 0.3:
            self.radius = length / 2
