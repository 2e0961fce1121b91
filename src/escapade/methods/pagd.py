"""PAGD: gradient descent on forward differences, perturbed where the gradient is small."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

import numpy as np

from .._array import Array, norm
from .._random import ball
from ..derivatives.paper import Steps, coord_gradient_forward
from ..oracle import Oracle
from ..stopping import Ending, Stop
from ..trace import Iterate, Move
from .base import Iterates


@dataclass(frozen=True, kw_only=True)
class PAGD:
    """PAGD, Vlatakis-Gkaragkounis, Flokas & Piliouras (2019), in two forms.

    "printed" is the form of Zhang, Xiong & Gu (2022): a perturbed point that has not fallen by f_thres after t_thres
    steps is dropped, and the method returns. "continue" keeps descending from the perturbed point; it returns only if
    nothing was gained between two perturbations, as in Jin et al. (2017).
    """

    eta: float
    """The step size."""
    r: float
    """The radius of the perturbation."""
    g_thres: float
    """A gradient below it is small."""
    f_thres: float
    """The least gain of an escape."""
    t_thres: int
    """Iterations of an escape."""
    h: Steps
    """Forward difference step of the descent, g_thres / (4 c_h)."""
    h_low: Steps
    """Forward difference step of the escape."""
    form: Literal["printed", "continue"] = "continue"
    """"printed", or "continue": what follows an escape that failed."""

    name: ClassVar[str] = "pagd"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        for _ in count():                                                       # PAGD, line 1
            z = coord_gradient_forward(f, x, self.h)                            # line 2
            if norm(z) >= 0.75 * self.g_thres:                                  # line 3
                x = x - self.eta * z                                            # line 4
                yield Iterate(x, Move.DESCENT, grad_norm=norm(z))
            else:
                escaped = yield from self._escape_saddle(f, x, rng)             # line 6
                if escaped is None:                                             # line 7: x_{t+1} = x_t
                    if self.form == "continue":                                 # back from where it looked
                        yield Iterate(x, Move.PERTURB, grad_norm=norm(z))
                    return Ending(Stop.FINISHED)
                x = escaped
                yield Iterate(x, Move.ESCAPE, grad_norm=norm(z))
        return Ending(Stop.ITERATIONS)

    def _escape_saddle(
        self, f: Oracle, x: Array, rng: np.random.Generator
    ) -> Generator[Iterate, None, Array | None]:
        """EscapeSaddle; None where it gives up."""
        f = f.tagged("escape")
        start = f.value(x)
        y = x + ball(rng, x, self.r)                                            # lines 1, 2
        for _ in range(self.t_thres + 1):                                       # line 3
            if self.form == "printed" and start - f.value(y) >= self.f_thres:   # line 4
                return y                                                        # line 5
            y = y - self.eta * coord_gradient_forward(f, y, self.h_low)         # line 6
            if self.form == "continue":
                yield Iterate(y, Move.PERTURB)
        if self.form == "continue" and start - f.value(y) >= self.f_thres:
            return y
        return None                                                             # line 7
