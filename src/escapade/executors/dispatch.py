"""One block among our own workers."""

from __future__ import annotations

import time
from collections import Counter, deque
from multiprocessing.connection import wait
from typing import Any

from .._array import Array
from ..errors import MissingCapability
from .local import RowFailure
from .remote import Failed, Misshapen, TookTooLong, WorkerDied, unpacked
from .throughput import Throughput
from .worker_pool import Worker, WorkerPool

SLOW = 0.05
"""Points of a function slower than this (in seconds) do not queue behind one another."""

SMALL = 4096
"""In bytes: a message that is no longer can be sent to a worker that is not waiting for one."""

DEATHS = 3
"""A point during whose evaluation this number of workers died is one that kills them."""


class Dispatch:
    """One block among the workers, until every row has a value or has failed."""

    def __init__(
        self, pool: WorkerPool, throughput: Throughput, timeout: float | None, block: Array, batch: tuple[Any, ...]
    ) -> None:
        self.pool, self.throughput, self.timeout, self.block, self.batch = pool, throughput, timeout, block, batch
        self.messages, self.resent = 0, 0
        self.out: list[Any] = [None] * int(block.shape[0])
        self.left = len(self.out)
        self.fresh, self.again = 0, deque[int]()
        self.deaths: Counter[int] = Counter()
        self.misshapen: Misshapen | None = None

    def values(self) -> Any:
        while self.left:
            for worker in self.pool.members():
                if worker.ready and (not worker.rows or self._ahead(worker)):
                    self._send(worker)
            for worker in self._answered():
                self._read(worker)
                if not worker.process.is_alive():
                    self._buried(worker)
            if self.misshapen is not None:
                self.pool.close()
                return self.misshapen.raw
        return self.out

    def _ahead(self, worker: Worker) -> bool:
        """Whether a busy worker gets its next rows before it needs them.

        Not those of slow functions, not at the end, not behind a row on which a worker died; and only if they can wait
        in any system's pipe, for else we would wait for a worker that waits for us to take its values.
        """
        cost, left = self.throughput.cost, len(self.out) - self.fresh
        if cost is None or cost >= SLOW or left <= self.pool.size:
            return False
        if self.again or worker.suspect or len(worker.rows) > worker.last:
            return False
        return bool(self.throughput.chunk(left) * self.block.shape[1] * 8 <= SMALL)

    def _send(self, worker: Worker) -> None:
        """Give a worker its next rows: those of a dead one alone, new ones as many as pay for a message."""
        worker.suspect = bool(self.again)
        if self.again:
            rows = [self.again.popleft()]
        else:
            stop = min(self.fresh + self.throughput.chunk(len(self.out) - self.fresh), len(self.out))
            rows, self.fresh = list(range(self.fresh, stop)), stop
        if not rows:
            return
        self.messages += 1
        if not worker.rows:
            worker.since = time.monotonic()
        worker.rows.extend(rows)
        worker.last = len(rows)
        try:
            worker.conn.send((self.block[rows[0] : rows[-1] + 1, :], self.batch))
        except OSError:  # it has just died, and will be found dead
            return

    def _answered(self) -> list[Worker]:
        """Workers that sent something, that died, or that had to be killed."""
        workers, patience = self.pool.members(), None
        if self.timeout is not None:
            ends = [worker.since + self.timeout for worker in workers if worker.rows]
            patience = max(0.0, min(ends) - time.monotonic()) if ends else None
        known = {key: worker for worker in workers for key in (worker.conn, worker.process.sentinel)}
        found = wait(list(known), patience)
        answered = list({id(known[key]): known[key] for key in found}.values())
        now = time.monotonic()
        for worker in workers:
            if worker.rows and worker not in answered and self.timeout and now - worker.since >= self.timeout:
                worker.late = True
                worker.kill()
                answered.append(worker)
        return answered

    def _read(self, worker: Worker) -> None:
        """Take what a worker has sent."""
        try:
            while worker.conn.poll():
                self._take(worker, worker.conn.recv())
        except (EOFError, OSError):
            worker.kill()

    def _take(self, worker: Worker, message: Any) -> None:
        worker.since = time.monotonic()
        if not worker.ready:
            if message is not None:
                error = unpacked(message)
                raise MissingCapability(
                    f"fun={self.pool.work.fun!r:.60} could not be loaded in a worker process ({type(error).__name__}: "
                    f"{error}); define it in a module that workers can import, or pip install 'escapade[workers]'"
                ) from error
            worker.ready = True
            return
        values, seconds = message
        if isinstance(values, Misshapen):
            self.misshapen = values
            return
        self.throughput.seen(len(values), seconds)
        for value in values:
            row = worker.rows.popleft()
            self._decide(row, value.at(row) if isinstance(value, Failed) else value)

    def _decide(self, row: int, value: Any) -> None:
        self.out[row] = value
        self.left -= 1

    def _buried(self, worker: Worker) -> None:
        """What a dead worker had not answered for is evaluated again, alone; but not for ever."""
        self.pool.replace(worker)
        rows = list(worker.rows)
        alone = len(rows) == 1 or (bool(rows) and self.timeout is not None and not self.pool.work.vectorized)
        if rows and worker.late:
            error: Exception = TookTooLong(
                f"an evaluation was ended because it took longer than timeout={self.timeout:g} seconds"
            )
            call = rows[: -worker.last] or rows  # the rows of the call that was running
            ended = call if self.pool.work.vectorized else rows[:1]
        else:
            self.deaths.update(rows[:1] if alone else [])
            error = WorkerDied(f"{DEATHS} worker processes died (exit code {worker.process.exitcode}) evaluating it")
            ended = [row for row in rows[:1] if self.deaths[row] >= DEATHS]
        for row in ended:
            failure = RowFailure(row)
            failure.__cause__ = error
            self._decide(row, failure)
        self.again.extend(rows[len(ended) :])
        self.resent += len(rows) - len(ended)
