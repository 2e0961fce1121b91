"""A run in a thread of its own that stops wherever it wants values: a coroutine made of code that is not one.

Lockstep and ask/tell turn the control flow of a run around with it; no method knows.
"""

from __future__ import annotations

import contextvars
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .._array import Array
from .local import Evaluate

T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """What a run waits for: the values of the rows of a block, on a batch of samples (or ())."""

    block: Array
    batch: tuple[Any, ...]


class CoroutineThread(Generic[T]):
    """Runs `job(self)` in a thread of its own, as the executor of the job: each evaluation waits for `send`.

    The two threads take turns, so that a hand-over needs two locks and nothing can race; the job finds the context
    variables (NumPy's error state) and the warning filters of whoever made it. A job that is not carried to its
    end waits until it is sent an exception.

    Attributes
    ----------
    back : whether the job waits to be sent something (or has ended); otherwise it has the turn
    live : whether it has not ended
    wanted : what it waits for, None before its start and after its end, and while it pauses
    paused : whether it waits to be told something else than values
    outcome, error : what it returned, or the exception it raised
    """

    def __init__(self, job: Callable[[Evaluate], T], calls: Callable[[int], int]) -> None:
        self.back, self.live = True, True
        self.wanted: Wanted | None = None
        self.paused = False
        self.outcome: T | None = None
        self.error: BaseException | None = None
        self.calls = calls
        self._reply: Any = None
        self._filters = warnings.filters
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        context = contextvars.copy_context()
        try:
            threading.Thread(target=context.run, args=(self._live, job), daemon=True, name="escapade-run").start()
        except BaseException as error:  # Ctrl-C, when it may have started already
            self.send(error)
            raise

    # The side of the caller. Ctrl-C may come at any line: `back` is then still true to the facts.

    def send(self, reply: Any = None) -> None:
        """Give the job what it waits for (an exception is raised there), and the turn; its start is sent None."""
        self._filters = warnings.filters
        self._done.acquire(blocking=False)  # left over if Ctrl-C came between the job's return and ours
        self._reply, self.back = reply, False
        self._go.release()

    def wait(self, seconds: float = -1) -> bool:
        """Whether the job has given the turn back, now or (a negative number: for certain) after `seconds`."""
        if not self.back:
            while self._done.acquire(timeout=seconds) and not self.back:
                pass
            if self.back:
                warnings.filters = self._filters
        return self.back

    # The side of the job

    def __call__(self, block: Array, batch: tuple[Any, ...]) -> Any:
        self.wanted = Wanted(block, batch)
        return self._told()

    def pause(self) -> Any:
        """Wait, for no values: what it is sent, once whoever runs it has something to tell."""
        self.paused = True
        return self._told()

    def _told(self) -> Any:
        filters = warnings.filters
        self._hand_back()
        self._go.acquire()
        warnings.filters, self.wanted, self.paused = filters, None, False
        reply, self._reply = self._reply, None
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def _hand_back(self) -> None:
        self.back = True
        self._done.release()

    def _live(self, job: Callable[[Evaluate], T]) -> None:
        self._go.acquire()
        try:
            if isinstance(self._reply, BaseException):
                raise self._reply
            self.outcome = job(self)
        except BaseException as error:
            self.error = error
        self.live = False
        self._hand_back()
