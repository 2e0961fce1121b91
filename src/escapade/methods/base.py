"""The one abstraction: a method is a frozen dataclass of settings with one generator."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar, Protocol, TypeAlias

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


FIRST_ORDER = ("auto", "neon2-gd")
"""Methods by name that use the user's gradients."""


def uses_gradients(method: Any) -> bool:
    """Whether a method, by name or as an object, uses the user's gradients: itself, or in its finder."""
    if isinstance(method, str):
        return method in FIRST_ORDER
    own = (method, getattr(method, "finder", None))
    return any(getattr(one, "uses_gradients", False) for one in own)
