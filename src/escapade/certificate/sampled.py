"""Certificates of averages: from samples drawn independently of x, from the whole of a finite sum, or from a stream.

Gradient and curvature are tested on groups of samples that x was not fitted on (`curvature/group_bounds.py`). The
failure probability is divided among looks, each of which takes more samples than the one before, and in each among
gradient and curvature. The gradient of a finite sum is taken whole, so that no rare sample can hide there; with
`evidence="whole"` so is the curvature, along random directions (`curvature/small_ball.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .. import budget
from .._array import Array, Matrix, Vector, like, norm2, to_numpy
from ..curvature import Finding, Outcome
from ..curvature.finding import ANYWHERE, nothing_known
from ..curvature.group_bounds import EigenvalueBound, gradient_norm, smallest_eigenvalue, student
from ..curvature.small_ball import directions, forms_for, radius_of, relative_spread
from ..derivatives.groups import (
    FreshSamples,
    GroupDifferences,
    WholeRow,
    few_samples,
    first_order,
    second_order,
    standard_error,
)
from ..derivatives.measure import Books, LocalModel, measure
from ..derivatives.settings import CONSISTENCY, GROUPS, PRODUCTS, STEPS
from ..errors import BudgetExhausted
from ..interval import Interval
from ..oracle import Oracle, points
from . import rules
from .certificate import Trusted

Source = Literal["sampled", "whole"]
NOT_SMALL = "the gradient alone decides"
FINDER = "groups"


@dataclass(frozen=True)
class Shown:
    """What samples showed of a point."""

    gradient: Interval
    finding: Finding
    fun: float
    trusted: dict[str, Trusted]
    rho: float = math.inf
    needed: float = 0.0
    """Queries that are expected to decide, where these did not."""
    row: WholeRow | None = None
    began: Books = field(default_factory=Books)
    """The books of the oracle before."""


@dataclass(frozen=True)
class _Look:
    """What was seen so far: gradients on all samples, Hessians on some."""

    gradients: GroupDifferences
    hessians: GroupDifferences
    truncation: float
    """A bound on the error of the differences in the Hessian."""

    @property
    def matrices(self) -> Matrix:
        """The Hessians of the groups."""
        return self.hessians.matrices

    @property
    def diagonal(self) -> Vector:
        return np.array(self.matrices.mean(axis=0).diagonal())


@dataclass(frozen=True, kw_only=True)
class SampledCertifier:
    """Looks at the samples of f around points until gradient and curvature are decided, or a budget ends that."""

    gtol: float
    curvtol: float
    failure: float
    noise: float | str | None = None
    resolution: float = 0.0
    evidence: Source = "sampled"
    allowance: float = math.inf
    """Queries that may be spent on a stream."""

    def looks(self, f: Oracle, d: int) -> bool:
        """Whether samples are expected to be cheaper than the whole sum."""
        n = f.samples
        if not isinstance(n, int):
            return True
        if few_samples(n, d):
            return False
        return self.first_price(d) + n * (d + 1) < min(GROUPS.price * (d + 1), dense_price(d)) * n

    def first_price(self, d: int) -> float:
        """Queries of the first look, at least."""
        return self.size(d) * second_price(d)

    def size(self, d: int) -> int:
        """Samples of the first look."""
        return max(GROUPS.least, GROUPS.per_variable * d)

    def __call__(self, f: Oracle, x: Array, rng: np.random.Generator, row: WholeRow | None = None) -> Shown | None:
        """What was shown; None where only the whole sum can decide.

        Queries: those of `measure` on 64 samples, (d*(d + 3)/2 + 1) a sample for Hessians, d + 1 for a gradient
        """
        books, price = Books.of(f), self.first_price(int(x.shape[0]))
        if price > min(self.allowance, f.remaining):
            why = f"the first look at samples would cost {price:.2g} queries, more than may be spent"
            unknown = Interval(0.0, math.inf)
            return Shown(unknown, rules.undecided(why), math.nan, {}, needed=price, row=row, began=books)
        try:
            search = self._begun(f, x, rng, row)
        except BudgetExhausted as stop:
            search = str(stop)
        if isinstance(search, str):
            return Shown(Interval(0.0, math.inf), rules.undecided(search), math.nan, {}, row=row, began=books)
        try:
            return search.run()
        except BudgetExhausted as stop:
            return search.shown(rules.undecided(str(stop)))

    def _begun(self, f: Oracle, x: Array, rng: np.random.Generator, row: WholeRow | None) -> _Search | str:
        """The search with its first look; or why nothing can be said of f."""
        books, began = Books.of(f), f.ledger.queries
        local = self._pilot(f, x, rng)
        if nothing_known(local):  # where the values of one batch cancel, its rounding is taken for structure of f
            others = [self._pilot(f, x, rng) for _ in range(GROUPS.again)]
            local = next((one for one in others if nothing_known(one)), others[0])
        if why := nothing_known(local):
            return why
        samples = FreshSamples(f, rng)
        local, look = self._first_look(f.tagged("curvature"), local, samples)
        return _Search(self, f, x, rng, books, began, samples, local, look, row)

    def _pilot(self, f: Oracle, x: Array, rng: np.random.Generator) -> LocalModel:
        """f around x, on a few samples."""
        known: Any = {"noise": self.noise, "resolution": self.resolution, "rng": rng}
        return measure(f.on(f.draw(GROUPS.pilot, rng)), x, curvtol=self.curvtol, **known)

    def _first_look(self, f: Oracle, local: LocalModel, samples: FreshSamples) -> tuple[LocalModel, _Look]:
        """The first look; steps whose truncation would be felt are cut."""
        groups, room = samples.draw(self.size(local.d)), GROUPS.hessian_share * self.curvtol
        few = groups[: max(1, -(-GROUPS.truncation // groups[0].weight))]
        for attempt in range(STEPS.cuts):
            twice, once = (second_order(f, local.x, s * local.steps, few).matrices for s in (2.0, 1.0))
            rounding = rounding_of(local)
            truncation = STEPS.truncation_safety * float(np.linalg.norm((twice - once).mean(axis=0), 2)) + rounding
            if truncation <= room or 16 * rounding > room or attempt == STEPS.cuts - 1:
                break
            local = replace(local, stencil=local.stencil.on_steps(local.steps / STEPS.cut).complete())
        seen = second_order(f, local.x, local.steps, groups)
        return local, _Look(seen.without_hessians(), seen, truncation)


def rounding_of(local: LocalModel) -> float:
    """What the error of values adds to the norm of a Hessian."""
    return float(PRODUCTS.norm[0] * local.d * local.noise.level / np.min(local.steps) ** 2)


def second_price(d: int) -> float:
    """Queries a sample for all second differences."""
    return d * (d + 3) / 2 + 1


def dense_price(d: int) -> float:
    """Queries a sample for the certificate of a whole sum by all second differences."""
    return GROUPS.dense * second_price(d)


@dataclass
class _Search:
    """One point: its looks."""

    task: SampledCertifier
    f: Oracle
    x: Array
    rng: np.random.Generator
    books: Books
    began: int
    """Queries of the oracle when it began."""
    samples: FreshSamples
    local: LocalModel
    look: _Look
    row: WholeRow | None
    other: WholeRow | None = None
    """The row from the other side."""
    gradient: Interval = field(default=Interval(0.0, math.inf))
    bound: EigenvalueBound | None = None
    curvature: Interval = ANYWHERE
    needed: float = 0.0
    extra: dict[str, Trusted] = field(default_factory=dict)

    @property
    def d(self) -> int:
        return int(self.x.shape[0])

    @property
    def finite(self) -> bool:
        return isinstance(self.f.samples, int)

    def run(self) -> Shown | None:
        task = self.task
        for j in range(1, GROUPS.looks + 1):
            finding = self._judged(budget.of_attempt(task.failure, j))
            if finding is not None:
                return self.shown(finding)
            if self.row is not None and task.evidence == "whole" and self._positive():
                return self._by_forms(self.row, budget.of_attempt(task.failure, j) / 2)
            hessians, gradients = self._wanted()
            if self.finite and self.look.hessians.size + hessians > GROUPS.share * self.samples_in_all:
                return None
            price = hessians * second_price(self.d) + gradients * (self.d + 1)
            left = min(task.allowance - (self.f.ledger.queries - self.began), self.f.remaining)
            if price > left:
                self.needed = self.f.ledger.queries - self.began + price
                return self.shown(rules.undecided(self._too_dear(price), self.curvature))
            self._extend(hessians, gradients)
        return self.shown(rules.undecided("the looks are used up", self.curvature))

    # Looks

    @property
    def steps(self) -> Vector:
        return self.local.steps

    @property
    def level(self) -> float:
        return self.local.noise.level

    def _extend(self, hessians: int, gradients: int) -> None:
        """Take so many more samples for each."""
        look = self.look
        if hessians:
            more = second_order(self.f.tagged("curvature"), self.x, self.steps, self.samples.draw(hessians))
            look = _Look(look.gradients.joined(more.without_hessians()), look.hessians.joined(more), look.truncation)
        if gradients:
            groups = self.samples.draw(gradients)
            more = first_order(self.f.tagged("check"), self.x, self._forward(), look.diagonal, groups)
            look = replace(look, gradients=look.gradients.joined(more))
        self.look = look

    def _forward(self) -> Vector:
        """Steps of forward differences that are corrected by the diagonal."""
        error = np.abs(self.look.diagonal) + self._diagonal_error() + self.task.curvtol
        return np.minimum(np.sqrt(GROUPS.forward * self.level / error), self.steps)

    def _diagonal_error(self) -> Vector:
        """A bound on the error of each entry of the diagonal of the Hessian."""
        entries = np.diagonal(self.look.matrices, axis1=1, axis2=2)
        t = student(len(entries), self.task.failure / self.d)
        return t * standard_error(entries) + self.look.truncation

    # What a look shows

    def _judged(self, failure: float) -> Finding | None:
        """The finding, if gradient and curvature are decided."""
        task, half, error = self.task, budget.halves(failure), self.look.truncation
        seen = gradient_norm(self.look.gradients.gradients, half, self.rng)
        self.gradient = _widened(seen, self._gradient_error())
        bound = smallest_eigenvalue(self.look.matrices, half, error - task.curvtol, self.rng)
        self.bound = bound
        self.curvature = Interval(bound.curvature.lower - error, bound.curvature.upper + error)
        if self.curvature.upper <= -task.curvtol / 2:
            return self._found(bound)
        if self.gradient.lower > task.gtol:
            return rules.undecided(NOT_SMALL, self.curvature)
        if self.finite:
            self.row = self.row or WholeRow.of(self.f.tagged("check"), self.x, self._forward())
            self.gradient = self._whole_gradient(self.row)
            if self.gradient.lower > task.gtol:
                return rules.undecided(NOT_SMALL, self.curvature)
        if task.evidence == "whole" or self.curvature.lower < -task.curvtol or self.gradient.upper > task.gtol:
            return self._stuck()
        jump = self.local.report.hessian_jump
        return rules.allow_for_hessian_jump(self._certified(self.curvature), jump, task.curvtol)

    def _stuck(self) -> Finding | None:
        """The answer where more samples would not decide: the gradient of a whole sum is known, and it is not clear."""
        if self.finite and self.gradient.upper > self.task.gtol:
            return rules.undecided("the error of differences hides whether the gradient is small", self.curvature)
        return None

    def _certified(self, curvature: Interval) -> Finding:
        reason = f"{self.look.hessians.size} samples drawn apart from x, in {len(self.look.matrices)} groups: in all "
        reason += "directions the curvature is at least that, but for its confidence width"
        return Finding(Outcome.CERTIFIED, None, curvature, reason, FINDER)

    def _found(self, bound: EigenvalueBound) -> Finding:
        v, g = bound.direction, self.look.gradients.gradients.mean(axis=0)
        v = -v if float(g @ v) > 0 else v
        reason = f"half of {self.look.hessians.size} samples show a direction, and the other half its curvature"
        interval = Interval(-math.inf, self.curvature.upper)
        return Finding(Outcome.FOUND, like(v, self.x), interval, reason, FINDER, v)

    def _gradient_error(self) -> float:
        """A bound on the error of differences in the gradients of groups, central ones and forward ones."""
        h, third = self.steps, self.local.third_derivative
        error = third * norm2(h**2) / 6 + self.level * norm2(1 / h)
        if self.look.gradients.size > self.look.hessians.size:
            h = self._forward()
            error += norm2(h * self._diagonal_error()) / 2 + third * norm2(h**2) / 6 + 2 * self.level * norm2(1 / h)
        return error

    def _whole_gradient(self, row: WholeRow) -> Interval:
        """The norm of the gradient of the whole sum, from its forward differences and the sampled diagonal; where
        nothing may rest on samples, from the other side too.

        Queries: none, or N
        """
        third = self.local.third_derivative
        if self.task.evidence == "whole":
            self.other = self.other or WholeRow.of(self.f.tagged("check"), self.x, -row.h)
            size, error = norm2(row.row + self.other.row) / 2, third * norm2(row.h**2) / 6
            return _widened(Interval(size, size), error + self.level * norm2(1 / row.h))
        g, h = row.row - row.h * self.look.diagonal / 2, row.h
        error = norm2(h * self._diagonal_error()) / 2 + third * norm2(h**2) / 6
        error += 2 * self.level * norm2(1 / h)
        return _widened(Interval(norm2(g), norm2(g)), error)

    # How many more

    @property
    def samples_in_all(self) -> float:
        n = self.f.samples
        return float(n) if isinstance(n, int) else math.inf

    def _wanted(self) -> tuple[int, int]:
        """Samples more, for Hessians and for gradients, that are expected to decide."""
        task, look = self.task, self.look
        least, most = GROUPS.growth
        hessians = gradients = 0
        lower = self.curvature.lower
        if lower < -task.curvtol:
            middle = float(np.linalg.eigvalsh(look.matrices.mean(axis=0))[0]) - look.truncation
            room = max((middle + task.curvtol) / GROUPS.aim, (middle - lower) / math.sqrt(most) / 2)
            times = ((middle - lower) / room) ** 2
            hessians = math.ceil(look.hessians.size * (min(max(times, least), most) - 1))
        if not self.finite and self.gradient.upper > task.gtol:
            size = norm2(look.gradients.gradients.mean(axis=0))
            noise = norm2(standard_error(look.gradients.gradients))
            true = math.sqrt(max(0.0, size**2 - noise**2))
            room = max((task.gtol - true) / GROUPS.aim, task.gtol / 8)
            times = ((self.gradient.upper - true) / room) ** 2
            gradients = math.ceil(look.gradients.size * (max(times, least) - 1))
        return hessians, max(0, gradients - hessians)

    def _too_dear(self, price: float) -> str:
        return f"about {self.needed:.2g} queries in all are expected to decide, {price:.2g} more than were spent"

    # The whole sum along random directions

    def _positive(self) -> bool:
        """Whether all that is missing is the curvature, and the sampled Hessian allows it."""
        values = np.linalg.eigvalsh(self.look.matrices.mean(axis=0))
        return bool(values[0] > -self.task.curvtol and self.gradient.upper <= self.task.gtol)

    def _by_forms(self, row: WholeRow, failure: float) -> Shown | None:
        """The certificate of a whole sum by second differences of it along random directions."""
        task, n, d = self.task, int(self.samples_in_all), self.d
        spread = relative_spread(self.look.matrices, task.curvtol)
        m, more = forms_for(spread, failure, 2.0 * n, self.look.hessians.size * second_price(d))
        extra = math.ceil((more - 1) * self.look.hessians.size)
        form_price = 2 * (m + 2) * n + extra * second_price(d)
        if self.look.hessians.size + extra > self.samples_in_all or form_price > dense_price(d) * n:
            return None
        if extra > 0:
            self._extend(extra, 0)
        B = self.look.matrices.mean(axis=0)
        U = directions(B, task.curvtol, m, self.rng)
        if U is None:
            return None
        forms, error = self._forms(B, U, row.f0)
        if not bool(np.all(np.abs(forms) + error <= radius_of(m, failure))):
            return None
        shown = Interval(-task.curvtol, self.curvature.upper)
        size = self.look.hessians.size
        reason = f"{m} second differences of the whole sum along random directions agree with {size} samples"
        self.extra = {"truncation": Trusted(error, "estimated")}
        finding = replace(self._certified(shown), reason=reason, finder="whole")
        return self.shown(finding)

    def _forms(self, B: Matrix, U: Matrix, f0: float) -> tuple[Vector, float]:
        """u'Hu - u'Bu for the rows u of U, H of the whole sum; and a bound on the error of differences.

        Queries: 2 * (m + 2) * n
        """
        length = np.linalg.norm(U, axis=1)
        step = float(np.median(self.steps)) * min(math.sqrt(self.d), PRODUCTS.longest)
        y = np.asarray(to_numpy(self.x), dtype=np.float64)
        ways = step * U / length[:, None]
        ways = np.concatenate([ways, 2 * ways[:2]])
        rows = np.concatenate([y + ways, y - ways])
        plus, minus = self.f.tagged("curvature").summed()(points(like(rows, self.x))).reshape(2, -1)
        t = np.linalg.norm(ways, axis=1)
        raw = (plus + minus - 2 * f0) / t**2 * np.concatenate([length, length[:2]]) ** 2
        truncation = CONSISTENCY.safety * float(np.max(np.abs(raw[-2:] - raw[:2]))) / 3
        error = truncation + 4 * self.level * float(np.max(length)) ** 2 / step**2
        forms: Vector = raw[:-2] - np.einsum("ki,ij,kj->k", U, B, U)
        return forms, error

    # The answer

    def shown(self, finding: Finding) -> Shown:
        """What was shown, with the finding."""
        rho = rules.estimated_rho([self.local.third_derivative])
        noise = {"noise": Trusted(self.local.noise.level, self.local.noise.source)}
        trusted = noise | self._what_is_trusted(finding) | self.extra
        fun = float(self.look.gradients.values.mean()) if self.row is None else self.row.f0
        if finding.curvature == ANYWHERE:
            finding = replace(finding, curvature=self.curvature)
        return Shown(self.gradient, finding, fun, trusted, rho, self.needed, self.row, self.books)

    def _what_is_trusted(self, finding: Finding) -> dict[str, Trusted]:
        if finding.finder == "whole":
            return {}
        size = self.look.hessians.size if self.finite else min(self.look.hessians.size, self.look.gradients.size)
        trusted = {
            "samples": Trusted(size, "drawn independently of x"),
            "samples rarer than": Trusted(GROUPS.rarity / size, "not looked for"),
            "differences": Trusted(self.look.truncation, "estimated"),
        }
        if finding.certified and self.bound is not None and not self.bound.proved:
            trusted["worst direction"] = Trusted(self.curvature.lower, "searched for")
        return trusted


def _widened(interval: Interval, error: float) -> Interval:
    return Interval(max(0.0, interval.lower - error), interval.upper + error)


