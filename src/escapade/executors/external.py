"""Chunks sent to workers that are not ours: an executor of the standard library's kind, a Dask client, Ray, a map."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from .._array import Array
from .job import Job
from .local import RowFailure
from .remote import Failed, Misshapen, Work, WorkerDied
from .throughput import Throughput

DEATHS = 3
"""A point during whose evaluation this number of workers died is one that kills them."""


RECOUNT = 5.0
"""Seconds after which the workers are counted again."""


class Transport(Protocol):
    """What is asked of whoever runs the chunks."""

    worth: float
    """Seconds of work that make a message worth sending."""
    lost: tuple[type[BaseException], ...]
    """Exceptions that mean that a worker died, and not that the function raised."""

    def width(self) -> int:
        """How many chunks can run at the same time."""
        ...

    def submit(self, job: Job, block: Array, batch: tuple[Any, ...]) -> Any:
        """Send a chunk; a handle."""
        ...

    def first(self, handles: list[Any]) -> Iterable[Any]:
        """Wait until one of them is done; those that are."""
        ...

    def result(self, handle: Any) -> tuple[Any, float]:
        """What the chunk returned."""
        ...

    def cancel(self, handle: Any) -> None:
        """Forget a chunk."""
        ...

    def close(self) -> None:
        """End what was started for this run."""
        ...


class ExternalExecutor:
    """A function evaluated in chunks by a transport. Values take the places of their rows, whatever comes first.

    Attributes
    ----------
    resent : points that had to be sent again because their worker died
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        transport: Transport,
        *,
        vectorized: bool = False,
        timeout: float | None = None,
        vectors: bool = False,
    ) -> None:
        self.transport, self.vectorized = transport, vectorized
        self.job = Job(Work(fun, args, vectorized, vectors), timeout)
        self.throughput = Throughput(1, transport.worth)
        self.resent, self._calls = 0, 0
        self._width, self._until = 1, -1.0

    def calls(self, rows: int) -> int:
        return max(1, self._calls) if self.vectorized else rows

    def close(self) -> None:
        """End what was started for this run; what was handed in goes on."""
        self.transport.close()

    def width(self) -> int:
        """How many chunks can run at the same time; asked again now and then, for clusters grow."""
        now = time.monotonic()
        if now > self._until:
            self._width, self._until = max(1, self.transport.width()), now + RECOUNT
        return self._width

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> Any:
        one = _Round(self, block, batch)
        try:
            return one.values()
        except WorkerDied as error:
            raise RowFailure(None) from error
        finally:
            self._calls = one.messages
            self.resent += one.resent
            for handle in one.sent:
                self.transport.cancel(handle)


class _Round:
    """One block, until every row has a value or has failed."""

    def __init__(self, executor: ExternalExecutor, block: Array, batch: tuple[Any, ...]) -> None:
        self.executor, self.block, self.batch = executor, block, batch
        self.out: list[Any] = [None] * int(block.shape[0])
        self.fresh, self.again = 0, deque[int]()
        self.sent: dict[Any, range] = {}
        self.deaths: Counter[int] = Counter()
        self.messages, self.resent = 0, 0

    def values(self) -> Any:
        transport, throughput = self.executor.transport, self.executor.throughput
        throughput.workers = self.executor.width()
        while True:
            # One chunk waits for each that runs, so that no worker does; all of them wait while the cost is unknown.
            most = throughput.workers if throughput.cost is None else 2 * throughput.workers
            while len(self.sent) < most and (self.again or self.fresh < len(self.out)):
                self._send()
            if not self.sent:
                return self.out
            for handle in transport.first(list(self.sent)):
                rows = self.sent.pop(handle)
                try:
                    values, seconds = transport.result(handle)
                except transport.lost as error:
                    self._died(rows, error)
                    continue
                if isinstance(values, Misshapen):
                    return values.raw
                throughput.seen(len(rows), seconds)
                for row, value in zip(rows, values, strict=True):
                    self.out[row] = value.at(row) if isinstance(value, Failed) else value

    def _send(self) -> None:
        executor = self.executor
        if self.again:
            row = self.again.popleft()
            rows = range(row, row + 1)
        else:
            stop = self.fresh + executor.throughput.chunk(len(self.out) - self.fresh)
            rows = range(self.fresh, min(stop, len(self.out)))
            self.fresh = rows.stop
        block = self.block[rows.start : rows.stop, :]
        handle = executor.transport.submit(executor.job, block, self.batch)
        self.sent[handle] = rows
        self.messages += 1

    def _died(self, rows: range, error: BaseException) -> None:
        """Rows whose worker died are sent again, one by one; but a row that kills every worker has failed."""
        self.deaths.update(rows if len(rows) == 1 else [])
        for row in rows:
            if self.deaths[row] < DEATHS:
                self.again.append(row)
                self.resent += 1
                continue
            failure = RowFailure(row)
            failure.__cause__ = WorkerDied(f"{DEATHS} workers died ({type(error).__name__}: {error}) evaluating f")
            self.out[row] = failure
