"""Every error of the command line is one line."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from ..errors import EscapadeError, EvaluationFailed


class CommandError(Exception):
    """Something on the line, or in a file it names, cannot be used; the message says what and what to do."""


def one_line(error: BaseException) -> str:
    """What went wrong, without line breaks, and where in the user's code."""
    shown = getattr(error, "format_message", error.__str__)()  # usage errors have a message of their own
    if isinstance(error, SystemExit):
        shown = f"the function ended the program (SystemExit: {error})"
    text = " ".join(str(shown).split()) or type(error).__name__
    cause = error.__cause__
    if isinstance(error, EvaluationFailed) and cause is not None:
        where = last_line(cause)
        return f"{text} ({where})" if where else text
    if isinstance(error, CommandError | EscapadeError | OSError | ImportError | SystemExit):
        return text
    if hasattr(error, "format_message"):
        faults: list[dict[str, Any]] = getattr(cause, "errors", list)()  # what a parser of options was given
        return f"{text}, not {faults[0]['input']!r}" if faults else text
    return f"{type(error).__name__}: {text} (ESCAPADE_TRACEBACK=1 shows where)"


def last_line(error: BaseException, file: Path | None = None) -> str | None:
    """The line of a file, or of the user's code, at which an exception was last seen on its way up."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        ours = Path(__file__).parents[1] in Path(frame.filename).parents
        if (file is None and not ours) or (file is not None and Path(frame.filename) == file):
            return f"{Path(frame.filename).name}, line {frame.lineno}"
    return None
