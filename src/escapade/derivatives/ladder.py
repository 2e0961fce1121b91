"""The ladder of lengths: whether f is smooth from the difference steps up to the scale of its user.

Differences on one length can be true and useless: a function with ripples, steps or solver noise has a gradient and a
curvature of its own at every length. The ladder reads f along a few random lines at lengths that shrink by a factor of
four, from a tenth of the variables' unit down, and compares each with the next. With even and odd parts e(t) and o(t)
about f(x),

    r_k = (e(t_{k+1}) - e(t_k) / 16,  o(t_{k+1}) - o(t_k) / 4)

holds no first and second order, and falls by 4^3 from one length to the next where f is smooth: by 4 at a kink, and not
at all where f jumps or is noisy. A fall that stops short, at a size that matters for the tolerances, is structure of f
below those lengths, of an amplitude that the plateau shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Vector, epsilon, like
from ..oracle import Oracle, Stencil, points, retaken
from .noise import Noise
from .settings import LADDER

Flags = NDArray[np.bool_]

PURPOSE = "ladder"
"""Of these queries in the books: a certificate pays for them apart from its price."""


class Kind(Enum):
    """What f is between the shortest length of a ladder and the longest."""

    SMOOTH = "smooth"
    KINK = "kinked"
    ROUGH = "rough"
    UNSEEN = "not seen"


@dataclass(frozen=True)
class Ladder:
    """What a ladder showed."""

    kind: Kind
    amplitude: float = 0.0
    """Of the structure below `length`: an rms over the lines."""
    length: float = 0.0
    """The longest at which that structure dominates, in y = x / unit."""
    smooth_up_to: float = 0.0
    """The length up to which one parabola describes f within a half."""
    curvature: float = 0.0
    """The size of the curvature seen at the longest length."""
    fall: float = 0.0
    """How far below f(x) a value was."""

    @property
    def alarming(self) -> bool:
        """Whether f has structure below the scale of its user that matters for the tolerances."""
        return self.kind in (Kind.ROUGH, Kind.KINK)


def climb(
    f: Oracle,
    x: Array,
    unit: Vector,
    scale: Vector,
    f0: float,
    noise: Noise,
    *,
    gtol: float,
    curvtol: float,
    rng: np.random.Generator,
) -> Ladder:
    """Read f along random lines at lengths that shrink by a factor of four, in y = x / unit, where `scale` is the unit
    of a user's variables.

    Queries: 36
    """
    d, levels = x.shape[0], LADDER.levels
    signs = np.where(rng.random((LADDER.lines, d)) < 0.5, -1.0, 1.0)
    lines = signs * rng.uniform(0.5, 1.0, (LADDER.lines, d)) * scale * LADDER.longest
    part = LADDER.ratio ** -np.arange(levels)
    both = np.stack([part, -part], axis=1)
    ends = (both[None, :, :, None] * lines[:, None, None, :]).reshape(-1, d)
    owner = np.repeat(np.arange(LADDER.lines), 2 * levels)

    def on_lines(scale: Vector) -> Stencil:
        return points(x + like(scale[owner][:, None] * ends * unit, x))

    values, _ = retaken(f.tagged(PURPOSE), on_lines, owner, LADDER.lines, strict=False)  # a wall leaves short lengths
    reach = float(np.median(np.linalg.norm(lines, axis=1)))
    values = values.reshape(LADDER.lines, levels, 2)
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite residual is no smooth one
        return judged(values, f0, np.asarray(part), reach, noise.level, epsilon(x), gtol, curvtol)


def judged(
    values: Vector, f0: float, part: Vector, reach: float, noise: float, eps: float, gtol: float, curvtol: float
) -> Ladder:
    """What these values say: `values[line, level, side]`, the longest length first."""
    finite: Flags = np.asarray(np.isfinite(values).all(axis=(0, 2)))
    first = int(np.argmax([finite[k:].all() for k in range(len(part))])) if finite[-1] else len(part)
    values, part = values[:, first:], part[first:]
    if len(part) < LADDER.least:
        return Ladder(Kind.UNSEEN)
    q = 1 / LADDER.ratio
    even, odd = (values[..., 0] + values[..., 1]) / 2 - f0, (values[..., 0] - values[..., 1]) / 2
    residual = np.sqrt(
        np.mean((even[:, 1:] - q**2 * even[:, :-1]) ** 2 + (odd[:, 1:] - q * odd[:, :-1]) ** 2, axis=0)
    )
    change = np.abs(values - f0).max(axis=(0, 2))
    size = np.maximum(np.abs(values).max(axis=(0, 2)), abs(f0))
    floor = eps * (size + change / (LADDER.longest * part)) + noise  # of values, and of points
    floor = floor[1:] + q * floor[:-1]
    length = reach * part
    flagged = _structure(residual, floor, length, even, change, size, f0, part, eps, noise, gtol, curvtol)
    scaled = even / part**2
    inner = math.sqrt(float(np.mean(scaled[:, -1] ** 2)))
    spread = np.sqrt(np.mean((scaled - scaled[:, -1:]) ** 2, axis=0))
    fits = spread <= 0.5 * inner + 8 * (eps * size + noise) / part**2
    longest = len(part) - 1
    while longest > 0 and fits[longest - 1]:
        longest -= 1
    seen = {
        "smooth_up_to": float(length[longest]),
        "curvature": 2 * float(np.median(np.abs(scaled[:, min(1, len(part) - 1)]))) / float(length[0]) ** 2,
        "fall": float(f0 - np.min(values)),
    }
    if not flagged.any() or _is_all_there_is(residual, floor, change, flagged):
        return Ladder(Kind.SMOOTH, **seen)
    inside, outside = int(np.flatnonzero(flagged).max()), int(np.flatnonzero(flagged).min())
    fall = math.log(residual[outside] / residual[inside], LADDER.ratio) if min(residual[[outside, inside]]) > 0 else 0.0
    slope = fall / max(inside - outside, 1)
    kind = Kind.ROUGH if slope < LADDER.kink or inside == outside else Kind.KINK
    level = max(outside, 1) if inside >= 1 else outside
    # The residual of independent errors of size A is sqrt(2 (1 + 1/16...)) = 1.4 A.
    return Ladder(kind, float(residual[level]) / 1.4, float(length[inside + 1]), **seen)


def _is_all_there_is(residual: Vector, floor: Vector, change: Vector, flagged: Flags) -> bool:
    """Whether the structure makes up what f does at the longest length, and f is smooth below it, over two falls at
    least: then it is no roughness of a function that varies over longer lengths, but the function."""
    below = residual[int(np.flatnonzero(flagged).max()) :]
    seen = len(below) > 2 and bool(np.all(below > LADDER.clear * floor[-len(below) :]))
    if not (seen and residual[0] > LADDER.whole * change[0]):
        return False
    falls = np.log(below[:-1] / below[1:]) / math.log(LADDER.ratio)
    return bool(np.all((falls > LADDER.smooth[0]) & (falls < LADDER.smooth[1])))


def _structure(
    residual: Vector,
    floor: Vector,
    length: Vector,
    even: Vector,
    change: Vector,
    size: Vector,
    f0: float,
    part: Vector,
    eps: float,
    noise: float,
    gtol: float,
    curvtol: float,
) -> Flags:
    """The lengths at which residuals stop to fall, above their floor and where that matters."""
    q = 1 / LADDER.ratio
    fall = np.log(np.maximum(residual[:-1], floor[:-1]) / np.maximum(residual[1:], floor[1:])) / math.log(LADDER.ratio)
    clear = residual > LADDER.clear * floor
    matters = (residual / length[1:] > gtol) | (4 * residual / length[1:] ** 2 > curvtol)
    inner = math.sqrt(float(np.mean((even[:, -1] / part[-1] ** 2) ** 2)))
    own = eps * size + noise
    bursts = np.zeros(len(residual), dtype=np.bool_)
    if inner * part[-1] ** 2 > LADDER.clear * own[-1]:  # f explodes there: not a length that matters
        bursts = ((change > LADDER.burst[0] * inner * part**2) & (change > LADDER.burst[1] * max(abs(f0), inner)))[:-1]
    flagged = np.zeros(len(residual), dtype=np.bool_)
    inside = np.abs(even).max(axis=0)
    for k in range(len(fall)):
        if bursts[k]:
            continue
        stops = fall[k] < (LADDER.plateau if k >= 1 else LADDER.first)
        if stops and clear[k + 1] and matters[k + 1]:  # over two ratios
            flagged[k : k + 2] = True
        sudden = fall[k] > LADDER.sudden and clear[k] and matters[k]
        if sudden and k >= 1 and fall[k - 1] < LADDER.plateau:  # out of nothing, and then level
            flagged[k - 1 : k + 1] = True
        # No curvature at all within, some beyond: linear or constant pieces.
        if sudden and q**2 * inside[k] > LADDER.burst[0] * own[k + 1] and inside[k + 1] <= LADDER.clear * own[k + 1]:
            flagged[k] = True
    return flagged
