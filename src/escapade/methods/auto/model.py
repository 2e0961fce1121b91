"""The model part: a dense symmetric Hessian model, kept by SR1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf

from ..._array import Vector, largest, norm2
from ...derivatives.preconditioner import inverse_root
from . import quadratic
from .quadratic import Matrix, inverse_of_diagonal, inverse_plus, plus_square

CAP = 10.0
"""An SR1 correction larger than this many times the curvatures in sight is not believed."""

FAINT = 0.05
"""A residual whose angle with the step has a smaller cosine is nearly orthogonal to it."""

MISLED = 6
"""So many steps of many variables that gained nothing while B was not positive definite, and it is kept so by BFGS: in
curved valleys SR1 sees ways down that are none."""

SPREAD = 30.0
"""A diagonal that differs by more than this is the scale of the variables, and kept."""

UNEVEN = 1e4
"""Variables whose curvatures differ by more than this are compared in units of their own."""

UNKNOWN = 1e-8
"""A variable whose curvatures are this small, beside the square root of the largest, may have none."""

HUGE = 1e100
"""What is larger, or not a number, is no curvature."""


@dataclass
class Model:
    """f(x + s) ≈ f + g's + s'Bs/2."""

    B: Any
    """A matrix, or what stands for one."""
    fresh: bool = False
    """Whether B is a first guess, that the first secant may replace."""
    inverse: Matrix | None = None
    """The inverse of B, while it can be kept: from a diagonal on, through corrections that leave it positive."""
    misled: int = 0
    """Steps that gained nothing while no inverse was kept."""

    @classmethod
    def diagonal_of(cls, diagonal: Vector) -> Model:
        """A diagonal model."""
        return cls(np.diag(diagonal), fresh=True, inverse=inverse_of_diagonal(diagonal))

    @property
    def diagonal(self) -> Vector:
        """The diagonal of B."""
        own: Vector = self.B.diagonal().copy()
        return own

    @property
    def moments(self) -> tuple[float, float]:
        """The mean of the eigenvalues of B, and of their squares."""
        return float(np.trace(self.B)) / len(self.B), float(np.vdot(self.B, self.B)) / len(self.B)

    def spread(self, delta: float) -> float:
        """How different the eigenvalues of B are, relatively and on average."""
        mean, square = self.moments
        return math.sqrt(max(square - mean**2, 0.0)) / (math.sqrt(square) + delta)

    def misses(self, diagonal: Vector, delta: float, least: float = 0.0) -> bool:
        """Whether the diagonal that was seen is another than that of B, by half as much as the eigenvalues differ."""
        off = float(np.mean(np.abs(self.diagonal - diagonal) / (np.abs(diagonal) + delta)))
        return off > max(0.5 * self.spread(delta), least)

    def change(self, g: Vector, s: Vector) -> float:
        """g's + s'Bs/2."""
        return float(g.dot(s) + s.dot(self.B @ s) / 2)

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
        size, top = norm2(r), max(norm2(y) / length, self.top)
        if size <= error or top == 0.0 or not top < HUGE:
            return 0.0
        if exact:
            self._agree(s / length, r / length)
        elif self._believable(r, slope := float(r.dot(s)), s, y, top, abs(slope) / (size * length)):
            self._add((1 / slope, r))
        elif min(float(s @ y), float(s @ (Bs := y - r))) > 1e-3 * top * length**2:  # convex
            self._add((1 / float(s @ y), y), (-1 / float(s @ Bs), Bs))
        else:
            self.along(s / length, float(s @ y) / length**2)
        return size / (length * top)

    def _believable(self, r: Vector, slope: float, s: Vector, y: Vector, top: float, cosine: float) -> bool:
        """Whether the correction rr' / r's is in proportion to the curvatures in sight, which for variables of very
        different scales are those in units of their own; and does not end a positive definite B for an r that is nearly
        orthogonal to s, or for none once that has misled."""
        kept = self.inverse is not None and (cosine < FAINT or self._wary)
        if cosine <= 1e-8 or (kept and quadratic.ends_definite(self.inverse, r, slope)):
            return False
        unit = self.units
        if unit is not None:
            top = max(1.0, norm2(unit * y) / norm2(s / unit))
            r = unit * r
        return abs(slope) * CAP * top >= float(r.dot(r))

    @cached_property
    def top(self) -> float:
        """The largest entry of B, in size."""
        entries = self.B.reshape(-1) if self.inverse is None else self.diagonal  # which has the largest then
        return largest(entries)

    @cached_property
    def units(self) -> Vector | None:
        """Units in which the variables have curvatures of one, if in the user's they are very different.

        B_ij is about c_i c_j, whether on the diagonal or not: at a saddle the diagonal may be zero. A variable that B
        knows nothing of is taken to be like the others.
        """
        diagonal = np.abs(self.B.diagonal())
        if self.top <= UNEVEN * diagonal[diagonal.argmin()]:
            return None
        rows = np.abs(self.B).max(axis=1)
        curved = np.maximum(np.sqrt(diagonal), rows / (math.sqrt(float(rows.max())) + 1e-100))
        known = np.sort(curved[curved > UNKNOWN * float(curved.max())])
        if len(known) == 0 or float(known[-1]) ** 2 <= UNEVEN * float(known[(len(known) - 1) // 2]) ** 2:
            return None
        units: Vector = 1 / np.where(curved >= known[0], curved, known[(len(known) - 1) // 2])
        return units

    def _residual(self, s: Vector, y: Vector) -> Vector:
        """y - Bs; a first guess gives way to a multiple of the identity where that fits better."""
        r: Vector = y - self.B @ s
        if self.fresh:
            diagonal = np.abs(self.diagonal)
            self.fresh, typical = False, float(np.median(diagonal))
            alike = float(diagonal.max()) <= SPREAD * float(diagonal.min())
            if alike and norm2(y - typical * s) < 0.8 * norm2(r):
                self._even(typical)
                r = y - typical * s
        return r

    def along(self, v: Vector, curvature: float) -> None:
        """Correct the curvature along the unit vector v, and nothing else (across v, in the units of the variables)."""
        if not abs(curvature) < HUGE:
            return
        unit = self.units
        w = v if unit is None else v / unit**2 / float(np.sum((v / unit) ** 2))
        self._add((curvature - float(v @ (self.B @ v)), w))

    @cached_property
    def spectrum(self) -> tuple[Vector, Matrix]:
        """The eigenvalues of B, the smallest first, and its eigenvectors as columns."""
        values, vectors = np.linalg.eigh(self.B)
        return values, vectors

    def above(self, level: float) -> bool:
        """Whether all eigenvalues of B are larger than this."""
        return not dpotrf(self.B - level * np.eye(len(self.B)), lower=1)[1]

    def lowest(self) -> tuple[float, Vector]:
        """The smallest eigenvalue of B, and its vector."""
        values, vectors = self.spectrum
        return float(values[0]), vectors[:, 0]

    def newton(self, g: Vector) -> Vector:
        """The Newton step on |B|."""
        step: Vector
        _, step, indefinite = dposv(self.B, -g, lower=1)
        if not indefinite:
            return step
        values, vectors = self.spectrum
        floor = 1e-8 * float(np.abs(values).max()) + 1e-300
        inverse: Vector = vectors.T @ g / np.maximum(np.abs(values), floor)
        return -(vectors @ inverse)

    def gain(self, g: Vector) -> float:
        """What a Newton step on |B| would gain."""
        return -float(g @ self.newton(g)) / 2

    def step(self, g: Vector, radius: float, scale: Vector) -> Vector:
        """The minimiser of g's + s'Bs/2 over |s / scale| <= radius."""
        if self.inverse is None and self._wary:
            self.inverse = quadratic.inverse_of(self.B)
        return quadratic.trust_region_step(self.B, g, radius, scale, self.inverse)

    @property
    def _wary(self) -> bool:
        return self.misled >= MISLED and len(self.B) >= quadratic.MANY

    def shape(self, delta: float, flattest: float) -> Any:
        """(|B| + delta)^(-1/2), with one as its largest eigenvalue and this as its smallest, at least."""
        values, vectors = self.spectrum
        return (vectors * inverse_root(values, delta, flattest)) @ vectors.T

    # How B changes

    def _replace(self, B: Any, inverse: Matrix | None = None) -> None:
        """Another B: what was known of the last one is forgotten."""
        self.B, self.inverse = B, inverse
        for fact in ("top", "units", "spectrum"):
            self.__dict__.pop(fact, None)

    def shift(self, change: Vector) -> None:
        """Add this to the diagonal of B."""
        self._replace(self.B + np.diag(change))

    def _even(self, curvature: float) -> None:
        """Forget all but this curvature."""
        self._replace(curvature * np.eye(len(self.B)), inverse_of_diagonal(np.full(len(self.B), curvature)))

    def _add(self, *terms: tuple[float, Vector]) -> None:
        """B + c ww' for each of these."""
        B, inverse = self.B, self.inverse
        for c, w in terms:
            if c != 0:
                B, inverse = plus_square(B, c, w), inverse_plus(inverse, w, 1 / c)
        self._replace(B, inverse)

    def _agree(self, v: Vector, r: Vector) -> None:
        """The least change of B that changes Bv by r, for a unit vector v."""
        half = np.outer(r - 0.5 * float(v @ r) * v, v)
        changed = self.B + half
        changed += half.T
        self._replace(changed)
