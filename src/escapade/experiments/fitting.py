"""Exponents fitted to counts, with bands, and how they compare with the theory's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Kind = Literal["tight", "loose", "exceeded", "not resolved", "not measured"]

TIGHT: Kind = "tight"
LOOSE: Kind = "loose"
EXCEEDED: Kind = "exceeded"
UNRESOLVED: Kind = "not resolved"
UNSEEN: Kind = "not measured"

WIDEST = 0.5
"""A band that is wider cannot tell delta^(-1/2), the least power of the theory, from none at all."""

ALIKE = 0.05
"""Exponents this close are not told apart: over a decade they differ by 12%, and the theory's own exponent on a few
points moves by as much with hidden constants, which are taken as one."""

RESAMPLES = 1000
"""Of the seeds; the quantiles 0.025 and 0.975 then stand on 25 resamples each."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """queries = constant * t^exponent, with a band of 95% around the exponent.

    t is 1/delta, 1/epsilon or d: whatever makes a problem harder as it grows.
    """

    exponent: float
    low: float
    high: float
    misfit: float
    """Root mean square of log(queries / fitted queries)."""
    log_misfit: float
    """The same of queries = A + B log(t), fitted by least squares on the relative errors."""

    @property
    def logarithmic(self) -> bool:
        """Whether A + B log(t), which also has two constants, fits better, and B is not negative."""
        return self.log_misfit < self.misfit


def slope(t: Sequence[float] | Vector, q: Sequence[float] | Vector) -> float:
    """The exponent alone, by least squares on the logarithms."""
    x, y = np.log(np.asarray(t, dtype=float)), np.log(np.asarray(q, dtype=float))
    x = x - x.mean()
    return float(x @ (y - y.mean()) / (x @ x))


def fit(t: Sequence[float], runs: Sequence[Sequence[float]]) -> Fit:
    """The exponent of the medians of the runs at each t, three points at least.

    The band is the hull of two intervals of 95%: the t-interval of the regression, which sees where the points leave a
    straight line, and the percentiles of a bootstrap over seeds, each point resampled by itself, which sees how the
    seeds scatter. Either alone can be far too narrow: the first by chance on few points, the second where a run does
    not depend on the seed.
    """
    counts = [np.asarray(one, dtype=float) for one in runs]
    medians = np.array([float(np.median(one)) for one in counts])
    x, y = np.log(np.asarray(t, dtype=float)), np.log(medians)
    centred = x - x.mean()
    exponent = slope(t, medians)
    residual = y - y.mean() - exponent * centred
    freedom = len(x) - 2
    error = math.sqrt(float(residual @ residual) / freedom / float(centred @ centred))
    half = float(stdtrit(freedom, 0.975)) * error
    rng = np.random.default_rng(0)
    drawn = np.stack([np.median(rng.choice(one, (RESAMPLES, len(one))), axis=1) for one in counts])
    low, high = np.quantile(centred @ np.log(drawn) / float(centred @ centred), [0.025, 0.975])
    misfit = float(np.sqrt(np.mean(residual**2)))
    return Fit(exponent, min(float(low), exponent - half), max(float(high), exponent + half), misfit, _log(x, medians))


def _log(x: Vector, q: Vector) -> float:
    """The misfit of A + B x, in the logarithm."""
    design = np.stack([1 / q, x / q], axis=1)
    (constant, rate), *_ = np.linalg.lstsq(design, np.ones(len(q)))
    fitted = constant + rate * x
    if rate < 0 or float(np.min(fitted)) <= 0:
        return math.inf
    return float(np.sqrt(np.mean(np.log(q / fitted) ** 2)))


@dataclass(frozen=True)
class Answer:
    """How a measured exponent compares with the theory's."""

    kind: Kind
    by: float = 0.0
    """The difference of the exponents, where they differ."""

    def __str__(self) -> str:
        if self.kind in (LOOSE, EXCEEDED):
            return f"{self.kind} by {self.by:.2f}"
        return self.kind


def compare(fitted: Fit | None, theory: float) -> Answer:
    """Whether the theory's exponent is that of the runs.

    Tight: it lies in the band, or within `ALIKE` of the one measured. Loose: the band lies below it. Exceeded: the
    band lies above it. Where it lies in a band too wide to tell, the exponent is not resolved.
    """
    if fitted is None:
        return Answer(UNSEEN)
    if max(fitted.high, fitted.exponent + ALIKE) < theory:
        return Answer(LOOSE, theory - fitted.exponent)
    if min(fitted.low, fitted.exponent - ALIKE) > theory:
        return Answer(EXCEEDED, fitted.exponent - theory)
    return Answer(TIGHT if fitted.high - fitted.low <= WIDEST else UNRESOLVED)
