"""The scaled problem: f / value as a function of y = x / unit, in which a run is made and its certificate written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import Array, Vector, like, to_numpy
from ..derivatives.sparsity import scaled_hessian
from ..derivatives.steps import power_of_two
from ..derivatives.units import Joint, learn
from ..domain import UNBOUNDED, Domain, Frame, Plane, Selection
from ..oracle import Oracle
from ..tolerances import SHARES, Tolerances, Units, as_scale
from .advice import advised
from .certificate import Certificate
from .certifier import Certifier
from .scale import Lengths


@dataclass(frozen=True)
class ScaledProblem:
    """A user's problem as methods and the certifier see it."""

    f: Oracle
    """f / value, of y."""
    unit: Array = None
    """x / y; None: one."""
    units: Units | None = None
    """What was learnt, where no tolerances were given."""
    frame: Frame | None = None
    """The variables that y / unit are, where they are not all of x."""
    domain: Domain = UNBOUNDED
    """That of x."""

    @classmethod
    def given(cls, f: Oracle, unit: Array, frame: Frame | None = None) -> ScaledProblem:
        """In units that the user gave, or none."""
        domain, f = f.domain, f.framed(frame)
        if isinstance(frame, Selection) and unit is not None:
            unit = frame.inside(unit)
        if isinstance(frame, Plane):
            unit = None  # the frame has it
        return cls(f if unit is None else f.scaled(unit), unit, frame=frame, domain=domain)

    @classmethod
    def learnt(
        cls, f: Oracle, x: Array, rng: np.random.Generator, frame: Frame | None = None, **options: Any
    ) -> ScaledProblem:
        """In units learnt around x: see `units.learn`.

        Queries: those of `units.learn`
        """
        domain, f = f.domain, f.framed(frame)
        if frame is not None:
            if isinstance(frame, Plane):
                options["joint"] = Joint(frame.joint, frame.sizes(to_numpy(x).astype(np.float64)))
            x, own = frame.inside(x), options.get("x_scale")
            if own is not None:
                whole = as_scale(own, frame.origin)
                options["x_scale"] = whole[frame.which] if isinstance(frame, Selection) else np.ones(x.shape[0])
        units = learn(f, x, rng, **options)
        unit = like(units.lengths, x)
        return cls(f.scaled(unit).valued(units.value), unit, units, frame, domain)

    @property
    def scaled(self) -> bool:
        """Whether y is another unit of x than one."""
        return self.unit is not None or (isinstance(self.frame, Plane) and bool(np.any(self.frame.units != 1.0)))

    @property
    def value(self) -> float:
        """The unit of values."""
        return 1.0 if self.units is None else self.units.value

    def inside(self, x: Array) -> Array:
        """The user's x as y."""
        z = x if self.frame is None else self.frame.inside(x)
        return z if self.unit is None else z / self.unit

    def outside(self, y: Array) -> Array:
        """y as the user's x."""
        z = y if self.unit is None else y * self.unit
        x = z if self.frame is None else self.frame.outside(z[None, :])[0, :]
        return self.domain.snapped(x)

    def certifier(self, asked: Certifier) -> Certifier:
        """The same certifier inside: with tolerances that are shares of the curvature learnt, if one was."""
        if self.units is None:
            return replace(asked, in_units=self.scaled, x_scale=None)
        tolerances = Tolerances.relative(self.units.curvature / self.value)
        longest, shortest = float(np.max(self.units.lengths)), float(np.min(self.units.lengths))
        return replace(
            asked,
            gtol=tolerances.gtol,
            curvtol=tolerances.curvtol,
            curvature=tolerances.curvature,
            noise=asked.noise if isinstance(asked.noise, str | None) else asked.noise / self.value,
            rho=None if asked.rho is None else asked.rho * longest * longest * longest / self.value,
            resolution=None if asked.resolution is None else asked.resolution / shortest,
            x_scale=None,
            in_units=True,
        )

    def certificate(self, found: Certificate, x: Array) -> Certificate:
        """A certificate of y as one of x = outside(y), with f's own values. Norms, curvatures and radius stay those in
        y; the direction of a saddle is one in x."""
        value, units, jac = self.value, self.units, found.jac
        if jac is not None and self.unit is not None:
            jac = value * jac / to_numpy(self.unit)
        found = replace(found, hessian=self._hessian(found.hessian), direction=self._direction(found.direction))
        if found.active is not None and self.unit is not None:
            found = replace(found, active=found.active.times(value / to_numpy(self.unit)))
        if self.frame is not None:
            found = self._framed(found, self.frame, x)
            jac = self.frame.slopes(jac) if jac is not None else None
        if units is None:
            return replace(found, x=x, jac=jac)
        trusted = {
            name: replace(one, value=value * one.value) if name in ("noise", "rho", "jac") else one
            for name, one in found.trusted.items()
        }
        shown, frame = found.attainable, self.frame
        own = units.lengths if frame is None else frame.lengths(units.lengths)
        scaled = replace(
            found,
            x=x,
            jac=jac,
            gradient=found.gradient * value,
            curvature=found.curvature * value,
            softest=[replace(one, curvature=one.curvature * value) for one in found.softest],
            fun=value * found.fun,
            gtol=value * found.gtol,
            curvtol=value * found.curvtol,
            roughness=value * found.roughness,
            attainable=None if shown is None else (value * shown[0], value * shown[1]),
            trusted=trusted,
            units=replace(units, lengths=own, curvature=value * found.curvtol / SHARES.curvtol),
        )
        scaled = _over_lengths(scaled, found.gtol / (SHARES.gtol / SHARES.curvtol * found.curvtol))
        return scaled if shown is None and scaled.verdict != "not stationary" else advised(scaled)

    def _direction(self, direction: Array) -> Array:
        """A direction in y as a unit vector in x."""
        if direction is None or self.unit is None:
            return direction
        way = to_numpy(direction).astype(np.float64) * to_numpy(self.unit)
        return like(way / np.linalg.norm(way), direction)

    def _hessian(self, hessian: Any) -> Any:
        """That of f in x, where y is x in other units; in fewer variables there is none."""
        if hessian is None or self.frame is not None:
            return None
        unit = np.ones(hessian.shape[0]) if self.unit is None else to_numpy(self.unit).astype(np.float64)
        return self.value * scaled_hessian(hessian, 1 / unit)

    @staticmethod
    def _framed(found: Certificate, frame: Frame, x: Array) -> Certificate:
        """The direction and the active sets in the variables of x."""
        direction, active = found.direction, found.active
        soft = [replace(one, direction=_turned(one.direction, frame)) for one in found.softest]
        if direction is not None:
            direction = like(_turned(to_numpy(direction).astype(np.float64), frame), x)
        owned = None if active is None else active.owned(frame, x.shape[0])
        return replace(found, direction=direction, softest=soft, active=owned)


def _over_lengths(found: Certificate, ratio: float) -> Certificate:
    """The same certificate in variables whose lengths are longer by a power of two near this ratio.

    A run far from its start asks for shares of the curvature over the lengths that variables have there.
    """
    r = float(power_of_two(np.asarray(ratio)))
    if r == 1.0 or found.units is None:
        return found
    shown, trusted = found.attainable, dict(found.trusted)
    for name, order in (("jac", 1), ("rho", 3)):
        if name in trusted:
            trusted[name] = replace(trusted[name], value=r**order * trusted[name].value)
    return replace(
        found,
        gradient=found.gradient * r,
        curvature=found.curvature * r**2,
        softest=[replace(one, curvature=one.curvature * r**2) for one in found.softest],
        radius=None if found.radius is None else found.radius / r,
        gtol=found.gtol * r,
        curvtol=found.curvtol * r**2,
        attainable=None if shown is None else (r * shown[0], r**2 * shown[1]),
        lengths=None if found.lengths is None else Lengths(found.lengths.shortest / r, found.lengths.longest / r),
        trusted=trusted,
        units=replace(found.units, lengths=r * found.units.lengths, curvature=r**2 * found.units.curvature),
    )


def _turned(direction: Vector, frame: Frame) -> Vector:
    """A unit vector in the variables of a frame as one in those of x."""
    whole = frame.direction(direction)
    return np.asarray(whole / np.linalg.norm(whole))
