"""What is shown: results on stdout, progress and remarks on stderr."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from .failures import CommandError


def remark(text: str) -> None:
    """A line for the reader that is no result."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")


def show(text: str) -> None:
    """A result."""
    sys.stdout.write(f"{text}\n")


def show_json(data: Any) -> None:
    """A result for machines."""
    show(json.dumps(data, indent=2))


def show_table(table: Table) -> None:
    """A table as wide as the screen; a file or a pipe gets it as wide as it needs."""
    console = Console()
    if console.is_terminal:
        console.print(table)
        return
    console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    show("\n".join(line.rstrip() for line in capture.get().rstrip().splitlines()))


@contextlib.contextmanager
def working(text: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner and a clock on stderr while something runs; the caller may change the text. Silent off a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=None)
        yield lambda new: progress.update(task, description=new)


@contextlib.contextmanager
def advancing(text: str, *, quiet: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr, called with what is done, what there is to do, and a name; off a terminal, a line a step."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, total, name: None if quiet else remark(f"{done}/{total}  {name}")
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=None)
        yield lambda done, total, name: progress.update(task, completed=done, total=total, description=name)


@contextlib.contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the processes that were started, which would otherwise finish their work first."""

    def end(signum: int, frame: Any) -> None:
        for child in multiprocessing.active_children():
            child.terminate()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def clean_stdout(wanted: bool) -> Iterator[None]:
    """Send what the user's function prints to stderr, where stdout is for JSON alone."""
    if not wanted:
        yield
        return
    with contextlib.redirect_stdout(sys.stderr):
        yield


def check_files(output: Path | None, plot: Path | None) -> None:
    """Refuse, before anything is run, files that cannot be written."""
    for path in (output, plot):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            what = "is a folder" if path.is_dir() else f"cannot be written: there is no folder {path.parent}"
            raise CommandError(f"{path} {what}")
    if plot is not None:
        from ..plots import check_format

        try:
            check_format(plot)
        except (ValueError, ImportError) as error:
            raise CommandError(f"--plot: {error}") from None
