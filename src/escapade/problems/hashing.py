"""Random numbers addressed by an integer, without state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64, a bijection of 64-bit words."""
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


def uniforms(ids: NDArray[Any], width: int, seed: int) -> NDArray[np.float64]:
    """Row ``k`` holds `width` uniforms in [0, 1) that depend on ``ids[k]`` and `seed` alone.

    Each id is hashed to the starting state of its own SplitMix64 generator (Steele, Lea and Flood 2014),
    keyed by the seed, and the row is that generator's output. All ids are treated at once.
    """
    key = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    state = _mix(_mix(ids.astype(np.uint64) + key[0]) ^ key[1])
    steps = np.arange(1, width + 1, dtype=np.uint64) * _GOLDEN
    words = _mix(state[:, None] + steps[None, :])
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
