"""The tuned numbers of this room. `python benchmarks/tuned_numbers.py` lists them."""

from __future__ import annotations

from dataclasses import dataclass

from ..._settings import number
from ...derivatives.settings import LIMIT

STUDY = "a study on standard test problems; benchmarks/residuals.py tuning, problems that its table leaves out"


@dataclass(frozen=True)
class TrustRegionSettings:
    """Steps and their radius."""

    first: float = number(0.3, "of |x0 / s|, at least of 1", "the first radius", STUDY)
    good: float = number(0.7, "of the predicted decrease", "more of it, and the radius grows", "Nocedal & Wright")
    poor: float = number(0.1, "of the predicted decrease", "less of it, and the step was poor", "Nocedal & Wright")
    grow: float = number(2.5, "factor", "how far beyond a good step the next may go", STUDY)
    shrink: float = number(0.5, "of the step", "the radius after a step that gained little", "Nocedal & Wright")
    tried: tuple[float, float] = number(
        (0.02, 0.6), "of the step", "after a step that gained nothing the radius goes to the lowest point of the cost "
        "on the parabola of residuals through both ends, between these", STUDY,
    )
    interpolated: float = number(0.1, "of the step", "and is no less", STUDY)
    convex: float = number(1e-3, "of its weight", "a residual where a robust loss is concave counts for this", LIMIT)
    rounding: float = number(1e-15, "of the cost", "a smaller decrease is none", "a few units in the last place")
    wild: float = number(1e6, "of 1 + max |r|", "larger residuals teach a model nothing", LIMIT)
    lost: float = number(0.1, "of the step", "the radius after a step to where there is no value", "a guess, kept")
    shaken: float = number(
        4.0, "noises", "the radius is no shorter than what changes the residuals by so much", "a step that noise hides "
        "teaches nothing",
    )
    idle: int = number(10, "steps", "that noise explains, and one a variable, end a descent", LIMIT)
    least: float = number(1e-10, "of |x / s|", "shorter steps are rounding", LIMIT)
    curved: float = number(1e-10, "of the largest", "what counts as negative curvature of a model", LIMIT)


@dataclass(frozen=True)
class ModelSettings:
    """The two models of the residuals, and which of them is believed."""

    step: float = number(
        1e-6, "of s", "forward differences: their error is some 1e-10 / step of rounding and step / 2 of truncation",
        STUDY,
    )
    longest: float = number(0.1, "of s", "differences of noisy residuals are no longer", "curved beyond")
    nearest: float = number(0.1, "of s", "differences are relative to |x_i|, or to this where it is smaller", STUDY)
    poor_steps: int = number(2, "steps", "after this number of poor ones on a stale Jacobian it is taken anew", STUDY)
    fresh_poor_steps: int = number(5, "steps", "after this number it is, even if it was fresh", STUDY)
    overshoot: float = number(
        2.0, "of the secant correction", "on the first step after fresh differences, where the error of J s is all of "
        "second order: the Jacobian at the end of the step, and not in its middle", STUDY,
    )
    forget: float = number(0.6, "factor", "of the weight of a prediction for each newer one", STUDY)
    exact: float = number(1e-10, "of |r|", "predictions better than this are as good as any", LIMIT)
    clear: float = number(3.0, "log error", "no single prediction counts for more", STUDY)
    per_variable: int = number(4, "observations", "kept by the Gaussian process for each variable, and 12", STUDY)
    others: int = number(12, "observations", "the same", STUDY)
    variables: int = number(
        100, "variables", "with more of them a Gaussian process takes longer than most functions", LIMIT
    )
    lengths: tuple[int, int] = number((-2, 5), "powers of two", "lengths of the kernel that are tried", STUDY)
    flat: float = number(1e2, "prior variances", "of the constant and linear part, in units of the other's", STUDY)
    nugget: float = number(1e-11, "of the variances", "keeps the kernel matrix definite", STUDY)
    variances: int = number(7, "powers of 100", "of the noise's variance that are tried for that of a residual", LIMIT)
    slow: float = number(
        1e-2, "of the cost", "less gained between two Jacobians is little: residuals are large, and curve", STUDY
    )
    slow_times: int = number(2, "times", "in a row, before second differences of residuals are taken", STUDY)
    stuck: float = number(1e-7, "of the cost", "less gained between two Jacobians is nothing", "noise nobody told of")
    stuck_times: int = number(4, "times", "in a row, before a descent is ended", LIMIT)
    newton: int = number(20, "variables", "up to this number", "d (d + 3) / 2 queries: 11 Jacobians")
    second_step: float = number(2.0**-11, "of s", "their steps", "as those of a certificate")
    refinements: int = number(12, "steps", "of Gauss-Newton on the surrogate, for one step of the method", LIMIT)


@dataclass(frozen=True)
class RunSettings:
    """When to ask for the certificate, and what then."""

    aim: float = number(0.1, "of gtol", "the gradient of a stale Jacobian at which the certificate is asked for", STUDY)
    closer: float = number(0.1, "factor", "the same after it was asked for too early", STUDY)
    attempts: int = number(6, "certificates", "asked for in one run", LIMIT)
    noisy: int = number(3, "certificates", "with noise that are asked for whatever was gained between them", LIMIT)
    again: float = number(1e-3, "of |x / s|, at least of 1", "the least radius after differences", STUDY)
    leap: float = number(1.0, "of |x / s|, at least of 1", "the first step away from a saddle", LIMIT)
    ratio: float = number(4.0, "factor", "each next one is so much shorter", LIMIT)
    escapes: int = number(12, "queries", "for one escape", LIMIT)


TRUST_REGION = TrustRegionSettings()
MODELS = ModelSettings()
RUN = RunSettings()
