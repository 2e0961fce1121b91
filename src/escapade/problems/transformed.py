"""The same problem seen through a change of variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from escapade.problems.base import Array, Matrix, Problem, Vector, like, rows_times


def random_rotation(d: int, rng: np.random.Generator) -> Matrix:
    """A Haar-distributed orthogonal matrix (Mezzadri 2007: QR of a Gaussian matrix, signs fixed by R)."""
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Transformed(Problem):
    r"""A problem after a scaling, a permutation, a rotation, a shift and an offset.

    .. math:: g(x) = f\bigl(c + Q P S (x - t - c)\bigr) + \text{offset}

    A critical point ``y`` of ``f`` becomes ``t + c + (Q P S)^{-1} (y - c)``: `about` stays where it is up to
    the shift, and a shift alone moves every point by ``t``.

    Parameters
    ----------
    problem : Problem
        The function ``f``.
    rotation : array of shape (d, d), optional
        The orthogonal matrix ``Q``.
    permutation : sequence of d integers, optional
        ``(P z)[k] = z[permutation[k]]``.
    shift : array of shape (d,), optional
        The translation ``t``.
    offset : float
        Constant added to the value.
    about : array of shape (d,), optional
        The centre ``c``; the origin by default.
    scale : float or array of shape (d,), optional
        The diagonal of ``S``, without zeros.

    Notes
    -----
    `ell` and `rho` are those of ``f`` times ``max |S|^2`` and ``max |S|^3``, over the
    preimage of the region of ``f``.
    """

    name: ClassVar[str] = "transformed"

    problem: Problem
    rotation: Matrix | None = None
    permutation: Sequence[int] | NDArray[np.integer[Any]] | None = None
    shift: Sequence[float] | Vector | None = None
    offset: float = 0.0
    about: Sequence[float] | Vector | None = None
    scale: float | Sequence[float] | Vector | None = None
    d: int = field(init=False)

    def __post_init__(self) -> None:
        d = self.problem.d
        object.__setattr__(self, "d", d)
        if self.rotation is not None:
            Q = np.asarray(self.rotation)
            if Q.shape != (d, d) or not np.allclose(Q.T @ Q, np.eye(d), atol=1e-8):
                raise ValueError(f"rotation has shape {Q.shape}; it must be orthogonal of shape ({d}, {d})")
        if self.permutation is not None and sorted(self.permutation) != list(range(d)):
            raise ValueError(f"permutation must hold each of 0, ..., {d - 1} once")
        if not np.all(np.isfinite(self._origin)):
            raise ValueError("shift and about must be finite")
        if not (np.all(np.isfinite(self._scale)) and np.all(self._scale != 0)):
            raise ValueError("scale must be finite and without zeros")

    @cached_property
    def _scale(self) -> Vector:
        return self._vector("scale", 1.0 if self.scale is None else self.scale)

    @cached_property
    def _about(self) -> Vector:
        return self._vector("about", 0.0 if self.about is None else self.about)

    @cached_property
    def _origin(self) -> Vector:
        """The point that the linear map leaves at ``about``."""
        return self._about + self._vector("shift", 0.0 if self.shift is None else self.shift)

    def _vector(self, name: str, values: float | Sequence[float] | Vector) -> Vector:
        array = np.array(values, dtype=float)
        if array.shape not in ((), (self.d,)):
            raise ValueError(f"{name} has shape {array.shape}; it must be a number or have shape ({self.d},)")
        return np.array(np.broadcast_to(array, (self.d,)))

    @cached_property
    def linear(self) -> Matrix:
        """The matrix ``Q P S``."""
        PS = np.diag(self._scale)
        if self.permutation is not None:
            PS = PS[np.asarray(self.permutation)]
        return PS if self.rotation is None else np.asarray(np.asarray(self.rotation, dtype=float) @ PS)

    def forward(self, x: Array) -> Array:
        """Where ``f`` is evaluated for the rows of ``x``."""
        xp = array_namespace(x)
        z = x - like(self._origin, x)
        if self.scale is not None:
            z = z * like(self._scale, x)
        if self.permutation is not None:
            order = xp.asarray(np.array(self.permutation, dtype=np.int64), device=device(x))
            z = xp.take(z, order, axis=-1)
        if self.rotation is not None:
            Q = like(np.asarray(self.rotation, dtype=float).T, x)
            z = rows_times(z, Q) if z.ndim == 2 else z @ Q
        return z if self.about is None else z + like(self._about, x)

    def inverse(self, y: Vector) -> Vector:
        """The ``x`` that reaches ``f`` at ``y``."""
        z = np.asarray(y, dtype=float) - self._about
        if self.rotation is not None:
            z = np.asarray(self.rotation, dtype=float).T @ z
        if self.permutation is not None:
            z = z[np.argsort(np.asarray(self.permutation))]
        return np.asarray(z / self._scale + self._origin)

    def _values(self, x: Array) -> Array:
        return self.problem(self.forward(x)) + self.offset

    def gradient(self, x: Vector) -> Vector:
        return np.asarray(self.linear.T @ self.problem.gradient(self.forward(np.asarray(x, dtype=float))))

    def hessian(self, x: Vector) -> Matrix:
        H = self.problem.hessian(self.forward(np.asarray(x, dtype=float)))
        return np.asarray(self.linear.T @ H @ self.linear)

    @property
    def start(self) -> Vector:
        """The start of ``f``, mapped."""
        return self.inverse(self.problem.start)

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """The saddles of ``f``, mapped."""
        return tuple(self.inverse(y) for y in self.problem.saddles)

    @property
    def minima(self) -> tuple[Vector, ...]:
        """The minima of ``f``, mapped."""
        return tuple(self.inverse(y) for y in self.problem.minima)

    @property
    def minimum(self) -> float | None:
        """The least value of ``f`` plus the offset."""
        least = self.problem.minimum
        return None if least is None else least + self.offset

    @property
    def ell(self) -> float | None:
        """``ell`` of ``f`` times ``max |S|^2``."""
        ell = self.problem.ell
        return None if ell is None else ell * float(np.abs(self._scale).max()) ** 2

    @property
    def rho(self) -> float | None:
        """``rho`` of ``f`` times ``max |S|^3``."""
        rho = self.problem.rho
        return None if rho is None else rho * float(np.abs(self._scale).max()) ** 3
