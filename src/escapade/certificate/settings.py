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
    margin: float = number(
        1.2, "factor", "products towards \"minimum\" aim higher by it; a jump of the Hessian is multiplied by it",
        HELD,
    )
    roughness: float = number(
        3.0, "factor", "the amplitude of roughness, an rms over three lines, times this bounds what it does to a value",
        "the largest of a few hundred values is three deviations away",
    )
    suggested: float = number(1000.0, "factor", "a tolerance that is looser by more is not worth suggesting", HELD)
    room: float = number(1.1, "factor", "a suggested tolerance is so much larger than what was shown", "two digits")


RULES = RuleSettings()
