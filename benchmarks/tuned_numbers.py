"""Every tuned number of the package, with its unit, its reason and where it comes from; and those that stand elsewhere.

python benchmarks/tuned_numbers.py [--brief]     brief: counts alone

A tuned number is a field of a frozen settings class made with `escapade._settings.number`. Also reported: numeric
constants at module level, and literals within functions, of the rooms below that are not settings. Mathematical
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
FORMULA = {0, 0.2, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 30, 48, 64}
"""Coefficients of difference formulas, means, powers, counts of values."""
TUNED = ("inherited", "a study", "benchmarks/")
"""How the origin of a number begins that was chosen by hand or by runs; others are derived, published, or limits."""
ROUNDING = "relative rounding: a few thousand eps"
OVERFLOW = "keeps exp, squares or logarithms finite"
PAPER = "printed in the paper, or in its proofs"
WEIGHTS = "the root of a sum of squared weights, as the comment beside it says"
SHARE = "a share of the tolerance that errors may take, which the docstring states"
EXEMPT = {
    ("curvature/deterministic.py", "grow: 1e+100"): OVERFLOW,
    ("curvature/lanczos.py", "_products_lacking: 0.001"): "no division by zero: any other way costs less",
    ("curvature/price.py", "rows: 34"): "counted: the looks around the rows of a local model",
    ("curvature/price.py", "deciding: 92"): "counted: what measures their error",
    ("curvature/soft.py", "measure: 1.7"): "derived beside it: (4 + 1) / 3",
    ("curvature/literal.py", "SPREAD = 2.0"): "two standard deviations, derived beside it",
    ("curvature/literal.py", "online: 32"): PAPER,
    ("curvature/literal.py", "line_1: 100"): PAPER,
    ("curvature/literal.py", "line_1: 100.0"): PAPER,
    ("curvature/literal.py", "bottom: 100"): PAPER,
    ("curvature/online.py", "_batch: 31"): "no batch is larger than an index of 32 bits",
    ("curvature/online_weak.py", "__call__: 100"): PAPER,
    ("curvature/online_weak.py", "size: 100"): PAPER,
    ("curvature/process.py", "HIGHEST = 100.0"): OVERFLOW,
    ("curvature/process.py", "complete: 1e-15"): ROUNDING,
    ("curvature/process.py", "terms: 700.0"): OVERFLOW,
    ("curvature/process.py", "certified_shift: 4e-16"): ROUNDING,
    ("curvature/process.py", "certified_shift: 1000000000.0"): "the search for a bracket ends: no bound is that low",
    ("curvature/process.py", "certified_shift: 1e-10"): "the tolerance of a root, subtracted from it",
    ("derivatives/consistency.py", "_even_tolerance: 256"): "64 values' errors over the square of the short part",
    ("derivatives/consistency.py", "locally_constant: 256"): "16^2, of an extrapolation",
    ("derivatives/estimates.py", "gradient: 1.9"): WEIGHTS,
    ("derivatives/estimates.py", "curvature_along: 1.7"): "(4 + 1) / 3, as the comment beside it says",
    ("derivatives/feasible.py", "SHORT = 16.0"): "4^2: as far as rounding leaves a slope digits",
    ("derivatives/feasible.py", "SINGLE = np.array([1.0, 2.0, -1.0])"): "points of a stencil",
    ("derivatives/feasible.py", "CENTRAL, INWARD = (np.array([1.0, -1.0, 2.0, -2.0]), np.array([1.0, 2."): "the same",
    ("certificate/bounded.py", "NONE: Estimate[Vector] = Estimate(np.zeros(0), np.zeros(0))"): "no variables",
    ("derivatives/ladder.py", "judged: 1.4"): WEIGHTS,
    ("derivatives/measure.py", "_fit_to_noise: 1024"): "unit of STEPS.furthest",
    ("derivatives/noise.py", "_printed: 23"): "the digits of a float32",
    ("derivatives/noise.py", "printed_unit: 23"): "the digits of a float32",
    ("derivatives/products.py", "Order = Literal[1, 2, 4]"): "names",
    ("derivatives/products.py", "KIND: dict[int, str] = {1: 'one-sided', 2: 'symmetric', 4: 'extrapolat"): "names",
    ("derivatives/products.py", "NOISE_FACTOR: dict[int, float] = {1: math.sqrt(2), 2: 1.12, 4: 1.55}"): WEIGHTS,
    ("derivatives/sampling.py", "along: 20"): SHARE,
    ("derivatives/sampling.py", "sampled_gradient: 0.67"): "Chernoff's base of a median, as the docstring says",
    ("derivatives/sampling.py", "sampled_gradient: 128"): PAPER,
    ("derivatives/sampling.py", "sampled_gradient: 31"): "no batch is larger than an index of 32 bits",
    ("derivatives/smoothness.py", "roughest: 2.5"): "the middle of a third difference",
    ("derivatives/smoothness.py", "roughest: 20"): "a third difference of 8 errors, and what two further levels show",
    ("derivatives/steps.py", "_EXPONENT = 9218868437227405312"): "bits of a double",
    ("methods/auto/limited_memory.py", "_plus_one: 1e-12"): ROUNDING,
    ("methods/auto/quadratic.py", "lowest_scaled: 1e-12"): ROUNDING,
    ("methods/auto/quadratic.py", "_by_eigenvectors: 1e-12"): ROUNDING,
    ("methods/auto/point.py", "NOT_KNOWN: Vector = np.zeros(0)"): "an empty vector",
    ("certificate/certifier.py", "UNKNOWN = Interval(0.0, math.inf)"): "no knowledge",
}
"""Numbers that are mathematics or floating-point safety, and stay where they are, with the reason."""
GUARDS = 1e-99
"""Smaller ones keep a division finite."""


def settings() -> Iterator[tuple[str, Number]]:
    """The numbers of all settings classes: where they stand, and what they are."""
    for module in pkgutil.walk_packages(escapade.__path__, "escapade."):
        if module.name.endswith("__main__") or ".integrations." in module.name:  # these need other packages
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
    """Numbers inside functions that no formula explains."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            value = node.value if isinstance(node, ast.Constant) else None
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if number and abs(value) not in FORMULA and abs(value) > GUARDS:
                yield node.lineno, f"{function.name}: {value!r}"


def elsewhere() -> Iterator[tuple[str, int, str]]:
    """The numbers of the rooms that are no settings: file, line and text."""
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*.py")):
            if path.name != "settings.py":
                tree = ast.parse(path.read_text(encoding="utf-8"))
                for line, what in sorted({*constants(tree), *literals(tree)}):
                    yield path.relative_to(SOURCE).as_posix(), line, what


def main() -> None:
    """The table, the exemptions, and the counts."""
    brief, listed = "--brief" in sys.argv, list(settings())
    if not brief:
        print("| where | name | value | unit | reason | origin |\n|---|---|---|---|---|---|")
        for where, one in listed:
            print(f"| {where} | {one.name} | {one.value} | {one.unit} | {one.reason} | {one.origin} |")
        for (path, what), reason in EXEMPT.items():
            print(f"on its line: {path}: {what}: {reason}")
    unexplained = [f"{path}:{line}: {what}" for path, line, what in elsewhere() if (path, what) not in EXEMPT]
    for one in unexplained:
        print(f"not a setting: {one}")
    rooms: dict[str, int] = {}
    for where, _ in listed:
        room = where.rsplit(".", 2)[0]
        rooms[room] = rooms.get(room, 0) + 1
    tuned = sum(one.origin.startswith(TUNED) for _, one in listed)
    counts = ", ".join(f"{room} {n}" for room, n in rooms.items())
    print(f"{len(listed)} settings ({counts}), {tuned} of them tuned; {len(EXEMPT)} on their lines, "
          f"{len(unexplained)} unexplained")


if __name__ == "__main__":
    main()
