"""`method="auto"`, in parts: poll, gradient, model (dense or limited), step, descent, probe, escape, certificate."""

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


def auto(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> tuple[Method, dict[str, float]]:
    """The default method on what the user asked for, with nothing estimated beforehand."""
    method = Auto(
        epsilon=goal.gtol,
        delta=goal.curvtol,
        curvature=goal.curvature,
        failure=goal.failure,
        noise=goal.noise,
        prefer=goal.prefer,
        certificate_maxfev=goal.certificate_maxfev,
    )
    return method, {}
