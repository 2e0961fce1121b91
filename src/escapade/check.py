"""`check_fun`: is this function what the library assumes of it?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._array import Array, as_point, like, namespace, to_device, to_numpy
from ._random import as_generator, spheres
from .derivatives import noise as noise_
from .derivatives.noise import Noise
from .derivatives.settings import NOISE, STEPS
from .derivatives.smoothness import Roughness, roughest
from .derivatives.steps import curvature_steps
from .errors import EvaluationFailed
from .oracle import Batch, Oracle, points
from .report import FunctionReport, Remark, Rows, remark
from .tolerances import as_scale

BESIDE = 0.002
"""How far from x0 noise is measured a second time, in units of x_scale."""

BATCH = 4
"""Samples in the batch on which a sampled function is checked."""

def check_fun(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    vectorized: bool = False,
    samples: int | Literal["stream"] | None = None,
    noise: float | str | None = None,
    x_scale: Any = None,
    rng: Any = None,
) -> FunctionReport:
    """Test near x0 what the library assumes: determinism, independent rows, little noise, smoothness.

    The parameters are those of `certify`. A check can show a fault; it cannot prove that there is none.

    Returns
    -------
    FunctionReport
        Print it, or ask it for `ok`.

    Raises
    ------
    EvaluationFailed
        If the function fails at x0 or within about 0.001 of it.

    Notes
    -----
    Queries: 49 to 240, and 25 more if vectorized; 4 times that, and 16, with samples
    """
    x, rng = as_point(x0), as_generator(rng)
    noise_.check_noise(noise)
    unit = as_scale(x_scale, x)
    watched = _Watched(fun)
    whole = Oracle.of(
        watched if callable(fun) else fun, args=args, vectorized=vectorized, samples=samples
    ).tagged("check")
    f = whole if samples is None else whole.on(whole.draw(BATCH, rng))

    look = _Look(f, x, unit, rng)

    twice = [f.value(x), f.value(x)]
    level, on_noise = _noise(look, twice, noise)
    roughness, seen = _smoothness(look, level.level)
    noise_error = 10 * max(np.ptp(twice), min(level.level, 1e4 * noise_.rounding(x, abs(twice[0]))))
    rows = _rows(look, noise_error) if vectorized else None
    averages = None if samples is None else _averages(whole, x, unit, noise_error, rng)
    spread = float(np.ptp([*twice, f.value(x)]))  # once more, after all that came between
    differ = "noise" if samples is None else "sample"
    remarks = [remark("repeats", differ if spread > 0 else "same", spread=spread)]
    remarks += [] if rows is None else [remark("rows", rows)]
    remarks += [] if averages is None else [remark("samples", "mean" if averages else "other")]
    remarks += [] if rows == "wrong" else [on_noise, *seen]  # differences would then show the block's doing
    remarks += [remark("input", "written" if watched.wrote else "kept")]
    return FunctionReport(
        deterministic=spread == 0,
        rows=rows,
        averages=averages,
        noise=level,
        roughness=roughness,
        mutates=watched.wrote,
        nfev=f.ledger.queries,
        remarks=tuple(remarks),
    )


class _Watched:
    """The user's function, and whether it ever wrote to its input."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun, self.wrote = fun, False

    def __call__(self, x: Array, *rest: Any) -> Any:
        before = to_numpy(x).copy()
        value = self.fun(x, *rest)
        self.wrote = self.wrote or not np.array_equal(before, to_numpy(x), equal_nan=True)
        return value


@dataclass(frozen=True)
class _Look:
    """Where the checks look."""

    f: Oracle
    x: Array
    unit: NDArray[np.float64]
    rng: np.random.Generator


def _noise(look: _Look, twice: list[float], given: float | str | None) -> tuple[Noise, Remark]:
    """The noise, from difference tables at x and beside it: a kink or a jump shows in one, noise in both."""
    f, x, unit, rng = look.f, look.x, look.unit, look.rng
    beside = x + spheres(rng, x, 1)[0, :] * like(BESIDE * unit, x)
    starts = ((x, twice[0]), (beside, f.value(beside)))
    tables = [noise_.table(f, y, unit, value, rng) for y, value in starts]
    floor = noise_.rounding(x, max(float(np.max(np.abs(table))) for table in tables), f.precision)
    level = max(float(np.ptp(twice)), min(noise_.table_estimate(table) or 0.0 for table in tables))
    if NOISE.safety * level <= 4 * floor:
        return Noise(floor, "rounding"), remark("noise", "rounding", floor=floor)
    known = given == "auto" or (isinstance(given, int | float | np.number) and level <= 3 * given)
    found = "known" if known or level <= 64 * floor else "unknown"
    facts = {"level": level, "floor": floor, "more": NOISE.safety * level}
    return Noise(level, "estimated"), remark("noise", found, **facts)


def _smoothness(look: _Look, level: float) -> tuple[Roughness, list[Remark]]:
    """Look as far from x as any difference reaches, and again as near as they are taken."""
    step = float(np.median(curvature_steps(look.x, look.unit, level, curvtol=1e-2) / look.unit))
    worst: Roughness = "smooth"
    where, remarks = 0.0, list[Remark]()
    reaches = (STEPS.longest, step) if step < STEPS.longest else (step,)
    for reach in reaches:
        try:
            found, spot = roughest(look.f, look.x, look.unit, reach, level, look.rng)
        except EvaluationFailed as error:
            remarks.append(remark("domain", "fails", reach=reach, error=str(error).rpartition("; ")[0]))
            continue
        if found != "smooth" and (found != "flat" or reach >= STEPS.longest):
            worst, where = found, spot
    if len(remarks) < len(reaches):
        place = "at x0" if where <= step / 4 else f"{where:.1g} from x0"
        remarks.append(remark("smoothness", worst, place=place, step=step))
    return worst, remarks


def _rows(look: _Look, noise_error: float) -> Rows:
    """Five points alone, and again in blocks of other sizes and orders."""
    f, x = look.f, look.x
    near = x[None, :] + spheres(look.rng, x, 5) * like(0.01 * look.unit, x)[None, :]
    alone = np.array([f.value(near[k, :]) for k in range(5)])
    error = 0.0
    for order in (np.arange(4, -1, -1), look.rng.permutation(np.repeat(np.arange(5), 3))):
        block = f(points(namespace(x).take(near, to_device(order, x), axis=0)))
        error = max(error, float(np.max(np.abs(block - alone[order]))))
    if error == 0:
        return "exact"
    noise_error += 64 * math.sqrt(x.shape[0]) * noise_.rounding(x, float(np.max(np.abs(alone))))
    return "rounding" if error <= noise_error else "wrong"


def _averages(f: Oracle, x: Array, unit: NDArray[np.float64], noise_error: float, rng: np.random.Generator) -> bool:
    """Whether two batches together give the mean of the two, beside x."""
    x = x + spheres(rng, x, 1)[0, :] * like(BESIDE * unit, x)  # at x itself all may be zero
    ids = f.draw(2 * BATCH, rng, replace=True).ids
    both, one, other = (f.on(Batch(part)).value(x) for part in (ids, ids[:BATCH], ids[BATCH:]))
    return abs(both - (one + other) / 2) <= noise_error + 64 * noise_.rounding(x, max(abs(one), abs(other)))
