"""`escapade fit`: fit parameters to residuals, and certify the fit."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from .._text import counted
from ..least_squares import Fitted
from ..least_squares import least_squares as library_least_squares
from ..oracle.journal import Journal
from . import options
from .loading import load
from .output import check_files, clean_stdout, show, working
from .points import read_noise
from .running import attempted, bounds, conclude, evaluation, point_or_start, scale

Loss = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="linear, soft_l1, huber, cauchy or arctan.", rich_help_panel=options.FUNCTION
    ),
]
FScale = Annotated[
    float,
    typer.Option(
        "--f-scale", help="The residual at which a robust loss begins to matter.", rich_help_panel=options.FUNCTION
    ),
]
Gtol = Annotated[
    float | None,
    typer.Option(
        help="Certify a gradient norm of at most this.",
        show_default="a share of units learnt",
        rich_help_panel=options.TOLERANCES,
    ),
]


def fit(
    target: options.Target,
    x0: options.X0 = None,
    vectorized: options.Vectorized = False,
    loss: Loss = "linear",
    f_scale: FScale = 1.0,
    noise: options.Noise = None,
    x_scale: options.XScale = None,
    lower: options.Lower = None,
    upper: options.Upper = None,
    gtol: Gtol = None,
    curvtol: options.Curvtol = None,
    failure: options.Failure = 1e-3,
    maxfev: options.Maxfev = None,
    seed: options.Seed = None,
    workers: options.Workers = None,
    timeout: options.Timeout = None,
    journal: options.JournalFile = None,
    on_error: options.OnError = "raise",
    retries: options.Retries = None,
    json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Fit parameters to a function that returns residuals, certify the fit, and say how well each is known.

    Exit code 0: a certificate holds; 1: the run ended without one; 2: an error.

    Example: escapade fit model.py:residuals --x0 1,1,0
    """
    check_files(output, None)
    with clean_stdout(json):
        fun = load(target)
        start = point_or_start(fun, x0, "--x0")
        kept = None if journal is None else Journal(journal)
        box = bounds(lower, upper, len(start))
        sides = None if box is None else tuple(np.array(box).T)
        with working(f"fit: {target}", quiet=quiet) as say:

            def follow(intermediate_result: Any) -> None:
                step = intermediate_result
                spent = counted(step.nfev, "query", "queries")
                say(f"fit: {counted(step.nit, 'iterate')}, {spent}  cost = {step.fun:.8g}")

            run = partial(
                library_least_squares,
                fun,
                start,
                bounds=sides,
                x_scale=scale(x_scale),
                loss=loss,
                f_scale=f_scale,
                noise=read_noise(noise),
                gtol=gtol,
                curvtol=curvtol,
                failure=failure,
                maxfev=maxfev,
                vectorized=vectorized,
                rng=seed,
                callback=follow,
                **evaluation(workers, timeout, on_error, retries, kept),
            )
            result, failed = attempted(run)
    if failed is None or result.nfev > 0:
        show(result.to_json(indent=2) if json else _shown(result))
    conclude(result, failed, output)


def _shown(result: Fitted) -> str:
    """The result, its parameters with their errors, and what the residuals say least of."""
    lines = [str(result)]
    if result.jac is not None and len(result.fun) > len(result.x):
        errors = np.sqrt(np.diag(result.covariance()))
        pairs = zip(result.x, errors, strict=True)
        lines += [f"{f'x[{i}]':<12}{x:.6g} +- {error:.2g}" for i, (x, error) in enumerate(pairs)]
        lines.append(f"softest     {result.softest(1)[0]}")
    return "\n".join(lines)

