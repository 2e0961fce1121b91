"""What `check_fun` answers: a report of remarks, each one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .derivatives.noise import Noise
from .derivatives.smoothness import Roughness

Rows = Literal["exact", "rounding", "wrong"]


@dataclass(frozen=True)
class Remark:
    """One finding: its topic, whether it is good, and a sentence, with a remedy if it is not."""

    topic: str
    """What was looked at."""
    good: bool
    """Whether nothing is to be done."""
    sentence: str
    """What was found, and a remedy if it is not good."""

    def __str__(self) -> str:
        return f"{self.topic:<12}{'ok ' if self.good else 'BAD'} {self.sentence}"


@dataclass(frozen=True, kw_only=True)
class FunctionReport:
    """What `check_fun` found. Printed, a line for each remark."""

    deterministic: bool
    """The same point gave the same bits."""
    rows: Rows | None
    """How the value of a point in a block compares with its value alone; None if not vectorized."""
    averages: bool | None
    """Two batches together give the mean of the two; None without samples."""
    noise: Noise
    """The error of a value, as measured."""
    missing: float
    """The share of points around x0 without a value."""
    roughness: Roughness
    """"smooth", or what jumps near x0."""
    amplitude: float
    """Of the structure that f has below `length`; 0 where none was seen."""
    length: float
    """The longest at which that structure dominates, in units learnt from f, or in x_scale."""
    mutates: bool
    """The function writes to its input."""
    nfev: int
    """Queries that the report took."""
    remarks: tuple[Remark, ...]
    """What is printed."""

    @property
    def ok(self) -> bool:
        """Nothing bad was found."""
        return all(remark.good for remark in self.remarks)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.remarks), f"{'cost':<12}    {self.nfev} queries"])


def remark(topic: str, found: str, **facts: Any) -> Remark:
    """The remark on what was found."""
    good, sentence = SENTENCES[topic][found]
    return Remark(topic, good, sentence.format(**facts))


SENTENCES: dict[str, dict[str, tuple[bool, str]]] = {
    "repeats": {
        "same": (True, "the same point gives the same bits."),
        "noise": (False, "values at one point differ by {spread:.1g}; fix a seed, or pass noise='auto'."),
        "sample": (False, "values on one batch differ by {spread:.1g}; seed each sample with its id."),
    },
    "rows": {
        "exact": (True, "a point has the same value in every block."),
        "rounding": (True, "a point has the same value in every block, but for rounding."),
        "wrong": (False, "the value of a point depends on its block; reduce over the last axis alone."),
    },
    "samples": {
        "mean": (True, "two batches together give the mean of the two."),
        "other": (False, "two batches together do not give their mean; return the mean over all ids."),
    },
    "noise": {
        "rounding": (True, "values are exact to rounding, {floor:.1g}."),
        "digits": (False, "values are given in steps of {level:.1g}, not {floor:.1g}; return all their digits."),
        "known": (True, "values are wrong by about {level:.1g}, rounding is {floor:.1g}."),
        "unknown": (False, "values are wrong by about {level:.1g}; pass noise={more:.1g} or noise='auto'."),
    },
    "missing": {
        "none": (True, "no value was missing near x0."),
        "some": (True, "{share:.0%} of the values near x0 are missing; differences are taken on other steps there."),
        "most": (False, "{share:.0%} of the values near x0 are missing; start elsewhere, or pass a smaller x_scale."),
    },
    "lengths": {
        "smooth": (True, "f is smooth at every length that was read, a parabola up to {smooth:.1g} units."),
        "rough": (False, "f is rough by {amplitude:.1g} below {length:.1g} units; tighten the solvers inside it."),
        "kinked": (False, "f has a kink of {amplitude:.1g} within {length:.1g} units; smooth it."),
    },
    "allows": {
        "enough": (True, "gradients down to {gtol:.1g} and curvatures down to {curvtol:.1g} can be shown."),
        "short": (True, "gradients below about {gtol:.1g}, or curvatures below {curvtol:.1g}, cannot be shown."),
    },
    "domain": {
        "fails": (False, "within {reach:.1g} of x0 {error}; return a finite value there, or pass a smaller x_scale."),
    },
    "smoothness": {
        "smooth": (True, "differences agree as for a smooth function, at steps of {step:.1g} too."),
        "flat": (False, "f does not change near x0; remove roundings and integers, or start elsewhere."),
        "jump": (False, "f jumps {place}; remove roundings, thresholds and integers from it."),
        "slope": (False, "the slope of f jumps {place}; smooth it, as sqrt(t*t + c*c) does |t|."),
        "curvature": (False, "the curvature of f jumps {place}; smooth it: certificates need it continuous."),
        "noise": (False, "f is rough {place}; tighten the solvers inside it, or pass noise='auto'."),
    },
    "input": {
        "kept": (True, "the function leaves its input alone."),
        "written": (False, "the function writes to its input (a copy, here); work on x.copy() in it."),
    },
}
"""For each topic and each thing found: whether it is good, and what to say."""
