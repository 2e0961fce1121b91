"""Gradients from function values: along the coordinates, along random directions, by Gaussian smoothing."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Array, like, namespace, to_numpy
from .._random import gausses, spheres
from ..oracle import Components, Oracle, axes, central, point, points

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
