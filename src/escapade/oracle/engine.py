"""What all views of one oracle share: who evaluates, the books, and the best point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Array
from ..errors import BudgetExhausted
from ..executors import Evaluate
from .failures import Failures
from .journal import Record
from .ledger import Ledger
from .stencil import Stencil


@dataclass
class Engine:
    """The state behind an oracle."""

    evaluate: Evaluate
    samples: int | Literal["stream"] | None
    maxfev: int | None
    """Those that may be used now: not the reserved ones."""
    reserved: int = 0
    refused: BudgetExhausted | None = None
    """The last stencil that the budget had no room for."""
    ledger: Ledger = field(default_factory=Ledger)
    best_x: Array = None
    best_fun: float = np.inf
    grad: Callable[..., Any] | None = None
    deadline: float = np.inf
    precision: float = 0.0
    failures: Failures = field(default_factory=Failures)
    close: Callable[[], None] = lambda: None
    resent: int = 0
    journal: Record | None = None

    def keep_best(self, values: NDArray[np.float64], stencil: Stencil, start: int) -> None:
        """Remember the least of these values, NaN where one is missing, of the points of a stencil from one on."""
        lowest = int(values.argmin())
        if np.isnan(values[lowest]) and not np.isnan(values).all():
            lowest = int(np.nanargmin(values))
        if values[lowest] < self.best_fun:
            row = stencil.rows(start + lowest, start + lowest + 1)  # the block may have been written to
            self.best_fun, self.best_x = float(values[lowest]), row[0, :]
