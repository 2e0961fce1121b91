"""Any descent and any finder: the paper's future work, as ordinary composition."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from .._array import Array, like, norm, to_numpy
from ..curvature import Finder
from ..derivatives.paper import coord_gradient
from ..oracle import Oracle, points
from ..stopping import BOTTOMLESS, Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates, Method
from .escape import escape


@dataclass(frozen=True, kw_only=True)
class Escaping:
    """Run a descent until it stops; if that is a saddle, leave it along the direction found, and run it again.

    A descent that stops where the gradient is not small is started again there; one that makes no progress is helped
    on by a gradient step.
    """

    descent: Method
    finder: Finder
    epsilon: float
    delta: float
    mu: Any
    rho: float | None = None

    name: ClassVar[str] = "escaping"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
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
