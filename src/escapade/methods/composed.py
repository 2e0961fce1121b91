"""Any descent and any finder: the paper's future work, as ordinary composition."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from .._array import Array, norm
from ..curvature import SAMPLED_FINDERS, Finder, SampledFinder
from ..derivatives.paper import coord_gradient
from ..errors import InvalidSetting, MissingCapability
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates, Method
from .check import GradientCheck
from .composed_sampled import SampledEscaping
from .downhill import downhill
from .escape import escape


@dataclass(frozen=True, kw_only=True)
class Escaping:
    """Run a descent until it stops; if that is a saddle, leave it along the direction found, and run it again.

    A descent that stops where the gradient is not small is started again there; one that makes no progress is helped
    on by a gradient step.

    On a sampled function the descent draws its own batches, the finder is one for sampled functions, and the check of
    Proposition 1 tells whether the gradient is small: at the start, whenever the descent stops, and after every `every`
    of its iterates, for most sampled descents never stop.

    Queries: besides those of the descent and of the finder 2*d for each check; on a sampled function 2*d a sample
    """

    descent: Method
    """Anything with `iterates(f, x, rng)`."""
    finder: Finder
    """What looks for negative curvature."""
    epsilon: float
    """A gradient of 3/4 of this is small."""
    delta: float
    """The negative curvature that is still accepted."""
    mu: Any
    """The difference step of that gradient."""
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
            raise InvalidSetting(f"every={self.every!r} must be at least 1: the iterates between two checks")

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        if f.samples is not None and f.batch is None:
            return (yield from self._sampled().iterates(f, x, rng))
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

    def _sampled(self) -> SampledEscaping:
        """The loop on a sampled function. Each check spends a thousandth of the searches' failure probability."""
        if not isinstance(self.finder, SampledFinder):
            names = ", ".join(sorted(SAMPLED_FINDERS))
            raise MissingCapability(f"finder {self.finder.name!r} is not for a sampled function: take one of {names}")
        if self.sigma2 is None:
            raise InvalidSetting("sigma2=None: on a sampled function the check needs E |grad f_i - grad f|^2; pass it")
        if self.rho is None:
            raise InvalidSetting("rho=None: a sampled function is left by steps of length delta / rho; pass rho")
        failure = self.finder.failure / 1000
        check = GradientCheck(epsilon=self.epsilon, sigma2=self.sigma2, failure=failure, mu=self.mu)
        return SampledEscaping(self.descent, self.finder, check, self.delta, self.rho, self.every)
