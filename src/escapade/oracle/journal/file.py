"""The file of a journal: an SQLite database of two tables, each entry chained to the one before it by a checksum.

What is read is checked before it is believed: the schema word for word, the types, and the chain. Where the chain
breaks, the valid entries before it are kept, in a fresh file that takes the place of the damaged one (a copy of which
stays beside it). Strings from the file are only ever compared and shown.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import JournalError
from .entry import Entry, chained

SCHEMA = (
    ("header", "CREATE TABLE header (name INTEGER PRIMARY KEY, value BLOB NOT NULL)"),
    (
        "rounds",
        "CREATE TABLE rounds (seq INTEGER PRIMARY KEY, purpose TEXT, digest BLOB, vals BLOB, weight INTEGER, "
        "precision REAL, lost TEXT, calls INTEGER, attempts INTEGER, at REAL, best BLOB, sum BLOB)",
    ),
)
APPLICATION = 0x45534331
"""SQLite's application id of our files; the format's number is its last digit."""
LARGEST = 1 << 28
"""Bytes of the largest blob or string read."""
COMMITS = 256
"""Pages after which what was committed is moved from the write-ahead log into the file itself."""

log = logging.getLogger("escapade")


class JournalFile:
    """An open file, held by one run at a time.

    Attributes
    ----------
    header : what the run that began it said of itself, None in a new file
    rounds : valid entries
    """

    def __init__(self, path: Path) -> None:
        self.path, self.rounds = path, 0
        self.header: dict[str, Any] | None = None
        self._x0, self._sum = b"", b""
        self._width: int | None = None
        _regular(path)
        with self._understood("opened"):
            self._db = sqlite3.connect(path, isolation_level=None, timeout=0.0, check_same_thread=False)
        try:
            with self._understood("opened"):
                self._open()
        except BaseException:
            self._db.close()
            raise

    # Reading

    def x0(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Where the recorded run began."""
        size = dtype.itemsize
        return np.frombuffer(self._x0[: len(self._x0) // size * size], dtype=dtype)

    def entry(self, number: int) -> Entry:
        """A valid entry."""
        with self._understood("read"):
            if number == 0 and self.residuals:  # a run begins with one point: its residuals are as long as all
                self._width = len(self._stored(0).values)
            elif self.residuals and self._width is None:
                self.entry(0)
            return self._stored(number).shaped(self._width)

    def _stored(self, number: int) -> Entry:
        return Entry.of(self._db.execute(_ONE, (number,)).fetchone()[:-1])

    @property
    def residuals(self) -> bool:
        """Whether the values are vectors of residuals."""
        return self.header is not None and "loss" in self.header["settings"]

    def entries(self) -> Iterator[Entry]:
        """The valid entries in order."""
        return map(self.entry, range(self.rounds))

    @property
    def queries(self) -> int:
        """Those that the valid entries hold."""
        return sum(entry.queries for entry in self.entries() if entry.purpose != "observation")

    # Writing

    def begin(self, header: dict[str, Any], x0: NDArray[Any]) -> None:
        """Make a new journal."""
        with self._understood("written"):
            self._write_header(json.dumps(header), x0.tobytes())
        self.header, self._x0 = header, x0.tobytes()

    def add(self, entry: Entry) -> None:
        """Record an entry; it is on the disk when this returns."""
        with self._understood("written"):
            self._insert(entry)

    def cut(self, number: int) -> None:
        """Drop the entries from this number on."""
        with self._understood("written"):
            before = self._db.execute("SELECT sum FROM rounds WHERE seq = ?", (number - 1,)).fetchone()
            start = self._db.execute("SELECT value FROM header WHERE name = 2").fetchone()
            self._db.execute("DELETE FROM rounds WHERE seq >= ?", (number,))
        self.rounds, self._sum = number, (before or start)[0]

    def close(self) -> None:
        """Give the file up; what the write-ahead log holds is moved into it."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    # The database

    def _open(self) -> None:
        """Look first, and take the file for ours if it is."""
        self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        self._set("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "locking_mode=EXCLUSIVE")
        new = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        if not new:
            self._check_schema()
        self._hold()
        if not new:
            self._read_header()
            if not self._count():
                self._rebuild()

    def _set(self, *pragmas: str) -> None:
        for pragma in pragmas:
            self._db.execute(f"PRAGMA {pragma}").fetchone()

    def _hold(self) -> None:
        """Take the file for this run alone, with a write-ahead log that is on the disk at every commit."""
        self._set("journal_mode=WAL", "synchronous=FULL", f"wal_autocheckpoint={COMMITS}")
        self._db.execute("BEGIN EXCLUSIVE")
        self._db.execute("COMMIT")

    def _check_schema(self) -> None:
        found = tuple(self._db.execute("SELECT name, sql FROM sqlite_master LIMIT 10"))
        kind = self._db.execute("PRAGMA application_id").fetchone()
        if found != SCHEMA or kind != (APPLICATION,):
            names = ", ".join(f"{name!r:.40}" for name, _ in found) or "nothing"
            raise JournalError(
                f"{self.path} is an SQLite file, but not a journal of this format (it holds {names}); give journal= "
                "another file"
            )

    def _read_header(self) -> None:
        rows = dict(self._db.execute("SELECT name, value FROM header LIMIT 10"))
        try:
            text, x0, check = rows[0], rows[1], rows[2]
            if check != chained(b"", (text, x0)) or not isinstance(x0, bytes):
                raise ValueError("its checksum is wrong")
            header = json.loads(text)
            if not all(isinstance(header[name], dict) for name in ("settings", "rng", "limits")):
                raise ValueError("its settings are missing")
            if not {"tag", "stack", "escapade"} <= header.keys():
                raise ValueError("it is incomplete")
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise JournalError(
                f"the header of the journal {self.path} is damaged ({error}), so nothing says what its values are of; "
                "move it away, or give journal= another file"
            ) from error
        self.header, self._x0, self._sum = header, x0, check

    def _count(self) -> bool:
        """Count the entries whose chain of checksums is whole; whether these are all there is."""
        try:
            while stored := self._db.execute(_ONE, (self.rounds,)).fetchone():
                row, check = stored[:-1], stored[-1]
                after = chained(self._sum, row)
                if check != after or not Entry.of(row):
                    return False
                self.rounds, self._sum = self.rounds + 1, after
            whole = self._db.execute("SELECT count(*) FROM rounds").fetchone() == (self.rounds,)
        except (sqlite3.DatabaseError, ValueError, TypeError, OverflowError) as error:
            if isinstance(error, sqlite3.DataError) and self.path.stat().st_size > LARGEST:
                raise JournalError(
                    f"{self.path} holds a value of more than {LARGEST >> 20} MB at block {self.rounds}, which no "
                    "journal does; give journal= another file"
                ) from error
            return False
        return whole and self._sound()

    def _sound(self) -> bool:
        """Whether another entry could be added: damage may lie where nothing is read."""
        try:
            return bool(self._db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        except sqlite3.DatabaseError:
            return False

    def _rebuild(self) -> None:
        """Put the valid entries into a fresh file in the place of the damaged one, which stays beside it."""
        aside = self.path.with_name(f"{self.path.name}.damaged")
        fresh = self.path.with_name(f"{self.path.name}.rebuilt")
        for path in (fresh, *_beside(fresh)):
            path.unlink(missing_ok=True)
        kept = JournalFile(fresh)
        kept.begin(self.header or {}, np.frombuffer(self._x0, dtype=np.uint8))
        kept._db.execute("BEGIN")
        for entry in self.entries():
            kept._insert(entry)
        kept._db.execute("COMMIT")
        kept.close()
        shutil.copyfile(self.path, aside)
        self._db.close()
        for path in _beside(self.path):
            path.unlink(missing_ok=True)
        os.replace(fresh, self.path)
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=0.0, check_same_thread=False)
        self._set("locking_mode=EXCLUSIVE")
        self._hold()
        self._sum = kept._sum
        log.warning("%s was damaged: its %d valid blocks are kept; the rest is in %s", self.path, self.rounds, aside)

    def _write_header(self, text: str, x0: bytes) -> None:
        self._db.execute("BEGIN")
        self._db.execute(f"PRAGMA application_id={APPLICATION}")
        for _, sql in SCHEMA:
            self._db.execute(sql)
        self._sum = chained(b"", (text, x0))
        self._db.executemany("INSERT INTO header VALUES (?, ?)", [(0, text), (1, x0), (2, self._sum)])
        self._db.execute("COMMIT")

    def _insert(self, entry: Entry) -> None:
        row = entry.row()
        after = chained(self._sum, row)
        self._db.execute(f"INSERT INTO rounds VALUES ({', '.join('?' * 12)})", (self.rounds, *row, after))
        self.rounds, self._sum = self.rounds + 1, after

    @contextlib.contextmanager
    def _understood(self, done: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, OverflowError) as error:
            raise self._refusal(done, error) from error

    def _refusal(self, done: str, error: Exception) -> JournalError:
        text = str(error)
        remedy = next((remedy for part, remedy in REMEDIES.items() if part in text), "give journal= another file")
        return JournalError(f"the journal {self.path} cannot be {done} ({text}): {remedy}")


_ONE = (
    "SELECT purpose, digest, vals, weight, precision, lost, calls, attempts, at, best, sum FROM rounds WHERE seq = ?"
)

REMEDIES = {
    "locked": "another run is using it; wait for that one, or give journal= another file",
    "full": "make room on the disk and start again: what was recorded is safe",
    "I/O": "make room on the disk, or mend it, and start again: what was recorded is safe",
    "not a database": "it is no SQLite file; give journal= another file",
    "decode": "it is damaged where nothing can be saved; move it away, or give journal= another file",
    "malformed": "it is damaged where nothing can be saved; move it away, or give journal= another file",
    "readonly": "allow writing to it and to its folder, or give journal= another file",
    "unable to open": "its folder must exist and allow writing, or give journal= another file",
}


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]


def _regular(path: Path) -> None:
    """Refuse what is there and is not an ordinary file, or not one to write to."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise JournalError(f"the journal {path!s:.200} cannot be opened ({error}): give another path") from error
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "not an ordinary file"
        raise JournalError(f"the journal {path} is {kind}: give journal= the path of a file of its own")
    if not (os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK)):
        raise JournalError(f"the journal {path} may not be written: {REMEDIES['readonly']}")
