"""One function that gives values and gradients together: `fun(x) -> (f, g)`, SciPy's `jac=True`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from .._array import Array, to_numpy
from .local import Evaluate


@dataclass(frozen=True)
class Paired:
    """The user's function, whose gradients are copied: it may overwrite them."""

    fun: Callable[..., Any]

    def __call__(self, x: Array, *args: Any) -> tuple[Any, Any]:
        pair = self.fun(x, *args)
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise TypeError(f"with jac=True the function must return (value, gradient), but it returned {pair!r:.60}")
        value, gradient = pair
        if array_api_compat.is_array_api_obj(value):
            value = to_numpy(value).copy()
        host = to_numpy(gradient) if array_api_compat.is_array_api_obj(gradient) else np.asarray(gradient)
        return value, host.copy()


class Pairs:
    """Values and gradients by an executor of a `Paired` function; of a pair neither half is asked for twice, as long as
    nothing but the other half's point was asked for between."""

    def __init__(self, evaluate: Evaluate, gradients: bool = False) -> None:
        self.evaluate, self._last = evaluate, dict[Any, Any]()
        self._half, self._calls = int(gradients), 0

    def slopes(self) -> Pairs:
        """The same for the gradients."""
        other = Pairs(self.evaluate, gradients=True)
        other._last = self._last
        return other

    @property
    def resent(self) -> int:
        """Points that had to be sent again because their worker died."""
        return int(getattr(self.evaluate, "resent", 0))

    @property
    def ids_by_row(self) -> bool:
        """Whether ids of shape (rows, k) are taken."""
        return bool(getattr(self.evaluate, "ids_by_row", False))

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> Any:
        self._calls = 0
        key = (block.shape[0] == 1 and to_numpy(block).tobytes(), *(ids.tobytes() for ids in batch))
        if block.shape[0] == 1 and key in self._last:
            return [self._last[key][self._half]]
        self._last.clear()
        self._calls = int(block.shape[0])
        raw = self.evaluate(block, batch)
        if block.shape[0] == 1 and isinstance(raw[0], tuple):
            self._last[key] = raw[0]
        return [pair[self._half] if isinstance(pair, tuple) else pair for pair in raw]

    def calls(self, rows: int) -> int:
        return min(self._calls, rows)

    def close(self) -> None:
        """End what was started for it."""
        close = getattr(self.evaluate, "close", None)
        if close is not None:
            close()
