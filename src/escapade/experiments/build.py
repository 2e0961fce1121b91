"""From a row of a table to a method: what the tables leave out is chosen here, and what fails is replaced."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ..curvature import Minibatch, Neon2Deterministic, SampledFinder, ZONCFDeterministic, ZONCFOnline
from ..methods import (
    PAGD,
    RSPI,
    ZOGDNCF,
    ZOSCSG,
    ZOSCSGNCF,
    ZOSGDNCF,
    ZOSPIDER,
    ZOSPIDERNCF,
    ZPSGD,
    GradientCheck,
    Method,
    Neon2GD,
)
from . import since
from .settings import Row

Variant = Literal["used", "printed", "authors"]
"""Of a row: with what is used where it fails as printed; exactly as printed; a rival in its authors' form."""

Sampled = Literal["minibatch", "online"]
"""The finders of sampled methods: `Minibatch`, and the paper's own, `ZONCFOnline`."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a builder has at hand: the row, the dimension, the tolerances, and which form of the row is asked for."""

    row: Row
    d: int
    epsilon: float
    curvature: float
    """The problem's own bound on it; 0 if the printed ell stands."""
    sigma2: float
    variant: Variant
    finder: Sampled

    @property
    def ell(self) -> float:
        """Of the deterministic finder: the printed one, or the problem's own where that is larger."""
        return max(self.row.ell, self.curvature)

    @property
    def delta(self) -> float:
        """sqrt(rho epsilon)."""
        return math.sqrt(self.row.rho * self.epsilon)

    @property
    def printed(self) -> bool:
        """Whether the row is taken exactly as printed."""
        return self.variant == "printed"

    def number(self, name: str) -> Any:
        """A number that this algorithm's row must have."""
        value = getattr(self.row, name)
        if value is None:
            raise ValueError(f"the row of {self.row.algorithm} has no {name}")
        return value

    @property
    def mu(self) -> float:
        """sqrt(3 epsilon / (4 rho sqrt(d))), the smaller smoothing parameter of Theorems 3 and 4."""
        return math.sqrt(3 * self.epsilon / (4 * self.row.rho * math.sqrt(self.d)))


def zpsgd(of: Given) -> ZPSGD:
    """sigma = 1e-6 / sqrt(d). The printed step 1 / (2 ell) is for exact gradients; a Gaussian one of m directions has
    1 + (d + 1) / m times the square length, and the step used is that much shorter."""
    m, eta = of.number("m"), of.number("eta")
    if not of.printed:
        eta /= 1 + (of.d + 1) / m
    return ZPSGD(eta=eta, r=of.number("r"), m=m, sigma=1e-6 / math.sqrt(of.d))


def pagd(of: Given) -> PAGD:
    """f_thres = sqrt(epsilon^3 / rho) and h = g_thres / (4 c_h) with c_h = ell sqrt(d), as in PAGD's source. Used: go
    on from the perturbed point, for as many steps as growth from r / sqrt(d) to one takes at a curvature of -1."""
    eta, g_thres = of.number("eta"), of.number("g_thres")
    h = g_thres / (4 * of.row.ell * math.sqrt(of.d))
    steps = math.ceil(math.log(math.sqrt(of.d) / of.number("r")) / math.log1p(eta))
    return PAGD(
        eta=eta,
        r=of.number("r"),
        g_thres=g_thres,
        f_thres=math.sqrt(of.epsilon**3 / of.row.rho),
        t_thres=of.number("t_thres") if of.printed else steps,
        h=h,
        h_low=h,
        form="printed" if of.printed else "continue",
    )


def rspi(of: Given) -> RSPI:
    """DFPI's step is 1 / ell, its differences are taken at 0.01. Used: DFPI in every iteration, as the paper has it;
    its authors run it only where the random step failed."""
    row = of.row
    return RSPI(
        sigma_1=of.number("sigma_1"),
        sigma_2=of.number("sigma_2"),
        T_DFPI=of.number("T_DFPI"),
        eta=1 / row.ell,
        c=1e-2,
        r=1e-2,
        shrink=of.number("shrink"),
        every=of.number("every"),
        form="authors" if of.variant == "authors" else "printed",
    )


def gd_ncf(of: Given) -> ZOGDNCF:
    """Theorem 4's smoothing; the gradient of the check is that of the step. Used: the float-safe finder, with an ell
    that bounds the curvature."""
    return ZOGDNCF(
        epsilon=of.epsilon,
        delta=of.delta,
        eta=of.number("eta"),
        finder=ZONCFDeterministic(delta=of.delta, failure=of.number("p"), ell=of.ell),
        mu_check=of.mu,
        rho=of.row.rho,
    )


def neon2_gd(of: Given) -> Neon2GD:
    """The same on exact gradients."""
    finder = Neon2Deterministic(delta=of.delta, failure=of.number("p"), ell=of.ell)
    return Neon2GD(epsilon=of.epsilon, delta=of.delta, eta=of.number("eta"), finder=finder, rho=of.row.rho)


def _check(of: Given) -> GradientCheck:
    return GradientCheck(epsilon=of.epsilon, sigma2=of.sigma2, failure=of.number("p") / 1000, mu=of.mu)


def _finder(of: Given) -> SampledFinder:
    """ZO-NCF-Online estimates its ell from products: the printed 100 is far above the curvature of these problems,
    and makes its steps that much shorter."""
    if of.finder == "online":
        return ZONCFOnline(delta=of.delta, failure=of.number("p"))
    return Minibatch(delta=of.delta, failure=of.number("p"))


def sgd_ncf(of: Given) -> ZOSGDNCF:
    """With the minibatch finder, or with the paper's ZO-NCF-Online: the curve says which."""
    return ZOSGDNCF(
        delta=of.delta,
        eta=of.number("eta"),
        batch=of.number("batch"),
        check=_check(of),
        finder=_finder(of),
        mu_step=of.mu,
        rho=of.row.rho,
    )


def scsg_ncf(of: Given) -> ZOSCSGNCF:
    """The same finders, with SCSG epochs."""
    epochs = ZOSCSG(
        B=of.number("batch"),
        b=of.number("small"),
        eta=of.number("eta"),
        mu=of.mu,
        option=2 if of.row.algorithm.endswith("II") else 1,
    )
    return ZOSCSGNCF(delta=of.delta, rho=of.row.rho, epochs=epochs, check=_check(of), finder=_finder(of))


def spider_ncf(of: Given) -> ZOSPIDERNCF:
    """The same finders; q = |S_1| / |S_2|, and epsilon~ = epsilon / 3, so that 3 epsilon~ is promised. Used: escapes
    downhill, and searches only where the estimate of the gradient is small."""
    S1, S2 = of.number("batch"), of.number("small")
    spider = ZOSPIDER(epsilon_tilde=of.epsilon / 3, eta=of.number("eta"), S1=S1, S2=S2, q=S1 // S2, mu=of.mu)
    return ZOSPIDERNCF(
        delta=of.delta,
        rho=of.row.rho,
        spider=spider,
        finder=_finder(of),
        form="printed" if of.printed else "downhill",
    )


BUILDERS: dict[str, Callable[[Given], Method]] = {
    "ZO-GD-NCF": gd_ncf,
    "ZPSGD": zpsgd,
    "PAGD": pagd,
    "RSPI": rspi,
    "Neon2+GD": neon2_gd,
    "ZO-SGD-NCF": sgd_ncf,
    "ZO-SCSG-NCF I": scsg_ncf,
    "ZO-SCSG-NCF II": scsg_ncf,
    "ZO-SPIDER-NCF": spider_ncf,
    **since.BUILDERS,
}


def build(
    row: Row,
    d: int,
    epsilon: float,
    *,
    ell: float = 0.0,
    sigma2: float = 0.0,
    variant: Variant = "used",
    finder: Sampled = "minibatch",
) -> Method:
    """The method of a row, with the problem's own ell and sigma^2."""
    given = Given(row=row, d=d, epsilon=epsilon, curvature=ell, sigma2=sigma2, variant=variant, finder=finder)
    return BUILDERS[row.algorithm](given)
