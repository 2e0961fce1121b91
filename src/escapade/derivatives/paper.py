"""The paper's estimators as printed: gradients along the coordinates, along random directions, by Gaussian smoothing,
and the Hessian-vector product that differences two coordinate gradients."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Vector, like, namespace, to_numpy
from .._random import gausses, spheres
from ..oracle import Batch, Components, Oracle, axes, central, point, points
from .settings import SAMPLING

Steps = float | NDArray[np.float64]

Directions = Literal["own", "shared"]
"""Of Option II on a minibatch: one for every component, as Lemma 8 averages, or one for all, RandGradEst of f_S."""


def coord_gradient(f: Oracle, x: Array, mu: Steps) -> Array:
    """CoordGradEst: sum_i (f(x + mu e_i) - f(x - mu e_i)) / (2 mu) e_i.

    Section 2.1, Zhang, Xiong & Gu (2022). Error at most rho sqrt(d) mu^2 / 6 (Lemma 7).

    Queries: 2*d
    """
    d, steps = x.shape[0], np.broadcast_to(np.asarray(mu, dtype=np.float64), x.shape)
    h = like(steps, x)
    values = f(central(x, h))
    return like((values[:d] - values[d:]) / (2 * to_numpy(h).astype(np.float64)), x)


def coord_gradient_forward(f: Oracle, x: Array, mu: Steps) -> Array:
    """The forward form of CoordGradEst: sum_i (f(x + mu e_i) - f(x)) / mu e_i.

    Lemma 7, Zhang, Xiong & Gu (2022). Error at most ell sqrt(d) mu.

    Queries: d + 1
    """
    d, steps = x.shape[0], np.broadcast_to(np.asarray(mu, dtype=np.float64), x.shape)
    h = like(steps, x)
    values = f(axes(x, h) + point(x))
    return like((values[:d] - values[d]) / to_numpy(h).astype(np.float64), x)


def coord_gradient_spread(
    f: Oracle, x: Array, mu: Steps, batch: Batch, rng: np.random.Generator, groups: int = 8
) -> tuple[Array, float]:
    """CoordGradEst on a batch, and E |grad f_i - grad f|^2 as the spread of the means over some groups of it shows.

    Groups are drawn: samples that stand side by side may belong together (antithetic pairs have means of no spread).
    The variance is multiplied by `SAMPLING.variance_safety`; a batch of one sample shows none.

    Queries: 2*d per sample
    """
    parts = np.array_split(rng.permutation(batch.ids), min(groups, len(batch)))
    gradients = [coord_gradient(f.on(Batch(ids)), x, mu) for ids in parts]
    rows = np.stack([to_numpy(g).astype(np.float64) for g in gradients])
    shares = np.array([len(ids) for ids in parts]) / len(batch)
    mean = shares @ rows
    squares = shares @ np.sum((rows - mean) ** 2, axis=1)                       # E is sigma^2 (groups - 1) / |S|
    sigma2 = float(squares) * len(batch) / (len(parts) - 1) if len(parts) > 1 else 0.0
    return like(mean, x), SAMPLING.variance_safety * sigma2


def rand_gradient(f: Oracle, x: Array, mu: float, rng: np.random.Generator, m: int = 1) -> Array:
    """RandGradEst: d (f(x + mu u) - f(x - mu u)) / (2 mu) u with u uniform on the sphere, averaged over m draws.

    Section 2.1, Zhang, Xiong & Gu (2022).

    Queries: 2*m
    """
    u = spheres(rng, x, m)
    values = f(points(x[None, :] + mu * u) + points(x[None, :] - mu * u))
    slopes = like(x.shape[0] * (values[:m] - values[m:]) / (2 * mu * m), x)
    return namespace(x).sum(slopes[:, None] * u, axis=0)


def rand_gradient_sampled(
    f_S: Oracle, x: Array, mu: float, rng: np.random.Generator, directions: Directions = "own"
) -> Array:
    """RandGradEst on a minibatch S: the mean over i of d (f_i(x + mu u_i) - f_i(x - mu u_i)) / (2 mu) u_i.

    Lemma 8, Zhang, Xiong & Gu (2022), whose variance d |grad f|^2 / |S| needs a direction for each component; "shared"
    takes u_i = u, at the same cost.

    Queries: 2 per sample
    """
    if directions == "shared" or f_S.batch is None:
        return rand_gradient(f_S, x, mu, rng)
    return rand_gradient(f_S.on(Components(f_S.batch.ids)), x, mu, rng, len(f_S.batch))


def rand_gradient_forward(f: Oracle, x: Array, mu: float, rng: np.random.Generator, m: int = 1) -> Array:
    """The forward form of RandGradEst: d (f(x + mu u) - f(x)) / mu u, averaged over m draws.

    Lemma 8, Zhang, Xiong & Gu (2022).

    Queries: m + 1
    """
    u = spheres(rng, x, m)
    values = f(points(x[None, :] + mu * u) + point(x))
    slopes = like(x.shape[0] * (values[:m] - values[m]) / (mu * m), x)
    return namespace(x).sum(slopes[:, None] * u, axis=0)


def gauss_gradient(f: Oracle, x: Array, sigma: float, rng: np.random.Generator, m: int = 1) -> Array:
    """Gaussian smoothing: the mean over m draws z ~ N(0, sigma^2 I) of z (f(x + z) - f(x)) / sigma^2.

    The estimator of ZPSGD, Jin, Liu, Ge & Jordan (2018).

    Queries: m + 1
    """
    z = sigma * gausses(rng, x, m)
    values = f(points(x[None, :] + z) + point(x))
    slopes = like((values[:m] - values[m]) / (m * sigma**2), x)
    return namespace(x).sum(slopes[:, None] * z, axis=0)


def gauss_gradient_central(f: Oracle, x: Array, u: float, rng: np.random.Generator, m: int = 1) -> Array:
    """Gaussian smoothing from both sides: the mean over m draws z ~ N(0, I) of z (f(x + u z) - f(x - u z)) / (2 u).

    The estimator of Ren, Tang & Li (2023). Its squared length is 1 + (d + 1) / m times the gradient's, on average.

    Queries: 2*m
    """
    z = gausses(rng, x, m)
    values = f(points(x[None, :] + u * z) + points(x[None, :] - u * z))
    slopes = like((values[:m] - values[m:]) / (2 * u * m), x)
    return namespace(x).sum(slopes[:, None] * z, axis=0)


def hessian_vector(f: Oracle, x: Array, v: Array, mu: float) -> Array:
    """The paper's product: sum_i (f(x+v+mu e_i) - f(x+v-mu e_i) + f(x-mu e_i) - f(x+mu e_i)) / (2 mu) e_i.

    Section 2.2, Zhang, Xiong & Gu (2022). Error at most rho (|v|^2 / 2 + sqrt(d) mu^2 / 3) (Lemma 1); none on
    quadratics.

    Queries: 4*d
    """
    a, b, c, e = product_values(f, x, v, mu)
    return like((a - b + c - e) / (2 * mu), x)


def product_values(f: Oracle, x: Array, v: Array, mu: float) -> Vector:
    """The values that the paper's product is made of, as four rows: at x + v + mu e_i, x + v - mu e_i, x - mu e_i and
    x + mu e_i.

    Queries: 4*d
    """
    h = like(np.full(x.shape[0], mu), x)
    values: Vector = f(axes(x + v, h) + axes(x + v, -h) + axes(x, -h) + axes(x, h)).reshape(4, -1)
    return values
