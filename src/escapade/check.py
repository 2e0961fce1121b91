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
from .derivatives import ladder as ladder_
from .derivatives import noise as noise_
from .derivatives import steps as steps_
from .derivatives.ladder import Kind, Ladder
from .derivatives.noise import Noise
from .derivatives.settings import NOISE, STEPS
from .derivatives.smoothness import Roughness, roughest
from .derivatives.steps import curvature_steps
from .derivatives.units import learn
from .errors import EvaluationFailed
from .oracle import Batch, Failures, Oracle, or_nan, points
from .report import FunctionReport, Remark, Rows, remark
from .shaped import shaped
from .tolerances import Tolerances, Units, as_scale

BESIDE = 0.002
"""How far from x0 noise is measured a second time, in units of x_scale."""

BATCH = 4
"""Samples in the batch on which a sampled function is checked."""

AROUND = 32
"""Points by which the share of missing ones is estimated: 1 in 20 is seen 4 times in 5."""

NEAREST = 1e-6
"""The least distance of these from x0, in units of x_scale."""


@shaped("x0")
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
    """Test near x0 what the library assumes: determinism, independent rows, little noise, smoothness at every length.

    A check can show a fault; it cannot prove that there is none. It says how many values are missing, to how many
    digits they are given, below which length f is rough, and what all that allows to be shown.

    Parameters
    ----------
    fun, x0, args : callable, array, tuple
        The function, a point near which it is to be used, and further arguments of the function.
    vectorized, samples, noise, x_scale, rng : optional
        As for `certify`.

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
    Queries: 120 to 420, of which 65 at most depend on d; 25 more if vectorized; 4 times that, and 16, with samples

    Examples
    --------
    >>> import escapade
    >>> report = escapade.check_fun(lambda x: float(f"{x @ x:.6g}"), [1.0, 2.0], rng=0)
    >>> report.ok
    False
    >>> next(remark.sentence for remark in report.remarks if remark.topic == "noise")
    'values are given in steps of 1e-05, not 1e-15; return all their digits.'
    """
    x, rng = as_point(x0), as_generator(rng)
    noise_.check_noise(noise)
    unit = as_scale(x_scale, x)
    watched = _Watched(fun)
    whole = Oracle.of(
        watched if callable(fun) else fun,
        args=args,
        vectorized=vectorized,
        samples=samples,
        failures=Failures.omitting("raise", None, None),
    ).tagged("check")
    f = whole if samples is None else whole.on(whole.draw(BATCH, rng))

    look = _Look(f, x, unit, rng)

    twice = [f.value(x), f.value(x)]
    level, on_noise = _noise(look, twice, noise)
    roughness, seen = _smoothness(look, level.level)
    missing, on_missing = _missing(look)
    units = learn(f, x, rng, x_scale=x_scale)
    ladder, on_scale = _scale(look, units, twice[0], level)
    noise_error = 10 * max(np.ptp(twice), min(level.level, 1e4 * noise_.rounding(x, abs(twice[0]))))
    rows = _rows(look, noise_error) if vectorized else None
    averages = None if samples is None else _averages(whole, x, unit, noise_error, rng)
    spread = float(np.ptp([*twice, f.value(x)]))  # once more, after all that came between
    differ = "noise" if samples is None else "sample"
    remarks = [remark("repeats", differ if spread > 0 else "same", spread=spread)]
    remarks += [] if rows is None else [remark("rows", rows)]
    remarks += [] if averages is None else [remark("samples", "mean" if averages else "other")]
    if rows != "wrong":  # differences would then show the block's doing
        remarks += [on_missing, on_noise, *seen, *on_scale, _allows(level, ladder, units, x.shape[0])]
    remarks += [remark("input", "written" if watched.wrote else "kept")]
    return FunctionReport(
        deterministic=spread == 0,
        rows=rows,
        averages=averages,
        noise=level,
        missing=missing,
        roughness=roughness,
        amplitude=ladder.amplitude,
        length=ladder.length,
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
    seen = np.concatenate(tables)
    floor = noise_.rounding(x, float(np.max(np.abs(seen))), f.precision)
    step = noise_.quantum(seen, floor)
    if step is not None and np.ptp(twice) == 0:
        return Noise(step, "digits", step), remark("noise", "digits", level=step, floor=floor)
    level = max(float(np.ptp(twice)), min(noise_.table_estimate(table) or 0.0 for table in tables))
    if NOISE.safety * level <= 4 * floor:
        return Noise(floor, "rounding"), remark("noise", "rounding", floor=floor)
    known = given == "auto" or (isinstance(given, int | float | np.number) and level <= 3 * given)
    found = "known" if known or level <= 64 * floor else "unknown"
    facts = {"level": level, "floor": floor, "more": NOISE.safety * level}
    return Noise(level, "estimated"), remark("noise", found, **facts)


def _missing(look: _Look) -> tuple[float, Remark]:
    """The share of points around x at which f has no value."""
    radii = np.geomspace(NEAREST, STEPS.longest, AROUND)[:, None] * look.unit
    around = look.x[None, :] + spheres(look.rng, look.x, AROUND) * like(radii, look.x)
    values, _ = or_nan(look.f, points(around))
    share = float(np.mean(np.isnan(values)))
    found = "none" if share == 0 else "some" if share <= 0.5 else "most"
    return share, remark("missing", found, share=share)


def _scale(look: _Look, units: Units, f0: float, noise: Noise) -> tuple[Ladder, list[Remark]]:
    """Whether f has structure between its difference steps and the scale of its variables, that matters by default."""
    asked = Tolerances.relative(units.curvature)
    ones, scaled = np.ones(look.x.shape[0]), look.f.scaled(like(units.lengths, look.x))
    y = look.x / like(units.lengths, look.x)
    tolerances = {"gtol": asked.gtol, "curvtol": asked.curvtol}
    found = ladder_.climb(scaled, y, ones, ones, f0, noise, **tolerances, rng=look.rng)
    if found.kind is Kind.UNSEEN:
        return found, []
    facts = {"amplitude": found.amplitude, "length": found.length, "smooth": found.smooth_up_to}
    return found, [remark("lengths", found.kind.value, **facts)]


def _allows(noise: Noise, ladder: Ladder, units: Units, d: int) -> Remark:
    """The least gradient and curvature that can be shown by differences of values so wrong, f being as curved at its
    third and fourth derivatives as at its second."""
    error = max(noise.level, 3 * ladder.amplitude if ladder.alarming else 0.0) / units.curvature
    slope = steps_.central_error(error, min(1.0, steps_.central_step(error)), 1.0)
    fourth = min(1.0, steps_.second_step(error))
    curved = 4 * error / fourth**2 + fourth**2 / 12
    gtol, curvtol = units.curvature * slope * math.sqrt(d), units.curvature * curved * d
    asked = Tolerances.relative(units.curvature)
    enough = "enough" if gtol <= asked.gtol and curvtol <= asked.curvtol else "short"
    facts = {"gtol": gtol, "curvtol": curvtol, "least": asked.gtol, "flattest": asked.curvtol}
    return remark("allows", enough, **facts)


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
            remarks.append(remark("domain", "fails", reach=reach, error=_short(error)))
            continue
        if found != "smooth" and (found != "flat" or reach >= STEPS.longest):
            worst, where = found, spot
    if len(remarks) < len(reaches):
        place = "at x0" if where <= step / 4 else f"{where:.1g} from x0"
        remarks.append(remark("smoothness", worst, place=place, step=step))
    return worst, remarks


def _short(error: EvaluationFailed) -> str:
    """What an error says, without its remedy."""
    said = str(error)
    return said.rpartition("; ")[0] or said


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
