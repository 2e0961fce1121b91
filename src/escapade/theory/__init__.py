"""The paper's numbers, literally: settings of its theorems, and its table of query complexities."""

from .complexity import TABLE, Constants, Row
from .settings import (
    Theorem1,
    Theorem2,
    Theorem3,
    Theorem4,
    Theorem7,
    Theorem8,
    Theorem9,
    theorem_1,
    theorem_2,
    theorem_3,
    theorem_4,
    theorem_7,
    theorem_8,
    theorem_9,
)

__all__ = [
    "TABLE",
    "Constants",
    "Row",
    "Theorem1",
    "Theorem2",
    "Theorem3",
    "Theorem4",
    "Theorem7",
    "Theorem8",
    "Theorem9",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "theorem_4",
    "theorem_7",
    "theorem_8",
    "theorem_9",
]
