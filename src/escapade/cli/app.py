"""The commands, and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from .certify import certify
from .check import check
from .demo import demo
from .failures import one_line
from .fit import fit
from .journal import journal
from .methods import methods
from .minimize import minimize
from .output import remark
from .paper import paper
from .points import join_numbers
from .problems import problems
from .version import show_version, version

ERROR, INTERRUPTED, BROKEN_PIPE = 2, 130, 141

app = typer.Typer(
    name="escapade",
    rich_markup_mode="rich",
    add_completion=False,
    help="Find local minima of functions that can only be evaluated, and show that they are no saddles.\n\n"
    "Exit codes: 0 all is well, 1 no certificate holds, 2 an error (one line on stderr; set ESCAPADE_TRACEBACK=1 "
    "to see where).",
)
for command in (demo, minimize, fit, certify, check, methods, problems, paper, version):
    app.command()(command)
app.add_typer(journal, name="journal")


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Options before the command."""


def run(arguments: Sequence[str]) -> int:
    """Run one command; every error is one line on stderr."""
    command = typer.main.get_command(app)
    try:
        code = command.main(join_numbers(arguments or ["--help"]), prog_name="escapade", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:
            remark("interrupted")
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        remark("interrupted")
        return INTERRUPTED
    except (Exception, SystemExit) as error:
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
            return BROKEN_PIPE
        if os.environ.get("ESCAPADE_TRACEBACK"):
            raise
        remark(f"error: {one_line(error)}")
        return ERROR
