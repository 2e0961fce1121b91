"""Dense linear algebra of the model: inverses, the lowest direction, and the trust-region subproblem."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dposv, dpotrf, dtrtri, dtrtrs

from ..._array import Vector, norm2
from .settings import SUBPROBLEM

Matrix = NDArray[np.float64]


def inverse_of_diagonal(diagonal: Vector) -> Matrix | None:
    """The inverse of a diagonal matrix, if it is positive definite and worth keeping."""
    return np.diag(1 / diagonal) if len(diagonal) >= SUBPROBLEM.many and float(diagonal.min()) > 0 else None


def inverse_of(B: Matrix) -> Matrix | None:
    """The inverse of B, if it is positive definite."""
    L, indefinite = dpotrf(B.T, lower=1)
    if indefinite:
        return None
    W = dtrtri(L, lower=1, overwrite_c=1)[0]
    rows = max(1, SUBPROBLEM.block // len(B) ** 2)
    return np.concatenate([W.T[k : k + rows] @ W for k in range(0, len(B), rows)])


def ends_definite(inverse: Matrix | None, r: Vector, slope: float) -> bool:
    """Whether B + rr' / slope is no longer positive definite, B being known to be."""
    return inverse is not None and not 1 + float(r.dot(inverse.dot(r))) / slope > SUBPROBLEM.pivot


def inverse_plus(inverse: Matrix | None, r: Vector, slope: float) -> Matrix | None:
    """The inverse of B + rr' / slope, written over that of B, if both are known to be positive definite."""
    if inverse is None:
        return None
    u = inverse.dot(r)
    pivot = slope + float(r.dot(u))
    return plus_square(inverse, -1 / pivot, u) if pivot / slope > SUBPROBLEM.pivot else None


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


def trust_region_step(B: Matrix, g: Vector, radius: float, scale: Vector, inverse: Matrix | None = None) -> Vector:
    """The minimiser of g's + s'Bs/2 over |s / scale| <= radius; in many dimensions, nearly."""
    shift = 0.0
    if inverse is not None:
        s: Vector = inverse.dot(-g)
        if norm2(B.dot(s) + g) <= SUBPROBLEM.exact * norm2(g):
            z = s / scale
            length, v = norm2(z), z / scale
            if length <= radius:
                return s
            shift = _shift_change(length, radius, float(v.dot(inverse.dot(v))))
    return _by_factors(B, g, radius, scale, shift)


def _by_factors(B: Matrix, g: Vector, radius: float, scale: Vector, shift: float) -> Vector:
    """The same by Newton's method on 1 / |s / scale| as a function of B's shift, from this one on; if that is not 0, 0
    is known to be too little.

    Cholesky factors cost a tenth of eigenvectors, which are left for what those cannot do: the hard case, and in few
    dimensions all B that are not positive definite.
    """
    few, weight, low, high = len(g) < SUBPROBLEM.many, 1 / scale**2, 0.0, math.inf
    for _ in range(SUBPROBLEM.tries):
        shifted = B.copy()
        shifted.reshape(-1)[:: len(g) + 1] += shift * weight
        L, s, failed = dposv(shifted.T, -g, lower=1, overwrite_a=1)  # symmetric, and its transpose as LAPACK likes it
        length = math.inf if failed else norm2(s / scale)
        over = length / radius - 1
        if over <= SUBPROBLEM.edge if shift == 0 else abs(over) <= (SUBPROBLEM.edge if few else SUBPROBLEM.near):
            step: Vector = s * (radius / length) if over > 0 else s
            return step
        low, high = (shift, high) if over > 0 else (low, shift)
        if math.isfinite(length):
            shift += _shift_change(length, radius, norm2(dtrtrs(L, weight * s, lower=1)[0]) ** 2)
        elif few:
            break
        elif shift == 0:
            shift = norm2(scale * g) / radius
        if not low < shift < high:
            shift = (low + high) / 2 if high < math.inf else 4 * low
    return scale * _by_eigenvectors(scale[:, None] * B * scale, scale * g, radius)


def _shift_change(length: float, radius: float, curvature: float) -> float:
    """The Newton step of a shift that leads to a step s of this length; `curvature` is
    v'(B + shift)^-1 v, v = s/scale^2."""
    return length**2 / curvature * (length / radius - 1)


def _by_eigenvectors(M: Matrix, c: Vector, radius: float) -> Vector:
    """The minimiser of c'z + z'Mz/2 over |z| <= radius for any M, the hard case included."""
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

