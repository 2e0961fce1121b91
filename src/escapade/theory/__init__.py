"""Numbers of the theorems, literally: settings and query complexities, the paper's and those of later methods.

>>> from escapade.theory import theorem_4
>>> settings = theorem_4(ell=4.0, rho=1.0, Delta_f=1.0, d=2, epsilon=0.1, delta=0.3, p=0.1)
>>> settings.eta
0.0625
>>> settings.method().name
'zo-gd-ncf'
"""

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
