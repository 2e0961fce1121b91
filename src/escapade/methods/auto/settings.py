"""The tuned numbers of this room. `python benchmarks/tuned_numbers.py` lists them."""

from __future__ import annotations

from dataclasses import dataclass

from ..._settings import number
from ...derivatives.settings import LIMIT

ABLATED = "inherited; benchmarks/ablation.py, seeds 9000 to 9099: without it "
CHOSEN = "benchmarks/sampled_problems.py with n = 1e4 and 1e5, seeds 9000 and 9001"
WITHOUT = CHOSEN + ": without it "
HELD = "inherited; benchmarks/ablation.py, seeds 9000 to 9099, as a part of what it belongs to"


@dataclass(frozen=True)
class MethodSettings:
    """When to probe, to ask for the certificate, and to give up."""

    probes: tuple[int, int] = number((12, 1), "products", "spent on a model that keeps being contradicted, first and "
                                     "later", ABLATED + "1.02 times the queries, 1.13 from 200 variables on")
    probe_steps: int = number(2, "steps", "after this number the secants have tried the model, unless the run came far",
                              HELD)
    far: float = number(0.5, "of the largest decrease between looks", "what coming far means", HELD)
    restarts: int = number(3, "times", "a run goes on after a certificate was asked for too early",
                           ABLATED + "22 of 122 successes are lost")
    tighter: float = number(4.0, "factor", "relative tolerances that fall by more at a certificate send a run back",
                            "fewer than 10 times from a curvature of 1 to one of 1e-6")
    struggles: tuple[int, int] = number((6, 10), "steps", "so many of the last that fail lead to a look whether f is "
                                        "rough", "12 of 59 S2MPJ problems look, at 36 queries; all fits of "
                                        "differential equations at rtol 1e-3 (benchmarks/values.py)")
    looks: int = number(2, "times", "f is looked at for roughness", LIMIT)
    futile: int = number(4, "directions", "that may lead nowhere before a run gives up", LIMIT)
    unbounded: float = number(1e25, "of 1 + |f(x0)|", "f that falls below minus this has no bottom",
                              "beyond it second differences have no digits left")


@dataclass(frozen=True)
class DifferenceSettings:
    """Steps and noise of the differences outside the certificate."""

    few: int = number(8, "variables", "up to this number all second differences are taken at the start and where a "
                      "model failed", ABLATED + "1.02 times the queries")
    noisier: float = number(50.0, "factor", "noise larger than assumed by less makes no difference",
                            "an error of sqrt(50) in a step doubles no gradient error that decides")
    outdated: float = number(1e-4, "of |f|", "noise is measured again where f fell below that since, and steps fail",
                             "where terms of f cancel their errors stay: benchmarks/scale.py ode")
    resolved: int = number(64, "units in the last place of x_i", "no step is shorter",
                           "2^6: an error of 1% of the step")
    diagonal_error: float = number(0.3, "relative", "the error assumed of the model's diagonal before secants tell",
                                   HELD)
    change: float = number(1e-3, "of |f|", "steps over which f changes by more are cut in a dense Hessian", HELD)
    change_aim: float = number(1e-4, "of |f|", "and aimed at so large a change", HELD)
    change_noise: float = number(1e4, "value errors", "a smaller change is none", HELD)


@dataclass(frozen=True)
class ModelSettings:
    """SR1 and its safeguards."""

    cap: float = number(10.0, "of the curvatures in sight", "a larger SR1 correction is not believed",
                        ABLATED + "1.02 to 1.05 times the queries and 4 of 122 successes lost")
    least_cosine: float = number(1e-8, "cosine", "a correction r'r / r's with r nearly orthogonal to s is skipped",
                                 "Nocedal & Wright, (6.26)")
    faint_cosine: float = number(0.05, "cosine", "below it no correction may end a positive definite model",
                                 ABLATED + "1.03 times the queries from 200 variables on")
    futile_steps: int = number(6, "steps", "that gained nothing on an indefinite model before it is kept positive "
                               "definite", "tests: a Rosenbrock valley of 100 variables takes a fifth more without it")
    better: float = number(0.8, "of the residual", "a multiple of the identity must leave less to replace it", HELD)
    badly_scaled: float = number(1e4, "factor", "variables whose curvatures differ by more get units of their own",
                           ABLATED + "3 of 123 successes are lost (seeds 9040 to 9055)")
    unknown: float = number(1e-8, "of the root of the largest curvature", "below it a variable may have none",
                            "sqrt(eps)")
    floor: float = number(1e-8, "of the largest curvature", "smaller ones are raised to it in a Newton step",
                          "sqrt(eps)")
    huge: float = number(1e100, "curvature", "a larger one, or NaN, is none", "its square does not overflow")
    negligible: float = number(1e-3, "relative", "a gain, a curvature or a component that is smaller is none", HELD)
    different: float = number(0.5, "relative", "a curvature or a diagonal that differs by more is another", HELD)


@dataclass(frozen=True)
class LimitedMemorySettings:
    """The model of many variables."""

    large: int = number(500, "variables", "beyond it a dense model costs more time than it saves queries",
                        "factors of 500 variables take as long as 500 cheap queries")
    rank: int = number(60, "directions", "kept; of more, the largest corrections", HELD)
    singular: float = number(1e-9, "relative", "what is smaller is not positive definite", "1e7 eps")
    shifts: int = number(60, "shifts", "tried for one step", LIMIT)


@dataclass(frozen=True)
class SubproblemSettings:
    """The trust-region subproblem of a dense model."""

    edge: float = number(1e-6, "of the radius", "how much a step may be too long before it is cut", HELD)
    near: float = number(0.05, "of the radius", "how far from it a step may end in many dimensions", HELD)
    many: int = number(64, "variables", "from here on an inverse is kept: it costs less than Cholesky factors", "timed")
    tries: int = number(20, "shifts", "tried before eigenvectors are taken", LIMIT)
    block: int = number(200_000, "multiplications", "that BLAS does on one thread", "timed")
    exact: float = number(1e-8, "of |g|", "what a step by the inverse may leave of the gradient", "sqrt(eps)")
    pivot: float = number(1e-6, "of the determinant", "a change that leaves less ends the inverse", HELD)


@dataclass(frozen=True)
class TrustRegionSettings:
    """Radius and length of steps."""

    radius: float = number(1.0, "scale", "the first", "the scale of x is max(|x|, 1)")
    after_escape: float = number(0.1, "scale", "at least so long after a poll or a refinement", HELD)
    after_failure: float = number(0.01, "scale", "so long after a model failed", HELD)
    lengthen: float = number(4.0, "factor", "a step inside the region is made so much longer at most", HELD)
    poor: float = number(0.1, "of the predicted decrease", "less shrinks the region", "Nocedal & Wright, Algorithm 4.1")
    fair: float = number(0.25, "of the predicted decrease", "less adjusts the length",
                         "Nocedal & Wright, Algorithm 4.1")
    modest: float = number(0.3, "of the predicted decrease", "less halves the region", HELD)
    good: float = number(0.7, "of the predicted decrease", "more doubles the region", "Nocedal & Wright, Algorithm 4.1")
    edge: float = number(0.9, "of the radius", "a longer step was cut short by the region", HELD)
    worth: float = number(0.5, "values", "the square of the relative change of length, times d + 1, that pays for one",
                          ABLATED + "adjusting lengths: 1.05 to 1.07 times the queries")
    doublings: int = number(30, "times", "a step is doubled at most", "2^30: nine orders of magnitude")
    doubling_gain: float = number(1.5, "of the decrease", "a doubled step must reach it",
                                  ABLATED + "doublings: 1.03 to 1.06 times the queries, 6 of 122 successes lost")
    parabola_gain: float = number(0.05, "of the decrease", "the parabola's lowest point must promise it", HELD)


@dataclass(frozen=True)
class SparseNewtonSettings:
    """Newton's method on a Hessian of a known pattern."""

    shifts: int = number(40, "shifts", "tried for one step", LIMIT)
    near: float = number(0.1, "of the radius", "how far from it a step may end", "Nocedal & Wright, section 4.3")
    agreed: float = number(
        0.3, "relative", "a step whose decrease was predicted within this is followed by a gradient alone",
        "six chains of 1,000 variables: 0.1, 0.3 and 1 cost nearly the same, no secants a fifth more",
    )
    extra: int = number(2, "steps", "from a gradient within the tolerance", "quadratic convergence: a row each")
    regular: float = number(1e-12, "of the largest weight", "added where a step leaves variables alone", "5,000 eps")
    alike: float = number(1e-6, "of the curvature", "smaller differences tell of no entry that lacks", "rounding apart")
    wrong: float = number(
        10.0, "errors", "second differences along random directions that are off by more accuse the pattern",
        "three times the factor by which random directions miss errors",
    )


@dataclass(frozen=True)
class DescentSettings:
    """When descent has failed, stagnates, or has arrived."""

    arrived: float = number(0.5, "of gtol", "the gradient at which a certificate is asked for",
                            "its error fits in half")
    relative: float = number(
        0.05, "of gtol", "the same with relative tolerances, so that the verdict does not hang on where a run lands",
        "a tenth of the other: a row or two, where convergence is superlinear; benchmarks/natural.py --defaults",
    )
    worthwhile: float = number(1e-6, "of the fall", "with relative tolerances, a Newton step that promises more comes "
                               "before", "a study on 107 CUTEst problems, not repeated here")
    beyond: float = number(1e-3, "of gtol", "but with a smaller gradient none", "1/30, twice, in that study")
    failed_steps: int = number(8, "steps", "that may fail before the gradient is measured centrally",
                               ABLATED + "1.04 times the queries on noise")
    stagnation: int = number(30, "steps", "over which a run is looked at for stagnation",
                             ABLATED + "all 27 Beale functions in valleys at infinity fail (seeds 9040 to 9055)")
    outdated: int = number(8, "steps", "over which a model is compared with what steps gained",
                           ABLATED + "1.06 times the queries from 200 variables on, 3 of 122 successes lost")
    outdated_gain: float = number(1.35, "of the predicted decrease", "more, on average, and the model is outdated",
                                  HELD)
    last_secants: int = number(3, "secants", "whose contradictions are averaged", HELD)
    small: float = number(
        0.1, "of gtol", "a slope or an error that does not matter: forward gradients, line searches, stagnation", HELD
    )


@dataclass(frozen=True)
class PollSettings:
    """The poll of the coordinates."""

    contradicted: float = number(0.25, "relative", "a second difference so far from the model's gets its other side",
                                 HELD)
    steep: int = number(3, "coordinates", "with a slope, and the point is not stationary", HELD)
    first: int = number(4, "coordinates", "seen from both sides where no diagonal is known", HELD)
    blocks: int = number(32, "blocks", "a row is asked for in: the poll ends with the block of its first direction",
                         "a block costs at most 3% of the row too much")
    slope: float = number(0.1, "of curvature times scale", "a steeper coordinate is left to descent", HELD)


@dataclass(frozen=True)
class ProbeSettings:
    """Products that look for a direction down."""

    agreed: float = number(0.01, "relative", "a product that contradicts the model by less agrees", HELD)
    tilt: float = number(2.0, "per standard deviation", "the log-weight that higher diagonal entries lose", HELD)
    least: float = number(4.0, "log-weight", "no coordinate loses more: alone it shows no other", HELD)


@dataclass(frozen=True)
class LineSearchSettings:
    """The line search along a direction of negative curvature."""

    shorten: int = number(40, "times", "the first length is divided by 4 while f does not fall", "4^40 exceeds 1/eps")
    grow: tuple[float, float] = number((1.4, 2.0), "factors", "the first, and all later extensions", HELD)
    inner: float = number(0.7, "of the length", "a third point for the first parabola", HELD)
    parabolas: int = number(8, "times", "at most", LIMIT)
    flat: float = number(1e-12, "of the decrease", "a parabola that promises less ends the search",
                         "rounding: a few thousand eps")
    far: float = number(1e10, "scales of x", "a fall that goes on so far has no bottom", "beyond it x + h is x")


@dataclass(frozen=True)
class RefineSettings:
    """Newton steps on differences of fourth order."""

    most: int = number(100, "variables", "up to here all second differences cost no more than a certificate", "d^2/2")
    fits: int = number(3, "times", "steps are fitted to the curvatures seen", LIMIT)
    newton: int = number(5, "steps", "with one model", LIMIT)
    digits: float = number(1e-16, "of the largest eigenvalue", "smaller ones are rounding", "eps / 2")
    enough: float = number(0.3, "of gtol", "what a refinement may leave of the gradient",
                           ABLATED + "refinement: 5 of 122 successes are lost")


@dataclass(frozen=True)
class BatchedSettings:
    """Few rounds of many queries."""

    radii: tuple[float, ...] = number((1.0, 0.25, 4.0, 0.0625, 16.0), "of the radius", "tried at once",
                                      "powers of 4 around it")
    lengths: tuple[float, ...] = number(tuple(4.0**k for k in range(-6, 3)), "scales", "tried along a direction down",
                                        "powers of 4 over five orders")
    extra_steps: int = number(2, "steps", "spent on a gradient within the tolerance", LIMIT)
    certificates: int = number(8, "certificates", "that may be asked for", LIMIT)
    near: float = number(0.1, "difference steps", "a Newton step that is shorter needs not to be taken", HELD)


@dataclass(frozen=True)
class BoxSettings:
    """The trust region in a box."""

    strong: float = number(0.3, "of the largest slope", "a variable on a bound with more is strongly active",
                           "a study of 60 bounded problems, not repeated here")
    predicted: int = number(3, "steps", "in a row for which its slope may be the model's", "the same study")
    changes: int = number(3, "per variable", "changes of the active set in one subproblem, at most", LIMIT)
    left: float = number(1e-4, "of the squared radius", "a step this near to the region's edge is not continued",
                         "5e-5 of the radius")
    shorter: tuple[float, ...] = number(
        (0.8125, 0.6875, 0.40625, 0.125), "of a step", "the second step of a parabola, where a value is missing",
        "not half, where the first step may be, and of few digits",
    )
    escapes: int = number(50, "saddles", "that a run in a box leaves", LIMIT)


@dataclass(frozen=True)
class PreconditionerSettings:
    """Whether the model of the run may precondition its certificate."""

    alike: float = number(0.02, "relative spread", "of eigenvalues below which a model is no better than the identity",
                          ABLATED + "preconditioning: 1.11 to 1.40 times the queries")
    factor: float = number(2.0, "factor", "by which the sum of the eigenvalues may be wrong", HELD)


NEW = "a study on 43 problems of its own; kept by benchmarks/values.py --part tune"
ROUGH_FITS = "seven starts of two fits of equations, values.py ode"


@dataclass(frozen=True)
class RegressionSettings:
    """Models of noisy values."""

    power: float = number(0.35, "power", "the metric is |H|^-power: 0.5 would make all curvatures alike", NEW)
    flattest: float = number(1e-4, "of the largest curvature", "smaller ones count as this in the metric", NEW)
    level: float = number(10.0, "spreads", "the prior deviation of value and slope: hardly any prior", NEW)
    width: float = number(1.0, "spreads", "that of the Hessian around the last one", NEW)
    third: float = number(0.05, "spreads", "what a quadratic is thought to miss at the edge of the region", NEW)
    first_third: float = number(0.1, "spreads", "the same of the first model", NEW)
    least_third: float = number(1e-9, "of the largest", "and at least", "the square root of eps, about")
    most: float = number(30.0, "spreads", "the largest Hessian that is believed, and third order", NEW)
    other: float = number(3.0, "factor", "the parameters tried beside the last ones", "half a decade")
    rougher: float = number(0.125, "log-likelihood", "that the squared logarithm of the factor by which f is rougher "
                            "than seen costs", "a prior two e-foldings wide")
    deviations: float = number(4.0, "standard deviations", "by which a value may be wrong", "NOISE.deviations")
    likelier: float = number(0.2, "log-likelihood", "less is no reason to change them", NEW)
    jitter: float = number(1e-6, "spreads", "an error added to every value, for the sake of the factors", "sqrt(eps)")
    lift: float = number(1e-12, "of the diagonal", "added where rounding leaves no Cholesky factor", "1e4 eps")
    far: float = number(50.0, "radii", "beyond it a value is as wrong as there", "50^3: nothing is left of it")
    share: float = number(0.3, "of the last Hessian", "the width of the prior, if that is more than the spread", NEW)
    points: float = number(2.5, "coefficients", "so many values are taken", NEW)
    many: int = number(100, "values", "and so many at least", NEW)
    largest: int = number(260, "values", "and so many at most", LIMIT)
    near: float = number(6.0, "radii", "values further away are left out", NEW)
    edge: float = number(1.001, "factor", "so that the n + 1 nearest always count", "rounding")
    around: float = number(1.6, "radii", "values so near tell the spread", NEW)
    hard: float = number(1e-12, "of H", "the least that is divided by, multiplier included", "rounding of eigenvalues")
    halvings: int = number(60, "times", "the multiplier's interval is halved", "2^-60 is below rounding")


@dataclass(frozen=True)
class NoisySettings:
    """Descent through noise."""

    radius: float = number(0.1, "of max(|x|, 1)", "the first", NEW)
    known: float = number(2.0, "radii", "2 n + 1 values so near make a first model", NEW)
    corners: tuple[float, ...] = number((1.0, -1.0, 0.7), "radii", "of the first simplex, if one is missing", NEW)
    near: float = number(1.5, "radii", "the centre moves no further at once", NEW)
    sure: float = number(0.5, "standard deviations", "of the promised gain that a step must exceed", NEW)
    digits: float = number(1e-14, "of |f|", "a smaller gain is rounding", "a hundred eps")
    good: float = number(0.6, "of the promised gain", "more widens the region", NEW)
    poor: float = number(0.1, "of the promised gain", "less shrinks it", "Nocedal & Wright, Algorithm 4.1")
    edge: float = number(0.9, "of the radius", "a longer step was cut short by the region", NEW)
    inside: float = number(0.25, "of the radius", "after a shorter step the region is too large", NEW)
    grow: float = number(2.0, "factor", "a good region is so much wider", "Nocedal & Wright, Algorithm 4.1")
    widen: float = number(1.5, "factor", "a region in which noise hides f is so much wider", NEW)
    signal: float = number(20.0, "noise levels", "the model must show to be taken on half the radius", NEW)
    small: float = number(1e-5, "of the spread", "smaller noise hides nothing", NEW)
    shorter: float = number(0.9, "of the step", "where its end has no value another is tried, so much shorter", NEW)
    turned: float = number(0.05, "of the step", "and turned by this", NEW)
    floor: float = number(1e-5, "of |x|", "the smallest radius", NEW)
    exact_floor: float = number(1e-12, "of |x|", "the same where no noise was seen", "rounding of x")
    least_size: float = number(0.01, "of x", "a point nearer to 0 counts as so large", NEW)
    restarts: int = number(5, "times", "a search begins with a fresh radius, or looks further on a mesh", LIMIT)
    records: int = number(12, "times", "noise is measured", LIMIT)
    decades: float = number(0.7, "decades", "of change of f, after which it is measured again", NEW)
    nothing: float = number(1e-100, "value", "values that differ by less are alike", "its square does not underflow")
    faint: float = number(1e-12, "weight", "of a record of another size, where there is no nearer one", "not zero")
    alone: float = number(0.4, "weight", "exp(-0.4 t^2) is that of a record of e^t times the size", "two a decade")
    proportion: float = number(0.1, "squared logarithm", "spread of sizes that tells a power of noise from the first",
                               "a third of a logarithm: a record is known as well")
    checks: int = number(190, "queries", "of a certificate besides its rows and pairs", "34 + 92 + 36 and some more")
    smallest: float = number(0.1, "of the smallest size", "noise in proportion to f ends there", NEW)
    least: int = number(3, "values", "fewer tell no noise", "a second difference")
    alike: float = number(5.0, "factor", "values whose sizes differ by less are printed alike", "less than 10")
    digits_of: int = number(10, "values", "that tell the digits of values", "three would do")
    close: int = number(6, "values", "asked for to measure it", NEW)
    variables: int = number(100, "variables", "up to which values are looked at for noise", "dense models")
    missing: int = number(30, "points in a row", "without a value, and a search ends", LIMIT)
    patience: int = number(100, "times n + 1 values", "over which a search must gain something", LIMIT)
    rough_patience: int = number(20, "times n + 1 values", "the same where f is smooth below its roughness",
                                ROUGH_FITS)
    rough_gain: float = number(1.0, "amplitudes", "what it must gain there", ROUGH_FITS)
    slight: float = number(1e-6, "of what the tolerances bear", "noise that is none: the rounding of terms that cancel",
                           "1e-13 F, where terms of the size of F round by 1e-16 F")
    worthwhile: float = number(0.1, "noise levels", "what it must gain", NEW)
    least_gain: float = number(1e-9, "of |f|", "and at least", "more digits than people read")
    reserve: float = number(0.25, "of what is left of a budget", "a certificate may be given in advance",
                            "as for other methods")
    generous: float = number(2.0, "certificates", "left of a budget: then what noise leaves of one is looked at", LIMIT)
    again: int = number(40, "times n + 1 values", "after which noise is measured again", NEW)
    another: float = number(20.0, "times the variance", "noise that is so much more, or less, is another",
                            "F(2, 4) exceeds it once in 100")
    clearly: float = number(4.0, "noise levels", "a value that is lower by more is no luck", "NOISE.deviations")
    parts: tuple[float, ...] = number((1.0, 0.5, 0.25, 0.1), "of the radius", "steps to the answer", NEW)
    kept: int = number(16, "values", "kept back of a budget for the answer", "`fresh`, and 2 for three that fail")
    fresh: int = number(10, "values", "whose mean is the value of the answer",
                        "a standard error of a third of the noise")
    huge: float = number(1e100, "value", "a larger one is missing", "its square does not overflow")
    cells: float = number(4.0, "cells", "of a mesh in the radius at least", NEW)
    cell: float = number(0.49, "cells", "the answer may be so far from a point of the mesh", "within its cell")
    reach: float = number(50.0, "cells", "of a mesh are looked at in each variable", NEW)
    candidates: int = number(400, "points", "of a mesh that the model compares", LIMIT)
    tried: int = number(20, "points", "the best of them may have been asked before", LIMIT)


METHOD, DIFFERENCES, MODEL = MethodSettings(), DifferenceSettings(), ModelSettings()
LIMITED_MEMORY, SUBPROBLEM, TRUST_REGION = LimitedMemorySettings(), SubproblemSettings(), TrustRegionSettings()
DESCENT, POLL, PROBE, LINE_SEARCH = DescentSettings(), PollSettings(), ProbeSettings(), LineSearchSettings()
REFINE, BATCHED, PRECONDITIONER = RefineSettings(), BatchedSettings(), PreconditionerSettings()
BOX = BoxSettings()
REGRESSION, NOISY = RegressionSettings(), NoisySettings()


@dataclass(frozen=True)
class SampledSettings:
    """Batches of samples."""

    groups: int = number(16, "groups", "of samples in a batch: they show its covariance",
                         "a variance from 16 is known within a third")
    per_variable: int = number(4, "samples a variable", "in the first batch", "a Hessian of fewer has no full rank")
    least: int = number(32, "samples", "in the first batch, at least", "two in each group")
    growth: int = number(4, "factor", "from one batch to the next", "the sampling error is halved")
    doubled: int = number(2, "factor", "to the next where a corrected batch contracts too slowly", CHOSEN)
    share: float = number(1 / 3, "of a finite sum", "no batch is larger", "three times as large it would be the sum")
    decrement: float = number(0.5, "of tr(|B|^-1 C)", "a batch is left only where g'|B|^-1 g is less",
                             "there the step gains what the error of its own gradient costs")
    probed: int = number(64, "samples a variable", "no larger batch is probed: a certificate sees as much", CHOSEN)
    hessian: tuple[int, int] = number((4, 16), "samples a variable", "of the Hessian that a model starts anew from",
                                      "with 16 its relative error is about 1/4")
    hessian_price: float = number(0.5, "gradients of the whole sum", "it may cost so much", CHOSEN)
    cheap: float = number(0.1, "gradients of the whole sum", "for so little it is measured before a batch is left",
                          WITHOUT + "sensing at n = 10,000 costs 13 instead of 3")
    contracted: float = number(0.3, "of the gradient", "a model that left less of it needs no new Hessian", CHOSEN)
    small: float = number(0.3, "of gtol", "a gradient of f_S that is small enough", "its error takes more")
    enough: float = number(0.8, "of gtol", "a whole gradient with which the certificate is asked for",
                           "differences are exact to much less than a fifth")
    reduction: float = number(0.05, "of the whole gradient", "what a corrected batch leaves of it", CHOSEN)
    mismatch: float = number(0.3, "of the last whole gradient", "if the batch's is so far off the batch grows", CHOSEN)
    steps: float = number(2.2, "steps", "on a corrected batch, at least, before the whole gradient is measured again",
                          "one to use it, one to refine")
    reach: float = number(10.0, "times the gradient", "a corrected step may go so far, at least", CHOSEN)
    radius: float = number(1e-3, "scale", "the least trust region after a batch has grown", CHOSEN)
    known: float = number(0.4, "of gtol", "the error of a stream's gradient with which it is known",
                          "with a gradient of half of gtol, and room for a confidence width on fresh samples")
    remembered: int = number(16, "rows", "of d + 1 values that a batch remembers", LIMIT)
    trials: int = number(200, "values", "besides", LIMIT)
    certificates: int = number(8, "certificates", "that may lead back to descent", LIMIT)
    tests: float = number(0.9, "of the failure probability", "for tests on samples; the rest for the whole sum",
                          "as in certify")


SAMPLED = SampledSettings()
SPARSE_NEWTON = SparseNewtonSettings()
MEMORY = 1 << 20
"""Bytes of points and values that a run remembers."""
