"""An optimizer for ASE that leaves saddles and certifies where it stops, and `certify_atoms`.

The motions that keep the energy are projected out: a run moves in the plane through its start that is orthogonal to
them, and its certificate is one in that plane through its end. The curvature of the energy is that across the motions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from ase import Atoms
from ase.constraints import FixAtoms
from ase.optimize.sciopt import Converged, SciPyOptimizer
from scipy.linalg import null_space, orth

from .._array import Matrix, Vector
from ..certificate import Certificate
from ..certify import certify
from ..domain import rigid_motions
from ..errors import InvalidSetting
from ..minimize import minimize
from ..result import Result

TURNED = 0.01
"""The sine of the angle by which a run may turn the motions into its plane: curvatures are then exact to 1e-4."""

ROUNDS = 5
"""Runs at most, each in the plane through the end of the one before."""


class Escapade(SciPyOptimizer):
    """An optimizer of ASE, from energies and forces: `Escapade(atoms).run(fmax=0.01)`.

    `run` returns whether what was asked for is certified: the norm of all forces is at most fmax, and no curvature lies
    below -curvtol, across the motions that keep the energy. A small force alone does not end it: a saddle has one.
    `result` is what `escapade.minimize` returned, with its `certificate`, in positions.

    Parameters
    ----------
    curvtol : float, optional
        In eV/Å²; None: the root of fmax.
    forces : bool
        Whether forces are used, or energies alone.
    options
        Those of `escapade.minimize`.
    """

    def __init__(
        self,
        atoms: Atoms,
        logfile: Any = "-",
        trajectory: str | None = None,
        *,
        curvtol: float | None = None,
        forces: bool = True,
        options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(atoms, logfile, trajectory, alpha=1.0, **kwargs)
        self.motions = motions_of(atoms)
        self.curvtol, self.forces, self.options = curvtol, forces, options or {}
        self.result: Result | None = None

    def run(self, fmax: float = 0.05, steps: int = 100_000_000) -> bool:
        """Minimise, and return whether the point is certified."""
        self.fmax = fmax
        self.max_steps = steps + self.nsteps
        self.log(self.optimizable.get_gradient())
        self.call_observers()
        self.call_fmin(fmax, steps)
        return self.result is not None and bool(self.result.success)

    def call_fmin(self, fmax: float, steps: int) -> None:
        """Runs of `minimize`, each in its own plane, until one ends where there is no saddle across the motions."""
        x, nfev, nit = np.array(self.x0(), dtype=np.float64), 0, 0
        asked: dict[str, Any] = {"gtol": fmax, "curvtol": self.curvtol, "x_scale": 1.0, **self.options}
        budget = asked.pop("maxfev", None)
        for _ in range(ROUNDS):
            plane = Plane.across(self.motions, x)
            limits: dict[str, Any] = {"maxiter": steps - nit, "callback": plane.energy(self.callback)}
            left = {} if budget is None else {"maxfev": budget - nfev}
            result = plane.result(
                minimize(plane.energy(self.f), plane.origin, **self._jac(plane), **limits, **left, **asked)
            )
            x, nfev, nit, certificate = result.x, nfev + result.nfev, nit + result.nit, result.certificate
            left = {} if budget is None else {"maxfev": budget - nfev}
            turned = plane.turned(self.motions, x) > TURNED
            if certificate is not None and (turned or certificate.verdict == "second-order"):
                plane = Plane.across(self.motions, x)
                own = {name: value for name, value in asked.items() if name in signature(certify).parameters}
                seen = certify(plane.energy(self.f), plane.origin, **self._jac(plane), **left, **own)
                result, nfev = result.judged(plane.certificate(seen)), nfev + seen.nfev
            verdict = None if result.certificate is None else result.certificate.verdict
            if verdict not in ("saddle", "not stationary") or nit >= steps or nfev >= (budget or math.inf):
                break
        result.update(nfev=nfev)
        self.result = result
        self.optimizable.set_x(x)

    def _jac(self, plane: Plane) -> dict[str, Any]:
        return {"jac": plane.slope(self.fprime)} if self.forces else {}

    def callback(self, x: Any) -> None:
        """Log an iterate, and go on: small forces are no reason to stop."""
        self.optimizable.set_x(x)
        try:
            super().callback(x)
        except Converged:
            return


def certify_atoms(
    atoms: Atoms, fmax: float = 0.05, curvtol: float | None = None, *, forces: bool = True, **options: Any
) -> Certificate:
    """What the positions of atoms are: a minimum, a saddle, ... across the motions that keep the energy.

    For `fmax`, `curvtol` and `forces` see `Escapade`; the options are those of `escapade.certify`. The atoms are left
    as they are.
    """
    own = atoms.copy()
    own.calc = atoms.calc

    def energy(x: Vector) -> float:
        own.set_positions(x.reshape(-1, 3))
        return float(own.get_potential_energy())

    def slope(x: Vector) -> Vector:
        own.set_positions(x.reshape(-1, 3))
        return -np.asarray(own.get_forces(), dtype=np.float64).reshape(-1)

    x = np.asarray(atoms.get_positions(), dtype=np.float64).reshape(-1)
    plane = Plane.across(motions_of(own), x)
    known: dict[str, Any] = {"gtol": fmax, "curvtol": curvtol, "x_scale": 1.0, **options}
    jac = plane.slope(slope) if forces else None
    return plane.certificate(certify(plane.energy(energy), plane.origin, jac=jac, **known))


Motions = Callable[[Vector], Matrix]


def motions_of(atoms: Atoms) -> Motions:
    """Directions in which the energy does not change: rigid motions of a cluster, translations of a periodic one; where
    atoms are fixed, their coordinates, which no optimizer moves.

    Raises
    ------
    InvalidSetting
        Where there are constraints other than `FixAtoms`.
    """
    others = [c for c in atoms.constraints if not isinstance(c, FixAtoms)]
    if others:
        raise InvalidSetting(f"of ASE's constraints only FixAtoms is known, not {others[0]!r:.60}: remove it")
    fixed = sorted({int(i) for c in atoms.constraints for i in c.index})
    n = len(atoms)
    if fixed:
        coordinates = np.eye(3 * n)[[3 * i + k for i in fixed for k in range(3)]]
        return lambda x: coordinates
    if np.any(atoms.pbc):
        translations = np.tile(np.eye(3), n)
        return lambda x: translations
    return rigid_motions(n)


@dataclass(frozen=True)
class Plane:
    """The positions x + Q z, with Q orthonormal and orthogonal to the motions at x."""

    x: Vector
    Q: Matrix

    @classmethod
    def across(cls, motions: Motions, x: Vector) -> Plane:
        """That through x."""
        Q = null_space(motions(x))
        if Q.shape[1] == 0:
            raise InvalidSetting(f"{len(x) // 3} atoms have no coordinates but those of motions that keep the energy")
        return cls(x, Q)

    @property
    def origin(self) -> Vector:
        """z of x."""
        return np.zeros(self.Q.shape[1])

    def point(self, z: Vector) -> Vector:
        """The positions."""
        return np.asarray(self.x + self.Q @ z)

    def turned(self, motions: Motions, x: Vector) -> float:
        """The sine of the largest angle between the motions at x and those that the plane is orthogonal to."""
        return float(np.linalg.norm(self.Q.T @ orth(motions(x).T), 2))

    def energy(self, f: Callable[[Vector], Any]) -> Callable[[Vector], Any]:
        """A function of positions, as one of z."""
        return lambda z: f(self.point(z))

    def slope(self, gradient: Callable[[Vector], Any]) -> Callable[[Vector], Vector]:
        """Its gradient."""
        return lambda z: self.Q.T @ np.asarray(gradient(self.point(z)), dtype=np.float64)

    def certificate(self, certificate: Certificate) -> Certificate:
        """One of z, as one of positions."""
        turned = {name: getattr(certificate, name) for name in ("direction", "jac")}
        turned = {name: None if v is None else self.Q @ v for name, v in turned.items()}
        return replace(certificate, x=self.point(certificate.x), **turned)

    def result(self, result: Result) -> Result:
        """The same for a result."""
        turned = {name: None if result[name] is None else self.point(result[name]) for name in ("x", "x_best")}
        jac = None if result.jac is None else self.Q @ result.jac
        certificate = None if result.certificate is None else self.certificate(result.certificate)
        result.update(turned, jac=jac, certificate=certificate, history=result.history.turned(self.point))
        return result
