"""A minibatch of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidSetting


@dataclass(frozen=True)
class Batch:
    """A minibatch is a value: the same sample ids serve at several points, and cannot be written to."""

    ids: NDArray[np.int64]

    def __post_init__(self) -> None:
        ids = np.array(self.ids, dtype=np.int64)
        if ids.ndim != 1 or len(ids) == 0:
            raise InvalidSetting(f"a batch must be a non-empty vector of ids, not of shape {ids.shape}")
        ids.flags.writeable = False
        object.__setattr__(self, "ids", ids)

    def __len__(self) -> int:
        return len(self.ids)
