"""Ask and tell: for people whose function is a laboratory.

The run is `minimize` itself, in a thread that waits wherever it wants values; `ask` shows what it waits for.
"""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._array import as_point, to_numpy
from ._random import as_generator
from ._text import counted
from .errors import EscapadeError, InvalidSetting, JournalError, MissingCapability
from .executors import NoValue
from .executors.coroutine import CoroutineThread, Wanted
from .least_squares import least_squares
from .minimize import minimize
from .oracle.journal import digest_of, generator_of, restorable, state_of
from .result import Result
from .shaped import shaped_arguments
from .structure import Structure

FORMAT = "escapade ask/tell 1"
OURS = ("fun", "x0", "args", "vectorized", "workers", "timeout")
"""Keywords of `minimize` that are about a function there is none of."""


class AskTell:
    """A run of `minimize` that asks for values and is told them.

    Parameters
    ----------
    x0 : array
        The start.
    options
        Those of `minimize`, less the ones about how a function is called; with `residuals=True` those of
        `least_squares`, and each value is a vector of residuals. With `journal="lab.db"` every value is
        recorded when its block is complete, and the same line in another process goes on from there; `save` and `load`
        do so at moments of your choice, half-told blocks included.

    Attributes
    ----------
    ids : array of int
        A number for each row of the last `ask`, never used again.
    batch : array of int or None
        Sample ids over which the values are averages, for a function with samples.
    done : bool
        Whether the run has ended.

    Notes
    -----
    Queries: those of the method, told instead of evaluated

    Examples
    --------
    >>> import escapade
    >>> run = escapade.ask_tell([1.0, 2.0], rng=0)
    >>> while not run.done:
    ...     run.tell([x @ x for x in run.ask()])
    >>> run.result().message
    'A minimum was certified.'
    """

    def __init__(self, x0: Any, **options: Any) -> None:
        for name in OURS:
            if name in options:
                raise InvalidSetting(f"{name}= is about calling a function; ask_tell is told its values")
        if options.get("jac") is True:
            raise InvalidSetting("jac=True is about calling a function; ask_tell is told its values: pass jac(x)")
        found = Structure.of(x0)
        self._structure: Structure | None = None
        if found is not None:
            self._structure, x0 = found
        if self._structure is not None:
            _, options = shaped_arguments(self._structure, options)
        self._x0 = to_numpy(as_point(x0)).copy()
        self._read = _vectors if options.get("residuals") else _floats
        rng = options.pop("rng", None)
        generator = None if rng is None and options.get("journal") is not None else as_generator(rng)
        self._options, self._state = options, None if generator is None else state_of(generator)
        self._known: dict[bytes, Any] = {}
        self._told: list[tuple[bytes, list[Any]]] = []
        self._values: list[Any] = []
        self._missing: list[int] = []
        self._next = 0
        _one_cobyqa(self, options.get("method"))
        self._thread = CoroutineThread(partial(_run, x0, generator, options), _one_each)
        weakref.finalize(self, _end, self._thread).atexit = False
        self._advance(None)

    def ask(self) -> Any:
        """The points whose values are wanted and not told yet, as rows; none when the run has ended.

        Where x0 was no vector: a list of points of its structure.
        """
        rows = np.empty((0, len(self._x0)), dtype=self._x0.dtype)
        if self._wanted is not None:
            rows = to_numpy(self._wanted.block)[self._missing].copy()
        return rows if self._structure is None else [self._structure.built(row) for row in rows]

    @property
    def ids(self) -> NDArray[np.int64]:
        """A number for each row of `ask()`."""
        return np.asarray(self._missing, dtype=np.int64) + self._next

    @property
    def batch(self) -> NDArray[np.int64] | None:
        """The sample ids that the values asked for are averages over."""
        return None if self._wanted is None or not self._wanted.batch else np.array(self._wanted.batch[0])

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return not self._thread.live

    def tell(self, values: Any, ids: Any = None) -> None:
        """The values of the rows of `ask()`; or of those with these ids, in any order, and perhaps not all.

        When the last of them is told the run goes on to its next question, or its end. None says that a point has no
        value: it is missing, whatever the policies are. NaN and infinity are treated as `nan_policy` says.
        """
        told = self._read(values)
        which = self.ids if ids is None else np.atleast_1d(np.asarray(ids))
        if len(told) != len(which):
            raise InvalidSetting(f"{counted(len(told), 'value')} told for {counted(len(which), 'point')}: one for each")
        rows = [int(number) - self._next for number in which]
        for number, row in zip(which, rows, strict=True):
            if row not in self._missing or rows.count(row) > 1:
                raise InvalidSetting(f"id {number} is not wanted (or was told twice): those of ask() are in .ids")
        self._take(dict(zip(rows, told, strict=True)))
        self._go_on()

    def known(self, X: Any, values: Any, batch: Any = None) -> None:
        """Values that are already known at the rows of X: whenever these very points come up, they are not asked for.

        To be told at any time, best before the first `ask`. `batch`: the sample ids, for a function with samples.
        """
        if self._structure is not None:
            X = [self._structure.flat(x, "X") for x in X]
        points = np.atleast_2d(np.asarray(X, dtype=self._x0.dtype))
        told = self._read(values)
        if None in told:
            raise InvalidSetting(f"values={values!r:.60} hold None, which is no value: leave that point out")
        if points.shape != (len(told), len(self._x0)):
            raise InvalidSetting(
                f"X of shape {np.shape(X)} with {len(told)} values must have a row of {len(self._x0)} for each value"
            )
        ids = () if batch is None else (np.asarray(batch, dtype=np.int64),)
        self._known |= {digest_of(x[None, :], ids): f for x, f in zip(points, told, strict=True) if f is not None}
        self._use_known()
        self._go_on()

    def result(self) -> Result:
        """What `minimize` returns, once the run has ended; what it raises, if it failed."""
        if not self.done:
            raise EscapadeError(f"the run waits for {counted(len(self._missing), 'value')}: tell, or end it by stop()")
        if self._thread.error is not None:
            raise self._thread.error
        assert self._thread.outcome is not None
        outcome = self._thread.outcome
        return outcome if self._structure is None else outcome.shaped(self._structure)

    def stop(self) -> Result:
        """End the run, as Ctrl-C would, and return what it has."""
        _end(self._thread)
        return self.result()

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything told so far to a JSON file (all of it or nothing)."""
        if self._options.get("journal") is not None:
            raise InvalidSetting("this run has a journal: start it again with the same arguments to go on from there")
        plain = {name: value for name, value in self._options.items() if _is_plain(value)}
        again = sorted(set(self._options) - set(plain)) + ([] if restorable(self._state) else ["rng"])
        data = {
            "format": FORMAT,
            "x0": self._x0.tolist(),
            "structure": None if self._structure is None else self._structure.plain(),
            "dtype": str(self._x0.dtype),
            "options": plain,
            "again": again,
            "rng": None if "rng" in again else self._state,
            "told": [[digest.hex(), values] for digest, values in self._told],
            "half": {str(row): value for row, value in enumerate(self._values) if row not in self._missing},
            "known": {digest.hex(): value for digest, value in self._known.items()},
        }
        target = Path(path)
        with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False, encoding="utf-8") as file:
            json.dump(data, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, target)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """A saved run, where it was. Options that a file cannot hold (functions, method objects) are given again."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise ValueError(f"its format is {data['format']!r:.60}")
            x0: Any = np.asarray(data["x0"], dtype=np.dtype(data["dtype"]))
            structure = Structure.restored(data.get("structure"))
            x0 = x0 if structure is None else structure.built(x0)
            told = [(bytes.fromhex(digest), [_from_file(v) for v in values]) for digest, values in data["told"]]
            half = {int(row): _from_file(value) for row, value in data["half"].items()}
            known = {bytes.fromhex(digest): _from_file(value) for digest, value in data["known"].items()}
            again, kept, state = set(data["again"]), dict(data["options"]), data["rng"]
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise JournalError(f"{path} holds no saved run ({type(error).__name__}: {error})") from error
        lacking, extra = ", ".join(sorted(again - set(options))), min(set(options) - again, default="")
        if lacking:
            raise InvalidSetting(f"the run in {path} needs {lacking} given again to load(): a file cannot hold that")
        if extra:
            raise InvalidSetting(
                f"{extra}={options[extra]!r:.60} cannot be given to load(): the run in {path} goes on with the {extra} "
                "it was begun with. Leave it out, or begin another run and give it the values so far with known()"
            )
        rng = {} if state is None else {"rng": generator_of(state, path)}
        opt = cls(x0, **kept, **options, **rng)
        for digest, values in told:
            opt._check(digest, len(values), path)
            opt._values, opt._missing = values, []
            opt._go_on()
        opt._known |= known
        opt._take({row: value for row, value in half.items() if row in opt._missing})
        opt._use_known()
        opt._go_on()
        return opt

    # The run

    @property
    def _wanted(self) -> Wanted | None:
        return self._thread.wanted

    def _advance(self, reply: Any) -> None:
        self._thread.send(reply)
        try:
            self._thread.wait()
        finally:
            self._thread.wait()  # Ctrl-C loses nothing that was told
            self._next += len(self._values)
            rows = 0 if self._wanted is None else int(self._wanted.block.shape[0])
            self._values, self._missing = [None] * rows, list(range(rows))
            self._use_known()
        if self._thread.error is not None:
            raise self._thread.error

    def _go_on(self) -> None:
        while self._wanted is not None and not self._missing:
            self._told.append((self._digest(), self._values))
            self._advance([NoValue("None was told").at(k) if v is None else v for k, v in enumerate(self._values)])

    def _use_known(self) -> None:
        if self._wanted is None or not self._known:
            return
        block = to_numpy(self._wanted.block)
        known = {row: self._known.get(digest_of(block[row : row + 1], self._wanted.batch)) for row in self._missing}
        self._take({row: value for row, value in known.items() if value is not None})

    def _take(self, told: dict[int, Any]) -> None:
        for row, value in told.items():
            self._values[row] = value
        self._missing = [row for row in self._missing if row not in told]

    def _digest(self) -> bytes:
        return b"" if self._wanted is None else digest_of(to_numpy(self._wanted.block), self._wanted.batch)

    def _check(self, digest: bytes, rows: int, path: str | os.PathLike[str]) -> None:
        if digest != self._digest() or rows != len(self._values):
            raise JournalError(
                f"the run in {path} does not repeat itself here: after {len(self._told)} blocks it asks for other "
                "points; the options given again, the library or the machine's arithmetic have changed"
            )


_COBYQA: weakref.WeakSet[AskTell] = weakref.WeakSet()


def _one_cobyqa(opt: AskTell, method: Any) -> None:
    """SciPy holds a lock while COBYQA runs: a second run would wait in silence, and for ever."""
    if "cobyqa" not in repr(method).lower():
        return
    if any(not other.done for other in _COBYQA):
        raise MissingCapability("SciPy runs only one COBYQA at a time in a process: end the other one with stop()")
    _COBYQA.add(opt)


def _run(x0: Any, rng: Any, options: dict[str, Any], evaluate: Any) -> Result:
    residuals, own = options.get("residuals", False), {k: v for k, v in options.items() if k != "residuals"}
    run = least_squares if residuals else minimize
    return run(_told_elsewhere, x0, rng=rng, workers=evaluate, **own)


def _told_elsewhere(x: Any) -> float:
    raise NotImplementedError("the values of this function are told")


def _one_each(rows: int) -> int:
    return rows


def _end(thread: CoroutineThread[Result]) -> None:
    while thread.live:
        thread.wait()
        thread.send(KeyboardInterrupt())
        thread.wait()


def _floats(values: Any) -> list[float | None]:
    try:
        out = np.atleast_1d(np.asarray(to_numpy(values) if hasattr(values, "shape") else values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidSetting(f"values={values!r:.60} must be real numbers, one for each point, or None") from error
    if out.ndim != 1:
        raise InvalidSetting(f"values of shape {out.shape} must be a vector, one number for each point")
    given = values.tolist() if isinstance(values, np.ndarray) else values
    lost = [value is None for value in (given if isinstance(given, list | tuple) else [given])]  # NaN in `out`
    return [None if any(lost[k : k + 1]) else value for k, value in enumerate(out.tolist())]


def _vectors(values: Any) -> list[Any]:
    """Vectors of residuals, one for each point; None where there is none."""
    try:
        rows = list(to_numpy(values) if hasattr(values, "shape") else values)
        out = [None if row is None else np.asarray(to_numpy(row), dtype=np.float64).tolist() for row in rows]
    except (TypeError, ValueError) as error:
        raise InvalidSetting(f"values={values!r:.60} must be vectors of residuals, one for each point") from error
    if not all(row is None or isinstance(row, list) for row in out):
        raise InvalidSetting(f"values={values!r:.60} must be vectors of residuals, one for each point: a matrix")
    return out


def _from_file(value: Any) -> Any:
    """A value that was told, as it was: a number, a vector of residuals, or None."""
    return value if value is None or isinstance(value, list) else float(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
