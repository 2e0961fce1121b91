"""The probe: a few products with the Hessian, along what the model is least sure of."""

from __future__ import annotations

import numpy as np

from ..._array import Vector
from ...derivatives.settings import NOISE, PRODUCTS
from ...oracle import MIRRORED, Stencil, point, retaken
from .differences import Differences
from .exact import ExactDifferences
from .model import Model
from .point import Point
from .settings import MODEL, PROBE


def probe(differences: Differences, model: Model, p: Point, rng: np.random.Generator, most: int) -> Vector | None:
    """A direction of negative curvature at p, or None after `most` products or one that agrees with the model.

    One product more is taken if second differences along what the last contradicted show that it is worth it.

    The first vector is random, where only a diagonal is known mostly along its lowest entries: they are low where the
    lowest eigenvector is large. Each next is what the last product contradicted, so that the products make a Lanczos
    process on the error of the model, which is updated with each. The lowest Ritz vector, or else the lowest
    eigenvector of the model, is tried by second differences, and once by a product of its own.

    Queries: d + 1 a product, and 2 for each direction tried
    """
    q, refined, threshold = _first_vector(model, rng), False, -0.5 * differences.curvtol
    basis: list[Vector] = []
    images: list[Vector] = []
    while True:
        q = q / np.linalg.norm(q)
        s, y, error = _product(differences, model, p, q)
        r = y - model.B @ s
        contradiction = model.secant(s, y, error, exact=True)
        basis.append(q)
        images.append(y / float(np.linalg.norm(s)))
        low, v = _lowest(basis, images, model, threshold)
        if low <= threshold:
            seen = _curvature_bound(differences, p, v)
            if seen > threshold:
                model.along(v, seen)
            elif refined or abs(seen - low) <= MODEL.different * abs(seen):
                return v
            else:
                q, refined = v, True
                continue
        for b in basis:
            r = r - float(b @ r) / float(b @ b) * b
        size, count = float(np.linalg.norm(r)), len(basis)
        if contradiction < PROBE.agreed or size == 0.0 or count > most or count == differences.d:
            return None
        if count == most and _curvature_bound(differences, p, r / size) > threshold:
            return None
        q = r


def _first_vector(model: Model, rng: np.random.Generator) -> Vector:
    q: Vector = rng.standard_normal(model.d)
    if model.fresh:
        higher = model.diagonal - np.min(model.diagonal)
        q *= np.exp(-np.minimum(PROBE.tilt * higher / (float(np.std(higher)) + 1e-300), PROBE.least))
    return q


def _product(differences: Differences, model: Model, p: Point, q: Vector) -> tuple[Vector, Vector, float]:
    """A short step s along q, the change of the gradient over it, and what noise may have done to that.

    The coordinates step as they did at p, so that all but the mixed difference cancels. Where a value is missing the
    model keeps its own.

    Queries: d + 1
    """
    if isinstance(differences, ExactDifferences):
        return differences.product(p, q)
    length = PRODUCTS.longest * float(np.median(differences.second_steps(p)))

    def end(scale: Vector) -> Stencil:
        return point(differences.array(p.y + scale[0] * length * q))

    (value,), (part,) = retaken(differences.f.tagged("curvature"), end, np.zeros(1, dtype=np.int64), 1, MIRRORED)
    there = Point(differences.host(p.y + part * length * q), float(value))
    change = differences.forward_row(there, p.h) - p.row
    change = np.where(np.isnan(change), model.B @ (there.y - p.y), change)  # which says nothing new
    y = there.y
    return y - p.y, change, NOISE.significant * differences.value_error(p.f) * float(np.linalg.norm(1 / p.h))


def _lowest(basis: list[Vector], images: list[Vector], model: Model, threshold: float) -> tuple[float, Vector]:
    """The lowest Ritz value and vector, or those of the model where it knows a lower one."""
    ritz = _ritz(basis, images)
    return ritz if model.above(threshold) else min(ritz, model.lowest(), key=lambda one: one[0])


def _ritz(basis: list[Vector], images: list[Vector]) -> tuple[float, Vector]:
    """The lowest curvature in the space that the products span, and where it is."""
    if len(basis) > len(basis[0]):
        return np.inf, basis[-1]
    Q, R = np.linalg.qr(np.stack(basis, axis=1))
    if float(np.min(np.abs(np.diag(R)))) < MODEL.negligible:
        return np.inf, basis[-1]
    T = Q.T @ np.linalg.solve(R.T, np.stack(images)).T
    values, vectors = np.linalg.eigh((T + T.T) / 2)
    return float(values[0]), Q @ vectors[:, 0]


def _curvature_bound(differences: Differences, p: Point, v: Vector) -> float:
    """The curvature that second differences see along v, and their error.

    Queries: 2
    """
    t = differences.along_step(p)
    return differences.curvature(p, v, t) + 2 * NOISE.significant * differences.value_error(p.f) / t**2
