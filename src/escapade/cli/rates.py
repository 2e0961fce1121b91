"""`escapade paper rates`: the exponents of the theorems, measured."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from .output import advancing, ending_at_once, remark, show, show_json, show_table


def rates(*, quick: bool, seeds: int, out: Path, workers: int | None, json: bool, quiet: bool) -> None:
    """Measure, and show the verdicts."""
    from .. import experiments

    with advancing("the rates of the theorems", quiet=quiet) as progress, ending_at_once():
        outcome = experiments.run_rates(quick=quick, seeds=seeds, out=out, workers=workers, progress=progress)
    verdicts = [
        {"figure": "rates", "claim": rate.claim, "answer": str(rate.answer), "verdict": rate.verdict}
        for rate in outcome.rates
    ] + [{"figure": "rates", "claim": v.claim, "answer": v.answer, "verdict": v.verdict} for v in outcome.verdicts]
    if json:
        show_json(
            {"report": str(outcome.report), "out": str(outcome.out), "seconds": outcome.seconds, "claims": verdicts}
        )
        return
    table = Table("claim", "verdict", box=None, pad_edge=False, header_style="bold")
    for row in verdicts:
        table.add_row(row["claim"], row["verdict"])
    show_table(table)
    show(f"\nReport: {outcome.report}")
    remark(f"Everything in {outcome.out}, after {outcome.seconds:.0f} s.")
