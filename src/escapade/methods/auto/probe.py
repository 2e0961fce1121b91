"""The probe: a few products with the Hessian, along what the model is least sure of."""

from __future__ import annotations

import numpy as np

from ..._array import Vector
from .differences import Differences
from .model import Model
from .point import Point

AGREED = 0.01
"""A product that contradicts the model by less, relatively, is agreement."""

SURE = 0.5
"""A direction whose curvature is as the model says, within this, needs no product of its own."""

SOFT, LEAST = 2.0, 4.0
"""A coordinate whose curvature is a standard deviation higher than another's weighs less by exp of the first, and none
by more than exp of the second: a coordinate by itself shows no other."""


def probe(ask: Differences, model: Model, p: Point, rng: np.random.Generator, most: int) -> Vector | None:
    """A direction of negative curvature at p, or None after `most` products or one that agrees with the model.

    One product more is taken if second differences along what the last contradicted show that it is worth it.

    The first direction is random, where only a diagonal is known mostly along its lowest entries: they are low where
    the lowest eigenvector is large. Each next is what the last product contradicted, so that the products make a
    Lanczos process on the error of the model. They are fed to the model. The lowest Ritz vector, or else the lowest
    eigenvector of the model, is tried by second differences, and once by a product of its own.

    Queries: d + 1 a product, and 2 for each direction tried
    """
    q, refined = rng.standard_normal(ask.d), False
    if model.fresh:
        higher = model.diagonal - np.min(model.diagonal)
        q *= np.exp(-np.minimum(SOFT * higher / (float(np.std(higher)) + 1e-300), LEAST))
    basis: list[Vector] = []
    images: list[Vector] = []
    while True:
        q = q / np.linalg.norm(q)
        s, y, error = _product(ask, p, q)
        r = y - model.B @ s
        off = model.secant(s, y, error, exact=True)
        basis.append(q)
        images.append(y / float(np.linalg.norm(s)))
        low, v = _ritz(basis, images)
        if not model.above(-0.5 * ask.curvtol):
            low, v = min((low, v), model.lowest(), key=lambda one: one[0])
        if low <= -0.5 * ask.curvtol:
            seen = _along(ask, p, v)
            if seen > -0.5 * ask.curvtol:
                model.along(v, seen)
            elif refined or abs(seen - low) <= SURE * abs(seen):
                return v
            else:
                q, refined = v, True
                continue
        for b in basis:
            r = r - float(b @ r) / float(b @ b) * b
        if off < AGREED or float(np.linalg.norm(r)) == 0.0 or len(basis) > most or len(basis) == ask.d:
            return None
        if len(basis) == most and _along(ask, p, r / np.linalg.norm(r)) > -0.5 * ask.curvtol:
            return None
        q = r


def _product(ask: Differences, p: Point, q: Vector) -> tuple[Vector, Vector, float]:
    """A short step s along q, the change of the gradient over it, and what noise may have done to that.

    The coordinates step as they did at p, so that all but the mixed difference cancels.

    Queries: d + 1
    """
    there = Point(ask.host(p.y + 8 * float(np.median(ask.long(p))) * q), 0.0)
    there.f = ask.f.tagged("curvature").value(ask.array(there.y))
    y = ask.rises(there, p.h) - p.rise
    return there.y - p.y, y, 4 * ask.eta(p.f) * float(np.linalg.norm(1 / p.h))


def _ritz(basis: list[Vector], images: list[Vector]) -> tuple[float, Vector]:
    """The lowest curvature in the space that the products span, and where it is."""
    if len(basis) > len(basis[0]):
        return np.inf, basis[-1]
    Q, R = np.linalg.qr(np.stack(basis, axis=1))
    if float(np.min(np.abs(np.diag(R)))) < 1e-3:  # a direction that was all but known
        return np.inf, basis[-1]
    T = Q.T @ np.linalg.solve(R.T, np.stack(images)).T
    values, vectors = np.linalg.eigh((T + T.T) / 2)
    return float(values[0]), Q @ vectors[:, 0]


def _along(ask: Differences, p: Point, v: Vector) -> float:
    """The curvature that second differences see along v, and their error.

    Queries: 2
    """
    t = 2.75 * float(np.median(ask.long(p)))
    return ask.curvature(p, v, t)[0] + 8 * ask.eta(p.f) / t**2
