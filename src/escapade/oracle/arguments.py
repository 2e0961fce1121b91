"""What an oracle accepts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import InvalidSetting

Samples = int | Literal["stream"] | None

Jac = Callable[..., Any] | Literal[True] | None
"""A function that gives gradients, True where the function gives them with its values, or None."""

FROM_VALUES = ("2-point", "3-point", "cs")
"""SciPy's names for gradients by differences, which are Escapade's own."""


def check_arguments(fun: Any, samples: Any, maxfev: Any) -> tuple[Samples, int | None]:
    """`samples` and `maxfev` as they should be, or an error that says so of any of the three."""
    if not callable(fun):
        raise InvalidSetting(f"fun={fun!r:.60} must be callable: pass the function itself, not its value")
    if samples is not None and samples != "stream":
        if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 1:
            raise InvalidSetting(f"samples={samples!r} must be a positive integer, 'stream' or None")
        samples = int(samples)
    if maxfev is not None and (isinstance(maxfev, bool) or not isinstance(maxfev, int | np.integer) or maxfev < 0):
        raise InvalidSetting(f"maxfev={maxfev!r} must be a non-negative integer or None (no budget)")
    return samples, None if maxfev is None else int(maxfev)


def check_derivatives(jac: Any, hessp: Any, *, vectorized: bool) -> Jac:
    """`jac` in one of SciPy's forms, or an error that says what it and `hessp` must be."""
    if jac is False or (isinstance(jac, str) and jac in FROM_VALUES):
        jac = None
    if jac is not None and jac is not True and not callable(jac):
        raise InvalidSetting(
            f"jac={jac!r:.60} must be callable, as in jac(x), True where fun returns (value, gradient), or None"
        )
    if jac is True and vectorized:
        raise InvalidSetting("jac=True is for a function of one point: with vectorized=True pass jac as one, jac(x)")
    if hessp is not None and not callable(hessp):
        raise InvalidSetting(f"hessp={hessp!r:.60} must be callable, as in hessp(x, v), or None")
    if hessp is not None and jac is None:
        raise InvalidSetting("hessp needs gradients beside it: pass jac too, or leave hessp out")
    return jac  # type: ignore[no-any-return]


@dataclass(frozen=True)
class WithoutArgs:
    """A gradient by its old name, which was never given `args`."""

    grad: Callable[..., Any]
    args: int

    def __call__(self, x: Any, *rest: Any) -> Any:
        return self.grad(x, *rest[: len(rest) - self.args])


def jac_of(jac: Any, grad: Any, args: Any = ()) -> Any:
    """`jac`, or what the deprecated `grad` stands for."""
    if grad is None:
        return jac
    warnings.warn("grad= is deprecated, and will go with the next version: pass jac=", DeprecationWarning, stacklevel=4)
    if jac is not None:
        raise InvalidSetting("grad= is the old name of jac=: pass jac alone")
    if not callable(grad):
        raise InvalidSetting(f"grad={grad!r:.60} must be callable, as in grad(x), or None: and pass it as jac=")
    return WithoutArgs(grad, len(args) if isinstance(args, tuple) else 1)
