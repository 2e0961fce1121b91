"""Numbers of the theorems, literally: settings and query complexities, the paper's and those of later methods."""

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
from .since import SINCE, ZhangGu1, ZhangGu2, zhang_gu_1, zhang_gu_2

__all__ = [
    "SINCE",
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
    "ZhangGu1",
    "ZhangGu2",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "theorem_4",
    "theorem_7",
    "theorem_8",
    "theorem_9",
    "zhang_gu_1",
    "zhang_gu_2",
]
