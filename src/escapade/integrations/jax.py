"""JAX: a loss of one point, evaluated for many points at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True)
class Batched:
    """A loss of one point as a function of many, compiled; blocks come in a few sizes, each compiled once."""

    loss: Callable[..., Any]
    compiled: Callable[..., Any]
    pad: bool = True

    def __call__(self, points: Any, *args: Any) -> Any:
        return self.compiled(points, *args)


def batched(loss: Callable[..., Any]) -> Batched:
    """`loss(x, *args)` for minimize(batched(loss), x0, args, vectorized=True): all points of a block in one call.

    x may be an array of any shape or any structure that JAX knows.
    """

    def all_points(points: Any, *args: Any) -> Any:
        return jax.vmap(lambda x: loss(x, *args))(points)

    return Batched(loss, jax.jit(all_points))
