"""Processes of our own: `workers=n`.

Each worker has one chunk at a time and sends values home as they come. A worker that dies is replaced and its points
are evaluated again; one that takes longer than allowed is killed. Cheap functions stay at home.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .._array import Array
from .dispatch import Dispatch
from .local import RowFailure, Serial, Vectorized
from .remote import Work, WorkerDied
from .throughput import Throughput
from .worker_pool import WorkerPool

WORTH = 0.01
"""Seconds of work in a message, where there is enough."""

LATENCY, PER_ROW, PER_BYTE = 3e-4, 2e-6, 3e-9
"""What a round of messages costs, in seconds, and what each point and each byte of it adds."""

GAIN = 1.2
"""Points are sent away if that is predicted to be faster by this factor."""

START = 0.4
"""Seconds: workers are started when they would have saved these, about what starting them costs."""

APART = 2e-3
"""A function slower than this is evaluated by workers alone once there are any, for safety's sake."""


class Processes:
    """`n` processes that evaluate one function; they are started when they pay, and must be closed.

    Parameters
    ----------
    timeout : float, optional
        Seconds for one call of the function; then its process is killed. Nothing is evaluated at home.
    start : str, optional
        How processes start: see `WorkerPool`.

    Attributes
    ----------
    resent : points that had to be sent again because their worker died
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...] = (),
        *,
        vectorized: bool = False,
        workers: int,
        timeout: float | None = None,
        start: str | None = None,
        vectors: bool = False,
    ) -> None:
        self.vectorized, self.workers, self.timeout = vectorized, workers, timeout
        self.home = Vectorized(fun, args) if vectorized else Serial(fun, args)
        work = Work(fun, args, vectorized, vectors)
        self.worker_pool = WorkerPool(work, workers, one_by_one=timeout is not None, start=start)
        self.throughput = Throughput(workers, WORTH)
        self.resent = 0
        self._calls, self._saving = 0, 0.0

    def calls(self, rows: int) -> int:
        return max(1, self._calls) if self.vectorized else rows

    def close(self) -> None:
        """End all processes; they are started again if more is asked."""
        self.worker_pool.close()

    # Here or there

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> Any:
        self._calls = 0
        if self.timeout is not None:
            return self._away(block, batch)
        if self.throughput.cost is not None or block.shape[0] == 1:
            return self._somewhere(block, batch)
        head = self._here(block[:1, :], batch)  # the first point shows what f costs
        try:
            rest = self._somewhere(block[1:, :], batch)
        except RowFailure as failure:
            if failure.row is None or failure.values is None:
                raise
            raise RowFailure(failure.row + 1, [*head, *failure.values]) from failure.__cause__
        fits = all(hasattr(part, "__len__") and len(part) == n for part, n in ((head, 1), (rest, block.shape[0] - 1)))
        return [*head, *rest] if fits else rest

    def _somewhere(self, block: Array, batch: tuple[Any, ...]) -> Any:
        return self._away(block, batch) if self._pays(block) else self._here(block, batch)

    def _here(self, block: Array, batch: tuple[Any, ...]) -> Any:
        began, rows = time.perf_counter(), int(block.shape[0])
        self._calls += 1
        try:
            return self.home(block, batch)
        except RowFailure as failure:
            rows = 0 if failure.row is None else failure.row + 1
            raise
        finally:
            self.throughput.seen(rows, time.perf_counter() - began)

    def _pays(self, block: Array) -> bool:
        """Whether sending a block away is faster, the start of the workers included."""
        cost = self.throughput.cost
        if cost is None:
            return False
        if self.worker_pool.workers and cost >= APART:
            return True
        rows, d = block.shape
        here, messages = rows * cost, LATENCY + rows * (PER_ROW + PER_BYTE * 8 * d)
        away = -(-rows // self.workers) * cost + messages
        if here < GAIN * away:
            return False
        self._saving += here - away
        return bool(self.worker_pool.workers) or self._saving >= START

    # Away

    def _away(self, block: Array, batch: tuple[Any, ...]) -> Any:
        one = Dispatch(self.worker_pool, self.throughput, self.timeout, block, batch)
        try:
            return one.values()
        except BaseException as error:  # Ctrl-C, a function that cannot be loaded: leave no process busy
            self.close()
            if isinstance(error, WorkerDied):
                raise RowFailure(None) from error
            raise
        finally:
            self._calls += one.messages
            self.resent += one.resent
