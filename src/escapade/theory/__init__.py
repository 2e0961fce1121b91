"""The paper's numbers, literally: settings of its theorems, and its table of query complexities."""

from .complexity import TABLE, Constants, Row
from .settings import Theorem1, Theorem2, theorem_1, theorem_2

__all__ = ["TABLE", "Constants", "Row", "Theorem1", "Theorem2", "theorem_1", "theorem_2"]
