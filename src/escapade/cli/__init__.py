"""The command line: `escapade`, or `python -m escapade`."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> int:
    """Run the command line on the arguments of this process, and return its exit code."""
    if missing := [name for name in ("typer", "rich") if find_spec(name) is None]:
        sys.stderr.write(f"error: the command line needs {' and '.join(missing)}: pip install 'escapade[cli]'\n")
        return 2
    from .app import run

    return run(sys.argv[1:])
