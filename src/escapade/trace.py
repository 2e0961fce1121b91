"""The trace of a run: one record an iterate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Self

from ._array import Array
from ._plain import plain, restored
from ._text import counted
from .oracle import Ledger


class Move(Enum):
    """What kind of step led to an iterate."""

    DESCENT = "descent"
    ESCAPE = "escape"
    PERTURB = "perturb"
    SEARCH = "search"


@dataclass(frozen=True)
class Iterate:
    """What a method yields: a point, how it got there, and what it happens to know about it."""

    x: Array
    move: Move = Move.DESCENT
    fun: float | None = None
    grad_norm: float | None = None
    arrived: bool = False
    """No new iterate: the method is about to certify this one."""
    estimated: bool = False
    """Whether `fun` is what a model thinks of a function with noise, and no value of it."""

    def in_units(self, value: float) -> Iterate:
        """The same of `value` times the function."""
        fun, slope = (None if one is None else value * one for one in (self.fun, self.grad_norm))
        return replace(self, fun=fun, grad_norm=slope)


@dataclass(frozen=True)
class Step:
    """One record of a trace: an iterate, and the books when it was reached."""

    nit: int
    """The number of the iterate."""
    move: Move
    """What kind of step led to it."""
    fun: float | None
    """Its value, where the method knows it."""
    grad_norm: float | None
    """The norm of the gradient that the method estimated, where it did."""
    nfev: int
    """Queries until then."""
    by_purpose: dict[str, int]
    """The same by purpose."""
    x: Array = None
    """The point, where it is kept."""
    best: float | None = None
    """The least value seen until then, stencils included (None for a sampled function)."""
    estimated: bool = False
    """Whether `fun` is a model's estimate, since values have noise."""

    def __str__(self) -> str:
        fun = "" if self.fun is None else f"  f = {self.fun:.8g}"
        size = "" if self.grad_norm is None else f"  |g| = {self.grad_norm:.2e}"
        return f"iterate {self.nit}  {counted(self.nfev, 'query', 'queries')}  {self.move.value}{fun}{size}"


HISTORY = 2**28
"""Bytes of records that are kept unless a run is asked for more, or for all."""

RECORD = 1000
"""Bytes of a record besides its point, about."""


@dataclass
class Trace:
    """The records of a run; a sequence as long as the run has iterates.

    Where they take more than `memory` bytes every other record is given up, all but the last two.
    """

    steps: list[Step] = field(default_factory=list)
    """The records that are kept."""
    x0: Array = None
    """Where the run began."""
    memory: float = field(default=HISTORY, compare=False, repr=False)
    """Bytes they may take."""
    count: int = field(init=False, default=0)
    """The iterates, kept or not."""
    escapes: int = field(init=False, default=0)
    """Those that escaped."""
    size: float = field(init=False, default=0.0, compare=False, repr=False)
    """Bytes, about."""

    def __post_init__(self) -> None:
        self.count = self.steps[-1].nit if self.steps else 0
        self.escapes = sum(step.move is Move.ESCAPE for step in self.steps)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Step:
        return self.steps[index]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def add(self, iterate: Iterate, x: Array, ledger: Ledger, best: float | None = None) -> Step:
        """Record an iterate, with x in the user's variables."""
        self.count += 1
        self.escapes += iterate.move is Move.ESCAPE
        books, known = dict(ledger.by_purpose), (iterate.move, iterate.fun, iterate.grad_norm)
        step = Step(self.count, *known, ledger.queries, books, x, best, iterate.estimated)
        self.steps.append(step)
        self.size += RECORD + 8 * x.shape[0]
        if self.size > self.memory and len(self.steps) > 2:
            before = len(self.steps)
            self.steps = [*self.steps[:-2:2], *self.steps[-2:]]
            self.size *= len(self.steps) / before
        return step

    def turned(self, turn: Callable[[Any], Any]) -> Trace:
        """The same with every point turned into something else."""
        x0 = None if self.x0 is None else turn(self.x0)
        steps = [replace(step, x=None if step.x is None else turn(step.x)) for step in self.steps]
        return Trace(steps, x0, self.memory)

    def plain(self) -> list[dict[str, Any]]:
        """The records as dictionaries of plain numbers."""
        return [plain(step) for step in self.steps]

    @classmethod
    def restored(cls, records: list[dict[str, Any]], x0: Array, dtype: str) -> Self:
        """The trace that `plain` gave the records of."""
        return cls([Step(**restored(Step, record, dtype)) for record in records], x0)
