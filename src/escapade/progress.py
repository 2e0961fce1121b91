"""Progress on stderr: a bar of tqdm or rich on a terminal where one is installed, else a line; lines in a file.

No escape codes are written where stderr is no terminal, and none of ours where it is.
"""

from __future__ import annotations

import shutil
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

EVERY = 1.0
"""Seconds between two lines in a file."""


class Progress(Protocol):
    """Told of every step: the queries so far, and a line about it; and of the end, by its message."""

    def step(self, nfev: int, text: str) -> None: ...

    def close(self, message: str) -> None: ...


def progress(wanted: bool, total: int | None) -> Progress:
    """How progress is shown, with `total` queries allowed (None: no budget)."""
    if not wanted:
        return Silent()
    if not sys.stderr.isatty():
        return Lines()
    if find_spec("tqdm") is not None:
        return TqdmBar(total)
    return RichBar(total) if find_spec("rich") is not None else LiveLine()


class Silent:
    """Nothing is shown."""

    def step(self, nfev: int, text: str) -> None:
        pass

    def close(self, message: str) -> None:
        pass


class Lines:
    """A line now and then, for files and pipes."""

    def __init__(self) -> None:
        self.next = -float("inf")

    def step(self, nfev: int, text: str) -> None:
        now = time.monotonic()
        if now >= self.next:
            self.next = now + EVERY
            sys.stderr.write(f"{text}\n")

    def close(self, message: str) -> None:
        sys.stderr.write(f"{message}\n")


class LiveLine:
    """One line that is written over."""

    def __init__(self) -> None:
        self.width = 0

    def step(self, nfev: int, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{text:<{self.width}}")
        sys.stderr.flush()
        self.width = len(text)

    def close(self, message: str) -> None:
        sys.stderr.write(f"\r{message:<{self.width}}\n")


class TqdmBar:
    """tqdm's bar of queries."""

    def __init__(self, total: int | None) -> None:
        self.bar: Any = import_module("tqdm").tqdm(total=total, unit=" queries", file=sys.stderr)

    def step(self, nfev: int, text: str) -> None:
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update(nfev - self.bar.n)

    def close(self, message: str) -> None:
        self.bar.close()
        sys.stderr.write(f"{message}\n")


class RichBar:
    """rich's bar of queries."""

    def __init__(self, total: int | None) -> None:
        console = import_module("rich.console").Console(stderr=True)
        self.bar: Any = import_module("rich.progress").Progress(console=console)
        self.task = self.bar.add_task("", total=total)
        self.bar.start()

    def step(self, nfev: int, text: str) -> None:
        self.bar.update(self.task, completed=nfev, description=text)

    def close(self, message: str) -> None:
        self.bar.stop()
        self.bar.console.print(message, markup=False, highlight=False)
