"""What an undecided certificate advises: what could be shown instead, and what would have to change."""

from __future__ import annotations

import math
from dataclasses import replace

from ..curvature.finding import CONSTANT, ROUGH
from ..curvature.sparse import INEXACT, LACKS
from .certificate import Certificate, Trusted
from .rules import HESSIAN_JUMPS
from .scale import JUMPING, KINKED, ROUGH_BELOW
from .settings import RULES

SMOOTHER = "certificates need a continuous curvature: smooth f there (a max, an abs or a penalty may be inside)"

FIXED = {
    HESSIAN_JUMPS: SMOOTHER,
    KINKED: SMOOTHER,
    JUMPING: SMOOTHER,
    LACKS: "add the pairs of variables that f depends on together to hess_sparsity, or leave it out",
    INEXACT: "leave hess_sparsity out: other finders see more through noise",
    CONSTANT: "with resolution=0 f is believed at all lengths, and a point around which it does not change is "
    "second-order; a larger x_scale looks farther",
    ROUGH: "noise='auto' averages over structure of short wavelength, and resolution=r looks at nothing below r",
}
"""Reasons that no tolerance would change."""

EXACTER = "computed to more digits (or with tighter solvers inside), f would show less"
OWN = "if that structure is f's own, resolution=0 believes f at all lengths"

CAUSES = {
    "rounding": "f is exact to about {level:.1g}, and",
    "digits": "f is given in steps of {level:.1g}, and",
    "roughness": "f is rough by about {level:.1g}, and",
    "given": "with noise {level:.2g}",
    "estimated": "with noise {level:.2g} (estimated)",
}
"""What hides the rest, by the source of the noise."""


def advised(certificate: Certificate) -> Certificate:
    """The same certificate with its remedy."""
    remedy = _remedy(certificate) if certificate.verdict == "undecided" else _lower(certificate)
    return replace(certificate, remedy=remedy)


def _lower(certificate: Certificate) -> str:
    """Where noise hides what a further step would gain, though not the slope: what would lead lower."""
    noise = certificate.trusted.get("noise", Trusted(0.0, "rounding"))
    if certificate.verdict != "not stationary" or noise.source == "rounding":
        return ""
    seen = f"the gradient is seen to be at least {certificate.gradient.lower:.2g} here"
    level = f"{noise.value:.2g}" + (" (estimated)" if noise.source == "estimated" else "")
    return f"{seen}, and values are wrong by about {level}: averages of evaluations at each point would lead lower"


def _remedy(certificate: Certificate) -> str:
    if certificate.reason in FIXED:
        return FIXED[certificate.reason]
    go_on = "" if certificate.price is None else f"certificate_maxfev={certificate.price} lets the search go on"
    shown = "" if certificate.attainable is None else _shown(certificate)
    own = OWN if certificate.reason.startswith(ROUGH_BELOW) else ""
    return "; or ".join(filter(None, [shown, own, go_on])) or "raise maxfev, curvtol or gtol, or lower the noise of f"


def _shown(certificate: Certificate) -> str:
    """What could be shown instead."""
    assert certificate.attainable is not None
    noise = certificate.trusted.get("noise", Trusted(0.0, "rounding"))
    cause = CAUSES[noise.source].format(level=noise.value)
    unmet = _unmet(certificate)
    gtol, curvtol = certificate.attainable
    asked = f"gtol={gtol:.2g}, curvtol={curvtol:.2g}"
    asked += ", x_scale=certificate.units.lengths" if certificate.units is not None else ""
    if (samples := certificate.trusted.get("samples")) is not None:
        return f"{samples.value:.2g} samples show {' and '.join(unmet)} here: take more, or ask for {asked}"
    shown = f"{cause} {' and '.join(unmet)} can be shown here: ask for {asked}"
    if noise.source not in ("given", "estimated"):
        return f"{shown}; {EXACTER}"
    least = certificate.gradient.upper if certificate.gradient.upper > certificate.gtol else 0.0
    fewer = f"show a gradient of {least / 10:.1g}" if least else "show curvatures a tenth as large"
    return f"{shown}; {RULES.evaluations} evaluations at each point, averaged, would {fewer}"


def _unmet(certificate: Certificate) -> list[str]:
    """The ends of the intervals that are beyond the tolerances."""
    unmet = []
    if certificate.gradient.upper > certificate.gtol:
        unmet.append(f"no gradient below {certificate.gradient.upper:.2g}")
    lower = certificate.curvature.lower
    if -math.inf < lower < -certificate.curvtol:
        unmet.append(f"no curvature above {lower:.2g}")
    return unmet
