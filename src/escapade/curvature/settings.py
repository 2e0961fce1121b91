"""The tuned numbers of this room."""

from __future__ import annotations

from dataclasses import dataclass

from .._settings import number
from ..derivatives.settings import HELD, LIMIT

ABLATION = "benchmarks/ablation.py, seeds 9000 to 9099"


@dataclass(frozen=True)
class FinderSettings:
    """Numbers that finders share."""

    softest: int = number(3, "directions", "the softest directions, which are looked at on shorter steps", HELD)
    candidate: float = number(
        0.75, "of delta", "a Ritz value below minus this is a direction worth confirming",
        "between 1/2, which FOUND needs, and 1, which a certificate excludes",
    )
    attempts: int = number(7, "times", "orders and steps are changed at most so often", LIMIT)


@dataclass(frozen=True)
class LanczosSettings:
    """The Lanczos certifier."""

    certificate_share: float = number(
        0.95, "of the failure probability", "what starts may spend; the rest is for errors of products that no random "
        "direction shows", "halved at each measurement: 1/20 leaves the thresholds as they are, nearly",
    )
    plans: tuple[dict[int, float], dict[int, float]] = number(
        ({1: 0.7, 2: 0.1, 3: 0.05, 6: 0.15}, {1: 0.05, 2: 0.8, 3: 0.03, 6: 0.12}), "shares by number of starts",
        "how the failure probability is divided where one start is aimed at, and where two are", HELD,
    )
    expected: float = number(
        4.0, "factor", "the error of products is expected to be so much larger than its parts", HELD
    )
    allowed: float = number(
        10.0, "factor", "and allowed to be so much larger than expected where that costs nothing", HELD
    )
    even: float = number(0.003, "of the odd part", "what is expected of the even error of symmetric products", HELD)
    near: float = number(
        1.25, "factor", "a start goes on where its error, so much larger, would leave room for the first term", HELD
    )
    again: float = number(2.0, "factor", "a shift is measured again that so much larger errors would allow", HELD)
    extra: int = number(2, "products", "what may be spent on the curvature that \"minimum\" needs", HELD)
    rate_known_after: int = number(10, "products", "the contraction rate of a start is known after this number", HELD)
    flattest: float = number(1e-3, "of the norm of P", "no direction is shrunk by P more than this", HELD)
    scaled: float = number(4.0, "factor", "curvatures along coordinates that differ by less are as good as equal", HELD)
    close: float = number(
        0.95, "of the threshold", "a first term below this is small enough: the rest may be error of products", HELD
    )


@dataclass(frozen=True)
class DenseSettings:
    """All second differences."""

    slight: float = number(
        0.1, "of curvature and delta", "third derivatives may make so much of the lowest curvature of one-sided "
        "differences", HELD,
    )
    forms: int = number(16, "directions", "second differences are compared with those of all pairs along these", HELD)
    nearby: float = number(3.0, "steps", "how far these go: little more truncation than pairs, less noise", HELD)
    contradicted: int = number(3, "times", "so many more are looked at where products were contradicted",
                               "one look misses a dent at the least length it sees in 1 of 12: 1 of 1,700")
    products: int = number(2, "products", "random vectors whose products are looked at on much shorter steps", HELD)


@dataclass(frozen=True)
class SoftSettings:
    """The softest directions, measured again."""

    counts: tuple[int, ...] = number(
        (1, 2, 3, 4, 6, 8, 12, 16, 24), "directions", "so many are tried, the fewest first", "3m(m + 1): 1,800 at most"
    )
    etas: tuple[float, ...] = number(
        tuple(4.0**-k for k in range(10)), "1", "how the error between soft and other directions is divided",
        "any is valid; the best is within a factor of two",
    )
    levels: tuple[float, ...] = number((1.0, 2.0, 4.0), "steps", "lengths on which they are seen", "one extrapolation, "
                                       "and one to tell its error")
    noise: float = number(0.1, "of curvtol", "noise on the shortest of these steps is at most this", HELD)
    shortest: float = number(1 / 8, "of the steps", "they are no shorter", "truncation is a sixty-fourth of theirs")
    room: float = number(0.25, "of curvtol", "their error is expected to be less", "noise 0.1 and as much truncation")


@dataclass(frozen=True)
class PriceSettings:
    """What deciding may cost, and which way is taken."""

    small: int = number(
        27, "variables", "up to here all second differences cost no more than twenty-seven products, on one side half",
        "benchmarks/price.py tune, seeds 15900 to 15999: .669 of the price, .675 with 16, .672 with 31",
    )
    large: int = number(300, "variables", "beyond, no round of prefer='rounds' asks for all of them", "45,000 values")
    products: float = number(
        0.3, "d products", "after so many, the second differences of their complement are next",
        "k of them and their complement cost 1 + (k/d)^2 times all of these; .669 in price.py tune, .674 with .4",
    )
    cheap: float = number(
        0.25, "of second differences", "other products that cost less are tried even if these cannot be afforded after",
        "price.py tune: 0 to .5 within .6%; a noisy quartic of 100 variables, 4,700 queries, is undecided without",
    )
    inexact: float = number(
        0.5, "of delta", "products are not completed if they were found more wrong than this",
        "the errors of a few add up; price.py tune: .25 to 1 within .1%",
    )
    fewest: int = number(4, "products", "so many may be tried whatever d is", "those that a good model needs, and two")
    independent: float = number(
        0.1, "of a unit vector", "directions of products that depend on one another more than this count as one less",
        "their errors grow by its inverse; noise is an eighth as large along them as in second differences",
    )
    room: float = number(
        1.25, "of the price", "a certificate may cost so much of rows, all second differences and the ladder",
        "units, steps that are cut, and a fifth of d products on top of what completes them",
    )
    room_of_run: float = number(
        2.5, "of the price", "the same at the end of a run, or as much as the run has cost so far",
        "symmetric and extrapolated differences, and a fifth more; price.py tune: 5 decides no more, 1.25 one less",
    )
    most: float = number(400.0, "d + 1", "and no more than so many products on one side", "two hundred on both")
    ladder: int = number(60, "queries", "the ladder of lengths, and a look for jumps, whatever d is", "36 + 24")
    after: int = number(
        10, "queries", "of the cap are kept for what follows a search", "third derivatives along two ways, two values"
    )
    named: float = number(1.1, "factor", "a price that is named has room for looks that are repeated", "3d + 92")


@dataclass(frozen=True)
class NewtonSettings:
    """The Newton step of "minimum"."""

    contraction: float = number(
        1 / 8, "of |g|", "the gradient after a Newton step may be this much of it",
        "an inflection x^3 leaves 1/4; Kantorovich needs rho |g| / lambda^2 < 1/2, which leaves less than 1/4",
    )
    iterations: int = number(20, "products", "conjugate gradients take at most this number", LIMIT)
    residual: tuple[float, float] = number(
        (1e-4, 1e-2), "of |g|^2", "conjugate gradients end below the first; above the second there is no Newton step",
        "a tenth of g, less than the eighth that is asked for; aimed at a hundredth",
    )


@dataclass(frozen=True)
class ChebyshevSettings:
    """Algorithm 3 with certificates."""

    plan: tuple[tuple[int, float], ...] = number(
        ((1, 0.7), (2, 0.1), (3, 0.1), (6, 0.1)), "shares by number of starts",
        "how the failure probability is divided; in all, one", HELD,
    )
    excess: float = number(1.001, "ell", "a longer product refutes ell", "errors of products are smaller")


@dataclass(frozen=True)
class OnlineSettings:
    """Algorithms 1 and 2 with estimated constants."""

    norm_safety: float = number(1.3, "factor", "the norm of the Hessian, of what the power iteration shows", HELD)
    iterations: int = number(12, "products", "of this power iteration", HELD)
    batch: int = number(16, "samples", "on which it runs", HELD)
    steps: float = number(1.2, "factor", "steps of a run, of those that growth from r to sigma takes", HELD)


@dataclass(frozen=True)
class FormSettings:
    """Random forms of the residuals' second differences."""

    looks: tuple[int, ...] = number(
        (2, 3, 6, 10, 20), "forms", "after which they are judged, each time with an equal share of the failure "
        "probability", "two decide at minima of small residual; each look costs a factor of five in p",
    )
    slight: float = number(0.03, "of what two forms may be", "the diagonal of S beside J'J, where two come first",
                           "else three: another look costs two queries")
    step: float = number(
        2.0**-8, "lengths", "the longest component of a step along a form's direction", "eps^(1/7): truncation of "
        "1e-5, rounding of 1e-11 beside it",
    )
    nearly: float = number(
        0.9, "of delta", "second differences with a lower eigenvalue leave no room for their errors", HELD
    )
    dense_step: float = number(
        2.0**-11, "lengths", "one-sided mixed differences of residuals: truncation of 5e-4, rounding of 4e-9",
        "the forms that follow allow for either",
    )
    dense_noise: float = number(1e-3, "of typical curvatures", "their steps are longer where noise is more", HELD)
    dense: int = number(20, "variables", "up to this number all second differences are taken where forms fail", HELD)
    closer: float = number(0.5, "of the step", "where the largest form is taken again", "exact")
    noise_share: float = number(0.05, "of the tolerance", "steps are longer where noise would make more of it", HELD)
    apart: float = number(0.25, "of the form, or of 1", "a form that moves so far on the other step shows nothing",
                          HELD)
    soft: float = number(
        0.5, "delta", "where the Gauss-Newton matrix has a smaller eigenvalue, no positive curvature is sought", HELD
    )


@dataclass(frozen=True)
class ByGradientsSettings:
    """Lanczos on differences of gradients."""

    most: int = number(180, "products", "that a search may take in many variables, and d at least in fewer",
                       "360 gradients, and 40 for everything else")
    forms: int = number(4, "directions", "along which values show the curvature that is certified",
                        "10 values: a tolerance of 0.0125 at 2.5e-4")
    least: float = number(0.05, "of delta", "a Hessian that is nearer to -delta is not held closer to values",
                          "an error of a hundredth of delta is looked for, which noise mostly hides")
    residual: float = number(0.1, "of what is certified", "the residuals of the Ritz pairs that directions rest on",
                             "the tolerance is as much smaller")
    shown: float = number(0.5, "of what is certified", "values may leave so much of it open and still show it",
                          "a curvature that is clearly positive stays so")
    whole: int = number(400, "variables", "up to here all products, which are the Hessian, are a fall-back",
                        "800 gradients, and a matrix of a megabyte")


@dataclass(frozen=True)
class SparseSettings:
    """Hessians of a known pattern."""

    dense: int = number(64, "variables", "up to here eigenvectors of the whole matrix take no longer", "timed")
    near: float = number(1e-3, "of the largest row sum", "the first shift below the spectrum that is tried", HELD)
    further: float = number(8.0, "factor", "and the next ones, until the matrix is positive definite", HELD)
    exact: float = number(1e-7, "relative", "how exact shifted eigenvalues are computed", "factors bound the smallest")
    iterations: int = number(50, "times", "inverse iteration, where Lanczos does not converge", LIMIT)
    doubtful: float = number(
        10.0, "factor", "forms that are off by more than so many errors of the diagonal accuse the pattern", HELD
    )
    rounding: float = number(1e-13, "of the largest row sum", "what an eigenvalue is at least wrong by",
                             "some hundred units in the last place")
    enough: float = number(0.5, "of the smallest eigenvalue", "no more forms are taken where they show so much",
                           "\"minimum\" needs no more at a gradient within the tolerance")
    other: float = number(1 / 4, "of the step", "of differences of gradients where the first did not do", HELD)
    checks: int = number(150, "queries", "that forms, and looks along a few directions, take at most", "4 x 20 + 70")


FINDER = FinderSettings()
SPARSE = SparseSettings()
FORMS = FormSettings()
LANCZOS = LanczosSettings()
DENSE = DenseSettings()
SOFT = SoftSettings()
PRICE = PriceSettings()
NEWTON = NewtonSettings()
CHEBYSHEV = ChebyshevSettings()
ONLINE = OnlineSettings()
BY_GRADIENTS = ByGradientsSettings()


@dataclass(frozen=True)
class GroupSearchSettings:
    """Bounds from groups of samples, and forms of a whole sum."""

    lower: float = number(0.9, "of the failure probability", "for the end of an interval that a certificate needs; the "
                          "rest for the other end", "a tenth costs the first 2% of its width")
    random: int = number(100, "directions", "random starts of the search for the worst direction", LIMIT)
    sweeps: int = number(30, "times", "weights and directions alternate at most so often", LIMIT)
    first: int = number(3, "times", "after which only the worst starts go on", "most starts meet by then")
    kept: int = number(16, "directions", "that go on", HELD)
    still: float = number(1e-4, "of the distance from the threshold", "a sweep that gains less ends the search",
                          "a ten-thousandth of a margin decides nothing")
    least_tau: float = number(1e-3, "of the largest", "the least tau of the inequality", "c / 2 is not felt there")
    taus: int = number(25, "values", "of tau, over three orders of magnitude", "each within 15% of the best")
    forms: tuple[int, int] = number((6, 80), "forms", "the fewest and the most", "fewer ask for a better estimate than "
                                    "samples give; more cost more than all second differences of 12 variables")


GROUP_SEARCH = GroupSearchSettings()
