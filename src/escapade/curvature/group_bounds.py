"""The smallest eigenvalue of an average Hessian, and the norm of an average gradient, from those of groups of samples.

An eigenvalue is v'Hv for one fixed unit vector v, whatever the samples are. If lambda_min(H) < -delta, then for that v
the one-sided t-test of v'Hv >= -delta at level p passes with probability at most p; a bound that asks all v to pass is
a test at the same level, with no factor for the dimension (an intersection-union test). So it
is with the gradient, whose norm is g'u for one unit vector u. The level is that of the t-test: group averages along v
are nearly normal, or their skewness is corrected for. Samples must be drawn independently of the point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from .._array import Matrix, Vector
from ..derivatives.groups import critical, mean_above, mean_below, standard_error
from ..interval import Interval
from .settings import GROUP_SEARCH


@dataclass(frozen=True)
class EigenvalueBound:
    """What group Hessians show of the smallest eigenvalue of the whole one."""

    curvature: Interval
    """Holds it."""
    direction: Vector
    """The lowest eigenvector of half of the groups; the upper end is of the other half."""
    proved: bool
    """Whether the lower end follows from an inequality for all directions, or from a search for the worst of them."""


def smallest_eigenvalue(
    hessians: Matrix, failure: float, threshold: float, rng: np.random.Generator
) -> EigenvalueBound:
    """An interval that holds the smallest eigenvalue, but for `failure`; `threshold` is the lower end hoped for.

    Queries: none
    """
    lower, proved = least_over_directions(hessians, GROUP_SEARCH.lower * failure, threshold, rng)
    first, second = hessians[0::2], hessians[1::2]
    v = np.linalg.eigh(first.mean(axis=0))[1][:, 0]
    upper = mean_below(_along(second, v[None, :])[:, 0], (1 - GROUP_SEARCH.lower) * failure)
    return EigenvalueBound(Interval(min(lower, upper), upper), v, proved)


def least_over_directions(
    hessians: Matrix, failure: float, threshold: float, rng: np.random.Generator
) -> tuple[float, bool]:
    """The least over unit vectors v of v'Hv less its confidence width; and whether that is proved, or searched for.

    The search alternates: for given weights w of the groups the worst v is the lowest eigenvector of H - c sum w_g D_g,
    for given v the worst w is in proportion to v'D_g v.
    """
    G, d = len(hessians), hessians.shape[1]
    mean = hessians.mean(axis=0)
    D = hessians - mean
    if d == 1:
        return mean_above(hessians[:, 0, 0], failure), True
    V, least, worst = _starts(mean, rng), math.inf, 0.0
    for sweep in range(GROUP_SEARCH.sweeps):
        q = _along(D, V)
        c = critical(q, failure)
        values = np.einsum("ki,ij,kj->k", V, mean, V) - c * standard_error(q)
        before, least, worst = least, min(least, float(values.min())), max(worst, float(c.max()))
        if sweep >= GROUP_SEARCH.first and before - least <= GROUP_SEARCH.still * (1e-300 + abs(before - threshold)):
            break
        if sweep + 1 >= GROUP_SEARCH.first:
            kept = np.argsort(values)[: GROUP_SEARCH.kept]
            V, q, c = V[kept], q[:, kept], c[kept]
        weights = c / math.sqrt(G * (G - 1)) * q / (np.linalg.norm(q, axis=0) + 1e-300)
        tilted = mean - (weights.T @ D.reshape(G, d * d)).reshape(-1, d, d)
        V = np.linalg.eigh(tilted)[1][:, :, 0]
    proved = least_by_inequality(hessians, worst)
    return (max(least, proved), True) if proved >= threshold else (least, False)


def least_by_inequality(hessians: Matrix, critical_value: float) -> float:
    """A lower bound on v'Hv less so many of its standard errors, for all unit vectors v at once.

    (v'D v)^2 <= v'D^2 v, and 2 sqrt(x) <= x / tau + tau: with c = critical_value / sqrt(G (G - 1)) the bound is
    lambda_min(H - c/2 (sum D_g^2 / tau + tau I)) for any tau; the best of a few is taken.
    """
    G = len(hessians)
    mean = hessians.mean(axis=0)
    D = hessians - mean
    squares = np.einsum("gij,gjk->ik", D, D)
    c, top = critical_value / math.sqrt(G * (G - 1)), math.sqrt(float(np.linalg.eigvalsh(squares)[-1]))
    if top == 0.0:
        return float(np.linalg.eigvalsh(mean)[0])
    taus = top * np.geomspace(GROUP_SEARCH.least_tau, 1.0, GROUP_SEARCH.taus)
    eye = np.eye(len(mean))
    shifted = np.stack([mean - c / 2 * (squares / tau + tau * eye) for tau in taus])
    return float(np.linalg.eigvalsh(shifted)[:, 0].max())


def gradient_norm(gradients: Matrix, failure: float, rng: np.random.Generator) -> Interval:
    """An interval that holds the norm of the whole gradient, but for `failure`.

    Above: |g| + c sqrt(lambda_max(C)), C the covariance of the mean, c the largest critical value of many ways.
    Below: the slope along the direction that half of the groups show, by the other half.

    Queries: none
    """
    G = len(gradients)
    mean = gradients.mean(axis=0)
    D = gradients - mean
    values, axes = np.linalg.eigh(D.T @ D / (G * (G - 1)))
    size = float(np.linalg.norm(mean))
    ways = [axes.T, -axes.T, rng.standard_normal((GROUP_SEARCH.random, len(mean)))]
    ways += [mean[None, :] / size] if size > 0 else []
    c = critical(-(D @ np.concatenate(ways).T), GROUP_SEARCH.lower * failure)
    upper = size + float(c.max()) * math.sqrt(max(float(values[-1]), 0.0))
    u = gradients[0::2].mean(axis=0)
    if not np.any(u):
        return Interval(0.0, upper)
    lower = mean_above(gradients[1::2] @ (u / np.linalg.norm(u)), (1 - GROUP_SEARCH.lower) * failure)
    return Interval(min(max(0.0, lower), upper), upper)


def student(groups: int, failure: float) -> float:
    """Student's quantile for so many groups."""
    return float(stdtrit(groups - 1, 1 - failure))


def _starts(mean: Matrix, rng: np.random.Generator) -> Matrix:
    """The eigenvectors of the mean, and random unit vectors, as rows."""
    random = rng.standard_normal((GROUP_SEARCH.random, len(mean)))
    random /= np.linalg.norm(random, axis=1)[:, None]
    return np.concatenate([np.linalg.eigh(mean)[1].T, random])


def _along(D: Matrix, V: Matrix) -> Matrix:
    """v'D_g v: a row a group, a column a direction."""
    G, d = D.shape[:2]
    products = (D.reshape(G * d, d) @ V.T).reshape(G, d, -1)
    along: Matrix = np.einsum("gik,ki->gk", products, V)
    return along
