"""The paper's settings, literally: one function per theorem, each number beside its formula.

Theorems 1 and 2, of the finders, are in this file; those of the methods in `descent.py` (3 and 4), `scsg.py` (7, the
full form of 5) and `spider.py` (8, the full form of 6, and 9). Hidden constants are arguments, one unless given. Where
a statement and its proof differ the statement is followed, and `as_proved=True` follows the proof.

The finders' radii are far below what float64 resolves at most points (1e-16 to 1e-24 at the paper's own settings), and
the finders do not need them. They are here for those who want the theorem as printed; where a radius cannot
be resolved the answer is `BelowPrecision`, never a certificate.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from .._array import Array
from ..curvature import LiteralOnline, ZONCFDeterministic
from ..derivatives.steps import require_resolved
from ..errors import BelowPrecision
from .assumptions import require_delta, require_dimension, require_failure, require_positive
from .descent import Theorem3, Theorem4, theorem_3, theorem_4
from .scsg import Theorem7, theorem_7
from .spider import Theorem8, Theorem9, theorem_8, theorem_9

__all__ = [
    "Theorem1",
    "Theorem2",
    "Theorem3",
    "Theorem4",
    "Theorem7",
    "Theorem8",
    "Theorem9",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "theorem_4",
    "theorem_7",
    "theorem_8",
    "theorem_9",
]


@dataclass(frozen=True, kw_only=True)
class Theorem1:
    """The settings of ZO-NCF-Online, Algorithms 1 and 2 of Zhang, Xiong & Gu (2022)."""

    ell: float
    """A Lipschitz constant of the gradient."""
    rho: float
    """A Lipschitz constant of the Hessian."""
    d: int
    """The number of variables."""
    delta: float
    """The negative curvature that is still accepted."""
    p: float
    """The probability of failure."""
    C0: float
    """The constant C_0 of Algorithm 1."""
    eta: float
    """Step of Oja's iteration, delta / (C_0^2 ell^2 log(100 d))."""
    T: float
    """Iterations of one weak run, C_0^2 log(100 d) / (eta delta)."""
    perturbation: float
    """sigma, eta^2 delta^3 / ((100 d)^(3 C_0) rho)."""
    radius: float
    """r, (100 d)^C_0 sigma."""
    repetitions: int
    """Weak runs, Theta(log(1/p)) with constant one: each misses with probability 1/3, and 3^-log(1/p) < p."""
    m: int
    """Samples that check a direction, Theta(ell^2 log(1/p) / delta^2), with constant one."""
    m_proof: int
    """What the proof of Lemma 3 needs: 2 (delta/16 + ell) sqrt(log(1/p) / m) + delta/16 <= delta/4."""
    displacement: float
    """The length of v' in that check, Theta(delta / (d rho)): delta / (16 d rho), the most Lemma 3 allows."""

    @property
    def iterations(self) -> int:
        """T as a count."""
        return math.ceil(self.T)

    def resolved(self, x: Array, magnitude: float) -> None:
        """Raise `BelowPrecision` where the perturbation is lost in x, or in values of f of this magnitude."""
        require_resolved("perturbation", self.perturbation, x, magnitude, self.ell)

    def finder(self) -> LiteralOnline:
        """The finder with exactly these numbers, and m_proof for m. Where they cannot be resolved it raises
        `BelowPrecision`; with C_0 = 1 it can find a direction, but T is too short for its ⊥ to say anything."""
        _require_normal(self.perturbation, f"C0={self.C0!r}", "lower C0, or use ZONCFOnline, which is normalised")
        return LiteralOnline(delta=self.delta, failure=self.p, ell=self.ell, rho=self.rho, C0=self.C0)


@dataclass(frozen=True, kw_only=True)
class Theorem2:
    """The settings of ZO-NCF-Deterministic, Algorithm 3 of Zhang, Xiong & Gu (2022)."""

    ell: float
    """A Lipschitz constant of the gradient."""
    rho: float
    """A Lipschitz constant of the Hessian."""
    d: int
    """The number of variables."""
    delta: float
    """The negative curvature that is still accepted."""
    p: float
    """The probability of failure."""
    C1: float
    """The constant C_1 of Algorithm 3."""
    T: float
    """Iterations, C_1^2 log(d/p) sqrt(ell) / sqrt(delta)."""
    perturbation: float
    """sigma, (d/p)^(-2 C_1) delta / (T^4 rho)."""
    radius: float
    """r, (d/p)^C_1 sigma."""

    @property
    def iterations(self) -> int:
        """T as a count."""
        return math.ceil(self.T)

    def resolved(self, x: Array, magnitude: float) -> None:
        """Raise `BelowPrecision` where the perturbation is lost in x, or in values of f of this magnitude."""
        require_resolved("perturbation", self.perturbation, x, magnitude, self.ell)

    def finder(self) -> ZONCFDeterministic:
        """The finder with exactly these numbers. Where they cannot be resolved it raises `BelowPrecision`."""
        _require_normal(
            self.perturbation, f"C1={self.C1!r}", "lower C1, or use ZONCFDeterministic without a perturbation"
        )
        return ZONCFDeterministic(
            delta=self.delta,
            failure=self.p,
            ell=self.ell,
            C1=self.C1,
            T=self.iterations,
            perturbation=self.perturbation,
            rho=self.rho,
        )


def theorem_1(*, ell: float, rho: float, d: int, delta: float, p: float, C0: float = 1.0) -> Theorem1:
    """The literal settings of Theorem 1 (ZO-NCF-Online), Zhang, Xiong & Gu (2022)."""
    _assumptions("Theorem 1", ell, rho, d, delta, p, C0=C0)
    log = math.log(100 * d)
    eta = delta / (C0**2 * ell**2 * log)                            # eta = delta / (C_0^2 ell^2 log(100d))
    T = C0**2 * log / (eta * delta)                                 # T = C_0^2 log(100d) / (eta delta)
    scale = eta**2 * delta**3 / rho  # the powers of 100d are gathered, so that none overflows
    repeats = math.log(1 / p)
    return Theorem1(
        ell=ell,
        rho=rho,
        d=d,
        delta=delta,
        p=p,
        C0=C0,
        eta=eta,
        T=T,
        perturbation=scale * (100.0 * d) ** (-3 * C0),              # sigma = eta^2 delta^3/((100d)^3C_0 rho)
        radius=scale * (100.0 * d) ** (-2 * C0),                    # r = (100d)^C_0 sigma
        repetitions=math.ceil(repeats),                             # Theta(log(1/p))
        m=math.ceil(ell**2 * repeats / delta**2),                   # Theta(ell^2 log(1/p) / delta^2)
        m_proof=math.ceil((32 * (delta / 16 + ell) / (3 * delta)) ** 2 * repeats),
        displacement=delta / (16 * d * rho),                        # |v'| = Theta(delta / (d rho))
    )


def theorem_2(*, ell: float, rho: float, d: int, delta: float, p: float, C1: float = 1.0) -> Theorem2:
    """The literal settings of Theorem 2 (ZO-NCF-Deterministic), Zhang, Xiong & Gu (2022)."""
    _assumptions("Theorem 2", ell, rho, d, delta, p, C1=C1)
    T = C1**2 * math.log(d / p) * math.sqrt(ell) / math.sqrt(delta)  # C_1^2 log(d/p) sqrt(ell) / sqrt(delta)
    scale = delta / (T**4 * rho)  # the powers of d/p are gathered, so that none overflows
    return Theorem2(
        ell=ell,
        rho=rho,
        d=d,
        delta=delta,
        p=p,
        C1=C1,
        T=T,
        perturbation=scale * (d / p) ** (-2 * C1),                  # sigma = (d/p)^-2C_1 delta / (T^4 rho)
        radius=scale * (d / p) ** -C1,                              # r = (d/p)^C_1 sigma
    )


def _require_normal(perturbation: float, constant: str, remedy: str) -> None:
    if perturbation < sys.float_info.min:
        raise BelowPrecision(
            f"perturbation={perturbation:.3g} is below {sys.float_info.min:.3g}, the least normal float64 "
            f"({constant}); {remedy}"
        )


def _assumptions(
    theorem: str, ell: float, rho: float, d: int, delta: float, p: float, **constants: float
) -> None:
    require_dimension(theorem, d)
    require_positive(theorem, ell=ell, rho=rho, delta=delta, **constants)
    require_delta(theorem, delta, ell)
    require_failure(theorem, p)
