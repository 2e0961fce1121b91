"""An optimizer for ASE that leaves saddles and certifies where it stops, and `certify_atoms`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from ase import Atoms
from ase.constraints import FixAtoms
from ase.optimize.sciopt import Converged, SciPyOptimizer
from numpy.typing import NDArray

from ..certificate import Certificate
from ..certify import certify
from ..domain import rigid_motions
from ..errors import InvalidSetting
from ..minimize import minimize
from ..result import Result

LOG = logging.getLogger(__name__)

Directions = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Escapade(SciPyOptimizer):
    """An optimizer of ASE, from energies and forces: `Escapade(atoms).run(fmax=0.01)`. Motions that keep
    the energy are left out.

    `run` returns whether what was asked for is certified: the norm of all forces is at most fmax, no curvature lies
    below -curvtol, and at a minimum no direction but rigid motions is flat. A small force alone does not end it: a
    saddle has one. `result` is what `escapade.minimize` returned, with its `certificate`.

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
        """What SciPy's optimizers are asked by ASE."""
        self.result = minimize(
            self.f,
            self.x0(),
            jac=self.fprime if self.forces else None,
            gtol=fmax,
            curvtol=self.curvtol,
            maxiter=steps,
            invariances=self.motions,
            callback=self.callback,
            **self.options,
        )
        self.optimizable.set_x(self.result.x)
        LOG.info("%s", self.result.message)

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
    """What the positions of atoms are: a minimum, a saddle, ...; the motions that keep the energy are left out.

    For `fmax`, `curvtol` and `forces` see `Escapade`; the options are those of `escapade.certify`. The atoms are left
    as they are.
    """
    own = atoms.copy()
    own.calc = atoms.calc

    def energy(x: NDArray[np.float64]) -> float:
        own.set_positions(x.reshape(-1, 3))
        return float(own.get_potential_energy())

    def slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
        own.set_positions(x.reshape(-1, 3))
        return -np.asarray(own.get_forces(), dtype=np.float64).reshape(-1)

    x = np.asarray(atoms.get_positions(), dtype=np.float64).reshape(-1)
    known: dict[str, Any] = {"gtol": fmax, "curvtol": curvtol, "invariances": motions_of(own)}
    return certify(energy, x, jac=slope if forces else None, **known, **options)


def motions_of(atoms: Atoms) -> Directions | NDArray[np.float64]:
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
        return np.eye(3 * n)[[3 * i + k for i in fixed for k in range(3)]]
    if np.any(atoms.pbc):
        return np.tile(np.eye(3), n)
    return rigid_motions(n)
