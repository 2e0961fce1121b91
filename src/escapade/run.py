"""The driver: one loop for every method. Traces, limits, certificates and endings live here; budgets in the oracle."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import budget
from ._array import Array, to_numpy
from ._text import named
from .certificate import Certificate, Certifier, ScaledProblem
from .certificate.geometric import in_geometry, with_books
from .curvature import Evidence, Sparse
from .derivatives.gradient_check import check_gradient
from .derivatives.measure import Books
from .derivatives.units import lengths
from .domain import Geometry
from .errors import BudgetExhausted, EvaluationFailed, NonFiniteValue, OracleError
from .methods import PRESETS, Auto, Goal, Method
from .methods.auto import SampledAuto
from .oracle import Oracle
from .progress import Progress, progress
from .result import Result
from .stopping import Ending, Limits, Stop
from .trace import Iterate, Step, Trace
from .watch import VALUE_SAMPLES, Watch

LOG = logging.getLogger(__name__)

SILENT = (Stop.FINISHED, Stop.CERTIFIED, Stop.UNDECIDED, Stop.NOT_STATIONARY, Stop.SADDLE)
"""Endings that say what a point is, which a run without a certificate does not."""


@dataclass
class Run:
    """One run: the state that no method sees."""

    f: Oracle
    x: Array
    problem: ScaledProblem
    """f as the method sees it."""
    method: str | Method
    goal: Goal
    certifier: Certifier
    rng: np.random.Generator
    limits: Limits
    progress: bool
    geometry: Geometry = field(default_factory=Geometry)
    relative: bool = False
    """Whether tolerances are shares of units that are learnt at x0."""
    x_scale: Array = None
    certified: bool = True
    """Whether a certificate is asked for."""
    knows: bool = False
    """Whether the user knows some values."""
    y: Array = None
    """The point in the method's own variables."""
    asked: Certifier | None = None
    """The certifier in the user's variables."""
    trace: Trace = field(default_factory=Trace)
    watch: Watch | None = None
    """Of a sampled function."""
    constants: dict[str, float] = field(default_factory=dict)
    fun: float | None = None
    """The value at x, where the method knows it."""
    reserved: int = 0
    failure: float = 0.0
    """What the certificate states in all."""
    spent: float = 0.0
    """The failure probability of a method that certifies its own last iterate; 0 for others."""
    error: EvaluationFailed | None = None
    mistake: Exception | None = None
    """What the callback or the stopping rule raised."""

    def go(self) -> Result:
        name = self.method if isinstance(self.method, str) else self.method.name
        LOG.info("%s from a point of %d variables", name, self.x.shape[0])
        show = progress(self.progress, None if self.f.remaining == math.inf else int(self.f.remaining))
        message = ""
        try:
            result = self._result(name, show)
            message = result.message
        finally:
            show.close(message)
        LOG.info("%s ended after %d queries: %s", name, result.nfev, result.message)
        return result

    def _result(self, name: str, show: Progress) -> Result:
        ending, certificate = self._with_final_point(self._iterate(name, show)), None
        fresh = ending.value
        if not self.certified:
            ending = Ending(Stop.UNCERTIFIED) if ending.stop in SILENT else ending
        elif ending.final:
            certificate = self._unseen(ending)
        elif not ending.stop.quiet or (ending.stop is Stop.BUDGET and self.reserved):
            try:
                certificate = self._certify(ending)
            except (OracleError, KeyboardInterrupt) as error:
                ending = self._ended(error)
        why = str(self.error or "") if self.mistake is None else named(self.mistake)
        if ending.final and ending.evidence.finding is not None:
            why = why or ending.evidence.finding.reason
        result = Result.of(self.f, self.x, self.trace, ending.stop, certificate, why)
        result.update(method=name, constants=self.constants)
        if ending.stop in (Stop.JOINED, Stop.SET_ASIDE):  # where it was, and not a lower point that it happened to see
            result.update(x=self.x, fun=self.fun)
        if fresh is not None:
            result.update(fun=self.problem.value * fresh.value, fun_error=self.problem.value * fresh.error)
        watch = self.watch
        if watch is not None and self.x is watch.best and not (result.success and math.isfinite(result.fun)):
            result.update(fun=watch.value)
        return result

    def _ended(self, error: BaseException) -> Ending:
        """Every way a run can be cut short becomes an ending."""
        self.error = error if isinstance(error, EvaluationFailed) else None
        return Ending(Stop.after(error))

    def _with_final_point(self, ending: Ending) -> Ending:
        """A sampled run keeps no point at which f is higher than where it began."""
        watch, x = self.watch, self.x
        if watch is None:
            return ending
        if not ending.stop.quiet or ending.stop is Stop.BUDGET:
            try:
                x, far = watch.conclude(x)
                ending = Ending(Stop.DIVERGED) if far else ending
            except (OracleError, KeyboardInterrupt) as error:
                x, ending = watch.best, self._ended(error)
        else:
            x = watch.best
        if x is self.x:
            return ending
        self.x, self.y = x, self.problem.inside(x)
        return Ending(ending.stop)

    def _iterate(self, name: str, show: Progress) -> Ending:
        self.trace.x0, self.y = self.x, self.problem.inside(self.x)
        try:
            self._start()
            self._check_gradient()
            self._scale()
            f, y = self.problem.f, self.y
            method = self._configured(f, y)
            if self.spent == 0.0 and self.certified:  # the driver certifies its last iterate, inside the budget
                self._reserve(f, y.shape[0])
            if f.samples is not None and f.batch is None:
                self.watch = Watch(self.f, self.x)
            run = method.iterates(f, y, self.rng)
            while True:
                try:
                    iterate = next(run)
                except StopIteration as end:
                    ending: Ending = end.value
                    return ending if self.spent > 0 else Ending(ending.stop)
                if iterate.arrived:
                    stop = self._arrived(iterate)
                    if stop is not None:
                        return Ending(stop)
                    continue
                step = self._record(iterate)
                LOG.debug("%s  %s", name, step)
                show.step(step.nfev, f"{name}  {step}")
                try:
                    stop = self.limits.reached(self.trace, self.f.best[1], self.problem.value)
                except Exception as error:  # the user's own, whatever it is
                    self.mistake, stop = error, Stop.CALLBACK_ERROR
                if stop is None and self.watch is not None:
                    stop = self.watch.stop(self.x)
                if stop is not None:
                    return Ending(stop)
        except NonFiniteValue as error:
            last = [step.x for step in self.trace.steps[-2:]]
            return Ending(Stop.DIVERGED) if self.watch is not None and self.watch.lost(last) else self._ended(error)
        except (OracleError, KeyboardInterrupt) as error:
            return self._ended(error)
        finally:
            self.f.reserve(-self.reserved)

    def _arrived(self, iterate: Iterate) -> Stop | None:
        self.y, self.x = iterate.x, self.problem.outside(iterate.x)
        self.fun = iterate.in_units(self.problem.value).fun
        return self.limits.arrived(self.x, self.fun)

    def _start(self) -> None:
        """Start where f is lowest, of x0 and the points that the user knows; methods of papers start at x0.

        Queries: 1, where the user knows some values, but not that at x0
        """
        if not (self.knows and self.certifier.gradients and self.geometry.plain):
            return
        value = self.f.value(self.x)
        self.f.know(self.x[None, :], np.array([value]), given=False)
        x, best = self.f.best
        if best is not None and best < value:
            self.x = x + 0.0

    def _check_gradient(self) -> None:
        """Hold the user's gradient against values around x0, where it is used.

        Queries: those of `check_gradient`
        """
        if self.f.differentiable and self.f.samples is None:
            x, unit = to_numpy(self.x).astype(np.float64), self.x_scale
            scale = lengths(x) if unit is None else to_numpy(unit).astype(np.float64)
            check_gradient(self.f, self.x, scale, self.rng)

    def _scale(self) -> None:
        """State the problem in the units it is solved in; they are learnt first where no tolerances were given."""
        if self.relative:
            known: Any = {"x_scale": self.x_scale, "resolution": self.certifier.resolution}
            self.problem = ScaledProblem.learnt(self.f, self.x, self.rng, self.problem.frame, **known)
        self.asked = self.certifier
        self.y, self.certifier = self.problem.inside(self.x), self.problem.certifier(self.certifier)
        self.goal = self.goal.asked(self.certifier.tolerances, self.certifier.noise)

    def _configured(self, f: Oracle, y: Array) -> Method:
        method = self.method
        if isinstance(method, str):
            method, self.constants = PRESETS[method](f, y, self.rng, self.goal)
        if isinstance(method, Auto) and not f.domain.unbounded:
            method = replace(method, certifier=replace(self.certifier, x0=y))
        if isinstance(method, Auto) and isinstance(self.certifier.finder, Sparse):
            method = replace(method, sparsity=self.certifier.finder.sparsity)
        if isinstance(method, Auto | SampledAuto) and not self.certified:
            method = replace(method, certified=False)
        if hasattr(method, "finder") or getattr(method, "certifies", False):
            carrier: Any = getattr(method, "finder", method)
            self.spent = float(carrier.failure)
        asked = self.certifier.failure
        self.certifier = replace(self.certifier, failure=budget.of_driver(asked, self.spent))
        self.failure = budget.stated(asked, self.certifier.failure, self.spent)
        return method

    def _reserve(self, f: Oracle, d: int) -> None:
        if f.remaining < math.inf:
            self.reserved = int(f.remaining // 4)
            if f.samples is None:
                self.reserved = min(self.reserved, 24 * (d + 1) + 76)
            f.reserve(self.reserved)

    def _record(self, iterate: Iterate) -> Step:
        self.y, self.x = iterate.x, self.problem.outside(iterate.x)
        step = self.trace.add(iterate.in_units(self.problem.value), self.x, self.f.ledger, self.f.best[1])
        self.fun = step.fun
        return step

    def _certify_across(self, f: Oracle) -> Certificate:
        """The certificate of the last iterate across the invariances there, which are others than at the start."""
        began = Books.of(f)
        own = {"failure": self.certifier.failure, "x0": self.trace.x0, "x_scale": self.x_scale}
        task = replace(self.asked or self.certifier, **own)
        found = in_geometry(task, f, self.x, self.geometry, self.rng, relative=self.relative)
        return replace(with_books(found, f, began), failure=self.failure)

    def _unseen(self, ending: Ending) -> Certificate:
        """The certificate of a point around which nothing is asked for."""
        finding = ending.evidence.finding
        found = self.certifier.unseen(self.y, "" if finding is None else finding.reason)
        fun = math.nan if ending.value is None else ending.value.value
        return replace(self.problem.certificate(replace(found, fun=fun), self.x), failure=self.failure)

    def _certify(self, ending: Ending) -> Certificate:
        """The certificate of the last iterate, with the value there."""
        f, problem, evidence = self.f.tagged("certificate", pin=True), self.problem, ending.evidence
        if self.geometry.invariant is not None:
            return self._certify_across(f)
        if evidence.certificate is not None:
            return replace(problem.certificate(evidence.certificate, self.x), failure=self.failure)
        if evidence.finding is None or evidence.elsewhere(self.y):
            evidence = Evidence()
        certifier = replace(self.certifier, x0=self.trace.x0 if self.geometry.plain else problem.inside(self.trace.x0))
        found = certifier(problem.f.tagged("certificate", pin=True), self.y, self.rng, evidence)
        certificate = replace(problem.certificate(found, self.x), failure=self.failure)
        if math.isfinite(certificate.fun):
            return certificate
        if f.samples is None or f.batch is not None:  # the budget ended before the value
            return replace(certificate, fun=f.value(self.x))
        try:
            return replace(certificate, fun=f.on(f.draw(VALUE_SAMPLES, self.rng)).value(self.x))
        except BudgetExhausted:
            return certificate
