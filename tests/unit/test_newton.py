"""Whether the gradient bends on the way to where the ball of a "minimum" ends."""

import numpy as np
import pytest

from escapade import Oracle
from escapade.curvature.newton import NEARBY, bends
from escapade.estimators.neighbourhood import Neighbourhood


def setting(bend, seed, d=20, offset=0.0):
    """A neighbourhood of 0, a direction v of it, and how far the gradient of |x|^2/2 + bend (v'x)^2 (w'x) / 2 is from
    linear over a length r along v: bend r^2 / 2, along w."""
    rng = np.random.default_rng(seed)
    v, w = np.linalg.qr(rng.standard_normal((d, 2)))[0].T

    def fun(X):
        return offset + np.sum(X * X, axis=1) / 2 + bend * (X @ v) ** 2 * (X @ w) / 2

    here = Neighbourhood.measure(Oracle.of(fun, vectorized=True), np.zeros(d), curvtol=0.1, rng=rng)
    return here, v, rng


@pytest.mark.parametrize("reach", [0.5, NEARBY])
def test_what_bends_sideways_is_bounded(reach):
    found = []
    for seed in range(200):
        here, v, rng = setting(3.0, seed)
        radius, before = reach * float(np.min(here.steps)), here.f.ledger.queries
        found.append(bends(here, v, radius, rng) / (3.0 * radius**2 / 2))
        assert here.f.ledger.queries - before == 24
    assert min(found) > 1  # missed twice in 100,000
    assert np.median(found) < 60


def test_a_gradient_that_is_linear_does_not_bend():
    for offset in (0.0, 100.0):
        here, v, rng = setting(0.0, 1, offset=offset)
        assert bends(here, v, 1e-3, rng) <= 44 * 8 * 4e-16 * max(offset, 1e-3) / 1e-4
