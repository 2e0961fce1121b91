"""What travels to a worker and back: the user's function, a chunk of points, and what became of each of them."""

from __future__ import annotations

import importlib
import pickle
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from .._array import Array, to_numpy
from ..errors import MissingCapability
from .local import RowFailure

FLUSH = 0.005
"""Values travel home at least this often (in seconds), so that a worker that dies takes little with it."""


class WorkerDied(RuntimeError):
    """A worker process ended while it was evaluating."""


class TookTooLong(TimeoutError):
    """An evaluation did not end in the time allowed, and its process was ended."""


@dataclass(frozen=True)
class Work:
    """The user's function with its arguments; called on rows, it answers for each of them."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    vectorized: bool
    vectors: bool = False
    """Whether it answers with a vector for each row, and not a number."""

    def pieces(self, block: Array, batch: tuple[Any, ...], every: float) -> Iterator[tuple[Any, float]]:
        """The values of the rows in order, a piece after `every` seconds at least, and the seconds each piece took.

        A row at which the function raised has `Failed` for its value.
        """
        extra = batch + self.args
        began = time.perf_counter()
        if self.vectorized:
            yield self._all(block, extra), time.perf_counter() - began
            return
        piece = []
        for row in range(block.shape[0]):
            try:
                piece.append(_plain(self.fun(block[row, :], *extra)))
            except (Exception, SystemExit) as error:
                piece.append(Failed(packed(error)))
            now = time.perf_counter()
            if now - began >= every:
                yield piece, now - began
                piece, began = [], time.perf_counter()
        if piece:
            yield piece, time.perf_counter() - began

    def _all(self, block: Array, extra: tuple[Any, ...]) -> Any:
        rows = int(block.shape[0])
        try:
            raw = self.fun(block, *extra)
            values = to_numpy(raw) if array_api_compat.is_array_api_obj(raw) else np.asarray(raw)
        except (Exception, SystemExit) as error:
            return [Failed(packed(error), whole=True)] * rows
        fits = values.ndim == 2 and len(values) == rows if self.vectors else values.shape == (rows,)
        return values if fits else Misshapen(_plain(raw))


@dataclass(frozen=True)
class Failed:
    """In the place of a value: the exception, as bytes. `whole`: it concerns all rows of the call."""

    blob: bytes
    whole: bool = False

    def at(self, row: int) -> RowFailure:
        """As the oracle knows it."""
        failure = RowFailure(None if self.whole else row)
        failure.__cause__ = unpacked(self.blob)
        return failure


@dataclass(frozen=True)
class Misshapen:
    """What a vectorised function returned, if that is not one value a row."""

    raw: Any


def _plain(value: Any) -> Any:
    """A value as it travels: an array that is one number becomes NumPy's, and what cannot travel is described."""
    if isinstance(value, float):
        return float(value)  # NumPy's travel as a hundred bytes each
    if isinstance(value, int | np.generic):
        return value
    if array_api_compat.is_array_api_obj(value) and value.ndim == 0:
        return to_numpy(value)[()]
    try:
        pickle.dumps(value)
    except Exception:
        return f"{value!r:.60}"
    return value


# Pickling


def library(name: str) -> Any:
    """A module that need not be installed, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def pickler() -> Any:
    """cloudpickle where it is installed, for functions that pickle cannot name."""
    return library("cloudpickle") or pickle


def load(blob: bytes) -> Work:
    """The function back."""
    work: Work = pickle.loads(blob)
    return work


def pickled(work: Work) -> bytes:
    """The function as bytes, or an error that says what to do."""
    try:
        blob: bytes = pickler().dumps(work)
    except Exception as error:
        remedy = (
            "give it what it needs by other means than open files, locks and handles, or start by fork"
            if pickler() is not pickle
            else "define it at the top of a module, or pip install 'escapade[workers]'"
        )
        raise MissingCapability(
            f"fun={work.fun!r:.60} cannot be sent to a worker ({type(error).__name__}: {error}); {remedy}"
        ) from error
    return blob


def packed(error: BaseException) -> bytes:
    """An exception as bytes that can be read at home, with the traceback of the worker as a note."""
    if error.__traceback__ is not None:
        error.add_note("In the worker:\n" + "".join(traceback.format_tb(error.__traceback__)).rstrip())
    for one in (error, RuntimeError(f"{type(error).__name__}: {error}")):
        try:
            blob: bytes = pickler().dumps(one)
            if isinstance(pickle.loads(blob), BaseException):
                return blob
        except Exception:
            continue
    return pickle.dumps(RuntimeError(type(error).__name__))


def unpacked(blob: bytes) -> BaseException:
    """The exception back."""
    try:
        error: BaseException = pickle.loads(blob)
    except Exception as unread:
        return RuntimeError(f"an exception that cannot be read here ({type(unread).__name__}: {unread})")
    return error
