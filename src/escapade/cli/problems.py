"""`escapade problems`: functions with known saddles and minima."""

from __future__ import annotations

import inspect

from rich.table import Table

from ..problems import REGISTRY, Problem, Transformed
from . import options
from .output import show, show_json, show_table


def problems(json: options.Json = False) -> None:
    """List the test problems: functions with known saddles and minima.

    Example: escapade minimize problem:octopus --plot octopus.png
    """
    rows = [_row(name, make()) for name, make in REGISTRY.items()]
    if json:
        show_json(rows)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in rows[0]:
        table.add_column(heading, justify="left" if heading in ("name", "what") else "right")
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    show_table(table)
    show(
        "\nA dash: not known, or none. Each is a small instance, run by `escapade minimize problem:NAME`; the classes\n"
        "in escapade.problems take any size. ell and rho are Lipschitz constants of the gradient and of the Hessian.\n"
        "With --samples 64 (stochastic_cubic) or stream (stream_cubic) and a method for samples, such as --method\n"
        "zo-sgd-ncf, components are drawn; without, these two are the mean that they are."
    )


def _row(name: str, problem: Problem) -> dict[str, str | int | float | None]:
    what = (inspect.getdoc(type(problem)) or "").split("\n\n")[0].replace("\n", " ").replace("``", "").rstrip(".")
    if isinstance(problem, Transformed):
        what = f"{type(problem.problem).__name__}, rotated and shifted"
    return {
        "name": name,
        "what": what,
        "d": problem.d,
        "saddles": len(problem.saddles) or None,
        "minima": len(problem.minima) or None,
        "least value": problem.minimum,
        "ell": problem.ell,
        "rho": problem.rho,
    }


def _shown(value: str | int | float | None) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
