"""How a run goes through noise: a search on regression models, what it keeps back of the budget, and what comes after.

The search ends where nothing more is to be gained, or with the budget. Its answer is evaluated afresh. Where noise is
gone, or f smooth below the length at which it is rough, the run goes on with differences. Where the certificate may
hold at that noise, or enough queries are left to see what it leaves, it is asked for; else the run ends, and nothing is
claimed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from ..._array import Matrix, Vector
from ...certificate import rules
from ...curvature import Evidence
from ...derivatives.ladder import climb
from ...derivatives.noise import Noise
from ...derivatives.settings import STEPS
from ...derivatives.units import reach
from ...derivatives.values import ValueKind, ValueReport, fresh
from ...errors import BudgetExhausted, MissingValue, TimeExhausted
from ...interval import Estimate
from ...stopping import Ending, Stop
from .differences import Differences
from .noisy import Answer, Search
from .point import Point
from .settings import NOISY

HIDDEN = (
    "noise of {noise:.2g} hides gradients and curvatures as small as the tolerances: they were not looked for; noise "
    "below {least:.2g} would show them, as would larger tolerances"
)
SPENT = "the budget left no room for a certificate, which needs {price} queries"


class Then(Enum):
    """What follows a search."""

    DESCEND = auto()
    """Differences: there is no noise any more."""
    CERTIFY = auto()
    """The certificate."""
    END = auto()
    """Nothing: it could not hold."""


@dataclass(frozen=True)
class Conclusion:
    """Where a search ended."""

    p: Point
    then: Then
    value: Estimate[float] | None = None
    """The mean of fresh values there, with its standard error; 0 if f is deterministic."""
    ending: Ending | None = None


@dataclass
class ThroughNoise:
    """The phase NOISY of a run."""

    differences: Differences
    search: Search
    path: Iterator[tuple[Vector, float]]
    reserved: int = 0
    """Queries kept back for fresh values, and for a certificate that may hold."""
    hessian: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    """Of the last model."""

    @classmethod
    def begin(cls, differences: Differences, rng: np.random.Generator, report: ValueReport, p: Point) -> ThroughNoise:
        """The phase from a point on."""
        search = Search.begin(differences, rng, report, p.y, p.f)
        phase = cls(differences, search, search.run())
        phase._reserve(int(min(NOISY.kept, differences.f.remaining)) if math.isfinite(differences.f.remaining) else 0)
        return phase

    def advance(self) -> Point | Conclusion:
        """The next point of the search, or its end."""
        try:
            y, value = next(self.path, (None, 0.0))
        except BudgetExhausted:
            return self._concluded(spent=True)
        except TimeExhausted:
            return self._concluded(spent=True)
        if y is None:
            return self._concluded(spent=False)
        self._keep_back_a_certificate(value)
        return Point(y, value)

    # Budgets

    def _reserve(self, queries: int) -> None:
        self.differences.f.reserve(queries)
        self.reserved += queries

    def _keep_back_a_certificate(self, value: float) -> None:
        """Keep the price of a certificate, where one may hold and the budget is large."""
        price = certificate_price(self.differences.d)
        large = price <= NOISY.reserve * self.differences.f.remaining
        noise = float(self.search.law.deviation(np.array([value]))[0])
        if self.reserved <= NOISY.kept and large and self._certifiable(noise):
            self._reserve(price)

    def _certifiable(self, noise: float) -> bool:
        return noise <= largest_noise(self.differences)

    # The end

    def _concluded(self, *, spent: bool) -> Conclusion:
        differences, f = self.differences, self.differences.f
        self._reserve(-self.reserved)
        answers = self.search.answers()
        answer = answers[0]
        self.hessian = answer.hessian
        if (self.search.exact or self.search.smooth) and not spent:
            return Conclusion(Point(answer.y, differences.value(answer.y)), Then.DESCEND)
        answer, value = self._fresh(answers)
        p = Point(answer.y, answer.value if value is None else value.value)
        price = certificate_price(differences.d)
        may_hold = self._certifiable(answer.noise)
        if f.remaining >= price * (1 if may_hold else NOISY.generous) and (may_hold or not spent):
            return Conclusion(p, Then.CERTIFY, value)
        least = largest_noise(differences)
        hidden = {"noise": answer.noise * f.value_unit, "least": least * f.value_unit}
        reason = SPENT.format(price=price) if may_hold else HIDDEN.format(**hidden)
        stop = Stop.BUDGET if may_hold else Stop.NOISE_LIMITED
        evidence = Evidence(finding=rules.undecided(reason))
        return Conclusion(p, Then.END, value, Ending(stop, evidence, value, final=True))

    def _fresh(self, answers: list[Answer]) -> tuple[Answer, Estimate[float] | None]:
        """The first of these answers at which f is what the model thinks, and the mean of fresh values there.

        Queries: 2 for each answer that is not taken, and `NOISY.fresh`
        """
        f, last = self.differences.f.tagged("check"), answers[-1]
        for answer in answers:
            try:
                x, most = self.differences.array(answer.y), int(min(NOISY.fresh, f.remaining))
                first = fresh(f, x, 2)
                high = first.value > answer.value + NOISY.clearly * max(answer.noise, first.error)
                if not high or answer is last:
                    return answer, first if first.error == 0.0 or most < 2 else fresh(f, x, most)
            except (BudgetExhausted, TimeExhausted):
                return answer, None
            except MissingValue:
                continue
        return last, None


def certificate_price(d: int) -> int:
    """About what a certificate costs where noise leaves no products: rows, all second differences, the ladder."""
    return 6 * d + NOISY.checks + d * (d - 1) // 2


def largest_noise(differences: Differences) -> float:
    """The standard deviation of noise that leaves the tolerances visible on the longest steps."""
    d, h = differences.d, STEPS.longest
    errors = Noise(1.0, "estimated").norm(d)
    return min(differences.gtol * math.sqrt(2) * h / errors, differences.curvtol * h**2 / (2 * errors))


def roughness_report(differences: Differences, p: Point, rng: np.random.Generator) -> ValueReport | None:
    """The report of a function that is rough around p, if it is.

    Queries: 36
    """
    x, ones = differences.array(p.y), differences.ones
    noise = Noise(differences.value_error(p.f), "rounding")
    known = {"gtol": differences.gtol, "curvtol": differences.curvtol, "rng": rng}
    ladder = climb(differences.f, x, ones, reach(p.y, differences.f.domain) * ones, p.f, noise, **known)  # type: ignore[arg-type]
    if not ladder.alarming:
        return None
    return ValueReport(ValueKind.NOISE, ladder.amplitude, abs(p.f), spacing=ladder.length)
