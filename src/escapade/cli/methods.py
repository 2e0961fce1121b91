"""`escapade methods`: what there is, and the paper's table of query complexities for your constants."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer
from rich.table import Table

from ..theory import SINCE, TABLE, Constants
from . import options
from .catalogue import CATALOGUE
from .failures import CommandError
from .output import show, show_json, show_table

ROWS = TABLE | SINCE

PANEL = "Constants (evaluate the paper's table)"


def _constant(text: str, *names: str, default: str | bool = False) -> Any:
    return typer.Option(*names, help=text, show_default=default, rich_help_panel=PANEL)


def methods(
    d: Annotated[int | None, _constant("The number of variables.", "-d", "--dimension")] = None,
    epsilon: Annotated[float | None, _constant("The gradient norm to reach.")] = None,
    delta: Annotated[float | None, _constant("The negative curvature to exclude.", default="sqrt(epsilon)")] = None,
    ell: Annotated[float | None, _constant("Lipschitz constant of the gradient.", default="1")] = None,
    rho: Annotated[float | None, _constant("Lipschitz constant of the Hessian.", default="1")] = None,
    sigma: Annotated[float | None, _constant("Spread of the gradients of single samples.", default="1")] = None,
    delta_f: Annotated[float | None, _constant("f(x0) - min f, the paper's Delta_f.", "--delta-f", default="1")] = None,
    json: options.Json = False,
) -> None:
    """List the methods, or evaluate the paper's table of query complexities, and later methods', for your constants.

    Example: escapade methods -d 100 --epsilon 1e-3 --ell 10 --rho 5 --sigma 1
    """
    given = {"ell": ell, "rho": rho, "sigma": sigma, "Delta_f": delta_f}
    if all(value is None for value in (d, epsilon, delta, *given.values())):
        _list(json)
        return
    if d is None or epsilon is None:
        raise CommandError("the table needs -d and --epsilon, as in: escapade methods -d 100 --epsilon 1e-3")
    positive = math.sqrt(epsilon) if delta is None and epsilon > 0 else delta
    known = {name: value for name, value in given.items() if value is not None}
    _evaluate(Constants(d=d, epsilon=epsilon, delta=1.0 if positive is None else positive, **known), json)


def _list(json: bool) -> None:
    rows = [
        {"name": name, "what": entry.line, "needs": entry.needs, "queries an iterate": entry.queries}
        | {"query complexity": "" if entry.row is None else printed(ROWS[entry.row].printed)}
        for name, entry in CATALOGUE.items()
    ]
    if json:
        show_json(rows)
        return
    table = Table(*rows[0], box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row.values())
    show_table(table)
    show(
        "\nThe complexity is the paper's (of later methods, their own), to reach a gradient norm of epsilon and "
        "curvatures of at least -delta,\nwith all other constants one. "
        "Give yours, as in: escapade methods -d 100 --epsilon 1e-3 --ell 10"
    )


def _evaluate(constants: Constants, json: bool) -> None:
    try:
        counts = {name: float(row.queries(constants)) for name, row in ROWS.items()}
    except (OverflowError, ZeroDivisionError):
        raise CommandError("these constants overflow float64: take a larger epsilon or delta") from None
    if json:
        show_json({"constants": vars(constants), "queries": counts})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("method", "setting", "guarantee"):
        table.add_column(heading)
    table.add_column("queries", justify="right")
    table.add_column("query complexity, other constants one")
    for name, row in ROWS.items():
        table.add_row(name, row.setting, row.guarantee, f"{counts[name]:.2e}", printed(row.printed))
    names = ("d", "epsilon", "delta", "ell", "rho", "sigma", "Delta_f")
    show(", ".join(f"{name} = {getattr(constants, name):g}" for name in names) + "\n")
    show_table(table)
    show(
        "\nTo leading order, every hidden constant one; ell, rho, sigma and Delta_f are in the counts of the paper's\n"
        "own methods, ZO-Perturbed-AGD and ZO-AGD-NCF alone. "
        "The counts compare methods and show how they scale; they predict no run."
    )


def printed(expression: str) -> str:
    """A Python expression as one reads it."""
    return expression.replace("**", "^").replace("*", " ")
