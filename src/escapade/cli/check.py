"""`escapade check`: is the function what the library assumes?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from ..check import check_fun
from ..report import Remark
from . import options
from .failures import in_options
from .loading import load
from .output import clean_stdout, show, show_json, working
from .points import read_noise, read_samples
from .running import point_or_start, scale

X = Annotated[
    str | None,
    typer.Option(
        "--x0", metavar="NUMBERS|FILE", help="Where to look: 1,2,3 or a file.", rich_help_panel=options.FUNCTION
    ),
]


def check(
    target: options.Target,
    x0: X = None,
    vectorized: options.Vectorized = False,
    samples: options.Samples = None,
    noise: options.Noise = None,
    x_scale: options.XScale = None,
    seed: options.Seed = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Test whether a function is deterministic, smooth and exact to rounding near a point, at some hundred queries.

    Exit code 0: nothing is wrong that could be seen; 1: something is, and the line says what to do; 2: an error.

    Example: escapade check model.py:loss --x0 0,0,0
    """
    with clean_stdout(json):
        fun = load(target)
        with working(f"check: {target}", quiet=quiet):
            report = check_fun(
                fun,
                point_or_start(fun, x0, "--x0"),
                vectorized=vectorized,
                samples=read_samples(samples),
                noise=read_noise(noise),
                x_scale=scale(x_scale),
                rng=seed,
            )
    report = replace(report, remarks=tuple(map(_on_the_line, report.remarks)))
    if json:
        remarks = [{"topic": r.topic, "good": r.good, "sentence": r.sentence} for r in report.remarks]
        show_json({"ok": report.ok, "remarks": remarks, "nfev": report.nfev})
    else:
        show(str(report))
    raise typer.Exit(0 if report.ok else 1)


def _on_the_line(remark: Remark) -> Remark:
    """The remark with its remedy, which follows a semicolon, in the options of the line."""
    fault, semicolon, remedy = remark.sentence.rpartition("; ")
    return replace(remark, sentence=fault + semicolon + in_options(remedy))
