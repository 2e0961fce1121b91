"""How wrong a function value can be: rounding, a given standard deviation, or a measured one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Array, epsilon, like, limits, to_numpy
from .._random import sphere
from ..errors import InvalidSetting
from ..oracle import Oracle, points

NoiseSource = Literal["rounding", "given", "estimated"]

TABLE_POINTS = 9
"""Values in a difference table, besides f(x)."""

SPACING = 0.1837
"""Their spacing in units of the usual second-difference step; no simple fraction, so that no grid is met twice."""

TOLD = 4
"""So many differences that are multiples of the least one tell that values have a unit."""

MOST_PLACES = 12
"""Decimals, or digits after the first, that values may have been printed with."""

CLOSER = (1e-3, 1 / 32)
"""Values this much closer together show the same noise, but not the same structure of f; the second where the first are
all alike, which smooth ones so close together are if f is large."""

SAFETY = 1.5
"""A standard deviation measured from so few values is trusted only when multiplied by this."""


@dataclass(frozen=True)
class Noise:
    """The error of a function value.

    `level` is a standard deviation for noise that was given or estimated, and a bound for rounding.
    """

    level: float
    source: NoiseSource

    def norm(self, count: int, common: float = 0.0) -> float:
        """A bound on the norm of `count` errors, and of `common` (in root-mean-square) shared by all of them.

        Rounding errors are bounded one by one. Random ones exceed this about once in 30,000 times: the norm
        of a normal vector is below sqrt(count) + 4.
        """
        if self.source == "rounding":
            return self.level * math.sqrt(count) * (1 + common)
        return self.level * (math.sqrt(count) + 4 + 4 * common * math.sqrt(count))


def check_noise(noise: float | str | None) -> None:
    """Refuse what cannot be a noise level."""
    if noise is None or noise == "auto":
        return
    if isinstance(noise, str | bool) or not isinstance(noise, int | float | np.number):
        raise InvalidSetting(f"noise={noise!r} must be None (rounding), 'auto' or a standard deviation >= 0")
    if not (math.isfinite(noise) and noise >= 0):
        raise InvalidSetting(f"noise={noise!r} must be a finite standard deviation >= 0")


def rounding(x: Array, magnitude: float, precision: float = 0.0) -> float:
    """The rounding error of a value of this magnitude, computed in x's dtype or with the precision values came with."""
    eps, least = limits(x)
    return max(eps * magnitude, precision * magnitude, least)


def quantum(values: NDArray[np.float64], floor: float) -> float | None:
    """The unit in which these values are given, if there is one well above `floor`.

    A function that rounds its result, prints it, or passes it through a shorter float, shows that unit and not a noise.
    """
    several = np.unique(values)
    return _printed(several, floor) or _divisor(np.diff(several), floor)


def _printed(values: NDArray[np.float64], floor: float) -> float | None:
    """The last place of values that are all floats of 32 bits, or all have a few decimals, or a few digits."""
    if len(values) <= TOLD:
        return None
    top, numbers = float(np.max(np.abs(values))), values.tolist()
    with np.errstate(over="ignore"):
        if top * 2.0**-23 > 8 * floor and np.array_equal(values.astype(np.float32), values):
            return top * 2.0**-23
    tens = math.floor(math.log10(top)) + 1
    decimals, digits = _places("f", numbers), _places("e", numbers)
    unit = max(0.0 if decimals is None else 10.0**-decimals, 0.0 if digits is None else 10.0 ** (tens - digits - 1))
    return unit if unit > 8 * floor else None


def _places(kind: str, numbers: list[float]) -> int | None:
    """The places after the point with which all these numbers may have been printed; None if those are many."""
    if float(format(numbers[len(numbers) // 2], f".{MOST_PLACES}{kind}")) != numbers[len(numbers) // 2]:
        return None  # most numbers have more, and one tells
    some = range(MOST_PLACES + 1)
    return next((k for k in some if all(float(format(v, f".{k}{kind}")) == v for v in numbers)), None)


def _divisor(gaps: NDArray[np.float64], floor: float) -> float | None:
    """The number of which all gaps are multiples, if that is well above `floor`, and they are enough to tell."""
    gaps = gaps[gaps > 8 * floor]
    if len(gaps) < 3:
        return None
    for part in (1, 2, 4):  # the spacing of floats halves where a power of two is crossed
        count = part * gaps / np.min(gaps)
        count = count[count < 1e4]
        if len(count) > TOLD and np.all(np.abs(count - np.round(count)) <= 0.01):  # a few may be whole by chance
            return float(np.min(gaps))
    return None


def table_estimate(values: NDArray[np.float64]) -> float | None:
    """The noise level of equally spaced values, from their difference table; None if it does not settle.

    The k-th differences of a smooth function die out with k while those of noise grow at a known rate, so the
    first orders that agree with one another, and change sign, show the noise (Moré & Wild, 2011).
    """
    sigma, mixed, row = [], [], values.tolist()  # of so few numbers, that plain ones are faster than an array
    for k in range(1, len(values)):
        row = [b - a for a, b in pairwise(row)]
        sigma.append(math.sqrt(sum(v * v for v in row) / len(row) / math.comb(2 * k, k)))
        mixed.append(min(row) < 0 < max(row))
    for k in range(len(sigma) - 2):
        window = sigma[k : k + 3]
        if min(window) > 0 and max(window) <= 4 * min(window) and mixed[k]:
            return sigma[k]
    return None


def spacing(x: Array) -> float:
    """The distance between the values of a table."""
    return float(SPACING * epsilon(x) ** 0.25 * max(1.0, float(np.max(np.abs(to_numpy(x))))) ** 0.5)


def rounding_of_x(x: Array, unit: NDArray[np.float64], values: NDArray[np.float64], part: float = 1.0) -> float:
    """What the rounding of points does to the values of a table, as steep as that is."""
    slope = float(np.max(np.abs(np.diff(values)))) / (part * spacing(x))
    return slope * epsilon(x) * float(np.linalg.norm(to_numpy(x) / unit))


def table(
    f: Oracle, x: Array, unit: NDArray[np.float64], f0: float, rng: np.random.Generator, part: float = 1.0
) -> NDArray[np.float64]:
    """f(x) and equally spaced values along a random line through x, for `table_estimate`; `part` of the usual distance
    apart.

    Queries: 9
    """
    ray = sphere(rng, x) * like(unit, x)
    t = like(part * spacing(x) * np.arange(1, TABLE_POINTS + 1), x)
    values = f(points(x[None, :] + t[:, None] * ray[None, :]))
    return np.concatenate([[f0], values])
