"""How the probability of a false certificate is divided: among the searches of a run, and among the parts of one."""

from __future__ import annotations

import math

FIRST_OF_RUN = 0.9
"""Most runs of `auto` ask for one certificate: the first attempt may spend this share."""


def of_attempt(p: float, j: int) -> float:
    """What attempt j = 1, 2, ... of any number of attempts may spend: 6 p / (pi j)^2, so that all spend p."""
    return 6 * p / (math.pi * j) ** 2


def of_certificate(p: float, j: int) -> float:
    """The same where the first attempt is mostly the only one: nine tenths of p, and a tenth for all the others."""
    return FIRST_OF_RUN * p if j == 1 else of_attempt((1 - FIRST_OF_RUN) * p, j - 1)


def of_method(p: float, *, sampled: bool) -> float:
    """What a method's own searches may spend of a run's p; the driver's certificate has the rest.

    On samples the driver certifies the last iterate anew, gradient and curvature; else it mostly has nothing to do.
    """
    return (0.5 if sampled else 0.9) * p


def of_driver(p: float, spent: float) -> float:
    """What is left for the driver's certificate when the method may spend so much; always a tenth, at least."""
    return max(p - spent, p / 10)


def stated(p: float, driver: float, spent: float) -> float:
    """The failure probability of the whole run, as its certificate states it: p, where the shares add up to it."""
    total = driver + spent
    return p if math.isclose(total, p) else total


def of_search(p: float) -> float:
    """Of a certificate by the user's gradients, what the search on their products may spend."""
    return p / 2


def of_check(p: float) -> float:
    """The same of each of the two checks against values: of the gradient, and of the curvature."""
    return p / 4


def halves(p: float) -> float:
    """Each of two parts: gradient and curvature on samples; the search for -curvtol and that for positive curvature."""
    return p / 2
