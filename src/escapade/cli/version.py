"""`escapade version`: what is installed."""

from __future__ import annotations

import importlib
import platform
from importlib import metadata

import typer

from . import options
from .output import show, show_json

PARTS = ("numpy", "scipy", "array-api-compat", "matplotlib", "typer", "rich", "plotly", "loky", "distributed", "ray")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def own_version() -> str:
    """The version of Escapade."""
    return str(importlib.import_module("escapade").__version__)


def show_version(wanted: bool) -> None:
    """What `--version` does."""
    if wanted:
        show(f"escapade {own_version()}")
        raise typer.Exit


def version(json: options.Json = False) -> None:
    """Show the versions of Escapade, of Python and of the packages that it can use."""
    found = {"escapade": own_version(), "python": platform.python_version()} | {p: _version(p) for p in PARTS}
    if json:
        show_json(found)
        return
    for name, number in found.items():
        show(f"{name:18}{number or 'not installed'}")
