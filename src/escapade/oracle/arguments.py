"""What an oracle accepts."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..errors import InvalidSetting

Samples = int | Literal["stream"] | None


def check_arguments(fun: Any, grad: Any, samples: Any, maxfev: Any) -> tuple[Samples, int | None]:
    """`samples` and `maxfev` as they should be, or an error that says so of any of the four."""
    if not callable(fun):
        raise InvalidSetting(f"fun={fun!r:.60} must be callable: pass the function itself, not its value")
    if grad is not None and not callable(grad):
        raise InvalidSetting(f"grad={grad!r:.60} must be callable, as in grad(x), or None")
    if samples is not None and samples != "stream":
        if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 1:
            raise InvalidSetting(f"samples={samples!r} must be a positive integer, 'stream' or None")
        samples = int(samples)
    if maxfev is not None and (isinstance(maxfev, bool) or not isinstance(maxfev, int | np.integer) or maxfev < 0):
        raise InvalidSetting(f"maxfev={maxfev!r} must be a non-negative integer or None (no budget)")
    return samples, None if maxfev is None else int(maxfev)
