"""What is in a journal, for people: read from a copy, so that a run may be writing to it at the same time."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import JournalError
from ...loss import Loss
from ..values import Numbers, Residuals, lost_rows
from .entry import least
from .file import JournalFile


@dataclass(frozen=True)
class Row:
    """One block of values in a journal."""

    number: int
    purpose: str
    points: int
    queries: int
    """Of this block and all before it."""
    least: float
    """The least value of the block."""
    best: float
    """The least value until then (NaN for a sampled function, whose values do not compare)."""
    missing: int
    at: float
    """Seconds since 1970."""


def rounds(path: str | os.PathLike[str]) -> list[Row]:
    """One row a block, in order; for plotting."""
    return _read(path)[1]


def describe(path: str | os.PathLike[str]) -> str:
    """What a journal holds, for printing."""
    header, rows, valid = _read(path)
    settings = header["settings"]
    lines = [
        f"journal     {path}",
        f"run         {settings.get('method')}, {settings.get('d')} variables"
        + (f", tag {header['tag']}" if header["tag"] else ""),
        "settings    " + ", ".join(f"{k} {json.dumps(v):.60}" for k, v in settings.items() if k not in ("method", "d")),
        "limits      " + ", ".join(f"{k} {json.dumps(v)}" for k, v in header["limits"].items()),
        f"written by  Escapade {header['escapade']}, {header['stack']}",
    ]
    if not rows:
        return _printable([*lines, "blocks      none yet"])
    last = rows[-1]
    purposes: Counter[str] = Counter()
    for row, before in zip(rows, [0, *(row.queries for row in rows)], strict=False):
        purposes[row.purpose] += row.queries - before
    lines += [
        f"blocks      {len(rows)}" + ("" if valid else " (and a damaged tail, which will not be used)"),
        f"queries     {last.queries}: " + ", ".join(f"{name} {count}" for name, count in purposes.items()),
        f"first, last {_date(rows[0].at)}, {_date(last.at)}",
    ]
    missing = sum(row.missing for row in rows)
    lines += [f"missing     {missing} points have no value"] if missing else []
    lines += [f"best        {last.best:.10g}"] if np.isfinite(last.best) else []
    return _printable(lines)


def _printable(lines: list[str]) -> str:
    """Lines that cannot do anything to a terminal, whatever the file says."""
    return "\n".join("".join(c if c.isprintable() else "?" for c in line[:500]) for line in lines)


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Row], bool]:
    source = Path(path)
    if not source.is_file():
        raise JournalError(f"there is no journal {source}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "journal.db")
        try:
            for end in ("", "-wal"):
                if Path(f"{source}{end}").exists():
                    shutil.copyfile(f"{source}{end}", f"{copy}{end}")
        except OSError as error:
            raise JournalError(f"the journal {source} cannot be read ({error})") from error
        try:
            file = JournalFile(copy)
        except JournalError as error:
            raise JournalError(str(error).replace(str(copy), str(source))) from error
        try:
            if file.header is None:
                raise JournalError(f"{source} is empty: no run has begun in it")
            rows, queries, best = [], 0, np.inf
            settings = file.header["settings"]
            sampled = settings.get("samples") is not None
            kind = Residuals(Loss(*settings["loss"])) if file.residuals else Numbers()
            for number, entry in enumerate(file.entries()):
                lowest = np.inf if entry.derivative else least(kind.costs(entry.values))
                if entry.purpose != "observation":
                    queries, best = queries + entry.queries, min(best, lowest)
                rows.append(
                    Row(
                        number,
                        entry.purpose,
                        len(entry.values),
                        queries,
                        lowest,
                        np.nan if sampled else best,
                        int(np.sum(lost_rows(entry.values))),
                        entry.at,
                    )
                )
            return file.header, rows, not copy.with_name("journal.db.damaged").exists()
        finally:
            file.close()


def _date(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "at no time"
