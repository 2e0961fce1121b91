"""Deep linear networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from escapade.problems.base import Array, Matrix, Problem, Vector, at_least, like


@dataclass(frozen=True, kw_only=True)
class LinearNetwork(Problem):
    r"""A deep linear network on whitened inputs (Baldi and Hornik 1989; Kawaguchi 2016).

    .. math:: f(W_1, \ldots, W_N) = \tfrac12 \|W_N \cdots W_1 - \Phi\|_F^2

    The variables are the entries of :math:`W_1, \ldots, W_N` in this order, each matrix row by row. The
    singular values of :math:`\Phi` are 1, 2, ..., r with ``r`` the least width of the two ends.

    Parameters
    ----------
    widths : tuple of int
        Sizes of the layers from input to output, N + 1 of them. No hidden layer may be narrower than ``r``.
    seed : int
        Seed of the singular vectors of :math:`\Phi`.

    Notes
    -----
    A balanced network that carries some singular components of :math:`\Phi` and not the others is
    a critical point. With two layers all of these are strict saddles, the origin included. With more layers
    the Hessian at the origin is zero, and a point is strict when a component that it lacks is stronger than
    one that it carries.
    """

    name: ClassVar[str] = "linear_network"

    widths: tuple[int, ...]
    seed: int = 0
    d: int = field(init=False)

    def __post_init__(self) -> None:
        at_least("len(widths)", len(self.widths), 3)
        at_least("min(widths)", min(self.widths), 1)
        at_least("the narrowest hidden width", min(self.widths[1:-1]), self.rank)
        object.__setattr__(self, "d", sum(p * q for p, q in pairwise(self.widths)))

    @property
    def rank(self) -> int:
        """Rank ``r`` of the target."""
        return min(self.widths[0], self.widths[-1])

    @cached_property
    def _factors(self) -> tuple[Matrix, Vector, Matrix]:
        """Left singular vectors, singular values, right singular vectors of the target, strongest first."""
        rng = np.random.default_rng(self.seed)
        left, _ = np.linalg.qr(rng.standard_normal((self.widths[-1], self.rank)))
        right, _ = np.linalg.qr(rng.standard_normal((self.widths[0], self.rank)))
        return left, np.arange(self.rank, 0, -1.0), right

    @cached_property
    def target(self) -> Matrix:
        r"""The matrix :math:`\Phi`."""
        left, values, right = self._factors
        return np.asarray((left * values) @ right.T)

    def _layers(self, x: Array) -> list[Array]:
        """The matrices ``W_1, ..., W_N`` of each row of ``x``."""
        xp, layers, begin = array_namespace(x), [], 0
        for fan_in, fan_out in pairwise(self.widths):
            end = begin + fan_in * fan_out
            layers.append(xp.reshape(x[:, begin:end], (x.shape[0], fan_out, fan_in)))
            begin = end
        return layers

    def _values(self, x: Array) -> Array:
        product = reduce(lambda P, W: W @ P, self._layers(x))
        residual = product - like(self.target, x)
        return 0.5 * array_namespace(x).sum(residual * residual, axis=(1, 2))

    def _partial(self, layers: list[Matrix], begin: int, end: int) -> Matrix:
        """``W_{end-1} ... W_begin``, counted from zero; the identity when empty."""
        return reduce(lambda P, W: W @ P, layers[begin:end], np.eye(self.widths[begin]))

    def _parts(self, x: Vector) -> tuple[list[Matrix], list[Matrix], list[Matrix], Matrix]:
        """Layers, products after and before each layer, and the residual."""
        layers = [W[0] for W in self._layers(np.asarray(x, dtype=float)[None, :])]
        depth = len(layers)
        after = [self._partial(layers, k + 1, depth) for k in range(depth)]
        before = [self._partial(layers, 0, k) for k in range(depth)]
        return layers, after, before, self._partial(layers, 0, depth) - self.target

    def gradient(self, x: Vector) -> Vector:
        _, after, before, residual = self._parts(x)
        return np.concatenate([(A.T @ residual @ B.T).ravel() for A, B in zip(after, before, strict=True)])

    def hessian(self, x: Vector) -> Matrix:
        layers, after, before, residual = self._parts(x)
        slopes = np.hstack([np.kron(A, B.T) for A, B in zip(after, before, strict=True)])
        H = slopes.T @ slopes
        edges = np.cumsum([0, *(W.size for W in layers)])
        for k in range(len(layers)):
            for j in range(k):
                # the residual against A_k E_k (W_{k-1} ... W_{j+1}) E_j B_j
                outer, between = after[k].T @ residual @ before[j].T, self._partial(layers, j + 1, k)
                block = np.einsum("ad,bc->abcd", outer, between).reshape(layers[k].size, layers[j].size)
                rows, columns = slice(edges[k], edges[k + 1]), slice(edges[j], edges[j + 1])
                H[rows, columns] += block
                H[columns, rows] += block.T
        return np.asarray(H)

    def _balanced(self, carried: slice) -> Vector:
        """Network that carries the given singular components, with equal strength in every layer."""
        left, values, right = self._factors
        depth, kept = len(self.widths) - 1, np.zeros(self.rank)
        kept[carried] = values[carried] ** (1 / depth)
        layers = []
        for k, (fan_in, fan_out) in enumerate(pairwise(self.widths)):
            first = right.T if k == 0 else np.eye(self.rank, fan_in)
            last = left if k == depth - 1 else np.eye(fan_out, self.rank)
            layers.append((last * kept) @ first)
        return np.concatenate([W.ravel() for W in layers])

    @property
    def saddles(self) -> tuple[Vector, ...]:
        """Two layers: the strongest k components, k = 0, ..., r-1. More: the weakest k, k = 1, ..., r-1."""
        if len(self.widths) == 3:
            return tuple(self._balanced(slice(0, k)) for k in range(self.rank))
        return tuple(self._balanced(slice(self.rank - k, self.rank)) for k in range(1, self.rank))

    @property
    def minima(self) -> tuple[Vector, ...]:
        """The balanced network that carries every component."""
        return (self._balanced(slice(0, self.rank)),)

    @property
    def minimum(self) -> float:
        """Zero."""
        return 0.0
