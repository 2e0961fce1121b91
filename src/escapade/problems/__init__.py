"""Functions with known saddles, minima and derivatives.

Every problem is a `Problem`: call it for values, one point or many rows at a time, and ask it for its
derivatives and critical points. `REGISTRY` holds a small instance of each, by name.

>>> import escapade
>>> octopus = escapade.problems.Octopus(d=3)
>>> escapade.certify(octopus, octopus.start, gtol=1e-4, rng=0).verdict
'saddle'
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from escapade.problems.base import Problem, StochasticProblem
from escapade.problems.cubic import Cubic
from escapade.problems.least_squares import NonlinearLeastSquares
from escapade.problems.lennard_jones import LennardJones
from escapade.problems.libsvm import load_libsvm
from escapade.problems.linear_network import LinearNetwork
from escapade.problems.matrix import MatrixFactorisation, MatrixSensing
from escapade.problems.octopus import Octopus
from escapade.problems.offaxis import OffAxis
from escapade.problems.phase_retrieval import PhaseRetrieval
from escapade.problems.stochastic_cubic import StochasticCubic, StreamCubic
from escapade.problems.tensor import OrthogonalTensor
from escapade.problems.transformed import Transformed, random_rotation


def _rotated_octopus() -> Problem:
    rng = np.random.default_rng(0)
    return Transformed(
        problem=Octopus(d=4), rotation=random_rotation(4, rng), shift=rng.standard_normal(4), offset=3.0
    )


REGISTRY: dict[str, Callable[[], Problem]] = {
    "cubic": lambda: Cubic(d=10),
    "deep_linear_network": lambda: LinearNetwork(widths=(2, 3, 2, 2)),
    "lennard_jones": lambda: LennardJones(atoms=3),
    "linear_network": lambda: LinearNetwork(widths=(3, 2, 2)),
    "matrix_factorisation": lambda: MatrixFactorisation(n=4, rank=2),
    "matrix_sensing": lambda: MatrixSensing(n=4, rank=2, measurements=40),
    "nonlinear_least_squares": lambda: NonlinearLeastSquares.synthetic(d=6, n=50),
    "octopus": lambda: Octopus(d=5),
    "off_axis": lambda: OffAxis(d=6),
    "orthogonal_tensor": lambda: OrthogonalTensor(d=5),
    "phase_retrieval": lambda: PhaseRetrieval(d=5, n=60),
    "planar_cluster": lambda: LennardJones(atoms=4, span=2),
    "rotated_octopus": _rotated_octopus,
    "stochastic_cubic": lambda: StochasticCubic(d=10, n=64),
    "stream_cubic": lambda: StreamCubic(d=10),
}
"""Small default instances by name.

:meta hide-value:
"""


def get(name: str) -> Problem:
    """A fresh default instance of the problem called `name`."""
    try:
        return REGISTRY[name]()
    except KeyError:
        raise KeyError(f"no problem is called {name!r}; choose from {', '.join(REGISTRY)}") from None


__all__ = [
    "REGISTRY",
    "Cubic",
    "LennardJones",
    "LinearNetwork",
    "MatrixFactorisation",
    "MatrixSensing",
    "NonlinearLeastSquares",
    "Octopus",
    "OffAxis",
    "OrthogonalTensor",
    "PhaseRetrieval",
    "Problem",
    "StochasticCubic",
    "StochasticProblem",
    "StreamCubic",
    "Transformed",
    "get",
    "load_libsvm",
    "random_rotation",
]
