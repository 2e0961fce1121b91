"""Those who run chunks for us: futures of the standard library's kind, Dask, Ray, and map-like callables."""

from __future__ import annotations

import concurrent.futures as cf
import logging
from collections.abc import Callable, Iterable
from typing import Any

from .._array import Array
from ..errors import InvalidSetting, MissingCapability
from .job import Job
from .remote import WorkerDied, library
from .worker_pool import processors

log = logging.getLogger("escapade")

PATIENCE = 60.0
"""Seconds without any result after which it is looked whether anybody is working at all."""


class Futures:
    """A `concurrent.futures.Executor`: threads, processes, loky's, mpi4py's `MPIPoolExecutor`."""

    worth = 0.01
    lost: tuple[type[BaseException], ...] = ()

    def __init__(self, executor: cf.Executor) -> None:
        self.executor = executor

    def width(self) -> int:
        size = getattr(self.executor, "_max_workers", None) or getattr(self.executor, "num_workers", None)
        return size if isinstance(size, int) else processors()

    def submit(self, job: Job, block: Array, batch: tuple[Any, ...]) -> Any:
        try:
            return self.executor.submit(job, block, batch)
        except RuntimeError as error:
            raise broken(self.executor, error) from error

    def first(self, handles: list[Any]) -> Iterable[Any]:
        return cf.wait(handles, return_when=cf.FIRST_COMPLETED).done

    def result(self, handle: Any) -> tuple[Any, float]:
        try:
            done: tuple[Any, float] = handle.result()
        except cf.BrokenExecutor as error:
            raise broken(self.executor, error) from error
        return done

    def cancel(self, handle: Any) -> None:
        handle.cancel()

    def close(self) -> None:
        pass


def broken(executor: Any, error: Exception) -> Exception:
    """An executor that was handed in cannot be mended by us."""
    return WorkerDied(
        f"workers={executor!r:.60} accepts no more work ({type(error).__name__}: {error}): pass a new one, or "
        "workers=n, which replaces workers that die"
    )


class Mapped:
    """SciPy's convention: `workers(function, iterable)` gives the values in order. All chunks are sent at once."""

    worth = 0.01
    lost: tuple[type[BaseException], ...] = ()

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._waiting: dict[int, tuple[Job, Array, tuple[Any, ...]]] = {}
        self._done: dict[int, tuple[Any, float]] = {}
        self._next = 0

    def width(self) -> int:
        return 4 * processors()  # unknown; more and smaller chunks do little harm

    def submit(self, job: Job, block: Array, batch: tuple[Any, ...]) -> Any:
        self._next += 1
        self._waiting[self._next] = (job, block, batch)
        return self._next

    def first(self, handles: list[Any]) -> Iterable[Any]:
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            done = list(self.function(call, list(waiting.values())))
            if len(done) != len(waiting):
                raise InvalidSetting(
                    f"workers={self.function!r:.60} must return a value for each item, as map does, but returned "
                    f"{len(done)} for {len(waiting)}"
                )
            self._done.update(zip(waiting, done, strict=True))
        return list(self._done)

    def result(self, handle: Any) -> tuple[Any, float]:
        return self._done.pop(handle)

    def cancel(self, handle: Any) -> None:
        self._waiting.pop(handle, None)
        self._done.pop(handle, None)

    def close(self) -> None:
        pass


def call(task: tuple[Job, Array, tuple[Any, ...]]) -> tuple[Any, float]:
    """One chunk, for a map of one argument."""
    job, block, batch = task
    return job(block, batch)


class Dask:
    """A Dask `Client`. What its scheduler itself sends again after a worker died is not seen from here."""

    worth = 0.1

    def __init__(self, client: Any) -> None:
        self.client, self.dask = client, library("distributed")
        died = self.dask.KilledWorker, self.dask.client.FutureCancelledError, self.dask.comm.CommClosedError
        self.lost: tuple[type[BaseException], ...] = died

    def width(self) -> int:
        return sum(self.client.nthreads().values())

    def submit(self, job: Job, block: Array, batch: tuple[Any, ...]) -> Any:
        return self.client.submit(job, block, batch, pure=False)

    def first(self, handles: list[Any]) -> Iterable[Any]:
        while True:
            try:
                done = self.dask.wait(handles, timeout=PATIENCE, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                if not self.client.nthreads():
                    log.warning("the Dask cluster has no workers: waiting until it has some, or until Ctrl-C")
            else:
                return done  # type: ignore[no-any-return]

    def result(self, handle: Any) -> tuple[Any, float]:
        done: tuple[Any, float] = handle.result()
        return done

    def cancel(self, handle: Any) -> None:
        self.client.cancel([handle], force=True)

    def close(self) -> None:
        pass


class Ray:
    """Ray, initialised by the user or for this run."""

    worth = 0.02

    def __init__(self) -> None:
        ray = library("ray")
        if ray is None:
            raise MissingCapability("workers='ray' needs Ray: pip install 'escapade[ray]'")
        self.ray, self.ours = ray, not ray.is_initialized()
        if self.ours:
            ray.init(include_dashboard=False, configure_logging=False, log_to_driver=False)
        self.lost: tuple[type[BaseException], ...] = (ray.exceptions.WorkerCrashedError, ray.exceptions.ObjectLostError)
        self.run = ray.remote(_run).options(max_retries=0)
        self._jobs: dict[str, Any] = {}

    def width(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 1))

    def submit(self, job: Job, block: Array, batch: tuple[Any, ...]) -> Any:
        if job.key not in self._jobs:
            self._jobs[job.key] = self.ray.put(job)
        return self.run.remote(self._jobs[job.key], block, batch)

    def first(self, handles: list[Any]) -> Iterable[Any]:
        return self.ray.wait(handles, num_returns=1)[0]  # type: ignore[no-any-return]

    def result(self, handle: Any) -> tuple[Any, float]:
        done: tuple[Any, float] = self.ray.get(handle)
        return done

    def cancel(self, handle: Any) -> None:
        self.ray.cancel(handle, force=True)

    def close(self) -> None:
        if self.ours and self.ray.is_initialized():
            self.ray.shutdown()


def _run(job: Job, block: Array, batch: tuple[Any, ...]) -> tuple[Any, float]:
    return job(block, batch)
