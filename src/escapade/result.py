"""What `minimize` returns."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.optimize import OptimizeResult

from . import _html
from ._array import Array, Matrix, to_numpy
from ._plain import dtype_of, plain, restored
from ._text import counted, sentence
from .certificate import Certificate
from .certificate.certificate import COLOURS
from .errors import MissingCapability
from .oracle import Oracle
from .stopping import Stop
from .structure import Structure
from .trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNMOVED = "It is x0, unmoved."
SLIGHT = "f was seen to curve down there, by less than curvtol: ask for a smaller one, or give x_scale, to go on."
CERTIFIED = {"minimum": "A minimum was certified."}
"""What is said of a certificate that holds, where it says more than second-order."""

APART = ("certificate", "history", "stop", "structure")
"""Fields that are written in a form of their own."""

VECTORS = ("x", "x_best", "jac")
"""Fields in the structure of the point."""

SHOWN = {"saddle": "Its point is a saddle.", "not stationary": "Its point is not stationary."}
VERDICTS = {"saddle": Stop.SADDLE, "not stationary": Stop.NOT_STATIONARY, "undecided": Stop.UNDECIDED}


class Result(OptimizeResult):
    """SciPy's `OptimizeResult`, with what was proved.

    Attributes
    ----------
    x : array
        The point that the certificate is about, or the best one known where there is none.
    fun : float
        Its value; for a sampled function an average over many samples, or NaN if none was left, and for values with
        noise a mean of fresh ones.
    fun_error : float
        The standard error of `fun`, 0 for exact values; where values may have noise.
    success : bool
        True only if the certificate holds.
    status, stop : int, Stop
        Why the run ended, as a number and by name (the page on statuses).
    message : str
        The same in a sentence, and what was shown.
    certificate : Certificate or None
        What was shown about x.
    jac : array or None
        The gradient at x as the certificate measured it.
    hess : array or None
        The Hessian there, where the certificate took all second differences.
    nfev : int
        Queries: values that were delivered and counted.
    ncalls : int
        Calls of the user's function, failed ones among them.
    njev, ngrad : int
        Gradients of the user's own that were asked for, under SciPy's name and the library's.
    nhev : int
        Products with the Hessian of the user's own that were asked for.
    nknown : int
        Values that were not asked for, because they were known.
    nfev_by_purpose : dict of str to int
        Queries by what they were for.
    nrounds : int
        Rounds of queries that could be asked at once.
    nit : int
        Iterates.
    n_escapes : int
        Escapes from saddles.
    x_best, fun_best : array, float or None
        The best point evaluated at all, stencils included; None for a sampled function.
    history : Trace
        One record an iterate.
    method : str
        What ran.
    constants : dict of str to float
        The constants that were estimated for it.
    structure : Structure or None
        Where x is no vector: how it is put together.

    Examples
    --------
    >>> import escapade
    >>> result = escapade.minimize(lambda x: x @ x, [1.0, 2.0], rng=0)
    >>> result.message
    'A minimum was certified.'
    >>> result.success, result.status, result.certificate.verdict
    (True, 0, 'minimum')
    >>> escapade.Result.from_json(result.to_json()).nfev == result.nfev
    True
    """

    x: Array
    fun: float
    success: bool
    status: int
    message: str
    stop: Stop
    certificate: Certificate | None
    nfev: int
    ncalls: int
    nit: int
    njev: int
    nhev: int
    nknown: int
    ngrad: int
    nrounds: int
    n_escapes: int
    jac: Array
    structure: Structure | None
    hess: Array
    fun_error: float
    nfev_by_purpose: dict[str, int]
    x_best: Array
    fun_best: float | None
    history: Trace
    method: str
    constants: dict[str, float]

    @classmethod
    def of(
        cls,
        f: Oracle,
        x: Array,
        trace: Trace,
        stop: Stop,
        certificate: Certificate | None,
        why: str = "",
    ) -> Self:
        """The result of a run that ended at x, and what an error that ended it says."""
        (x_best, fun_best), ledger, fun, said = f.best, f.ledger, math.nan, ""
        if certificate is not None:
            fun = certificate.fun
            if certificate.holds:
                stop, said = Stop.CERTIFIED, CERTIFIED.get(certificate.verdict, Stop.CERTIFIED.sentence)
            elif stop in (Stop.FINISHED, Stop.CERTIFIED, Stop.UNDECIDED, Stop.NOT_STATIONARY):
                stop = VERDICTS[certificate.verdict]
                if stop is Stop.UNDECIDED and f.refused:
                    stop = Stop.BUDGET
                elif stop is Stop.UNDECIDED and certificate.noise_limited:
                    stop = Stop.NOISE_LIMITED
            if stop is Stop.UNDECIDED:
                why = why or certificate.reason
            if stop is Stop.NOISE_LIMITED:
                why = why or certificate.remedy
        elif trace.steps and trace[-1].estimated:  # the lowest of values with noise is luck
            fun = math.nan if trace[-1].fun is None else trace[-1].fun
        elif fun_best is not None:
            x, fun = x_best + 0.0, fun_best
        if not said:
            said = stop.sentence if certificate is None else _agreeing(stop, certificate)
        if stop is Stop.BUDGET:
            why = why or str(f.refused or "")
        slight = certificate is not None and certificate.holds and certificate.curvature.upper < 0
        unmoved = UNMOVED if certificate is not None and np.array_equal(to_numpy(x), to_numpy(trace.x0)) else ""
        result = cls()
        result.update(
            x=x,
            fun=fun,
            success=certificate is not None and certificate.holds,
            status=stop.status,
            message=" ".join(filter(None, (said, sentence(why), SLIGHT if slight else "", unmoved))),
            stop=stop,
            certificate=certificate,
            jac=None if certificate is None else certificate.jac,
            structure=None,
            hess=None if certificate is None else certificate.hessian,
            nfev=ledger.queries,
            ncalls=ledger.calls,
            nit=len(trace),
            nfev_by_purpose=dict(ledger.by_purpose),
            nrounds=ledger.rounds,
            njev=ledger.gradients,
            nhev=ledger.products,
            nknown=ledger.known,
            ngrad=ledger.gradients,
            n_escapes=trace.escapes,
            x_best=x_best,
            fun_best=fun_best,
            history=trace,
        )
        return result

    def to_json(self, **options: Any) -> str:
        """The result as JSON, its history included; NaN and infinities are null."""
        if self.structure is not None:
            flat = json.loads(self.flattened().to_json())
            if self.certificate is not None:
                flat["certificate"] = json.loads(self.certificate.to_json())
            return json.dumps(flat | {"structure": self.structure.plain()}, **options)
        data = {key: plain(value) for key, value in self.items() if key not in APART}
        certificate = None if self.certificate is None else json.loads(self.certificate.to_json())
        data |= {"stop": self.stop.name, "certificate": certificate, "history": self.history.plain()}
        data |= {"structure": None, "x0": plain(self.history.x0), "dtype": dtype_of(self.x)}
        return json.dumps(data, **options)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The result that `to_json` wrote; its arrays are those of NumPy."""
        data = json.loads(text)
        dtype = data["dtype"]
        certificate = None if data["certificate"] is None else Certificate.from_json(json.dumps(data["certificate"]))
        history = Trace.restored(data["history"], np.asarray(data["x0"], dtype=dtype), dtype)
        result = cls()
        result.update(restored(cls, {key: value for key, value in data.items() if key not in APART}, dtype))
        result.update(stop=Stop[data["stop"]], certificate=certificate, history=history, structure=None)
        structure = Structure.restored(data["structure"])
        return result if structure is None else result.shaped(structure)

    @property
    def hess_inv(self) -> Matrix | None:
        """Its inverse, where it is positive definite."""
        try:
            return None if self.certificate is None else self.certificate.covariance()
        except MissingCapability:
            return None

    def covariance(self, scale: float = 1.0) -> Matrix:
        """That of an estimate x, where f is a negative log-likelihood: see `Certificate.covariance`."""
        if self.certificate is None:
            raise MissingCapability(
                "no certificate was made of x, and no Hessian measured: certify(fun, x, finder='dense') does both"
            )
        return self.certificate.covariance(scale)

    def judged(self, certificate: Certificate) -> Self:
        """The same with another certificate of x, and what follows from it."""
        stop = Stop.CERTIFIED if certificate.holds else VERDICTS[certificate.verdict]
        said = CERTIFIED.get(certificate.verdict, stop.sentence)
        result = type(self)()
        result.update(self, certificate=certificate, success=certificate.holds, stop=stop, status=stop.status)
        result.update(message=said, fun=certificate.fun, jac=certificate.jac)
        return result

    def shaped(self, structure: Structure) -> Self:
        """The same with vectors in the structure of the user's point, those of certificate and history too."""
        return self._turned(structure, structure.built)

    def flattened(self) -> Self:
        """The same with vectors as vectors."""
        structure = self.structure
        return self if structure is None else self._turned(None, partial(structure.flat, what="x"))

    def _turned(self, structure: Structure | None, turn: Callable[[Any], Any]) -> Self:
        result = type(self)()
        result.update(self)
        result.update({key: turn(self[key]) for key in VECTORS if self[key] is not None}, structure=structure)
        certificate = self.certificate
        if certificate is not None:
            certificate = certificate.flattened() if structure is None else certificate.flattened().shaped(structure)
        result.update(certificate=certificate, history=self.history.turned(turn))
        return result

    def plot(self, ax: Axes | None = None, *, fun: Callable[[Array], Any] | None = None) -> Axes:
        """Draw f against queries, coloured by phase, with escapes and the certificate marked.

        Where a method did not ask for the value of an iterate, it comes from `fun`, which is called once for every
        such iterate and not counted, or is the least value seen until then. Without `fun` the curve begins at the
        first iterate. Needs Matplotlib: `pip install 'escapade[plot]'`. Queries: none.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from .plots import plot_run

        return plot_run(self, ax, fun)

    def __str__(self) -> str:
        lines = [f"{name:<12}{text}" for name, text in self.rows()]
        if self.certificate is not None:
            lines += ["certificate", *(f"  {line}" for line in str(self.certificate).splitlines())]
        return "\n".join(lines)

    __repr__ = __str__

    def rows(self) -> list[tuple[str, str]]:
        """What is printed before the certificate: names, and what is said of each."""
        spent = ", ".join(f"{name} {count}" for name, count in self.nfev_by_purpose.items())
        error = self.get("fun_error", 0.0)
        lines = [
            ("message", self.message),
            ("success", str(self.success)),
            ("fun", f"{self.fun:.10g}" + (f" +- {error:.2g}" if error > 0 else "")),
            ("x", _short(self.x if self.structure is None else self.structure.flat(self.x, "x"))),
            ("method", f"{self.method}, {counted(self.nit, 'iterate')}, {counted(self.n_escapes, 'escape')}"),
            ("queries", f"{self.nfev} in {counted(self.nrounds, 'round')}: {spent}"),
        ]
        lines += [(name, str(n)) for name, n in (("gradients", self.njev), ("products", self.nhev)) if n]
        if self.constants:
            named = ", ".join(f"{name} {value:.3g}" for name, value in self.constants.items())
            lines.append(("estimated", named))
        return lines

    def _repr_html_(self) -> str:
        (_, heading), *rows = self.rows()
        if self.certificate is None:
            return _html.page(heading, _html.OPEN, _html.table(rows))
        shown = _html.folded("certificate", _html.table(self.certificate.rows()), unfolded=True)
        return _html.page(heading, COLOURS[self.certificate.verdict], _html.table(rows), shown)


def _short(x: Array) -> str:
    values = [f"{v:.6g}" for v in to_numpy(x)[:6]]
    return f"[{', '.join(values)}{', ...' if x.shape[0] > 6 else ''}]"


def _agreeing(stop: Stop, certificate: Certificate) -> str:
    """Why a run ended, and what was shown of its point, where the ending does not say."""
    if stop in VERDICTS.values() or certificate.verdict == "undecided":
        return stop.sentence
    return f"{stop.sentence} {SHOWN[certificate.verdict]}"
