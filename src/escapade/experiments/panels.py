"""A panel of a figure: the curves in it, and the problem behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from ..methods import Method
from ..problems import (
    Cubic,
    NonlinearLeastSquares,
    Octopus,
    Problem,
    StochasticCubic,
    StochasticProblem,
    Transformed,
    random_rotation,
)
from . import since
from .build import Sampled, Variant, build
from .settings import Row

QUERIES = 3_000_000
"""The budget of a run."""

ROWS = {
    "paper": "",
    "check free": "the check not charged",
    "finders": "the two finders",
    "auto": "auto",
    "since then": "since then",
}
"""Rows of a figure, in their order, and what stands before the title of a panel there. A curve names those that it is
drawn in; a row that no curve names is not drawn."""

JUDGED = ("ZPSGD", "RSPI", "ZO-SPIDER-NCF", *since.JUDGED)
"""Methods without a test of their own, or (ZO-SPIDER-NCF at its batches) with one that noise does not let pass."""

Form = Literal["plain", "permuted", "rotated"]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A method in a panel: a row of a table, a solver of SciPy's, or neither, which is `auto`."""

    label: str
    row: Row | None = None
    variant: Variant = "used"
    """"printed" takes the row as printed where something else is used, "authors" a rival in its authors' form."""
    finder: Sampled = "minibatch"
    """Of a sampled method."""
    solver: str | None = None
    shown_in: tuple[str, ...] = ("paper",)
    """Rows of the figure, of `ROWS`, that it is drawn in."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel of a figure."""

    figure: str
    name: str
    family: Literal["octopus", "cubic", "least-squares"]
    d: int
    curves: tuple[Curve, ...]
    epsilon: float
    delta: float
    form: Form = "plain"
    samples: int | None = None
    rows: int | None = None
    """The number of data taken, from the first."""
    budget: int = QUERIES
    axis: Literal["queries", "iterations"] = "queries"
    seeds: int | None = None
    """The largest number of seeds."""

    @property
    def title(self) -> str:
        """What is written above the panel."""
        return f"{'' if self.form == 'plain' else self.form + ', '}{self.name}"

    def problem(self, seed: int, data: Path | None) -> Problem:
        """The function of a run; permutations and rotations change with the seed."""
        if self.family == "least-squares":
            return least_squares(data, self.rows)
        plain: Problem = Octopus(d=self.d) if self.family == "octopus" else self._cubic()
        rng = np.random.default_rng([seed, self.d])
        if self.form == "permuted":
            return Transformed(problem=plain, permutation=rng.permutation(self.d))
        if self.form == "rotated":
            return Transformed(problem=plain, rotation=random_rotation(self.d, rng))
        return plain

    def _cubic(self) -> Problem:
        return Cubic(d=self.d) if self.samples is None else StochasticCubic(d=self.d, n=self.samples)

    def least(self, problem: Problem) -> float:
        """The least value: known, or found with exact derivatives."""
        known = problem.minimum
        return known if known is not None else least_value(problem)

    def heights(self, start: float, least: float) -> tuple[float, float]:
        """The values at which a run has left the start and has reached the minimum.

        On octopus half and a hundredth of the drop nu between saddles; elsewhere a hundredth of the whole drop.
        """
        if self.family == "octopus":
            nu = Octopus(d=self.d).nu
            return start - nu / 2, least + nu / 100
        return start - (start - least) / 100, least + (start - least) / 100

    def method(self, curve: Curve, problem: Problem) -> str | Method:
        """What `minimize` is given."""
        if curve.row is None:
            return "auto"
        ell = 2 * math.e if self.family == "octopus" else 0.0
        sigma2 = spread(problem) if isinstance(problem, StochasticProblem) and self.samples else 0.0
        row = replace(curve.row, m=curve.row.m and problem.d)
        return build(row, problem.d, self.epsilon, ell=ell, sigma2=sigma2, variant=curve.variant, finder=curve.finder)


@lru_cache(maxsize=4)
def least_squares(data: Path | None, rows: int | None) -> NonlinearLeastSquares:
    """The w1a problem, or its first rows."""
    whole = NonlinearLeastSquares.w1a(data)
    if rows is None or rows >= whole.n:
        return whole
    return NonlinearLeastSquares(features=whole.features[:rows], labels=whole.labels[:rows])


@lru_cache(maxsize=4)
def least_value(problem: Problem) -> float:
    """The least value from the start, by a trust region on exact derivatives."""
    exact = {"jac": problem.gradient, "hess": problem.hessian}
    found = scipy_minimize(problem, problem.start, method="trust-exact", options={"gtol": 1e-10}, **exact)  # type: ignore[call-overload]
    return float(found.fun)


@lru_cache(maxsize=8)
def spread(problem: StochasticProblem) -> float:
    """sigma^2 = E |grad f_i - grad f|^2 at the start, which the paper's check needs and does not give."""
    h, ids = 1e-4, np.arange(problem.n)  # type: ignore[attr-defined]
    x, steps = problem.start, h * np.eye(problem.d)
    slopes = (problem.component_values(x + steps, ids) - problem.component_values(x - steps, ids)) / (2 * h)
    return float(np.var(slopes, axis=1).sum())
