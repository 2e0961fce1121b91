"""Run every panel of the figures asked for, seed by seed, and write what was found."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from ..errors import InvalidSetting, MissingCapability
from .catalogue import FIGURES, panels_of
from .claims import Verdict, judge_all
from .evidence import Evidence
from .failures import Failure, failures_of
from .figures import draw
from .page import write_report
from .panels import Curve, Panel
from .records import Record
from .runs import runs_of
from .store import Store, digest_of
from .summary import summarise

NAMES = tuple(FIGURES)

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

Progress = Callable[[int, int, str], None]
"""Called with the runs finished, the runs in all, and a word on the last one."""


@dataclass(frozen=True)
class Outcome:
    """Where the results lie, and what came of the claims."""

    out: Path
    report: Path
    verdicts: tuple[Verdict, ...]
    failures: tuple[Failure, ...]
    records: tuple[Record, ...]
    missing: dict[str, str]
    """Figures that could not be run, and why."""
    seconds: float


class Work(Protocol):
    """Runs that `make` makes, a seed at a time, in any process."""

    @property
    def seeds(self) -> tuple[int, ...]: ...

    @property
    def cost(self) -> float: ...

    def todo(self) -> tuple[int, ...]: ...

    def __call__(self, seed: int) -> str: ...


@dataclass(frozen=True)
class Task:
    """Runs that are made together: one curve of one panel."""

    panel: Panel
    curve: Curve
    seeds: tuple[int, ...]
    data: Path | None
    store: Store
    digest: str

    @property
    def cost(self) -> float:
        """A guess at how long a run takes, in any unit."""
        return _cost(self)

    def todo(self) -> tuple[int, ...]:
        """The seeds that no finished run with the same settings exists for."""
        return tuple(s for s in self.seeds if self.store.load(self.panel, self.curve, s, self.digest) is None)

    def __call__(self, seed: int) -> str:
        """Make and keep one run."""
        for record in runs_of(self.panel, self.curve, [seed], self.data):
            self.store.save(self.panel, self.curve, record, self.digest)
        return f"{self.panel.figure}, {self.panel.title}: {self.curve.label}, seed {seed}"

    def records(self) -> list[Record]:
        """The finished runs."""
        found = (self.store.load(self.panel, self.curve, seed, self.digest) for seed in self.seeds)
        return [record for record in found if record is not None]


def run(
    names: Sequence[str] | str = "all",
    *,
    quick: bool = False,
    seeds: int = 10,
    out: str | Path = "paper",
    data: str | Path | None = None,
    workers: int | None = None,
    budget: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Reproduce figures of the paper and judge its claims.

    Parameters
    ----------
    names : "all", or some of `NAMES`
    quick : bool
        Smaller dimensions and budgets, and at most three seeds.
    seeds : int
        Runs of every curve.
    out : path
        The folder of results. Finished runs with the same settings that lie there are not made again.
    data : path, optional
        The w1a file; without it, the one that `load_libsvm` finds or fetches.
    workers : int, optional
        Processes; None takes as many as there are cores, four at most.
    budget : int, optional
        The most queries of a run, where that is less than the experiment's own.
    progress : callable, optional
        `progress(done, total, text)`, called after every run.
    """
    began = time.perf_counter()
    chosen = _chosen(names)
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise InvalidSetting(f"seeds={seeds!r} must be a positive integer")
    _need("matplotlib", "plotly")
    store, file = Store(Path(out)), None if data is None else Path(data)
    panels, missing = possible(panels_of(chosen, quick, budget), file, required=chosen != NAMES)
    seeds = min(seeds, 3) if quick else seeds
    tasks = [
        Task(panel, curve, tuple(range(min(seeds, panel.seeds or seeds))), file, store, _digest(panel, curve, file))
        for panel in panels
        for curve in panel.curves
    ]
    make(tasks, workers, progress or (lambda done, total, text: None))
    records = [record for task in tasks for record in task.records()]
    about = {"figures": chosen, "quick": quick, "seeds": seeds, "missing": missing}
    verdicts, failures = conclude(store, records, panels, file, about)
    took = time.perf_counter() - began
    return Outcome(store.root, store.root / "report.html", verdicts, failures, tuple(records), missing, took)


def conclude(
    store: Store, records: list[Record], panels: list[Panel], data: Path | None, about: dict[str, Any]
) -> tuple[tuple[Verdict, ...], tuple[Failure, ...]]:
    """Judge the claims, and write the tidy files, the summary, the figures and the report."""
    evidence = Evidence(records, panels)
    verdicts, failures = judge_all(evidence, about["figures"]), failures_of(evidence, panels, data)
    details = {
        "panels": [asdict(panel) for panel in panels],
        "methods": {f"{one.figure} | {one.panel} | {one.curve}": one.method for one in records},
        "claims": [asdict(verdict) | {"verdict": verdict.verdict} for verdict in verdicts],
        "failures": [asdict(failure) for failure in failures],
    }
    store.tidy(records, about | details)
    store.summary(summarise(evidence, verdicts, failures, about))
    draw(evidence, store.root / "figures")
    write_report(store.root / "report.html", evidence, verdicts, failures, about["missing"], quick=about["quick"])
    return tuple(verdicts), tuple(failures)


def _chosen(names: Sequence[str] | str) -> tuple[str, ...]:
    asked = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in asked if name not in (*NAMES, "all")]
    if unknown or not asked:
        raise InvalidSetting(f"there is no figure {unknown[0] if unknown else ''!r}: choose all, {', '.join(NAMES)}")
    return NAMES if "all" in asked else tuple(name for name in NAMES if name in asked)


def _need(*packages: str) -> None:
    """Say what is missing before the runs, not after them."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise MissingCapability(f"the figures need {' and '.join(missing)}: pip install 'escapade[cli]'")


def _digest(panel: Panel, curve: Curve, data: Path | None) -> str:
    """What a run depends on besides its panel and its row: the settings made from the row, and the data."""
    method = repr(panel.method(curve, panel.problem(0, data)))
    return method + (digest_of(data) if panel.family == "least-squares" else "")


def possible(panels: list[Panel], data: Path | None, required: bool) -> tuple[list[Panel], dict[str, str]]:
    """The panels whose data is there; without it "all" goes on without them, and says so."""
    if not any(panel.family == "least-squares" for panel in panels):
        return panels, {}
    try:
        panels[-1].problem(0, data)
    except FileNotFoundError as error:
        if required or data is not None:
            raise
        return [panel for panel in panels if panel.family != "least-squares"], {"least-squares": str(error)}
    return panels, {}


def make(tasks: Sequence[Work], workers: int | None, progress: Progress) -> None:
    """All runs that are not there yet, seed by seed, the longest first."""
    todo = [(task, seed) for task in tasks for seed in task.todo()]
    total = sum(len(task.seeds) for task in tasks)
    done = total - len(todo)
    todo.sort(key=lambda pair: (pair[1], -pair[0].cost))
    many = workers or max(1, min(4, os.cpu_count() or 1))
    if done:
        progress(done, total, f"{done} finished runs read back")
    if many == 1 or len(todo) < 2:
        for task, seed in todo:
            done += 1
            progress(done, total, task(seed))
        return
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with _one_thread_each(), ProcessPoolExecutor(many, context, initializer=_leave_interrupts) as pool:
        futures = [pool.submit(task, seed) for task, seed in todo]
        try:
            for future in as_completed(futures):
                done += 1
                progress(done, total, future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the first one deals with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cost(task: Task) -> float:
    row, panel = task.curve.row, task.panel
    if row is None:
        return 0.0
    each = 40.0 if panel.family == "least-squares" else 20.0 if panel.form == "rotated" else 1.0
    return each * panel.budget * (1.0 if row.algorithm in ("RSPI", "ZO-SCSG-NCF II", "ZO-SPIDER-NCF") else 0.5)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started in here give BLAS one thread each."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
