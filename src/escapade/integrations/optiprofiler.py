"""Solvers for OptiProfiler's benchmarks: `optiprofiler.benchmark([solver, other], ptype="u")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..minimize import minimize

Values = Callable[[NDArray[np.float64]], float]


def solver(fun: Values, x0: NDArray[np.float64]) -> NDArray[np.float64]:
    """For unconstrained problems."""
    return _solved(fun, x0)


def bounded_solver(
    fun: Values, x0: NDArray[np.float64], xl: NDArray[np.float64], xu: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For problems with bounds."""
    return _solved(fun, x0, bounds=list(zip(xl.tolist(), xu.tolist(), strict=True)))


def _solved(fun: Values, x0: NDArray[np.float64], **options: Any) -> NDArray[np.float64]:
    """The point that a run returns; the seed is fixed, and the budget is the benchmark's own."""
    return np.asarray(minimize(fun, x0, rng=0, on_error="stop", **options).x, dtype=np.float64)
