"""Every tuned number of the package, with its unit, its reason and where it comes from; and those that stand elsewhere.

python benchmarks/tuned_numbers.py [--brief]     brief: counts alone

A tuned number is a field of a frozen settings class made with `escapade._settings.number`. Also reported: numeric
constants at module level, and float literals within functions, of the rooms below that are not settings. Mathematical
literals (those of a formula) and guards against division by zero are exempt.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path

import escapade
from escapade._settings import Number, numbers_of

SOURCE = Path(escapade.__file__).parent
ROOMS = ("methods/auto", "derivatives", "curvature", "certificate")
FORMULA = {0.0, 0.2, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 30.0, 64.0}
"""Coefficients of difference formulas, means, powers."""
GUARDS = 1e-99
"""Smaller ones keep a division finite."""


def settings() -> Iterator[tuple[str, Number]]:
    """The numbers of all settings classes: where they stand, and what they are."""
    for module in pkgutil.walk_packages(escapade.__path__, "escapade."):
        if module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        for name, kind in vars(loaded).items():
            if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.name:
                for one in numbers_of(kind):
                    yield f"{module.name.removeprefix('escapade.')}.{name}", one


def constants(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Module-level names of numbers."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            literals = [c for c in ast.walk(node.value) if isinstance(c, ast.Constant)]
            if any(isinstance(c.value, int | float) and not isinstance(c.value, bool) for c in literals):
                yield node.lineno, ast.unparse(node)[:70]


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Float literals inside functions that no formula explains."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, float) and abs(value) not in FORMULA and abs(value) > GUARDS:
                yield node.lineno, f"{function.name}: {value!r}"


def main() -> None:
    """The table, and the counts."""
    brief, listed = "--brief" in sys.argv, list(settings())
    if not brief:
        print("| where | name | value | unit | reason | origin |\n|---|---|---|---|---|---|")
        for where, one in listed:
            print(f"| {where} | {one.name} | {one.value} | {one.unit} | {one.reason} | {one.origin} |")
    loose = 0
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*.py")):
            if path.name == "settings.py":
                continue
            tree = ast.parse(path.read_text())
            for line, what in sorted({*constants(tree), *literals(tree)}):
                loose += 1
                print(f"not a setting: {path.relative_to(SOURCE)}:{line}: {what}")
    rooms: dict[str, int] = {}
    for where, _ in listed:
        room = where.rsplit(".", 2)[0]
        rooms[room] = rooms.get(room, 0) + 1
    counts = ", ".join(f"{room} {n}" for room, n in rooms.items())
    print(f"{len(listed)} settings ({counts}), {loose} numbers elsewhere")


if __name__ == "__main__":
    main()
