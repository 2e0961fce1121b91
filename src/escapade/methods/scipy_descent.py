"""A solver of SciPy's, as a descent."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from .._array import Array, like, to_numpy
from ..oracle import Oracle
from ..stopping import Ending, Stop, bottomless
from ..trace import Iterate, Move
from .base import Iterates


class _Bottomless(Exception):
    """The function fell below what any bounded one would."""


@dataclass(frozen=True, kw_only=True)
class SciPyDescent:
    """A solver of SciPy's as a descent: one run of `scipy.optimize.minimize`."""

    solver: str
    """Its name in SciPy."""
    options: dict[str, Any] = field(default_factory=dict)
    """Its options."""

    name: ClassVar[str] = "scipy"

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates:
        del rng
        start = to_numpy(x).astype(np.float64)
        solve: Any = scipy_minimize

        first: list[float] = []

        def fun(y: Any) -> float:
            value = f.value(like(y, x))
            first[:] = first or [value]
            if bottomless(value, first[0]):
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
