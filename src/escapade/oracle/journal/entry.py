"""One entry of a journal, and the checksum that chains it to the one before."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..values import lost_rows

DERIVATIVES = (" gradient", " product")
"""How the purposes of entries end that hold gradients, or Hessian-vector products."""


@dataclass(frozen=True)
class Entry:
    """One block of values, as delivered."""

    purpose: str
    digest: bytes
    """Of the points, and of the sample ids."""
    values: NDArray[np.float64]
    weight: int
    precision: float
    lost: str
    calls: int
    attempts: int
    at: float
    best: bytes = b""
    """The point of the least value, where it is less than all before."""

    @property
    def least(self) -> float:
        """The least value (infinity if all are missing), where values are numbers."""
        return least(self.values) if not self.derivative else np.inf

    @property
    def queries(self) -> int:
        """Values delivered."""
        return 0 if self.derivative else int(np.sum(~lost_rows(self.values))) * self.weight

    def shaped(self, width: int | None) -> Entry:
        """The same, with residuals of this length as rows."""
        return self if width is None or self.derivative else replace(self, values=self.values.reshape(-1, width))

    @property
    def derivative(self) -> bool:
        """Whether it holds gradients or products, and no values."""
        return self.purpose.endswith(DERIVATIVES)

    def best_at(self, x: NDArray[Any]) -> Entry:
        """The same, with the point of its least value."""
        return replace(self, best=x.tobytes())

    def row(self) -> tuple[Any, ...]:
        """As it is stored."""
        lost = self.lost.encode(errors="replace").decode()
        numbers = self.weight, self.precision, lost, self.calls, self.attempts, self.at
        return (self.purpose, self.digest, self.values.tobytes(), *numbers, self.best)

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Entry:
        """From what is stored; ValueError if it cannot have come from us."""
        kinds = (str, bytes, bytes, int, float, str, int, int, float, bytes)
        if [type(value) for value in row] != list(kinds) or len(row[2]) % 8 or min(row[3], row[6], row[7]) < 0:
            raise ValueError("not an entry of a journal")
        values = np.frombuffer(row[2], dtype=np.float64).copy()
        return cls(row[0], row[1], values, *row[3:])


def least(costs: NDArray[np.float64]) -> float:
    """The least of these (infinity if all are missing)."""
    known = costs[~np.isnan(costs)]
    return float(known.min()) if len(known) else np.inf


def chained(before: bytes, fields: tuple[Any, ...]) -> bytes:
    """The checksum of some fields and of everything before them."""
    h = hashlib.blake2b(before, digest_size=16)
    for field in fields:
        data = field if isinstance(field, bytes) else repr(field).encode("utf-8", "surrogatepass")
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.digest()
