"""The polish: Newton steps on differences that fit each variable and the noise, where f shows no descent any more.

A change of f below its noise is not seen, however large the gradient: along a variable of curvature c that may be
sqrt(2 c noise). A sum of large terms that cancel is known worse than to its last digit, and the variables of a badly
scaled function each need a step of their own. Central differences of fourth order, over steps fitted to what they
themselves show, see gradients that are smaller by orders of magnitude; and where a descent was lost on worse ones they
find the way down again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import NonFiniteValue
from ...estimators.neighbourhood import Vector
from ...oracle import central, pairs
from .gradient import Differences, Point
from .model import Matrix, Model

MOST = 20
"""Up to this dimension all second differences cost no more than a certificate."""

FITS = 3
"""Times the steps are fitted to the curvatures that were seen on the last ones, at most."""

NEWTON = 3
"""Steps that may be taken for the gradient alone."""

SHOWN = 4.0
"""A change of f that is this many times as large as its noise shows."""


def polish(ask: Differences, p: Point, rng: np.random.Generator, enough: float) -> tuple[Point, Model] | None:
    """A point where f is lower, or the gradient less than half as large and f no larger, as far as its noise shows, and
    the model there; or None.

    Queries: those of `_fitted`, and 4*d + 1 a step
    """
    here = replace(p)
    try:
        model = _fitted(ask, here, rng)
        first = here
        for _ in range(NEWTON):
            before, here = here, _newton(ask, here, model)
            if here is before or shows(ask, before, here) or float(np.linalg.norm(here.g)) <= enough:
                break
    except NonFiniteValue:  # f ends here
        return None
    return None if here is first else (here, model)


def shows(ask: Differences, p: Point, q: Point) -> bool:
    """Whether f is lower at q, beyond its noise."""
    return q.f < p.f - SHOWN * ask.eta(p.f)


def _newton(ask: Differences, p: Point, model: Model) -> Point:
    """One step, or p if it is none to take."""
    y = ask.host(p.y + model.newton(p.g))
    q = Point(y, ask.value(y), h=p.h, fitted=True)
    if not q.f <= p.f + SHOWN * ask.eta(p.f):
        return p
    _row(ask, q)
    return q if shows(ask, p, q) or float(np.linalg.norm(q.g)) < 0.5 * float(np.linalg.norm(p.g)) else p


def _fitted(ask: Differences, p: Point, rng: np.random.Generator) -> Model:
    """The noise, the gradient and all second differences at p, on steps that fit them.

    Queries: 4*d + 9 + d*(d - 1), and 4*d more each time the curvatures are not those that the steps were made for
    """
    pair, diagonal = _row(ask, p)
    ask.measure_noise(p, rng, 1 / np.sqrt(np.maximum(np.abs(diagonal), ask.curvtol)))
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
    p.sharp, p.loose = True, np.zeros(ask.d, dtype=np.bool_)
    return plus + minus, (16 * (plus + minus) - (far + back) - 30 * p.f) / (12 * h**2)


def _hessian(ask: Differences, p: Point, pair: Vector, diagonal: Vector) -> Matrix:
    """All second differences, the mixed ones from both sides.

    Queries: d*(d - 1)
    """
    B = np.diag(diagonal / 2)
    if ask.d > 1:
        x, h = ask.array(p.y), ask.array(p.h)
        i, j = np.triu_indices(ask.d, k=1)
        both = np.sum(ask.f.tagged("descent")(pairs(x, h, 1.0) + pairs(x, h, -1.0)).reshape(2, -1), axis=0)
        B[i, j] = (both - pair[i] - pair[j] + 2 * p.f) / (2 * p.h[i] * p.h[j])
    return B + B.T
