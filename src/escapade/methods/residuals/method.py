"""The method of `least_squares`: a trust region on two models of the residuals that compete, and their certificate.

Two models predict the vector r of every step: a Jacobian that Broyden's correction keeps up to date, and a Gaussian
process through all vectors met. The one whose predictions were better lately chooses the next step. Differences are
taken at the start, and again where steps on a stale Jacobian fail; else a step costs one query.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ... import budget
from ..._array import Array, Matrix, Vector, epsilon, like, norm2, to_numpy
from ...certificate import Certificate
from ...certificate.residuals import Fit, ResidualCertifier
from ...curvature import Evidence
from ...derivatives.gradient_check import check_jacobian
from ...derivatives.residual_model import Pattern, variable_lengths
from ...derivatives.units import typical_curvature
from ...domain import UNBOUNDED, Domain
from ...errors import MissingValue
from ...loss import Loss
from ...oracle import MIRRORED, Oracle, Stencil, point, points, retaken
from ...stopping import Ending, Stop
from ...tolerances import SHARES
from ...trace import Iterate, Move
from ..base import Iterates
from . import gaussian_process
from .broyden import corrected, corrected_within
from .gaussian_process import Observations, Surrogate
from .settings import MODELS, RUN, TRUST_REGION
from .step import boxed_step


@dataclass(frozen=True)
class ResidualIterate(Iterate):
    """An iterate with its residuals, and what is known of the Jacobian there."""

    residuals: Vector | None = None
    jacobian: Matrix | None = None


@dataclass(frozen=True)
class FitEvidence(Evidence):
    """The certificate of the last iterate, which the method asked for itself, and what it saw there."""

    certificate: Certificate | None = None
    fit: Fit | None = None


@dataclass(frozen=True, kw_only=True)
class Residuals:
    """Descent on residuals to a point that is certified, or where nothing more can be shown.

    Queries: g + 1 at the start, for g groups of variables; 1 a step; g where differences are taken again; those of the
    certificate
    """

    certifier: ResidualCertifier
    failure: float
    """Of all certificates of a run together."""
    loss: Loss
    pattern: Pattern
    noise: float = 0.0
    """The standard deviation of the error of a residual."""
    domain: Domain = UNBOUNDED
    scale: Vector | None = None
    """The lengths of the variables; None: their sizes at the start."""

    name: ClassVar[str] = "residuals"
    certifies: ClassVar[bool] = True

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        """Descend, ask for the certificate, leave saddles, and go on."""
        start = _host(x)
        s = variable_lengths(start, start) if self.scale is None else self.scale
        run = _Run(self, f.residuals().tagged("descent"), x, s, noise=self.noise)
        run.start(rng)
        yield run.iterate()
        ending, last = Ending(Stop.UNDECIDED), math.inf
        for attempt in range(1, RUN.attempts + 1):
            yield from run.descend()
            if not run.cost < last and attempt > RUN.noisy * (run.noise > 0):  # nothing was gained since the last
                break
            last = run.cost
            certifier = replace(self.certifier, failure=budget.of_certificate(self.failure, attempt), x0=x)
            certificate, fit = certifier(f, run.x, rng, run.r)
            ending = Ending(_stop(certificate), FitEvidence(certificate=certificate, fit=fit))
            if certificate.verdict == "saddle" and run.escape(certificate):
                yield run.iterate(Move.ESCAPE)
            elif certificate.verdict != "not stationary" and not run.finds_noise(fit):
                break
            else:
                run.resume(fit)
        return ending


def _host(x: Array) -> Vector:
    return to_numpy(x).astype(np.float64)


def _stop(certificate: Certificate) -> Stop:
    verdicts = {"saddle": Stop.SADDLE, "not stationary": Stop.NOT_STATIONARY, "undecided": Stop.UNDECIDED}
    return verdicts.get(certificate.verdict, Stop.CERTIFIED)


@dataclass
class _Run:
    """The state of a run; variables are z = x / s."""

    method: Residuals
    f: Oracle
    """Residuals."""
    x: Array
    s: Vector
    z: Vector = field(default_factory=lambda: np.zeros(0))
    r: Vector = field(default_factory=lambda: np.zeros(0))
    cost: float = math.inf
    J: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    """dr / dz."""
    seen: Observations = field(default_factory=lambda: Observations.none(0, 0))
    steps_since: int = 0
    """Steps since J was measured."""
    poor: int = 0
    """Poor steps in a row."""
    radius: float = 0.0
    lead: float = 0.0
    """Of the process over Broyden's model: the averaged log ratio of their errors."""
    noise: float = 0.0
    """Of each residual: as it was given, or as a certificate found it."""
    second: Matrix | None = None
    """S = sum_i w_i r_i H_i, while Newton steps are taken."""
    at_differences: float = math.inf
    """The cost where differences were taken last."""
    slow: int = 0
    """How often in a row little was gained until differences were taken again."""
    stuck: int = 0
    """How often in a row nothing was, as where noise hides all."""
    without_gain: int = 0
    """Steps in a row whose gain noise explains."""
    closer: float = 1.0
    """What is aimed at beyond the tolerance, after a certificate was asked for too early."""

    @property
    def loss(self) -> Loss:
        return self.method.loss

    def iterate(self, move: Move = Move.DESCENT) -> ResidualIterate:
        """Where the run is."""
        return ResidualIterate(self.x, move, self.cost, residuals=self.r, jacobian=self.J / self.s)

    def descend(self) -> Generator[Iterate, None, None]:
        """Steps until the gradient of the models is small, or no step is left that they believe in."""
        self.stuck = 0
        while not self._converged() and self.stuck < MODELS.stuck_times:
            surrogate = self._surrogate()
            chosen = self._step(surrogate)
            if chosen is None:
                if self.steps_since == 0:
                    return
                self._differences()
                self._note_progress()
                self.radius = max(self.radius, RUN.again * max(1.0, norm2(self.z)))
                continue
            if self._try(*chosen, surrogate):
                yield self.iterate()
            stale, fails = self.steps_since > 0, self.poor
            if self.second is not None:
                self._follow_newton()
                continue
            if self._idle():
                return
            if (fails >= MODELS.poor_steps and stale) or fails >= MODELS.fresh_poor_steps:
                self._differences()
                self._note_progress()
                self._look_beyond_gauss_newton()

    def start(self, rng: np.random.Generator) -> None:
        """The first residuals and differences; a Jacobian that the user gave is held against values."""
        self.z = _host(self.x) / self.s
        self.r = self.f(point(self.x))[0]
        self.cost = float(self.loss.cost(self.r))
        self.seen = Observations.none(len(self.z), len(self.r)).with_value(
            self.z, self.r, self.noise**2
        )
        self._differences()
        if self.f.has_jacobian:
            size = np.linalg.norm(self.J, axis=1)
            weights = np.where(rng.random(len(self.r)) < 0.5, -1.0, 1.0) / np.where(size > 0, size, 1.0)
            check_jacobian(self.f, self.x, self.r, self.J / self.s, weights, self.s, rng)
        self.radius = TRUST_REGION.first * max(norm2(self.z), 1.0)

    def _gradient(self) -> Vector:
        """Of the cost, by the model; the bias of forward differences is known where S is."""
        g = self.J.T @ (self.loss.weights(self.r)[0] * self.r)
        if self.second is None or self.steps_since > 0 or self.f.has_jacobian:
            return np.asarray(g)
        return np.asarray(g - self._difference_steps() / 2 * np.diag(self.second))

    def _idle(self) -> bool:
        """Whether noise has explained all that many steps brought. Keeps the radius above what noise hides."""
        noise = self.noise
        if noise == 0:
            return False
        size = float(np.linalg.norm(self.J)) / math.sqrt(len(self.z))
        shaken = TRUST_REGION.shaken * noise * math.sqrt(len(self.r)) / max(size, 1e-300)
        self.radius = max(self.radius, min(shaken, TRUST_REGION.first))
        return self.without_gain >= TRUST_REGION.idle + len(self.z)

    def _converged(self) -> bool:
        """Whether the gradient that the model has is well below what will be asked for."""
        if self.cost == 0.0:
            return True
        certifier, (low, high) = self.method.certifier, self._room()
        g = self._gradient()
        g = np.where(((low >= 0) & (g > 0)) | ((high <= 0) & (g < 0)), 0.0, g)
        if certifier.gtol is not None:
            return bool(norm2(g / self.s) <= RUN.aim * self.closer * certifier.gtol)
        F = typical_curvature(np.einsum("ij,ij->j", self.J, self.J))
        return bool(norm2(g) <= RUN.aim * self.closer * SHARES.gtol * F)

    def _differences(self) -> None:
        """J from forward differences, one query a group of variables, or from the user.

        Queries: g, and those with a missing value again
        """
        if self.f.has_jacobian:
            self.J = self.f.jacobian(self.x) * self.s
        else:
            pattern, g = self.method.pattern, len(self.method.pattern.groups)
            h = self._difference_steps()
            rows, z = pattern.rows(h), self.z * self.s
            h = np.where(h == 0, np.inf, h)  # bounds leave it one value: a column of zeros

            def build(scale: Vector) -> Stencil:
                return points(like(self.method.domain.clip(z + scale[:, None] * rows * self.s), self.x))

            R, scale = retaken(self.f, build, np.arange(g), g, MIRRORED)
            for group, factor in zip(pattern.groups, scale, strict=True):
                h[group] *= factor
            self.J = pattern.jacobian(R - self.r, h)
            if self.noise > 0:  # noisy differences say less than the values they are made of
                for row, values in zip(pattern.rows(h), R, strict=True):
                    self.seen = self.seen.with_value(self.z + row, values, self.noise**2)
        if self.noise == 0 or self.f.has_jacobian:
            self.seen = self.seen.with_derivatives(self.z, self.J)
        self.steps_since = self.poor = 0

    def _difference_steps(self) -> Vector:
        """Relative to |z|, longer where noise asks for it; such that z + h is exact."""
        share = max(MODELS.step, 2 * math.sqrt(max(epsilon(self.x), self.f.precision)))
        if self.noise > 0:
            rms = norm2(self.r) / math.sqrt(len(self.r))
            share = float(np.clip(math.sqrt(self.noise / max(rms, self.noise)), share, MODELS.longest))
        h = share * np.maximum(np.abs(self.z), MODELS.nearest if share < 1e-3 else 1.0)
        h = np.where(self.z >= 0, h, -h)
        low, high = self._room()
        h = np.where((h > high) | (h < low), -h, h)  # to the side that has room
        h = np.where((h > high) | (h < low), np.where(high > -low, high, low), h)
        x = self.z * self.s
        return np.asarray(((x + h * self.s) - x) / self.s)

    def _surrogate(self) -> Surrogate | None:
        d = len(self.z)
        if d > MODELS.variables:
            return None
        keep = MODELS.per_variable * d + MODELS.others
        if len(self.seen) > 3 * keep:
            self.seen = self.seen.nearest(self.z, 2 * keep)
        return gaussian_process.fitted(self.seen.nearest(self.z, keep), self.z, self.r, self.noise)

    def _step(self, surrogate: Surrogate | None) -> tuple[Vector, float] | None:
        """The step of the model that predicted better, and the decrease it promises; None if none is worth a query."""
        if surrogate is not None and self.lead >= 0 and self.second is None:
            s, predicted = self._refined(surrogate)
            if self._worth(s, predicted):
                return s, predicted
        w, v = self.loss.weights(self.r)
        g = self._gradient()
        B = (self.J.T * np.maximum(v, TRUST_REGION.convex * w)) @ self.J
        if self.second is not None:
            B = (self.J.T * v) @ self.J + self.second
        s = boxed_step(g, B, self.radius, *self._room())
        predicted = -float(g @ s + s @ B @ s / 2)
        return (s, predicted) if self._worth(s, predicted) else None

    def _room(self) -> tuple[Vector, Vector]:
        """How far each variable may go down and up, at most."""
        down, up = self.method.domain.room(self.z * self.s)
        return -np.maximum(down, 0.0) / self.s, np.maximum(up, 0.0) / self.s

    def _point(self, z: Vector) -> Array:
        """z as the user's x, within the domain."""
        return like(self.method.domain.clip(z * self.s), self.x)

    def _worth(self, s: Vector, predicted: float) -> bool:
        long = norm2(s) >= TRUST_REGION.least * (1 + norm2(self.z))
        return bool(long and predicted > TRUST_REGION.rounding * self.cost)

    def _refined(self, surrogate: Surrogate) -> tuple[Vector, float]:
        """The step to the lowest point of the surrogate within the radius, and its decrease."""
        s, (low, high) = np.zeros(len(self.z)), self._room()
        m, radius = surrogate.residuals(s, self.r), self.radius
        first = cost = float(self.loss.cost(m))
        for _ in range(MODELS.refinements):
            w, v = self.loss.weights(m)
            J = surrogate.jacobian(s)
            g, B = J.T @ (w * m), (J.T * v) @ J + surrogate.second_order(s, w * m)
            for _ in range(4):
                p = boxed_step(g, B, radius, low - s, high - s)
                new = s + p
                if norm2(new) > self.radius:
                    new *= self.radius / norm2(new)
                moved = surrogate.residuals(new, self.r)
                lower = float(self.loss.cost(moved))
                if lower < cost:
                    break
                radius = 0.25 * norm2(p)
            else:
                break
            gain, length = cost - lower, norm2(new - s)
            s, m, cost = new, moved, lower
            if gain < 1e-3 * (first - cost) or length < 1e-6 * self.radius:
                break
            radius = max(radius, 2 * length)
        return s, first - cost

    def _try(self, s: Vector, predicted: float, surrogate: Surrogate | None) -> bool:
        """Ask for the residuals at the end of a step, learn from them, and take it if the cost is lower.

        Queries: 1
        """
        z, length = self.z + s, norm2(s)
        x = self._point(z)
        try:
            r = self.f(point(x))[0]
        except MissingValue:
            return self._cut(TRUST_REGION.lost * length)
        if np.max(np.abs(r)) > TRUST_REGION.wild * (1 + float(np.max(np.abs(self.r)))):
            return self._cut(TRUST_REGION.lost * length)
        cost = float(self.loss.cost(r))
        secant_error = r - self.r - self.J @ s
        self._compare(r, s, secant_error, surrogate)
        self.seen = self.seen.with_value(z, r, self.noise**2)
        if not cost < self.cost:
            self._count(0.0)
            t = np.linspace(*TRUST_REGION.tried, 59)
            path = self.r + t[:, None] * (self.J @ s) + t[:, None] ** 2 * secant_error
            best = float(t[int(np.argmin(self.loss.cost(path)))])
            self.J = self._corrected(s, secant_error, best if self.steps_since == 0 else 1.0)
            return self._cut(max(best, TRUST_REGION.interpolated) * length)
        gained = (self.cost - cost) / predicted
        self._count(self.cost - cost)
        self.J = self._corrected(s, secant_error, MODELS.overshoot if self.steps_since == 0 else 1.0)
        self.x, self.z, self.r, self.cost = x, z, r, cost
        self.steps_since += 1
        if gained > TRUST_REGION.good:
            self.radius = max(self.radius, TRUST_REGION.grow * length)
        elif gained < TRUST_REGION.poor:
            self.radius = TRUST_REGION.shrink * length
        self.poor = 0 if gained > TRUST_REGION.poor else self.poor + 1
        if self.f.has_jacobian:
            self._differences()
        return True

    def _corrected(self, s: Vector, secant_error: Vector, share: float) -> Matrix:
        """The Jacobian with this share of a secant error taken in."""
        depends = self.method.pattern.depends
        if depends is None:
            return corrected(self.J, s, secant_error, share)
        return corrected_within(self.J, depends, s, secant_error, share)

    def _note_progress(self) -> None:
        """What was gained since differences were taken last."""
        gain, self.at_differences = self.at_differences - self.cost, self.cost
        self.slow = self.slow + 1 if gain < MODELS.slow * self.cost else 0
        self.stuck = self.stuck + 1 if gain < MODELS.stuck * self.cost else 0

    def _look_beyond_gauss_newton(self) -> None:
        """Where Jacobians are taken again and again and little is gained, the residuals are large, and their curvatures
        matter: S is measured, and Newton steps are taken with fresh Jacobians.

        Queries: d*(d + 3)/2 where that is so
        """
        d = len(self.z)
        whole = len(self.method.pattern.groups) == d and self.method.domain.unbounded and self.noise == 0
        if self.slow < MODELS.slow_times or d > MODELS.newton or not whole:
            return
        self.slow = 0
        h, eye, (i, j) = MODELS.second_step, np.eye(d), np.triu_indices(d, k=1)
        ways = h * np.concatenate([eye, -eye, eye[i] + eye[j]])
        try:
            R = self.f(points(like((self.z + ways) * self.s, self.x)))
        except MissingValue:
            return
        weighted, S = self.loss.weights(self.r)[0] * self.r, np.zeros((d, d))
        up, down, both = R[:d], R[d : 2 * d], R[2 * d :]
        S[i, j] = S[j, i] = (both - up[i] - up[j] + self.r) @ weighted / h**2
        S[np.arange(d), np.arange(d)] = (up + down - 2 * self.r) @ weighted / h**2
        self.second, self.radius = S, max(self.radius, RUN.again * max(1.0, norm2(self.z)))

    def _follow_newton(self) -> None:
        """After a Newton step: another Jacobian if it was good, else the models take over again."""
        if self.poor:
            self.second = None
        if self.steps_since > 0:
            self._differences()

    def _count(self, gain: float) -> None:
        """Count steps whose gain noise explains."""
        explained = 2 * self.noise * norm2(self.r)
        self.without_gain = 0 if gain > explained else self.without_gain + 1

    def _cut(self, radius: float) -> bool:
        """After a step that is not taken."""
        self.poor += 1
        self.radius = radius
        return False

    def _compare(self, r: Vector, s: Vector, secant_error: Vector, surrogate: Surrogate | None) -> None:
        """Which model predicted r better."""
        if surrogate is None:
            return
        floor = MODELS.exact * norm2(self.r) + 1e-300
        ratio = (norm2(secant_error) + floor) / (norm2(r - surrogate.residuals(s, self.r)) + floor)
        self.lead = MODELS.forget * self.lead + float(np.clip(math.log(ratio), -MODELS.clear, MODELS.clear))

    # After a certificate

    def finds_noise(self, fit: Fit | None) -> bool:
        """Whether the certificate found noise that steps did not reckon with, nor are short beside."""
        known = self.noise > 0 or fit is None or not len(self.r)
        return not known and fit is not None and fit.noise > MODELS.step * norm2(self.r) / math.sqrt(len(self.r))

    def resume(self, fit: Fit | None) -> None:
        """Go on with the Jacobian that the certificate measured, if it did, and aim closer."""
        self.closer *= RUN.closer
        self.without_gain = 0
        if fit is None or self.finds_noise(fit):
            self.noise = max(self.noise, 0.0 if fit is None else fit.noise)
            self._differences()
            self.radius = max(self.radius, RUN.again * max(1.0, norm2(self.z)))
            return
        self.J = fit.J * self.s
        self.seen = self.seen.with_derivatives(self.z, self.J)
        self.steps_since = self.poor = 0
        self.radius = max(self.radius, RUN.again * max(1.0, norm2(self.z)))

    def escape(self, certificate: Certificate) -> bool:
        """Leave a saddle along the direction down that was confirmed there: whether that led down.

        Queries: 12 at most, and g
        """
        units = certificate.units
        way = _host(certificate.direction) * (1.0 if units is None else units.lengths) / self.s
        way /= norm2(way)
        best: tuple[float, Vector, Vector] | None = None
        for k in range(RUN.escapes):
            z = self.z + RUN.leap * max(1.0, norm2(self.z)) * RUN.ratio**-k * way
            try:
                r = self.f.tagged("escape")(point(self._point(z)))[0]
            except MissingValue:
                continue
            cost = float(self.loss.cost(r))
            self.seen = self.seen.with_value(z, r, self.noise**2)
            if best is not None and cost >= best[0]:
                break
            if cost < self.cost:
                best = cost, z, r
        if best is None:
            return False
        length = norm2(best[1] - self.z)
        self.cost, self.z, self.r = best
        self.x = self._point(self.z)
        self._differences()
        self.radius = TRUST_REGION.grow * length
        return True
