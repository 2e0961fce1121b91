"""The polish: Newton steps on differences that fit each variable and the noise, where f shows little or no descent.

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
from ...errors import NonFiniteValue
from ...oracle import central, pairs
from .differences import Differences, assembled
from .model import Model
from .point import Point
from .quadratic import Matrix

MOST = 100
"""Up to this dimension all second differences cost no more than a certificate, or than giving up."""

FITS = 3
"""Times the steps are fitted to the curvatures that were seen on the last ones, at most."""

NEWTON = 5
"""Steps that may be taken with one model, as long as each halves the gradient."""

SHOWN = 4.0
"""A change of f that is this many times as large as its noise shows."""

DIGITS = 1e-16
"""Smaller eigenvalues, relatively, are rounding."""


def polish(ask: Differences, p: Point, rng: np.random.Generator, enough: float) -> tuple[Point, Model] | None:
    """A point where f is lower, or the gradient less than half as large and f no larger, as far as its noise shows, and
    the model there; or None.

    Queries: those of `_fitted`, and 4*d + 1 a step
    """
    here = first = replace(p)
    try:
        model = _fitted(ask, here, rng)
        if not np.all(np.isfinite(model.B)):
            return None
        for _ in range(NEWTON):
            before, here = here, _newton(ask, here, model, enough)
            size = here.steepness
            if size <= enough or not size < 0.5 * before.steepness:
                break
    except NonFiniteValue:  # f ends here
        return None
    return None if here is first else (here, model)


def _newton(ask: Differences, p: Point, model: Model, enough: float) -> Point:
    """One step, or p if it brings neither a lower value, beyond noise, nor half the gradient at the same."""
    y, noise = ask.host(p.y + _stiff(model, p.g, enough)), SHOWN * ask.eta(p.f)
    q = Point(y, ask.value(y), h=p.h, fitted=True)
    if not q.f <= p.f + noise:
        return p
    _row(ask, q)
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
    step: Vector = -(vectors @ (slopes / np.maximum(stiff, DIGITS * float(stiff.max()) + 1e-300)))
    return step


def _fitted(ask: Differences, p: Point, rng: np.random.Generator) -> Model:
    """The noise, the gradient and all second differences at p, on steps that fit them.

    Queries: 4*d + 9 + d*(d - 1), and 4*d more each time the curvatures are not those that the steps were made for
    """
    pair, diagonal = _row(ask, p)
    ask.measure_noise(p, rng, 1 / ask.roots(diagonal))
    for _ in range(FITS):
        h = ask.fitting(p, diagonal)
        if float(np.max(np.abs(np.log2(h / p.h)))) <= 1.0:
            break
        p.h = h
        pair, diagonal = _row(ask, p)
    return Model(_hessian(ask, p, pair, diagonal))


def _row(ask: Differences, p: Point) -> tuple[Vector, Vector]:
    """The gradient of p, of fourth order, in place; the sums of the values at x ± h_i e_i, and the diagonal.

    Queries: 4*d
    """
    x, h = ask.array(p.y), p.h
    values = ask.f.tagged("descent")(central(x, ask.array(h)) + central(x, ask.array(2 * h)))
    plus, minus, far, back = np.split(values, 4)
    p.g, p.rise = (8 * (plus - minus) - (far - back)) / (12 * h), (plus - p.f) / h
    p.sharp = True
    return plus + minus, (16 * (plus + minus) - (far + back) - 30 * p.f) / (12 * h**2)


def _hessian(ask: Differences, p: Point, pair: Vector, diagonal: Vector) -> Matrix:
    """All second differences, the mixed ones from both sides.

    Queries: d*(d - 1)
    """
    both = np.zeros(0)
    if ask.d > 1:
        x, h = ask.array(p.y), ask.array(p.h)
        both = np.sum(ask.f.tagged("descent")(pairs(x, h, 1.0) + pairs(x, h, -1.0)).reshape(2, -1), axis=0)
    return assembled(both / 2, pair / 2, p.f, diagonal, p.h)
