"""Practical presets of the sampled methods of the paper; those of the others, and the list of all, in `presets.py`."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from .._array import Array
from ..curvature import Minibatch
from ..oracle import Oracle
from .base import Method
from .check import GradientCheck, samples_for
from .constants import Constants, Goal, sigma2_at, stochastic
from .scsg import ZOSCSG
from .scsg_ncf import ZOSCSGNCF
from .sgd import ZOSGD
from .sgd_ncf import ZOSGDNCF
from .spider import ZOSPIDER
from .spider_ncf import ZOSPIDERNCF

Configured: TypeAlias = tuple[Method, dict[str, float]]


def named(c: Constants) -> dict[str, float]:
    """What a result says of the constants estimated."""
    return {"ell": c.ell} | ({"sigma": math.sqrt(c.sigma2), "rho": c.rho} if c.sampled else {})


def sgd_ncf(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal, option: int = 1) -> Configured:
    """Theorem 3's step and batch with ell and sigma estimated, sigma at every point (for Option II, sixteen times its
    step); the minibatch finder."""
    c = stochastic(f, x, rng, goal)
    method = ZOSGDNCF(
        delta=goal.curvtol,
        eta=1 / (4 * c.ell) if option == 1 else 1 / (2 * x.shape[0] * c.ell),
        batch=None,
        check=_check(c, goal),
        finder=_finder(goal),
        mu_step=c.mu,
        rho=c.rho,
        option=2 if option == 2 else 1,
    )
    return method, named(c)


def scsg_ncf(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal, option: int = 1) -> Configured:
    """The epochs of ZO-SCSG for the sigma of every point."""
    c = stochastic(f, x, rng, goal)
    epochs = partial(_epochs, f.samples, x.shape[0], c, goal, option)
    method = ZOSCSGNCF(delta=goal.curvtol, rho=c.rho, epochs=epochs, check=_check(c, goal), finder=_finder(goal))
    return method, named(c)


def _epochs(samples: Any, d: int, c: Constants, goal: Goal, option: int, sigma2: float) -> ZOSCSG:
    """B as the theorem has it (or the whole sum). Option I: b is a twentieth of B and the step that of the experiments.
    Option II: b at least d, which its lemma asks for, and the lemma's step."""
    n = samples if isinstance(samples, int) else math.inf
    B = int(min(n, max(128, samples_for(480 * sigma2 / goal.gtol**2))))
    if option == 1:
        return ZOSCSG(B=B, b=max(10, B // 20), eta=1 / (4 * c.ell), mu=c.mu)
    b = max(d, B // 20)
    return ZOSCSG(B=B, b=b, eta=(b / (d * B)) ** (2 / 3) / (8 * c.ell), mu=c.mu, option=2)


def spider(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> tuple[ZOSPIDER, dict[str, float]]:
    """Theorem 8 promises 3 epsilon~: epsilon~ is a third of gtol, and its logarithm, which makes batches of 10^9, is
    left out: what is returned is certified afterwards. n_0 is 1: steps grow and batches shrink with it alike, so
    that a larger one only costs more where the whole sum is smaller than a batch."""
    c = stochastic(f, x, rng, goal)
    return _spider(c, goal, c.sigma2), named(c)


def _spider(c: Constants, goal: Goal, sigma2: float) -> ZOSPIDER:
    eps, sigma = goal.gtol / 3, math.sqrt(sigma2)
    return ZOSPIDER(
        epsilon_tilde=eps,
        eta=eps / c.ell,
        S1=samples_for(16 * sigma2 / eps**2),
        S2=samples_for(16 * sigma / eps),
        q=samples_for(sigma / eps),
        mu=c.mu,
    )


def spider_ncf(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """The theorem promises 2 delta: the finder is given half of curvtol. sigma is estimated after every search."""
    c = stochastic(f, x, rng, goal)

    def inner(f: Oracle, x: Array, rng: np.random.Generator) -> ZOSPIDER:
        return _spider(c, goal, sigma2_at(f, x, rng, c))

    finder = Minibatch(delta=goal.curvtol / 2, failure=goal.failure, noise=goal.noise)
    return ZOSPIDERNCF(delta=goal.curvtol, rho=c.rho, spider=inner, finder=finder), named(c)


def scsg(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """The epochs of ZO-SCSG-NCF, sixty of them."""
    c = stochastic(f, x, rng, goal)
    return replace(_epochs(f.samples, x.shape[0], c, goal, 1, c.sigma2), T=60), named(c)


def sgd(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """The steps of ZO-SGD-NCF, a thousand of them: along a curvature of ell/50 they shrink a gradient by e^-5."""
    c = stochastic(f, x, rng, goal)
    return ZOSGD(eta=1 / (4 * c.ell), batch=samples_for(32 * c.sigma2 / goal.gtol**2), mu=c.mu, T=1000), named(c)


def _check(c: Constants, goal: Goal) -> GradientCheck:
    # A run makes many checks; each spends a thousandth of the failure probability.
    return GradientCheck(epsilon=goal.gtol, sigma2=None, failure=goal.failure / 1000, mu=c.mu)


def _finder(goal: Goal) -> Minibatch:
    return Minibatch(delta=goal.curvtol, failure=goal.failure, noise=goal.noise)
