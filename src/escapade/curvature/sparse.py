"""The sparse finder: second differences of the pairs of variables that a pattern names, and random forms beside them.

Let B be the estimate so made, delta the tolerance, and P a matrix with P'(B + delta)P = 1. If the Hessian H has an
eigenvalue at or below -delta, A = P'(H + delta)P - 1 has one at or below -1, and m random forms g'Ag that are all at
most tau less their errors come about with a probability of erf(sqrt(tau))^m at most (`small_ball`). With v = P g a form
is v'Hv + delta |v|^2 - |g|^2, and a second difference of f along v shows v'Hv: B enters the forms only through P, so
that a pattern that lacks entries is not certified by mistake, nor one whose differences are wrong. If the largest form
is t tau, no eigenvalue of A lies below -t, and H >= (1 - t)(B + delta) - delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._array import Matrix, norm2
from ..derivatives import product_errors
from ..derivatives.by_gradients import GradientModel
from ..derivatives.measure import LocalModel
from ..derivatives.products import KIND, HessianProducts
from ..derivatives.settings import STEPS
from ..derivatives.sparsity import SparseMatrix, Sparsity, coloured_hessian, sparse_hessian
from ..interval import Interval
from . import price
from .finding import Finder, Finding, Soft
from .settings import DENSE, FINDER, FORMS, SPARSE
from .small_ball import radius_of
from .sparse_factor import SparseFactor, least, shifted, smallest

LACKS = "f curves otherwise along random directions than the pairs of hess_sparsity say: it lacks some"

INEXACT = "second differences of pairs are too inexact beside random ones: noise and truncation hide the tolerance"


@dataclass(frozen=True, kw_only=True)
class Sparse(Finder):
    """The smallest eigenvalue of a Hessian whose pattern is known, by second differences of the pairs that it names, on
    one side and then on both, and by random forms of f itself.

    Queries: 1 or 2 for each pair of the pattern, and 150 or fewer, besides the local model
    """

    sparsity: Sparsity
    """The pattern."""

    name = "sparse"
    uses_gradients = True

    @classmethod
    def of(cls, sparsity: Sparsity, delta: float, failure: float, most: float = 0.0) -> Sparse:
        """That of a pattern, allowed its own price at least."""
        own = price.rows(sparsity.d) + 3 * sparsity.size + 3 * SPARSE.checks
        return cls(sparsity=sparsity, delta=delta, failure=failure, certificate_maxfev=max(own, most))

    def at(self, local: LocalModel, rng: np.random.Generator, shift: float = 0.0) -> Finding:
        free = self.free_direction(local, shift)
        if free is not None:
            return free
        allowance, best = self.allowance(local), self.undecided("nothing was tried")
        orders: tuple[Literal[1, 2], ...] = (1, 2)
        for order in orders:
            cost = order * self.sparsity.size + SPARSE.checks
            if not allowance.allows(cost):
                return self.too_dear(best, allowance, cost)
            best = self._attempt(local, rng, shift, order)
            if best.found or best.certified:
                break
        return best

    def _attempt(self, local: LocalModel, rng: np.random.Generator, shift: float, order: Literal[1, 2]) -> Finding:
        """The finding by differences on so many sides; each may spend half the failure probability."""
        B = self._estimate(local, order)
        if not np.all(np.isfinite(B.data)):
            return self.undecided("the second differences overflow")
        values, vectors = smallest(B, min(FINDER.softest, local.d), rng)
        seen = self.confirm(local, vectors[:, 0], shift, "the lowest eigenvector of all second differences")
        if seen.found:
            return replace(seen, hessian=B)
        lowest = least(B, float(values[0]))
        factor = SparseFactor.of(shifted(B, self.delta - shift))
        if factor is None or lowest <= shift - self.delta:
            reason = "the second differences say a curvature below the tolerance that f does not confirm"
            return self.undecided(reason, lowest=vectors[:, 0])
        forms = _Forms(local, factor, self.delta - shift)
        lower = forms.bound(lowest, self.failure / 2, rng)
        upper = min(seen.curvature.upper, forms.upper)
        if lower < shift - self.delta:
            return self.undecided(LACKS if forms.unexplained > 0 else INEXACT)
        if lower > upper:
            return self.undecided("the curvature along a direction contradicts the second differences")
        along = local.check_along(vectors)
        if not along.consistent or self._depends_on_scale(local, B, order, rng):
            return self.undecided("f depends on the scale within the steps of the second differences")
        pairs = f"second differences of {self.sparsity.size} pairs, {KIND[order]}"
        found = self.certified(
            Interval(lower, min(upper, along.upper)), f"{pairs}, and {forms.count} random forms", vectors[:, 0]
        )
        softest = tuple(
            Soft(v, Interval(min(lower, value), max(upper, value)))
            for v, value in zip(vectors.T, values.tolist(), strict=True)
        )
        third = max(along.third, forms.third)
        return replace(found, third=third, hessian_jump=along.hessian_jump, softest=softest[:1], hessian=B)

    def _estimate(self, local: LocalModel, order: Literal[1, 2]) -> SparseMatrix:
        """An estimate of the Hessian in y."""
        if not isinstance(local, GradientModel):
            return sparse_hessian(local.stencil, self.sparsity, order)
        factor = 1.0 if order == 1 else SPARSE.other
        return coloured_hessian(local.slopes.at, self.sparsity, np.full(local.d, factor * local.step))

    def _depends_on_scale(
        self, local: LocalModel, B: SparseMatrix, order: Literal[1, 2], rng: np.random.Generator
    ) -> bool:
        """Whether the Hessian is another on much shorter steps, as far as its products with random vectors tell."""
        plain = HessianProducts(local, order=order)
        drawn = rng.standard_normal((DENSE.products, local.d))
        vectors = [v / norm2(v) for v in drawn]
        return any(product_errors.depends_on_scale(plain, v, B @ v, self.delta, rng) for v in vectors)


class _Forms:
    """Random forms of f, and what they show."""

    def __init__(self, local: LocalModel, factor: SparseFactor, delta: float) -> None:
        self.local, self.factor, self.delta = local, factor, delta
        self.count, self.largest, self.allowed = 0, 0.0, 1.0
        self.third, self.upper = 0.0, math.inf
        self.unexplained = -math.inf

    def bound(self, lowest: float, failure: float, rng: np.random.Generator) -> float:
        """A lower bound on the smallest eigenvalue of H, if that of B is at least `lowest`: from a few forms, and from
        more where these would show more, each look with its share of the failure probability.

        Queries: 4 for each form
        """
        lower, share = -math.inf, failure / len(FORMS.looks)
        for look in FORMS.looks:
            self._take(rng.standard_normal((self.local.d, look - self.count)))
            self.count, self.allowed = look, radius_of(look, share)
            t = self.largest / self.allowed
            if t < 1:
                lower = max(lower, (1 - t) * (lowest + self.delta) - self.delta)
            if self.largest > radius_of(FORMS.looks[-1], share) or lower > SPARSE.enough * lowest:
                break
        return lower

    def _take(self, g: Matrix) -> None:
        """Forms along P g for these columns g, on steps within those of the coordinates and on half of them.

        Queries: 4 for each
        """
        local, n = self.local, g.shape[1]
        ways = self.factor.inverse_root(g).T
        h = DENSE.nearby * np.min(local.steps / np.maximum(np.abs(ways), 1e-300), axis=1)
        ends = np.concatenate([h[:, None] * ways, h[:, None] / 2 * ways])
        values, part = local.stencil.retaken(np.concatenate([ends, -ends]), np.tile(np.arange(n), 4), n, "curvature")
        h, (up, down) = part * h, values.reshape(2, 2, n)
        far, near = (up + down - 2 * local.f0) / np.stack([h, h / 2]) ** 2
        noise = 4 * local.noise.norm(1) / h**2
        error = noise + STEPS.truncation_safety * np.maximum(np.abs(far - near) - 5 * noise, 0.0)
        length = np.linalg.norm(ways, axis=1)
        forms = far + self.delta * length**2 - np.sum(g**2, axis=0)
        odd, closer = (up - down) / 2
        thirds = 8 * np.abs(odd - 2 * closer) / (h * length) / (h * length) / (h * length)  # a cube may overflow
        doubt = SPARSE.doubtful * (ways**2 @ local.diagonal.error)
        self.unexplained = max(self.unexplained, float(np.max(np.abs(forms) - error - doubt)))
        self.largest = max(self.largest, float(np.max(np.abs(forms) + error)))
        self.upper = min(self.upper, float(np.min((far + error) / length**2)))
        self.third = max(self.third, float(np.max(thirds)))
