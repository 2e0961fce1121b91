"""`escapade journal`: look into the journal of a run, also while it runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ..oracle.journal import describe, rounds
from . import options
from .output import check_files, remark, show, show_json

journal = typer.Typer(help="Look into the journal of a run, also while it runs.", rich_markup_mode="rich")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The journal that `minimize --journal FILE` writes.")]


@journal.callback()
def look() -> None:
    """Look into the journal of a run, also while it runs."""


@journal.command("show")
def show_journal(file: File, json: options.Json = False, plot: options.Plot = None) -> None:
    """Say what a journal holds: the run, its settings, its queries by purpose, the best value.

    Example: escapade journal show run.db --plot run.png
    """
    check_files(None, plot)
    if json:
        rows = [{key: _finite(value) for key, value in asdict(row).items()} for row in rounds(file)]
        show_json({"journal": str(file), "blocks": rows})
    else:
        show(describe(file))
    if plot is not None:
        from ..plots import draw_blocks, new_figure, save

        figure = new_figure()
        draw_blocks(figure.subplots(), rounds(file), file.name)
        save(figure, plot)
        remark(f"picture     {plot}")


def _finite(value: str | float) -> str | float | None:
    return None if isinstance(value, float) and not np.isfinite(value) else value
