"""Tuned numbers: each is a field of a frozen settings class, with its unit, its reason and where it comes from.

`python benchmarks/tuned_numbers.py` lists them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from typing import Any


def number(value: Any, unit: str, reason: str, origin: str) -> Any:
    """A field of a settings class.

    Parameters
    ----------
    value : the default
    unit : what it counts, or what it is a share or a multiple of
    reason : what it is for, and what fails without it
    origin : its derivation, a publication, or the script and seeds that chose it
    """
    return field(default=value, metadata={"unit": unit, "reason": reason, "origin": origin})


@dataclass(frozen=True)
class Number:
    """One tuned number, as `benchmarks/tuned_numbers.py` lists it."""

    name: str
    value: Any
    unit: str
    reason: str
    origin: str


def numbers_of(settings: Any) -> Iterator[Number]:
    """The numbers of a settings class or of an instance of one."""
    for one in fields(settings):
        value = one.default if isinstance(settings, type) else getattr(settings, one.name)
        if value is MISSING or not one.metadata:
            continue
        yield Number(one.name, value, one.metadata["unit"], one.metadata["reason"], one.metadata["origin"])
