"""The paper's table of query complexities, as functions.

Counts are to leading order: every hidden constant is one, and only the logarithms the paper prints are there.
They compare methods and show how they scale; they predict no run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import InvalidSetting

Option = Literal[1, 2]
"""Steps along CoordGradEst (I) or RandGradEst (II)."""


@dataclass(frozen=True, kw_only=True)
class Constants:
    """What the bounds depend on.

    f is ell-smooth and rho-Hessian-Lipschitz, the variance of its stochastic gradients is at most sigma^2,
    and f(x_0) - min f = Delta_f.
    """

    d: int
    """The number of variables."""
    epsilon: float
    """The gradient norm to reach."""
    delta: float
    """The negative curvature that is still accepted."""
    ell: float = 1.0
    """A Lipschitz constant of the gradient."""
    rho: float = 1.0
    """A Lipschitz constant of the Hessian."""
    sigma: float = 1.0
    """A bound on the deviation of a sample's gradient."""
    Delta_f: float = 1.0
    """f(x_0) less the least value."""
    p: float = 1e-3
    """The probability of failure."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            good = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not (good and math.isfinite(value) and value > 0):
                raise InvalidSetting(f"{name}={value!r} must be positive and finite")
        if self.p >= 1:
            raise InvalidSetting(f"p={self.p!r} must lie in (0, 1): it is a probability of failure")


# The curvature finders


def zo_ncf_online(c: Constants) -> float:
    """ZO-NCF-Online: d log^2(d/p) ell^2 / delta^2. Theorem 1, Zhang, Xiong & Gu (2022)."""
    return c.d * math.log(c.d / c.p) ** 2 * c.ell**2 / c.delta**2


def zo_ncf_deterministic(c: Constants) -> float:
    """ZO-NCF-Deterministic: d log(d/p) sqrt(ell / delta). Theorem 2, Zhang, Xiong & Gu (2022)."""
    return c.d * math.log(c.d / c.p) * math.sqrt(c.ell / c.delta)


# The eight rows


def zpsgd(c: Constants) -> float:
    """ZPSGD: d^2 / epsilon^5. Table 1, after Jin, Liu, Ge & Jordan (2018)."""
    return c.d**2 / c.epsilon**5


def pagd(c: Constants) -> float:
    """PAGD: d log^4(d) / epsilon^2. Table 1, after Vlatakis-Gkaragkounis, Flokas & Piliouras (2019)."""
    return c.d * math.log(c.d) ** 4 / c.epsilon**2


def rspi(c: Constants) -> float:
    """RSPI: d log(d) / epsilon^(8/3). Table 1, after Lucchi, Orvieto & Solomou (2021)."""
    return float(c.d * math.log(c.d) / c.epsilon ** (8 / 3))


def zo_gd_ncf(c: Constants, option: Option = 1) -> float:
    """ZO-GD-NCF: d ell Delta_f / epsilon^2 + d log(d) sqrt(ell / delta) rho^2 Delta_f / delta^3.

    With option II the first term has another d.

    Theorem 4 and, for the logarithm, Table 1, Zhang, Xiong & Gu (2022).
    """
    descent = _steps(c, option) * c.d * c.ell * c.Delta_f / c.epsilon**2
    escapes = c.rho**2 * c.Delta_f / c.delta**3
    return descent + c.d * math.log(c.d) * math.sqrt(c.ell / c.delta) * escapes


def zo_scrn(c: Constants) -> float:
    """ZO-SCRN: d / epsilon^3.5 + d^4 / epsilon^2.5. Table 1, after Balasubramanian & Ghadimi (2022)."""
    return float(c.d / c.epsilon**3.5 + c.d**4 / c.epsilon**2.5)


def zo_sgd_ncf(c: Constants, option: Option = 1) -> float:
    """ZO-SGD-NCF, d Delta_f times

    sigma^2 ell / epsilon^4 + sigma^2 rho^2 / (epsilon^2 delta^3) + ell^2 rho^2 / delta^5.

    With option II the first term has another d.

    Theorem 3, Zhang, Xiong & Gu (2022).
    """
    descent = _steps(c, option) * c.d * c.sigma**2 * c.ell * c.Delta_f / c.epsilon**4
    checks = c.d * c.sigma**2 * c.rho**2 * c.Delta_f / (c.epsilon**2 * c.delta**3)
    return descent + checks + c.d * c.ell**2 * c.rho**2 * c.Delta_f / c.delta**5


def zo_scsg_ncf(c: Constants) -> float:
    """ZO-SCSG-NCF, both options, d times

    (ell Delta_f / (epsilon^(4/3) sigma^(2/3)) + rho^2 Delta_f / delta^3)
    (sigma^2 / epsilon^2 + ell^2 / delta^2) + ell^3 Delta_f / (epsilon^2 delta^2).

    Theorem 5, Zhang, Xiong & Gu (2022).
    """
    descents = c.ell * c.Delta_f / (c.epsilon ** (4 / 3) * c.sigma ** (2 / 3))
    escapes = c.rho**2 * c.Delta_f / c.delta**3
    epoch = c.sigma**2 / c.epsilon**2 + c.ell**2 / c.delta**2
    last = c.ell * c.Delta_f / c.epsilon**2 * c.ell**2 / c.delta**2
    return float(c.d * (descents + escapes) * epoch + c.d * last)


def zo_spider_ncf(c: Constants) -> float:
    """ZO-SPIDER-NCF, d times

    sigma ell Delta_f / epsilon^3 + sigma ell rho Delta_f / (epsilon^2 delta^2)
    + ell^2 rho Delta_f / (delta^3 epsilon) + ell^2 rho^2 Delta_f / delta^5 + sigma^2 / epsilon^2
    + sigma delta ell / (rho epsilon^2) + ell^2 / delta^2.

    Theorem 6, Zhang, Xiong & Gu (2022).
    """
    return c.d * (
        c.sigma * c.ell * c.Delta_f / c.epsilon**3
        + c.sigma * c.ell * c.rho * c.Delta_f / (c.epsilon**2 * c.delta**2)
        + c.ell**2 * c.rho * c.Delta_f / (c.delta**3 * c.epsilon)
        + c.ell**2 * c.rho**2 * c.Delta_f / c.delta**5
        + c.sigma**2 / c.epsilon**2
        + c.sigma * c.delta * c.ell / (c.rho * c.epsilon**2)
        + c.ell**2 / c.delta**2
    )


def _steps(c: Constants, option: int) -> int:
    """RandGradEst needs d times the steps of CoordGradEst."""
    if option not in (1, 2):
        raise InvalidSetting(f"option={option!r} must be 1 (CoordGradEst) or 2 (RandGradEst)")
    return 1 if option == 1 else c.d


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of Table 1, or of `theory.since.SINCE`."""

    name: str
    """The method."""
    setting: Literal["deterministic", "stochastic"]
    """Values, or averages over samples."""
    estimator: str
    """How gradients are estimated."""
    technique: str
    """How saddles are left."""
    guarantee: str
    """Which second-order point: (epsilon, bound on the negative curvature)."""
    printed: str
    """The entry of the table, as a Python expression (all other constants one)."""
    queries: Callable[[Constants], float]
    """The count, with all constants where a theorem of the paper gives them."""


TABLE: dict[str, Row] = {
    row.name: row
    for row in (
        Row(
            name="ZPSGD",
            setting="deterministic",
            estimator="GaussGE + noise",
            technique="random perturbation",
            guarantee="(epsilon, O(sqrt(epsilon)))",
            printed="d**2/epsilon**5",
            queries=zpsgd,
        ),
        Row(
            name="PAGD",
            setting="deterministic",
            estimator="CoordGE",
            technique="random perturbation",
            guarantee="(epsilon, O(sqrt(epsilon)))",
            printed="d*log(d)**4/epsilon**2",
            queries=pagd,
        ),
        Row(
            name="RSPI",
            setting="deterministic",
            estimator="CoordGE",
            technique="random search + negative curvature finding",
            guarantee="(epsilon, epsilon^(2/3))",
            printed="d*log(d)/epsilon**(8/3)",
            queries=rspi,
        ),
        Row(
            name="ZO-GD-NCF",
            setting="deterministic",
            estimator="CoordGE",
            technique="negative curvature finding",
            guarantee="(epsilon, delta)",
            printed="d/epsilon**2 + d*log(d)/delta**3.5",
            queries=zo_gd_ncf,
        ),
        Row(
            name="ZO-SCRN",
            setting="stochastic",
            estimator="GaussGE",
            technique="cubic regularisation",
            guarantee="(epsilon, O(sqrt(epsilon)))",
            printed="d/epsilon**3.5 + d**4/epsilon**2.5",
            queries=zo_scrn,
        ),
        Row(
            name="ZO-SGD-NCF",
            setting="stochastic",
            estimator="CoordGE",
            technique="negative curvature finding",
            guarantee="(epsilon, delta)",
            printed="d/epsilon**4 + d/(epsilon**2*delta**3) + d/delta**5",
            queries=zo_sgd_ncf,
        ),
        Row(
            name="ZO-SCSG-NCF",
            setting="stochastic",
            estimator="CoordGE + (RandGE)",
            technique="negative curvature finding",
            guarantee="(epsilon, delta)",
            printed="d/epsilon**(10/3) + d/(epsilon**2*delta**3) + d/delta**5",
            queries=zo_scsg_ncf,
        ),
        Row(
            name="ZO-SPIDER-NCF",
            setting="stochastic",
            estimator="CoordGE",
            technique="negative curvature finding",
            guarantee="(epsilon, delta)",
            printed="d/epsilon**3 + d/(epsilon**2*delta**2) + d/delta**5",
            queries=zo_spider_ncf,
        ),
    )
}
"""The paper's Table 1, by method.

:meta hide-value:
"""
