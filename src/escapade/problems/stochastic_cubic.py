"""The cubic problem seen through noise: as a finite sum and as a stream."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from escapade.problems.base import Array, Matrix, StochasticProblem, Vector, at_least, like, rows_times
from escapade.problems.cubic import Cubic
from escapade.problems.hashing import uniforms

_XI = 0.1  # xi is uniform in [-0.1, 0.1]^d and xi' in [-1, 1]^d


@dataclass(frozen=True, kw_only=True)
class _NoisyCubic(Cubic, StochasticProblem):
    r"""Components ``f_i(x) = x' (A' + diag(xi_i)) x / 2 + xi'_i . x + alpha |x|^3 / 3``."""

    @abstractmethod
    def _noise(self, ids: NDArray[Any]) -> tuple[Matrix, Matrix]:
        """``xi`` and ``xi'`` of each id, of shape (b, d)."""

    def _sample_values(self, x: Array, ids: NDArray[Any]) -> Array:
        xi, linear = self._noise(ids)
        return self._model(x, self.diagonal + xi.mean(axis=0), linear.mean(axis=0))

    def _row_values(self, x: Array, ids: NDArray[Any]) -> Array:
        shape = (*ids.shape, self.d)
        xi, linear = (noise.reshape(shape).mean(axis=1) for noise in self._noise(ids.ravel()))
        return self._model(x, self.diagonal + xi, linear)

    def _component_values(self, x: Array, ids: NDArray[Any]) -> Array:
        xi, linear = self._noise(ids)
        common = self._model(x, self.diagonal, np.zeros(self.d))[:, None]
        return common + 0.5 * rows_times(x * x, like(xi.T, x)) + rows_times(x, like(linear.T, x))


@dataclass(frozen=True, kw_only=True)
class StochasticCubic(_NoisyCubic):
    r"""The cubic problem as a mean of ``n`` components.

    .. math::

        f_i(x) = \tfrac12 x^\top (A' + \mathrm{diag}(\xi_i)) x + \xi_i'^\top x + \tfrac{\alpha}{3} \|x\|^3

    with :math:`\xi_i` uniform in :math:`[-0.1, 0.1]^d` and :math:`\xi_i'` uniform in :math:`[-1, 1]^d`, the
    stochastic setting of Liu et al. (2018). Component ``2k + 1`` has the noise of component ``2k`` with its
    sign changed, so that the mean is exactly `Cubic` and the origin exactly its saddle.

    Parameters
    ----------
    n : int
        Number of components, even when antithetic.
    antithetic : bool
        Without it the components are independent, and neither saddles nor minima are known.
    """

    name: ClassVar[str] = "stochastic_cubic"

    n: int
    antithetic: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("n", self.n, 1)
        if self.antithetic and self.n % 2:
            raise ValueError(f"n={self.n} must be even to pair components; add one or set antithetic=False")

    @cached_property
    def _table(self) -> tuple[Matrix, Matrix]:
        rng = np.random.default_rng([self.seed, 1])
        pairs = self.n // 2 if self.antithetic else self.n
        xi, linear = rng.uniform(-_XI, _XI, (pairs, self.d)), rng.uniform(-1.0, 1.0, (pairs, self.d))
        if not self.antithetic:
            return xi, linear
        sign = np.tile([1.0, -1.0], pairs)[:, None]
        return sign * xi.repeat(2, axis=0), sign * linear.repeat(2, axis=0)

    @cached_property
    def _mean(self) -> tuple[Vector, Vector]:
        xi, linear = self._table
        if self.antithetic:
            return self.diagonal, np.zeros(self.d)
        return self.diagonal + xi.mean(axis=0), linear.mean(axis=0)

    def _noise(self, ids: NDArray[Any]) -> tuple[Matrix, Matrix]:
        if ids.min() < 0 or ids.max() >= self.n:
            raise ValueError(f"ids span [{ids.min()}, {ids.max()}]; they must lie in [0, n={self.n})")
        xi, linear = self._table
        return xi[ids], linear[ids]

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """The origin, when antithetic."""
        return super().saddles if self.antithetic else ()

    @property
    def minima(self) -> tuple[Vector, ...]:
        """Those of `Cubic`, when antithetic."""
        return super().minima if self.antithetic else ()

    @property
    def minimum(self) -> float | None:
        """That of `Cubic`, when antithetic."""
        return super().minimum if self.antithetic else None


@dataclass(frozen=True, kw_only=True)
class StreamCubic(_NoisyCubic):
    """The cubic problem as an expectation over an endless stream of components.

    The noise of a component is a pure function of the seed and of its 64-bit id, so that any id can be asked
    for at any time and no table is kept. Ids ``2k`` and ``2k + 1`` have opposite noise; the mean over all ids
    is `Cubic`. The distribution of the noise is that of `StochasticCubic`.
    """

    name: ClassVar[str] = "stream_cubic"

    def _noise(self, ids: NDArray[Any]) -> tuple[Matrix, Matrix]:
        ids = ids.astype(np.uint64)
        sign = np.where(ids & np.uint64(1), -1.0, 1.0)[:, None]
        noise = sign * (2 * uniforms(ids >> np.uint64(1), 2 * self.d, self.seed) - 1)
        return _XI * noise[:, : self.d], noise[:, self.d :]
