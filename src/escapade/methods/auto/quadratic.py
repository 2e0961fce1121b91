"""Algebra of the model: its inverse, its lowest direction, and its least value over a ball."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dposv, dtrtrs

from ..._array import norm2
from ...estimators.neighbourhood import Vector

Matrix = NDArray[np.float64]

EDGE = 1e-6
"""How much a step may be too long, relatively, before it is shortened; then it is cut."""

MANY = 64
"""From this dimension on an inverse that is kept costs less than Cholesky factors that are taken anew."""

NEAR = 0.05
"""How long or short a step may be instead in many dimensions, where eigenvectors cost twenty Cholesky factors."""

TRIES = 20
"""Shifts that are tried, at most, for a step of the right length."""

SINGULAR = 1e-6
"""A change that leaves less of a determinant is not believed to have left the inverse any digits."""


def inverse_of_diagonal(diagonal: Vector) -> Matrix | None:
    """The inverse of a diagonal matrix, if it is positive definite and worth keeping."""
    return np.diag(1 / diagonal) if len(diagonal) >= MANY and float(diagonal.min()) > 0 else None


def ends_definite(inverse: Matrix | None, r: Vector, slope: float) -> bool:
    """Whether B + rr' / slope is no longer positive definite, B being known to be."""
    return inverse is not None and not 1 + float(r.dot(inverse.dot(r))) / slope > SINGULAR


def inverse_plus(inverse: Matrix | None, r: Vector, slope: float) -> Matrix | None:
    """The inverse of B + rr' / slope, written over that of B, if both are known to be positive definite."""
    if inverse is None:
        return None
    u = inverse.dot(r)
    pivot = slope + float(r.dot(u))
    return plus_square(inverse, -1 / pivot, u) if pivot / slope > SINGULAR else None


def plus_square(A: Matrix, c: float, a: Vector) -> Matrix:
    """A + c aa', written over A: half the time of a new matrix. (The product of matrices that BLAS has for it takes no
    second thread for something so small; its update of rank one does, and waits for that longer than it works.)"""
    column = a[:, None]
    changed: Matrix = dgemm(c, column, column, beta=1.0, c=A.T, trans_b=1, overwrite_c=1).T
    return changed


def lowest_scaled(B: Matrix) -> tuple[float, Vector]:
    """The smallest eigenvalue of B with ones on its diagonal, and the unit vector it belongs to: where variables are of
    very different scales, a direction down that the eigenvalues of B itself do not show."""
    weight = 1 / np.sqrt(np.abs(np.diag(B)) + 1e-12 * float(np.abs(B).max()) + 1e-300)
    values, vectors = np.linalg.eigh(weight[:, None] * B * weight[None, :])
    v: Vector = weight * vectors[:, 0]
    return float(values[0]), v / float(np.linalg.norm(v))


def trust_region_step(B: Matrix, g: Vector, radius: float, scale: Vector) -> Vector:
    """The minimiser of g's + s'Bs/2 over |s / scale| <= radius.

    If B is positive definite Cholesky factors will do, a tenth of the price of eigenvectors; and inside the region the
    scale does not matter.
    """
    shift, (L, s, indefinite) = 0.0, dposv(B.T, -g, lower=1)  # B is symmetric, and B.T as LAPACK likes it
    if not indefinite:
        z = s / scale
        length = norm2(z)
        if length <= (1 + EDGE) * radius:
            step: Vector = s * min(1.0, radius / length) if length > 0 else s
            return step
        shift, indefinite = _more(L, z / scale, length, radius), not math.isfinite(length)
    M, c = scale[:, None] * B * scale, scale * g
    on_edge = None
    if len(g) >= MANY:
        on_edge = _on_edge(M, c, radius, norm2(c) / radius if indefinite else shift, NEAR)
    elif not indefinite:
        on_edge = _on_edge(M, c, radius, shift, EDGE)
    return scale * (_by_eigenvectors(M, c, radius) if on_edge is None else on_edge)


def _on_edge(M: Matrix, c: Vector, radius: float, shift: float, near: float) -> Vector | None:
    """The minimiser of c'z + z'Mz/2 on |z| = radius, nearly, by Newton's method on 1/|z| as a function of M's shift; or
    None, as in the hard case."""
    low, high = 0.0, math.inf
    for _ in range(TRIES):
        shifted = M.copy()
        shifted.flat[:: len(c) + 1] += shift
        L, z, failed = dposv(shifted.T, -c, lower=1, overwrite_a=1)
        length = math.inf if failed else norm2(z)
        if abs(length - radius) <= near * radius:
            step: Vector = z * min(1.0, radius / length)
            return step
        low, high = (shift, high) if length > radius else (low, shift)
        newton = shift + _more(L, z, length, radius) if math.isfinite(length) else math.inf
        if low < newton < high:
            shift = newton
        else:
            shift = (low + high) / 2 if high < math.inf else 4 * low
    return None


def _more(L: Matrix, z: Vector, length: float, radius: float) -> float:
    """The Newton step of the shift, with L the factor that led to z, of this length."""
    w = dtrtrs(L, z, lower=1)[0]
    return length**2 / float(w @ w) * (length - radius) / radius


def _by_eigenvectors(M: Matrix, c: Vector, radius: float) -> Vector:
    """The same for any M, the hard case included."""
    values, vectors = np.linalg.eigh(M)
    c = vectors.T @ c
    tiny = 1e-100 * (1.0 + float(np.linalg.norm(c)))

    def z(shift: float) -> Vector:
        return -c / np.maximum(values + shift, tiny)

    floor = max(0.0, -float(values[0]))
    low, high = floor, floor + float(np.linalg.norm(c)) / radius + 1e-300
    edge = z(floor + 1e-12 * (abs(values).max() + floor))
    if np.linalg.norm(edge) < radius and values[0] <= 0:  # the hard case: along the lowest eigenvector
        missing = math.sqrt(radius**2 - float(edge @ edge))
        edge[0] += math.copysign(missing, edge[0])
        return vectors @ edge
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if norm2(z(middle)) > radius else (low, middle)
    return vectors @ z(high)
