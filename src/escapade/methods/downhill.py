"""A step along the gradient where a descent makes none."""

from __future__ import annotations

import numpy as np

from .._array import Array, like, norm
from ..oracle import Oracle, points


def downhill(f: Oracle, x: Array, g: Array) -> Array | None:
    """The best of twelve step lengths along -g, each a quarter of the last; None if none descends.

    Queries: 13
    """
    lengths = 0.25 ** np.arange(12) / max(1.0, norm(g))
    trial = like(np.concatenate([[0.0], lengths]), x)
    values = f.tagged("line search")(points(x[None, :] - trial[:, None] * g[None, :]))
    best = int(np.argmin(values))
    return None if best == 0 else x - float(trial[best]) * g
