"""The methods that came after the paper, in its octopus and cubic panels: their settings, and builders of them.

Neither source has these problems at these settings. ell, rho, the step and the radius of the noise are those of PAGD or
ZPSGD in the paper's table of the same panel, and all else follows from them as the sources have it, but for what is
said at each builder.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..methods import ZOAGDNCF, Method, ZOPerturbedAGD, ZOTwoPoint
from .settings import E, Row

if TYPE_CHECKING:
    from .build import Given

JUDGED = ("ZO-Two-Point",)
"""Methods without a test of their own."""


OCTOPUS = (
    Row(algorithm="ZO-Perturbed-AGD", ell=E, rho=E, eta=1 / (4 * E), r=E / 100),
    Row(algorithm="ZO-AGD-NCF", ell=E, rho=E, eta=1 / (4 * E), r=E / 100),
    Row(algorithm="ZO-Two-Point", ell=E, rho=1e-4, eta=1 / (2 * E), r=1e-4),
)
"""Rows for the octopus panels: PAGD's constants, and ZPSGD's for the two-point method."""

CUBIC = (
    Row(algorithm="ZO-Perturbed-AGD", ell=100.0, rho=1.0, eta=1 / 400, r=1e-2),
    Row(algorithm="ZO-AGD-NCF", ell=100.0, rho=1.0, eta=1 / 400, r=1e-2),
    Row(algorithm="ZO-Two-Point", ell=100.0, rho=1.0, eta=1 / 200, r=1e-2),
)
"""Rows for the deterministic cubic panels, likewise."""


def perturbed_agd(of: Given) -> ZOPerturbedAGD:
    """T is what growth from r / sqrt(d) to one takes at a curvature of -1, as PAGD's builder has it."""
    return ZOPerturbedAGD(**_accelerated(of, math.sqrt(of.d) / of.number("r")), f_thres=_gain(of))


def agd_ncf(of: Given) -> ZOAGDNCF:
    """T is what growth by sqrt(d) / p, with p = 0.01, takes at a curvature of -1; Eq. (7) has 32 sqrt(kappa) times a
    logarithm."""
    step = math.sqrt(of.epsilon / of.row.rho) / 4
    return ZOAGDNCF(**_accelerated(of, math.sqrt(of.d) / 0.01), f_thres=_gain(of) / 384, step=step)


def two_point(of: Given) -> ZOTwoPoint:
    """m = d / 10, which costs a tenth more than m = 1 and makes fewer iterates; u = 1e-4 / sqrt(d). The printed
    step 1 / (2 ell) is that much shorter as the square length of an estimate from m directions is larger, as ZPSGD's
    builder has it."""
    m = math.ceil(of.d / 10)
    return ZOTwoPoint(eta=of.number("eta") / (1 + (of.d + 1) / m), u=1e-4 / math.sqrt(of.d), r=of.number("r"), m=m)


def _gain(of: Given) -> float:
    return math.sqrt(of.epsilon**3 / of.row.rho)


def _accelerated(of: Given, growth: float) -> dict[str, Any]:
    """theta, gamma and s of Eq. (5), and iterations for so much growth."""
    eta = of.number("eta")
    theta = math.sqrt(of.delta / of.row.ell) / 4
    half = theta / 2 - eta  # growth 1 + w: w^2 + w (theta - 2 eta) = eta at a curvature of -1, to leading order
    w = math.sqrt(half * half + eta) - half
    return {
        "epsilon": of.epsilon,
        "eta": eta,
        "theta": theta,
        "gamma": theta**2 / eta,
        "s": theta**2 / eta / (4 * of.row.rho),
        "T": math.ceil(math.log(growth) / math.log1p(w)),
        "r": of.number("r"),
        "mu": 1e-4,  # truncation and rounding of |f| up to 1e4 are below 1e-6 in the slope
        "least": 1e-5,  # there gamma / 2 |v|^2 is above the rounding of two values
    }


BUILDERS: dict[str, Callable[[Given], Method]] = {
    "ZO-Perturbed-AGD": perturbed_agd,
    "ZO-AGD-NCF": agd_ncf,
    "ZO-Two-Point": two_point,
}
