"""How wrong a function value can be: rounding, a unit in which values are given, a standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from .._array import Array, Vector, epsilon, like, limits, to_numpy
from .._random import sphere
from ..domain import Domain
from ..errors import InvalidSetting
from ..oracle import Oracle, Stencil, points, retaken
from .settings import NOISE

NoiseSource = Literal["rounding", "digits", "given", "estimated", "roughness"]

@dataclass(frozen=True)
class Noise:
    """The error of a function value.

    `level` is a standard deviation for noise that was given or estimated, and a bound for rounding, for values that are
    given to a few digits, and for roughness, which is structure of f below the lengths that matter: not independent, as
    wrong as it can be everywhere.
    """

    level: float
    source: NoiseSource
    unit: float = 0.0
    """The unit in which values are given, where that is larger than their rounding; else 0."""

    @property
    def bounded(self) -> bool:
        """Whether no error is larger than `level`."""
        return self.source in ("rounding", "digits", "roughness")

    def norm(self, count: int, common: float = 0.0) -> float:
        """A bound on the norm of `count` errors, and of `common` (in root-mean-square) shared by all of them.

        Rounding errors and roughness are bounded one by one. Random ones exceed this about once in 30,000 times: the
        norm of a normal vector is below sqrt(count) + 4.
        """
        if self.bounded:
            return self.level * math.sqrt(count) * (1 + common)
        return self.level * (math.sqrt(count) + NOISE.deviations * (1 + common * math.sqrt(count)))


def check_noise(noise: Noise | float | str | None) -> None:
    """Refuse what cannot be a noise level."""
    if noise is None or noise == "auto" or isinstance(noise, Noise):
        return
    if isinstance(noise, str | bool) or not isinstance(noise, int | float | np.number):
        raise InvalidSetting(f"noise={noise!r} must be None (rounding), 'auto' or a standard deviation >= 0")
    if not (math.isfinite(noise) and noise >= 0):
        raise InvalidSetting(f"noise={noise!r} must be a finite standard deviation >= 0")


def rounding(x: Array, magnitude: float, precision: float = 0.0) -> float:
    """The rounding error of a value of this magnitude, computed in x's dtype or with the precision values came with."""
    eps, least = limits(x)
    return max(eps * magnitude, precision * magnitude, least)


def quantum(values: Vector, floor: float) -> float | None:
    """The unit in which these values are given, if there is one well above `floor`.

    A function that rounds its result, prints it, or passes it through a shorter float, shows that unit and not a noise.
    """
    several = np.unique(values)
    return _printed(several, floor) or _divisor(np.diff(several), floor)


def _printed(values: Vector, floor: float) -> float | None:
    """The last place of values that are all floats of 32 bits, or all have a few decimals, or a few digits."""
    if len(values) <= NOISE.told:
        return None
    top, numbers = float(np.max(np.abs(values))), values.tolist()
    with np.errstate(over="ignore"):
        if top * 2.0**-23 > NOISE.clear * floor and np.array_equal(values.astype(np.float32), values):
            return top * 2.0**-23
    tens = math.floor(math.log10(top)) + 1
    decimals, digits = _places("f", numbers), _places("e", numbers)
    unit = max(0.0 if decimals is None else 10.0**-decimals, 0.0 if digits is None else 10.0 ** (tens - digits - 1))
    return unit if unit > NOISE.clear * floor else None


def printed_unit(values: Vector) -> float:
    """The last place of values that all have few digits, or are floats of 32 bits; 0 if they are not so.

    Fewer of them tell than of values of any unit: a chance of 1e-5 each for a float64 that was not rounded.
    """
    several = np.unique(values[values != 0.0])
    if len(several) < 3:
        return 0.0
    top, numbers = float(np.max(np.abs(several))), several.tolist()
    with np.errstate(over="ignore"):
        single = top * 2.0**-23 if np.array_equal(several.astype(np.float32), several) else 0.0
    digits = _places("e", numbers)
    if digits is None or digits > NOISE.few:
        return single
    return max(single, float(10.0 ** (math.floor(math.log10(top)) - digits)))


def _places(kind: str, numbers: list[float]) -> int | None:
    """The places after the point with which all these numbers may have been printed; None if those are many."""
    if float(format(numbers[len(numbers) // 2], f".{NOISE.places}{kind}")) != numbers[len(numbers) // 2]:
        return None  # most numbers have more, and one tells
    some = range(NOISE.places + 1)
    return next((k for k in some if all(float(format(v, f".{k}{kind}")) == v for v in numbers)), None)


def _divisor(gaps: Vector, floor: float) -> float | None:
    """The number of which all gaps are multiples, if that is well above `floor`, and they are enough to tell."""
    gaps = gaps[gaps > NOISE.clear * floor]
    if len(gaps) < 3:
        return None
    for part in (1, 2, 4):  # the spacing of floats halves where a power of two is crossed
        count = part * gaps / np.min(gaps)
        count = count[count < NOISE.multiples]
        # A few may be whole by chance.
        if len(count) > NOISE.told and np.all(np.abs(count - np.round(count)) <= NOISE.whole):
            return float(np.min(gaps))
    return None


def table_estimate(values: Vector) -> float | None:
    """The noise level of equally spaced values, from their difference table; None if its orders do not agree.

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
        if min(window) > 0 and max(window) <= NOISE.agree * min(window) and mixed[k]:
            return sigma[k]
    return None


def spacing(x: Array) -> float:
    """The distance between the values of a table."""
    return float(NOISE.spacing * epsilon(x) ** 0.25 * max(1.0, float(np.max(np.abs(to_numpy(x))))) ** 0.5)


def rounding_of_x(x: Array, unit: Vector, values: Vector, part: float = 1.0) -> float:
    """What the rounding of points does to the values of a table, as steep as that is."""
    slope = float(np.max(np.abs(np.diff(values)))) / (part * spacing(x))
    return slope * epsilon(x) * float(np.linalg.norm(to_numpy(x) / unit))


def table(
    f: Oracle, x: Array, unit: Vector, f0: float, rng: np.random.Generator, part: float = 1.0
) -> Vector:
    """f(x) and equally spaced values along a random line through x, for `table_estimate`; `part` of the usual distance
    apart, or a little less where one of them is missing.

    Queries: 9, and 9 more for each time that a value is missing
    """
    ray = sphere(rng, x) * like(unit, x)
    t = part * spacing(x) * np.arange(1, NOISE.points + 1)
    if not f.domain.unbounded:
        ray = like(inward(f.domain, to_numpy(x).astype(np.float64), to_numpy(ray).astype(np.float64), float(t[-1])), x)

    def line(scale: Vector) -> Stencil:
        return points(x[None, :] + like(scale * t, x)[:, None] * ray[None, :])

    values, _ = retaken(f, line, np.zeros(NOISE.points, dtype=np.int64), 1)
    return np.concatenate([[f0], values])


def inward(domain: Domain, x: Vector, ray: Vector, length: float) -> Vector:
    """The ray, each of its entries turned to the side with more room where it would leave the domain within this
    length, and shortened where there is less room on both."""
    down, up = domain.room(x)
    wanted = np.abs(ray) * length
    side = np.sign(ray)
    side = np.where(np.where(side > 0, up, down) < wanted, np.where(up >= down, 1.0, -1.0), side)
    room: Vector = np.where(side > 0, up, down)
    return np.asarray(side * np.minimum(np.abs(ray), room / length))


@dataclass(frozen=True)
class NoiseEvidence:
    """The values by which the noise around a point is judged, besides those of difference rows."""

    table: Vector
    """Equally spaced values along a line, f(x) first; f(x) alone where the noise was given."""
    close: Vector
    """Values much closer together, where the table shows noise; else empty."""
    close_part: float = 1.0
    """Their distance, beside that of the table."""

    @classmethod
    def gather(
        cls,
        f: Oracle,
        x: Array,
        unit: Vector,
        f0: float,
        rng: np.random.Generator,
        *,
        noise: Noise | float | str | None,
        resolution: float = 0.0,
        thrifty: bool = False,
    ) -> NoiseEvidence:
        """Ask for them, unless the noise is given as a number, or as what a ladder of lengths showed; no closer
        together than a resolution. `thrifty`: where the table shows little more than rounding, that is bounded by it.

        Queries: 0 if the noise is given; else 9, and 9 or 18 more where the table shows more than rounding
        """
        if given(noise) is not None:
            return cls(np.array([f0]), np.zeros(0))
        part = max(1.0, resolution / spacing(x))
        first = cls(table(f, x, unit, f0, rng, part), np.zeros(0))
        if noise == "auto" or part > 1.0 or not first._more_than_rounding(x, unit, f.precision):
            return first
        floor = rounding(x, float(np.max(np.abs(first.table))), f.precision)
        if thrifty and NOISE.safety * (table_estimate(first.table) or 0.0) <= NOISE.significant * floor:
            return cls(first.table, first.table)
        found = first
        for part in NOISE.close:
            found = cls(first.table, table(f, x, unit, f0, rng, part), part)
            if len(np.unique(found.close)) > NOISE.alike:
                break
        return found

    def noise(
        self,
        x: Array,
        unit: Vector,
        precision: float,
        *,
        known: Noise | None = None,
        rows: Vector | None = None,
        longest: float = 0.0,
        trust_table: bool = False,
    ) -> Noise:
        """The noise that these values, and those of difference rows with steps up to `longest`, show.

        A larger unit of values is believed at once; a table that shows noise unless the close values vary smoothly, or
        in any case if it is to be trusted (noise="auto").
        """
        seen = self.table if rows is None else np.concatenate([self.table, rows])
        floor = rounding(x, float(np.max(np.abs(seen))), precision)
        if known is not None and known.source != "rounding":
            return known if known.unit or known.level > floor else Noise(floor, "rounding")
        unit_of_f = 0.0 if rows is None else self._unit_of_values(seen, floor, epsilon(x), longest)
        if unit_of_f:
            return Noise(unit_of_f, "digits", unit_of_f)
        level = table_estimate(self.table) or 0.0
        clear = floor if trust_table else NOISE.significant * floor
        if NOISE.safety * level <= clear:
            return Noise(max(floor, self._rounding_of_terms(level, x, unit)), "rounding")
        if self._is_structure(level, x, unit, precision):
            return Noise(floor, "rounding")
        return Noise(NOISE.safety * level, "estimated")

    def _more_than_rounding(self, x: Array, unit: Vector, precision: float) -> bool:
        """Whether the table shows more than the rounding of f, though not, perhaps, that of larger terms in it."""
        level = table_estimate(self.table) or 0.0
        floor = rounding(x, float(np.max(np.abs(self.table))), precision)
        own = level > NOISE.significant * rounding_of_x(x, unit, self.table)
        return own and NOISE.rounding_bound * level > floor

    def _rounding_of_terms(self, level: float, x: Array, unit: Vector) -> float:
        """A bound on the rounding of terms that cancel in f, where values much closer together show it too: what fades
        there is structure of f, and what the rounding of points explains is none of f."""
        seen = table_estimate(self.close) if len(np.unique(self.close)) > NOISE.alike else None
        if seen is None or level <= NOISE.significant * rounding_of_x(x, unit, self.table):
            return 0.0
        return NOISE.rounding_bound * min(level, seen)

    def _is_structure(self, level: float, x: Array, unit: Vector, precision: float) -> bool:
        """Whether the close values vary as smoothly as rounding lets them: what seemed noise is structure of f."""
        if len(np.unique(self.close)) < 2 or level <= 4 * rounding_of_x(x, unit, self.table):
            return False
        seen = table_estimate(self.close)
        floor = rounding(x, float(np.max(np.abs(self.close))), precision)
        floor += rounding_of_x(x, unit, self.close, self.close_part)
        # Rounding falls with the square of the distance at most, where f does.
        return seen is None or NOISE.safety * seen <= max(NOISE.significant * floor, self.close_part**3 * level)

    def _unit_of_values(self, seen: Vector, floor: float, eps: float, longest: float) -> float:
        """The unit in which f is given, if that is well above its rounding; else 0.

        Ten values along a line differ, unless f is given in steps; then the least change seen is such a step. And
        values that are all multiples of one change are: a table alone may be a parabola, and rows a few multiples of
        one curvature, but not both together.
        """
        steps, clear = np.diff(self.table), NOISE.clear * floor
        if len(np.unique(self.table)) > NOISE.alike:
            large, unit = np.abs(steps[steps != 0]), quantum(seen, floor) or 0.0
            if len(large) < len(steps) and np.min(large) > clear:  # neighbours that agree to the bit: a staircase
                return max(float(np.min(large)), unit)
            return unit
        change = np.abs(seen - self.table[0])
        change = change[change > clear]
        # Rounding explains a flat table if a quartic through the rows would not show in it.
        visible = (NOISE.points * NOISE.spacing * eps**0.25 / longest) ** 4
        return float(np.min(change)) if len(change) and np.max(change) * min(visible, 1.0) > clear else 0.0


def is_number(noise: Noise | float | str | None) -> bool:
    """Whether the noise was given as a standard deviation."""
    return isinstance(noise, int | float | np.number)


def given(noise: Noise | float | str | None) -> Noise | None:
    """The noise, where it was given; None where it is to be found out."""
    if isinstance(noise, Noise):
        return noise
    return Noise(float(noise), "given") if is_number(noise) else None  # type: ignore[arg-type]
