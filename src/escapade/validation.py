"""Arguments that `certify` and `minimize` share, checked once."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ._array import Array, Vector, like, to_numpy
from .derivatives.noise import check_noise
from .derivatives.sparsity import Sparsity
from .domain import Geometry
from .errors import InvalidSetting
from .tolerances import Tolerances, require_positive, require_probability

P = ParamSpec("P")
T = TypeVar("T")

ELSEWHERE = {"tol": "gtol", "ftol": "gtol", "seed": "rng", "random_state": "rng", "maxfun": "maxfev"}
"""What arguments are called in other libraries, and here."""


def check_keywords(name: str, signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    """Refuse keywords that a function does not have, and say which may have been meant."""
    known = signature.parameters
    if any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return
    for word in given:
        if word not in known:
            meant = [ELSEWHERE[word]] if ELSEWHERE.get(word) in known else get_close_matches(word, known, 1)
            hint = f". Did you mean {meant[0]!r}?" if meant else ""
            raise TypeError(f"{name}() got an unexpected keyword argument {word!r}{hint}")


def known_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with an error that says which keyword may have been meant by an unknown one."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        check_keywords(function.__name__, signature, kwargs)
        return function(*args, **kwargs)

    return call


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


def check_certificate_maxfev(most: float | None, samples: Any = None) -> None:
    """Refuse what is no number of queries; samples have budgets of their own."""
    if most is not None and samples is not None:
        raise InvalidSetting("certificate_maxfev is for functions without samples: set maxfev")
    if most is not None and not (isinstance(most, int) and not isinstance(most, bool) and most > 0):
        raise InvalidSetting(f"certificate_maxfev={most!r} must be a positive int: leave it out for the usual cap")


def check_prefer(prefer: str, method: Any) -> None:
    """What is preferred must be one of two, and only "auto" asks."""
    if prefer not in ("queries", "rounds"):
        raise InvalidSetting(f"prefer={prefer!r} must be 'queries' or 'rounds'")
    if prefer == "rounds" and not (isinstance(method, str) and method == "auto"):
        name = method if isinstance(method, str) else getattr(method, "name", type(method).__name__)
        raise InvalidSetting(f"prefer='rounds' is for method='auto' alone, not for {name!r}: leave it out")


CONSTRAINED = "a problem with bounds, equalities or invariances"
EQUALITIES = "a problem with equalities"


def known_pairs(known: Any, x: Array, samples: Any) -> tuple[Array, Vector]:
    """Pairs already paid for, as rows and values: `known=(X, f)`, or those of a previous result."""
    if samples is not None:
        raise InvalidSetting("known= is for functions without samples: leave it out")
    if hasattr(known, "history") and hasattr(known, "x_best"):
        steps = [(step.x, step.fun) for step in known.history if step.fun is not None]
        pairs = [*steps, (known.x, known.fun), (known.x_best, known.fun_best)]
        pairs = [(to_numpy(point), f) for point, f in pairs if point is not None and f is not None and math.isfinite(f)]
        known = np.array([point for point, _ in pairs]), np.array([f for _, f in pairs])
    if not (isinstance(known, tuple | list) and len(known) == 2):
        raise InvalidSetting(f"known={known!r:.60} must be (X, f), points as rows and values, or a previous result")
    try:
        X, f = (np.asarray(to_numpy(one), dtype=np.float64) for one in known)
    except (TypeError, ValueError):
        X = f = np.zeros(0)
    d = x.shape[0]
    if X.ndim != 2 or X.shape[1] != d or f.shape != (len(X),):
        raise InvalidSetting(
            f"known=(X, f): X must have a row of {d} for each point, and f a value for each row, but their shapes are "
            f"{np.shape(known[0])} and {np.shape(known[1])}"
        )
    if not (np.isfinite(X).all() and np.isfinite(f).all()):
        bad = int(np.flatnonzero(~(np.isfinite(X).all(axis=1) & np.isfinite(f)))[0])
        raise InvalidSetting(f"known=(X, f): row {bad} or its value is not finite: leave it out")
    return like(X, x), f


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


def check_sparsity(
    hess_sparsity: Any,
    d: int,
    *,
    geometry: Geometry,
    samples: Any = None,
    finder: Any = "auto",
    residuals: bool = False,
) -> Sparsity | None:
    """The pattern of a Hessian, for functions of x alone with room on all sides."""
    if hess_sparsity is None:
        return None
    if samples is not None:
        raise InvalidSetting("hess_sparsity is for functions without samples: leave it out")
    if residuals:
        raise InvalidSetting("hess_sparsity is for functions that return one value: leave it out where residuals=True")
    if not geometry.plain:
        raise InvalidSetting(f"hess_sparsity is not for {CONSTRAINED}: leave it out")
    if finder != "auto":
        raise InvalidSetting("hess_sparsity chooses the sparse finder: leave finder out")
    return Sparsity.of(hess_sparsity, d)


def check_evidence(evidence: Any, samples: Any) -> Any:
    """What a claim about a sum rests on must be one of two, and a stream has no whole."""
    if evidence not in ("sampled", "whole"):
        raise InvalidSetting(f"evidence={evidence!r} must be 'sampled' or 'whole'")
    if evidence == "whole" and samples == "stream":
        raise InvalidSetting("evidence='whole' is for finite sums, samples=n: a stream has no end, so use 'sampled'")
    return evidence
