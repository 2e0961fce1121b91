"""The options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FUNCTION, TOLERANCES, LIMITS, OUTPUT = "The function", "Tolerances", "Limits", "Output"
EVALUATION = "Evaluation"

Target = Annotated[
    str,
    typer.Argument(
        metavar="FILE.py:FUNCTION",
        help="The function: FILE.py:function, module:function, or problem:name (see `escapade problems`).",
        show_default=False,
    ),
]
X0 = Annotated[
    str | None,
    typer.Option(
        "--x0",
        metavar="NUMBERS|FILE",
        help="The start: 1,2,3 or a .npy, .csv or .json file. It may be a saddle.",
        rich_help_panel=FUNCTION,
    ),
]
Vectorized = Annotated[
    bool,
    typer.Option("--vectorized", help="The function maps the rows of a matrix to values.", rich_help_panel=FUNCTION),
]
Jac = Annotated[
    str | None,
    typer.Option(
        metavar="FUNCTION|FILE.py:FUNCTION|true",
        help="Its gradient: a function of the same file or another; true if the function returns (value, gradient).",
        show_default="from values",
        rich_help_panel=FUNCTION,
    ),
]
HessSparsity = Annotated[
    str | None,
    typer.Option(
        "--hess-sparsity",
        metavar="FILE",
        help="A matrix (.npz, .npy, .csv) that is nonzero where the function depends on two variables together.",
        show_default="all pairs",
        rich_help_panel=FUNCTION,
    ),
]
Samples = Annotated[
    str | None,
    typer.Option(
        metavar="N|stream",
        help="The function is an average over N samples, or over a stream: fun(x, ids).",
        rich_help_panel=FUNCTION,
    ),
]
Evidence = Annotated[
    str,
    typer.Option(
        metavar="sampled|whole",
        help="What the certificate of a finite sum rests on: fresh samples, or the whole sum.",
        rich_help_panel=FUNCTION,
    ),
]
Noise = Annotated[
    str | None,
    typer.Option(
        metavar="SD|auto",
        help="Standard deviation of the error of a value, or auto to estimate it.",
        show_default="rounding only",
        rich_help_panel=FUNCTION,
    ),
]
XScale = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS|FILE", help="Typical sizes of the variables, one or one each.", rich_help_panel=FUNCTION
    ),
]
Lower = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS|FILE",
        help="Lower bounds, one or one for each variable; -inf for none.",
        rich_help_panel=FUNCTION,
    ),
]
Upper = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS|FILE",
        help="Upper bounds, one or one for each variable; inf for none.",
        rich_help_panel=FUNCTION,
    ),
]
Gtol = Annotated[float, typer.Option(help="Certify a gradient norm of at most this.", rich_help_panel=TOLERANCES)]
Curvtol = Annotated[
    float | None,
    typer.Option(
        help="Certify curvatures of at least minus this.", show_default="sqrt(gtol)", rich_help_panel=TOLERANCES
    ),
]
Failure = Annotated[
    float,
    typer.Option(help="The probability with which the certificate may be false.", rich_help_panel=TOLERANCES),
]
Maxfev = Annotated[
    int | None, typer.Option(help="Hard budget of queries.", show_default="none", rich_help_panel=LIMITS)
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Seed of the random numbers; the same seed gives the same run.",
        show_default="a fresh one",
        rich_help_panel=LIMITS,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Evaluate the function in a number of processes.", show_default="in this one", rich_help_panel=EVALUATION
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(help="Seconds for one evaluation.", show_default="none", rich_help_panel=EVALUATION),
]
OnError = Annotated[
    str,
    typer.Option(
        metavar="raise|stop|retry|penalise",
        help="What to do when the function raises, hangs or returns NaN.",
        rich_help_panel=EVALUATION,
    ),
]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="Keep every value in this file; called again with the same options, a run that was cut short goes on.",
        rich_help_panel=EVALUATION,
    ),
]
Retries = Annotated[
    int | None,
    typer.Option(help="Further attempts before that.", show_default="none, or 3", rich_help_panel=EVALUATION),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else.", rich_help_panel=OUTPUT)]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write the result to this file as JSON.", rich_help_panel=OUTPUT
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw f against queries into this file (.png, .svg, .pdf).",
        rich_help_panel=OUTPUT,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.", rich_help_panel=OUTPUT)]
