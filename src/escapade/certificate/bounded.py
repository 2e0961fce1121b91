"""The certificate of a point in a box: free, strongly and weakly active variables, and what is shown of each.

A variable is on a bound if and only if it equals it. Strongly active variables (S) are those on bounds from which f
surely rises inward by more than gtol: to first order they decide themselves, and stay where they are. What is left,
the free variables (F) and the weakly active ones (W), has a Hessian, and its smallest eigenvalue is what the verdict
needs. Where no variable is in W and those in F have room, that is the certificate of f in the variables F, made as any
other; else all second differences are taken from x inward (`derivatives/feasible.py`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Matrix, Vector, like, norm2, to_numpy
from ..curvature import Evidence, Finding, Outcome, price
from ..curvature.finding import CONSTANT
from ..curvature.settings import NEWTON
from ..derivatives.feasible import Around, Lines, Misfit, hessian, inward_slopes, lines, misfit, price_of_hessian
from ..derivatives.measure import Allowance
from ..derivatives.noise import NoiseEvidence, given
from ..derivatives.settings import FEASIBLE
from ..derivatives.units import typical_curvature
from ..domain import selection
from ..errors import BudgetExhausted, NonFiniteValue
from ..interval import Estimate, Interval
from ..oracle import Oracle, or_nan, points
from . import rules
from .certificate import ActiveSets, Certificate, Trusted
from .scale import Lengths

if TYPE_CHECKING:
    from .certifier import Certifier

Index = NDArray[np.int64]
NONE: Estimate[Vector] = Estimate(np.zeros(0), np.zeros(0))
VERTEX = Interval(math.inf, math.inf)

FALLS = "f falls from a bound inward, and the curvature was not looked at"
STEEP = "the slopes of the free variables decide, and the curvature was not looked at"
OUTWARD = (
    "f curves down in the free and weakly active variables, but along no way into the box that was found: whether "
    "there is one is a question of copositivity, which is hard"
)
UNCONFIRMED = "f seems to curve down along a way into the box, but no lower value was seen there"
INEXACT = "differences that stay in the box are too inexact"
STRUCTURE = "f has structure of {amplitude:.2g} at a length of {length:.2g} on the way into the box"
LOST = "f has no value on the way into the box"
SIDES = "second differences into the box"
EVERYWHERE = "all variables are on bounds from which f rises"


@dataclass(frozen=True)
class Sets:
    """The variables by where they are; `side` is 1 on a lower bound and -1 on an upper one."""

    fixed: Index
    active: Index
    free: Index
    side: Vector

    @classmethod
    def at(cls, f: Oracle, y: Vector) -> Sets:
        """Those at a point of the domain of f."""
        lower, upper = f.domain.sides(len(y))
        fixed, low = lower == upper, y <= lower
        active = ~fixed & (low | (y >= upper))
        side = np.where(low, 1.0, -1.0)
        return cls(np.flatnonzero(fixed), np.flatnonzero(active), np.flatnonzero(~fixed & ~active), side)


@dataclass(frozen=True)
class Box:
    """What was seen of the bounds at a point: the sets, and the slopes inward of the active variables."""

    around: Around
    sets: Sets
    slopes: Estimate[Vector]
    seconds: Vector
    """Second derivatives along these."""
    strong: NDArray[np.bool_]
    gtol: float
    allowance: Allowance
    """What the certificate may cost."""

    @property
    def strongly(self) -> Index:
        """The strongly active variables."""
        return self.sets.active[self.strong]

    @property
    def weakly(self) -> Index:
        """The weakly active ones."""
        return self.sets.active[~self.strong]

    def slopes_of(self, which: NDArray[np.bool_]) -> Estimate[Vector]:
        """The slopes of some of the active variables."""
        return Estimate(self.slopes.value[which], self.slopes.error[which])

    def gradient(self, which: Index, slopes: Vector) -> Vector:
        """The slopes that are known, of these variables and of those on bounds; NaN for others."""
        g = np.full(len(self.around.y), np.nan)
        g[self.sets.active] = self.slopes.value * self.sets.side[self.sets.active]
        g[which] = slopes
        return g

    def listed(self) -> ActiveSets:
        """For the certificate."""
        low, high = self.slopes.value - self.slopes.error, self.slopes.value + self.slopes.error
        held = {int(i): Interval(float(low[k]), float(high[k])) for k, i in enumerate(self.sets.active)}
        free, strong, weak, fixed = (
            tuple(int(i) for i in part) for part in (self.sets.free, self.strongly, self.weakly, self.sets.fixed)
        )
        upper = tuple(int(i) for i in self.sets.active if self.sets.side[i] < 0)
        return ActiveSets(free, strong, weak, fixed, held, upper)


def in_box(certifier: Certifier, f: Oracle, x: Array, rng: np.random.Generator) -> Certificate:
    """The certificate of a point of a box; a budget that runs out leaves what was shown until then.

    Queries: 10 + 2*s + 33 for s variables on bounds, all strongly active; and those of a certificate in the other
    variables, or 4*k + k*(k - 1) + 3*k + 33 for k of these where bounds are near
    """
    try:
        box = _look(certifier, f, x, rng)
        if np.any(rules.falls_inward(box.slopes, box.gtol)):
            residual = replace(rules.kkt_residual(NONE, box.slopes), upper=math.inf)  # that of free ones is not known
            return _written(certifier, box, residual, Interval(0.0, math.inf), FALLS)
        seen = box.strongly
        slopes = box.slopes_of(box.strong).value * box.sets.side[seen]
        if len(seen) and (bad := _misfit(certifier, box, seen, slopes, None, rng)):
            return _undecided(certifier, box, bad)
        if len(box.sets.free) + len(box.weakly) == 0:
            return _at_vertex(certifier, box)
        if len(box.weakly) == 0 and _roomy(f, box.around.y, box.sets.free):
            return _by_free_variables(certifier, box, rng)
        return _inside(certifier, box, rng)
    except BudgetExhausted as stop:
        return certifier.unseen(x, str(stop))


def _look(certifier: Certifier, f: Oracle, x: Array, rng: np.random.Generator) -> Box:
    """The noise at x, and the slopes of the variables on bounds."""
    look, y = f.tagged("check"), to_numpy(x).astype(np.float64)
    most = price.cap(len(y)) if certifier.maxfev is None else certifier.maxfev
    allowance = Allowance.of(f, most)
    f0, unit, sets = look.value(x), np.ones(len(y)), Sets.at(f, y)
    asked, shortest = certifier.noise, certifier.resolution or 0.0
    evidence = NoiseEvidence.gather(look, x, unit, f0, rng, noise=asked, resolution=shortest)
    noise = evidence.noise(x, unit, f.precision, known=given(asked), trust_table=asked == "auto")
    around = Around(f, x, f0, noise)
    slopes, seconds = NONE, np.zeros(0)
    if len(sets.active):
        slopes, seconds = inward_slopes(around, sets.active, certifier.gtol)
    strong = rules.strongly_active(slopes, certifier.gtol)
    return Box(around, sets, slopes, seconds, strong, certifier.gtol, allowance)


def _roomy(f: Oracle, y: Vector, free: Index) -> bool:
    """Whether differences of all kinds around y stay in the domain."""
    down, up = f.domain.room(y)
    return bool(np.all(np.minimum(down, up)[free] >= FEASIBLE.near))


def _misfit(
    certifier: Certifier,
    box: Box,
    which: Index,
    g: Vector,
    H: Estimate[Matrix] | None,
    rng: np.random.Generator,
    slope_error: float = 0.0,
) -> str:
    """Why nothing can be said, if f has structure at other lengths than those of the differences."""
    errors = (slope_error or norm2(box.slopes.error), 0.0 if H is None else float(H.error))
    tolerances = (certifier.gtol, math.inf if H is None else certifier.curvtol)
    found: Misfit = misfit(box.around, which, g, None if H is None else H.value, errors, tolerances, rng)
    return STRUCTURE.format(amplitude=found.amplitude, length=found.length) if found.amplitude else ""


# Certificates


def _written(
    certifier: Certifier, box: Box, residual: Interval, reduced: Interval, finding: Finding | str, third: float = 0.0
) -> Certificate:
    if isinstance(finding, str):
        finding = rules.undecided(finding)
    rho = Trusted(rules.estimated_rho([third]), "estimated")
    if certifier.rho is not None:
        rho = Trusted(certifier.rho, "given")
    around = box.around
    trusted = {"noise": Trusted(around.noise.level, around.noise.source)}
    if finding.certified and finding.curvature.lower < math.inf:
        trusted["rho"] = rho
    written = certifier.written(around.x, around.f0, residual, finding, trusted, rho.value)
    verdict, radius = rules.verdict_in_box(
        residual, reduced, finding, gtol=certifier.gtol, curvtol=certifier.curvtol, rho=rho.value
    )
    jac = box.gradient(np.zeros(0, dtype=np.int64), np.zeros(0))
    return replace(written, verdict=verdict, radius=radius, active=box.listed(), jac=jac)


def _undecided(certifier: Certifier, box: Box, why: str) -> Certificate:
    residual = rules.kkt_residual(NONE, box.slopes)
    return _written(certifier, box, Interval(residual.lower, math.inf), Interval(0.0, math.inf), why)


def _at_vertex(certifier: Certifier, box: Box) -> Certificate:
    finding = Finding(Outcome.CERTIFIED, curvature=VERTEX, reason=EVERYWHERE, finder="slopes on bounds")
    return _written(certifier, box, Interval(0.0, 0.0), Interval(0.0, 0.0), finding)


def _by_free_variables(certifier: Certifier, box: Box, rng: np.random.Generator) -> Certificate:
    """The certificate of f in the free variables, which have room on both sides; the others stay on their bounds."""
    around, d = box.around, len(box.around.y)
    frame = selection(around.x, np.isin(np.arange(d), box.sets.free))
    reduced, z = around.f.framed(frame), frame.inside(around.x)
    inner = certifier.within(frame)
    local = inner.measured(reduced, z, rng)
    found = inner.judged(reduced, z, rng, Evidence(local=local))
    direction = None if found.direction is None else frame.direction(to_numpy(found.direction).astype(np.float64))
    if found.verdict == "saddle":
        assert direction is not None
        direction = _lower_value(box, direction)
        if direction is None:
            undecided = rules.undecided(UNCONFIRMED, found.curvature)
            return _written(certifier, box, found.gradient, found.gradient, undecided)
    if found.verdict == "minimum" and len(box.strongly):
        g = local.gradient.value
        step = -g / np.maximum(np.abs(local.diagonal.value), found.curvature.lower)
        step *= min(1.0, (found.radius or 0.0) / (norm2(step) + 1e-300))
        if not _slopes_hold(box, frame.direction(step)):
            found = replace(found, verdict="second-order", radius=None)
    here = None if direction is None else like(direction, around.x)
    jac = box.gradient(box.sets.free, local.gradient.value)
    soft = [replace(one, direction=frame.direction(one.direction)) for one in found.softest]
    own: dict[str, Any] = {"active": box.listed(), "jac": jac, "softest": soft, "hessian": None}
    return replace(found, x=around.x, fun=around.f0, direction=here, **own)


def _inside(certifier: Certifier, box: Box, rng: np.random.Generator) -> Certificate:
    """The certificate from differences that stay in the box."""
    around, which = box.around, np.sort(np.concatenate([box.sets.free, box.weakly]))
    seen = lines(around, which, certifier.curvtol)
    if not np.all(np.isfinite(seen.slope.value)):
        return _undecided(certifier, box, LOST)
    certificate = _from_lines(certifier, box, seen, rng)
    return replace(certificate, jac=box.gradient(which, seen.slope.value))


def _from_lines(certifier: Certifier, box: Box, seen: Lines, rng: np.random.Generator) -> Certificate:
    """The certificate from slopes and curvatures along the variables, and what else it needs."""
    around, which = box.around, seen.which
    sizes = np.abs(seen.curvature.value) + seen.curvature.error
    certifier = certifier.beside(typical_curvature(sizes))
    free, weak = seen.of(box.sets.free), seen.of(box.weakly)
    slopes = Estimate(weak.slope.value * box.sets.side[weak.which], weak.slope.error)
    residual = rules.kkt_residual(free.slope, slopes)
    size, error = norm2(seen.slope.value), norm2(seen.slope.error)
    reduced = Interval(max(size - error, 0.0), size + error)
    if residual.lower > certifier.gtol:
        return _written(certifier, box, residual, reduced, STEEP)
    cost = price_of_hessian(seen)
    if not box.allowance.allows(cost):
        dear = replace(rules.undecided(f"{SIDES} take {cost} values"), price=price.total(box.allowance, cost))
        return _written(certifier, box, residual, reduced, dear)
    H, third = hessian(around, seen, certifier.curvtol)
    if not math.isfinite(H.error):
        return _written(certifier, box, residual, reduced, LOST)
    if not (np.any(seen.slope.value) or np.any(H.value) or len(box.strongly)):
        return _undecided(certifier, box, CONSTANT)
    if bad := _misfit(certifier, box, which, seen.slope.value, H, rng, error):
        return _written(certifier, box, residual, reduced, bad)
    finding = _finding(certifier, box, seen, H)
    certificate = _written(certifier, box, residual, reduced, finding, third)
    certificate = replace(certificate, lengths=Lengths(float(np.min(np.abs(seen.steps))), FEASIBLE.reach))
    if certificate.radius is not None and not _minimum_holds(certifier, box, seen, H, certificate.radius):
        return replace(certificate, verdict="second-order", radius=None)
    return certificate


def _minimum_holds(certifier: Certifier, box: Box, seen: Lines, H: Estimate[Matrix], radius: float) -> bool:
    """Whether f lies above the parabola of the least curvature where the ball of "minimum" ends, as far as that is in
    the box; whether a Newton step lands where it should, if the ball is larger than the steps; and whether the
    strongly active variables stay so there.

    Queries: 2, 4*k + 1 for k variables if the ball is larger than the steps, and those of `_slopes_hold`
    """
    around, g = box.around, np.zeros(len(box.around.y))
    step = np.zeros(len(g))
    g[seen.which], step[seen.which] = seen.slope.value, -np.linalg.solve(H.value, seen.slope.value)
    error, lower = norm2(seen.slope.error), float(np.linalg.eigvalsh(H.value)[0]) - float(H.error)
    try:
        for way in (-g, step):
            size = norm2(way)
            if size > 0 and radius > 0:
                end = radius * way / size
                value = _values(around, way / size, (radius,))[0]
                least = around.f0 + end @ g + lower * radius**2 / 2 - error * radius - 4 * around.error
                if _reach(around, way / size) >= radius and value < least:
                    return False
        if radius > float(np.min(np.abs(seen.steps))) and not _contracts(certifier, box, seen, step):
            return False
        return len(box.strongly) == 0 or _slopes_hold(box, step)
    except (BudgetExhausted, NonFiniteValue):
        return False


def _contracts(certifier: Certifier, box: Box, seen: Lines, step: Vector) -> bool:
    """Whether the residual at the Newton point is at most an eighth of the slopes at x.

    Queries: 4*k + 1 for k variables
    """
    around = box.around
    there = like(around.f.domain.clip(around.y + step), around.x)
    beyond = Around(around.f, there, around.f.tagged("check").value(there), around.noise)
    found = lines(beyond, seen.which, certifier.curvtol)
    down, up = (room[seen.which] for room in around.f.domain.room(beyond.y))
    slopes = found.slope.value
    slopes = np.where(down == 0, np.minimum(slopes, 0.0), np.where(up == 0, np.maximum(slopes, 0.0), slopes))
    most = NEWTON.contraction * norm2(seen.slope.value) + norm2(seen.slope.error) + norm2(found.slope.error)
    return bool(norm2(slopes) <= most)


def _finding(certifier: Certifier, box: Box, seen: Lines, H: Estimate[Matrix]) -> Finding:
    """What the second differences show: no curvature below the tolerance, or a feasible direction, or neither."""
    lowest, error = float(np.linalg.eigvalsh(H.value)[0]), float(H.error)
    curvature, name = Interval(lowest - error, lowest + error), SIDES
    if curvature.lower >= -certifier.curvtol:
        return Finding(Outcome.CERTIFIED, curvature=curvature, reason=f"all {name}", finder=name)
    tried = False
    for v in _ways(H.value, seen, box, certifier.curvtol):
        if tried and not box.allowance.allows(2 * FEASIBLE.confirmations):
            break
        tried = True
        direction = _confirmed(certifier, box, seen, v)
        if direction is not None:
            reason = "a lower value was seen along a feasible direction of negative curvature"
            return Finding(Outcome.FOUND, like(direction, box.around.x), curvature, reason, finder=name)
    if tried:
        return replace(rules.undecided(UNCONFIRMED, curvature), finder=name)
    why = INEXACT if curvature.upper >= -certifier.curvtol else OUTWARD
    return replace(rules.undecided(why, curvature), finder=name)


def _ways(H: Matrix, seen: Lines, box: Box, curvtol: float) -> Iterator[Vector]:
    """Feasible unit directions of curvature below -curvtol/2 in the variables of H, lowest first on each face of W:
    which of its variables move is enumerated while they are few."""
    weak = np.flatnonzero(np.isin(seen.which, box.weakly))
    others = np.flatnonzero(~np.isin(seen.which, box.weakly))
    side = box.sets.side[seen.which]
    most = len(weak) if len(weak) <= FEASIBLE.faces else 2
    for moving in range(most + 1):
        for some in itertools.combinations(weak, moving):
            face = np.sort(np.concatenate([others, np.array(some, dtype=np.int64)]))
            if len(face) == 0:
                continue
            values, vectors = np.linalg.eigh(H[np.ix_(face, face)])
            inward = np.isin(face, weak)
            for value, column in zip(values, vectors.T, strict=True):
                if value > -curvtol / 2:
                    break
                for v in (column, -column):
                    if np.all(v[inward] * side[face][inward] >= 0):
                        whole = np.zeros(len(seen.which))
                        whole[face] = v
                        yield whole


def _confirmed(certifier: Certifier, box: Box, seen: Lines, v: Vector) -> Vector | None:
    """The feasible direction v, in all variables, if second differences along it at two steps are below -curvtol/2 and
    a lower value is seen; else None.

    Queries: 2 for each of at most 8 steps
    """
    around, way = box.around, np.zeros(len(box.around.y))
    way[seen.which] = v
    slope, error = float(seen.slope.value @ v), float(np.abs(seen.slope.error) @ np.abs(v))
    if slope > 0 and not np.any(np.isin(seen.which[v != 0], box.weakly)):
        way, slope = -way, -slope
    longest = _reach(around, way)
    for k in range(FEASIBLE.confirmations):
        t = min(FEASIBLE.longest, longest) / 4**k
        far, near = _values(around, way, (t, t / 2))
        c = [2 * (value - around.f0 - s * slope) / s**2 for value, s in ((far, t), (near, t / 2))]
        off = 2 * (2 * around.error + error * t / 2) / (t / 2) ** 2
        falls = min(far, near) < around.f0 - 4 * around.error
        if falls and rules.down_along(c[1], c[0], off, certifier.curvtol):
            return way
    return None


def _lower_value(box: Box, direction: Vector) -> Vector | None:
    """The direction or its opposite, whichever leads to a lower value; None if neither was seen to."""
    around = box.around
    for k in range(FEASIBLE.confirmations):
        for way in (direction, -direction):
            t = min(FEASIBLE.longest, _reach(around, way)) / 4**k
            if _values(around, way, (t,))[0] < around.f0 - 4 * around.error:
                return way
    return None


def _reach(around: Around, way: Vector) -> float:
    """How far the domain extends along a direction."""
    down, up = around.f.domain.room(around.y)
    room = np.where(way > 0, up, down)[way != 0] / np.abs(way[way != 0])
    return float(np.min(room))


def _values(around: Around, way: Vector, lengths: tuple[float, ...]) -> list[float]:
    """f along a direction; infinite where it has no value."""
    ends = np.clip(around.y + np.outer(lengths, way), *around.f.domain.sides(len(around.y)))
    values, _ = or_nan(around.f.tagged("curvature"), points(like(ends, around.x)))
    return [float(v) if math.isfinite(v) else math.inf for v in values]


def _slopes_hold(box: Box, step: Vector) -> bool:
    """Whether the slopes of the strongly active variables are clear of zero at the Newton point too: how they change
    with the free variables is not measured otherwise.

    Queries: 1 for each of them, and 1
    """
    around, which = box.around, box.strongly
    there = around.f.domain.clip(around.y + step)
    h = FEASIBLE.slope_step
    down, up = (side[which] for side in around.f.domain.room(there))
    t = np.minimum(h, np.maximum(up, down)) * box.sets.side[which]
    rows = np.tile(there, (len(which) + 1, 1))
    rows[np.arange(len(which)), which] += t
    try:
        values = around.f.tagged("check")(points(like(rows, around.x)))
    except (BudgetExhausted, NonFiniteValue):
        return False
    slopes = (values[:-1] - values[-1]) / np.abs(t)
    error = 2 * around.error / np.abs(t) + np.abs(t) * np.abs(box.seconds[box.strong])
    return bool(np.all(slopes - error > 0))
