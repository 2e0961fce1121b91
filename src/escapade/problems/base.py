"""What every test problem offers: values for a solver, derivatives and critical points for a judge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

Array: TypeAlias = Any
"""Any array of a namespace that follows the array API standard."""

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


class Problem(ABC):
    """A twice differentiable function of ``d`` variables whose geometry is known.

    Concrete problems are frozen dataclasses with keyword-only fields. Solvers see ``problem(x)``; tests and
    figures also see the derivatives and the critical points.

    Attributes
    ----------
    name : str
        Short name of the family.
    d : int
        Number of variables.
    """

    name: ClassVar[str]
    d: int

    def __call__(self, x: Array) -> Array:
        """Value at one point or at each row of a matrix of points.

        Parameters
        ----------
        x : array of shape (d,) or (m, d)
            NumPy, PyTorch, array-api-strict, ... The result has the same namespace, dtype and device.

        Returns
        -------
        scalar or array of shape (m,)
            Each row is worked out by itself: the same row gives the same bits whatever stands beside it.
        """
        rows, single = self._rows(x)
        values = self._values(rows)
        return values[0] if single else values

    @abstractmethod
    def _values(self, x: Array) -> Array:
        """Values at the rows of ``x``, of shape (m, d)."""

    @abstractmethod
    def gradient(self, x: Vector) -> Vector:
        """Exact gradient at ``x`` (NumPy)."""

    @abstractmethod
    def hessian(self, x: Vector) -> Matrix:
        """Exact Hessian at ``x`` (NumPy)."""

    @property
    def start(self) -> Vector:
        """Customary starting point: the first known saddle, or the origin when none is known."""
        return self.saddles[0] if self.saddles else np.zeros(self.d)

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """Known strict saddles (zero gradient, a negative curvature); some of them when there are many."""
        return ()

    @property
    def minima(self) -> tuple[Vector, ...]:
        """Known local minima; some of them when there are many."""
        return ()

    @property
    def minimum(self) -> float | None:
        """Least value of the function, where known."""
        return None

    @property
    def ell(self) -> float | None:
        """Lipschitz constant of the gradient, over the region the problem states."""
        return None

    @property
    def rho(self) -> float | None:
        """Lipschitz constant of the Hessian, over the region the problem states."""
        return None

    def _rows(self, x: Array) -> tuple[Array, bool]:
        """``x`` as a matrix of rows, and whether it was a single point."""
        if x.ndim not in (1, 2) or x.shape[-1] != self.d:
            raise ValueError(f"x has shape {tuple(x.shape)}; {self.name} takes ({self.d},) or (m, {self.d})")
        if is_numpy_array(x):
            x = np.ascontiguousarray(x, dtype=None if x.dtype.kind == "f" else np.float64)
        return (x[None, :], True) if x.ndim == 1 else (x, False)


class StochasticProblem(Problem):
    """A problem whose value is a mean of components ``f_i`` addressed by integer ids.

    The same id is the same component at every point, so that differences between two points share their
    noise.
    """

    def sample_value(self, x: Array, ids: NDArray[Any]) -> Array:
        """Mean over ``ids`` of the components at ``x``: scalar for (d,), shape (m,) for (m, d).

        With ids of shape (m, b), row r is the mean over ``ids[r]``.
        """
        rows, single = self._rows(x)
        ids = np.asarray(ids)
        if ids.ndim == 2 and ids.shape[0] == rows.shape[0] and ids.dtype.kind in "iu":
            return self._row_values(rows, ids)
        values = self._sample_values(rows, self._ids(ids))
        return values[0] if single else values

    sample_value.ids_by_row = True  # type: ignore[attr-defined]  # the oracle asks for components row by row

    def component_values(self, x: Array, ids: NDArray[Any]) -> Array:
        """Components at ``x``, one column per id: shape (b,) for (d,), (m, b) for (m, d)."""
        rows, single = self._rows(x)
        values = self._component_values(rows, self._ids(ids))
        return values[0, :] if single else values

    @abstractmethod
    def _sample_values(self, x: Array, ids: NDArray[Any]) -> Array: ...

    @abstractmethod
    def _component_values(self, x: Array, ids: NDArray[Any]) -> Array: ...

    def _row_values(self, x: Array, ids: NDArray[Any]) -> Array:
        """The mean over ``ids[r]`` at every row r."""
        rows = [self._sample_values(x[r : r + 1, :], self._ids(ids[r])) for r in range(len(ids))]
        return array_namespace(x).concat(rows, axis=0)

    def _ids(self, ids: NDArray[Any]) -> NDArray[Any]:
        ids = np.asarray(ids)
        if ids.ndim != 1 or ids.size == 0 or ids.dtype.kind not in "iu":
            raise ValueError(f"ids ({ids.dtype}, shape {ids.shape}) must be a non-empty 1-d integer array")
        return ids


def like(values: NDArray[Any], x: Array) -> Array:
    """NumPy parameters in the namespace, dtype and device of ``x``."""
    if is_numpy_array(x):
        return values.astype(x.dtype, copy=False)
    return array_namespace(x).asarray(np.array(values), dtype=x.dtype, device=device(x))


def rows_times(x: Array, matrix: Array) -> Array:
    """``x @ matrix`` one row at a time, so that rounding in a row ignores how many rows there are."""
    return (x[:, None, :] @ matrix)[:, 0, :]


def at_least(name: str, value: float, bound: float) -> None:
    """Raise unless ``value >= bound``."""
    if not value >= bound:
        raise ValueError(f"{name}={value} must be at least {bound}")


def positive(**values: float) -> None:
    """Raise unless every value is positive and finite."""
    for name, value in values.items():
        if not 0 < value < float("inf"):
            raise ValueError(f"{name}={value} must be positive and finite")
