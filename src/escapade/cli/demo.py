"""`escapade demo`: saddles that solvers take for solutions, told apart and left, by function values alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from . import options
from .output import check_files, remark, show, show_json, show_table, working
from .showcase import Answer, Showcase

D = Annotated[int, typer.Option("-d", "--dimension", min=2, max=30, help="The number of variables, and of saddles.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the rotation and of the runs.")]
Picture = Annotated[Path, typer.Option("--plot", metavar="FILE", help="Where the picture goes (.png, .svg, .pdf).")]


def demo(
    d: D = 10,
    seed: Seed = 1,
    plot: Picture = Path("escapade-demo.png"),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """See what solvers return from a saddle, what `certify` says of it, and how Escapade goes on. Takes seconds.

    The function is the octopus of Du et al. (2017), rotated at random: d saddles in a row, then a minimum. Everything
    starts at the first saddle, the origin, and sees values only. A table is shown and a picture saved.
    """
    from .picture import draw

    check_files(None, plot)
    showcase = Showcase.of(d, seed)
    with working("SciPy's solvers", quiet=quiet) as say:
        for solver in showcase.solvers:
            say(f"{solver}: from a saddle of the rotated octopus, d = {d}")
            showcase.ask(solver)
        say(f"drawing {plot}")
        draw(showcase, plot)
    if json:
        show_json(
            {"d": d, "seed": seed, "minimum": showcase.minimum, "answers": showcase.plain(), "picture": str(plot)}
        )
    else:
        _show(showcase)
    remark(f"\nThe picture of how they went down: {plot}")
    if not all(result.success for result in showcase.results.values()):
        raise typer.Exit(1)


def _show(showcase: Showcase) -> None:
    d = showcase.d
    show(
        f"The octopus function in {d} variables, rotated at random. {d} saddles in a row lead from the origin, the\n"
        f"first of them, to a minimum of f = {showcase.minimum:.3f}. All start at the origin; only values are used.\n"
    )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("solver")
    for heading in ("f", "queries"):
        table.add_column(heading, justify="right")
    for heading in ("it reports", "certify says", "true curvature"):
        table.add_column(heading)
    for answer in showcase.answers:
        table.add_row(*_cells(answer))
    show_table(table)
    show("\nThe true curvature is the smallest eigenvalue of the exact Hessian, which no solver sees.")
    show(f"\n{_reading(showcase)}")
    for method, result in showcase.results.items():
        show(f"\n{method}: {result.message} Escapes: {result.n_escapes}. Queries: {_books(result.nfev_by_purpose)}.")
        show("\n".join(f"  {line}" for line in str(result.certificate or "no certificate").splitlines()))


def _cells(answer: Answer) -> tuple[str, ...]:
    colour = "green" if answer.verdict in ("minimum", "second-order") else "red"
    return (
        answer.solver,
        f"{answer.fun:.3f}",
        f"{answer.queries:,}",
        "success" if answer.success else "failure",
        f"[{colour}]{answer.verdict}[/]",
        f"{answer.curvature:+.2f}",
    )


def _reading(showcase: Showcase) -> str:
    scipy = [answer for answer in showcase.answers if answer.solver not in showcase.results]
    fooled = [answer.solver for answer in scipy if answer.success and answer.curvature < 0]
    seen = [answer for answer in scipy if answer.verdict == "saddle"]
    return (
        f"{len(fooled)} of SciPy's {len(scipy)} solvers report success at a saddle{': ' if fooled else ''}"
        f"{', '.join(fooled)}; certify finds the way down from {len(seen)}."
    )


def _books(by_purpose: dict[str, int]) -> str:
    return ", ".join(f"{purpose} {count:,}" for purpose, count in by_purpose.items())
