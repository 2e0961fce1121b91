"""The later methods at the settings of the panels leave the saddles, and reach the minimum."""

import numpy as np
import pytest

from escapade import Oracle
from escapade.experiments import since
from escapade.experiments.build import build
from escapade.experiments.look import LOOKS
from escapade.experiments.settings import EPSILON
from escapade.problems import Cubic, Octopus


@pytest.mark.parametrize("row", [*since.OCTOPUS, *since.CUBIC], ids=lambda row: f"{row.algorithm}, ell = {row.ell:.3g}")
def test_the_minimum_is_reached(row):
    family = "octopus" if row in since.OCTOPUS else "cubic"
    problem = Octopus(d=6) if family == "octopus" else Cubic(d=20)
    method = build(row, problem.d, EPSILON[family])
    f = Oracle.of(problem, vectorized=True, maxfev=400_000)
    start = float(problem(problem.start))
    for iterate in method.iterates(f, problem.start, np.random.default_rng(0)):
        if problem(iterate.x) - problem.minimum <= (start - problem.minimum) / 100:
            break
    else:
        raise AssertionError("the method ended before")


def test_every_row_has_a_builder():
    assert {row.algorithm for row in (*since.OCTOPUS, *since.CUBIC)} == set(since.BUILDERS)
    assert set(since.JUDGED) <= set(since.BUILDERS) <= set(LOOKS)
