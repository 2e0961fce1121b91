"""Who asks for certificates, and keeps the account of the failure probability of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...curvature import Finding
from ...derivatives.measure import Neighbourhood
from ...errors import BudgetExhausted
from .certificate import Informed
from .differences import Differences
from .model import Model
from .point import Point


@dataclass
class Examiner:
    """Asks for certificates; every attempt of a run spends its share of one failure probability."""

    ask: Differences
    epsilon: float
    """The gradient tolerance."""
    failure: float
    noise: float | str | None
    rng: np.random.Generator
    attempts: int = 0

    def finder(self, model: Model, off: float, *, trusted: bool) -> Informed:
        """The finder of the next attempt, on a model that the last secants contradicted by `off`.

        Most runs make one attempt, which may spend most. An attempt counts once its finder is asked: what the
        neighbourhood alone decides spends nothing.
        """
        share = 0.9 if self.attempts == 0 else 0.6 / (math.pi * self.attempts) ** 2
        failure = share * self.failure
        return Informed(
            delta=self.ask.curvtol, failure=failure, noise=self.noise, model=model, off=off, trusted=trusted
        )

    def look(self, finder: Informed, p: Point) -> Neighbourhood:
        """The neighbourhood of p."""
        return finder.look(self.ask.f, self.ask.array(p.y), self.rng, self.epsilon)

    def finding(self, finder: Informed, here: Neighbourhood) -> Finding:
        """The answer; the products behind it are kept by the finder."""
        self.attempts += 1
        try:
            return finder.within(here, self.rng)
        except BudgetExhausted as stop:
            return finder.undecided(str(stop))
