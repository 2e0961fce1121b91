"""The paper's boost: log(1/p) copies, and the first whose certificate holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._array import Array
from ..certificate import Certificate
from ..oracle import Oracle
from ..stopping import Ending, Stop
from .base import Iterates, Method

Certify = Callable[[Oracle, Array, np.random.Generator], Certificate]


@dataclass(frozen=True, kw_only=True)
class Boosted:
    """Runs copies of a method from the same start, with independent randomness, until one is certified.

    A method that succeeds with probability 2/3 (ZO-SCSG-NCF) or 3/4 (ZO-SPIDER-NCF) does so with 1 - p in
    log(1/p) / log(3) copies or fewer. `certify` must spend its own share of the failure probability on each copy.
    """

    method: Method
    """What is run."""
    certify: Certify
    """What judges its last iterate."""
    copies: int
    """Runs at most."""

    name: ClassVar[str] = "boosted"

    @staticmethod
    def enough(p: float, success: float = 2 / 3) -> int:
        """Copies after which none has succeeded with probability at most p."""
        return math.ceil(math.log(p) / math.log(1 - success))

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        start = x
        for copy in rng.spawn(self.copies):
            x, run = start, self.method.iterates(f, start, copy)
            for iterate in run:
                x = iterate.x
                yield iterate
            if self.certify(f, x, copy).holds:
                return Ending(Stop.FINISHED)
        return Ending(Stop.UNDECIDED)
