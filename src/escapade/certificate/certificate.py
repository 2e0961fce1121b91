"""The certificate: two intervals, and the verdict read off them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from .. import _html
from .._array import Array, Matrix, Vector, is_sparse, to_numpy
from .._plain import dtype_of, plain, restored
from .._text import counted
from ..domain import Frame
from ..errors import InvalidSetting, MissingCapability
from ..interval import Interval
from ..structure import Structure
from ..tolerances import Units
from .rules import Verdict
from .scale import Lengths
from .settings import SHOWN


@dataclass(frozen=True)
class Trusted:
    """A constant the certificate relies on, and where it came from: given, estimated, rounding, or the whole sum."""

    value: float
    """The number."""
    source: str
    """"given", "estimated", "rounding", or what it was taken from."""

    def __str__(self) -> str:
        return f"{self.value:.2g} ({self.source})"


@dataclass(frozen=True)
class ActiveSets:
    """Where the variables of a bounded problem are: indices, and the slopes inward from the bounds."""

    free: tuple[int, ...] = ()
    """Off all bounds."""
    strong: tuple[int, ...] = ()
    """On a bound from which f rises by more than gtol."""
    weak: tuple[int, ...] = ()
    """On a bound, and not strongly."""
    fixed: tuple[int, ...] = ()
    """Their bounds leave them one value."""
    multipliers: dict[int, Interval] = field(default_factory=dict)
    """Intervals that hold the slopes df/dx_i inward of the variables on bounds: the Lagrange multipliers."""
    upper: tuple[int, ...] = ()
    """Of the strongly and weakly active ones, those on their upper bounds."""

    def times(self, factors: Vector) -> ActiveSets:
        """The same with other units of the variables and of f."""
        return replace(self, multipliers={i: held * float(factors[i]) for i, held in self.multipliers.items()})

    def owned(self, frame: Frame, d: int) -> ActiveSets:
        """The same in the variables outside of a frame: those that it leaves no freedom are fixed."""
        strong, weak, upper = (tuple(frame.owner(i) for i in part) for part in (self.strong, self.weak, self.upper))
        moved = frame.moved(d)
        free = tuple(i for i in moved if i not in strong and i not in weak)
        fixed = tuple(i for i in range(d) if i not in moved)
        held = {frame.owner(i): interval for i, interval in self.multipliers.items()}
        return ActiveSets(free, strong, weak, fixed, held, upper)

    def listed(self, name: Callable[[int], str], x: Vector) -> str:
        """The variables on bounds by name, and where they are: "x[2] = 0 (lower, strongly active)"."""
        kinds = {"strongly active": self.strong, "weakly active": self.weak, "fixed": self.fixed}
        kind = {i: said for said, part in kinds.items() for i in part}
        ends = {i: "" if i in self.fixed else "upper, " if i in self.upper else "lower, " for i in kind}
        said = [f"{name(i)} = {x[i]:.6g} ({ends[i]}{kind[i]})" for i in sorted(kind)]
        more = [f"and {len(said) - SHOWN.bounds} more"] if len(said) > SHOWN.bounds else []
        return ", ".join([*said[: SHOWN.bounds], *more])

    def __str__(self) -> str:
        parts = {"free": self.free, "strongly active": self.strong, "weakly active": self.weak, "fixed": self.fixed}
        return ", ".join(f"{len(part)} {name}" for name, part in parts.items() if part) or "none"


@dataclass(frozen=True)
class SoftDirection:
    """A direction along which f curves little."""

    direction: Vector
    """A unit vector, in the variables that curvatures are stated in."""
    curvature: Interval
    """Holds the curvature along it."""

    def terms(self, names: Sequence[str] | None = None) -> str:
        """The parameters that make it up, the largest first."""
        v = self.direction
        largest = [i for i in np.argsort(-np.abs(v))[: SHOWN.terms] if abs(v[i]) >= SHOWN.least]
        return " ".join(f"{v[i]:+.2f} {f'x[{i}]' if names is None else names[i]}" for i in largest)


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What was shown about a point, at what confidence and cost.

    The verdict is "saddle" if a direction of curvature at most -curvtol/2 was confirmed, whatever else holds;
    "second-order" if the gradient norm is at most gtol and the smallest eigenvalue of the Hessian at least -curvtol;
    "minimum" if besides the eigenvalue is at least some lambda > 0 with rho |g| < lambda^2 / 2, and a Newton step that
    leaves the stencil lands where it should, so that a strict minimiser lies within `radius`; "not stationary" if the
    gradient norm exceeds gtol; else "undecided".

    Examples
    --------
    >>> import escapade
    >>> cert = escapade.certify(lambda x: x[0] ** 2 + 1e-3 * x[1] ** 2, [0.0, 0.0], gtol=1e-6, rng=0)
    >>> cert.verdict, cert.holds
    ('minimum', True)
    >>> cert.softest[0].terms(["width", "height"]).split()[-1]
    'height'
    """

    verdict: Verdict
    """"minimum", "second-order", "saddle", "not stationary" or "undecided"."""
    gradient: Interval
    """Holds the norm of the gradient."""
    curvature: Interval
    """Holds the smallest eigenvalue of the Hessian."""
    softest: list[SoftDirection] = field(default_factory=list)
    """The softest few directions that were seen, the softest first: what values say least of."""
    hessian: Array = None
    """The Hessian of f at x in the user's variables, where all second differences were taken; else None. With
    `hess_sparsity` it is a sparse array."""
    jac: Array = None
    """The gradient of f at x as it was measured, in the user's variables."""
    direction: Array = None
    """At a saddle, a unit vector along which f decreases, in the user's variables."""
    radius: float | None = None
    """At a minimum, a strict minimiser is at most this far away (in x / x_scale if that was given)."""
    x: Array = None
    """The point."""
    fun: float = math.nan
    """The value there."""
    gtol: float = math.nan
    """The gradient norm that was asked for."""
    curvtol: float = math.nan
    """The negative curvature that was still accepted."""
    failure: float = math.nan
    """The probability with which a certificate that holds may be false."""
    finder: str = ""
    """What looked at the curvature."""
    reason: str = ""
    """How the verdict was reached, or why none was."""
    remedy: str = ""
    """For an undecided verdict, what could be certified or changed."""
    lengths: Lengths | None = None
    """The lengths over which f was seen to follow what is claimed; None where f was not looked at that far."""
    roughness: float = 0.0
    """The amplitude of structure of f below `lengths`; 0 if none was seen."""
    attainable: tuple[float, float] | None = None
    """For an undecided verdict, the gtol and the curvtol that could be shown there."""
    price: int | None = None
    """For an undecided verdict that more queries may decide: the `certificate_maxfev` that allows them."""
    trusted: dict[str, Trusted] = field(default_factory=dict)
    """What values alone cannot show and the certificate is conditional on."""
    nfev: int = 0
    """Queries that the certificate took."""
    nfev_by_purpose: dict[str, int] = field(default_factory=dict)
    """The same by purpose."""
    nrounds: int = 0
    """Rounds of queries that could be asked at once."""
    njev: int = 0
    """Gradients of the user's own that it took."""
    nhev: int = 0
    """Products with the Hessian of the user's own that it took."""
    nknown: int = 0
    """Values that were not asked for, because they were known."""
    seed: int | None = None
    """The seed, where `rng` was one."""
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
    the tolerances are shares. Intervals and radius are then those of y = x / s."""

    structure: Structure | None = None
    """Where x is no vector: how x, jac and direction are put together."""

    @property
    def holds(self) -> bool:
        """The point was shown to be second-order stationary: the verdict is "minimum" or "second-order"."""
        return self.verdict in ("minimum", "second-order")

    def covariance(self, scale: float = 1.0) -> Matrix:
        """`scale` times the inverse of the Hessian: the covariance of an estimate, asymptotically.

        scale=1 where f is a negative log-likelihood, 2 where it is a chi-squared, minus twice a log-likelihood, and 1/n
        where it is the mean of a negative log-likelihood over n data.

        Raises
        ------
        MissingCapability
            Where no Hessian was measured, or its smallest eigenvalue was not shown to be positive.
        """
        if self.hessian is None:
            raise MissingCapability(
                "no Hessian was measured at x: certify(fun, x, finder='dense').covariance() measures all of it"
            )
        hessian = self.hessian.toarray() if is_sparse(self.hessian) else self.hessian
        sizes = np.sqrt(np.abs(np.diag(hessian)))
        sizes[sizes == 0.0] = 1.0
        values, vectors = np.linalg.eigh(hessian / np.outer(sizes, sizes))
        if not (self.curvature.lower > 0 and values[0] > len(sizes) * np.finfo(np.float64).eps):
            raise MissingCapability(
                "the Hessian is singular or not shown to be positive, its smallest eigenvalue lies in "
                f"{self.curvature}: f hardly changes along {self.along(vectors[:, 0] / sizes)}; fix or join these "
                "parameters"
            )
        return np.asarray(scale * np.linalg.inv(hessian / np.outer(sizes, sizes)) / np.outer(sizes, sizes))

    def along(self, v: Vector) -> str:
        """A direction by the names of the variables that it moves most."""
        v = v / np.linalg.norm(v)
        order = [i for i in np.argsort(-np.abs(v))[:4] if abs(v[i]) > 0.2 * np.max(np.abs(v))]
        return " ".join(f"{v[i]:+.2f} {self.name(i)}" for i in order)

    def name(self, i: int) -> str:
        """Of a variable, as it is printed: x[i], or as the structure of x names it."""
        return f"x[{i}]" if self.structure is None else self.structure.names[i]

    @property
    def noise_limited(self) -> bool:
        """Noise, digits or roughness of f hide what was asked for: looser tolerances, `attainable`, could be shown."""
        noise = self.trusted.get("noise")
        noisy = "samples" in self.trusted or (noise is not None and noise.source != "rounding")
        return self.attainable is not None and noisy

    @property
    def confidence(self) -> float:
        """1 - failure."""
        return 1 - self.failure

    @property
    def _cost(self) -> str:
        own = [(self.njev, "gradient"), (self.nhev, "product")]
        return " and ".join([counted(self.nfev, "query", "queries"), *(counted(n, what) for n, what in own if n)])

    def softest_table(self, names: Sequence[str] | None = None) -> str:
        """The softest directions, a line each: the curvature along it, and the parameters that make it up.

        Parameters
        ----------
        names : sequence of str, optional
            The names of the parameters; None: x[0], x[1], ...
        """
        d = self.x.shape[0] if self.structure is None else self.structure.size
        if names is not None and len(names) != d:
            raise InvalidSetting(f"names has {len(names)} entries, but x has {d} parameters: give {d} names")
        if names is None and self.structure is not None:
            names = self.structure.names
        lines = [f"{soft.curvature}: {soft.terms(names)}" for soft in self.softest]
        return "\n".join(lines) or "no direction was looked at"

    def to_json(self, **options: Any) -> str:
        """The certificate as JSON; infinities are null."""
        flat = self.flattened()
        data = plain(replace(flat, structure=None)) | {"holds": self.holds, "dtype": dtype_of(flat.x)}
        return json.dumps(data | {"structure": None if self.structure is None else self.structure.plain()}, **options)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The certificate that `to_json` wrote; its arrays are those of NumPy."""
        data = json.loads(text)
        structure = Structure.restored(data.pop("structure"))
        flat = cls(**restored(cls, data, data["dtype"]))
        return flat if structure is None else flat.shaped(structure)

    def shaped(self, structure: Structure) -> Self:
        """The same with vectors in the structure of the user's point."""
        turned: dict[str, Any] = {name: structure.built(v) for name, v in self._vectors()}
        return replace(self, structure=structure, **turned)

    def flattened(self) -> Self:
        """The same with vectors as vectors."""
        if self.structure is None:
            return self
        turned: dict[str, Any] = {name: self.structure.flat(v, name) for name, v in self._vectors()}
        return replace(self, structure=None, **turned)

    def _vectors(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in VECTORS if getattr(self, name) is not None]

    def rows(self) -> list[tuple[str, str]]:
        """What is printed: names, and what is said of each."""
        names = None if self.structure is None else self.structure.names
        lines = [
            ("verdict", f"{self.verdict}: {SENTENCES[self.verdict]}"),
            ("gradient", f"norm in {self.gradient}, tolerance {self.gtol:.3g}"),
            ("curvature", f"smallest eigenvalue in {self.curvature}, tolerance {-self.curvtol:.3g}"),
        ]
        if self.active is not None:
            lines.append(("variables", str(self.active)))
            if on_bounds := self.active.listed(self.name, to_numpy(self.flattened().x)):
                lines.append(("on bounds", on_bounds))
        if self.invariant:
            lines.append(("invariant", f"along {counted(self.invariant, 'direction')}: curvature is that across them"))
        if self.softest:
            lines.append(("softest", f"{self.softest[0].curvature} along {self.softest[0].terms(names)}"))
        if self.radius is not None:
            variables = "x / x_scale" if self.scaled and self.units is None else "x"
            lines.append(("minimiser", f"within {self.radius:.2g} of {variables}"))
        if self.lengths is not None:
            rough = f", rough below by {self.roughness:.2g}" if self.roughness else ""
            lines.append(("lengths", f"seen over {self.lengths}{rough}"))
        if self.units is not None:
            lines.append(("units", f"{self.units}: norms and curvatures are those of y = x / lengths"))
        lines.append(("how", f"{self.finder or 'gradient alone'}: {self.reason}"))
        if self.remedy:
            lines.append(("remedy", self.remedy))
        given = ", ".join(f"{name} {constant}" for name, constant in self.trusted.items())
        lines.append(("trusting", given or "nothing"))
        cost = (
            f"{self._cost} in {counted(self.nrounds, 'round')}, "
            f"failure probability at most {self.failure:.3g}"
            + (", in scaled variables" if self.scaled and self.units is None else "")
        )
        return [*lines, ("cost", cost)]

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{text}" for name, text in self.rows())

    def _repr_html_(self) -> str:
        (_, heading), *rows = self.rows()
        return _html.page(heading, COLOURS[self.verdict], _html.table(rows))


VECTORS = ("x", "jac", "direction")
"""Fields in the structure of the point."""

SENTENCES: dict[str, str] = {
    "minimum": "a strict local minimiser is here",
    "second-order": "the gradient is small and no curvature lies below the tolerance",
    "saddle": "f curves down along the direction found",
    "not stationary": "the gradient is not small",
    "undecided": "neither a direction down nor its absence could be shown",
}


COLOURS: dict[str, str] = {
    "minimum": _html.GOOD,
    "second-order": _html.GOOD,
    "saddle": _html.BAD,
    "not stationary": _html.BAD,
    "undecided": _html.OPEN,
}
"""Of a verdict in a notebook."""
