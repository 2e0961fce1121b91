"""The value of f against the queries spent, cut into phases. Pure numbers, no drawing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .._array import Array
from ..certificate import Certificate
from ..errors import InvalidSetting
from ..stopping import Stop
from ..trace import Move, Step, Trace

PHASES = ("set-up", "descent", "curvature search", "escape", "certificate")
"""In the order in which the queries of one iterate are drawn."""

PURPOSES = {
    "setup": "set-up", "curvature": "curvature search", "escape": "escape", "certificate": "certificate",
    "ladder": "certificate",
}
"""The phase of a purpose; of every other, descent."""


class Drawable(Protocol):
    """What is read of a result."""

    history: Trace
    nfev_by_purpose: dict[str, int]
    nfev: int
    fun: float
    certificate: Certificate | None
    method: str
    stop: Stop


@dataclass
class Curve:
    """A polyline in pieces of one phase each, and the points at which escapes begin."""

    pieces: list[tuple[str, list[tuple[float, float]]]] = field(default_factory=list)
    escapes: list[tuple[float, float]] = field(default_factory=list)
    best_seen: bool = False
    """Whether some values are the least seen until then, because the method did not ask for those of its iterates."""

    def extend(self, phase: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Go from one point to another; pieces of the same phase are joined."""
        if start == end:
            return
        if self.pieces and self.pieces[-1][0] == phase:
            self.pieces[-1][1].append(end)
        else:
            self.pieces.append((phase, [start, end]))


def curve_of(run: Drawable, fun: Callable[[Array], Any] | None = None) -> Curve:
    """f against queries.

    Within an iterate, f stays where it was while the queries of other phases are spent, and changes over those of the
    step itself. Values the method did not ask for are taken from `fun`, or are the least seen until then.
    """
    curve, books = Curve(), dict[str, int]()
    y = None if fun is None or run.history.x0 is None else float(fun(run.history.x0))
    n = 0
    for step in run.history:
        value = _value(step, fun, curve)
        own = "escape" if step.move in (Move.ESCAPE, Move.PERTURB) else "descent"
        spent = _phases(step.by_purpose, books)
        if y is not None:  # where f began is not known otherwise
            start = (float(n), y)
            for phase in PHASES:
                if phase != own and phase in spent:
                    end = (start[0] + spent[phase], y)
                    curve.extend(phase, start, end)
                    start = end
            curve.extend(own, start, (float(step.nfev), value))
            if step.move is Move.ESCAPE:
                curve.escapes.append(start)
        elif step.move is Move.ESCAPE:
            curve.escapes.append((float(step.nfev), value))
        n, y, books = step.nfev, value, step.by_purpose
    _finish(curve, run, n, y, books)
    return curve


def _finish(curve: Curve, run: Drawable, n: int, y: float | None, books: Mapping[str, int]) -> None:
    """What was spent after the last iterate: all of it served the certificate, if there is one that holds."""
    last = run.fun if math.isfinite(run.fun) else y
    if last is None:
        return
    start = (float(n), last if y is None else y)
    spent = _phases(run.nfev_by_purpose, books)
    if run.certificate is not None and run.certificate.holds:
        spent = {"certificate": sum(spent.values())}
    for phase, queries in spent.items():
        end = (start[0] + queries, last)
        curve.extend(phase, start, end)
        start = end


def _value(step: Step, fun: Callable[[Array], Any] | None, curve: Curve) -> float:
    if step.fun is not None:
        return step.fun
    if fun is not None:
        return float(fun(step.x))
    if step.best is None:
        raise InvalidSetting(
            "the values at the iterates of a sampled function are not known: pass fun=, a function of x that returns "
            "the average over the samples of your choice (it is called once for every iterate, and not counted)"
        )
    curve.best_seen = True
    return step.best


def _phases(books: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """The queries of each phase since the books stood as before, in the order of the phases."""
    spent = dict.fromkeys(PHASES, 0)
    for purpose, count in books.items():
        spent[PURPOSES.get(purpose, "descent")] += count - before.get(purpose, 0)
    return {phase: count for phase, count in spent.items() if count}
