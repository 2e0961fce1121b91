"""The certificate: two intervals, and the verdict read off them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import Any

from .._array import Array, to_numpy
from .._text import counted
from ..domain import Frame
from ..interval import Interval
from ..tolerances import Units
from .rules import Verdict
from .scale import Lengths


@dataclass(frozen=True)
class Trusted:
    """A constant the certificate relies on, and where it came from: given, estimated, rounding, or the whole sum."""

    value: float
    source: str

    def __str__(self) -> str:
        return f"{self.value:.2g} ({self.source})"


@dataclass(frozen=True)
class ActiveSets:
    """Where the variables of a bounded problem are: indices, and the slopes inward from the bounds."""

    free: tuple[int, ...] = ()
    strong: tuple[int, ...] = ()
    """On a bound from which f rises by more than gtol."""
    weak: tuple[int, ...] = ()
    """On a bound, and not strongly."""
    fixed: tuple[int, ...] = ()
    """Their bounds leave them one value."""
    multipliers: dict[int, Interval] = field(default_factory=dict)
    """Intervals that hold the slopes inward of the variables on bounds: the Lagrange multipliers."""

    def times(self, factor: float) -> ActiveSets:
        """The same of a multiple of f."""
        return replace(self, multipliers={i: held * factor for i, held in self.multipliers.items()})

    def owned(self, frame: Frame, d: int) -> ActiveSets:
        """The same in the variables outside of a frame: those that it leaves no freedom are fixed."""
        strong, weak = (tuple(frame.owner(i) for i in part) for part in (self.strong, self.weak))
        moved = frame.moved(d)
        free = tuple(i for i in moved if i not in strong and i not in weak)
        fixed = tuple(i for i in range(d) if i not in moved)
        held = {frame.owner(i): interval for i, interval in self.multipliers.items()}
        return ActiveSets(free, strong, weak, fixed, held)

    def __str__(self) -> str:
        parts = {"free": self.free, "strongly active": self.strong, "weakly active": self.weak, "fixed": self.fixed}
        return ", ".join(f"{len(part)} {name}" for name, part in parts.items() if part) or "none"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What was shown about a point, at what confidence and cost.

    The verdict is "saddle" if a direction of curvature at most -curvtol/2 was confirmed, whatever else holds;
    "second-order" if the gradient norm is at most gtol and the smallest eigenvalue of the Hessian at least -curvtol;
    "minimum" if besides the eigenvalue is at least some lambda > 0 with rho |g| < lambda^2 / 2, and a Newton step that
    leaves the stencil lands where it should, so that a strict minimiser lies within `radius`; "not stationary" if the
    gradient norm exceeds gtol; else "undecided".
    """

    verdict: Verdict
    gradient: Interval
    """Holds the norm of the gradient."""
    curvature: Interval
    """Holds the smallest eigenvalue of the Hessian."""
    direction: Array = None
    """At a saddle, a unit vector along which f decreases."""
    radius: float | None = None
    """At a minimum, a strict minimiser is at most this far away (in x / x_scale if that was given)."""
    x: Array = None
    fun: float = math.nan
    gtol: float = math.nan
    curvtol: float = math.nan
    failure: float = math.nan
    """The probability with which a certificate that holds may be false."""
    finder: str = ""
    reason: str = ""
    remedy: str = ""
    """For an undecided verdict, what could be certified or changed."""
    lengths: Lengths | None = None
    """The lengths over which f was seen to follow what is claimed; None where f was not looked at that far."""
    roughness: float = 0.0
    """The amplitude of structure of f below `lengths`; 0 if none was seen."""
    attainable: tuple[float, float] | None = None
    """For an undecided verdict, the gtol and the curvtol that could be shown there."""
    trusted: dict[str, Trusted] = field(default_factory=dict)
    """What values alone cannot show and the certificate is conditional on."""
    nfev: int = 0
    nfev_by_purpose: dict[str, int] = field(default_factory=dict)
    nrounds: int = 0
    seed: int | None = None
    active: ActiveSets | None = None
    """Where there are bounds: the variables that are free, strongly and weakly active, and fixed, and the multipliers.
    `gradient` then holds the residual of the Karush-Kuhn-Tucker conditions, and `curvature` the smallest eigenvalue of
    the Hessian in the free and weakly active variables."""
    invariant: int = 0
    """The dimension of the directions along which f was seen not to change: curvature is that of their complement."""
    scaled: bool = False
    """Whether norms and curvatures are those in x / x_scale, or in the units that were learnt."""
    units: Units | None = None
    """Where no tolerances were given: the lengths s learnt for the variables, and the curvature F of f(s y) of which
    the tolerances are shares. Intervals, radius and direction are then those of y = x / s."""

    @property
    def holds(self) -> bool:
        """The point was shown to be second-order stationary: the verdict is "minimum" or "second-order"."""
        return self.verdict in ("minimum", "second-order")

    @property
    def noise_limited(self) -> bool:
        """Noise, digits or roughness of f hide what was asked for: looser tolerances, `attainable`, could be shown."""
        noise = self.trusted.get("noise")
        return self.attainable is not None and noise is not None and noise.source != "rounding"

    @property
    def confidence(self) -> float:
        """1 - failure."""
        return 1 - self.failure

    def to_json(self, **options: Any) -> str:
        """The certificate as JSON; infinities are null."""
        data = {
            name: _plain(getattr(self, name))
            for name in self.__dataclass_fields__  # the fields in their order
        }
        return json.dumps({**data, "holds": self.holds}, **options)

    def __str__(self) -> str:
        lines = [
            f"verdict     {self.verdict}: {SENTENCES[self.verdict]}",
            f"gradient    norm in {self.gradient}, tolerance {self.gtol:.3g}",
            f"curvature   smallest eigenvalue in {self.curvature}, tolerance {-self.curvtol:.3g}",
        ]
        if self.active is not None:
            lines.append(f"variables   {self.active}")
        if self.invariant:
            lines.append(f"invariant   along {counted(self.invariant, 'direction')}: curvature is that across them")
        if self.radius is not None:
            variables = "x / x_scale" if self.scaled and self.units is None else "x"
            lines.append(f"minimiser   within {self.radius:.2g} of {variables}")
        if self.lengths is not None:
            rough = f", rough below by {self.roughness:.2g}" if self.roughness else ""
            lines.append(f"lengths     seen over {self.lengths}{rough}")
        if self.units is not None:
            lines.append(f"units       {self.units}: norms and curvatures are those of y = x / lengths")
        lines.append(f"how         {self.finder or 'gradient alone'}: {self.reason}")
        if self.remedy:
            lines.append(f"remedy      {self.remedy}")
        given = ", ".join(f"{name} {constant}" for name, constant in self.trusted.items())
        lines.append(f"trusting    {given or 'nothing'}")
        lines.append(
            f"cost        {counted(self.nfev, 'query', 'queries')} in {counted(self.nrounds, 'round')}, "
            f"failure probability at most {self.failure:.3g}"
            + (", in scaled variables" if self.scaled and self.units is None else "")
        )
        return "\n".join(lines)


SENTENCES: dict[str, str] = {
    "minimum": "a strict local minimiser is here",
    "second-order": "the gradient is small and no curvature lies below the tolerance",
    "saddle": "f curves down along the direction found",
    "not stationary": "the gradient is not small",
    "undecided": "neither a direction down nor its absence could be shown",
}


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return [_plain(value.lower), _plain(value.upper)]
    if isinstance(value, Lengths):
        return [_plain(value.shortest), _plain(value.longest)]
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Units):
        return {"lengths": _plain(value.lengths), "value": _plain(value.value), "curvature": _plain(value.curvature)}
    if isinstance(value, ActiveSets):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Trusted):
        return {"value": _plain(value.value), "source": value.source}
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    return [float(v) for v in to_numpy(value)]
