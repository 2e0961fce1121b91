"""Newton's method on a Hessian whose pattern is known: all of it costs a few rows of differences.

A step that the model predicted well is followed by a gradient alone, and by the least change of the model within its
pattern that agrees with it (Toint, 1977); any other step by new second differences.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ..._array import Vector, epsilon, norm2, to_numpy
from ...curvature import Evidence
from ...curvature.newton import newton_step
from ...curvature.sparse_factor import SparseFactor, smallest
from ...derivatives.settings import NOISE
from ...derivatives.sparsity import SparseMatrix, Sparsity
from ...errors import WrongSparsity
from ...oracle import or_nan, points
from ...stopping import Ending, Stop
from ...trace import Iterate, Move
from .certify import CertificateSearch
from .differences import Differences
from .exact import ExactDifferences
from .line_search import leave
from .point import Point
from .settings import DESCENT, METHOD, SPARSE_NEWTON, TRUST_REGION


@dataclass(frozen=True)
class SparseModel:
    """f(x + s) ≈ f + g's + s'Bs/2 for a sparse B."""

    B: SparseMatrix
    sparsity: Sparsity

    def change(self, g: Vector, s: Vector) -> float:
        """g's + s'Bs/2."""
        return float(g.dot(s) + s.dot(self.B @ s) / 2)

    def step(self, g: Vector, radius: float, scale: Vector) -> Vector:
        """The minimiser of g's + s'Bs/2 over |s / scale| <= radius, nearly: by Newton's method on 1 / |s / scale| as a
        function of a shift of B (Nocedal and Wright, section 4.3)."""
        weight = sparse.diags_array(1 / scale**2).tocsc()
        shift, low, high = 0.0, 0.0, np.inf
        s = np.zeros(len(g))
        for _ in range(SPARSE_NEWTON.shifts):
            factor = SparseFactor.of(self.B + shift * weight)
            length = np.inf
            if factor is not None:
                s = -factor.solve(g)
                length = norm2(s / scale)
            over = length / radius - 1
            if factor is not None and (over <= 0 if shift == 0 else abs(over) <= SPARSE_NEWTON.near):
                break
            low, high = (shift, high) if over > 0 else (low, shift)
            if factor is not None:
                v = s / scale**2
                shift += length**2 / float(v @ factor.solve(v)) * over
            else:
                shift = max(4 * shift, norm2(scale * g) / radius)
            if not low < shift < high:
                shift = (low + high) / 2 if high < np.inf else 4 * low + 1e-300
        length = norm2(s / scale)
        return s * min(1.0, radius / length) if length > 0 else s

    def with_secant(self, s: Vector, y: Vector) -> SparseModel:
        """B + E for the least symmetric E of the same pattern with E s = y - Bs: E = lambda s' + s lambda' on it."""
        if not np.any(s):
            return self
        P, S, r = self.sparsity.ones, sparse.diags_array(s), y - self.B @ s
        sums = P @ s**2
        Q = S @ P @ S + sparse.diags_array(sums + SPARSE_NEWTON.regular * float(np.max(sums)))
        multipliers = sparse.diags_array(splu(sparse.csc_matrix(Q)).solve(r))
        return SparseModel(sparse.csc_array(self.B + multipliers @ P @ S + S @ P @ multipliers), self.sparsity)


@dataclass(frozen=True)
class _Trial:
    """A step that was tried: where it led, the decrease as a part of the predicted one, and its length."""

    s: Vector
    f: float
    ratio: float
    length: float


@dataclass
class SparseNewton:
    """One run."""

    differences: Differences
    certificates: CertificateSearch
    sparsity: Sparsity
    rng: np.random.Generator
    least: float
    """A function that falls below this has no bottom."""
    radius: float = TRUST_REGION.radius
    fresh: bool = True
    """Whether the model was measured where it is used."""
    whole: bool = True
    """Whether no value of it was missing."""
    exact: bool = False
    """Whether gradients are central ones on steps of their own: others were found too inexact."""
    began: float = math.inf
    """The value at the start."""
    extra: int = 0
    """Steps from gradients within the tolerance."""
    restarts: int = 0
    futile: int = 0
    """Directions that led nowhere."""

    def run(self, p: Point) -> Generator[Iterate, None, Ending | Point]:
        """From the start to an ending; or to a point that is not stationary and from which no step descends, for a
        method that sees through noise."""
        self.began = p.f
        p, model = self._measured(p)
        if self.whole and not isinstance(self.differences, ExactDifferences):
            self._check(p, model)
        while p.f >= self.least and self.futile <= METHOD.futile:
            q = None if self._arrived(p, model) else self._step(p, model)
            if q is not None:
                p, model = q
                yield Iterate(self.differences.array(p.y), Move.DESCENT, p.f, p.steepness)
                continue
            if not (self.fresh and (self.exact or self._small(p))):  # better differences may show a way on, or down
                p, model = self._better(p, model)
                if not self._arrived(p, model):
                    continue
            found = self._down(model)
            if found is None and p.steepness > DESCENT.arrived * self.differences.gtol and not self._small(p):
                refined = self._refined(p, model)
                if refined is None:
                    return p
                p = refined
                continue
            if found is None:
                yield Iterate(self.differences.array(p.y), fun=p.f, arrived=True)
                found = self._certified(p, model)
            if isinstance(found, Ending):
                return found
            if isinstance(found, Point):  # the certificate was asked for too early
                if self.restarts > METHOD.restarts:
                    return found
                p, self.exact = found, True
                continue
            p = self._escaped(p, found)
            yield Iterate(self.differences.array(p.y), Move.ESCAPE, p.f)
            p, model = self._measured(p)
        return Ending(Stop.UNBOUNDED if p.f < self.least else Stop.UNDECIDED)

    # Steps

    def _measured(self, p: Point) -> tuple[Point, SparseModel]:
        """The point with its gradient, and the model there.

        Queries: those of `Differences.sparse`, and those of `Differences.central` where that is too inexact
        """
        q, B = self.differences.sparse(p, self.sparsity)
        if self.exact:
            q, _ = self.differences.central(q)
        self.fresh = True
        self.whole = bool(np.all(np.isfinite(B.data)))
        B.data = np.nan_to_num(B.data)
        return q, SparseModel(B, self.sparsity)

    def _better(self, p: Point, model: SparseModel) -> tuple[Point, SparseModel]:
        """The same measured anew; or with a gradient on steps of its own, where it was.

        Queries: those of `_measured`, or 2*d
        """
        self.radius = max(self.radius, TRUST_REGION.after_failure)
        if not self.fresh:
            return self._measured(p)
        self.exact = True
        return self.differences.central(p)[0], model

    def _refined(self, p: Point, model: SparseModel) -> Point | None:
        """The end of a Newton step that halves the gradient, where values show no descent any more; else None.

        Queries: 2*d + 1
        """
        differences, factor = self.differences, SparseFactor.of(model.B)
        if factor is None:
            return None
        y = differences.host(p.y - factor.solve(p.g))
        q = Point(y, differences.value(y))
        if not q.f <= p.f + NOISE.significant * differences.value_error(p.f):
            return None
        q, _ = differences.central(q)
        return q if q.steepness < 0.5 * p.steepness else None

    def _step(self, p: Point, model: SparseModel) -> tuple[Point, SparseModel] | None:
        """One step that descends, with the gradient and the model there; None if there is none.

        Queries: d + 1, 2*d + 1 or those of `_measured`, and 1 for each further length tried
        """
        trial = self._longest(p, model)
        if trial is None:
            return None
        q = Point(p.y + trial.s, trial.f)
        if abs(trial.ratio - 1) > SPARSE_NEWTON.agreed:
            return self._measured(q)
        q = self.differences.central(q)[0] if self.exact else self.differences.forward(q, model.B.diagonal())
        self.fresh = False
        return q, model.with_secant(trial.s, q.g - p.g)

    def _longest(self, p: Point, model: SparseModel) -> _Trial | None:
        """The first step of a shrinking region that descends as the model says, or a longer one while these gain more;
        None where there is none. A value is cheap beside a model.

        Queries: 1 for each length tried
        """
        best: _Trial | None = None
        while True:
            trial = self._tried(p, model)
            if trial is not None and trial.ratio > TRUST_REGION.poor and (best is None or trial.f < best.f):
                best = trial
                if not (trial.ratio > TRUST_REGION.good and trial.length > TRUST_REGION.edge * self.radius):
                    break
                self.radius *= 2
            elif best is not None:
                self.radius /= 2
                break
            elif trial is None or not self.fresh:
                return None
            else:
                self.radius = min(self.radius, trial.length) / 4
        if best.ratio < TRUST_REGION.modest:
            self.radius = best.length / 2
        return best

    def _tried(self, p: Point, model: SparseModel) -> _Trial | None:
        """The step of the model, and how well it was predicted; None if it is too short to show anything.

        Queries: 1
        """
        differences, least = self.differences, 4 * epsilon(self.differences.x)
        s = differences.host(p.y + model.step(p.g, self.radius, p.scale)) - p.y
        predicted = model.change(p.g, s)
        if -predicted <= differences.value_error(p.f) or self.radius <= least or not np.any(s):
            return None
        value = differences.value(p.y + s)
        return _Trial(s, value, (value - p.f) / predicted, norm2(s / p.scale))

    def _arrived(self, p: Point, model: SparseModel) -> bool:
        """Whether the gradient is small enough to ask for the certificate, or all noise."""
        differences = self.differences
        error, absolute = differences.gradient_error(p), differences.tolerances.curvature is None
        if not self._small(p):
            return False
        if p.steepness <= max(DESCENT.beyond * differences.gtol, error):
            return True
        if self.extra < SPARSE_NEWTON.extra:  # a Newton step or two, so that "minimum" can be said
            self.extra += 1
            return False
        if absolute:
            return True
        factor = SparseFactor.of(model.B)
        gain = math.inf if factor is None else float(p.g @ factor.solve(p.g)) / 2
        return factor is None or gain <= max(DESCENT.worthwhile * (self.began - p.f), differences.value_error(p.f))

    def _small(self, p: Point) -> bool:
        """Whether the gradient is small beside the tolerance, or what noise makes of it."""
        differences, absolute = self.differences, self.differences.tolerances.curvature is None
        share = DESCENT.arrived if absolute else DESCENT.relative
        return p.steepness <= max(share * differences.gtol, differences.gradient_error(p))

    # Saddles and certificates

    def _down(self, model: SparseModel) -> Ending | Point | Vector | None:
        """The lowest eigenvector of a model that curves down."""
        values, vectors = smallest(model.B, 1, self.rng)
        return vectors[:, 0] if values[0] <= -0.5 * self.differences.curvtol else None

    def _escaped(self, p: Point, v: Vector) -> Point:
        """Where f is lowest along v or -v."""
        if float(p.g @ v) > 0:
            v = -v
        guess = 0.5 * float(np.linalg.norm(p.scale * v))
        line = leave(self.differences, p, v, guess, self.differences.gtol, compare=True)
        self.futile += line.t == 0.0
        self.radius = max(self.radius, TRUST_REGION.after_escape)
        return Point(self.differences.host(p.y + line.t * line.v), line.f)

    def _certified(self, p: Point, model: SparseModel) -> Ending | Point | Vector:
        """The ending that the certificate leads to; or the point to go on from, where its gradient is not small after
        all; or a direction down."""
        if not self.certificates.wanted:
            return Ending(Stop.UNCERTIFIED)
        local, differences = self.certificates.measure(p), self.differences
        size, error = norm2(local.gradient.value), float(local.gradient.error)
        differences.update_noise(local.noise, p.f)
        if size - error > differences.gtol or (size + error > differences.gtol and size > 2 * error):
            self.restarts += 1
            self.radius = max(self.radius, TRUST_REGION.after_failure)
            return p.measured(local)
        finding = self.certificates.search_pattern(local, self.sparsity)
        if finding.direction is None:
            return Ending.of(finding, Evidence(local=local, newton=partial(newton_step, model.B)))
        return to_numpy(finding.direction).astype(np.float64)

    def _check(self, p: Point, model: SparseModel) -> None:
        """Refuse a pattern that lacks much: second differences along two random sign vectors, at lengths down to that
        of a step, agree with one another, and say clearly otherwise than the model.

        Queries: 12
        """
        d = self.differences.d
        ways = np.where(self.rng.random((2, d)) < 0.5, -1.0, 1.0) * p.h
        t = np.array([1.0, 0.5, min(0.25, 1 / math.sqrt(d))])
        ends = (t[:, None, None] * ways).reshape(-1, d)
        f = self.differences.f.tagged("check")
        values, lost = or_nan(f, points(self.differences.array(p.y) + self.differences.array(np.vstack([ends, -ends]))))
        if lost is not None:
            return
        up, down = values.reshape(2, 3, 2)
        second = up + down - 2 * p.f
        if np.any(values == p.f) or not np.all(second):  # f is given in units
            return
        noise = 4 * self.differences.value_error(float(max(np.max(np.abs(values)), abs(p.f))))
        far, *shorter = second / t[:, None] ** 2
        odd = np.abs(up[0] - down[0] - 2 * (up[1] - down[1])) / 2  # the third order, which one-sided differences see
        claimed = np.array([float(w @ (model.B @ w)) for w in ways])
        error = np.max(np.abs(far - np.array(shorter)), axis=0) + odd + noise / t[-1] ** 2
        error += SPARSE_NEWTON.alike * np.abs(claimed)
        if np.all(np.abs(far - claimed) > SPARSE_NEWTON.wrong * error):
            length = np.sum(ways**2, axis=1)
            (one, other), (first, last) = far / length, claimed / length
            raise WrongSparsity(
                f"hess_sparsity lacks entries: along two random directions at x0 fun has curvatures of {one:.6g} and "
                f"{other:.6g}, and the pairs of hess_sparsity account for {first:.6g} and {last:.6g}. Add the pairs "
                "that fun depends on together, or leave hess_sparsity out"
            )
