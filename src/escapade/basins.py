"""What runs of one function from many starts know of one another: which minima were found, and who goes on.

A run that is about to ask for its certificate has arrived. It waits there until all others have arrived or ended; then
those at the best distinct points go on, and are certified. A run on its way that comes into the basin of a point at
which another has arrived joins it, and ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._array import Array, Matrix, Vector, like, norm, to_numpy
from ._settings import number
from .errors import OracleError
from .oracle import Oracle, points
from .stopping import Composable, Rule, Stop
from .trace import Move, Trace


@dataclass(frozen=True)
class BasinSettings:
    """When two points belong to one minimum."""

    near: float = number(
        0.01, "of the spread", "points of one minimum are nearer: runs end with a gradient of 1e-6 of the curvature, "
        "and arrive within about 1e-4; two hundred minima along a line would still be told apart",
        "derived: between what a gradient of gtol allows and the spacing of minima",
    )
    alike: float = number(
        1e-6, "of the range", "values at one minimum differ by less: a gradient of 1e-6 F moves f by 1e-12 F",
        "derived: a million times that",
    )
    reach: float = number(
        0.25, "of the spread", "a run looks only at minima nearer than this: of farther ones it seldom is in the basin",
        "benchmarks/multistart.py --first 900: at 1 it costs 1.5% of the queries and finds no more",
    )
    close: float = number(
        2e-4, "of the spread", "a run so near to where its steps lead has arrived: where f is about a parabola, a step "
        "that leaves a part q of the gradient leaves q / (1 - q) of its own length",
        "derived: a fiftieth of `near`",
    )
    fast: float = number(
        0.3, "factor", "the gradient falls so fast where a run converges, and not where it crawls along a valley",
        "derived: the next step is then a third of the last, or less",
    )
    looks: int = number(3, "looks", "a run looks so often whether it is in a known basin, three values each", "a limit")
    nearer: float = number(0.5, "factor", "and looks again at the same minimum once it is so much nearer", "a halving")


BASINS = BasinSettings()

BETWEEN = (0.137, 0.391, 0.713)
"""Where a segment is looked at: at no simple fractions of it, where a lattice of minima would seem to be one valley."""


def spread_of(rows: Matrix) -> float:
    """The length over which points differ: the root of the summed variances; that of the points where they are one."""
    spread = float(np.sqrt(np.sum(np.var(rows, axis=0))))
    return spread or float(np.max(np.abs(rows))) or 1.0


def distinct(rows: Matrix, values: Vector, spread: float) -> list[list[int]]:
    """The points sorted into minima, the lowest first, and within each the lowest first."""
    order = [int(i) for i in np.argsort(values, kind="stable") if math.isfinite(values[i])]
    scale = BASINS.alike * (float(np.ptp(values[order])) + abs(float(np.median(values[order])))) if order else 0.0
    groups: list[list[int]] = []
    for i in order:
        own = (g for g in groups if values[i] - values[g[0]] <= scale and _near(rows[i], rows[g[0]], spread))
        group = next(own, None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    return groups


def _near(x: Vector, y: Vector, spread: float) -> bool:
    return float(np.linalg.norm(x - y)) <= BASINS.near * spread


@dataclass
class Basins:
    """The points at which runs have arrived, by run."""

    wanted: int
    """The distinct minima to certify."""
    spread: float
    joining: bool = True
    """Whether runs on their way may join others."""
    arrived: dict[int, tuple[Vector, float]] = field(default_factory=dict)
    joined: dict[int, int] = field(default_factory=dict)
    """Runs that joined another on their way, and which."""
    sent: set[int] = field(default_factory=set)
    """Runs that were told to go on to their certificates."""

    def arrive(self, run: int, x: Array, fun: float) -> None:
        """Note where a run has arrived."""
        self.arrived[run] = (to_numpy(x).astype(np.float64), fun)

    def decide(self, waiting: Sequence[int]) -> Mapping[int, Stop | None]:
        """Who goes on (None) of the runs that wait, when all others have ended: at each of the best distinct points one
        run, unless one was sent there before. Where nobody goes on all end."""
        runs = list(self.arrived)
        rows, values = (np.array(one) for one in zip(*self.arrived.values(), strict=True))
        groups = [[runs[i] for i in group] for group in distinct(rows, values, self.spread)]
        answers: dict[int, Stop | None] = {}
        for group in groups[: self.wanted]:
            again = [run for run in group if run in self.sent and run in waiting]
            if again or not self.sent.intersection(group):
                answers[(again or [run for run in group if run in waiting])[0]] = None
        self.sent.update(answers)
        if answers:
            return answers
        joined = {run for group in groups for run in group if run in waiting and self.sent.intersection(group)}
        return {run: Stop.JOINED if run in joined else Stop.SET_ASIDE for run in waiting}

    def nearest(self, x: Vector, fun: float) -> tuple[int, float] | None:
        """The run that arrived nearest to x, at no higher value, and its distance."""
        seen = [(float(np.linalg.norm(x - y)), run) for run, (y, low) in self.arrived.items() if low <= fun]
        return None if not seen else (min(seen)[1], min(seen)[0])


@dataclass
class Gate(Composable):
    """The stopping rule of one run of many: that of its user, and whether it joins another or waits."""

    basins: Basins
    run: int
    wait: Callable[[], Any]
    """Waits where the run is, and is told its ending, or None to go on."""
    f: Oracle
    rule: Rule | None = None
    looks: int = 0
    """How often it has looked whether it joins another."""
    looked: dict[int, float] = field(default_factory=dict)
    """How far each minimum was when it was last looked at."""

    def __repr__(self) -> str:
        return repr(self.rule)

    def __call__(self, trace: Trace) -> Any:
        """Whether the run ends here.

        Queries: 3 where it may have joined another
        """
        if self.rule is not None and (ended := self.rule(trace)):
            return ended
        step = trace[-1]
        if step.fun is None or self.run in self.basins.sent:
            return None
        if self.basins.joining and self._joins(step.x, step.fun):
            return Stop.JOINED
        return self.arrived(step.x, step.fun) if self._close(trace) else None

    def arrived(self, x: Array, fun: float) -> Stop | None:
        """Wait at a point that is about to be certified; the ending, or None to go on."""
        self.basins.arrive(self.run, x, fun)
        answer: Stop | None = self.wait()
        return answer

    def _close(self, trace: Trace) -> bool:
        """Whether the last step, and what it left of the gradient, show that little is left."""
        if len(trace) < 2 or trace[-1].move is not Move.DESCENT:
            return False
        before, last = trace[-2], trace[-1]
        if before.grad_norm is None or last.grad_norm is None or last.grad_norm > BASINS.fast * before.grad_norm:
            return False
        part = last.grad_norm / max(before.grad_norm, 1e-300)
        return norm(last.x - before.x) * part / (1 - part) <= BASINS.close * self.basins.spread

    def _joins(self, x: Array, fun: float) -> bool:
        """Whether f is convex from here to the nearest point of arrival, and falls all the way."""
        here = to_numpy(x).astype(np.float64)
        nearest = self.basins.nearest(here, fun)
        if nearest is None or self.looks >= BASINS.looks:
            return False
        run, far = nearest
        if far > BASINS.nearer * self.looked.get(run, math.inf) or far > BASINS.reach * self.basins.spread:
            return False
        self.looks, self.looked[run] = self.looks + 1, far
        end, low = self.basins.arrived[run]
        ts = np.array([0.0, *BETWEEN, 1.0])
        rows = here + ts[1:-1, None] * (end - here)
        try:
            between = self.f(points(like(rows, x)))
        except OracleError:
            return False
        slopes = np.diff([fun, *between, low]) / np.diff(ts)
        if not (np.all(np.diff(slopes) >= 0) and slopes[-1] <= 0):
            return False
        self.basins.joined[self.run] = run
        return True
