"""Any descent and any finder: the paper's future work, as ordinary composition."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from .._array import Array, like, norm, to_numpy
from ..curvature import SAMPLED_FINDERS, Finder, SampledFinder
from ..errors import InvalidSetting, MissingCapability
from ..estimators.gradients import coord_gradient
from ..oracle import Oracle, points
from ..stopping import BOTTOMLESS, Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates, Method
from .check import FIRST, GradientCheck
from .escape import escape


@dataclass(frozen=True, kw_only=True)
class Escaping:
    """Run a descent until it stops; if that is a saddle, leave it along the direction found, and run it again.

    A descent that stops where the gradient is not small is started again there; one that makes no progress is helped
    on by a gradient step.

    On a sampled function the descent draws its own batches, the finder is one for sampled functions, and the check of
    Proposition 1 tells whether the gradient is small: at the start, whenever the descent stops, and after every so many
    of its iterates, for most sampled descents never stop.

    Queries: besides those of the descent and of the finder 2*d for each check; on a sampled function 2*d a sample
    """

    descent: Method
    """Anything with `iterates(f, x, rng)`."""
    finder: Finder
    epsilon: float
    delta: float
    mu: Any
    rho: float | None = None
    """The escape step is delta / rho; None searches for its length, on functions without samples."""
    sigma2: float | None = None
    """E |grad f_i - grad f|^2, which the check of a sampled function needs."""
    every: int = 10
    """Iterates of a sampled descent between two checks. Where the gradient is large a check takes 64 samples, less than
    ten steps on batches of seven; and a descent goes at most nine iterates past a point where it could have ended."""

    name: ClassVar[str] = "escaping"

    def __post_init__(self) -> None:
        if self.sigma2 is not None and not self.sigma2 >= 0:
            raise InvalidSetting(f"sigma2={self.sigma2!r} must be at least 0: it is the mean of a square")
        if self.every < 1:
            raise InvalidSetting(f"every={self.every!r} must be at least 1: so many iterates lie between two checks")

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        if f.samples is not None and f.batch is None:
            return (yield from self._sampled(f, x, rng))
        attempts = count(1)
        while True:
            run = self.descent.iterates(f, x, rng)
            while True:
                try:
                    iterate = next(run)
                except StopIteration as end:
                    if end.value.stop is Stop.UNBOUNDED:
                        return Ending(Stop.UNBOUNDED)
                    break
                x = iterate.x
                yield iterate
            g = coord_gradient(f.tagged("check"), x, self.mu)
            better = downhill(f, x, g) if norm(g) >= 0.75 * self.epsilon else None
            if better is not None:
                x = better
                yield Iterate(x, Move.DESCENT, grad_norm=norm(g))
                continue
            # The gradient is small, or noise hides the way down; a direction of negative curvature may show.
            found = self.finder.attempt(next(attempts))(f, x, rng)
            if found.direction is None:
                return Ending.of(found)
            x = escape(f, x, found, self.delta, self.rho, rng)
            yield Iterate(x, Move.ESCAPE, grad_norm=norm(g))

    def _sampled(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        """The same on minibatches; the order is that of Algorithm 4, with any descent in the place of its step."""
        check, rho, attempts = self._check(), self._length(), count(1)
        start, run = x, self.descent.iterates(f, x, rng)
        while True:
            small, size = check(f, x, rng)
            if not small:
                x, ending = yield from advance(run, x, self.every)
                if ending is None:
                    continue
                if ending.stop is Stop.UNBOUNDED:
                    return Ending(Stop.UNBOUNDED)
                better = x if bool(np.any(to_numpy(x) != to_numpy(start))) else self._helped(f, x, check, rng)
                if better is not None:
                    if better is not x:
                        x = better
                        yield Iterate(x, Move.DESCENT, grad_norm=size)
                    start, run = x, self.descent.iterates(f, x, rng)
                    continue
            # The gradient is small, or noise hides the way down; a direction of negative curvature may show.
            found = self.finder.attempt(next(attempts))(f, x, rng)
            if found.direction is None:
                return Ending.of(found)
            x = escape(f, x, found, self.delta, rho, rng)
            yield Iterate(x, Move.ESCAPE, grad_norm=size)
            start, run = x, self.descent.iterates(f, x, rng)

    def _check(self) -> GradientCheck:
        """Each check of a run spends a thousandth of the failure probability of its searches."""
        if not isinstance(self.finder, SampledFinder):
            names = ", ".join(sorted(SAMPLED_FINDERS))
            raise MissingCapability(f"finder {self.finder.name!r} is not for a sampled function: take one of {names}")
        if self.sigma2 is None:
            raise InvalidSetting("sigma2=None: on a sampled function the check needs E |grad f_i - grad f|^2; pass it")
        return GradientCheck(
            epsilon=self.epsilon, sigma2=self.sigma2, failure=self.finder.failure / 1000, mu=self.mu
        )

    def _length(self) -> float:
        if self.rho is None:
            raise InvalidSetting("rho=None: a sampled function is left by steps of length delta / rho; pass rho")
        return self.rho

    def _helped(self, f: Oracle, x: Array, check: GradientCheck, rng: np.random.Generator) -> Array | None:
        """A step along the gradient of one batch, as long as descends there.

        Queries: 2*d + 13 a sample
        """
        f_S = f.on(f.draw(max(FIRST, check.size), rng))
        return downhill(f_S, x, coord_gradient(f_S.tagged("check"), x, self.mu))


def advance(run: Iterates, x: Array, most: int) -> Generator[Iterate, None, tuple[Array, Ending | None]]:
    """Up to so many iterates of a descent from x; where it is then, and its ending if it stopped."""
    for _ in range(most):
        try:
            iterate = next(run)
        except StopIteration as end:
            return x, end.value or Ending(Stop.FINISHED)
        x = iterate.x
        yield iterate
    return x, None


def downhill(f: Oracle, x: Array, g: Array) -> Array | None:
    """The best of twelve step lengths along -g, each a quarter of the last; None if none descends.

    Queries: 13
    """
    lengths = 0.25 ** np.arange(12) / max(1.0, norm(g))
    trial = like(np.concatenate([[0.0], lengths]), x)
    values = f.tagged("line search")(points(x[None, :] - trial[:, None] * g[None, :]))
    best = int(np.argmin(values))
    return None if best == 0 else x - float(trial[best]) * g


class _Bottomless(Exception):
    """The function fell below what any bounded one would."""


@dataclass(frozen=True, kw_only=True)
class SciPyDescent:
    """A solver of SciPy's as a descent: one run of `scipy.optimize.minimize`."""

    solver: str
    options: dict[str, Any] = field(default_factory=dict)

    name: ClassVar[str] = "scipy"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        del rng
        start = to_numpy(x).astype(np.float64)
        solve: Any = scipy_minimize

        def fun(y: Any) -> float:
            value = f.value(like(y, x))
            if value < BOTTOMLESS:
                raise _Bottomless
            return value

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                result = solve(fun, start, method=self.solver, options=self.options)
        except _Bottomless:
            return Ending(Stop.UNBOUNDED)
        yield Iterate(like(result.x, x), Move.DESCENT, fun=float(result.fun))
        return Ending(Stop.FINISHED)
