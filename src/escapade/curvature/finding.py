"""What a curvature finder is, and what it answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, Self

import numpy as np

from .. import budget
from .._array import Array, Matrix, Vector, like, to_numpy
from ..derivatives.measure import Allowance, LocalModel, measure
from ..errors import BudgetExhausted
from ..interval import Interval
from ..oracle import Oracle
from ..tolerances import require_positive, require_probability
from . import price

CONSTANT = (
    "f does not change at all over the longest steps: it is constant here, or given in larger units than its changes"
)

ROUGH = "f has structure below every step that precision resolves: it is rough, or noisy"

ANYWHERE = Interval(-math.inf, math.inf)


def nothing_known(local: LocalModel) -> str:
    """Why nothing can be said from a local model; empty if something can."""
    report = local.report
    return report.reason or (CONSTANT if report.constant else ROUGH if report.rough else "")


class Outcome(Enum):
    """The three answers. ⊥ alone cannot tell the last two apart; here they are never confused."""

    FOUND = "a direction of negative curvature was found and confirmed"
    CERTIFIED = "no curvature below the tolerance, with the stated confidence"
    UNDECIDED = "neither was shown"


@dataclass(frozen=True)
class Soft:
    """A direction along which f curves little."""

    direction: Vector
    """A unit vector in y = x / unit."""
    curvature: Interval
    """Holds the curvature along it."""


@dataclass(frozen=True)
class Finding:
    """The answer of a finder at a point.

    `direction` is a unit vector (in the user's variables) along which f curves down and does not rise to first
    order, or None (the paper's ⊥). `curvature` holds the smallest eigenvalue of the Hessian, as far as was shown.
    """

    outcome: Outcome
    """Found, certified, or undecided."""
    direction: Array = None
    """A unit vector of negative curvature, where one was found."""
    curvature: Interval = ANYWHERE
    """Holds the smallest eigenvalue of the Hessian."""
    reason: str = ""
    """How it was reached."""
    finder: str = ""
    """Who says so."""
    lowest: Vector | None = None
    """The unit direction of least curvature seen, where one was looked at."""
    third: float = 0.0
    """The largest third derivative that was seen."""
    hessian_jump: float = 0.0
    """The largest jump of the curvature at x that was seen along a direction."""
    price: int = 0
    """Where what is allowed ended the search: what a certificate may cost for it to go on; else 0."""
    softest: tuple[Soft, ...] = ()
    """The softest directions that were seen, the softest first."""
    hessian: Matrix | None = None
    """The Hessian in y = x / unit, where all second differences were taken."""
    shown: bool = True
    """Whether values show it; else it rests on the user's derivatives, which they do not contradict."""
    one_sided: bool = False
    """Whether these were taken on one side: more would show more."""

    @property
    def found(self) -> bool:
        """A direction was found and confirmed."""
        return self.outcome is Outcome.FOUND

    @property
    def certified(self) -> bool:
        """The curvature was shown to be at least -delta."""
        return self.outcome is Outcome.CERTIFIED


@dataclass(frozen=True)
class Evidence:
    """What a method hands over about its last iterate: the certifier alone turns it into a verdict."""

    finding: Finding | None = None
    """What a finder said there."""
    local: LocalModel | None = None
    """What was measured around that iterate, which need not be measured again."""
    newton: Callable[[Vector], Vector] | None = None
    """From the gradient g there to the step -H^-1 g, which should lead to the minimiser nearby."""
    shown: Any = None
    """What a method's own tests on fresh samples showed of that iterate: a `certificate.sampled.Shown`."""
    certificate: Any = None
    """A certificate that was made of it already."""

    def elsewhere(self, x: Array) -> bool:
        """Whether something was measured, and around another point."""
        return self.local is not None and not np.array_equal(to_numpy(self.local.x), to_numpy(x))


@dataclass(frozen=True, kw_only=True)
class Finder(ABC):
    """A curvature finder: `finder(f, x, rng) -> Finding`."""

    delta: float
    """The curvature tolerance: certify that the Hessian is at least -delta, or find a direction below -delta/2."""
    failure: float = 1e-3
    """The probability with which a certificate may be false."""
    noise: float | str | None = None
    """None (rounding), "auto", or the standard deviation of the error of f."""
    x_scale: Any = None
    """The scale of the variables; curvature is then that in x / x_scale."""
    depth: float = 0.5
    """A direction is FOUND once its curvature is shown to be at most -depth * delta."""
    certificate_maxfev: float | None = None
    """What a certificate may cost, its local model included and the ladder of lengths apart. None: what its price
    allows for "auto", and no bound for others; the paper's finders know none."""

    name: ClassVar[str]
    uses_gradients: ClassVar[bool] = False
    """Whether it takes the user's gradients, where there are any."""

    def __post_init__(self) -> None:
        require_positive("delta", self.delta)
        require_probability("failure", self.failure)

    def __call__(self, f: Oracle, x: Array, rng: np.random.Generator) -> Finding:
        """Look for negative curvature at x; a budget that runs out is an undecided answer."""
        try:
            return self.within(self.look(f, x, rng), rng)
        except BudgetExhausted as stop:
            return Finding(Outcome.UNDECIDED, reason=str(stop), finder=self.name)

    def attempt(self, j: int) -> Self:
        """The same finder with what attempt j of a run may spend, so that all of them spend p."""
        return replace(self, failure=budget.of_attempt(self.failure, j))

    def within(self, local: LocalModel, rng: np.random.Generator) -> Finding:
        """The same where f is measured already, if anything can be said of it."""
        why = nothing_known(local)
        return self.undecided(why) if why else self.at(local, rng)

    def look(self, f: Oracle, x: Array, rng: np.random.Generator, gtol: float = math.inf) -> LocalModel:
        """The local model this finder works on, with a gradient that is good enough for this tolerance."""
        return measure(f, x, curvtol=self.delta, gtol=gtol, noise=self.noise, x_scale=self.x_scale, rng=rng)

    @abstractmethod
    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        """The same where f is measured already, for the Hessian less `shift` times the identity."""

    def allowance(self, local: LocalModel) -> Allowance:
        """What it may spend."""
        most = math.inf if self.certificate_maxfev is None else self.certificate_maxfev
        return Allowance(local.f, most, local.began)

    # Answers

    def confirm(self, local: LocalModel, v: Vector, shift: float, reason: str) -> Finding:
        """FOUND if second differences along v show a curvature of at most -depth delta, else UNDECIDED.

        Queries: 6 or a few more
        """
        v = v / np.linalg.norm(v)
        threshold = shift - self.depth * self.delta
        along = local.curvature_along(v, threshold)
        seen = along.interval
        if seen.upper > threshold or (threshold < 0 and not along.at_most(threshold)):
            reason = f"{reason}, but second differences along it say {seen}"
            found = self.undecided(reason, Interval(-math.inf, max(seen.upper, threshold)), v)
            return replace(found, softest=(Soft(v, seen),))
        closer = local.least_curvature_along(v)
        if closer > threshold:
            reason = f"{reason}, but on a much shorter step its curvature is at least {closer:.3g}"
            return self.undecided(reason, ANYWHERE, v)
        if float(local.gradient.value @ v) > 0:
            v = -v
        step = v * local.unit
        return Finding(
            Outcome.FOUND,
            like(step / np.linalg.norm(step), local.x),
            Interval(-math.inf, seen.upper),
            f"{reason}, confirmed by second differences along it: {seen}",
            self.name,
            v,
        )

    def free_direction(self, local: LocalModel, shift: float) -> Finding | None:
        """A coordinate along which the diagonal of the Hessian is clearly negative, confirmed; or None.

        Queries: 4 or a few more, and only if there is one
        """
        diagonal, error = local.diagonal.value, local.diagonal.error
        worst = int(np.argmin(diagonal + error))
        if diagonal[worst] + error[worst] - shift > -self.depth * self.delta:
            return None
        finding = self.confirm(local, np.eye(1, local.d, worst)[0], shift, f"coordinate {worst} curves down")
        return finding if finding.found else None

    def certified(self, curvature: Interval, reason: str, lowest: Vector | None = None) -> Finding:
        """The answer: at least -delta."""
        return Finding(Outcome.CERTIFIED, None, curvature, reason, self.name, lowest)

    def too_dear(self, finding: Finding, allowance: Allowance, queries: float) -> Finding:
        """An undecided finding, with the price of going on."""
        return replace(finding, price=price.total(allowance, queries))

    def undecided(self, reason: str, curvature: Interval = ANYWHERE, lowest: Vector | None = None) -> Finding:
        """The honest answer."""
        return Finding(Outcome.UNDECIDED, None, curvature, reason, self.name, lowest)

