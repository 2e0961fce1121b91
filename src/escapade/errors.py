"""Everything Escapade raises::

    EscapadeError
    ├── InvalidSetting (also ValueError)     an argument or a setting is out of its range
    │   ├── WrongGradient                    jac is not the gradient of the function
    │   └── WrongSparsity                    hess_sparsity lacks entries of the Hessian
    ├── BelowPrecision (also ValueError)     a radius or step is too small for the dtype to resolve
    ├── MissingCapability                    the function cannot do what the method needs
    ├── JournalError                         a journal cannot be used, or is of another run
    └── OracleError                          something happened at the door to function values
        ├── BudgetExhausted                  the stencil asked for would pass the budget
        ├── TimeExhausted                    it was asked for after the deadline
        ├── OutsideDomain                    it was asked for outside the domain of f
        ├── UnboundedBelow                   the function returned -inf, and nan_policy is "omit"
        ├── EvaluationFailed                 the user's function raised
        ├── InvalidValue (also TypeError)    it returned something that is not one real number a point
        └── NonFiniteValue                   it returned NaN or infinity
            └── MissingValue                 points failed for good, and are missing from a stencil

Every `OracleError` carries the best point so far, `best_x` and `best_fun` (None before the first value).

>>> import escapade
>>> try:
...     escapade.minimize(lambda x: x @ x, [1.0, 2.0], gtol=-1.0)
... except escapade.errors.InvalidSetting as error:
...     print(error)
gtol=-1.0 must be positive and finite
"""

from __future__ import annotations

from typing import Any

from ._text import counted


class EscapadeError(Exception):
    """Base of all errors of this library."""


class InvalidSetting(EscapadeError, ValueError):
    """An argument is out of its range; the message names it, its value, the bound and the remedy."""


class WrongGradient(InvalidSetting):
    """`jac` disagrees with function values, in `coordinate`: by it the slope there is `claimed`, by values `seen`."""

    def __init__(self, message: str, coordinate: int, claimed: float, seen: float) -> None:
        super().__init__(message)
        self.coordinate, self.claimed, self.seen = coordinate, claimed, seen


class WrongSparsity(InvalidSetting):
    """`hess_sparsity` lacks entries: f curves otherwise along random directions than those that it has say."""


class BelowPrecision(EscapadeError, ValueError):
    """A radius or step lies below what the dtype, the point and the function values can resolve."""


class MissingCapability(EscapadeError):
    """The function lacks something the method needs: gradients, samples, or being asked twice."""


class JournalError(EscapadeError):
    """A journal cannot be read or written, or belongs to another run; the message says which, and what to do."""


class OracleError(EscapadeError):
    """Something happened while asking for function values."""

    best_x: Any = None
    best_fun: float | None = None
    result: Any = None
    """What `minimize` had until then, if it was running."""


class BudgetExhausted(OracleError):
    """A stencil was refused, whole, because its queries would pass the budget."""

    def __init__(self, asked: int, used: int, maxfev: int, reserved: int = 0) -> None:
        kept = f", and {reserved} kept for the certificate" if reserved else ""
        super().__init__(
            f"{counted(asked, 'more query', 'more queries')} would pass the budget: "
            f"{used} of maxfev={maxfev} are used{kept}; raise maxfev"
        )
        self.asked, self.used, self.maxfev = asked, used, maxfev


class OutsideDomain(OracleError):
    """A point outside the domain of f was refused; no method should ask for one."""


class TimeExhausted(OracleError):
    """A stencil was refused because the time allowed is over."""


class UnboundedBelow(OracleError):
    """The user's function returned -inf at `x`, where a policy omits what is not finite: f has no bottom."""

    def __init__(self, message: str, x: Any) -> None:
        super().__init__(message)
        self.x = x


class EvaluationFailed(OracleError):
    """The user's function raised; the exception is the cause, the point is `x`."""

    def __init__(self, message: str, x: Any) -> None:
        super().__init__(message)
        self.x = x


class InvalidValue(EvaluationFailed, TypeError):
    """The user's function returned something other than one real number a point."""


class NonFiniteValue(EvaluationFailed):
    """The user's function returned NaN or infinity at `x`."""


class MissingValue(NonFiniteValue):
    """Some points of a stencil could not be evaluated, the first of them `x`; `values` are those of all, NaN there.

    Only where a policy lets points be missing: on_error="penalise", nan_policy="penalise" or "omit", or a callable.
    """

    def __init__(self, message: str, x: Any, values: Any) -> None:
        super().__init__(message, x)
        self.values = values
