"""The certificate of a fit: from residual vectors, a few beside those of a Jacobian.

The gradient comes from a central Jacobian, the curvature from random forms (`curvature.random_forms`), and a line
through the point says whether both hold up to the scale of the variables. What the forms cannot decide (saddles, large
residuals, structure at several scales) goes to the certificate from costs, which asks for no more than values, with the
Gauss-Newton matrix as preconditioner. All verdicts are those of `rules`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import budget
from .._array import Array, Matrix, Vector, like, norm2, to_numpy
from ..curvature import Cheapest, Finding, Outcome
from ..curvature.random_forms import FormsOutcome, confirmed, gauss_newton, second_differences, take_forms
from ..curvature.settings import FORMS
from ..derivatives.jumps import across
from ..derivatives.ladder import Kind
from ..derivatives.measure import Books
from ..derivatives.preconditioner import MatrixPreconditioner
from ..derivatives.residual_model import LocalResiduals, Pattern, measure_residuals, variable_lengths, with_missed
from ..derivatives.settings import LADDER, STEPS, UNITS
from ..derivatives.units import reach, typical_curvature
from ..domain import Geometry
from ..errors import BudgetExhausted, MissingValue, NonFiniteValue, UnboundedBelow
from ..interval import Interval
from ..loss import Loss
from ..oracle import Oracle
from ..tolerances import Tolerances, Units, as_scale
from . import rules
from .certificate import Certificate, Trusted
from .certifier import GRADIENT_ALONE, Certifier
from .geometric import in_geometry
from .scale import Lengths
from .scaled import ScaledProblem
from .settings import RULES

RANDOM_FORMS = "random forms"
EVERYWHERE = Geometry()

FAR = STEPS.longest
"""How far from x, in lengths, a cost is asked for at most: its noise grows with the residuals."""


@dataclass(frozen=True)
class Fit:
    """What was seen at a point: residuals and Jacobian, in the user's variables."""

    x: Array
    r: Vector
    J: Vector
    noise: float = 0.0
    """Of a residual, where it was estimated."""


@dataclass(frozen=True, kw_only=True)
class ResidualCertifier:
    """A certificate of any point of an oracle of residuals."""

    gtol: float | None
    """None, as `curvtol`: a share of the units learnt at the point."""
    curvtol: float | None
    failure: float
    loss: Loss
    noise: float | str | None = None
    """Of each residual."""
    x_scale: Any = None
    rho: float | None = None
    resolution: float | None = None
    pattern: Pattern | None = None
    x0: Array = None
    geometry: Geometry = EVERYWHERE
    curvature: float | None = None
    """The least F of the units learnt before in this run."""

    def __call__(
        self, f: Oracle, x: Array, rng: np.random.Generator, r: Vector | None = None
    ) -> tuple[Certificate, Fit | None]:
        """The certificate of x, where the residuals r may be known, and what was seen there. A budget that runs out
        leaves what was shown until then."""
        books, seen = Books.of(f), None
        try:
            certificate, seen = self._certificate(f, x, rng, r)
        except (MissingValue, UnboundedBelow) as lost:
            certificate = self._values_alone().unseen(x, str(lost))
            remedy = "make f answer around x: mend it there, or raise retries or timeout"
            certificate = replace(certificate, remedy=remedy)
        except BudgetExhausted as stop:
            certificate = self._values_alone().unseen(x, str(stop))
        before = books.by_purpose
        spent = {k: n - before.get(k, 0) for k, n in f.ledger.by_purpose.items() if n > before.get(k, 0)}
        rounds = f.ledger.rounds - books.rounds
        return replace(
            certificate, nfev=sum(spent.values()), nfev_by_purpose=spent, nrounds=rounds, failure=self.failure
        ), seen

    # What is asked

    @property
    def relative(self) -> bool:
        """Whether tolerances are shares of units that are learnt."""
        return self.gtol is None or self.curvtol is None

    def _values_alone(self, **more: Any) -> Certifier:
        """The certificate from costs."""
        asked = Tolerances.of(self.gtol, self.curvtol)
        known: Any = {"gtol": asked.gtol, "curvtol": asked.curvtol, "failure": self.failure, "rho": self.rho}
        known |= {"resolution": self.resolution, "x_scale": None if self.relative else self.x_scale, "x0": self.x0}
        return Certifier(**(known | more))

    def _metric(self, x: Array) -> tuple[Vector, Vector]:
        """The unit of norms and curvatures, and the lengths in it over which variables matter."""
        point = to_numpy(x).astype(np.float64)
        if self.x_scale is not None:
            return as_scale(self.x_scale, x), np.ones(len(point))
        own = variable_lengths(point, None if self.x0 is None else to_numpy(self.x0).astype(np.float64))
        return (own, np.ones(len(own))) if self.relative else (np.ones(len(own)), own)

    def _free(self, x: Array) -> bool:
        """Whether no bound is within the lengths that residuals are looked at over."""
        if self.geometry.plain:
            return True
        unit, lengths = self._metric(x)
        down, up = self.geometry.domain.room(to_numpy(x).astype(np.float64))
        far = bool(np.all(np.minimum(down, up) > STEPS.longest * unit * lengths))
        return far and self.geometry.equalities is None and self.geometry.invariant is None

    def _measured(
        self, f: Oracle, x: Array, rng: np.random.Generator, r: Vector | None
    ) -> tuple[LocalResiduals, Vector]:
        """Residuals around x; lengths along which the cost curves out of all proportion are cut once."""
        unit, lengths = self._metric(x)
        pattern = self.pattern or Pattern.dense(len(unit))
        known: Any = {"loss": self.loss, "pattern": pattern, "noise": self.noise, "rng": rng, "known": r}
        local = measure_residuals(f, x, unit=unit, lengths=lengths, **known)
        if self.x_scale is None:
            cut = _excess(np.abs(local.second) * lengths**2)
            if np.any(cut > 1):
                unit, lengths = (unit / cut, lengths) if self.relative else (unit, lengths / cut)
                began, known["known"] = local.began, local.r
                local = replace(measure_residuals(f, x, unit=unit, lengths=lengths, **known), began=began)
        return local, lengths

    def _tolerances(self, local: LocalResiduals) -> Tolerances:
        if not self.relative:
            return Tolerances.of(self.gtol, self.curvtol)
        F, (far, near) = typical_curvature(np.abs(local.second)), local.curvature_at_length()
        if far > UNITS.less * abs(near):  # a degenerate minimum: what vanishes with its curvature is out of reach
            F = F * far / abs(near) if F > 0 and near != 0 else far
        if self.curvature is not None and F > 0:
            F = min(F, self.curvature)
        y = to_numpy(local.x).astype(np.float64) / local.unit
        return Tolerances.relative(F, reach(y))

    # What is shown

    def _certificate(
        self, f: Oracle, x: Array, rng: np.random.Generator, r: Vector | None
    ) -> tuple[Certificate, Fit | None]:
        if not self._free(x):
            noise: Any = "auto" if self.noise else None
            task, geometry = self._values_alone(noise=noise), self.geometry
            return in_geometry(task, f, x, geometry, rng, relative=self.relative), None
        if self.resolution is not None and self.resolution > 0:
            return self._from_values(f, x, rng, None, None), None
        local, lengths = self._measured(f, x, rng, r)
        noise = local.residual_noise
        seen = Fit(x, local.r, local.J / local.unit, noise.level if noise.source == "estimated" else 0.0)
        asked = self._tolerances(local)
        if not (asked.gtol > 0 and math.isfinite(local.f0)):
            return self._from_values(f, x, rng, None, None), seen
        local = with_missed(local, lengths, asked.gtol, rng)
        if local.gradient_norm.lower > asked.gtol:
            return self.written(local, asked, rules.undecided(GRADIENT_ALONE), math.inf, None), seen
        consistent = local.consistent and local.same_curvature(asked.curvtol)
        certificate = self._by_residuals(local, lengths, asked, rng) if consistent else None
        if certificate is None:
            certificate = self._from_values(f, x, rng, local, asked)
        return certificate, seen

    def _by_residuals(
        self, local: LocalResiduals, lengths: Vector, asked: Tolerances, rng: np.random.Generator
    ) -> Certificate | None:
        """The certificate that residuals lead to; None where they do not decide.

        Random forms beside J'J; where these fail, what they saw of a direction down; and all second differences, with
        the same forms for what is wrong with them.
        """
        d, delta = local.d, asked.curvtol
        dense = d * (d + 3) / 2 if self.pattern is None and d <= FORMS.dense else math.inf
        share = budget.halves(self.failure)
        A0 = gauss_newton(local)
        forms = take_forms(local, lengths, A0, delta, share, rng, dense)
        how = "beside J'J"
        if forms.lower < -delta:
            if found := self._down(local, lengths, asked, *forms.least):
                return found
            if not math.isfinite(dense):
                return None
            A0 = second_differences(local, lengths)
            values, vectors = np.linalg.eigh(A0)
            if found := self._down(local, lengths, asked, float(values[0]), vectors[:, 0]):
                return found
            if values[0] <= -FORMS.nearly * delta:
                return None
            forms = take_forms(local, lengths, A0, delta, budget.halves(share), rng)
            how = "beside all second differences"
        if forms.lower < -delta:
            return None
        return self._certified(local, lengths, asked, rng, A0, forms, how)

    def _down(
        self, local: LocalResiduals, lengths: Vector, asked: Tolerances, curvature: float, v: Vector
    ) -> Certificate | None:
        """The certificate of a saddle, if the cost curves down along v, as it seems to.

        Queries: 4 if it seems to
        """
        if curvature > -asked.curvtol / 2:
            return None
        down, upper = confirmed(local, lengths, v, asked.curvtol)
        if not down:
            return None
        way = (-v if local.gradient.value @ v > 0 else v) * local.unit
        finding = Finding(
            Outcome.FOUND,
            like(way / norm2(way), local.x),
            Interval(-math.inf, upper),
            f"second differences of the cost along a direction say {upper:.3g} at most",
            RANDOM_FORMS,
        )
        return self.written(local, asked, finding, math.inf, None)

    def _certified(
        self,
        local: LocalResiduals,
        lengths: Vector,
        asked: Tolerances,
        rng: np.random.Generator,
        A0: Matrix,
        forms: FormsOutcome,
        how: str,
    ) -> Certificate | None:
        """The certificate of a point without curvature below -curvtol; None where the cost is not smooth up to the
        scale of its variables."""
        seen = self._seen_lengths(local, lengths, asked, rng)
        if seen is None:
            return None
        thirds = [forms.third, *self._thirds(local, lengths, forms)]
        rho = self.rho if self.rho is not None else rules.estimated_rho(thirds)
        finding = Finding(
            Outcome.CERTIFIED,
            curvature=Interval(forms.lower, forms.upper),
            reason=f"{forms.count} random second differences of the residuals, {how}",
            finder=RANDOM_FORMS,
            lowest=forms.soft,
        )
        certificate = self.written(local, asked, finding, rho, seen)
        if certificate.radius is None or self._minimum_holds(local, certificate.radius, A0, forms):
            return certificate
        return replace(certificate, verdict="second-order", radius=None)

    def _seen_lengths(
        self, local: LocalResiduals, lengths: Vector, asked: Tolerances, rng: np.random.Generator
    ) -> Lengths | None:
        """The lengths over which the claim was seen to hold; None where the cost has structure within them.

        Queries: 22 for a Jacobian that is not sparse, 28 more where the cost seems to jump
        """
        shortest = float(np.min(local.steps))
        if self.resolution == 0:
            return Lengths(shortest, float(np.max(local.steps)) * math.sqrt(local.d))
        tolerances: Any = {"gtol": asked.gtol, "curvtol": asked.curvtol}
        ladder = local.ladder(**tolerances)
        if ladder.alarming or ladder.kind is Kind.UNSEEN:
            return None
        if self.pattern is None:
            noise = local.cost_noise(LADDER.longest)
            jumps = across(local.f, local.x, local.unit, lengths, noise, **tolerances, rng=rng, ends=local.ends())
            if jumps.size > 0:
                return None
        return Lengths(shortest, max(ladder.smooth_up_to, float(np.max(local.steps)) * math.sqrt(local.d)))

    def _thirds(self, local: LocalResiduals, lengths: Vector, forms: FormsOutcome) -> list[float]:
        """Third derivatives along the gradient and the softest direction, where "minimum" may hang on them.

        Queries: 4 for each
        """
        lower, g = forms.lower, local.gradient_norm.upper
        if lower <= 0 or self.rho is not None or RULES.clearly * rules.estimated_rho([forms.third]) * g < lower**2 / 2:
            return []
        slope = local.gradient.value
        ways = [forms.soft, slope / norm2(slope)] if np.any(slope) else [forms.soft]
        found = []
        for v in ways:
            h = RULES.third_step / float(np.max(np.abs(v) / lengths))
            a, b, c, d = self.loss.cost(local.residuals(h * np.outer([2.0, 1.0, -1.0, -2.0], v), "check"))
            found.append(abs(a - 2 * b + 2 * c - d) / (2 * h**3))
        return found

    def _minimum_holds(self, local: LocalResiduals, radius: float, A0: Matrix, forms: FormsOutcome) -> bool:
        """Whether the ball is within the lengths that the forms looked at, and f lies above the parabola of the least
        curvature where it ends against the gradient and along the Gauss-Newton step.

        Queries: 2, or 0 if the gradient is exactly 0
        """
        g = local.gradient
        if not np.any(g.value):
            return True
        if radius > forms.shortest:
            return False
        step = np.linalg.lstsq(A0, -g.value, rcond=None)[0]
        ways = [-g.value, step] if np.any(step) else [-g.value]
        ends = np.array([radius * way / np.linalg.norm(way) for way in ways])
        try:
            values = self.loss.cost(local.residuals(ends, "check"))
        except (BudgetExhausted, NonFiniteValue):
            return False
        noise = local.cost_noise(radius).norm(1)
        least = local.f0 + ends @ g.value + forms.lower * radius**2 / 2 - float(g.error) * radius - 4 * noise
        return bool(np.all(values >= least))

    # The certificate

    def written(
        self, local: LocalResiduals, asked: Tolerances, finding: Finding, rho: float, seen: Lengths | None
    ) -> Certificate:
        noise = local.residual_noise
        trusted = {"noise": Trusted(noise.level, noise.source)}
        if math.isfinite(rho):
            trusted["rho"] = Trusted(rho, "estimated" if self.rho is None else "given")
        task = self._values_alone(gtol=asked.gtol, curvtol=asked.curvtol, in_units=self.relative)
        written = task.written(local.x, local.f0, local.gradient_norm, finding, trusted, rho)
        units = Units(local.unit, 1.0, asked.curvature or 1.0) if self.relative else None
        return replace(written, units=units, lengths=seen, jac=local.gradient.value / local.unit)

    def _from_values(
        self,
        f: Oracle,
        x: Array,
        rng: np.random.Generator,
        local: LocalResiduals | None,
        asked: Tolerances | None,
    ) -> Certificate:
        """The certificate from costs, in the units learnt; J, if it is known, makes the preconditioner."""
        failure = budget.halves(budget.halves(self.failure))
        if local is None or asked is None:
            return self._from_values_anew(f, x, rng, failure)
        noise = local.residual_noise
        level: Any = None if noise.source == "rounding" else local.cost_noise(FAR).level
        values, vectors = np.linalg.eigh(gauss_newton(local))
        root = np.sqrt((max(float(values[0]), 0.0) + asked.curvtol) / (np.maximum(values, 0.0) + asked.curvtol))
        P = MatrixPreconditioner((vectors * root) @ vectors.T)
        finder = Cheapest(delta=asked.curvtol, failure=failure, preconditioner=P)
        task = self._values_alone(failure=failure, noise=level, finder=finder)
        if not self.relative:
            return task(f, x, rng)
        value = 4.0 ** round(math.log(asked.curvature or 1.0, 4))
        units = Units(local.unit, value, asked.curvature or 1.0)
        problem = ScaledProblem(f.scaled(like(local.unit, x)).valued(value), like(local.unit, x), units)
        found = problem.certifier(task)(problem.f, problem.inside(x), rng)
        return problem.certificate(found, x)

    def _from_values_anew(self, f: Oracle, x: Array, rng: np.random.Generator, failure: float) -> Certificate:
        """The same where residuals say nothing of the units."""
        noise: Any = "auto" if isinstance(self.noise, str) else None
        if isinstance(self.noise, float | int) and self.noise > 0:
            noise = "auto"
        task = self._values_alone(failure=failure, noise=noise)
        if not self.relative:
            return task(f, x, rng)
        known: Any = {"x_scale": self.x_scale, "resolution": self.resolution, "answer": True}
        problem = ScaledProblem.learnt(f, x, rng, **known)
        return problem.certificate(problem.certifier(task)(problem.f, problem.inside(x), rng), x)



def _excess(sizes: Vector) -> Vector:
    """By how much lengths are to be cut so that no variable curves out of all proportion."""
    some = sizes[sizes > 0]
    if len(some) == 0:
        return np.ones(len(sizes))
    most = UNITS.disproportion * float(np.median(some))
    cut = np.sqrt(np.maximum(sizes / most, 1.0))
    return np.asarray(2.0 ** np.ceil(np.log2(cut)))
