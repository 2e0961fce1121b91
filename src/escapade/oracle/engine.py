"""What all views of one oracle share: who evaluates, where, the books, and what was delivered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..domain import UNBOUNDED, Domain
from ..errors import BudgetExhausted
from ..executors import Evaluate
from .failures import Failures
from .journal import Record
from .ledger import Ledger
from .store import Store
from .values import Numbers


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
    store: Store = field(default_factory=Store)
    gradients: Evaluate | None = None
    """Who evaluates the user's gradient, where there is one."""
    products: Evaluate | None = None
    """Who evaluates the user's Hessian-vector product."""
    deadline: float = np.inf
    precision: float = 0.0
    gradient_precision: float = 0.0
    failures: Failures = field(default_factory=Failures)
    close: Callable[[], None] = lambda: None
    resent: int = 0
    journal: Record | None = None
    kind: Numbers = field(default_factory=Numbers)
    """What the function returns for each point."""
    domain: Domain = UNBOUNDED
    """Where f may be asked."""
