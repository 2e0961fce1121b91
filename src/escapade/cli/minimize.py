"""`escapade minimize`: find a local minimum of your function, and certify it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from .._text import counted
from ..minimize import minimize as library_minimize
from ..oracle.journal import Journal
from ..problems import StochasticProblem
from ..result import Result
from . import options
from .failures import CommandError
from .loading import load, load_gradient
from .output import check_files, clean_stdout, remark, show, working
from .points import read_noise, read_pattern, read_samples
from .running import at_one_point, attempted, bounds, conclude, evaluation, point_or_start, scale

Method = Annotated[
    str, typer.Option("--method", "-m", help="One of `escapade methods`.", rich_help_panel=options.FUNCTION)
]
Maxiter = Annotated[
    int | None, typer.Option(help="Most iterates.", show_default="none", rich_help_panel=options.LIMITS)
]
Maxtime = Annotated[float | None, typer.Option(help="Seconds.", show_default="none", rich_help_panel=options.LIMITS)]

Prefer = Annotated[
    str,
    typer.Option(
        metavar="queries|rounds",
        help="What auto saves: queries, or rounds of queries that are evaluated at once.",
        rich_help_panel=options.EVALUATION,
    ),
]

Tag = Annotated[
    str | None,
    typer.Option(
        help="The version of the function: a journal with another tag is refused.", rich_help_panel=options.EVALUATION
    ),
]


def minimize(
    target: options.Target,
    x0: options.X0 = None,
    method: Method = "auto",
    vectorized: options.Vectorized = False,
    jac: options.Jac = None,
    hess_sparsity: options.HessSparsity = None,
    samples: options.Samples = None,
    evidence: options.Evidence = "sampled",
    noise: options.Noise = None,
    x_scale: options.XScale = None,
    lower: options.Lower = None,
    upper: options.Upper = None,
    gtol: options.Gtol = 1e-4,
    curvtol: options.Curvtol = None,
    failure: options.Failure = 1e-3,
    maxfev: options.Maxfev = None,
    maxiter: Maxiter = None,
    maxtime: Maxtime = None,
    seed: options.Seed = None,
    workers: options.Workers = None,
    timeout: options.Timeout = None,
    prefer: Prefer = "queries",
    journal: options.JournalFile = None,
    tag: Tag = None,
    on_error: options.OnError = "raise",
    retries: options.Retries = None,
    json: options.Json = False,
    output: options.Output = None,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
) -> None:
    """Find a local minimum of a function that can only be evaluated, and certify it.

    Exit code 0: a certificate holds; 1: the run ended without one; 2: an error.

    Example: escapade minimize model.py:loss --x0 0,0,0 --output result.json --plot run.png
    """
    check_files(output, plot)
    if tag is not None and journal is None:
        raise CommandError(f"--tag {tag} goes into a journal, and there is none: add --journal FILE, or leave it out")
    with clean_stdout(json):
        fun, drawn = load(target), read_samples(samples)
        start = point_or_start(fun, x0, "--x0")
        if drawn is not None and isinstance(fun, StochasticProblem):
            fun = fun.sample_value
        kept = None if journal is None else Journal(journal, tag)
        with working(f"{method}: {target}", quiet=quiet) as say:

            def follow(intermediate_result: Any) -> None:
                step = intermediate_result
                known = "" if step.fun is None else f"  f = {step.fun:.8g}"
                spent = counted(step.nfev, "query", "queries")
                say(f"{method}: {counted(step.nit, 'iterate')}, {spent}, {step.move}{known}")

            run = partial(
                library_minimize,
                fun,
                start,
                method=method,
                gtol=gtol,
                curvtol=curvtol,
                failure=failure,
                maxfev=maxfev,
                maxiter=maxiter,
                maxtime=maxtime,
                noise=read_noise(noise),
                x_scale=scale(x_scale),
                bounds=bounds(lower, upper, len(start)),
                vectorized=vectorized,
                jac=load_gradient(target, fun, jac),
                hess_sparsity=read_pattern(hess_sparsity, "--hess-sparsity"),
                samples=drawn,
                rng=seed,
                callback=follow,
                **evaluation(workers, timeout, on_error, retries, kept) | {"prefer": prefer, "evidence": evidence},
            )
            result, failed = attempted(run)
            if plot is not None and failed is None:
                _draw(result, plot, at_one_point(fun, vectorized, drawn))
    if failed is None or result.nfev > 0:
        show(result.to_json(indent=2) if json else str(result))
    if plot is not None and failed is None:
        remark(f"picture     {plot}")
    conclude(result, failed, output)


def _draw(result: Result, path: Path, fun: Any) -> None:
    from ..plots import new_figure, save

    figure = new_figure()
    result.plot(figure.subplots(), fun=fun)
    save(figure, path)
