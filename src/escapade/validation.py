"""Arguments that `certify` and `minimize` share, checked once."""

from __future__ import annotations

import warnings
from typing import Any

from .derivatives.noise import check_noise
from .domain import Geometry
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


def require_memory(history_memory: float) -> float:
    """Refuse what cannot be a number of bytes."""
    require_positive("history_memory", history_memory)
    return float(history_memory)


def check_prefer(prefer: str, method: Any) -> None:
    """What is preferred must be one of two, and only "auto" asks."""
    if prefer not in ("queries", "rounds"):
        raise InvalidSetting(f"prefer={prefer!r} must be 'queries' or 'rounds'")
    if prefer == "rounds" and not (isinstance(method, str) and method == "auto"):
        name = method if isinstance(method, str) else getattr(method, "name", type(method).__name__)
        raise InvalidSetting(f"prefer='rounds' is for method='auto' alone, not for {name!r}: leave it out")


CONSTRAINED = "a problem with bounds, equalities or invariances"


def warn_unused(what: str) -> None:
    """Say that gradients were given for nothing, as SciPy does."""
    warnings.warn(
        f"{what} works on function values alone, and does not use jac", RuntimeWarning, stacklevel=3
    )


def check_geometry(geometry: Geometry, *, samples: Any = None, method: Any = "auto") -> None:
    """Bounds, equalities and invariances are for "auto", and for functions without samples."""
    if geometry.plain:
        return
    if samples is not None:
        raise InvalidSetting("bounds, constraints and invariances are for functions without samples: leave them out")
    name = method if isinstance(method, str) else getattr(method, "name", type(method).__name__)
    if name != "auto":
        raise InvalidSetting(
            f"method={name!r} cannot keep to bounds, constraints or invariances: choose method='auto', or leave "
            "them out"
        )
