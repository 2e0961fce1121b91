"""A function on its way to workers that are not ours, and what it does there."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

import numpy as np

from .._array import Array
from .local import RowFailure
from .processes import Processes
from .remote import Failed, Misshapen, Work, load, packed, pickled

KEPT = 4
"""Functions that a worker remembers."""

IDLE = 30.0
"""Seconds after which a process that guards a timeout is ended if nobody has asked it for anything."""

_known: dict[str, Work] = {}
_guards: dict[tuple[str, int], Guard] = {}


class Job:
    """`Work` for executors that send it with every chunk: pickled once, unpickled once by each worker that it reaches.

    Where it is not pickled at all (threads), the function stays the one that was given. With a timeout, every worker
    has a process of its own to evaluate it in, which can be killed.
    """

    def __init__(
        self, work: Work | None, timeout: float | None = None, blob: bytes | None = None, key: str | None = None
    ) -> None:
        self.work, self.timeout, self.blob, self.key = work, timeout, blob, key or uuid.uuid4().hex

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> tuple[Any, float]:
        """The values of all rows, and the seconds that took."""
        if self.timeout is None:
            return next(self._loaded().pieces(block, batch, np.inf), ([], 0.0))
        key = (self.key, threading.get_ident())
        guard = _guards.get(key)
        if guard is None:
            guard = _guards[key] = Guard(self._loaded(), self.timeout, key)
        return guard(block, batch)

    def _loaded(self) -> Work:
        if self.work is None:
            self.work = _known.get(self.key) or load(self.blob or b"")
            if self.key not in _known and len(_known) >= KEPT:
                _known.pop(next(iter(_known)), None)
            _known[self.key] = self.work
        return self.work

    def __reduce__(self) -> tuple[Any, ...]:
        if self.blob is None and self.work is not None:
            self.blob = pickled(self.work)
        return Job, (None, self.timeout, self.blob, self.key)


class Guard:
    """A process beside a worker, in which evaluations can be ended; it is ended itself when it is idle."""

    def __init__(self, work: Work, timeout: float, key: tuple[str, int]) -> None:
        self.pool = Processes(
            work.fun, work.args, vectorized=work.vectorized, workers=1, timeout=timeout, vectors=work.vectors
        )
        self.key, self.lock, self.timer = key, threading.Lock(), threading.Timer(0.0, self._close)

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> tuple[Any, float]:
        self.timer.cancel()
        with self.lock:
            began = time.perf_counter()
            try:
                raw = self.pool(block, batch)
            except RowFailure as failure:
                raw = [failure] * int(block.shape[0])
            seconds = time.perf_counter() - began
        self.timer = threading.Timer(IDLE, self._close)
        self.timer.daemon = True
        self.timer.start()
        if not (hasattr(raw, "__len__") and len(raw) == block.shape[0]):
            return Misshapen(raw), seconds
        return [_travelling(value) for value in raw], seconds

    def _close(self) -> None:
        with self.lock:
            self.pool.close()
            _guards.pop(self.key, None)


def _travelling(value: Any) -> Any:
    return Failed(packed(value.__cause__ or value), value.row is None) if isinstance(value, RowFailure) else value
