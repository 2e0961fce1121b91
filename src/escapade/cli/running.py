"""What `minimize` and `certify` need of the line before they can be called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import typer
from numpy.typing import NDArray

from ..certificate import Certificate
from ..errors import OracleError
from ..oracle.journal import Journal
from ..problems import Problem
from ..result import Result
from .failures import CommandError
from .output import remark
from .points import read_point

R = TypeVar("R")

STREAM = 1000
"""Samples of a stream that are averaged for a picture."""


def point_or_start(fun: Callable[..., Any], text: str | None, option: str) -> NDArray[np.float64]:
    """The point on the line; a problem of the library has a start of its own."""
    if text is not None:
        return read_point(text, option)
    if isinstance(fun, Problem):
        return fun.start
    raise CommandError(f"{option} is missing: give the point as {option} 1,2,3 or as a .npy, .csv or .json file")


def evaluation(
    workers: int | None, timeout: float | None, on_error: str, retries: int | None, journal: Journal | None = None
) -> dict[str, Any]:
    """How values are asked for, as keywords of the library."""
    asked: dict[str, Any] = {"workers": workers, "timeout": timeout, "on_error": on_error, "retries": retries}
    return asked if journal is None else asked | {"journal": journal}


def attempted(run: Callable[[], R]) -> tuple[R, OracleError | None]:
    """The result of a run; where an error ended it, that which it had until then, and the error."""
    try:
        return run(), None
    except OracleError as error:
        if error.result is None:
            raise
        return error.result, error


def conclude(result: Result, failed: OracleError | None, output: Path | None) -> NoReturn:
    """Write a result to its file, and end with its exit code, or with the error that ended the run."""
    keep(result, "result", output)
    if failed is not None:
        raise failed
    raise typer.Exit(0 if result.success else 1)


def keep(found: Result | Certificate, what: str, output: Path | None) -> None:
    """Write what was found to a file, if one was named."""
    if output is not None:
        output.write_text(found.to_json(indent=2) + "\n", encoding="utf-8")
        remark(f"{what:11s} {output}")


def scale(text: str | None) -> NDArray[np.float64] | float | None:
    """One number for all variables, or one each."""
    if text is None:
        return None
    values = read_point(text, "--x-scale")
    return float(values[0]) if values.size == 1 else values


def bounds(lower: str | None, upper: str | None, d: int) -> list[tuple[float, float]] | None:
    """Pairs from what the line says of both sides: one number for all variables, or one each."""
    if lower is None and upper is None:
        return None
    sides = []
    for option, text, none in (("--lower", lower, -np.inf), ("--upper", upper, np.inf)):
        values = np.full(d, none) if text is None else read_point(text, option)
        if values.size not in (1, d):
            wanted = f"give one, or one for each of {d} variables"
            raise CommandError(f"{option}: {values.size} numbers, but there are {d} variables: {wanted}")
        sides.append(np.broadcast_to(values, (d,)))
    return [(float(low), float(high)) for low, high in zip(*sides, strict=True)]


def at_one_point(fun: Callable[..., Any], vectorized: bool, samples: Any) -> Callable[[Any], float]:
    """The function for a picture: of one point, averaged over all samples, or over some of a stream."""
    batch: tuple[Any, ...] = ()
    if samples is not None:
        n = np.random.default_rng(0).integers(0, 2**63 - 1, size=STREAM) if samples == "stream" else np.arange(samples)
        batch = (n,)
    if vectorized:
        return lambda x: float(fun(x[None, :], *batch)[0])
    return lambda x: float(fun(x, *batch))
