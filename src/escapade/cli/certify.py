"""`escapade certify`: what is this point?"""

from __future__ import annotations

from typing import Annotated

import typer

from ..certify import certify as library_certify
from . import options
from .loading import load, load_gradient
from .output import check_files, clean_stdout, show, working
from .points import read_noise, read_pattern, read_samples
from .running import bounds, evaluation, keep, point_or_start, scale

X = Annotated[
    str | None,
    typer.Option(
        "--x",
        metavar="NUMBERS|FILE",
        help="The point: 1,2,3 or a .npy, .csv or .json file (a result of `minimize`, for one).",
        rich_help_panel=options.FUNCTION,
    ),
]
Finder = Annotated[
    str, typer.Option(help="How curvature is sought: see docs/methods.md.", rich_help_panel=options.FUNCTION)
]
Residuals = Annotated[
    bool,
    typer.Option("--residuals", help="The function returns a vector of residuals.", rich_help_panel=options.FUNCTION),
]
Rho = Annotated[
    float | None,
    typer.Option(help="Lipschitz constant of the Hessian, if known.", rich_help_panel=options.FUNCTION),
]


def certify(
    target: options.Target,
    x: X = None,
    residuals: Residuals = False,
    vectorized: options.Vectorized = False,
    jac: options.Jac = None,
    hess_sparsity: options.HessSparsity = None,
    samples: options.Samples = None,
    evidence: options.Evidence = "sampled",
    noise: options.Noise = None,
    x_scale: options.XScale = None,
    lower: options.Lower = None,
    upper: options.Upper = None,
    rho: Rho = None,
    finder: Finder = "auto",
    gtol: options.Gtol = 1e-4,
    curvtol: options.Curvtol = None,
    failure: options.Failure = 1e-3,
    maxfev: options.Maxfev = None,
    seed: options.Seed = None,
    workers: options.Workers = None,
    timeout: options.Timeout = None,
    on_error: options.OnError = "raise",
    retries: options.Retries = None,
    json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Say what a point is that any solver returned: a minimum, a saddle, or neither, from function values alone.

    Exit code 0: the verdict is "minimum" or "second-order"; 1: it is not; 2: an error.

    Example: escapade certify model.py:loss --x answer.npy
    """
    check_files(output, None)
    with clean_stdout(json):
        fun = load(target)
        with working(f"certify: {target}", quiet=quiet):
            point = point_or_start(fun, x, "--x")
            certificate = library_certify(
                fun,
                point,
                gtol=gtol,
                curvtol=curvtol,
                failure=failure,
                noise=read_noise(noise),
                x_scale=scale(x_scale),
                bounds=bounds(lower, upper, len(point)),
                rho=rho,
                finder=finder,
                residuals=residuals,
                vectorized=vectorized,
                jac=load_gradient(target, fun, jac),
                hess_sparsity=read_pattern(hess_sparsity, "--hess-sparsity"),
                samples=read_samples(samples),
                maxfev=maxfev,
                rng=seed,
                **evaluation(workers, timeout, on_error, retries) | {"evidence": evidence},
            )
    show(certificate.to_json(indent=2) if json else str(certificate))
    keep(certificate, "certificate", output)
    raise typer.Exit(0 if certificate.holds else 1)
