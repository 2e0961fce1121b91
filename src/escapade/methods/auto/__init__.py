"""`method="auto"`, in parts: poll, gradient, model (dense or limited), step, descent, probe, escape, certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._array import Array
from ...oracle import Oracle
from .method import Auto
from .sampled import SampledAuto

if TYPE_CHECKING:
    from ..base import Method
    from ..constants import Goal

__all__ = ["Auto", "SampledAuto", "auto"]


def auto(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> tuple[Method, dict[str, float]]:
    """The default method on what the user asked for, with nothing estimated beforehand."""
    if f.samples is not None and f.batch is None:
        return SampledAuto(
            epsilon=goal.gtol, delta=goal.curvtol, failure=goal.failure, noise=goal.noise, evidence=goal.evidence
        ), {}
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
