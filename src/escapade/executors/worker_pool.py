"""Worker processes: started, watched, replaced, ended."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import time
import weakref
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from ..errors import MissingCapability
from .remote import Work, WorkerDied, library, pickled
from .worker import serve

STILLBORN = 3
"""Workers that may die before they are ready, while no other is, before no other is started."""


@dataclass
class Worker:
    """A process, our end of the pipe to it, and the rows that it has not answered for."""

    process: Any
    conn: Connection
    since: float
    """When it last answered."""
    ready: bool = False
    rows: deque[int] = field(default_factory=deque)
    last: int = 0
    """How many of them came with the last message."""
    suspect: bool = False
    """Whether a worker has died on what it is evaluating."""
    late: bool = False
    """Whether it was killed for taking too long."""

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        if self.process.is_alive():
            if hasattr(signal, "SIGKILL"):
                os.kill(self.process.pid, signal.SIGKILL)
            else:
                self.process.terminate()  # on Windows, the same
        self.process.join()


class WorkerPool:
    """`size` workers with one function.

    `start` is "loky" (fresh processes that need no importable main module), "spawn", "forkserver" or "fork"; by default
    what `multiprocessing.set_start_method` was told, or loky where it is installed, or what the system does. A function
    that cannot be sent to a fresh process goes to forked ones, where those exist and `start` is not given.
    """

    def __init__(self, work: Work, size: int, *, one_by_one: bool, start: str | None) -> None:
        self.work, self.size, self.one_by_one, self.start = work, size, one_by_one, start
        self.workers: list[Worker] = []
        self._payload: Work | bytes | None = work if start == "fork" else None
        self._stillborn = 0
        self._end = weakref.finalize(self, _end, self.workers, os.getpid())

    def members(self) -> list[Worker]:
        """The workers, as many as there should be."""
        while len(self.workers) < self.size:
            self.workers.append(self._started())
        return self.workers

    def replace(self, worker: Worker) -> None:
        """Bury a worker that died; another will be started."""
        self.workers.remove(worker)
        _end([worker])
        self._stillborn = 0 if any(one.ready for one in (worker, *self.workers)) else self._stillborn + 1
        if self._stillborn >= STILLBORN:
            raise WorkerDied(
                f"{STILLBORN} worker processes ended as they started (exit code {worker.process.exitcode}): see what "
                "they wrote to stderr; with spawn, a script needs `if __name__ == '__main__':` round what it does"
            )

    def close(self) -> None:
        """End all workers; they are started again if more is asked."""
        _end(self.workers)

    def _started(self) -> Worker:
        context = self._context()
        ours, theirs = context.Pipe()
        threads = max(1, processors() // self.size)
        given = (theirs, self._payload, threads, self.one_by_one)
        process = context.Process(target=serve, args=given, daemon=True, name="escapade-worker")
        config: Any = mp.current_process()._config  # type: ignore[attr-defined]
        daemon, config["daemon"] = config.get("daemon"), False  # workers of pools and of Dask may have workers too
        try:
            process.start()
        finally:
            config["daemon"] = daemon
        theirs.close()
        return Worker(process, ours, time.monotonic())

    def _context(self) -> Any:
        """How processes start, and with it what they are given: the function as bytes, or itself if they are forked."""
        loky = library("loky.backend")
        method = self.start or mp.get_start_method(allow_none=True) or ("loky" if loky else mp.get_start_method())
        if self._payload is None:
            try:
                self._payload = pickled(self.work)
            except MissingCapability:
                if self.start is not None or "fork" not in mp.get_all_start_methods():
                    raise
                self.start, self._payload = "fork", self.work
                method = "fork"
        return loky.get_context("loky") if method == "loky" and loky else mp.get_context(method)


def _end(workers: list[Worker], owner: int | None = None) -> None:
    if owner not in (None, os.getpid()):  # a copy of them, in a process that was forked
        return
    for worker in workers:
        worker.kill()
        worker.conn.close()
    workers.clear()


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
