"""`escapade paper rates`: how queries grow with 1/delta, 1/epsilon and d, beside what the theorems say."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidSetting
from .claims import Verdict
from .fitting import LOOSE, Answer, Fit, compare, fit, slope
from .introduction import never_worse, root_epsilon_better, tasks_of
from .rate_catalogue import FEWEST, sweeps
from .rate_runs import PRINTED, Measurement, Sweep, measure
from .runner import Progress, Work, _need, make
from .store import Store, versions, written

FORMAT = 1
"""Raised when what is kept of a run, or how a run is made, changes."""


@dataclass(frozen=True)
class PointTask:
    """The runs of a sweep at one of its points."""

    sweep: Sweep
    point: float
    seeds: tuple[int, ...]
    root: Path

    @property
    def cost(self) -> float:
        """Harder points of a sweep take longer."""
        return self.sweep.points.index(self.point)

    @property
    def key(self) -> str:
        """Everything that the runs depend on but the seed and the code."""
        free = ("points", "steps_alone")
        spec = {name: value for name, value in asdict(self.sweep.at(self.point)).items() if name not in free}
        whole = json.dumps([FORMAT, version("escapade"), spec], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()

    def _path(self, seed: int) -> Path:
        return self.root / "runs" / "rates" / f"{self.key[:20]}-{seed}.json"

    def load(self, seed: int) -> Measurement | None:
        """The finished run with these settings, if there is one."""
        try:
            kept = json.loads(self._path(seed).read_text(encoding="utf-8"))
            return Measurement(**kept["run"]) if kept["key"] == self.key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def todo(self) -> tuple[int, ...]:
        """The seeds that no finished run with the same settings exists for."""
        return tuple(seed for seed in self.seeds if self.load(seed) is None)

    def __call__(self, seed: int) -> str:
        """Make and keep one run."""
        run = measure(self.sweep, self.point, seed)
        kept = {"key": self.key, "sweep": self.sweep.name, "point": self.point, "seed": seed, "run": asdict(run)}
        with written(self._path(seed)) as file:
            json.dump(kept, file)
        return f"{self.sweep.name} = {self.point:g}, seed {seed}"

    def runs(self) -> list[Measurement]:
        """The finished runs."""
        found = (self.load(seed) for seed in self.seeds)
        return [run for run in found if run is not None]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What one sweep showed: a line of the table."""

    method: str
    theorem: str
    variable: str
    instance: str
    settings: dict[str, float]
    points: list[float]
    hardness: list[float]
    """1/delta, 1/epsilon or d."""
    medians: list[float]
    """Of the queries of the runs that returned; NaN never: a point where most runs did not return is left out."""
    lows: list[float]
    highs: list[float]
    """The least and the most queries of a run."""
    counts: list[float]
    """The theorem's, with every hidden constant one."""
    runs: int
    ended: int
    kept: int
    """Runs, those that returned, and those whose answer exact derivatives confirm."""
    exponent: float | None
    low: float | None
    high: float | None
    logarithmic: bool
    theory: float
    """The exponent of `counts` on the same points, by the same fit."""
    printed: float
    """The leading power of the theorem."""
    kind: str
    by: float

    @property
    def answer(self) -> Answer:
        """How the two compare."""
        return Answer(self.kind, self.by)  # type: ignore[arg-type]

    @property
    def verdict(self) -> str:
        """The same in words."""
        grows = {"delta": "1/delta", "epsilon": "1/epsilon", "d": "d"}[self.variable]
        law = f": queries grow like log({grows})" if self.logarithmic and self.kind == LOOSE else ""
        return f"{self.answer}{law}"

    @property
    def claim(self) -> str:
        """What is asked."""
        base = {"delta": "(1/delta)", "epsilon": "(1/epsilon)", "d": "d"}[self.variable]
        return f"{self.theorem}: queries of {self.method} grow like {base}^{self.theory:.2f} on: {self.instance}"


def judge(sweep: Sweep, runs: Sequence[Sequence[Measurement]]) -> Rate:
    """Fit a sweep's runs, point by point, and compare.

    A point counts where more than half of its runs returned, and then through these alone.
    """
    counts = [
        [run.purposes.get("descent", 0) if sweep.steps_alone else run.queries for run in at if run.ended] for at in runs
    ]
    good = [i for i, at in enumerate(runs) if 2 * len(counts[i]) > len(at)]
    hardness, theory = [sweep.hardness[i] for i in good], [sweep.theory(sweep.points[i]) for i in good]
    fitted: Fit | None = None
    if len(good) >= FEWEST:
        fitted = fit(hardness, [counts[i] for i in good])
        expected = slope(hardness, theory)
    else:
        expected = slope(sweep.hardness, [sweep.theory(point) for point in sweep.points])
    answer = compare(fitted, expected)
    names = ("d", "epsilon", "delta", "sigma", "kappa")
    return Rate(
        method=sweep.method,
        theorem=sweep.theorem,
        variable=sweep.variable,
        instance=sweep.label,
        settings={name: getattr(sweep, name) for name in names if name != sweep.variable},
        points=[sweep.points[i] for i in good],
        hardness=hardness,
        medians=[float(np.median(counts[i])) for i in good],
        lows=[float(min(counts[i])) for i in good],
        highs=[float(max(counts[i])) for i in good],
        counts=theory,
        runs=sum(len(at) for at in runs),
        ended=sum(run.ended for at in runs for run in at),
        kept=sum(run.kept for at in runs for run in at),
        exponent=None if fitted is None else fitted.exponent,
        low=None if fitted is None else fitted.low,
        high=None if fitted is None else fitted.high,
        logarithmic=fitted is not None and fitted.logarithmic,
        theory=expected,
        printed=PRINTED[sweep.theorem, sweep.variable],
        kind=answer.kind,
        by=answer.by,
    )


@dataclass(frozen=True)
class RatesOutcome:
    """Where the results lie, and what came of them."""

    out: Path
    report: Path
    rates: tuple[Rate, ...]
    verdicts: tuple[Verdict, ...]
    seconds: float


def run_rates(
    *,
    quick: bool = False,
    seeds: int = 10,
    out: str | Path = "rates",
    workers: int | None = None,
    chosen: Sequence[Sweep] | None = None,
    progress: Progress | None = None,
) -> RatesOutcome:
    """Measure the exponents, and judge the introduction's two claims.

    Parameters
    ----------
    quick : bool
        Fewer points, and at most two seeds.
    seeds : int
        Runs at every point.
    out : path
        The folder of results. Finished runs with the same settings that lie there are not made again.
    workers : int, optional
        Processes; None takes as many as there are cores, four at most.
    chosen : sweeps, optional
        Others than those of the catalogue; the runs behind the introduction's claims are then left out.
    progress : callable, optional
        `progress(done, total, text)`, called after every run.
    """
    from .rate_page import draw, write_page  # which reads `Rate`

    began = time.perf_counter()
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise InvalidSetting(f"seeds={seeds!r} must be a positive integer")
    _need("matplotlib")
    root, seeds = Path(out), min(seeds, 2) if quick else seeds
    asked = sweeps(quick) if chosen is None else tuple(chosen)
    each = tuple(range(seeds))
    points = {sweep: [PointTask(sweep, point, each, root) for point in sweep.points] for sweep in asked}
    panels = tasks_of(Store(root), each, quick) if chosen is None else []
    once = {task.key: task for tasks in points.values() for task in tasks}  # two sweeps may look at the same runs
    work: list[Work] = [*panels, *once.values()]
    make(work, workers, progress or (lambda done, total, text: None))
    rates = tuple(judge(sweep, [task.runs() for task in tasks]) for sweep, tasks in points.items())
    records = [record for task in panels for record in task.records()]
    verdicts = (never_worse(records), root_epsilon_better())
    summary = summary_of(rates, verdicts, seeds, quick)
    with written(root / "rates.json") as file:
        json.dump(summary, file, indent=1)
        file.write("\n")
    draw(rates, root / "rates.png")
    report = write_page(root / "rates.html", summary, root / "rates.png")
    return RatesOutcome(root, report, rates, verdicts, time.perf_counter() - began)


def summary_of(
    rates: Sequence[Rate], verdicts: Sequence[Verdict], seeds: int, quick: bool
) -> dict[str, Any]:
    """What is written of all this: no time and no place, so that the same runs give the same file."""
    return {
        "seeds": seeds,
        "quick": quick,
        "versions": versions(),
        "rates": [_rounded(asdict(rate)) for rate in rates],
        "claims": [asdict(one) | {"answer": one.answer, "verdict": one.verdict} for one in verdicts],
    }


def rates_in(summary: dict[str, Any]) -> list[Rate]:
    """The lines of a summary, whose verdicts are computed again from its numbers."""
    names = {field.name for field in fields(Rate)}
    return [Rate(**{name: value for name, value in one.items() if name in names}) for one in summary["rates"]]


def _rounded(value: Any) -> Any:
    """Six digits are more than a rate has."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value
