"""From `workers=` to an executor."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import InvalidSetting
from .external import ExternalExecutor, Transport
from .local import Evaluate, Serial, Vectorized
from .processes import Processes
from .transports import Dask, Futures, Mapped, Ray
from .worker_pool import processors


def choose(
    fun: Callable[..., Any],
    args: tuple[Any, ...] = (),
    *,
    vectorized: bool = False,
    workers: Any = None,
    timeout: float | None = None,
    vectors: bool = False,
) -> Evaluate:
    """The executor that `workers` stands for.

    Parameters
    ----------
    workers : optional
        None: in this process (in one of its own if there is a timeout). An int: the number of our own processes (-1:
        one a processor). A `concurrent.futures.Executor` (also mpi4py's `MPIPoolExecutor`), a Dask `Client`, "ray" or
        the module of an initialised Ray: chunks are sent there. A callable `workers(function, iterable)` such as
        `pool.map`: SciPy's convention. An executor in the sense of `Evaluate`: that one.
    timeout : float, optional
        Seconds for one call of the function; then its process is killed. Workers that are not ours evaluate in a
        process beside them, which can be.
    vectors : bool
        Whether the function returns a vector for each point, and not a number.
    """
    if timeout is not None and not (
        isinstance(timeout, int | float | np.number) and not isinstance(timeout, bool) and 0 < timeout < math.inf
    ):
        raise InvalidSetting(f"timeout={timeout!r:.60} must be a positive number of seconds, or None")
    if isinstance(workers, int | np.integer) and workers == -1:
        workers = processors()
    if isinstance(workers, bool) or (isinstance(workers, int | np.integer) and workers < 1):
        raise InvalidSetting(
            f"workers={workers!r} must be a positive number of processes, -1 for one a processor, or None for this one"
        )
    if workers is None and timeout is None:
        return Vectorized(fun, args) if vectorized else Serial(fun, args)
    if workers is None or isinstance(workers, int | np.integer):
        return Processes(
            fun, args, vectorized=vectorized, workers=int(workers or 1), timeout=timeout, vectors=vectors
        )
    if isinstance(workers, Evaluate):
        if timeout is not None:
            raise InvalidSetting(f"timeout={timeout!r} is for whoever made the executor workers={workers!r:.60}")
        return workers
    return ExternalExecutor(
        fun, args, _transport(workers), vectorized=vectorized, timeout=timeout, vectors=vectors
    )


def _transport(workers: Any) -> Transport:
    if workers == "ray" or (isinstance(workers, ModuleType) and workers.__name__ == "ray"):
        return Ray()
    if type(workers).__module__.split(".")[0] == "distributed" and hasattr(workers, "nthreads"):
        return Dask(workers)
    if not (isinstance(workers, Executor) or callable(workers)):
        raise InvalidSetting(
            f"workers={workers!r:.60} must be None, a number of processes, a concurrent.futures.Executor, a callable "
            "workers(function, iterable), a Dask Client or 'ray'"
        )
    return Futures(workers) if isinstance(workers, Executor) else Mapped(workers)
