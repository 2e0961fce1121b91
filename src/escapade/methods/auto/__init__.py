"""`method="auto"`, in parts: poll, gradient, model, step, descent, probe, escape, certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._array import Array
from ...oracle import Oracle
from .method import Auto

if TYPE_CHECKING:
    from ..base import Method
    from ..constants import Goal

__all__ = ["Auto", "auto"]

LARGE = 1000
"""Beyond this dimension a dense model, and its eigenvectors at every step, cost more than they save."""


def auto(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> tuple[Method, dict[str, float]]:
    """The default method on what the user asked for, with nothing estimated beforehand; L-BFGS-B, wrapped so that it
    leaves saddles and ends with a certificate, where a dense model is too large."""
    if x.shape[0] > LARGE:
        from ..presets import scipy_escaping  # which may list this preset

        return scipy_escaping(f, x, rng, goal, solver="L-BFGS-B")
    return Auto(epsilon=goal.gtol, delta=goal.curvtol, failure=goal.failure, noise=goal.noise, prefer=goal.prefer), {}
