"""Curvature finders, all with one interface: `finder(f, x, rng) -> Finding`.

`FINDERS` has those for values by name, `SAMPLED_FINDERS` those for samples.

>>> import escapade
>>> finder = escapade.curvature.Dense(delta=1e-3, failure=1e-3)
>>> escapade.certify(lambda x: x[0] * x[1], [0.0, 0.0], gtol=1e-4, curvtol=1e-3, finder=finder, rng=0).verdict
'saddle'
"""

from .by_gradients import ByGradients
from .cheapest import Cheapest
from .dense import Dense
from .deterministic import ZONCFDeterministic
from .finding import Evidence, Finder, Finding, Outcome
from .lanczos import Lanczos
from .literal import LiteralOnline
from .neon2 import Neon2Deterministic, Neon2Online
from .online import Minibatch, SampledFinder, ZONCFOnline
from .online_weak import ZONCFOnlineWeak
from .power import DFPI
from .sparse import Sparse

FINDERS: dict[str, type[Finder]] = {
    finder.name: finder for finder in (Cheapest, Lanczos, Dense, ZONCFDeterministic, DFPI, Neon2Deterministic)
}

SAMPLED_FINDERS: dict[str, type[SampledFinder]] = {
    finder.name: finder for finder in (Minibatch, ZONCFOnline, Neon2Online)
}
"""Finders for functions with samples; "auto" is the minibatch.

:meta hide-value:
"""

__all__ = [
    "DFPI",
    "FINDERS",
    "SAMPLED_FINDERS",
    "ByGradients",
    "Cheapest",
    "Dense",
    "Evidence",
    "Finder",
    "Finding",
    "Lanczos",
    "LiteralOnline",
    "Minibatch",
    "Neon2Deterministic",
    "Neon2Online",
    "Outcome",
    "SampledFinder",
    "Sparse",
    "ZONCFDeterministic",
    "ZONCFOnline",
    "ZONCFOnlineWeak",
]
