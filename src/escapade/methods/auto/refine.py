"""Refinement: Newton steps on differences that fit each variable and the noise, where f shows little or no descent.

A change of f below its noise is not seen, however large the gradient: along a variable of curvature c that may be
sqrt(2 c noise). A sum of large terms that cancel is known worse than to its last digit, and the variables of a badly
scaled function each need a step of their own. Central differences of fourth order, over steps fitted to what they
themselves show, see gradients that are smaller by orders of magnitude; and where a descent was lost on worse ones they
find the way down again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._array import Vector
from ...derivatives.settings import NOISE
from ...errors import NonFiniteValue
from ...oracle import Stencil, central, or_nan, pairs, retaken
from .dense import DenseMatrix
from .differences import Differences, hessian_of
from .model import Model
from .point import GradientKind, Point
from .quadratic import Matrix
from .settings import REFINE


def price(d: int) -> int:
    """The most queries that fitting all second differences may take."""
    return d * (d - 1) + 4 * d * (REFINE.fits + 1) + 9


def refine(
    differences: Differences, p: Point, rng: np.random.Generator, enough: float
) -> tuple[Point, Model] | None:
    """A point where f is lower, or the gradient less than half as large and f no larger, as far as its noise shows, and
    the model there; or None.

    Queries: those of `_fourth_order`, and 4*d + 1 a step
    """
    try:
        first, model = _fourth_order(differences, p, rng)
        if not np.isfinite(model.B.top):
            return None
        now = first
        for _ in range(REFINE.newton):
            before, now = now, _newton(differences, now, model, enough)
            size = now.steepness
            if size <= enough or not size < 0.5 * before.steepness:
                break
    except NonFiniteValue:  # f ends here
        return None
    return None if now is first else (now, model)


def _newton(differences: Differences, p: Point, model: Model, enough: float) -> Point:
    """One step, or p if it brings neither a lower value, beyond noise, nor half the gradient at the same."""
    y, noise = differences.host(p.y + _stiff(model, p.g, enough)), NOISE.significant * differences.value_error(p.f)
    q = Point(y, differences.value(y), h=p.h)
    if not q.f <= p.f + noise:
        return p
    q = _row(differences, q)[0]
    return q if q.f < p.f - noise or q.steepness < 0.5 * p.steepness else p


def _stiff(model: Model, g: Vector, enough: float) -> Vector:
    """The Newton step on |B| along the stiffest directions, as few as leave a gradient that is small enough.

    Along a valley whose slope is small enough a step would be long, and a valley bends.
    """
    values, vectors = model.spectrum
    slopes, stiff = vectors.T @ g, np.abs(values)
    order = np.argsort(stiff)
    soft = order[np.cumsum(slopes[order] ** 2) <= enough**2]
    slopes[soft] = 0.0
    step: Vector = -(vectors @ (slopes / np.maximum(stiff, REFINE.digits * float(stiff.max()) + 1e-300)))
    return step


def _fourth_order(differences: Differences, p: Point, rng: np.random.Generator) -> tuple[Point, Model]:
    """The noise, the gradient and all second differences at p, on steps that fit them.

    Queries: 4*d + 9 + d*(d - 1), and 4*d more each time the curvatures are not those that the steps were made for
    """
    p, pair, diagonal = _row(differences, p)
    differences.measure_noise(p, rng, 1 / differences.roots(diagonal))
    for _ in range(REFINE.fits):
        h = differences.fourth_order_steps(p, diagonal)
        if float(np.max(np.abs(np.log2(h / p.h)))) <= 1.0:
            break
        p, pair, diagonal = _row(differences, replace(p, h=h))
    return p, Model(DenseMatrix(_hessian(differences, p, pair, diagonal)))


def _row(differences: Differences, p: Point) -> tuple[Point, Vector, Vector]:
    """p with its gradient, of fourth order, on its steps; the sums of the values at x ± h_i e_i, and the diagonal.

    Queries: 4*d
    """
    x, h, owner = differences.array(p.y), np.abs(p.h), np.tile(np.arange(differences.d), 4)

    def rows(scale: Vector) -> Stencil:
        return central(x, differences.array(scale * h)) + central(x, differences.array(2 * scale * h))

    values, scale = retaken(differences.f.tagged("descent"), rows, owner, differences.d)
    h, (plus, minus, far, back) = scale * h, np.split(values, 4)
    g, row = (8 * (plus - minus) - (far - back)) / (12 * h), (plus - p.f) / h
    q = replace(p, g=g, h=h, row=row, kind=GradientKind.FOURTH_ORDER, refined=True)
    return q, plus + minus, (16 * (plus + minus) - (far + back) - 30 * p.f) / (12 * h**2)


def _hessian(differences: Differences, p: Point, pair: Vector, diagonal: Vector) -> Matrix:
    """All second differences, the mixed ones from both sides; 0 where a value is missing.

    Queries: d*(d - 1)
    """
    both = np.zeros(0)
    if differences.d > 1:
        x, h = differences.array(p.y), differences.array(p.h)
        values, _ = or_nan(differences.f.tagged("descent"), pairs(x, h, 1.0) + pairs(x, h, -1.0))
        both = np.sum(values.reshape(2, -1), axis=0)
    B = hessian_of(both / 2, pair / 2, p.f, diagonal, p.h)
    return np.where(np.isnan(B), 0.0, B)
