"""The Hessian from products, and second differences of what those leave over: no product is wasted.

In the metric of the steps, let A = diag(h) H diag(h), Q an orthonormal basis of the directions whose products are
known (A Q = Y - G with errors G), and W one of their complement, by Householder reflections, along which f is
differenced anew (W'A W = C - E). Then A differs from the estimate

    [Q W] [[Q'Y, Y'W], [W'Y, C]] [Q W]'        by        [Q W] [[Q'G, G'W], [W'G, E]] [Q W]',

up to the antisymmetric part of Q'Y, which belongs to Q'G. With x = Q p + W r, the error's form is at most
|G| |p|^2 + 2 |G| |p| |r| + |E| |r|^2, so that its norm is at most that of [[|G|, |G|], [|G|, |E|]], and by Weyl

    lambda_min(A)  >=  lambda_min(estimate) - ||[[|G|, |G|], [|G|, |E|]]||.

All errors enter that are within these bounds, however they conspire: none is taken as a margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from .._array import Matrix, Vector, epsilon, like, norm2, to_numpy
from ..derivatives.estimates import DenseHessian, noise_of_second_differences, some_second_differences
from ..derivatives.measure import LocalModel
from ..derivatives.preconditioner import IDENTITY
from ..derivatives.products import NOISE_FACTOR, HessianProducts, Product
from ..derivatives.settings import PRODUCTS
from ..oracle import Stencil, or_nan
from .settings import PRICE


def block_bound(known: float, between: float, rest: float) -> float:
    """The norm of [[known, between], [between, rest]], all at least 0: what errors within these norms add up to."""
    return (known + rest) / 2 + math.hypot((known - rest) / 2, between)


@dataclass(frozen=True)
class _Known:
    """An orthonormal basis of the directions of products in the metric of the steps, and their images."""

    basis: Matrix
    images: Matrix
    shrunk: float
    """Errors of the images are those of products over this."""


@dataclass(frozen=True)
class Complement:
    """All second differences but those that products have shown.

    Queries: 2*m + sigma*m*(m - 1)/2 on sigma sides, m = d - k, and (d + 1)*k where k products were taken on one side
    """

    local: LocalModel
    products: HessianProducts
    """Their kind."""
    taken: Sequence[Product]
    _rows: dict[int, Vector] = field(default_factory=dict, repr=False)
    _pairs: dict[int, Vector] = field(default_factory=dict, repr=False)

    @property
    def k(self) -> int:
        """The directions that products have shown."""
        return int(self._known.basis.shape[1])

    def price(self, sides: int) -> int:
        """The queries that `hessian` would take, besides looks at its errors."""
        d, m = self.local.d, self.local.d - self.k
        mirrored = len(self.taken) * (d + 1) if sides > self.products.order else 0
        rows = sum(s not in self._rows for s in (1, -1)) * m
        return mirrored + rows + sum(s not in self._pairs for s in (1, -1)[:sides]) * m * (m - 1) // 2

    def hessian(self, sides: int) -> DenseHessian:
        """The estimate, from second differences on so many sides: one, where products are one-sided too, or two.

        Queries: those of the class, less what was taken before
        """
        if sides > self.products.order:
            return self._mirrored().hessian(sides)
        Q, W, Y = self._known.basis, self._displacements.T / self.local.steps[:, None], self._known.images
        basis, inner, side = np.concatenate([Q, W], axis=1), Q.T @ Y, Y.T @ W
        pencil = np.block([[(inner + inner.T) / 2, side], [side.T, self._differences(sides)]])
        back = np.linalg.inv(basis)  # orthonormal but for the rounding of displacements
        scaled = back.T @ pencil @ back
        own = noise_of_second_differences(self.local.noise, W.shape[1], sides)
        shown = self._noise_of_products() / self._known.shrunk
        noise = block_bound(shown, shown, own) * float(np.linalg.norm(back, 2)) ** 2
        return DenseHessian((scaled + scaled.T) / 2, noise, self.local.steps)

    # Products

    @cached_property
    def _known(self) -> _Known:
        steps = self.local.steps
        v = np.stack([product.vector for product in self.taken], axis=1) / steps[:, None]
        lengths = np.linalg.norm(v, axis=0)
        images = steps[:, None] * np.stack([product.hessian_image for product in self.taken], axis=1) / lengths
        left, sizes, right = np.linalg.svd(v / lengths, full_matrices=False)
        kept = sizes >= PRICE.independent
        return _Known(left[:, kept], images @ (right[kept].T / sizes[kept]), float(sizes[kept].min()))

    def _mirrored(self) -> Complement:
        """The same with the other side of one-sided products.

        Queries: d + 1 for each
        """
        plain = replace(self.products, P=IDENTITY, shift=0.0)
        others = [plain.one_sided(one.vector, -plain.factor).hessian_image for one in self.taken]
        both = [
            replace(one, hessian_image=(one.hessian_image + other) / 2)
            for one, other in zip(self.taken, others, strict=True)
        ]
        return replace(self, products=replace(self.products, order=2), taken=both)

    def _noise_of_products(self) -> float:
        """A bound on what noise, and the rounding of x, do to the images of unit vectors together: the root of the sum
        of squares."""
        local, products = self.local, self.products
        d, steps = local.d, local.steps
        if local.noise.source == "roughness":
            worst = dict(zip((1, 2, 4), PRODUCTS.worst, strict=True))[products.order]
            values = worst * local.noise.norm(d)
        else:
            values = NOISE_FACTOR[products.order] * local.noise.norm(d, 1.0 if local.noise.bounded else 0.5)
        y = to_numpy(local.x).astype(np.float64) / local.unit
        rounded = float(np.max(np.abs(local.diagonal.value) * steps**2)) * epsilon(local.x) * norm2(y / steps)
        usual = products.reach(products.factor)
        reaches = [one.shortness * usual * norm2(one.vector / steps) for one in self.taken]
        return (values / products.factor + rounded) * math.sqrt(sum(reach**-2 for reach in reaches))

    # What they leave over

    @cached_property
    def _displacements(self) -> Matrix:
        """Steps along the complement, as rows, in y: rounded to what x resolves, so that sums of two are exact."""
        local, k = self.local, self.k
        W = qr(self._known.basis)[0][:, k:]
        ends = (local.steps * local.unit)[:, None] * W
        x = np.abs(to_numpy(local.x).astype(np.float64))
        most = x + 4 * np.max(np.abs(ends), axis=1, initial=0.0)
        grid = epsilon(local.x) * 2.0 ** np.ceil(np.log2(most + 1e-300))
        return np.asarray((np.round(ends / grid[:, None]) * grid[:, None] / local.unit[:, None]).T)

    def _differences(self, sides: int) -> Matrix:
        """The second differences between these steps."""
        local, ends = self.local, self._displacements
        m, f0 = len(ends), local.f0
        self._take(sides)
        up, down = self._rows[1], self._rows[-1]
        C = np.zeros((m, m))
        if m > 1:
            i, j = np.triu_indices(m, k=1)
            row = up if sides == 1 else (up + down) / 2
            pair = self._pairs[1] if sides == 1 else (self._pairs[1] + self._pairs[-1]) / 2
            C[i, j] = pair - row[i] - row[j] + f0
            C += C.T
        C[np.arange(m), np.arange(m)] = up + down - 2 * f0
        if np.isnan(C).any():
            i, j = np.nonzero(np.triu(np.isnan(C)))
            C[i, j] = C[j, i] = some_second_differences(local.stencil, ends[i], ends[j], sides, 1.0)
        return C

    def _take(self, sides: int) -> None:
        """The values not yet known, in one round; NaN where one is missing."""
        ends, m = self._displacements, len(self._displacements)
        rows = [s for s in (1, -1) if s not in self._rows]
        pairs = [s for s in (1, -1)[:sides] if s not in self._pairs]
        parts = [self._axes(s * ends) for s in rows] + [self._two(s * ends) for s in pairs]
        if not parts or m == 0:
            self._rows.update({s: np.zeros(0) for s in rows})
            self._pairs.update({s: np.zeros(0) for s in pairs})
            return
        values, _ = or_nan(self.local.f.tagged("curvature"), sum(parts[1:], start=parts[0]))
        sizes = [part.size for part in parts]
        split = np.split(values, np.cumsum(sizes)[:-1])
        self._rows.update(dict(zip(rows, split, strict=False)))
        self._pairs.update(dict(zip(pairs, split[len(rows) :], strict=True)))

    def _axes(self, ends: Matrix) -> Stencil:
        x, unit = self.local.x, self.local.unit
        return Stencil(len(ends), self.local.d, lambda start, stop: x + like(ends[start:stop] * unit, x))

    def _two(self, ends: Matrix) -> Stencil:
        """All sums of two of them, made as they are asked for."""
        x, unit = self.local.x, self.local.unit
        i, j = np.triu_indices(len(ends), k=1)
        return Stencil(
            len(i),
            self.local.d,
            lambda start, stop: x + like((ends[i[start:stop]] + ends[j[start:stop]]) * unit, x),
        )
