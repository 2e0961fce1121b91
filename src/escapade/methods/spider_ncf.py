"""ZO-SPIDER-NCF: curvature steps in mini-steps that keep the SPIDER estimate alive."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .._array import Array, norm
from .._random import sign
from ..curvature import SampledFinder
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates
from .spider import ZOSPIDER


@dataclass(frozen=True, kw_only=True)
class ZOSPIDERNCF:
    """ZO-SPIDER-NCF, Algorithm 8 of Zhang, Xiong & Gu (2022).

    The point returned may be up to delta / rho from the one the finder looked at, which is why the theorem promises
    2 delta; the driver looks at the point itself.
    """

    delta: float
    rho: float
    spider: ZOSPIDER
    finder: SampledFinder
    J: int | None = None

    name: ClassVar[str] = "zo-spider-ncf"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        spider, eta = self.spider, self.spider.eta
        v, previous, k = x, x, 0
        for j in count() if self.J is None else range(self.J + 1):              # line 1
            found = self.finder.attempt(j + 1)(f, x, rng)                       # line 2: w_1
            w = None if found.direction is None else sign(rng) * eta * found.direction     # line 3: w_2
            for _ in range(spider.length(self.delta, self.rho, eta)):           # line 4
                v = spider.estimate(f, k, x, previous, v, rng)                  # lines 5 to 10
                k += 1
                if w is not None:                                               # line 11
                    previous, x = x, x - w                                      # line 12
                    yield Iterate(x, Move.ESCAPE, grad_norm=norm(v))
                    continue
                if norm(v) <= 2 * spider.epsilon_tilde:                         # line 14
                    return Ending.of(found) if previous is x else Ending(Stop.FINISHED)    # line 15
                previous, x = x, x - eta / norm(v) * v                          # line 17
                yield Iterate(x, Move.DESCENT, grad_norm=norm(v))
        return Ending(Stop.ITERATIONS)
