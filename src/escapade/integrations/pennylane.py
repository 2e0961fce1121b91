"""An optimizer in PennyLane's manner, over ask and tell: `opt.step_and_cost(cost, *parameters)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ask_tell import AskTell
from ..result import Result
from ..structure import Structure


class EscapadeOptimizer:
    """Each step tells the run the costs of one block of points, and returns the best parameters so far.

    `done` says when the run has ended; `result` is then what `escapade.minimize` returns. Costs from shots are noisy:
    pass noise="auto". The options are those of `escapade.minimize`.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        self._opt: AskTell | None = None
        self._structure: Structure | None = None
        self._best: tuple[float, Any] = (np.inf, None)

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._opt is not None and self._opt.done

    @property
    def result(self) -> Result:
        """What `minimize` returns, with its certificate; the vector of all parameters in their order."""
        if self._opt is None:
            raise RuntimeError("no step has been taken yet: call step(cost, *parameters)")
        return self._opt.result()

    def step(self, objective_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The best parameters after one more block of points."""
        return self.step_and_cost(objective_fn, *args, **kwargs)[0]

    def step_and_cost(self, objective_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, float]:
        """The same, and their cost. The first call tells where to begin."""
        if self._opt is None:
            found = Structure.of([np.array(own, dtype=np.float64) for own in args], "parameters")
            assert found is not None
            self._structure, x0 = found
            self._opt = AskTell(x0, **self.options)
        assert self._structure is not None
        costs = []
        for x in self._opt.ask():
            own = self._structure.built(x)
            cost = float(objective_fn(*own, **kwargs))
            costs.append(cost)
            if cost < self._best[0]:
                self._best = (cost, own)
        if costs:
            self._opt.tell(costs)
        fun, parameters = self._best
        return (parameters[0] if len(parameters) == 1 else parameters), fun
