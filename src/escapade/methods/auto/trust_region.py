"""The trust region: steps of the model, accepted by the decrease they bring, doubled while doubling pays."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..._array import Vector, norm2
from .differences import Differences
from .line_search import parabola
from .model import Model
from .point import Point
from .settings import TRUST_REGION


@dataclass(frozen=True)
class Step:
    """A step that was tried: where it led, the value there, and the change that the model predicted."""

    s: Vector
    f: float
    predicted: float


@dataclass
class TrustRegion:
    """The radius, and how well the model predicted the steps so far."""

    radius: float = TRUST_REGION.radius
    longest: float = math.inf
    """No step is longer: beyond, f was not finite. Every step that is taken doubles it."""
    ratios: list[float] = field(default_factory=list)
    """Actual over predicted decrease of each step."""

    @property
    def size(self) -> float:
        """How long a step may be."""
        return min(self.radius, self.longest)

    def at_least(self, radius: float) -> None:
        """Widen the region to this radius, if it is smaller."""
        self.radius = max(self.radius, radius)

    def attempt(self, differences: Differences, p: Point, model: Model) -> Step:
        """One step of the model, doubled while each doubling gains at least half as much again, or adjusted.

        Queries: 1, 1 for each doubling tried, 1 to adjust the length
        """
        self.radius = self.size
        scale = model.scaled(p.scale)
        s = differences.model_step(model, p, self.radius, scale)
        s = differences.host(p.y + s) - p.y
        step = Step(s, differences.value(p.y + s), model.change(p.g, s))
        length = norm2(s / scale)
        edge = length > TRUST_REGION.edge * self.radius
        if edge and step.f - p.f <= TRUST_REGION.good * step.predicted < 0:
            step = self._doubled(differences, p, step)
            length = norm2(step.s / scale)
        self._resize(step, p, length, edge=edge)
        model.note_step(good=self.ratios[-1] > TRUST_REGION.poor)
        poor = not step.f - p.f <= TRUST_REGION.fair * step.predicted
        return _adjusted(differences, p, step) if poor or not edge else step

    def _doubled(self, differences: Differences, p: Point, step: Step) -> Step:
        """Doublings, and then the lowest point of the parabola through the last three values."""
        shorter = p.f
        for _ in range(TRUST_REGION.doublings):
            s = differences.host(p.y + 2 * step.s) - p.y
            if norm2(s / p.scale) > self.longest:
                return step
            further = differences.value(p.y + s)
            if not further - p.f <= TRUST_REGION.doubling_gain * (step.f - p.f):
                break
            shorter, step = step.f, Step(s, further, 2 * step.predicted)
        else:
            return step
        if not math.isfinite(further):
            return step
        near = (0.5, shorter) if shorter != p.f else (0.0, p.f)
        t, lowest, _ = parabola(near, (1.0, step.f), (2.0, further))
        if not near[0] < t < 2.0 or step.f - lowest < TRUST_REGION.parabola_gain * (p.f - step.f):
            return step
        return _better(differences, p, step, t, t * step.predicted)

    def _resize(self, step: Step, p: Point, length: float, *, edge: bool) -> None:
        ratio = (step.f - p.f) / step.predicted if step.predicted < 0 else -1.0
        self.ratios.append(ratio)
        if not ratio > TRUST_REGION.poor:
            tried = min(self.radius, length) if length > 0 else self.radius  # 0 if it was lost in rounding
            self.radius = tried / 4
        elif ratio > TRUST_REGION.good and edge:
            self.radius = max(self.radius, 2 * length)
        elif ratio < TRUST_REGION.modest:
            self.radius = length / 2


def _adjusted(differences: Differences, p: Point, step: Step) -> Step:
    """The step as long as the parabola through both values and the slope would have it, if that is another length.

    With exact lengths the steps of a quasi-Newton method are those of conjugate gradients, as few as there can be where
    the model knows little; a value is cheap beside a gradient, the more so in many dimensions.
    """
    slope = float(p.g @ step.s)
    second = 2 * (step.f - p.f - slope)
    if not (slope < 0 < second < math.inf):
        return step
    t = min(-slope / second, TRUST_REGION.lengthen)
    visible = (t - 1) ** 2 * second >= 4 * differences.value_error(p.f)
    if not visible or (t - 1) ** 2 * differences.price < TRUST_REGION.worth:
        return step
    return _better(differences, p, step, t, step.predicted)


def _better(differences: Differences, p: Point, step: Step, t: float, predicted: float) -> Step:
    """The step t times as long, if f is lower there, and that is another point than p.

    Queries: 1
    """
    s = differences.host(p.y + t * step.s) - p.y
    if not s.any():
        return step
    value = differences.value(p.y + s)
    return Step(s, value, predicted) if value < step.f else step
