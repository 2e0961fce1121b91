"""Practical presets: what a method needs that the user did not give, estimated at the start, with the reason.

Every function here is called as `preset(f, x, rng, goal)` and returns a configured method and the constants estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._array import Array
from ..curvature import Cheapest, Neon2Deterministic, ZONCFDeterministic
from ..derivatives.noise import rounding
from ..derivatives.steps import central_step, forward_step
from ..oracle import Oracle
from .agd_ncf import ZOAGDNCF
from .auto import auto
from .check import samples_for
from .composed import Escaping
from .constants import Goal, deterministic, sigma2_at, stochastic
from .gd_ncf import ZOGDNCF
from .neon2_gd import Neon2GD
from .pagd import PAGD
from .perturbed_agd import ZOPerturbedAGD
from .presets_sampled import Configured, named, scsg, scsg_ncf, sgd, sgd_ncf, spider, spider_ncf
from .rspi import RSPI
from .scipy_descent import SciPyDescent
from .scrn import ZOSCRN
from .two_point import ZOTwoPoint
from .zpsgd import ZPSGD

Preset = Callable[[Oracle, Array, np.random.Generator, Goal], Configured]


def gd_ncf(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal, option: int = 1) -> Configured:
    """Step 1 / (4 ell) as in Theorem 4, and for Option II 1 / (2 d ell), four times the theorem's; the paper's own
    finder; escapes by line search."""
    c = deterministic(f, x, rng, goal)
    finder = ZONCFDeterministic(delta=goal.curvtol, failure=goal.failure, ell=c.ell, noise=goal.noise)
    d = x.shape[0]
    method = ZOGDNCF(
        epsilon=goal.gtol,
        delta=goal.curvtol,
        eta=1 / (4 * c.ell) if option == 1 else 1 / (2 * d * c.ell),
        finder=finder,
        mu_check=c.mu,
        option=2 if option == 2 else 1,
    )
    return method, named(c)


def neon2_gd(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """As ZO-GD-NCF, with gradients."""
    c = deterministic(f, x, rng, goal)
    finder = Neon2Deterministic(delta=goal.curvtol, failure=goal.failure, ell=c.ell, noise=goal.noise)
    return Neon2GD(epsilon=goal.gtol, delta=goal.curvtol, eta=1 / (4 * c.ell), finder=finder), named(c)


def zpsgd(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """m = d directions a step as in the paper's experiments; the step is 1 / ((d + 2) / m + 1) / (2 ell), because the
    Gaussian gradient is that much longer than the true one; the noise has radius gtol; sigma balances rounding (of
    1000 at least: f may be 0 at the start) and the second-order terms of forward differences; 200 d steps."""
    c = deterministic(f, x, rng, goal)
    d, sigma = x.shape[0], forward_step(max(c.noise, rounding(x, 1e3)), c.ell) / math.sqrt(x.shape[0])
    eta = 1 / (2 * c.ell * ((d + 2) / d + 1))
    return ZPSGD(eta=eta, r=goal.gtol, m=d, sigma=sigma, T=200 * d), named(c)


def pagd(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """Perturb and continue: r = 0.01, and as many steps as growth from r / d to one takes at a twentieth of ell;
    forward steps whose bias ell h sqrt(d) / 2 is a tenth of gtol."""
    c = deterministic(f, x, rng, goal)
    d, eta = x.shape[0], 1 / (4 * c.ell)
    steps = math.ceil(math.log(100 * d) / math.log1p(eta * max(goal.curvtol, c.ell / 20))) + 1
    h = goal.gtol / (5 * c.ell * math.sqrt(d))
    method = PAGD(eta=eta, r=0.01, g_thres=goal.gtol, f_thres=1e-3 * goal.gtol, t_thres=steps, h=h, h_low=h)
    return method, named(c)


def rspi(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """The paper's octopus settings at d = 10, the power iteration's step from ell; it ends when sigma_1 is tiny."""
    c = deterministic(f, x, rng, goal)
    mu = float(np.median(c.mu))
    method = RSPI(
        sigma_1=1.0, sigma_2=1.25, T_DFPI=20, eta=1 / c.ell, c=mu, r=mu * 8, shrink=0.95, every=20, K=6000
    )
    return method, named(c)


def accelerated(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal, search: bool) -> Configured:
    """kappa = ell / delta with delta a twentieth of ell, or curvtol if that is more: eta, theta and gamma of Eq. (5).

    rho is the third derivative at the start, and 2 delta at least, so that a step of delta / rho is at most half the
    unit. T is what growth from r to (sqrt(d) / 0.01) r takes at a curvature of -delta, or to a unit where it is the
    perturbation that grows; Eq. (7) has 32 sqrt(kappa) times a logarithm, for all failures of a run at once. r is as
    PAGD's, 0.01, or what keeps the third derivative below delta / 2.
    """
    c = deterministic(f, x, rng, goal)
    d, delta = x.shape[0], max(goal.curvtol, c.ell / 20)
    rho, mu, noise = max(c.rho, 2 * delta), float(np.max(c.mu)), c.noise
    eta, theta, gamma = 1 / (4 * c.ell), 1 / (4 * math.sqrt(c.ell / delta)), delta / 4
    # w of growth 1 + w: w^2 + w (theta - 2 eta delta) = eta delta, to leading order.
    half = theta / 2 - eta * delta
    growth = math.log1p(math.sqrt(half * half + eta * delta) - half)
    slope = math.sqrt(d) * noise / float(np.min(c.mu)) + c.rho * math.sqrt(d) * mu**2 / 6
    r = max(min(0.01, delta / (2 * rho)), 10 * slope / delta)
    wanted = 100 * math.sqrt(d) if search else max(100 * math.sqrt(d), math.sqrt(d) / r)
    T = math.ceil(math.log(wanted) / growth)
    # gamma / 2 |v|^2 must exceed the errors of two values and of a slope.
    least = (2 * slope + math.sqrt(4 * slope**2 + 8 * gamma * noise)) / gamma
    given: dict[str, Any] = {
        "epsilon": goal.gtol, "eta": eta, "theta": theta, "gamma": gamma, "s": gamma / (4 * rho), "T": T, "r": r,
        "f_thres": 1e-3 * goal.gtol, "mu": c.mu, "least": least,
    }
    if search:
        return ZOAGDNCF(**given, step=delta / (4 * rho)), named(c)
    return ZOPerturbedAGD(**given), named(c)


def two_point(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """m = d / 4: the length of a step is m / (m + d + 1) of 1 / (2 ell), because the estimate has that much more square
    length, so that a step of m = 1 costs 2d + 4 queries for each 1 / (2 ell), one of m = d / 4 a quarter more. r = gtol
    and as long a path as ZPSGD's, which takes 200 d steps; u balances noise and truncation of symmetric differences."""
    c = deterministic(f, x, rng, goal)
    d = x.shape[0]
    m = math.ceil(d / 4)
    longer = 1 + (d + 1) / m
    u = central_step(max(c.noise, rounding(x, 1e3))) / math.sqrt(d)
    T = math.ceil(100 * d * longer)
    return ZOTwoPoint(eta=1 / (2 * c.ell * longer), u=u, r=goal.gtol, m=m, T=T), named(c)


def scrn(f: Oracle, x: Array, rng: np.random.Generator, goal: Goal) -> Configured:
    """100 d^2 directions, for with fewer the Hessian of a minimum is estimated as indefinite; alpha is ell. A Hessian
    has a spread of its own, which the gradient's does not show: 32 samples at least."""
    c = stochastic(f, x, rng, goal) if f.samples is not None else deterministic(f, x, rng, goal)
    d = x.shape[0]

    def batch(f: Oracle, x: Array, rng: np.random.Generator) -> int:
        return 1 if f.samples is None else max(32, samples_for(32 * sigma2_at(f, x, rng, c) / goal.gtol**2))

    method = ZOSCRN(
        nu=1e-3 / math.sqrt(d),
        nu_gradient=1e-6 / math.sqrt(d),
        m_gradient=4 * d * d,
        m_hessian=100 * d * d,
        alpha=c.ell,
        tolerance=goal.gtol / (4 * c.ell),
        batch=batch,
    )
    return method, named(c)


def scipy_escaping(
    f: Oracle, x: Array, rng: np.random.Generator, goal: Goal, solver: str = "BFGS"
) -> Configured:
    """A SciPy solver with tight tolerances, wrapped."""
    c = deterministic(f, x, rng, goal)
    return Escaping(
        descent=SciPyDescent(solver=solver, options=SCIPY_OPTIONS.get(solver, {})),
        finder=Cheapest(
            delta=goal.curvtol, failure=goal.failure, noise=goal.noise, certificate_maxfev=goal.certificate_maxfev
        ),
        epsilon=goal.gtol,
        delta=goal.curvtol,
        mu=c.mu,
    ), named(c)


SCIPY_OPTIONS: dict[str, dict[str, Any]] = {
    "Nelder-Mead": {"adaptive": True, "xatol": 1e-8, "fatol": 1e-12, "maxiter": 100_000, "maxfev": 100_000},
    "Powell": {"xtol": 1e-8, "ftol": 1e-14},
    "COBYQA": {"final_tr_radius": 1e-8},
    "BFGS": {"gtol": 1e-6},
    "L-BFGS-B": {"ftol": 1e-15, "gtol": 1e-7},
}


PRESETS: dict[str, Preset] = {
    "auto": auto,
    "zo-gd-ncf": gd_ncf,
    "zo-gd-ncf-ii": partial(gd_ncf, option=2),
    "zo-sgd-ncf": sgd_ncf,
    "zo-sgd-ncf-ii": partial(sgd_ncf, option=2),
    "zo-scsg-ncf": scsg_ncf,
    "zo-scsg-ncf-ii": partial(scsg_ncf, option=2),
    "zo-spider-ncf": spider_ncf,
    "zo-spider": spider,
    "zo-scsg": scsg,
    "zo-sgd": sgd,
    "zpsgd": zpsgd,
    "pagd": pagd,
    "rspi": rspi,
    "zo-perturbed-agd": partial(accelerated, search=False),
    "zo-agd-ncf": partial(accelerated, search=True),
    "zo-two-point": two_point,
    "neon2-gd": neon2_gd,
    "zo-scrn": scrn,
    **{f"escaping-{solver.lower()}": partial(scipy_escaping, solver=solver) for solver in SCIPY_OPTIONS},
}
"""Methods by name. "-ii" is Option II; "escaping-" wraps a solver of SciPy's.

:meta hide-value:
"""
