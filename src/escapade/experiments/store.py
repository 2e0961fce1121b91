"""The folder of results: finished runs, read back if their settings are the same, and the tidy files made of them.

A file is written beside its place and then moved there, so that a half-written one is never read.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

from .panels import Curve, Panel
from .records import Record

FORMAT = 2
"""Raised when what is kept of a run, or how a run is made, changes."""

LONG = ("queries", "free", "iterations", "values", "method")
"""Fields of a record that `runs.csv` leaves out."""


@dataclass(frozen=True)
class Store:
    """Where the runs of one experiment are kept."""

    root: Path

    def path(self, panel: Panel, curve: Curve, seed: int) -> Path:
        """The file of a run."""
        return self.root / "runs" / panel.figure / _slug(panel.title) / _slug(curve.label) / f"{seed}.json"

    def load(self, panel: Panel, curve: Curve, seed: int, digest: str) -> Record | None:
        """The finished run with these settings, if there is one."""
        try:
            kept = json.loads(self.path(panel, curve, seed).read_text(encoding="utf-8"))
            return Record(**kept["record"]) if kept["key"] == key(panel, curve, seed, digest) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, panel: Panel, curve: Curve, record: Record, digest: str) -> None:
        """Keep a finished run."""
        kept = {"key": key(panel, curve, record.seed, digest), "record": asdict(record)}
        with written(self.path(panel, curve, record.seed)) as file:
            json.dump(kept, file)

    def tidy(self, records: Iterable[Record], about: dict[str, Any]) -> None:
        """`runs.csv`, one line a run; `curves.csv`, one line a point; `settings.json`, all settings and versions."""
        records = list(records)
        names = [field.name for field in fields(Record) if field.name not in LONG]
        with written(self.root / "runs.csv") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(names)
            table.writerows([_cell(getattr(record, name)) for name in names] for record in records)
        with written(self.root / "curves.csv") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["figure", "panel", "curve", "seed", "nfev", "free", "nit", "fun"])
            for one in records:
                for q, c, i, f in zip(one.queries, one.free, one.iterations, one.values, strict=True):
                    table.writerow([one.figure, one.panel, one.curve, one.seed, q, c, i, repr(f)])
        with written(self.root / "settings.json") as file:
            json.dump(about | {"versions": versions()}, file, indent=1)

    def summary(self, found: dict[str, Any]) -> None:
        """`summary.json`: medians and verdicts, one line a panel, a claim or a failure."""
        lines = []
        for name, value in found.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                rows = ",\n".join(" " + json.dumps(row) for row in value)
                lines.append(f"{json.dumps(name)}: [\n{rows}\n]")
            else:
                lines.append(f"{json.dumps(name)}: {json.dumps(value)}")
        with written(self.root / "summary.json") as file:
            file.write("{\n" + ",\n".join(lines) + "\n}\n")


def key(panel: Panel, curve: Curve, seed: int, digest: str) -> str:
    """Everything a run depends on, as a number: its settings, the data (in the digest), and the library's version."""
    spec = {name: value for name, value in asdict(panel).items() if name not in ("curves", "seeds")}
    made = {name: value for name, value in asdict(curve).items() if name != "shown_in"}
    whole = json.dumps([FORMAT, version("escapade"), spec, made, seed, digest], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def digest_of(data: Path | None) -> str:
    """The checksum of a user's data file."""
    return "" if data is None else hashlib.sha256(data.read_bytes()).hexdigest()


def versions() -> dict[str, str]:
    """Of Python and of what numbers depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("escapade", "numpy", "scipy")}


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """A text file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _cell(value: Any) -> Any:
    """Counts by name as JSON."""
    return json.dumps(value) if isinstance(value, dict) else value


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in text.replace(" = ", "")).strip("_")
