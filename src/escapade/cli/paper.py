"""`escapade paper`: the figures and claims of the paper, again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from . import options
from .failures import CommandError
from .output import advancing, ending_at_once, remark, show, show_json, show_table
from .rates import rates

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[octopus|neon2|cubic|least-squares|all]...|rates", help="Which figures.", show_default="all"
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Every panel at reduced size, in minutes.")]
Seeds = Annotated[int, typer.Option(min=1, help="Runs of each method on each problem.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where tables, figures and report.html go.")]
Data = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The LIBSVM data set w1a, for the least-squares problem.", show_default=False),
]

Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes.", show_default="as many as there are cores, four at most")
]


def paper(
    names: Names = None,
    quick: Quick = False,
    seeds: Seeds = 10,
    out: Out = Path("paper-results"),
    data: Data = None,
    workers: Workers = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Reproduce the figures and tables of Zhang, Xiong & Gu (2022), and judge each of its claims.

    Writes tidy tables, figures and one self-contained report.html. Stopped by Ctrl-C, it goes on where it was when
    called again with the same options. "rates", which is asked for alone, measures the exponents of the theorems
    instead, and judges the introduction's claims: rates.html.

    Example: escapade paper octopus --quick --out results
    """
    from .. import experiments

    chosen = list(names or ["all"])
    if chosen == ["rates"]:
        rates(quick=quick, seeds=seeds, out=out, workers=workers, json=json, quiet=quiet)
        return
    for name in chosen:
        if name not in (*experiments.NAMES, "all"):
            raise CommandError(f"{name!r} is no figure; choose from {', '.join(experiments.NAMES)}, all")
    if data is not None and not data.is_file():
        raise CommandError(f"--data: {data} is no file; give the path of the LIBSVM file w1a")
    with advancing("the paper's experiments", quiet=quiet) as progress, ending_at_once():
        outcome = experiments.run(
            "all" if "all" in chosen else chosen,
            quick=quick,
            seeds=seeds,
            out=out,
            data=data,
            workers=workers,
            progress=progress,
        )
    verdicts = [
        {"figure": v.figure, "claim": v.claim, "answer": v.answer, "verdict": v.verdict} for v in outcome.verdicts
    ]
    if json:
        show_json(
            {"report": str(outcome.report), "out": str(outcome.out), "seconds": outcome.seconds}
            | {"claims": verdicts, "missing": outcome.missing}
        )
        return
    table = Table("figure", "claim", "verdict", box=None, pad_edge=False, header_style="bold")
    for row in verdicts:
        table.add_row(row["figure"], row["claim"], row["verdict"])
    show_table(table)
    for name, why in outcome.missing.items():
        show(f"\n{name} was not run: {why}")
    show(f"\nReport: {outcome.report}")
    remark(f"Everything in {outcome.out}, after {outcome.seconds:.0f} s.")
