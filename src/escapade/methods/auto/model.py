"""The quadratic model of f: a symmetric matrix B, dense or of low rank plus a diagonal, updated by SR1.

`Model` holds what is common: updates and their safeguards. `DenseMatrix` (dense.py) and `LowRankMatrix`
(limited_memory.py) store B and do its algebra, behind one interface, `SymmetricMatrix`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._array import Vector, norm2
from ...derivatives.settings import UNITS
from .quadratic import Matrix
from .settings import MODEL


class SymmetricMatrix(Protocol):
    """A symmetric matrix that never changes: an update makes another."""

    @property
    def diagonal(self) -> Vector: ...

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of the eigenvalues, and of their squares."""
        ...

    @property
    def top(self) -> float:
        """The largest entry, in size."""
        ...

    @property
    def units(self) -> Vector | None:
        """Units in which the variables have curvatures of one, if in the user's they are very different."""
        ...

    @property
    def spectrum(self) -> tuple[Vector, Matrix]:
        """Eigenvalues, the smallest first, and eigenvectors as columns; of many variables the extreme ones."""
        ...

    @property
    def definite(self) -> bool:
        """Whether it is known to be positive definite, by an inverse that is kept."""
        ...

    def __matmul__(self, v: Vector) -> Vector: ...

    def above(self, shift: float) -> bool:
        """Whether all eigenvalues that are known are larger than this."""
        ...

    def newton(self, g: Vector) -> Vector:
        """The Newton step on |B|."""
        ...

    def step(self, g: Vector, radius: float, scale: Vector) -> Vector:
        """The minimiser of g's + s'Bs/2 over |s / scale| <= radius."""
        ...

    def inverse_root(self, delta: float, flattest: float) -> Any:
        """(|B| + delta)^(-1/2), with one as its largest eigenvalue and this as its smallest, at least."""
        ...

    def ends_definite(self, r: Vector, slope: float) -> bool:
        """Whether B + rr' / slope is no longer positive definite, B being known to be."""
        ...

    def plus(self, *terms: tuple[float, Vector]) -> SymmetricMatrix:
        """B + c ww' for each of these."""
        ...

    def with_product(self, v: Vector, r: Vector) -> SymmetricMatrix:
        """The least change of B that changes Bv by r, for a unit vector v."""
        ...

    def multiple_of_identity(self, curvature: float) -> SymmetricMatrix:
        """This multiple of the identity."""
        ...

    def made_definite(self) -> SymmetricMatrix:
        """The same with its inverse, if it is positive definite and an inverse is worth keeping."""
        ...


@dataclass
class Model:
    """f(x + s) ≈ f + g's + s'Bs/2."""

    B: SymmetricMatrix
    fresh: bool = False
    """Whether B is a first guess, that the first secant may replace."""
    futile: int = 0
    """Steps that gained nothing while B was not known to be positive definite."""

    @property
    def d(self) -> int:
        """The dimension."""
        return len(self.B.diagonal)

    @property
    def diagonal(self) -> Vector:
        """The diagonal of B."""
        return self.B.diagonal

    @property
    def spectrum(self) -> tuple[Vector, Matrix]:
        """The eigenvalues of B, the smallest first, and its eigenvectors as columns."""
        return self.B.spectrum

    def lowest(self) -> tuple[float, Vector]:
        """The smallest eigenvalue of B, and its vector."""
        values, vectors = self.B.spectrum
        return float(values[0]), vectors[:, 0]

    def above(self, shift: float) -> bool:
        """Whether all eigenvalues of B are larger than this."""
        return self.B.above(shift)

    def spread(self, delta: float) -> float:
        """How different the eigenvalues of B are, relatively and on average."""
        mean, square = self.B.moments
        return math.sqrt(max(square - mean**2, 0.0)) / (math.sqrt(square) + delta)

    def misses(self, diagonal: Vector, delta: float, least: float = 0.0) -> bool:
        """Whether the diagonal that was seen is another than that of B, by half as much as the eigenvalues differ."""
        off = float(np.mean(np.abs(self.diagonal - diagonal) / (np.abs(diagonal) + delta)))
        return off > max(MODEL.different * self.spread(delta), least)

    # Steps

    def change(self, g: Vector, s: Vector) -> float:
        """g's + s'Bs/2."""
        return float(g.dot(s) + s.dot(self.B @ s) / 2)

    def newton(self, g: Vector) -> Vector:
        """The Newton step on |B|."""
        return self.B.newton(g)

    def gain(self, g: Vector) -> float:
        """What a Newton step on |B| would gain."""
        return -float(g @ self.newton(g)) / 2

    def scaled(self, scale: Vector) -> Vector:
        """The scale of the trust region: this one, or the units of B where these are very different."""
        units = self.B.units
        return scale if units is None else units * float(np.median(scale / units))

    def step(self, g: Vector, radius: float, scale: Vector) -> Vector:
        """The minimiser of g's + s'Bs/2 over |s / scale| <= radius."""
        if self._kept_definite and not self.B.definite:
            self.B = self.B.made_definite()
        return self.B.step(g, radius, scale)

    def note_step(self, *, good: bool) -> None:
        """Count the steps that gained nothing: in curved valleys SR1 sees ways down that are none, and after a few such
        steps B is kept positive definite."""
        self.futile += not good and not self.B.definite

    @property
    def _kept_definite(self) -> bool:
        return self.futile >= MODEL.futile_steps

    def inverse_root(self, delta: float, flattest: float) -> Any:
        """(|B| + delta)^(-1/2), with one as its largest eigenvalue and this as its smallest, at least."""
        return self.B.inverse_root(delta, flattest)

    # Updates

    def secant(self, s: Vector, y: Vector, error: float, *, exact: bool = False) -> float:
        """SR1: B + rr' / r's with r = y - Bs, where that is safe; else BFGS, or the curvature along s alone. If y is as
        good as Hs, the least change of B that agrees with it: what earlier, orthogonal products showed is kept.

        `error` is the norm of what noise may have done to y; a smaller contradiction is none. Returns how large
        the contradiction was, relative to the curvatures in sight.
        """
        length = norm2(s)
        if length == 0.0:
            return 0.0
        r = self._residual(s, y)
        size, top = norm2(r), max(norm2(y) / length, self.B.top)
        if size <= error or top == 0.0 or not top < MODEL.huge:
            return 0.0
        if exact:
            self.B = self.B.with_product(s / length, r / length)
        elif self._believable(r, slope := float(r.dot(s)), s, y, top, abs(slope) / (size * length)):
            self.B = self.B.plus((1 / slope, r))
        elif min(float(s @ y), float(s @ (Bs := y - r))) > MODEL.negligible * top * length**2:
            self.B = self.B.plus((1 / float(s @ y), y), (-1 / float(s @ Bs), Bs))
        else:
            self.along(s / length, float(s @ y) / length**2)
        return size / (length * top)

    def _believable(self, r: Vector, slope: float, s: Vector, y: Vector, top: float, cosine: float) -> bool:
        """Whether the correction rr' / r's is in proportion to the curvatures in sight, which for variables of very
        different scales are those in units of their own; and does not end a positive definite B for an r that is nearly
        orthogonal to s, or for none once B is kept so."""
        kept = self.B.definite and (cosine < MODEL.faint_cosine or self._kept_definite)
        if cosine <= MODEL.least_cosine or (kept and self.B.ends_definite(r, slope)):
            return False
        unit = self.B.units
        if unit is not None:
            top = max(1.0, norm2(unit * y) / norm2(s / unit))
            r = unit * r
        return abs(slope) * MODEL.cap * top >= float(r.dot(r))

    def _residual(self, s: Vector, y: Vector) -> Vector:
        """y - Bs; a first guess gives way to a multiple of the identity where that fits better."""
        r: Vector = y - self.B @ s
        if self.fresh:
            diagonal = np.abs(self.diagonal)
            self.fresh, typical = False, float(np.median(diagonal))
            alike = float(diagonal.max()) <= UNITS.alike * float(diagonal.min())
            if alike and norm2(y - typical * s) < MODEL.better * norm2(r):
                self.B = self.B.multiple_of_identity(typical)
                r = y - typical * s
        return r

    def along(self, v: Vector, curvature: float) -> None:
        """Correct the curvature along the unit vector v, and nothing else (across v, in the units of the variables)."""
        if not abs(curvature) < MODEL.huge:
            return
        unit = self.B.units
        w = v if unit is None else v / unit**2 / float(np.sum((v / unit) ** 2))
        self.B = self.B.plus((curvature - float(v @ (self.B @ v)), w))
