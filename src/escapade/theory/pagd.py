"""The initialisation of PAGD, as Appendix G prints it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..methods import PAGD
from .assumptions import representable, require_dimension, require_positive, rounded_up


@dataclass(frozen=True, kw_only=True)
class PAGDInitialisation:
    """The box "Initialization: (ell, rho, epsilon, c, delta, Delta_f)", Zhang, Xiong & Gu (2022)."""

    chi: float
    """3 max(log(d ell Delta_f / (c epsilon^2 delta)), 4)."""
    eta: float
    """c / ell."""
    r: float
    """sqrt(c) epsilon / (chi^2 ell)."""
    g_thres: float
    """sqrt(c) epsilon / chi^2."""
    f_thres: float
    """c / chi^3 sqrt(epsilon^3 / rho)."""
    t_thres: float
    """chi ell / (c^2 sqrt(rho epsilon))."""
    S: float
    """sqrt(c) sqrt(rho epsilon) / (chi rho)."""
    h: float
    """g_thres / (4 c_h), of line 2 of PAGD."""
    h_low: float
    """min(g_thres, r rho delta S / (2 sqrt(d))) / c_h."""

    def method(self, form: Literal["printed", "continue"] = "printed") -> PAGD:
        """The method with these numbers."""
        return PAGD(
            eta=self.eta,
            r=self.r,
            g_thres=self.g_thres,
            f_thres=self.f_thres,
            t_thres=rounded_up(self.t_thres),
            h=self.h,
            h_low=self.h_low,
            form=form,
        )


def pagd_initialisation(
    *,
    ell: float,
    rho: float,
    epsilon: float,
    delta: float,
    Delta_f: float,
    d: int,
    c: float = 1.0,
    c_h: float | None = None,
) -> PAGDInitialisation:
    """The box's numbers. Here delta is a probability of failure; c has no value in the paper; c_h is ell sqrt(d), the
    bias of a forward difference per unit of its step, unless given."""
    what = "the initialisation of PAGD"
    d = require_dimension(what, d)
    ell, rho, epsilon, delta = require_positive(what, ell=ell, rho=rho, epsilon=epsilon, delta=delta)
    c_h = ell * math.sqrt(d) if c_h is None else c_h
    Delta_f, c, c_h = require_positive(what, Delta_f=Delta_f, c=c, c_h=c_h)
    with representable(what):
        chi = 3 * max(math.log(d * ell * Delta_f / (c * epsilon**2 * delta)), 4)
        r, g_thres = math.sqrt(c) / chi**2 * epsilon / ell, math.sqrt(c) / chi**2 * epsilon
        S = math.sqrt(c) / chi * math.sqrt(rho * epsilon) / rho
        return PAGDInitialisation(
            chi=chi,
            eta=c / ell,
            r=r,
            g_thres=g_thres,
            f_thres=c / chi**3 * math.sqrt(epsilon**3 / rho),
            t_thres=chi / c**2 * ell / math.sqrt(rho * epsilon),
            S=S,
            h=g_thres / (4 * c_h),
            h_low=min(g_thres, r * rho * delta * S / (2 * math.sqrt(d))) / c_h,
        )
