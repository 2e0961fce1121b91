"""ZO-SPIDER-NCF: curvature steps in mini-steps that keep the SPIDER estimate alive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

import numpy as np

from .._array import Array, namespace, norm
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
    2 delta; the driver looks at the point itself. Where the method stops on the point that the finder looked at, its
    finding is the answer.

    Deviation: with form "downhill" the escape takes the side on which v_k falls, and the descent goes on until
    |v_k| <= 2 epsilon~, where the next search is made. As printed, a block of mini-steps ends with a search whatever
    v_k is, and the sign is drawn: where every search succeeds, the iterate walks at random.
    """

    delta: float
    """The negative curvature that is still accepted."""
    rho: float
    """Escapes have length delta / rho."""
    spider: ZOSPIDER | Callable[[Oracle, Array, np.random.Generator], ZOSPIDER]
    """Or those for a point, where a search has ended; then v_k begins afresh."""
    finder: SampledFinder
    """What looks for negative curvature."""
    J: int | None = None
    """The most searches; None: no end."""
    form: Literal["printed", "downhill"] = "printed"
    """"printed", or "downhill": which way an escape goes."""

    name: ClassVar[str] = "zo-spider-ncf"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        downhill, v, previous, k = self.form == "downhill", x, x, 0
        for j in count() if self.J is None else range(self.J + 1):              # line 1
            looked, found = x, self.finder.attempt(j + 1)(f, x, rng)            # line 2: w_1
            if isinstance(self.spider, ZOSPIDER):
                spider = self.spider
            else:
                spider, k = self.spider(f, x, rng), 0
            eta, length = spider.eta, spider.length(self.delta, self.rho, spider.eta)
            w = None if found.direction is None else sign(rng) * eta * found.direction     # line 3: w_2
            for i in count() if downhill else range(length):                    # line 4
                v = spider.estimate(f, k, x, previous, v, rng)                  # lines 5 to 10
                k += 1
                if w is not None and i < length:                                # line 11
                    if downhill and x is looked and float(namespace(x).sum(v * w)) < 0:
                        w = -w
                    previous, x = x, x - w                                      # line 12
                    yield Iterate(x, Move.ESCAPE, grad_norm=norm(v))
                    continue
                if norm(v) <= 2 * spider.epsilon_tilde:                         # line 14
                    if x is looked:
                        return Ending.of(found)                                 # line 15
                    if downhill:
                        break                                                   # to line 2
                    return Ending(Stop.FINISHED)                                # line 15
                previous, x = x, x - eta / norm(v) * v                          # line 17
                yield Iterate(x, Move.DESCENT, grad_norm=norm(v))
        return Ending(Stop.ITERATIONS)
