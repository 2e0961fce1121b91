"""The softest directions again, on steps of their own: what decides a certificate is measured better than the rest.

Let S and T be eigenvectors of an estimate of H, orthonormal in y, the soft and the others, and D the steps. The error
of the estimate is E with |a'E b| <= e |D^-1 a| |D^-1 b|. Second differences between the directions S on other steps say
that S'HS is K within epsilon. S'HT is zero but for the error, so that for x = S p + T q and any eta > 0

    x'Hx  >=  p'(K - epsilon - e eta S'D^-2 S) p  +  q'(Lambda_T - e (1 + 1/eta) T'D^-2 T) q,

because 2ab <= eta a^2 + b^2 / eta. The smallest eigenvalue of H is at least the smaller of the two blocks', and where
the others curve much more than e the error enters the soft block by its square alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .._array import Matrix, Vector
from ..derivatives.estimates import DenseHessian, noise_of_second_differences
from ..derivatives.measure import LocalModel
from ..derivatives.settings import STEPS
from ..interval import Interval
from .finding import Soft
from .settings import FINDER, SOFT


@dataclass(frozen=True)
class Spectrum:
    """An estimate of the Hessian by its eigenvectors in y, and the bound e on its error in the units of the steps."""

    values: Vector
    vectors: Matrix
    inverse_steps: Vector
    error: float

    @classmethod
    def of(cls, hessian: DenseHessian, error: float) -> Spectrum:
        """That of all second differences."""
        values, vectors = np.linalg.eigh(hessian.unscaled)
        return cls(values, vectors, 1 / hessian.steps, error)

    def lowest(self, block: Matrix, error: float) -> float:
        """The smallest eigenvalue of H, at least, if the block of the softest is known within an error."""
        m = len(block)
        weighted = self.inverse_steps[:, None] * self.vectors
        soft, rest = weighted[:, :m].T @ weighted[:, :m], weighted[:, m:].T @ weighted[:, m:]
        best = -math.inf
        for eta in SOFT.etas:
            low = float(np.linalg.eigvalsh(block - self.error * eta * soft)[0]) - error
            if m < len(self.values) and low > best:
                others = np.diag(self.values[m:]) - self.error * (1 + 1 / eta) * rest
                low = min(low, float(np.linalg.eigvalsh(others)[0]))
            best = max(best, low)
        return best

    def contradicts(self, block: Block) -> bool:
        """Whether the block is another than the estimate by more than both errors."""
        m = len(block.value)
        weighted = self.inverse_steps[:, None] * self.vectors[:, :m]
        known = self.error * float(np.linalg.norm(weighted, 2)) ** 2
        return not float(np.linalg.norm(block.value - np.diag(self.values[:m]), 2)) <= known + block.error

    def fewest(self, least: float, room: float) -> int | None:
        """The fewest directions whose block, known within so much room, would show this lower bound; None if it takes
        too many."""
        for m in SOFT.counts:
            if m > len(self.values):
                break
            if self.lowest(np.diag(self.values[:m]), room) >= least:
                return m
        return None


@dataclass(frozen=True)
class Block:
    """The Hessian between a few orthonormal directions, and a bound on the norm of its error."""

    directions: Matrix
    value: Matrix
    error: float

    @property
    def soft(self) -> tuple[Soft, ...]:
        """The softest few of all their combinations."""
        values, vectors = np.linalg.eigh(self.value)
        some = zip(values[: FINDER.softest], (self.directions @ vectors).T, strict=False)
        return tuple(Soft(v, Interval(low - self.error, low + self.error)) for low, v in some)

    @property
    def lowest(self) -> tuple[Vector, Interval]:
        """The direction of least curvature among them, and that curvature."""
        values, vectors = np.linalg.eigh(self.value)
        return self.directions @ vectors[:, 0], Interval(values[0] - self.error, values[0] + self.error)


def price(m: int) -> int:
    """The queries of `measure`."""
    return len(SOFT.levels) * m * (m + 1)


def measure(local: LocalModel, directions: Matrix, curvtol: float) -> Block:
    """The block of these directions, on steps as short as noise leaves the tolerance visible, twice and four times as
    long: the best of second differences and of their extrapolations, by how far they move.

    Queries: 3*m*(m + 1) for m directions
    """
    m = directions.shape[1]
    own = 1 / np.linalg.norm(directions / local.steps[:, None], axis=0)
    noise = noise_of_second_differences(local.noise, m) / float(np.min(own)) ** 2
    least = math.sqrt(noise / (SOFT.noise * curvtol))
    scale = 2.0 ** math.ceil(math.log2(min(max(least, SOFT.shortest), STEPS.longest / float(np.max(own)))))
    blocks = [_differences(local, directions, scale * level * own) for level in SOFT.levels]
    raw = [noise / (scale * level) ** 2 for level in SOFT.levels]
    found = [
        (STEPS.truncation_safety * float(np.linalg.norm(blocks[k] - blocks[k + 1])) + raw[k], blocks[k])
        for k in range(len(blocks) - 1)
    ]
    further = [(4 * a - b) / 3 for a, b in pairwise(blocks)]
    moved = STEPS.truncation_safety * float(np.linalg.norm(further[0] - further[1]))
    found.append((moved + 1.7 * raw[0], further[0]))  # (4 + 1) / 3 times the noise of one
    error, value = min(found, key=lambda one: one[0] if math.isfinite(one[0]) else math.inf)
    return Block(directions, value, error if math.isfinite(error) else math.inf)


def _differences(local: LocalModel, directions: Matrix, lengths: Vector) -> Matrix:
    """Second differences between directions on both sides.

    Queries: m*(m + 1)
    """
    m, f0 = len(lengths), local.f0
    ends = (directions * lengths).T
    i, j = np.triu_indices(m, k=1)
    corners = np.concatenate([ends, ends[i] + ends[j]])
    values = local.values(np.concatenate([corners, -corners]), "curvature").reshape(2, -1)
    row, pair = np.split(np.mean(values, axis=0), [m])
    block = np.zeros((m, m))
    block[i, j] = pair - row[i] - row[j] + f0
    block += block.T
    block[np.arange(m), np.arange(m)] = 2 * (row - f0)
    return np.asarray(block / np.outer(lengths, lengths))
