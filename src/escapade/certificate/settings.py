"""The tuned numbers of this room."""

from __future__ import annotations

from dataclasses import dataclass

from .._settings import number
from ..derivatives.settings import HELD


@dataclass(frozen=True)
class RuleSettings:
    """What verdicts ask for beyond the definition."""

    lifted: float = number(
        1.5, "curvtol", "positive curvature is asked for at this shift: if certified, it is at least curvtol / 2",
        "1.5 - 1 = 0.5",
    )
    unclear: float = number(2.0, "curvtol", "it is not asked for where something lower than this was seen", HELD)
    nearly: float = number(
        1e3, "gtol", "with relative tolerances, a direction down is looked for where the gradient is not larger: that "
        "may be the saddle at which a solver stopped, a little early",
        "a Newton step of a thousandth of the lengths of the variables",
    )
    margin: float = number(
        1.2, "factor", "products towards \"minimum\" aim higher by it; a jump of the Hessian is multiplied by it",
        HELD,
    )
    roughness: float = number(
        3.0, "factor", "the amplitude of roughness, an rms over three lines, times this bounds what it does to a value",
        "the largest of a few hundred values is three deviations away",
    )
    samples: float = number(
        0.9, "of the failure probability", "for tests on samples; the rest for the whole sum, where these fail",
        "a tenth widens an interval by 1% to 2%",
    )
    clearly: float = number(
        100.0, "factor", "a gradient so much smaller than \"minimum\" needs will do whatever third derivatives are",
        "those of a few random directions are a tenth of the largest at least, mostly",
    )
    third_step: float = number(2.0**-6, "lengths", "third differences along the softest direction", "eps^(1/9)")
    room: float = number(1.3, "factor", "a suggested tolerance is so much larger than what was shown",
                         "measured again, noise and the errors it makes are others by a fifth")
    across: int = number(
        64, "variables", "left by invariances, up to which all second differences are taken",
        "positive curvature is asked for; a cluster of 13 atoms: 1,573 queries, with products first 1,685 to 2,899",
    )
    evaluations: int = number(
        500, "evaluations", "averaged, they make the gradient that can be shown a tenth",
        "steps grow with noise^(1/4), so gradients are wrong by noise^(3/4): 10^(2 / 0.75) = 464",
    )


@dataclass(frozen=True)
class ShownSettings:
    """What is printed of a direction."""

    terms: int = number(4, "parameters", "so many of those that make up a direction are named", "a line holds them")
    bounds: int = number(6, "variables", "so many of those on bounds are named", "a line holds them")
    least: float = number(0.05, "of a unit vector", "smaller shares are left out", "0.05^2 = 0.0025")


RULES = RuleSettings()
SHOWN = ShownSettings()
