"""Random draws: a host generator in, an array like the point out. No global state anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._array import Array, like
from .errors import InvalidSetting


def gausses(rng: np.random.Generator, x: Array, count: int) -> Array:
    """`count` independent standard normal vectors, as rows."""
    return like(rng.standard_normal((count, x.shape[0])), x)


def sphere(rng: np.random.Generator, x: Array) -> Array:
    """A uniform unit vector shaped like x."""
    v = rng.standard_normal(x.shape[0])
    return like(v / np.linalg.norm(v), x)


def spheres(rng: np.random.Generator, x: Array, count: int) -> Array:
    """`count` independent uniform unit vectors, as rows."""
    v = rng.standard_normal((count, x.shape[0]))
    return like(v / np.linalg.norm(v, axis=1, keepdims=True), x)


def ball(rng: np.random.Generator, x: Array, radius: float) -> Array:
    """A uniform point of the centred ball of the given radius."""
    v = rng.standard_normal(x.shape[0])
    return like(radius * rng.random() ** (1 / x.shape[0]) * v / np.linalg.norm(v), x)


def sign(rng: np.random.Generator) -> float:
    """+1 or -1, evenly."""
    return 1.0 if rng.random() < 0.5 else -1.0


def geometric(rng: np.random.Generator, theta: float) -> int:
    """The law of SCSG's epoch lengths: P(N = k) = theta^k (1 - theta), of mean theta / (1 - theta)."""
    return int(rng.geometric(1 - theta)) - 1


def as_generator(rng: Any) -> np.random.Generator:
    """SPEC 7: a seed, a generator or None becomes a generator."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InvalidSetting(f"rng={rng!r} must be None, a seed or a numpy Generator ({error})") from None
