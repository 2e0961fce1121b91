"""The work of `certify`, on an oracle: from evidence to a certificate. The driver certifies points with it too."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .. import budget
from .._array import Array, Vector, epsilon, like, norm2, to_numpy
from ..curvature import (
    FINDERS,
    SAMPLED_FINDERS,
    ByGradients,
    Cheapest,
    Evidence,
    Finder,
    Finding,
    Minibatch,
    SampledFinder,
    Sparse,
    price,
)
from ..curvature.finding import ROUGH, nothing_known
from ..curvature.newton import newton_contracts, newton_step
from ..curvature.settings import PRICE
from ..derivatives.by_gradients import GradientModel, measure_by_gradients
from ..derivatives.ladder import Kind, Ladder
from ..derivatives.measure import TOO_DEAR as STEPS_TOO_DEAR
from ..derivatives.measure import Allowance, Books, LocalModel, measure
from ..derivatives.noise import Noise
from ..derivatives.sampling import SampledModel, sampled_gradient
from ..derivatives.settings import GROUPS, SAMPLING
from ..derivatives.sparsity import scaled_hessian
from ..derivatives.steps import against_noise
from ..derivatives.units import beside, lengths, reach
from ..domain import Selection
from ..errors import BudgetExhausted, InvalidSetting, MissingCapability, MissingValue, NonFiniteValue, UnboundedBelow
from ..interval import Interval
from ..oracle import Oracle
from ..tolerances import SHARES, Tolerances, as_scale
from . import rules, scale
from .advice import advised
from .bounded import in_box
from .certificate import Certificate, SoftDirection, Trusted
from .sampled import SampledCertifier, Shown, Source
from .settings import RULES

UNKNOWN = Interval(0.0, math.inf)
CHECKED = "checked against values"
BELIEVED = "checked against values, which do not show as much"
TOO_DEAR = "to go on would take the certificate to {price} queries, and more than is allowed"
GRADIENT_ALONE = "the gradient alone decides, and the curvature was not looked at"


@dataclass(frozen=True, kw_only=True)
class Certifier:
    """A certificate of any point of an oracle, to given tolerances."""

    gtol: float
    curvtol: float
    curvature: float | None = None
    """The F of relative tolerances: where f curves less they are tightened. None: they are absolute."""
    failure: float
    noise: float | str | None = None
    x_scale: Any = None
    rho: float | None = None
    x0: Array = None
    """Where a run began: how far it came tells the lengths that matter, where these are not known."""
    in_units: bool = False
    """Whether variables matter over lengths of one: the user gave a scale, or a run learnt it."""
    resolution: float | None = None
    """None: what the ladder of lengths finds. 0: f is believed at all lengths. Else no step is shorter."""
    finder: str | Finder | SampledFinder = "auto"
    evidence: Source = "sampled"
    """Of a finite sum: what the claim about its curvature rests on."""
    maxfev: float | None = None
    """What the certificate may cost, the ladder of lengths apart; None: what its price allows."""
    began: Books | None = None
    """The oracle's books when the certificate began; None: at the end of a run, when f is measured around its point."""
    gradients: bool = True
    """Whether the user's gradients are used, where there are any."""

    def __post_init__(self) -> None:
        names = sorted(FINDERS | SAMPLED_FINDERS)
        if not isinstance(self.finder, Finder | SampledFinder) and self.finder not in names:
            raise InvalidSetting(f"finder={self.finder!r} must be one of {', '.join(names)}, or a Finder")

    def __call__(
        self, f: Oracle, x: Array, rng: np.random.Generator, evidence: Evidence | None = None
    ) -> Certificate:
        """The certificate of x. A budget that runs out leaves what was shown until then.

        With evidence from a method, its finding is not sought again, and f not measured again if it was.
        """
        known = evidence or Evidence()
        began = known.local or known.shown
        books = Books.of(f) if began is None else began.began
        sampled = f.samples is not None and f.batch is None
        if sampled and known.local is not None:  # of the whole sum
            sampled, f = False, f.summed()
        if known.finding is None:
            self._require_fitting_finder(sampled=sampled)
        try:
            certificate = self._sampled(f, x, rng, known) if sampled else self._plain(f, x, rng, known)
        except (MissingValue, UnboundedBelow) as lost:
            certificate = self.unseen(x, str(lost))
            remedy = "make f answer around x: mend it there, or raise retries or timeout"
            certificate = replace(certificate, remedy=remedy)
        before, rounds = books.by_purpose, books.rounds
        spent = {k: n - before.get(k, 0) for k, n in f.ledger.by_purpose.items() if n > before.get(k, 0)}
        return replace(
            certificate,
            nfev=sum(spent.values()),
            nfev_by_purpose=spent,
            nrounds=f.ledger.rounds - rounds,
            njev=f.ledger.gradients - books.gradients,
            nhev=f.ledger.products - books.products,
        )

    def unseen(self, x: Array, why: str) -> Certificate:
        """The certificate of a point about which nothing could be shown."""
        return self.written(x, math.nan, UNKNOWN, rules.undecided(why), {}, 0.0)

    def uses_gradients(self, f: Oracle) -> bool:
        """Whether a certificate would use gradients of this function."""
        if isinstance(self.finder, str):
            kinds: dict[str, Any] = SAMPLED_FINDERS if f.samples is not None else FINDERS
            return bool(getattr(kinds.get(self.finder), "uses_gradients", False))
        return self.finder.uses_gradients

    # Plain functions

    def _plain(self, f: Oracle, x: Array, rng: np.random.Generator, known: Evidence) -> Certificate:
        if not f.domain.unbounded:
            return in_box(self, f, x, rng)
        return self.judged(f, x, rng, known)

    def judged(self, f: Oracle, x: Array, rng: np.random.Generator, known: Evidence) -> Certificate:
        """The certificate of a point with room on all sides."""
        try:
            local = known.local or self.measured(f, x, rng)
        except BudgetExhausted as stop:
            return self.unseen(x, str(stop))
        asked = self._asked(local)
        certificate = asked._judged(x, local, known, rng)
        if certificate.verdict == "saddle" or (certificate.holds and self.resolution is not None):
            certificate = replace(certificate, lengths=scale.steps_of(local))
        elif certificate.holds:
            certificate = asked._at_scale(f, x, local, certificate, rng)
        elif certificate.price is not None or certificate.reason == ROUGH:
            certificate = asked._kinked(x, local, certificate, rng)
        return replace(certificate, jac=local.gradient.value / local.unit)

    def within(self, frame: Selection) -> Certifier:
        """The same for the variables of a frame."""
        x_scale = None if self.x_scale is None else np.asarray(as_scale(self.x_scale, frame.origin))[frame.which]
        return replace(self, x_scale=x_scale, x0=None if self.x0 is None else frame.inside(self.x0))

    def beside(self, curvature: float) -> Certifier:
        """The same where f curves by so much: relative tolerances are shares of that, if it is less."""
        asked = self.tolerances.beside(curvature)
        return replace(self, gtol=asked.gtol, curvtol=asked.curvtol, curvature=asked.curvature)

    @property
    def tolerances(self) -> Tolerances:
        """What is asked for."""
        return Tolerances(self.gtol, self.curvtol, self.curvature)

    def measured(self, f: Oracle, x: Array, rng: np.random.Generator) -> LocalModel:
        """f around x, judged by what is asked for there."""
        local: LocalModel
        if self._by_gradients(f):
            known: Any = {"curvtol": self.curvtol, "gtol": self.gtol, "noise": self.noise, "x_scale": self.x_scale}
            known["failure"] = self.failure
            local = measure_by_gradients(f, x, **known, rng=rng)
        else:
            local = self._measure(f, x, rng, self.noise, self.began or Books.of(f))
        return local.asked(beside(self.tolerances, local, rng))

    def allowance(self, local: LocalModel) -> Allowance:
        """What the certificate of a point that was measured may spend."""
        return self._allowance(local.f, local.d, local.began)

    def _allowance(self, f: Oracle, d: int, began: Books) -> Allowance:
        if self.maxfev is not None:
            return Allowance(f, self.maxfev, began)
        before = Allowance(f, math.inf, Books()).spent
        return Allowance(f, price.cap(d) if self.began is not None else price.cap_of_run(d, before), began)

    def _by_gradients(self, f: Oracle) -> bool:
        """Whether the user's gradients serve: differences of theirs take shorter steps than a resolution may allow."""
        served = self.finder == "auto" or isinstance(self.finder, Sparse)
        return self.gradients and f.differentiable and served and not self.resolution

    def _asked(self, local: LocalModel) -> Certifier:
        """The same with the tolerances that a local model is judged by, which are shares of the curvature there."""
        if self.curvature is None:
            return self
        curvature = local.curvtol / SHARES.curvtol
        return replace(self, gtol=local.rule.gtol, curvtol=local.curvtol, curvature=curvature)

    def _at_scale(
        self, f: Oracle, x: Array, local: LocalModel, certificate: Certificate, rng: np.random.Generator
    ) -> Certificate:
        """A certificate that holds on the difference steps, as far as it holds at the scale of the variables too.

        Where f is rough or kinked below some length it must hold again, on steps that rise above that.

        Queries: those of `scale.look`; those of another certificate where f is rough, and 2*d + 6 more where it has a
        kink
        """
        try:
            ladder = scale.look(local, self._lengths(local), gtol=self.gtol, curvtol=self.curvtol, rng=rng)
            if ladder.alarming:
                if dear := self._too_dear_above(local, certificate, ladder):
                    return dear
                local = self._measure(f, x, rng, scale.roughness(ladder), local.began)
                above = self._judged(x, local, Evidence(), rng)
                if not above.holds:
                    certificate = self._only_below(certificate, above, ladder)
                elif certificate.verdict == "minimum":
                    certificate = above
                else:  # nothing more is said than on the difference steps
                    certificate = replace(above, verdict="second-order", radius=None)
        except BudgetExhausted as stop:
            unseen = rules.undecided(f"f was not looked at beyond its difference steps: {stop}", certificate.curvature)
            return self.written(x, local.f0, certificate.gradient, unseen, certificate.trusted, 0.0)
        if ladder.kind is Kind.KINK and certificate.holds and self._falls_across(local, ladder):
            kinked = rules.undecided(scale.KINKED, certificate.curvature)
            certificate = self.written(x, local.f0, certificate.gradient, kinked, certificate.trusted, 0.0)
        seen = None if ladder.kind is Kind.UNSEEN else scale.lengths_of(local, ladder)
        return replace(certificate, lengths=seen, roughness=ladder.amplitude if ladder.alarming else 0.0)

    def _kinked(self, x: Array, local: LocalModel, certificate: Certificate, rng: np.random.Generator) -> Certificate:
        """An undecided certificate, which names a kink where one is what differences do not agree about.

        Queries: 36
        """
        if self.resolution is not None or certificate.verdict != "undecided":
            return certificate
        try:
            if not scale.kinked(local, self._lengths(local), gtol=self.gtol, curvtol=self.curvtol, rng=rng):
                return certificate
        except BudgetExhausted:
            return certificate
        jumping = rules.undecided(scale.JUMPING, certificate.curvature)
        return self.written(x, local.f0, certificate.gradient, jumping, certificate.trusted, 0.0)

    def _too_dear_above(self, local: LocalModel, below: Certificate, ladder: Ladder) -> Certificate | None:
        """An undecided certificate where another one, on steps that rise above the roughness of f, is not allowed."""
        allowance, needed = self.allowance(local), price.deciding(local.d, 1)
        if allowance.allows(min(needed, price.rows(local.d) + price.few_products(local.d))):
            return None
        reason = scale.ROUGH.format(length=ladder.length, amplitude=ladder.amplitude, verdict="not looked at")
        finding = replace(rules.undecided(reason, below.curvature), price=price.total(allowance, needed))
        return self.written(below.x, below.fun, below.gradient, finding, below.trusted, 0.0)

    def _only_below(self, below: Certificate, above: Certificate, ladder: Ladder) -> Certificate:
        """The certificate of a claim that holds on the difference steps, and not on those that rise above the roughness
        of f: neither is the whole truth."""
        reason = scale.ROUGH.format(length=ladder.length, amplitude=ladder.amplitude, verdict=above.verdict)
        finding = replace(rules.undecided(reason, below.curvature | above.curvature), price=above.price or 0)
        return self.written(below.x, below.fun, below.gradient | above.gradient, finding, above.trusted, 0.0)

    def _falls_across(self, local: LocalModel, ladder: Ladder) -> bool:
        try:
            return scale.falls_across(local, self._lengths(local), ladder)
        except (BudgetExhausted, NonFiniteValue):
            return True  # not shown otherwise

    def _lengths(self, local: LocalModel) -> Vector:
        """The lengths over which the user's variables matter, in y = x / unit."""
        y = to_numpy(local.x).astype(np.float64)
        if self.in_units or self.x_scale is not None:
            return np.full(local.d, 1.0 if self.curvature is None else reach(y, local.f.domain))
        return lengths(y, None if self.x0 is None else to_numpy(self.x0).astype(np.float64))

    def _judged(self, x: Array, local: LocalModel, known: Evidence, rng: np.random.Generator) -> Certificate:
        """The certificate that a local model leads to."""
        noise = {"noise": Trusted(local.noise.level, local.noise.source)}
        if isinstance(local, GradientModel):
            noise["jac"] = Trusted(local.slopes.level, CHECKED)
        if local.report.constant and self.resolution == 0:
            return self.written(x, local.f0, Interval(0.0, 0.0), rules.flat(), noise, 0.0)
        if why := nothing_known(local):
            finding = rules.undecided(why)
            if why == STEPS_TOO_DEAR:
                finding = replace(finding, price=price.total(self.allowance(local), price.deciding(local.d)))
            return self.written(x, local.f0, UNKNOWN, finding, noise, 0.0)
        finding, rho = self._curvature(local, rng, known.finding)
        lower = finding.curvature.lower
        if finding.certified and lower > 0:
            most = rules.largest_gradient(lower, rho.value, float(np.min(local.steps)))
            if norm2(local.gradient.value) < most <= local.gradient_norm.upper:
                local = local.sharpened(self.allowance(local).left)
        if isinstance(local, GradientModel) and not (local.shown and finding.shown):
            noise["jac"] = replace(noise["jac"], source=BELIEVED)
        certificate = self.written(x, local.f0, local.gradient_norm, finding, noise | {"rho": rho}, rho.value)
        certificate = self._with_shorter_steps(self._with_directions(certificate, finding, local), local)
        if known.newton is None and finding.hessian is not None:
            known = replace(known, newton=partial(newton_step, finding.hessian))
        if certificate.radius is None or self._minimum_holds(local, certificate.radius, lower, known):
            return certificate
        return replace(certificate, verdict="second-order", radius=None)

    @staticmethod
    def _with_directions(certificate: Certificate, finding: Finding, local: LocalModel) -> Certificate:
        """The certificate with the softest directions, and the Hessian in the variables of x."""
        soft = [SoftDirection(one.direction, one.curvature) for one in finding.softest]
        hessian = finding.hessian
        if hessian is not None:
            hessian = scaled_hessian(hessian, 1 / local.unit)
        return replace(certificate, softest=soft, hessian=hessian)

    def _with_shorter_steps(self, certificate: Certificate, local: LocalModel) -> Certificate:
        """The certificate with what can be shown at a looser curvtol: steps are shorter then, and the gradient is as
        much less exact as noise is larger beside them."""
        if certificate.attainable is None:
            return certificate
        gtol, curvtol = certificate.attainable
        shorter = float(np.min(local.steps)) / against_noise(local.noise.level, curvtol)
        error = max(shorter, 1.0) * local.gradient.error
        shown = max(gtol, RULES.room * (norm2(local.gradient.value) + error))
        return advised(replace(certificate, attainable=(shown, curvtol)))

    def _measure(
        self, f: Oracle, x: Array, rng: np.random.Generator, noise: Noise | float | str | None, began: Books
    ) -> LocalModel:
        """f around x, as far as a certificate that began then may spend on it."""
        tolerances: Any = {"curvtol": self.curvtol, "gtol": self.gtol}
        known: Any = {"rho": self.rho, "noise": noise, "x_scale": self.x_scale, "resolution": self.resolution or 0.0}
        known["allowance"] = self._allowance(f, x.shape[0], began)
        return replace(measure(f, x, **tolerances, **known, rng=rng), began=began)

    def _curvature(
        self, local: LocalModel, rng: np.random.Generator, found: Finding | None
    ) -> tuple[Finding, Trusted]:
        """The finding, as a jump of the Hessian leaves it, and the rho that "minimum" would rest on."""
        g, rho = local.gradient.value, self._rho(local, [local.third_derivative])
        try:
            finding = found or self._search(local, rng)
            jump = max(local.report.hessian_jump, finding.hessian_jump)
            finding = rules.allow_for_hessian_jump(finding, jump, self.curvtol)
            if finding.certified and self.rho is None:
                looked = [g / norm2(g)] if np.any(g) else []
                if finding.lowest is not None and finding.third == 0.0:  # else it has been looked at
                    looked.append(finding.lowest)
                thirds = [local.third_derivative_along(v) for v in looked]
                rho = self._rho(local, [local.third_derivative, finding.third, *thirds])
        except BudgetExhausted as stop:
            finding = rules.undecided(str(stop))
        return finding, rho

    def _rho(self, local: LocalModel, thirds: list[float]) -> Trusted:
        """The rho given, or what these third derivatives make of it."""
        if self.rho is not None:
            return Trusted(self.rho, "given")
        return Trusted(rules.estimated_rho(thirds), "estimated")

    def _search(self, local: LocalModel, rng: np.random.Generator) -> Finding:
        """Ask the finder; and again for positive curvature, where its answer left that open."""
        by_gradients = isinstance(local, GradientModel)  # which answer both questions at once
        finder = self._finder(self.failure if by_gradients else budget.halves(self.failure), local)
        stationary = local.gradient_norm.lower <= self.gtol
        nearly = self.curvature is not None and rules.nearly_stationary(local.gradient_norm, self.gtol)
        if not (stationary or nearly):
            # Not stationary whatever the curvature; only a direction that costs nothing is looked for.
            return finder.free_direction(local, 0.0) or rules.undecided(GRADIENT_ALONE)
        finding = finder.at(local, rng)
        if finding.hessian is not None and not finding.one_sided:  # a second look would show the same
            return finding
        open_still = stationary and not by_gradients and rules.ask_for_positive(finding.curvature, self.curvtol)
        if finding.certified and open_still:
            lifted = finder.at(local, rng, shift=RULES.lifted * self.curvtol)
            if lifted.certified:
                return replace(lifted, reason=f"{finding.reason}, and again for positive curvature")
        return finding

    def _finder(self, failure: float, local: LocalModel) -> Finder:
        """The finder asked for, spending so much failure probability."""
        most = self.allowance(local).most - PRICE.after
        if isinstance(self.finder, Finder):
            most = most if self.maxfev is not None else (self.finder.certificate_maxfev or most)
            return replace(self.finder, delta=self.curvtol, failure=failure, certificate_maxfev=most)
        if isinstance(local, GradientModel):
            return ByGradients(delta=self.curvtol, failure=failure, wanted=self.wanted(local))
        kind = FINDERS[str(self.finder)]
        if kind is Cheapest:
            wanted = self.wanted(local)
            return Cheapest(delta=self.curvtol, failure=failure, wanted=wanted, certificate_maxfev=most)
        return kind(delta=self.curvtol, failure=failure, certificate_maxfev=most)

    def wanted(self, local: LocalModel) -> float:
        """The curvature with which "minimum" could be said without a Newton step."""
        rho = self.rho if self.rho is not None else rules.estimated_rho([local.third_derivative])
        least = rules.wanted_curvature(norm2(local.gradient.value), rho, float(np.min(local.steps)))
        return max(least, (RULES.lifted - 1) * self.curvtol)  # what a second search would show at a higher price

    def _minimum_holds(self, local: LocalModel, radius: float, lower: float, known: Evidence) -> bool:
        """Whether f lies above the parabola of the least curvature, as "minimum" says, where the ball ends against the
        gradient and along the Newton step; and, if it is larger than the steps, whether that step contracts.

        Queries: 1, or 2 if a Newton step is known; those of `newton_contracts` if the ball is larger than the steps
        """
        g = local.gradient
        step: Vector | None = None if known.newton is None else known.newton(g.value)
        ways = [g.value] if step is None else [g.value, -step]
        ends = np.array([-radius * way / np.linalg.norm(way) for way in ways if np.any(way)])
        try:
            if len(ends):
                least = local.f0 + ends @ g.value + lower * radius**2 / 2 - g.error * radius - 4 * local.noise.norm(1)
                if np.any(local.values(ends, "check") < least):
                    return False
            if radius <= float(np.min(local.steps)):
                return True
            beyond = step is not None and float(np.linalg.norm(step)) > radius
            return not beyond and newton_contracts(local, step, self.allowance(local))  # beyond it, it proves nothing
        except (BudgetExhausted, NonFiniteValue):
            return False

    # Sampled functions

    def _sampled(self, f: Oracle, x: Array, rng: np.random.Generator, known: Evidence) -> Certificate:
        """The same for a sampled function: by tests on fresh samples, or with a finder of samples, half the failure
        probability for the gradient, half for its curvature."""
        if known.shown is not None or (known.finding is None and self.finder == "auto"):
            return self._on_fresh_samples(f, x, rng, known.shown)
        gradient, fun = UNKNOWN, math.nan
        trusted: dict[str, Trusted] = {}
        half = budget.halves(self.failure)
        finder = self._sampled_finder(half)
        try:
            unit = as_scale(self.x_scale, x)
            gradient = sampled_gradient(f, x, unit=unit, gtol=self.gtol, failure=half, rng=rng, noise=self.noise)
            if gradient.lower > self.gtol:
                finding = rules.undecided(GRADIENT_ALONE)
            elif known.finding is not None:
                finding = known.finding
                trusted = {"the search's variances": Trusted(SAMPLING.rare, "estimated from samples")}
            else:
                finding, fun, trusted = self._sampled_curvature(f, x, rng, finder)
        except BudgetExhausted as stop:
            finding = rules.undecided(str(stop))
        whole = isinstance(f.samples, int) and f.samples <= SAMPLING.whole
        if not whole or not isinstance(finder, Minibatch):
            trusted["samples rarer than"] = Trusted(SAMPLING.rare, "not looked for")
        rho = trusted["rho"].value if "rho" in trusted else math.inf
        certificate = self.written(x, fun, gradient, finding, trusted, rho)
        if certificate.radius is None or rules.within_reach(certificate.radius, epsilon(x)):
            return certificate
        return replace(certificate, verdict="second-order", radius=None)

    def on_samples(self, d: int, f: Oracle) -> SampledCertifier:
        """The tests on fresh samples; a tenth of the failure probability is left for the whole sum."""
        return SampledCertifier(
            gtol=self.gtol,
            curvtol=self.curvtol,
            failure=RULES.samples * self.failure,
            noise=self.noise,
            resolution=self.resolution or 0.0,
            evidence=self.evidence,
            allowance=GROUPS.allowance * (d + 1) if f.samples == "stream" and f.remaining == math.inf else math.inf,
        )

    def _on_fresh_samples(
        self, f: Oracle, x: Array, rng: np.random.Generator, shown: Shown | None
    ) -> Certificate:
        """The certificate by tests on samples drawn independently of x; a small sum is taken whole."""
        unit = None if self.x_scale is None else like(as_scale(self.x_scale, x), x)
        g, y = (f, x) if unit is None else (f.scaled(unit), x / unit)
        tests = self.on_samples(x.shape[0], f)
        if shown is None:
            shown = tests(g, y, rng) if tests.looks(f, x.shape[0]) else None
        if shown is None:
            last = replace(self, failure=(1 - RULES.samples) * self.failure, began=Books.of(f))
            whole = last._plain(f.summed(), x, rng, Evidence())
            return replace(whole, failure=self.failure)
        finding = shown.finding
        if unit is not None and finding.direction is not None:
            way = finding.direction * unit
            finding = replace(finding, direction=way / float(np.linalg.norm(to_numpy(way))))
        trusted = shown.trusted | ({"rho": self._trusted_rho(shown.rho)} if math.isfinite(shown.rho) else {})
        certificate = self.written(x, shown.fun, shown.gradient, finding, trusted, self._trusted_rho(shown.rho).value)
        if shown.needed:
            remedy = f"raise maxfev: about {shown.needed:.2g} queries for this certificate alone; {certificate.remedy}"
            certificate = replace(certificate, remedy=remedy)
        if certificate.radius is None or rules.within_reach(certificate.radius, epsilon(x)):
            return certificate
        return replace(certificate, verdict="second-order", radius=None)

    def _trusted_rho(self, estimated: float) -> Trusted:
        """The rho given, or the one estimated."""
        return Trusted(estimated, "estimated") if self.rho is None else Trusted(self.rho, "given")

    def _sampled_curvature(
        self, f: Oracle, x: Array, rng: np.random.Generator, finder: SampledFinder
    ) -> tuple[Finding, float, dict[str, Trusted]]:
        if not isinstance(finder, Minibatch):
            return finder(f, x, rng), math.nan, {}
        around = SampledModel.measure(f, x, delta=self.curvtol, rng=rng, x_scale=self.x_scale, noise=self.noise)
        finding, near, error = finder.look_at_batch(around, rng)
        finding = rules.allow_for_hessian_jump(
            finding, max(near.report.hessian_jump, finding.hessian_jump), self.curvtol
        )
        thirds = [] if finding.lowest is None else [near.third_derivative_along(finding.lowest)]
        return finding, near.f0, {
            "batch error": Trusted(error, "estimated" if error else "whole sum"),
            "noise": Trusted(near.noise.level, near.noise.source),
            "rho": self._rho(near, [near.third_derivative, finding.third, *thirds]),
        }

    def _sampled_finder(self, failure: float) -> SampledFinder:
        if isinstance(self.finder, SampledFinder):
            return replace(self.finder, delta=self.curvtol, failure=failure)
        kind = SAMPLED_FINDERS.get(self.finder, Minibatch) if isinstance(self.finder, str) else Minibatch
        return kind(delta=self.curvtol, failure=failure, x_scale=self.x_scale, noise=self.noise)

    def _require_fitting_finder(self, *, sampled: bool) -> None:
        name = self.finder if isinstance(self.finder, str) else self.finder.name
        if name != "auto" and (name in SAMPLED_FINDERS) is not sampled:
            kind, names = ("a sampled", SAMPLED_FINDERS) if sampled else ("a plain", FINDERS)
            raise MissingCapability(
                f"finder={name!r} is not for {kind} function: choose 'auto' or one of {', '.join(sorted(names))}"
            )

    # The certificate

    def written(
        self, x: Array, fun: float, gradient: Interval, finding: Finding, trusted: dict[str, Trusted], rho: float
    ) -> Certificate:
        """What was shown, with its verdict."""
        gtol, curvtol = self.gtol, self.curvtol
        verdict, radius = rules.verdict_of(gradient, finding, gtol=gtol, curvtol=curvtol, rho=rho)
        dear = f"; {TOO_DEAR.format(price=finding.price)}" if finding.price else ""
        written = Certificate(
            verdict=verdict,
            gradient=gradient,
            curvature=finding.curvature,
            direction=finding.direction,
            radius=radius,
            x=x,
            fun=fun,
            gtol=gtol,
            curvtol=curvtol,
            failure=self.failure,
            finder=finding.finder,
            reason=finding.reason + dear,
            attainable=rules.attainable(verdict, gradient, finding, gtol=gtol, curvtol=curvtol),
            price=finding.price or None,
            trusted=trusted,
            scaled=self.in_units or self.x_scale is not None,
        )
        return advised(written)
