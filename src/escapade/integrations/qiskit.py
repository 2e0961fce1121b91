"""A `Minimizer` for qiskit-algorithms: `VQE(estimator, ansatz, optimizer=minimizer(noise="auto"))`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..minimize import minimize
from ..result import Result


def minimizer(**options: Any) -> Callable[..., Result]:
    """A function of Qiskit's `Minimizer` protocol that runs `escapade.minimize` with these options.

    Energies estimated from shots are noisy: pass noise="auto", or their standard deviation. A gradient that Qiskit
    passes on is used; bounds are kept, and those that are None are none.
    """

    def run(
        fun: Callable[..., float], x0: Any, jac: Callable[..., Any] | None = None, bounds: Any = None
    ) -> Result:
        return minimize(fun, np.asarray(x0, dtype=np.float64), jac=jac, bounds=_ends(bounds), **options)

    return run


def _ends(bounds: Any) -> Any:
    """Qiskit's list of pairs, the ends of which may be None."""
    if bounds is None:
        return None
    ends = [(-np.inf if low is None else low, np.inf if high is None else high) for low, high in bounds]
    return ends if np.any(np.isfinite(ends)) else None
