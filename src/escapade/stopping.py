"""Why a run ended, and rules that end one. Stopped is not converged: only a certificate is success.

>>> import escapade
>>> from escapade.stopping import Iterations, SmallGradient
>>> rule = SmallGradient(1e-3) | Iterations(5)
>>> escapade.minimize(lambda x: x @ x, [1.0, 2.0], method="zo-gd-ncf", stop=rule, rng=0).nit <= 5
True
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

import numpy as np
from scipy.optimize import OptimizeResult

from ._array import Array
from .curvature import Evidence, Finding
from .errors import BudgetExhausted, InvalidSetting, MissingValue, NonFiniteValue, TimeExhausted, UnboundedBelow
from .interval import Estimate
from .tolerances import require_positive
from .trace import Step, Trace


class Stop(Enum):
    """Why a run ended: a status number, and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        self.status, self.sentence = status, sentence

    CERTIFIED = 0, "A second-order stationary point was certified."
    BUDGET = 1, "The budget of queries (maxfev) ended the run."
    TIME = 2, "The time allowed (maxtime) is over."
    ITERATIONS = 3, "The iterations allowed (maxiter, or the method's own K) are over."
    CALLBACK = 4, "The callback asked to stop."
    RULE = 5, "A stopping rule was met."
    INTERRUPTED = 6, "The run was interrupted; the best point is kept."
    NON_FINITE = 7, "The function returned NaN or infinity; the best point is kept."
    USER_ERROR = 8, "The function failed; the best point is kept."
    SADDLE = 9, "The method stopped at a saddle: a direction of negative curvature was found there."
    NOT_STATIONARY = 10, "The method stopped where the gradient is not small."
    UNDECIDED = 11, "The method stopped, and neither a minimum nor a saddle could be shown there."
    NOISE_LIMITED = 16, "The method stopped where noise or roughness of the function hides what was asked for."
    UNCERTIFIED = 17, "The method finished; no certificate was asked for, and nothing was shown of the point."
    UNBOUNDED = 12, "The function seems to be unbounded below: it kept falling along the steps taken."
    FINISHED = 13, "The method finished."
    CALLBACK_ERROR = 14, "The callback or the stopping rule failed; the best point is kept."
    DIVERGED = 15, "The method diverged: f rose far above f(x0); the best point is kept."

    JOINED = 20, "The run came to a point that another run had found; it is not certified."
    SET_ASIDE = 21, "The run arrived at a point that is not among those to be certified."

    @property
    def quiet(self) -> bool:
        """Whether nothing more may be asked of the function after this ending (a budget may have been set aside)."""
        return self in (
            *(Stop.UNBOUNDED, Stop.BUDGET, Stop.TIME, Stop.CALLBACK, Stop.INTERRUPTED, Stop.NON_FINITE),
            *(Stop.USER_ERROR, Stop.CALLBACK_ERROR, Stop.JOINED, Stop.SET_ASIDE),
        )

    @classmethod
    def after(cls, error: BaseException) -> Stop:
        """What an error at the oracle's door, or Ctrl-C, means for a run."""
        kinds = (
            (BudgetExhausted, cls.BUDGET),
            (TimeExhausted, cls.TIME),
            (UnboundedBelow, cls.UNBOUNDED),
            (MissingValue, cls.UNDECIDED),
            (NonFiniteValue, cls.NON_FINITE),
            (KeyboardInterrupt, cls.INTERRUPTED),
        )
        return next((stop for kind, stop in kinds if isinstance(error, kind)), cls.USER_ERROR)


@dataclass(frozen=True)
class Ending:
    """What a method returns: why it stopped, and what it knows about its last iterate."""

    stop: Stop
    evidence: Evidence = field(default_factory=Evidence)
    value: Estimate[float] | None = None
    """Of a function with noise: the mean of fresh values at the last iterate, and its standard error."""
    final: bool = False
    """Whether nothing more is to be asked of f: noise hides what a certificate would look for."""

    @classmethod
    def of(cls, finding: Finding, evidence: Evidence | None = None) -> Ending:
        """The ending at a point where no direction was found."""
        stop = Stop.CERTIFIED if finding.certified else Stop.UNDECIDED
        return cls(stop, replace(evidence or Evidence(), finding=finding))


class Rule(Protocol):
    """A stopping rule: asked after every iterate. It may answer with the ending itself.

    A rule that has a method `arrived(x, fun)` is asked for an ending (or None) where a method is about to certify x.
    """

    def __call__(self, trace: Trace) -> bool: ...


class Composable:
    """Rules combine with | and &."""

    def __call__(self, trace: Trace) -> bool:
        raise NotImplementedError

    def __or__(self, other: Rule) -> Either:
        return Either(self, other)

    def __and__(self, other: Rule) -> Both:
        return Both(self, other)


@dataclass(frozen=True)
class Either(Composable):
    """One of two rules."""

    first: Rule
    second: Rule

    def __call__(self, trace: Trace) -> bool:
        return self.first(trace) or self.second(trace)


@dataclass(frozen=True)
class Both(Composable):
    """Both of two rules."""

    first: Rule
    second: Rule

    def __call__(self, trace: Trace) -> bool:
        return self.first(trace) and self.second(trace)


@dataclass(frozen=True)
class Below(Composable):
    """The value of an iterate, where the method knows it, is at most a target."""

    target: float

    def __post_init__(self) -> None:
        _require_number("Below(target)", self.target, -math.inf)

    def __call__(self, trace: Trace) -> bool:
        fun = trace[-1].fun
        return fun is not None and fun <= self.target


@dataclass(frozen=True)
class Iterations(Composable):
    """After `most` iterates."""

    most: int

    def __post_init__(self) -> None:
        _require_number("Iterations(most)", self.most, 1)

    def __call__(self, trace: Trace) -> bool:
        return len(trace) >= self.most


@dataclass(frozen=True)
class SmallGradient(Composable):
    """The norm of a gradient the method estimated is at most a target (first-order only)."""

    target: float

    def __post_init__(self) -> None:
        _require_number("SmallGradient(target)", self.target, 0)

    def __call__(self, trace: Trace) -> bool:
        size = trace[-1].grad_norm
        return size is not None and size <= self.target


@dataclass(frozen=True)
class Stagnation(Composable):
    """The best known value has not fallen by `decrease` over the last `window` iterates."""

    window: int
    decrease: float = 0.0

    def __post_init__(self) -> None:
        _require_number("Stagnation(window)", self.window, 1)
        _require_number("Stagnation(decrease)", self.decrease, -math.inf)

    def __call__(self, trace: Trace) -> bool:
        known = [step.fun for step in trace if step.fun is not None]
        if len(known) <= self.window:
            return False
        return min(known[: -self.window]) - min(known) <= self.decrease


def _require_number(name: str, value: float, least: float) -> None:
    """Refuse what is not a number of at least this size."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value >= least:
        bound = f", {least} at least" if least > -math.inf else ""
        raise InvalidSetting(f"{name}={value!r:.60} must be a number{bound}")


class Callback:
    """A user's callback, in either of SciPy's signatures; True from it means that it asked to stop."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise InvalidSetting(f"callback={function!r:.60} must be a callable, callback(x), or None")
        self.function = function
        self.by_name = set(inspect.signature(function).parameters) == {"intermediate_result"}

    def __call__(self, step: Step) -> bool:
        x = step.x + 0.0  # the user may write to it
        try:
            if self.by_name:
                shown = OptimizeResult()
                shown.update(x=x, fun=step.fun, nit=step.nit, nfev=step.nfev)
                shown.update(move=step.move.value, grad_norm=step.grad_norm)
                self.function(intermediate_result=shown)
            else:
                self.function(x)
        except StopIteration:
            return True
        return False


BOTTOMLESS = -1e20
"""A function that falls below so many times what it was, or its unit, is taken to be unbounded below."""


def bottomless(value: float, start: float | None, unit: float = 1.0) -> bool:
    """Whether a function that began at `start`, and is of the order of `unit`, has no bottom."""
    return value < BOTTOMLESS * (unit + abs(start or 0.0))


@dataclass
class Limits:
    """What ends a run from outside: asked after every iterate."""

    maxiter: int | None = None
    maxtime: float | None = None
    callback: Callback | None = None
    rule: Rule | None = None
    deadline: float = field(init=False, default=math.inf)
    """On the monotonic clock; the time starts when this object is made."""

    def __post_init__(self) -> None:
        if self.maxiter is not None:
            require_positive("maxiter", self.maxiter)
        if self.maxtime is not None:
            require_positive("maxtime", self.maxtime)
            self.deadline = time.monotonic() + self.maxtime
        if self.rule is not None and (isinstance(self.rule, type) or not callable(self.rule)):
            raise InvalidSetting(
                f"stop={self.rule!r:.60} must be a rule of escapade.stopping, such as Iterations(100) | Below(0.5), or "
                "a function of the trace; for a number of iterates pass maxiter, for one of queries maxfev"
            )

    def reached(self, trace: Trace, best: float | None, unit: float = 1.0) -> Stop | None:
        """The first limit reached, if any, with the best value seen of a function of the order of `unit`."""
        if best is not None and bottomless(best, trace[0].fun, unit):
            return Stop.UNBOUNDED
        if self.callback is not None and self.callback(trace[-1]):
            return Stop.CALLBACK
        if self.rule is not None and (met := self.rule(trace)):
            return met if isinstance(met, Stop) else Stop.RULE
        if time.monotonic() > self.deadline:
            return Stop.TIME
        return Stop.ITERATIONS if self.maxiter is not None and len(trace) >= self.maxiter else None

    def arrived(self, x: Array, fun: float | None) -> Stop | None:
        """The ending of a run that is about to certify x, if the rule has one."""
        asked = getattr(self.rule, "arrived", None)
        return None if asked is None or fun is None else asked(x, fun)
