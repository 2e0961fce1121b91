"""The journal of one run: what `minimize(journal=...)` opens, replays and appends to."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._array import Array, to_numpy
from ..._text import counted
from ...errors import InvalidSetting, JournalError
from ..ledger import Ledger
from ..stencil import Stencil
from ..values import NUMBERS, Numbers
from .entry import DERIVATIVES, Entry, least
from .file import JournalFile
from .header import differences, generator_of, header_of

Values = tuple[NDArray[np.float64], float, str]
"""Values as float64, NaN where one is missing; the machine epsilon they came with; why some are missing."""

log = logging.getLogger("escapade")


@dataclass(frozen=True)
class Journal:
    """Where to keep a journal, and the version of the function that it is about.

    Parameters
    ----------
    path : str or path
        An SQLite file, made if it is not there. Not a link.
    tag : str, optional
        Anything that names the version of the function (a commit, a date). A journal with another tag is refused: a
        changed function is not the same, and nobody else can tell.

    Examples
    --------
    >>> import tempfile
    >>> import escapade
    >>> from pathlib import Path
    >>> kept = escapade.Journal(Path(tempfile.mkdtemp()) / "run.db", tag="v1")
    >>> first = escapade.minimize(lambda x: x @ x, [1.0, 2.0], journal=kept, rng=0)
    >>> again = escapade.minimize(lambda x: 1 / 0, [1.0, 2.0], journal=kept, rng=0)  # nothing is asked again
    >>> again.nfev == first.nfev
    True
    """

    path: str | os.PathLike[str]
    tag: str | None = None

    @classmethod
    def of(cls, journal: Any) -> Journal:
        """A path becomes a journal."""
        if isinstance(journal, cls):
            return journal
        if isinstance(journal, str | os.PathLike):
            return cls(journal)
        raise InvalidSetting(f"journal={journal!r:.60} must be a path, or Journal(path, tag=...)")

    def numbered(self, number: int) -> Journal:
        """A journal beside this one, for one run of many."""
        path = Path(self.path)
        return Journal(path.with_name(f"{path.stem}-{number}{path.suffix}"), self.tag)

    def open(
        self, settings: dict[str, Any], limits: dict[str, Any], x0: Array, rng: np.random.Generator | None
    ) -> tuple[Record, np.random.Generator]:
        """The journal of a run with these settings, and its random generator: the recorded one where `rng` is None.

        Limits may differ from those of the run that began it: a budget can be raised.
        """
        if self.tag is not None and not isinstance(self.tag, str):
            raise InvalidSetting(f"tag={self.tag!r:.60} must be a string, or None")
        file = JournalFile(Path(self.path))
        try:
            header = header_of(settings, self.tag, limits, rng or np.random.default_rng())
            start = to_numpy(x0)
            if file.header is None:
                file.begin(header, start)
            else:
                different = differences(file.header, header, file.x0(start.dtype), start, any_rng=rng is None)
                if different:
                    raise JournalError(
                        f"the journal {self.path} is of another run: {'; '.join(different)}. Start with the same "
                        "arguments to go on with it, or give journal= another file"
                    )
            begun = file.header or header
            if file.rounds:
                blocks = counted(file.rounds, "block of values is", "blocks of values are")
                log.info("%s: %s replayed (%s)", self.path, blocks, counted(file.queries, "query", "queries"))
            return Record(file, begun, header), rng or generator_of(begun["rng"], self.path)
        except BaseException:
            file.close()
            raise


class Record:
    """An open journal. `block` is asked for every block of values, in order.

    Attributes
    ----------
    held, replayed, recorded : blocks that the file held, those taken from it, and those added to it
    """

    def __init__(self, file: JournalFile, begun: dict[str, Any], header: dict[str, Any]) -> None:
        self.file, self.held, self.begun, self.header = file, file.rounds, begun, header
        self.replayed = self.recorded = 0
        self._lowest = np.inf
        self._aside: dict[bytes, Entry] = {}

    def block(
        self,
        purpose: str,
        stencil: Stencil,
        span: tuple[int, int],
        batch: tuple[NDArray[np.int64], ...],
        ledger: Ledger,
        ask: Callable[[], Values],
        many: int | None = None,
        kind: Numbers = NUMBERS,
    ) -> Values:
        """The recorded values of these points; or those that `ask` gives, recorded before they are returned.

        `many`: how many numbers they are, where they are not one for each point.
        """
        points = to_numpy(stencil.rows(*span))
        digest = digest_of(points, batch)
        if self.replayed < self.held:
            entry = self.file.entry(self.replayed)
            if self._refused(entry, purpose, digest, many or len(points), batch):
                self._set_aside()
        if self.replayed < self.held:
            self.replayed += 1
            ledger.calls += entry.calls
            ledger.attempts += entry.attempts
            self._lowest = min(self._lowest, np.inf if entry.derivative else least(kind.costs(entry.values)))
            return entry.values, entry.precision, entry.lost
        calls, attempts = ledger.calls, ledger.attempts
        known = self._aside.pop(digest, None)
        if known is not None:
            ledger.calls, ledger.attempts = calls + known.calls, attempts + known.attempts
        values, precision, lost = ask() if known is None else (known.values, known.precision, known.lost)
        entry = Entry(
            purpose=purpose,
            digest=digest,
            values=values,
            weight=batch[0].shape[-1] if batch else 1,
            precision=precision,
            lost=lost,
            calls=ledger.calls - calls,
            attempts=ledger.attempts - attempts,
            at=time.time(),
        )
        costs = kind.costs(values) if not entry.derivative else np.array([np.inf])
        if not batch and purpose != "observation" and least(costs) < self._lowest:  # never of derivatives
            self._lowest = least(costs)
            entry = entry.best_at(points[int(np.nanargmin(costs))])
        self.file.add(entry)
        self.recorded += 1
        return values, precision, lost

    def close(self) -> None:
        """Give the file up."""
        self.file.close()

    def _set_aside(self) -> None:
        """Drop the last certificate of a run that ended for its limits and now goes on; keep its values in mind."""
        for number in range(self.replayed, self.held):
            entry = self.file.entry(number)
            self._aside[entry.digest] = entry
        self.file.cut(self.replayed)
        self.held = self.replayed

    def _refused(
        self, entry: Entry, purpose: str, digest: bytes, rows: int, batch: tuple[NDArray[np.int64], ...]
    ) -> bool:
        """Refuse to replay values for other points than these; True if what is left was only a last certificate, and
        last looks at a sampled function."""
        weight = batch[0].shape[-1] if batch else 1
        asked, held = (purpose, rows, weight), (entry.purpose, len(entry.values), entry.weight)
        if (asked, digest) == (held, entry.digest):
            return False
        left = {self.file.entry(number).purpose.split()[0] for number in range(self.replayed, self.held)}
        if left <= {"certificate", "watch"} and self.begun["limits"] != self.header["limits"]:
            return True
        what = "other points (or samples)"
        if asked != held:
            what = f"{_words(*asked)}, where the journal holds {_words(*held)}"
        changed = [
            f"{name}: {json.dumps(self.begun.get(name)):.100} then, {json.dumps(self.header[name]):.100} now"
            for name in ("limits", "stack", "escapade")
            if self.begun.get(name) != self.header[name]
        ]
        why = f" ({'; '.join(changed)})" if changed else ""
        raise JournalError(
            f"the journal {self.file.path} does not fit this run: block {self.replayed} asks for {what}{why}. The "
            "function's arguments, the library or the machine's arithmetic have changed; give journal= another file"
        )


def _words(purpose: str, rows: int, weight: int) -> str:
    what = "numbers" if purpose.endswith(DERIVATIVES) else "points"
    return f"{rows} {what} for {purpose!r}" + (f" on {weight} samples" if weight > 1 else "")


def digest_of(points: NDArray[Any], batch: tuple[NDArray[np.int64], ...]) -> bytes:
    """The name of some points, and of the sample ids they are evaluated on."""
    weights = [ids.shape[-1] for ids in batch]
    h = hashlib.blake2b(f"{points.dtype.str} {points.shape} {weights}".encode(), digest_size=16)
    h.update(np.ascontiguousarray(points).data)
    for ids in batch:
        h.update(np.ascontiguousarray(ids).data)
    return h.digest()
