"""The constants a preset needs and the user did not give, estimated at the start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._array import Array, Vector
from ..curvature.process import LanczosProcess
from ..derivatives.measure import LocalModel, measure
from ..derivatives.paper import coord_gradient_spread
from ..derivatives.products import HessianProducts
from ..derivatives.steps import gradient_steps
from ..errors import MissingCapability
from ..oracle import Oracle
from ..tolerances import Tolerances

ELL_SAFETY = 1.5
"""The largest curvature seen at the start, by six products, is multiplied by this."""

PILOT = 64
"""Samples behind an estimate of sigma that batch sizes are chosen by (certificates make their own)."""


@dataclass(frozen=True)
class Goal:
    """What the user asked for."""

    gtol: float
    """The gradient norm to reach."""
    curvtol: float
    """The negative curvature that is still accepted."""
    failure: float
    """What the method may spend of the failure probability."""
    noise: float | str | None = None
    """As in `minimize`."""
    curvature: float | None = None
    """The F of relative tolerances, in the units of the run; None: they are absolute."""
    prefer: Literal["queries", "rounds"] = "queries"
    """As in `minimize`."""
    evidence: Literal["sampled", "whole"] = "sampled"
    """As in `minimize`."""
    certificate_maxfev: float | None = None
    """What a certificate may cost; None: what its price allows."""

    def asked(self, tolerances: Tolerances, noise: float | str | None) -> Goal:
        """The same with what is asked for in the units of the run."""
        gtol, curvtol, curvature = tolerances.gtol, tolerances.curvtol, tolerances.curvature
        return replace(self, gtol=gtol, curvtol=curvtol, curvature=curvature, noise=noise)


@dataclass(frozen=True)
class Constants:
    """What was estimated at the start."""

    ell: float
    mu: Vector
    sigma2: float = 0.0
    rho: float = 0.0
    sampled: bool = False
    noise: float = 0.0


def deterministic(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Constants:
    """ell from six Lanczos products, steps from the noise.

    Queries: 3*d + 34 (4*d + 25 if the noise is given) and 12*d + 12 (fewer products if d < 6)
    """
    f = f.tagged("setup", pin=True)
    local = measure(f, x, curvtol=goal.curvtol, noise=goal.noise, rng=rng)
    mu = gradient_steps(x, np.ones(local.d), local.noise.level)
    return Constants(max(_ell(local, rng), goal.curvtol), mu, rho=local.third_derivative, noise=local.noise.level)


def _ell(local: LocalModel, rng: np.random.Generator) -> float:
    q = rng.standard_normal(local.d)
    process = LanczosProcess(HessianProducts(local), q / np.linalg.norm(q))
    for _ in range(6):
        if process.complete:
            break
        process.advance()
    return ELL_SAFETY * float(np.max(np.abs(process.ritz()[0])))


def stochastic(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Constants:
    """The same on a batch, and the variance of the gradient from a pilot.

    Queries: 256 times those of the deterministic ones (n times if n is less), and 2*d * 64
    """
    if f.samples is None:
        raise MissingCapability("this method is stochastic: pass samples=n or samples='stream'")
    f = f.tagged("setup", pin=True)
    on_batch = deterministic(f.on(f.draw(256, rng)), x, rng, goal)
    mu = on_batch.mu
    _, sigma2 = coord_gradient_spread(f, x, mu, f.draw(PILOT, rng), rng, PILOT)
    # Escapes have no line search here: the step delta / rho is at most half the unit of the variables.
    return Constants(on_batch.ell, mu, sigma2, max(on_batch.rho, 2 * goal.curvtol), sampled=True)


def sigma2_at(f: Oracle, x: Array, rng: np.random.Generator, constants: Constants) -> float:
    """The variance of the gradient at another point.

    Queries: 2*d * 64
    """
    return coord_gradient_spread(f.tagged("check"), x, constants.mu, f.draw(PILOT, rng), rng)[1]
