"""Numbers of the theorems, literally: settings and query complexities, the paper's and those of later methods."""

from .complexity import TABLE, Constants, Row
from .pagd import PAGDInitialisation, pagd_initialisation
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
    "PAGDInitialisation",
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
    "pagd_initialisation",
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
