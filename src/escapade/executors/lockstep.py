"""Lockstep: many runs advance together and share one evaluation a round, each as it would have been alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import array_api_compat

from .._array import Array, namespace
from .coroutine import CoroutineThread, Wanted
from .local import Evaluate, RowFailure, Serial

T = TypeVar("T")

SHARED_BYTES = 1 << 26
"""In bytes: blocks are put together up to this size (or one block)."""

PATIENCE, BREATH = 5.0, 0.05
"""Seconds for a run to use its turn. One that does not is late: the others go on without it, and it joins them when it
wants values. Some must: SciPy lets only one COBYQA run at a time, so that the second waits for the first to end."""


@dataclass
class Lockstep:
    """`run(jobs)` calls every job with an executor of its own, and evaluates what they all wait for together.

    A job is `lambda evaluate: minimize(fun, x0, workers=evaluate, ...)`, or anything else that evaluates through the
    executor it is given. When every job waits for a block or has ended, the blocks (of the same samples and dtype) go
    to `evaluate` as one: one call of a vectorised function, or one load for a pool. Jobs take turns in threads of
    their own, and the function is called where `run` was, so nothing in either must be thread-safe. Each run is bit
    for bit what it would have been alone if the value of a row does not depend on the block it comes in.

    Attributes
    ----------
    rounds, calls, points : shared evaluations, calls of the user's function made for them, and points sent
    interrupted : whether Ctrl-C ended the runs early
    decide : what each job that pauses is told, by number, asked when all others pause or have ended; some must go on
    """

    evaluate: Evaluate
    decide: Callable[[Sequence[int]], Mapping[int, Any]] | None = None
    rounds: int = 0
    calls: int = 0
    points: int = 0
    interrupted: bool = False

    def run(self, jobs: Iterable[Callable[[Evaluate], T]]) -> list[T | BaseException]:
        """What each job returned, or the exception it raised. Ctrl-C ends them all; each keeps what it has."""
        jobs, threads = list(jobs), list[CoroutineThread[T]]()
        try:
            for job in jobs:
                threads.append(CoroutineThread(job, self.evaluate.calls))
            self._advance(threads)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            while live := [thread for thread in threads if thread.live]:
                for thread in live:
                    if thread.wait(BREATH):
                        thread.send(KeyboardInterrupt())
                        thread.wait(BREATH)
        ended: list[Any] = [thread.outcome if thread.error is None else thread.error for thread in threads]
        return ended + [KeyboardInterrupt()] * (len(jobs) - len(threads))

    def _advance(self, threads: list[CoroutineThread[T]]) -> None:
        """Rounds, until every job has ended."""
        ready, replies, late = threads, [None] * len(threads), 0
        while True:
            for thread, reply in zip(ready, replies, strict=True):
                thread.send(reply)
                late += not thread.wait(PATIENCE / 2**late)
            ready = [thread for thread in threads if thread.wait(0) and thread.live]
            running = [thread for thread in threads if not thread.back]
            if not ready and not running:
                return
            late, pausing = len(running), [thread for thread in ready if thread.paused]
            ready = [thread for thread in ready if not thread.paused]
            if running and not ready:
                running[0].wait(BREATH)
            elif pausing and not ready:
                ready, replies = self._decided(threads, pausing)
                continue
            replies = self._round([thread.wanted for thread in ready if thread.wanted is not None])

    def _decided(
        self, threads: list[CoroutineThread[T]], pausing: list[CoroutineThread[T]]
    ) -> tuple[list[CoroutineThread[T]], list[Any]]:
        """The jobs that are told something, and what."""
        if self.decide is None:
            return pausing, [None] * len(pausing)
        told = self.decide([threads.index(thread) for thread in pausing])
        return [threads[index] for index in told], list(told.values())

    def _round(self, wanted: Sequence[Wanted]) -> list[Any]:
        """The raw values of every block, or the exception that its evaluation raised."""
        self.rounds += bool(wanted)
        replies: list[Any] = [None] * len(wanted)
        for group in _groups(wanted):
            for index, reply in zip(group, self._together([wanted[index] for index in group]), strict=True):
                replies[index] = reply
        return replies

    def _together(self, group: list[Wanted]) -> list[Any]:
        """Blocks of a kind in one evaluation; where it fails, the run whose row it was fails, and no other."""
        if len(group) == 1 or isinstance(self.evaluate, Serial):
            return [self._alone(one) for one in group]
        blocks = [one.block for one in group]
        ends = [0]
        for block in blocks:
            ends.append(ends[-1] + block.shape[0])
        raw = self._alone(Wanted(namespace(blocks[0]).concat(blocks, axis=0), group[0].batch))
        if _whole(raw) or not _one_a_row(raw, ends[-1]):
            return [self._alone(one) for one in group]
        if isinstance(raw, BaseException):
            return [raw] * len(group)
        return [raw[start:end] for start, end in pairwise(ends)]

    def _alone(self, wanted: Wanted) -> Any:
        rows = wanted.block.shape[0]
        try:
            raw = self.evaluate(wanted.block, wanted.batch)
        except Exception as error:
            row = error.row if isinstance(error, RowFailure) else None
            rows, raw = rows if row is None else row + 1, error
        self.calls += self.evaluate.calls(rows)
        self.points += rows
        # The function may hand out the same array again before the run has read this one.
        return namespace(raw).asarray(raw, copy=True) if array_api_compat.is_array_api_obj(raw) else raw


def _whole(raw: Any) -> bool:
    """Whether an exception concerns the whole of a block: which of the runs it was is not known."""
    if isinstance(raw, list):
        return any(isinstance(value, RowFailure) and value.row is None for value in raw)
    return isinstance(raw, RowFailure)


def _one_a_row(raw: Any, rows: int) -> bool:
    if isinstance(raw, BaseException):
        return True
    shape = getattr(raw, "shape", None)
    return len(raw) == rows if isinstance(raw, list | tuple) else shape is not None and tuple(shape) == (rows,)


def _groups(wanted: Sequence[Wanted]) -> Iterator[list[int]]:
    """Indices of blocks that can be evaluated together, a bounded number of bytes at a time."""
    kinds: dict[Any, list[int]] = {}
    for index, one in enumerate(wanted):
        kinds.setdefault(_kind(one), []).append(index)
    for group in kinds.values():
        start, size = 0, 0
        for position, index in enumerate(group):
            block = wanted[index].block
            bytes_here = 8 * block.shape[0] * block.shape[1]
            if size and size + bytes_here > SHARED_BYTES:
                yield group[start:position]
                start, size = position, 0
            size += bytes_here
        yield group[start:]


def _kind(wanted: Wanted) -> tuple[Any, ...]:
    block: Array = wanted.block
    device = str(array_api_compat.device(block))
    return (type(block), str(block.dtype), device, block.shape[1], *(ids.tobytes() for ids in wanted.batch))
