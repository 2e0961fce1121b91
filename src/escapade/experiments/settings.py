"""The parameter tables of the paper's Appendix G, transcribed once, as printed.

A `Row` is one line of a table; a field is None where the line has no such number. What the tables leave out, and what
is used where a printed number fails, is in `build.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

E = math.e
OCTOPUS_DIMENSIONS = (10, 30, 50, 100)
NEON2_DIMENSIONS = (30, 50)
CUBIC_DIMENSIONS = (100, 200)
STOCHASTIC_DIMENSIONS = (20, 100)

EPSILON = {"octopus": 1e-4, "neon2": 1e-4, "cubic": 1e-2, "least-squares": 1e-2}
"""epsilon of each experiment; delta is sqrt(rho epsilon)."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table."""

    algorithm: str
    ell: float
    rho: float
    eta: float | None = None
    """Step size, a printed fraction of 1 / ell."""
    p: float | None = None
    r: float | None = None
    """Radius of the perturbation."""
    m: int | None = None
    """Directions a step, printed as m = d."""
    t_thres: int | None = None
    g_thres: float | None = None
    sigma_1: float | None = None
    sigma_2: float | None = None
    shrink: float | None = None
    """rho_sigma1."""
    every: int | None = None
    """T_sigma1."""
    T_DFPI: int | None = None
    batch: int | None = None
    """|S|, B or |S_1|."""
    small: int | None = None
    """b or |S_2|."""


def octopus(d: int) -> tuple[Row, ...]:
    """Table "Choices of parameters for the experiment of the octopus function"."""
    sigma_1, sigma_2, shrink = {
        10: (1.0, 1.25, 0.95),
        30: (1.0, 1.25, 0.95),
        50: (1.0, 1.25, 0.85),
        100: (0.75, 0.5, 0.9),
    }[min(OCTOPUS_DIMENSIONS, key=lambda printed: abs(printed - d))]
    return (
        Row(algorithm="ZPSGD", ell=E, rho=1e-4, r=1e-4, eta=1 / (2 * E), m=d),
        Row(algorithm="PAGD", ell=E, rho=E, eta=1 / (4 * E), r=E / 100, t_thres=1, g_thres=E / 100),
        Row(algorithm="ZO-GD-NCF", ell=E, rho=E, eta=1 / (4 * E), p=0.01),
        Row(algorithm="RSPI", ell=E, rho=E, sigma_1=sigma_1, sigma_2=sigma_2, shrink=shrink, every=20, T_DFPI=20),
    )


def neon2(d: int) -> tuple[Row, ...]:
    """Table "Choices of parameters of ZO-GD-NCF and Neon2+GD"."""
    return (
        Row(algorithm="ZO-GD-NCF", ell=E, rho=E, eta=1 / (2 * E), p=0.01),
        Row(algorithm="Neon2+GD", ell=E, rho=E, eta=1 / (2 * E), p=0.01),
    )


def deterministic(d: int) -> tuple[Row, ...]:
    """The deterministic halves of the tables of the cubic and of the least-squares problem, which agree."""
    return (
        Row(algorithm="ZPSGD", ell=100.0, rho=1.0, r=1e-2, eta=1 / 200, m=d),
        Row(algorithm="PAGD", ell=100.0, rho=1.0, eta=1 / 400, r=1e-2, t_thres=1, g_thres=1e-2),
        Row(algorithm="RSPI", ell=100.0, rho=1.0, sigma_1=0.4, sigma_2=0.4, shrink=0.98, every=10, T_DFPI=100),
        Row(algorithm="ZO-GD-NCF", ell=100.0, rho=1.0, eta=1 / 400, p=0.01),
    )


def stochastic(d: int) -> tuple[Row, ...]:
    """The stochastic halves, which agree as well."""
    return (
        Row(algorithm="ZO-SGD-NCF", ell=100.0, rho=1.0, eta=1 / 300, batch=128, p=0.01),
        Row(algorithm="ZO-SCSG-NCF I", ell=100.0, rho=1.0, eta=1 / 400, batch=128, small=10, p=0.01),
        Row(algorithm="ZO-SCSG-NCF II", ell=100.0, rho=1.0, eta=1 / 1000, batch=128, small=10, p=0.01),
        Row(algorithm="ZO-SPIDER-NCF", ell=100.0, rho=1.0, eta=1 / 1500, batch=128, small=10, p=0.01),
    )
