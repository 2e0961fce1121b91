"""Every error of the command line is one line."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import Any

from .._text import named
from ..errors import EscapadeError, EvaluationFailed

OPTIONS = {"rng": "--seed"} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("curvtol", "evidence", "failure", "finder", "gtol", "jac", "journal", "maxfev", "maxiter", "maxtime"),
        *("method", "noise"),
        *("on_error", "prefer", "retries", "rho", "samples", "tag", "timeout", "vectorized", "workers", "x_scale"),
    )
}
"""Arguments of the library, and the options of the line that give them."""

WORDS = {
    "pass vectorized=False": "leave out --vectorized",
    "vectorized=True": "--vectorized",
    "samples=n": "--samples N",
    "pass it as jac=": "pass it by --jac",
    "with vectorized=True pass jac as one, jac(x)": "beside --vectorized name one by --jac",
    "must be a method object or one of": "must be one of",
    ", or a callable": "",
    ", or a Finder": "",
    ", -1 for one a processor, or None for this one": ", or -1 for one a processor",
    " or None (no budget)": "",
    ", or None": "",
}
"""What the library says of its arguments, and what the line says."""

GIVEN = re.compile(rf"(?<![\w./-])({'|'.join(OPTIONS)})=(['\"]?)([\w.+-]*)\2")
BARE = re.compile(r"(?<![\w./-])(curvtol|gtol|maxfev|maxiter|maxtime|on_error|x_scale)(?![\w/=-]|\.\w)")


class CommandError(Exception):
    """Something on the line, or in a file it names, cannot be used; the message says what and what to do."""


def in_options(text: str) -> str:
    """What the library says, in the options of the line."""
    for ours, theirs in WORDS.items():
        text = text.replace(ours, theirs)
    text = re.sub(r"=array\((\[[^()]*\])\)", r"= \1", text)
    text = GIVEN.sub(lambda found: f"{OPTIONS[found[1]]} {found[3]}".rstrip(), text)
    return BARE.sub(lambda found: OPTIONS[found[1]], text)


def one_line(error: BaseException) -> str:
    """What went wrong, without line breaks, and where in the user's code."""
    shown = getattr(error, "format_message", error.__str__)()  # usage errors have a message of their own
    if isinstance(error, SystemExit):
        shown = f"the function ended the program (SystemExit: {error})"
    text = " ".join(str(shown).split()) or type(error).__name__
    cause = error.__cause__
    if isinstance(error, EscapadeError):
        own = " ".join(named(cause).split()) if cause is not None else ""  # what the user's code said stays as it is
        text = own.join(map(in_options, text.split(own))) if own else in_options(text)
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
