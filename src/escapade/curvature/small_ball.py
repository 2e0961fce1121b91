"""Second differences of a whole sum along random vectors, against a Hessian that was only estimated.

Let P = (B + delta)^(-1/2) for an estimate B of the Hessian H. If H has an eigenvalue below -delta, then
E = P (H - B) P has an eigenvalue -a <= -1, with a unit eigenvector u. For a Gaussian g, g'Eg = -a z^2 + R with z = u'g
independent of R. The density of z^2 decreases, so that of all intervals of length 2 tau / a the first holds the most:
P(|g'Eg| <= tau) <= P(z^2 <= 2 tau) = erf(sqrt(tau)). So m independent forms, all within tau, show H >= -delta but for a
probability of erf(sqrt(tau))^m, whatever B is and however f came by its curvature.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf, erfinv

from .._array import Matrix
from .settings import GROUP_SEARCH


def failure_of(forms: int, tau: float) -> float:
    """The probability with which so many forms are all within tau though there is an eigenvalue below -delta."""
    return float(erf(math.sqrt(tau)) ** forms)


def radius_of(forms: int, failure: float) -> float:
    """The tau of so many forms."""
    return float(erfinv(failure ** (1 / forms)) ** 2)


def forms_for(size: float, failure: float, form: float, sample: float) -> tuple[int, float]:
    """The number of forms, and the factor by which the error of B is to shrink first, that cost least together.

    Parameters
    ----------
    size : what is expected of |E|_F on the samples that B is made of
    form, sample : queries for one form; and for all these samples, taken once more

    Forms are normal, nearly, with a standard deviation of sqrt(2) |E|_F, and all must be small.
    """
    best, choice = math.inf, (GROUP_SEARCH.forms[0], math.inf)
    for m in range(GROUP_SEARCH.forms[0], GROUP_SEARCH.forms[1] + 1):
        allowed = radius_of(m, failure) / (math.sqrt(2) * (1 + math.sqrt(2 * math.log(2 * m))))
        more = max(1.0, (size / allowed) ** 2)
        price = m * form + (more - 1) * sample
        if price < best:
            best, choice = price, (m, more)
    return choice


def directions(B: Matrix, delta: float, forms: int, rng: np.random.Generator) -> Matrix | None:
    """P g for so many Gaussian vectors g, as rows; None where B + delta is not positive definite."""
    values, vectors = np.linalg.eigh(B + delta * np.eye(len(B)))
    if values[0] <= 0:
        return None
    root = (vectors / np.sqrt(values)) @ vectors.T
    drawn: Matrix = rng.standard_normal((forms, len(B))) @ root
    return drawn


def relative_spread(hessians: Matrix, delta: float) -> float:
    """What |P (H - B) P|_F is expected to be for the mean B of these groups; infinite where B + delta has no root."""
    B, G = hessians.mean(axis=0), len(hessians)
    values, vectors = np.linalg.eigh(B + delta * np.eye(len(B)))
    if values[0] <= 0:
        return math.inf
    root = vectors / np.sqrt(values)
    D = np.einsum("ia,gij,jb->gab", root, hessians - B, root, optimize=True)
    return math.sqrt(float((D**2).sum()) / (G * (G - 1)))
