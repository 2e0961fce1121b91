"""Curvature finders, all with one interface: `finder(f, x, rng) -> Finding`."""

from .cheapest import Cheapest
from .dense import Dense
from .deterministic import ZONCFDeterministic
from .finding import Finder, Finding, Outcome
from .lanczos import Lanczos
from .neon2 import Neon2Deterministic
from .power import DFPI

FINDERS: dict[str, type[Finder]] = {
    finder.name: finder for finder in (Cheapest, Lanczos, Dense, ZONCFDeterministic, DFPI, Neon2Deterministic)
}

__all__ = ["DFPI", "FINDERS", "Cheapest", "Dense", "Finder", "Finding", "Lanczos", "Neon2Deterministic", "Outcome", "ZONCFDeterministic"]
