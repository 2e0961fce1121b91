"""Averages over samples: how large a minibatch must be, and what it shows.

A batch is a value, so differences on one batch have no sampling noise; what remains is how far the batch's own
gradient and Hessian are from those of the whole. That is bounded here, with variances estimated from samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from .._array import Array, Vector, epsilon, like, to_numpy
from ..interval import Interval
from ..oracle import Batch, Oracle, axes, central, point
from ..tolerances import as_scale
from .noise import is_number, rounding
from .settings import SAMPLING
from .steps import curvature_steps, gradient_steps


def pilot_size(failure: float) -> int:
    """Samples to look at one by one before a variance is believed."""
    return math.ceil(math.log(2 / failure) / SAMPLING.rare)


@dataclass
class SampledModel:
    """A sampled function around a point, with steps for differences on any batch."""

    f: Oracle
    x: Array
    unit: Vector
    delta: float
    steps: Vector
    reach: float
    level: float
    product_error: float = 0.0
    """A bound, as far as was measured, on the error of a product by truncation and rounding."""

    @classmethod
    def measure(
        cls,
        f: Oracle,
        x: Array,
        *,
        delta: float,
        x_scale: Any,
        rng: np.random.Generator,
        noise: float | str | None = None,
    ) -> SampledModel:
        """Steps short enough that a product on a small batch does not change when they are doubled.

        Queries: 32, and (8*d + 6) * 32 once and for each time the steps are cut
        """
        unit = as_scale(x_scale, x)
        pilot = f.draw(SAMPLING.pilot, rng)
        f0 = f.tagged("check").on(pilot).value(x)
        level = rounding(x, abs(f0), f.precision)
        if is_number(noise):
            level = max(level, 3 * float(noise))  # type: ignore[arg-type]
        steps = curvature_steps(x, unit, level, delta) / unit
        local = cls(f, x, unit, delta, steps, float(np.median(steps)) * min(math.sqrt(x.shape[0]), 8.0), level)
        q = rng.standard_normal(local.d)
        q /= np.linalg.norm(q)
        for _ in range(8):
            truncation, noise = local.truncation(pilot, q), 4 * local.rounding_of_products()
            local.product_error = truncation + noise
            if truncation <= delta / 16 or not local.shorten():
                break
        return local

    def shorten(self) -> bool:
        """Halve the steps, unless rounding would then be felt."""
        if 16 * self.rounding_of_products() > self.delta / 16:
            return False
        self.steps, self.reach = self.steps / 2, self.reach / 2
        return True

    def rounding_of_products(self) -> float:
        """What rounding adds to a product with a unit vector."""
        return self.level * float(np.linalg.norm(1 / self.steps)) / self.reach

    def truncation(self, batch: Batch, q: Vector) -> float:
        """How far a product moves when every step is doubled.

        Queries: (8*d + 6) * len(batch)
        """
        twice = replace(self, steps=2 * self.steps, reach=2 * self.reach)
        return float(np.linalg.norm(twice.product(batch, q) - self.product(batch, q)))

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.x.shape[0])

    def moved(self, direction: Vector, length: float) -> Array:
        """x + length * direction, for a direction in y."""
        return self.x + like(length * direction * self.unit, self.x)

    def product(self, batch: Batch, q: Vector) -> Vector:
        """H_S q for a unit vector q, symmetric in q and e_i so that odd errors cancel.

        Queries: (4*d + 3) * len(batch)
        """
        d, h = self.d, self.reach
        mu = like(self.steps * self.unit, self.x)
        up, down = self.moved(q, h), self.moved(q, -h)
        base = central(self.x, mu) + point(self.x)
        values = self.f.tagged("curvature").on(batch)(axes(up, mu) + point(up) + axes(down, -mu) + point(down) + base)
        a, f_up = values[:d], values[d]
        b, f_down = values[d + 1 : 2 * d + 1], values[2 * d + 1]
        plus, minus, f0 = values[2 * d + 2 : 3 * d + 2], values[3 * d + 2 : 4 * d + 2], values[4 * d + 2]
        mixed: Vector = a - f_up - plus + f0 + b - f_down - minus + f0
        return mixed / (2 * h * self.steps)

    def along(self, v: Vector, failure: float, rng: np.random.Generator) -> Interval:
        """The curvature along the unit vector v of the whole average, from group means of second differences.

        The sample grows fourfold until the interval clears -delta/2 on one side, is a tenth of delta wide, or is the
        whole sum.

        Queries: 3 per sample, and 192 to measure truncation
        """
        size, f = 4 * SAMPLING.groups, self.f
        h = SAMPLING.apart * self.reach  # not the step of any product
        pilot = f.draw(SAMPLING.pilot, rng)
        error = abs(self._second_difference(pilot, v, 2 * h) - self._second_difference(pilot, v, h))
        error += 8 * self.level / h**2
        for attempt in range(1, 20):
            spent = 6 * failure / (math.pi * attempt) ** 2
            whole = f.samples != "stream" and f.samples is not None and size >= f.samples / 2
            if whole:
                mean, width = self._second_difference(f.everything(), v, h), 0.0
            else:
                ids = rng.permutation(f.draw(size, rng).ids)
                groups = [Batch(part) for part in np.array_split(ids, SAMPLING.groups)]
                means = np.array([self._second_difference(group, v, h) for group in groups])
                mean = float(means.mean())
                t = float(stdtrit(SAMPLING.groups - 1, 1 - spent / 2))
                width = t * float(means.std(ddof=1)) / math.sqrt(SAMPLING.groups)
            width += error
            seen = Interval(mean - width, mean + width)
            clear = seen.upper <= -self.delta / 2 or seen.lower > -self.delta / 2
            if whole or clear or width < self.delta / 20:
                return seen
            size *= 4
        return seen

    def _second_difference(self, batch: Batch, v: Vector, h: float) -> float:
        f = self.f.tagged("curvature").on(batch)
        up, down, middle = f(point(self.moved(v, h)) + point(self.moved(v, -h)) + point(self.x))
        return float(up + down - 2 * middle) / h**2

    def hessian_spread(self, failure: float, rng: np.random.Generator) -> tuple[float, float]:
        """E|H_i - H|_F^2 and max |H_i - H|_F over samples, from products with a random vector.

        Queries: (4*d + 3) * pilot_size(failure)
        """
        q = rng.standard_normal(self.d)
        q /= np.linalg.norm(q)
        images = np.stack([self.product(Batch(np.array([i])), q) for i in self.f.draw(pilot_size(failure), rng).ids])
        away = images - images.mean(axis=0)
        square = np.sum(away**2, axis=1)
        n = len(images)
        variance = SAMPLING.variance_safety * self.d * float(np.sum(square)) / max(1, n - 1)
        top = SAMPLING.variance_safety * math.sqrt(self.d * float(np.max(square)))
        return variance, top


def bernstein_batch(variance: float, top: float, d: int, error: float, failure: float) -> int:
    """The batch whose Hessian is within `error` of the whole one in norm, by the matrix Bernstein inequality."""
    log = math.log(2 * d / failure)
    return max(1, math.ceil(2 * variance * log / error**2 + 2 * top * log / (3 * error)))


def bernstein_error(variance: float, top: float, d: int, batch: int, failure: float) -> float:
    """How far the Hessian of a batch can be from the whole one."""
    log = math.log(2 * d / failure)
    return math.sqrt(2 * variance * log / batch) + 2 * top * log / (3 * batch)


def sampled_gradient(
    f: Oracle,
    x: Array,
    *,
    unit: Vector,
    gtol: float,
    failure: float,
    rng: np.random.Generator,
    noise: float | str | None = None,
) -> Interval:
    """The norm of the gradient of a sampled function: the median over batches (Proposition 1).

    Batches of B = 128 sigma^2 / gtol^2 samples put each estimate within gtol/4 with probability 7/8 (Chebyshev's
    inequality), and the median of m of them with probability 1 - 0.67^m. A sum that would be used up is taken whole.

    Deviation: the paper's proof lets each batch fail with probability 1/2, and a median of such batches proves nothing.

    Queries: k + 2*d * (k + (m + 2) B) with k = pilot_size(failure), or k + 2*d * (k + 2 n)
    """
    f = f.tagged("check")
    pilot = f.draw(pilot_size(failure), rng).ids
    f0 = f.on(Batch(pilot)).value(x)
    level = rounding(x, abs(f0), f.precision)
    if is_number(noise):
        level = max(level, 3 * float(noise))  # type: ignore[arg-type]
    h = gradient_steps(x, unit, level)
    spread = np.stack([_gradient(f.on(Batch(np.array([i]))), x, h) * unit for i in pilot])
    sigma2 = SAMPLING.variance_safety * float(np.sum(np.var(spread, axis=0, ddof=1))) if len(pilot) > 1 else 0.0
    m = math.ceil(math.log(1 / failure) / math.log(1 / 0.67)) | 1
    size = max(len(pilot), math.ceil(min(128 * sigma2 / gtol**2, 2.0**31)))
    noise_error = level * float(np.linalg.norm(unit / h)) + epsilon(x) ** 0.5 * gtol
    if isinstance(f.samples, int) and (f.samples <= SAMPLING.whole or m * size >= f.samples):
        g = _gradient(f.on(f.everything()), x, h) * unit
        truncation = float(np.linalg.norm(_gradient(f.on(f.everything()), x, 2 * h) * unit - g))
        norms, width = [float(np.linalg.norm(g))], truncation + noise_error
    else:
        estimates = [_gradient(f.on(f.draw(size, rng)), x, h) * unit for _ in range(m)]
        norms = [float(np.linalg.norm(g)) for g in estimates]
        check = f.on(f.draw(size, rng))
        truncation = float(np.linalg.norm((_gradient(check, x, 2 * h) - _gradient(check, x, h)) * unit))
        width = math.sqrt(8 * sigma2 / size) + truncation + noise_error
    middle = float(np.median(norms))
    return Interval(max(0.0, middle - width), middle + width)


def _gradient(f: Oracle, x: Array, h: Vector) -> Vector:
    step = like(h, x)
    values = f(central(x, step))
    d = x.shape[0]
    return (values[:d] - values[d:]) / (2 * to_numpy(step).astype(np.float64))
