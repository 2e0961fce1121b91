"""The tuned numbers of this room."""

from __future__ import annotations

from dataclasses import dataclass

from .._settings import number

STUDY = "a study of 1,712 points of CUTEst problems and 64 rough functions, not repeated here"
HELD = "inherited; benchmarks/truth.py and tests/contract/test_deceptions.py hold with it"
"""Numbers of the first version, chosen by hand, that no study has chosen anew."""
LIMIT = "a limit of work: where it is reached, what was found so far is used, or nothing is claimed"


@dataclass(frozen=True)
class StepSettings:
    """Lengths of difference steps."""

    noise_share: float = number(
        1e-3, "of curvtol", "second differences are long enough that noise stays below this share of the tolerance",
        "a thousandth of what is asked disturbs no verdict",
    )
    longest: float = number(
        0.25, "x_scale", "no difference step is longer: f is assumed smooth over it", HELD
    )
    resolved: int = number(
        1024, "units in the last place of x_i", "no difference step is shorter: x + h is rounded by 1/2048 of h",
        "2^10: an error of 5e-4 of the step",
    )
    truncation_safety: float = number(
        2.5, "factor", "how far a difference moves when its step is doubled, times this, bounds its truncation error",
        "derived: 1/3 for a smooth f, 1 for a Lipschitz Hessian, 2.42 for one that is Hoelder of order 1/2",
    )
    cut: float = number(4.0, "factor", "steps that show too much truncation are divided by this", "16 times less h^2")
    cuts: int = number(8, "times", "a coordinate's step is cut at most so often", LIMIT)
    noise_room: float = number(
        0.003, "of the second difference", "a step is cut only while 64 noise levels stay below this", HELD
    )
    lost: float = number(64.0, "factor", "steps over which f is not finite are cut by this", "8 rounds from 1 to eps")
    nearby: float = number(
        0.8125, "factor", "a step beside one at whose end f is missing: no power of two, and of few digits",
        "13/16: x + h is rounded as little, and no halved step leads there again",
    )
    nearby_tries: int = number(
        4, "times", "so many such steps are tried before f is taken to end there",
        "of 5% of points, a pair has lost one with a chance of 0.1, and four with one of 1e-4",
    )
    wild: float = number(1e6, "of 1 + |f|", "a step over which f changes by more is no difference step", HELD)
    furthest: int = number(
        512, "1024ths of a step", "far rows lie at 2 + j/1024 steps, j random up to this: no function is made for that",
        HELD,
    )
    confirm_noise: float = number(
        0.01, "of curvtol", "second differences along one direction start on steps with noise below this", HELD
    )
    confirm_exact: float = number(0.02, "of the curvature", "a curvature known to within this will do", HELD)
    apart: float = number(
        2.75, "factor", "the steps of a second look: no power of two, so those of no other difference", HELD
    )
    attempts: int = number(12, "times", "steps are changed at most so often in one search for them", LIMIT)


@dataclass(frozen=True)
class NoiseSettings:
    """Noise of values."""

    points: int = number(9, "values", "a difference table, besides f(x)", "Moré and Wild (2011) use 7 to 9")
    spacing: float = number(
        0.1837, "eps^(1/4)", "their distance, beside the usual second-difference step: no simple fraction of it", HELD
    )
    agree: float = number(4.0, "factor", "three orders of the table that agree within this show noise", "Moré and Wild")
    safety: float = number(
        1.5, "factor", "a standard deviation from nine values is multiplied by this",
        "sqrt(9 / chi^2_9(0.05)) = 1.64, rounded",
    )
    clear: float = number(8.0, "rounding errors", "a change that is larger is none of rounding", HELD)
    rounding_bound: float = number(
        3.0, "standard deviations", "a bound on rounding errors of which a table shows the deviation",
        "sqrt(3) = 1.73 for one rounding; sums have longer tails",
    )
    told: int = number(4, "differences", "multiples of the least one that tell that values have a unit", HELD)
    places: int = number(12, "digits", "values may have been printed with up to this number", "15 are a float64's own")
    few: int = number(10, "digits", "after the first, with which values of a few digits may have been printed",
                      "five digits less than a float64 has: three values are such by chance once in 1e15 times")
    close: tuple[float, float] = number(
        (1e-3, 1 / 32), "of the spacing",
        "values this much closer show the same noise, not the same structure; the second where the first are all alike",
        HELD,
    )
    alike: int = number(3, "values", "a table of so few different values tells no noise", "a parabola needs four")
    deviations: float = number(
        4.0, "standard deviations", "the norm of k random errors is bounded by sqrt(k) + 4",
        "exceeded once in 30,000 times by a normal vector",
    )
    significant: float = number(
        4.0, "errors", "what exceeds its error by this is no error", "two values, each wrong by one, twice"
    )
    multiples: float = number(1e4, "units", "values of more tell no unit", HELD)
    whole: float = number(0.01, "units", "how near to whole numbers these multiples are", HELD)


@dataclass(frozen=True)
class ValueSettings:
    """What kind of values f gives."""

    points: int = number(7, "values", "in a row, f(x) first", "three fourth differences")
    curved: float = number(0.1, "of what a line leaves", "less is left by a parabola where f is stationary, not noisy",
                           "noise leaves a tenth in a draw of 1,000 at most")
    least: int = number(5, "values", "fewer in a row tell nothing", "one fourth difference")
    spacing: float = number(1e-6, "of x", "their distance: third differences of a smooth f are 1e-18 of its scale",
                            "below rounding, for scales down to a thousandth of x")
    unequal: tuple[float, float] = number((0.7, 1.3), "of the distance", "variables move by unequal parts of it",
                                         "along equal ones terms of f may cancel")
    clear: float = number(1e-8, "of |f|", "third and fourth differences that are larger show noise",
                          "below it central differences still see half the digits of a gradient")
    closer: float = number(1e-3, "of the distance", "where f is wild but smooth its third differences are gone", "1e-9")
    alike: float = number(0.4, "of neighbours", "that agree to the bit: f moves in steps, or is flat here", "half")
    further: tuple[float, ...] = number((1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.3), "of x", "where a flat f is looked at again",
                                        "powers of ten, up to where a user looks")
    clearly: float = number(10.0, "units", "a change that is larger would show in values that are rounded", "a decade")
    visible: float = number(100.0, "rounding errors", "a slope between two such values that would be seen", "1e-2")


@dataclass(frozen=True)
class MeshSettings:
    """The mesh on which a function may be evaluated."""

    powers: tuple[int, ...] = number((-1, -2, -3, -4, -5, -6), "powers of ten", "that may be its pitch",
                                     "what people round to")
    tests: int = number(3, "points", "at which f must be that of the mesh", "one may agree by chance, three do not")
    turns: tuple[float, ...] = number((0.47, -0.46, -0.47, 0.46), "cells", "these points lie off those of the mesh",
                                      "near the edges of the cell: a mesh that lies elsewhere is told by them")
    beyond: float = number(0.6, "cells", "these lie in the next cell, along all variables", "beyond the edge")
    shortest: float = number(1e-6, "of x", "steps of f that are closer are noise", "the distance of VALUES")
    ratio: float = number(4.0, "factor", "the distances at which the next step is looked for", "powers of two")
    lengths: int = number(12, "distances", "at most", "from 1e-6 to 4")
    longest: float = number(0.3, "of x", "steps that are further apart are none of a mesh", "where a user looks")
    precise: float = number(1 / 64, "of the pitch", "the place of a step is known to within this", "six halvings")
    strides: tuple[int, ...] = number((8, 64, 512), "steps", "over which the pitch is measured",
                                      "each eight times as precise: a thousand cells away points are still told apart")


@dataclass(frozen=True)
class GradientSettings:
    """The gradient of a local model."""

    refinements: int = number(3, "times", "the gradient is measured again on shorter steps at most so often", LIMIT)


@dataclass(frozen=True)
class FeasibleSettings:
    """Differences that stay in a domain."""

    step: float = number(
        2.0**-9, "unit", "the step of slopes and curvatures along single variables",
        "h^3 f(5), what a polynomial of degree four misses, and 27 eps / h^2 are both below 1e-8",
    )
    mixed_step: float = number(
        2.0**-13, "unit", "the step of mixed differences, whose error is bounded by h times a third derivative",
        "1.2e-4 of a third derivative is below curvtol for those of order one, and 12 eps / h^2 is 2e-7",
    )
    slope_step: float = number(
        2.0**-11, "unit", "the step of slopes on bounds", "h^3 and 5 eps / h, the errors of a cubic, balance there"
    )
    slope_noise: float = number(32.0, "factor", "slopes are taken over steps of at least so much noise / gtol",
                                "5.5 errors of values enter, which leaves a sixth of gtol")
    amplified: float = number(
        27.0, "errors / h^2", "in the second derivative of a polynomial through x and four points on one side",
        "(35 + 104 + 114 + 56 + 11) / 12",
    )
    slope_share: float = number(0.1, "of the slope", "a slope that two values show within this needs no more",
                                "f'' h / 2 is less for curvatures up to 400 slopes")
    longest: float = number(0.125, "unit", "no step is longer", "four of them stay within half a unit")
    noise: float = number(0.05, "of curvtol", "noise in second differences is kept below this by longer steps",
                          "a twentieth disturbs no verdict")
    share: float = number(0.05, "of curvatures and curvtol", "a step is cut while truncation is more", HELD)
    cut: float = number(4.0, "factor", "a step is divided by this", "truncation falls by 16 or more")
    cuts: int = number(4, "times", "a step is cut at most so often", LIMIT)
    near: float = number(
        2.0**-8, "unit", "a variable with less room on a side takes differences that stay inside",
        "two steps of second differences of all kinds fit",
    )
    ways: int = number(3, "ways", "random ways along which f is compared with its polynomial", "those of the ladder")
    levels: int = number(11, "lengths", "on each of them, each a fourth of the one before", "from 0.1 to 1e-7")
    reach: float = number(0.1, "unit", "the longest of them", "that of the ladder")
    plateau: float = number(1.3, "powers of the ratio", "what is missed falls by less only where f is not smooth",
                            "between a kink, 1, and a smooth function, 2 or 3")
    level: float = number(0.3, "powers of the ratio", "where f exceeds its slope by what falls by less it is rough",
                          "between a jump or a ripple, 0, and the root of a distance, 1/2")
    clear: float = number(30.0, "floors", "what is missed is structure of f only above this", STUDY)
    faces: int = number(8, "variables", "that many weakly active variables have their faces enumerated, 2^8 of them",
                        LIMIT)
    confirmations: int = number(8, "lengths", "a lower value is looked for at so many along a direction, each a fourth "
                                "of the one before", "4^-7 of the longest step is 1e-5")
    hint: float = number(1e-6, "of the variable", "a certificate names a bound so near that would decide",
                         "a solver's own tolerance, mostly")
    snap: float = number(1e-9, "unit", "a variable so near to a bound is moved onto it, if f does not rise",
                         "the study of bounded problems, whose solver ended there")


@dataclass(frozen=True)
class InvarianceSettings:
    """Whether f is the same along given directions."""

    lengths: tuple[float, ...] = number(
        (0.1, 0.02, 0.003), "of x", "how far each direction is followed from x, to both sides",
        "a slope shows at all of them, a curvature at the longest, and a ripple at one",
    )
    bases: int = number(5, "points", "random points beside x from which combinations are followed",
                        "four would miss a coupling with (0.8 * 0.05)^4 = 3e-6, and one may be lost to rounding")
    around: tuple[float, ...] = number((0.1, 0.03), "of x", "how far these points are from x", "the longest length")
    small: float = number(0.05, "factor", "a coupling is taken for no larger than what shows, divided by this",
                          "a random way meets it by less with a chance of 4%, five at once with 1e-7")
    vanishing: float = number(0.1, "of its change over the scale of x", "a smaller direction is none at x",
                              "a turn by more than one about an axis so near would be followed inexactly")
    stages: tuple[int, int] = number((32, 400), "steps", "of Runge and Kutta's method along a turn by 0.1, and at most",
                                     "a turn by 0.1 errs by 1e-13")
    rounding: float = number(256.0, "eps max |f|", "a change that is rounding",
                              "sums of a thousand terms round by less")
    path: float = number(1e-11, "of the slope", "what the error of the path makes of a value",
                          "1e-13 of the length, and room")
    deviations: float = number(6.0, "standard deviations", "a change that is noise", "two values, each wrong by four")


@dataclass(frozen=True)
class ConsistencySettings:
    """Looking at f on shorter steps and along other directions."""

    signs: int = number(4, "vectors", "random sign vectors, all coordinates moving at once", HELD)
    unequal: int = number(
        2, "vectors", "vectors that move coordinates by random parts of their steps: along signs errors may cancel",
        "two of them cancel along both with probability 0",
    )
    jump_vectors: int = number(2, "vectors", "sign vectors that are looked at at a third length, for jumps", HELD)
    middle: float = number(0.45, "of the vector", "that third length", HELD)
    shortened: float = number(0.11, "of the steps", "the longest of the short steps", HELD)
    smallest_change: float = number(
        160.0, "noise / curvtol", "the short steps leave the tolerance this visible beside noise", HELD
    )
    rounding_room: int = number(2**20, "eps |x|", "the short steps are at least so long",
                                "2^20: the rounding of x is 1e-6 of them")
    group: int = number(8, "coordinates", "coordinates of different curvatures that are looked at together", HELD)
    even_share: tuple[float, float] = number(
        (0.005, 0.1), "of the change, of curvtol", "the even part of f may fail to scale by this much", HELD
    )
    jump_safety: float = number(
        2.0, "factor", "a jump of the Hessian may be larger than two random vectors show it", HELD
    )
    cuts: int = number(5, "times", "all steps are cut by four at most so often", LIMIT)
    safety: float = number(
        3.0, "factor", "what a few random directions show of an error or of third derivatives is multiplied by this",
        "an error of random sign shows as large as it is on average; contract/test_deceptions.py",
    )
    share: float = number(
        0.05, "of curvatures and curvtol", "second differences at two steps, along one direction, may differ by this",
        HELD,
    )
    subscale: float = number(
        0.25, "of second differences and curvtol",
        "a larger change on shorter steps is structure below the steps, where noise leaves no room to cut them", HELD,
    )
    spread: float = number(0.2, "relative", "lengths are random by this much, so that no ripple fits them all", HELD)
    second: float = number(0.7, "of the longest short step", "the next: a ripple may fit one", HELD)


@dataclass(frozen=True)
class ProductSettings:
    """Hessian-vector products by differences of values."""

    longest: float = number(
        8.0, "typical steps", "a product steps sqrt(d) typical steps along its vector, this many at most", HELD
    )
    components: int = number(
        8, "directions", "the error of a product is seen along this number of random directions", HELD
    )
    many_variables: int = number(
        32, "variables", "from here on an error is seen along random directions, below by another whole product",
        "4 components: 32 queries against d + 1 or 2 d + 2",
    )
    closest: float = number(1 / 256, "of the steps", "the shortest steps on which errors are seen again", HELD)
    closer: float = number(1 / 8, "of the steps", "the longest of these", HELD)
    another: float = number(
        3.0, "factor", "an error so much larger on shorter steps than on far ones: f depends on the scale", HELD,
    )
    worst: tuple[float, float, float] = number(
        (4.0, 4.0, 17 / 3), "d times roughness", "the same where errors are as wrong as they can be: row sums",
        "derived: the weights of the values of an entry are 1, 1, 1, 1; extrapolated (4 * 4 + 1) / 3",
    )
    norm: tuple[float, float, float] = number(
        (2.1, 1.6, 2.1), "d times noise", "the norm of the noise of all second differences, by order 1, 2, 4",
        "derived: errors of the row values are shared by a row and a column",
    )


@dataclass(frozen=True)
class SamplingSettings:
    """Averages over samples."""

    rare: float = number(
        0.02, "of the samples", "a kind of sample that makes up this share is seen by a pilot, but for p", "log(2/p)/q"
    )
    whole: int = number(2048, "samples", "a sum of at most this number is taken whole", HELD)
    variance_safety: float = number(1.5, "factor", "a variance estimated from a pilot is multiplied by this", HELD)
    pilot: int = number(32, "samples", "the batch by which steps are judged", HELD)
    groups: int = number(16, "groups", "group means behind a confidence interval", "t_15 is near normal")
    apart: float = number(1.4, "factor", "steps of confirmations are so much longer than those of products", "sqrt(2)")


@dataclass(frozen=True)
class SmoothnessSettings:
    """Where f is roughest near a point."""

    levels: int = number(9, "times", "the roughest spot is magnified so often", LIMIT)
    zoom: int = number(3, "factor", "how far it is magnified each time", HELD)
    orders: tuple[float, float, float] = number(
        (0.5, 1.6, 2.4), "powers of the step",
        "third differences fall by less, and f jumps, the slope does, the curvature does: 0, 1, 2, 3 are expected",
        "between these; 2 and 3 are told apart from five steps, 1 and 2 from three",
    )
    typical: float = number(0.05, "of the largest", "a median change that is larger is noise, not one jump", HELD)


@dataclass(frozen=True)
class LadderSettings:
    """The ladder of lengths."""

    lines: int = number(3, "lines", "random lines through x", STUDY)
    levels: int = number(6, "lengths", "on each line, on both sides: 36 queries", STUDY)
    least: int = number(4, "lengths", "fewer that are finite show nothing", "two falls, each from two residuals")
    ratio: float = number(4.0, "factor", "each length is so much shorter than the last", "powers of two are exact")
    longest: float = number(0.1, "of the unit of x", "the longest length", "the scale at which users look")
    clear: float = number(30.0, "floors", "a residual that is larger is no rounding and no noise", STUDY)
    plateau: float = number(
        1.7, "powers of the length", "residuals that fall more slowly are structure: 3 if f is smooth, 1 at a kink",
        "between 3 and 1; a study on CUTEst points",
    )
    first: float = number(
        0.7, "powers of the length", "the same at the longest length, where f may not be smooth", STUDY
    )
    kink: float = number(0.7, "powers of the length", "slower still, and f jumps or is noisy", "between 1 and 0")
    sudden: float = number(8.0, "powers of the length", "structure that appears out of nothing", STUDY)
    whole: float = number(
        0.5, "of the change of f", "structure that is larger at the longest length is f itself, if smooth below it",
        "no parabola explains half of what f does there",
    )
    smooth: tuple[float, float] = number(
        (2.5, 4.5), "powers of the length", "residuals that fall so fast, and no faster, are a smooth function's",
        "third and fourth derivatives, and half a power",
    )
    burst: tuple[float, float] = number(
        (1e4, 100.0), "of the parabola and of the rounding, of |f|",
        "what is larger came out of nothing: no length that matters, or pieces that are linear or constant", STUDY,
    )


@dataclass(frozen=True)
class JumpSettings:
    """The table that shows isolated jumps."""

    points: int = number(
        24, "values", "in a table across the longest length", "10th differences leave 14; fits of three differential "
        "equations with three solvers, rtol 1e-3 and 1e-4, jump in every such table, seeds 500 to 503",
    )
    orders: tuple[int, ...] = number(
        (6, 8, 10), "orders of difference", "that must agree on a jump",
        "those of a function analytic within 0.05 of its unit fall by half from the 6th to the 10th",
    )
    beside: float = number(0.25, "of the largest", "a difference next to it, of its sign and this size, is of no jump",
                           "towards a steep end those of an analytic function fall by less than half")
    again: int = number(14, "values", "around a jump, closer", "two distances to both sides, and room for differences")
    closer: int = number(2, "times", "a jump is looked at so much closer", "a feature of 0.003 units falls by half")
    kept: float = number(0.4, "of the jump", "what is left of it, closer", "between 1 at a jump and 1/4 at a kink")


@dataclass(frozen=True)
class UnitSettings:
    """How far variables matter."""

    alike: float = number(30.0, "factor", "variables whose sizes or curvatures differ by less have one unit", STUDY)
    travelled: float = number(0.01, "of the way", "a variable's length is at least this much of its way from x0", STUDY)
    least: float = number(1e-3, "of the median", "no variable's length is less, beside the others", STUDY)
    zero: float = number(
        1e-6, "1", "a point all of whose variables are smaller is 0, and tells no lengths",
        "a minimiser at 0 is found to within 1e-6",
    )
    near: float = number(0.25, "lengths", "f along a line is looked at so far away, at first", "no step is longer")
    stride: float = number(16.0, "factor", "and so much nearer, or further, next", "4^2: exact")
    nearest: float = number(2.0**-42, "1", "no length of a start at 0 is shorter", LIMIT)
    furthest: float = number(2.0**50, "lengths", "no length is longer", LIMIT)
    visible: float = number(100.0, "rounding errors", "a parabola's height over a length that is seen", HELD)
    halvings: int = number(3, "times", "the logarithm of a length is halved, to see whether f moves in steps",
                           "over a factor of sqrt(2) a power of 15 grows from half a rounding error to 100")
    step: float = number(0.0625, "lengths", "the steps by which F is measured",
                         "a unit needs no digits: rounding to 1e-3 of F s^2 changes it by half")
    variables: int = number(32, "variables", "F is the mean of so many curvatures at most",
                            "its logarithm within a fifth")
    cuts: int = number(4, "times", "lengths are cut at most so often", LIMIT)
    disproportion: float = number(
        1e4, "of the median", "a variable that curves more has a shorter length than its size",
        "the Hessian of y then has a condition that a trust region takes in its stride",
    )
    floor: float = number(1e-6, "of the largest", "smaller curvatures count as this in F", STUDY)
    less: float = number(
        4.0, "factor", "where f curves less than F by more, its curvature over the lengths is measured again",
        "2 m queries, which runs between curvatures of one size do not need",
    )


@dataclass(frozen=True)
class ResidualSettings:
    """Residuals around a point."""

    longest: float = number(0.0625, "lengths", "no step of a Jacobian is longer", "noise of 1e-4 of the change over 1")
    levels: int = number(6, "lengths", "that are added to the line at most", LIMIT)
    falling: float = number(
        30.0, "factor", "what falls by more from one length to the next is no noise: smooth residuals do by 4^5",
        "between 1 and 1024, nearer to 1",
    )
    close: float = number(1e-9, "lengths", "values so close show noise, and no structure",
                          "rounding of x is 1e-7 of it")
    smooth: float = number(0.125, "of what is left", "less than this between close values, and it is structure",
                           "noise is as large there")
    reference: float = number(2e-3, "lengths", "where curvature along the line is compared with that on shorter ones",
                              "half the length of forms")
    agree: tuple[float, float] = number(
        (0.25, 0.05), "of curvtol, relative", "how much it may differ", "a quarter of what is asked"
    )
    unlucky: float = number(
        0.01, "probability", "with which a standard deviation from a few residuals is too small", "chi squared"
    )
    directions: tuple[int, int] = number(
        (2, 3), "directions", "along which residuals show what a Jacobian misses of the gradient, at first and then",
        "the bound of two is 100 times what they show, that of three 17 times",
    )
    little: float = number(0.1, "of gtol", "an error of the gradient that needs no closer look", "a tenth of the claim")
    visible: float = number(1e-3, "of gtol", "what noise hides along a direction, where two of them serve",
                            "both lie within it by chance with 1e-6")
    unseen: float = number(1e-4, "probability", "with which they show less of it than a tolerance", "a tenth of 1e-3")
    shorter: float = number(0.4, "of the steps", "they go so far at most along any variable: no simple fraction of it",
                            "what a step hides by a third derivative shows to 84%")
    slack: float = number(
        1e-9, "of the change", "differences along the line and J u may differ by this: steps are rounded", "2^-30",
    )


@dataclass(frozen=True)
class GradientCheckSettings:
    """The user's gradient against values."""

    aside: float = number(
        0.01, "lengths", "the gradient is checked so far from x, where it is not small even if x is stationary",
        "a wrong factor cannot be seen where the gradient is 0",
    )
    first: float = number(0.02, "lengths", "the longest step of the differences",
                          "benchmarks/gradients.py clusters: two values fewer than from 0.1")
    ratio: float = number(8.0, "factor", "each step is so much shorter than the last; float32 is so much less exact",
                          "h^2 falls by 64, the exact part of 8 steps spans 6 orders")
    levels: int = number(8, "steps", "at most", "8^-7 of the first: 5e-8 of a length")
    informative: float = number(
        0.1, "of the slope's typical size", "a difference that is known to within this can agree", "a digit"
    )
    tolerance: float = number(
        1e-3, "of the slope's typical size", "a smaller disagreement is none: gradients come from solvers and from "
        "float32", "one wrong coordinate of a million alike",
    )
    clear: float = number(10.0, "errors", "a disagreement is so many times what differences are uncertain by",
                          "benchmarks/gradients.py check, seeds 21000 to 21003")
    coordinate: float = number(0.02, "relative", "a coordinate's two slopes differ by more, or it is not called wrong",
                               "inexact adjoints and float32 are right to a percent")


@dataclass(frozen=True)
class SlopeSettings:
    """Differences of the user's gradients."""

    points: int = number(5, "gradients", "in a table along a line, for their noise: differences of 4th and 5th order",
                         "smooth parts fall as the fourth power of a spacing of 2e-5")
    entries: int = number(8, "entries", "of fewer variables the table is longer", "a deviation from 9 numbers")
    far: float = number(2.375, "factor", "the longer steps that a product is compared with", "19/8: of few digits")
    short: float = number(0.125, "factor", "and the longest of the much shorter ones", "noise is 8 times as large")
    visible: float = number(11.5, "noise / delta", "these are so long where noise allows shorter ones",
                            "16 / sqrt(2): noise is a sixteenth of delta, a quarter of what is another function")
    fits: int = number(2, "times", "a step is fitted to truncation and noise at most so often", LIMIT)
    fitting: float = number(4.0, "factor", "a step fits that differs by less from the balanced one",
                            "errors are then at most 16 times the least")
    reach: float = number(8.0, "steps", "values along a vector, against gradients, are so far away at most", HELD)
    share: float = number(0.0625, "of the tolerance", "noise of a second difference along a vector is at most this",
                          "half of the tolerance shows a claim; noise enters three and a half times")
    directions: tuple[int, int] = number(
        (3, 9), "directions", "along which values show the gradient; the second where they contradict it",
        "3 bound its error by 13 times what they show at 1.25e-4, 9 by 1.3 times, for 20 values",
    )
    vectors: int = number(2, "vectors", "random ones that show the truncation of a whole Hessian", "4 gradients")
    hutchinson: int = number(3, "vectors", "random sign vectors that show the diagonal of a Hessian", STUDY)


STEPS = StepSettings()
RESIDUALS = ResidualSettings()
UNITS = UnitSettings()
LADDER = LadderSettings()
JUMPS = JumpSettings()
NOISE = NoiseSettings()
VALUES = ValueSettings()
MESH = MeshSettings()
GRADIENT = GradientSettings()
FEASIBLE = FeasibleSettings()
INVARIANCE = InvarianceSettings()
CONSISTENCY = ConsistencySettings()
PRODUCTS = ProductSettings()
SAMPLING = SamplingSettings()
GRADIENT_CHECK = GradientCheckSettings()
SLOPES = SlopeSettings()
SMOOTHNESS = SmoothnessSettings()


@dataclass(frozen=True)
class GroupSettings:
    """Averages over groups of samples."""

    count: int = number(
        128, "groups", "of samples in a certificate: they show skewness",
        "that of groups of 8 is 1/sqrt(8) of a sample's, and known to sqrt(6/128) = 0.2",
    )
    rarity: float = number(
        50.0, "samples", "of a kind, expected among those looked at: rarer kinds are excluded by name",
        "a kind seen 50 times has a skewness of 1/sqrt(50), which the correction takes up; seen 8 times the t-test is "
        "false in 1.1% of draws at 0.1%",
    )
    least: int = number(1024, "samples", "in the first look of a certificate", "the correction for skewness needs them")
    per_variable: int = number(8, "samples a variable", "at least, in that look", "else its Hessian is noise")
    pilot: int = number(64, "samples", "on which difference steps are chosen", LIMIT)
    again: int = number(2, "batches", "that must all be smooth where the first seemed rough",
                        "1 of 40 was a false alarm: cubic, n = 10,000, of benchmarks/sampled_problems.py")
    truncation: int = number(32, "samples", "on which steps are doubled, to see the error of differences", LIMIT)
    aim: float = number(1.15, "factor", "a width that is predicted aims at so much less", "widths differ by a tenth")
    growth: tuple[float, float] = number((1.5, 8.0), "factor", "the least and the most from look to look", LIMIT)
    share: float = number(1 / 3, "of a finite sum", "beyond it the whole sum is taken", "thrice its price, no doubt")
    few: int = number(100, "samples a variable", "a sum of fewer is taken whole from the start",
                      "a sampled Hessian costs d/2 gradients of 1,000 samples")
    price: float = number(12.0, "gradients of the whole sum", "what its certificate is expected to cost at most",
                          "8 to 20; benchmarks/price.py")
    dense: float = number(1.6, "times", "what a certificate by all second differences costs, of these", "3 d + 92 more")
    forward: float = number(40.0, "errors of values", "over the error of the diagonal: the square of a forward step",
                            "4 balances both; the diagonal is known better than its bound")
    longer: float = number(2.0, "first looks", "that a run on a stream may always take", "one to see, one to decide")
    looks: int = number(12, "looks", "at most", LIMIT)
    allowance: int = number(
        50_000, "samples for each of d + 1 points", "that a stream may take where no budget is given",
        "two variables: 150,000 samples for a certificate, as many for a descent",
    )
    hessian_share: float = number(0.25, "of curvtol", "truncation may take so much; else steps are cut by four", LIMIT)


GROUPS = GroupSettings()
