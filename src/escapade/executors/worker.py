"""The loop of a worker process of our own."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from multiprocessing.connection import Connection

from .remote import FLUSH, Work, library, load, packed

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Libraries that are loaded later read these."""


def serve(conn: Connection, work: Work | bytes, threads: int, one_by_one: bool) -> None:
    """Answer blocks until the other end closes.

    The first message says that the worker is ready, or why it cannot be (the exception). A block `(rows, batch)` is
    answered by messages `(values, seconds)` until all its rows are.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends its workers
    threading.Thread(target=_outlive, daemon=True).start()
    _limit(threads)
    try:
        work = load(work) if isinstance(work, bytes) else work
    except BaseException as error:
        conn.send(packed(error))
        return
    conn.send(None)
    with contextlib.suppress(EOFError, OSError):
        while True:
            block, batch = conn.recv()
            for values, seconds in work.pieces(block, batch, 0.0 if one_by_one else FLUSH):
                conn.send((values, seconds))


def _outlive() -> None:
    """No worker outlives the process that started it."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _limit(threads: int) -> None:
    """The number of threads for linear algebra, such that all workers together have a processor each."""
    os.environ.update(dict.fromkeys(THREADS, str(threads)))
    threadpoolctl = library("threadpoolctl")
    if threadpoolctl:
        threadpoolctl.threadpool_limits(limits=threads)
