"""Arguments that `certify` and `minimize` share, checked once."""

from __future__ import annotations

import warnings
from typing import Any

from .derivatives.noise import check_noise
from .errors import InvalidSetting
from .tolerances import Tolerances, require_positive, require_probability


def check_tolerances(
    gtol: float | None, curvtol: float | None, failure: float, noise: float | str | None
) -> Tolerances:
    """The tolerances asked for, if they can be."""
    require_probability("failure", failure)
    check_noise(noise)
    return Tolerances.of(gtol, curvtol)


def check_resolution(resolution: float | None) -> None:
    """Refuse what cannot be a length."""
    if resolution is None or resolution == 0:
        return
    require_positive("resolution", resolution)


def check_prefer(prefer: str, method: Any) -> None:
    """What is preferred must be one of two, and only "auto" asks."""
    if prefer not in ("queries", "rounds"):
        raise InvalidSetting(f"prefer={prefer!r} must be 'queries' or 'rounds'")
    if prefer == "rounds" and not (isinstance(method, str) and method == "auto"):
        name = method if isinstance(method, str) else getattr(method, "name", type(method).__name__)
        raise InvalidSetting(f"prefer='rounds' is for method='auto' alone, not for {name!r}: leave it out")


def warn_unused(what: str) -> None:
    """Say that gradients were given for nothing, as SciPy does."""
    warnings.warn(
        f"{what} works on function values alone, and does not use jac", RuntimeWarning, stacklevel=3
    )


def refuse_constraints(bounds: Any, constraints: Any) -> None:
    """Escapade is unconstrained; say what to do instead."""
    if bounds is not None:
        raise InvalidSetting(
            "bounds are not supported: a minimum on a bound has a gradient. Substitute a free variable, such as "
            "x = low + (high - low) / (1 + exp(-t)), and pass the function of t"
        )
    if constraints is not None and not (isinstance(constraints, list | tuple) and len(constraints) == 0):
        raise InvalidSetting(
            "constraints are not supported: eliminate them by substitution, or add a smooth penalty to the function"
        )
