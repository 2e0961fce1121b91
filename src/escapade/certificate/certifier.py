"""The work of `certify`, on an oracle: the driver certifies the points of its methods with it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._array import Array, epsilon, norm2
from ..curvature import FINDERS, SAMPLED_FINDERS, Finder, Finding, Minibatch, Outcome, SampledFinder
from ..curvature.finding import ANYWHERE, blank
from ..curvature.newton import newton_contracts
from ..derivatives.measure import Interval, Neighbourhood, Vector, as_scale
from ..derivatives.sampling import RARE, WHOLE, SampledNeighbourhood, sampled_gradient
from ..errors import BudgetExhausted, InvalidSetting, MissingCapability, MissingValue, NonFiniteValue
from ..oracle import Oracle
from .certificate import Certificate, Trusted, Verdict

RHO_SAFETY = 3.0
"""The largest third derivative seen is multiplied by this before "minimum" is said."""

JUMPS = "the curvature of f jumps at x: it is another on one side than on the other"
SMOOTHER = "certificates need a continuous curvature: smooth f there (a max, an abs or a penalty may be inside)"

REACH = 1000.0
"""A tolerance of more than so many times the one asked for is not worth suggesting."""

QUIETER = (
    "lower the noise of f, tighten the solvers inside it, compute it to more digits, or pass x_scale if the variables "
    "are of very different sizes"
)


class Certifier:
    """A certificate of any point of an oracle, to given tolerances."""

    def __init__(
        self,
        *,
        gtol: float,
        curvtol: float,
        failure: float,
        noise: float | str | None = None,
        x_scale: Any = None,
        rho: float | None = None,
        finder: str | Finder = "auto",
    ) -> None:
        names = sorted(FINDERS | SAMPLED_FINDERS)
        if not isinstance(finder, Finder | SampledFinder) and finder not in names:
            raise InvalidSetting(f"finder={finder!r} must be one of {', '.join(names)}, or a Finder")
        self.gtol, self.curvtol, self.failure = gtol, curvtol, failure
        self.noise, self.x_scale, self.rho, self._finder = noise, x_scale, rho, finder
        self._finding: Finding | None = None
        self._here: Neighbourhood | None = None
        self._newton: Callable[[Vector], Vector] | None = None

    def _require_fitting_finder(self, *, sampled: bool) -> None:
        name = self._finder if isinstance(self._finder, str) else self._finder.name
        if name != "auto" and (name in SAMPLED_FINDERS) is not sampled:
            kind, names = ("a sampled", SAMPLED_FINDERS) if sampled else ("a plain", FINDERS)
            raise MissingCapability(
                f"finder={name!r} is not for {kind} function: choose 'auto' or one of {', '.join(sorted(names))}"
            )

    def finder(self, failure: float) -> Finder:
        """The finder asked for, spending so much failure probability."""
        if isinstance(self._finder, Finder):
            return replace(self._finder, delta=self.curvtol, failure=failure)
        return FINDERS[self._finder](delta=self.curvtol, failure=failure)

    def __call__(self, f: Oracle, x: Array, rng: np.random.Generator) -> Certificate:
        """The certificate of x. A budget that runs out leaves what was shown until then."""
        before, rounds = (dict(f.ledger.by_purpose), f.ledger.rounds) if self._here is None else self._here.began
        sampled = f.samples is not None and f.batch is None
        self._require_fitting_finder(sampled=sampled)
        try:
            certificate = self._sampled(f, x, rng) if sampled else self._plain(f, x, rng)
        except MissingValue as lost:
            certificate = self._verdict(x, math.nan, Interval(0.0, math.inf), _undecided(str(lost)), {}, 0.0)
            remedy = "make f answer around x: mend it there, or raise retries or timeout"
            certificate = replace(certificate, remedy=remedy)
        spent = {k: n - before.get(k, 0) for k, n in f.ledger.by_purpose.items() if n > before.get(k, 0)}
        return replace(
            certificate, nfev=sum(spent.values()), nfev_by_purpose=spent, nrounds=f.ledger.rounds - rounds
        )

    def conclude(
        self,
        f: Oracle,
        x: Array,
        finding: Finding,
        rng: np.random.Generator,
        here: Neighbourhood | None = None,
        newton: Callable[[Vector], Vector] | None = None,
    ) -> Certificate:
        """The certificate of a point whose curvature a finder has already looked at: only the gradient is measured, and
        not even that if its neighbourhood is known."""
        known = copy.copy(self)
        known._finding, known._finder, known._here, known._newton = finding, "auto", here, newton
        return known(f, x, rng)

    def _plain(self, f: Oracle, x: Array, rng: np.random.Generator) -> Certificate:
        try:
            here = self._here or Neighbourhood.measure(
                f, x, curvtol=self.curvtol, noise=self.noise, x_scale=self.x_scale, gtol=self.gtol, rng=rng
            )
        except BudgetExhausted as stop:
            return self._verdict(x, math.nan, Interval(0.0, math.inf), _undecided(str(stop)), {}, 0.0)
        if why := blank(here):
            noise = {"noise": Trusted(here.noise.level, here.noise.source)}
            return self._verdict(x, here.f0, Interval(0.0, math.inf), _undecided(why), noise, 0.0)
        gradient, finding, rho = self.examine(here, rng)
        trusted = {"noise": Trusted(here.noise.level, here.noise.source), "rho": rho}
        if self._blurred(here, finding, rho.value):
            here.sharpen()
            gradient = here.slope(self.rho)
        certificate = self._verdict(x, here.f0, gradient, finding, trusted, rho.value)
        try:
            settled = certificate.radius is None or self._settled(here, certificate.radius, certificate.curvature.lower)
        except (BudgetExhausted, NonFiniteValue):
            settled = False
        return certificate if settled else replace(certificate, verdict="second-order", radius=None)

    def _blurred(self, here: Neighbourhood, finding: Finding, rho: float) -> bool:
        """Whether the error of the gradient alone is in the way of "minimum" within the steps."""
        lower, upper = finding.curvature.lower, here.slope(self.rho).upper
        most = min(lower * float(np.min(here.steps)) / 2, lower**2 / (2 * rho + 1e-300))
        return finding.certified and lower > 0 and norm2(here.gradient(self.rho)[0]) < most <= upper

    def _settled(self, here: Neighbourhood, radius: float, lower: float) -> bool:
        """Whether f lies above the parabola of the least curvature, as "minimum" says, where the ball ends against the
        gradient and along the Newton step; and, if it is larger than the steps, whether that step contracts.

        Queries: 1, or 2 if a Newton step is known; those of `newton_contracts` if the ball is larger than the steps
        """
        (g, error), step = here.gradient(), None
        ways = [g]
        if self._newton is not None:
            step = self._newton(g)
            ways.append(-step)
        ends = np.array([-radius * way / np.linalg.norm(way) for way in ways if np.any(way)])
        if len(ends):
            least = here.f0 + ends @ g + lower * radius**2 / 2 - error * radius - 4 * here.noise.norm(1)
            if np.any(here.f.tagged("check")(here.around(ends)) < least):
                return False
        if radius <= float(np.min(here.steps)):
            return True
        beyond = step is not None and float(np.linalg.norm(step)) > radius
        return not beyond and newton_contracts(here, step)  # beyond the ball it proves nothing

    def examine(self, here: Neighbourhood, rng: np.random.Generator) -> tuple[Interval, Finding, Trusted]:
        """The gradient's interval, the finding, and the rho that "minimum" would rest on."""
        g, gradient, rho = here.gradient(self.rho)[0], here.slope(self.rho), self._rho(here, [])
        try:
            finding = self._even(here, self._look(here, gradient, rng))
            if finding.certified:
                looked = [g / norm2(g)] if np.any(g) else []
                if finding.lowest is not None and finding.third == 0.0:  # else it has been looked at
                    looked.append(finding.lowest)
                rho = self._rho(here, looked, finding.third)
        except BudgetExhausted as stop:
            finding = _undecided(str(stop))
        return gradient, finding, rho

    def _even(self, here: Neighbourhood, finding: Finding) -> Finding:
        """The finding, as far as a jump of the curvature at x leaves it: differences on both sides do not show one."""
        jump = 1.2 * max(here.jumps)
        if not finding.certified or jump == 0.0:
            return finding
        lower, upper = finding.curvature.lower - jump, finding.curvature.upper
        if lower >= -self.curvtol:
            return replace(finding, curvature=Interval(lower, upper))
        return _undecided(JUMPS, Interval(-math.inf, upper))

    def _rho(self, here: Neighbourhood, directions: list[Vector], third: float = 0.0) -> Trusted:
        """The rho given, or the largest third derivative seen along the coordinates, these directions and in products,
        times 3."""
        if self.rho is not None:
            return Trusted(self.rho, "given")
        seen = [third, here.third_derivative(), *(here.third_along(v) for v in directions)]
        return Trusted(RHO_SAFETY * max(seen), "estimated")

    def _look(self, here: Neighbourhood, gradient: Interval, rng: np.random.Generator) -> Finding:
        if self._finding is not None:
            return self._finding
        if gradient.lower > self.gtol:
            # Not stationary whatever the curvature; only a direction that costs nothing is looked for.
            free = self.finder(self.failure / 2).free_direction(here, 0.0)
            return free or _undecided("the gradient alone decides, and the curvature was not looked at")
        finding = self.finder(self.failure / 2).at(here, rng)
        if finding.certified and finding.curvature.lower <= 0 and finding.curvature.upper > 2 * self.curvtol:
            # At least -curvtol, and perhaps positive: ask the same of the Hessian less 3/2 curvtol.
            lifted = self.finder(self.failure / 2).at(here, rng, shift=1.5 * self.curvtol)
            if lifted.certified:
                return replace(lifted, reason=f"{finding.reason}, and again for positive curvature")
        return finding

    def _verdict(
        self, x: Array, fun: float, gradient: Interval, finding: Finding, trusted: dict[str, Trusted], rho: float
    ) -> Certificate:
        curvature = finding.curvature
        verdict: Verdict = "undecided"
        radius, remedy = None, ""
        if finding.found:
            verdict = "saddle"
        elif gradient.lower > self.gtol:
            verdict = "not stationary"
        elif gradient.upper <= self.gtol and finding.certified and curvature.lower >= -self.curvtol:
            verdict = "second-order"
            if curvature.lower > 0 and rho * gradient.upper < curvature.lower**2 / 2:
                verdict, radius = "minimum", 2 * gradient.upper / curvature.lower  # rho is a guess: twice |g| / lambda
        else:
            remedy = SMOOTHER if finding.reason == JUMPS else self._remedy(gradient, curvature)
        return Certificate(
            verdict=verdict,
            gradient=gradient,
            curvature=curvature,
            direction=finding.direction,
            radius=radius,
            x=x,
            fun=fun,
            gtol=self.gtol,
            curvtol=self.curvtol,
            failure=self.failure,
            finder=finding.finder,
            reason=finding.reason,
            remedy=remedy,
            trusted=trusted,
            scaled=self.x_scale is not None,
        )

    def _remedy(self, gradient: Interval, curvature: Interval) -> str:
        bounds = {"gtol": (self.gtol, gradient.upper), "curvtol": (self.curvtol, -curvature.lower)}
        missed = {name: both for name, both in bounds.items() if both[0] < both[1] < math.inf}
        far = [f"{name}={asked:.2g}" for name, (asked, shown) in missed.items() if 1.1 * shown > REACH * asked]
        if far:
            return f"precision and noise are more than {REACH:g} times too coarse for {' and '.join(far)}: {QUIETER}"
        if missed:
            parts = [f"{name}={1.1 * shown:.2g}" for name, (_, shown) in missed.items()]
            return f"precision and noise allow {' and '.join(parts)} to be certified here"
        return "raise maxfev, curvtol or gtol, or lower the noise of f"

    def _sampled(self, f: Oracle, x: Array, rng: np.random.Generator) -> Certificate:
        """The same for a sampled function: half the failure probability for the gradient, half for the curvature."""
        gradient, fun = Interval(0.0, math.inf), math.nan
        trusted: dict[str, Trusted] = {}
        try:
            unit, half = as_scale(self.x_scale, x), self.failure / 2
            gradient = sampled_gradient(f, x, unit=unit, gtol=self.gtol, failure=half, rng=rng, noise=self.noise)
            if gradient.lower > self.gtol:
                finding = _undecided("the gradient alone decides, and the curvature was not looked at")
            else:
                finding, fun, trusted = self._sampled_curvature(f, x, rng)
        except BudgetExhausted as stop:
            finding = _undecided(str(stop))
        whole = isinstance(f.samples, int) and f.samples <= WHOLE
        if not whole or not isinstance(self._sampled_finder(), Minibatch):
            trusted["samples rarer than"] = Trusted(RARE, "not looked for")
        rho = trusted["rho"].value if "rho" in trusted else math.inf
        certificate = self._verdict(x, fun, gradient, finding, trusted, rho)
        if certificate.radius is not None and certificate.radius > epsilon(x) ** 0.25:
            return replace(certificate, verdict="second-order", radius=None)  # further than differences have looked
        return certificate

    def _sampled_curvature(
        self, f: Oracle, x: Array, rng: np.random.Generator
    ) -> tuple[Finding, float, dict[str, Trusted]]:
        if self._finding is not None:
            return self._finding, math.nan, {"the search's variances": Trusted(RARE, "estimated from samples")}
        finder = self._sampled_finder()
        if not isinstance(finder, Minibatch):
            return finder(f, x, rng), math.nan, {}
        scale = {"x_scale": self.x_scale, "noise": self.noise}
        around = SampledNeighbourhood.measure(f, x, delta=self.curvtol, rng=rng, **scale)
        finding, near, error = finder.look_at_batch(around, rng)
        finding = self._even(near, finding)
        rho = self._rho(near, [] if finding.lowest is None else [finding.lowest])
        return finding, near.f0, {
            "batch error": Trusted(error, "estimated" if error else "whole sum"),
            "noise": Trusted(near.noise.level, near.noise.source),
            "rho": rho,
        }

    def _sampled_finder(self) -> SampledFinder:
        if isinstance(self._finder, SampledFinder):
            return replace(self._finder, delta=self.curvtol, failure=self.failure / 2)
        kind = SAMPLED_FINDERS.get(self._finder, Minibatch) if isinstance(self._finder, str) else Minibatch
        return kind(delta=self.curvtol, failure=self.failure / 2, x_scale=self.x_scale, noise=self.noise)


def _undecided(reason: str, curvature: Interval = ANYWHERE) -> Finding:
    return Finding(Outcome.UNDECIDED, curvature=curvature, reason=reason)
