"""The one abstraction: a method is a frozen dataclass of settings with one generator."""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar, Protocol, TypeAlias

import numpy as np

from .._array import Array
from ..oracle import Oracle
from ..stopping import Ending
from ..trace import Iterate

Iterates: TypeAlias = Generator[Iterate, None, Ending]


class Method(Protocol):
    """`iterates(f, x, rng)` calls the oracle, yields iterates, and returns why it stopped."""

    name: ClassVar[str]

    def iterates(self, f: Oracle, x: Array, rng: np.random.Generator) -> Iterates: ...
