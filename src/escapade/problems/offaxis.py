"""A saddle whose escape direction hides from the coordinate axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from escapade.problems.base import Array, Matrix, Problem, Vector, at_least, like, positive, rows_times
from escapade.problems.transformed import random_rotation

_DRAWS = 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class OffAxis(Problem):
    r"""A rotated quadratic saddle with a quartic bowl.

    .. math:: f(x) = \tfrac12 z^\top A z + q \|z\|^4 + \text{offset}, \qquad z = x - c.

    ``A`` has one eigenvalue `negative` and the rest uniform in ``[low, high]``, in a random basis redrawn
    until its whole diagonal is positive: along every coordinate the saddle ``c`` looks like a minimum.

    Parameters
    ----------
    d : int
        Number of variables, at least 2.
    seed : int
        Seed of the eigenvalues and of the basis.
    negative : float
        The negative eigenvalue of ``A``; with a positive one the centre is a minimum and there is no saddle.
    low, high : float
        Range of the positive eigenvalues.
    quartic : float
        The factor ``q``.
    centre : sequence of d floats, optional
        The saddle ``c``; the origin by default.
    offset : float
        Constant added to the value.

    Notes
    -----
    The global minima are ``c + t v`` and ``c - t v`` with ``v`` the eigenvector of `negative`,
    ``t^2 = -negative / (4 q)``, and value ``offset - negative^2 / (16 q)``. `ell` and `rho` hold in the ball
    of radius ``t`` about ``c``.
    """

    name: ClassVar[str] = "off_axis"

    d: int
    seed: int = 0
    negative: float = -0.5
    low: float = 0.5
    high: float = 3.0
    quartic: float = 0.025
    centre: Sequence[float] | Vector | None = None
    offset: float = 0.0

    def __post_init__(self) -> None:
        at_least("d", self.d, 2)
        positive(low=self.low, quartic=self.quartic)
        at_least("high", self.high, self.low)
        if self._centre.shape != (self.d,):
            raise ValueError(f"centre has shape {self._centre.shape}; it must have shape ({self.d},)")

    @cached_property
    def _centre(self) -> Vector:
        return np.zeros(self.d) if self.centre is None else np.array(self.centre, dtype=float)

    @cached_property
    def _spectrum(self) -> tuple[Vector, Matrix]:
        """Eigenvalues, the negative one first, and eigenvectors in columns."""
        rng = np.random.default_rng(self.seed)
        for _ in range(_DRAWS):
            values = np.append(self.negative, rng.uniform(self.low, self.high, self.d - 1))
            Q = random_rotation(self.d, rng)
            if np.all((Q * values * Q).sum(axis=1) > 0):
                return values, Q
        raise ValueError(f"no positive diagonal in {_DRAWS} draws; raise low={self.low}")

    @cached_property
    def A(self) -> Matrix:
        """The quadratic part: the Hessian at the saddle."""
        values, Q = self._spectrum
        A = (Q * values) @ Q.T
        return np.asarray((A + A.T) / 2)

    @cached_property
    def escape(self) -> Vector:
        """Unit eigenvector of the negative eigenvalue."""
        return self._spectrum[1][:, 0].copy()

    def _values(self, x: Array) -> Array:
        xp = array_namespace(x)
        z = x - like(self._centre, x)
        square = xp.sum(z * z, axis=1)
        curved = xp.sum(z * rows_times(z, like(self.A, x)), axis=1)
        return 0.5 * curved + self.quartic * square * square + self.offset

    def gradient(self, x: Vector) -> Vector:
        z = x - self._centre
        return np.asarray(self.A @ z + 4 * self.quartic * (z @ z) * z)

    def hessian(self, x: Vector) -> Matrix:
        z = x - self._centre
        return np.asarray(self.A + 4 * self.quartic * ((z @ z) * np.eye(self.d) + 2 * np.outer(z, z)))

    @property
    def radius(self) -> float:
        """Distance ``t`` from the centre to each minimum."""
        return float(np.sqrt(max(0.0, -self.negative) / (4 * self.quartic)))

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """The centre, if its eigenvalue is negative."""
        return (self._centre.copy(),) if self.negative < 0 else ()

    @property
    def start(self) -> Vector:
        """The centre."""
        return self._centre.copy()

    @property
    def minima(self) -> tuple[Vector, ...]:
        """The two global minima, or the centre."""
        step = self.radius * self.escape
        if self.negative >= 0:
            return (self._centre.copy(),)
        return self._centre + step, self._centre - step

    @property
    def minimum(self) -> float:
        """Value at the minima."""
        return self.offset - min(0.0, self.negative) ** 2 / (16 * self.quartic)

    @property
    def ell(self) -> float:
        """Bound on the curvature in the ball of radius ``t`` about the saddle."""
        return float(np.abs(self._spectrum[0]).max() + 12 * self.quartic * self.radius**2)

    @property
    def rho(self) -> float:
        """Lipschitz constant of the Hessian in that ball."""
        return 24 * self.quartic * self.radius
