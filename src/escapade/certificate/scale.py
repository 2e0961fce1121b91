"""Whether a claim holds at the scale of the user's variables, and not only on the difference steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import Vector
from ..derivatives.by_gradients import GradientModel
from ..derivatives.jumps import across
from ..derivatives.ladder import Kind, Ladder, climb
from ..derivatives.measure import LocalModel
from ..derivatives.noise import Noise
from ..derivatives.settings import LADDER, SLOPES
from .settings import RULES

KINKED = "f has a kink within the scale of its variables, and falls across it: it is no minimum there"
JUMPING = "the slope of f jumps at x or near it"
ROUGH_BELOW = "f is rough below"
ROUGH = ROUGH_BELOW + (
    " a length of {length:.2g}, by {amplitude:.2g}: what was asked for holds there, and not above "
    "({verdict} on longer steps)"
)


def look(
    local: LocalModel, lengths: Vector, *, gtol: float, curvtol: float, rng: np.random.Generator
) -> Ladder:
    """The ladder at a point that was measured, where variables matter over these lengths in y = x / unit; where it is
    smooth, a look for jumps across the longest of its lengths too.

    Queries: 36; 24 more where that is smooth, and 14 or 28 more where f seems to jump
    """
    f, x, unit = local.f, local.x, local.unit
    tolerances: Any = {"gtol": gtol, "curvtol": curvtol, "rng": rng}
    ladder = climb(f, x, unit, lengths, local.f0, local.noise, **tolerances)
    if ladder.kind is not Kind.SMOOTH:
        return ladder
    jumps = across(f, x, unit, lengths, local.noise, **tolerances)
    return ladder if jumps.size == 0.0 else replace(
        ladder, kind=Kind.ROUGH, amplitude=jumps.size, length=jumps.spacing
    )


def kinked(local: LocalModel, lengths: Vector, *, gtol: float, curvtol: float, rng: np.random.Generator) -> bool:
    """Whether the ladder shows a kink.

    Queries: 36
    """
    tolerances: Any = {"gtol": gtol, "curvtol": curvtol, "rng": rng}
    return climb(local.f, local.x, local.unit, lengths, local.f0, local.noise, **tolerances).kind is Kind.KINK


def roughness(ladder: Ladder) -> Noise:
    """Structure of f below a length, as a bound on what it does to a value: its amplitude is an rms over few lines."""
    return Noise(RULES.roughness * ladder.amplitude, "roughness")


@dataclass(frozen=True)
class Lengths:
    """The interval of lengths over which f was seen to follow what is claimed, in y = x / unit."""

    shortest: float
    """Nothing is claimed below it."""
    longest: float
    """f was not looked at beyond it."""

    def __str__(self) -> str:
        return f"[{self.shortest:.2g}, {self.longest:.2g}]"


def steps_of(local: LocalModel) -> Lengths:
    """From the shortest step to the longest, along a diagonal."""
    if isinstance(local, GradientModel):
        return Lengths(local.step, SLOPES.far * local.step)
    return Lengths(float(np.min(local.steps)), float(np.max(local.steps)) * math.sqrt(local.d))


def lengths_of(local: LocalModel, ladder: Ladder) -> Lengths:
    """From the shortest step to where one parabola no longer describes f, or the longest step if that is more."""
    steps, seen = steps_of(local), ladder.smooth_up_to if ladder.kind is Kind.SMOOTH else 0.0
    return replace(steps, longest=max(steps.longest, seen))


def falls_across(local: LocalModel, lengths: Vector, ladder: Ladder) -> bool:
    """Whether f falls by more than its structure explains, along the gradient seen at the scale where a parabola rises
    above that structure, on both sides of each variable, or on the ladder.

    Queries: 2*d + 6
    """
    amplitude = ladder.amplitude
    top = LADDER.longest
    length = 3 * math.sqrt(amplitude / max(ladder.curvature, 1e-300))
    w = lengths / float(np.linalg.norm(lengths)) * math.sqrt(local.d)
    t = float(np.clip(length, 4 * ladder.length, max(4 * ladder.length, top * float(np.max(lengths)))))
    rows = t * np.diag(w)
    plus, minus = local.values(np.concatenate([rows, -rows]), "check").reshape(2, -1)
    way = -((plus - minus) / (2 * t * w)) * w**2
    size = float(np.linalg.norm(way))
    if size == 0.0:
        return bool(ladder.fall > RULES.roughness * amplitude)
    ahead = local.along(way / size, t * np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0]), "check")
    lowest = float(min(np.min(plus), np.min(minus), np.min(ahead), local.f0 - ladder.fall))
    return bool(local.f0 - lowest > RULES.roughness * amplitude)
