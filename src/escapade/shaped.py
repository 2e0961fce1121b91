"""The adapter at the door: arguments in the structure of a user's point become those of vectors, and results return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from scipy.optimize import Bounds

from .certificate import Certificate
from .result import Result
from .structure import Structure
from .validation import check_keywords

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class OfVectors:
    """A user's function of points, as one of vectors."""

    fun: Callable[..., Any]
    structure: Structure
    with_gradient: bool = False
    """It gives its value and its gradient."""

    def __call__(self, x: Any, *rest: Any) -> Any:
        value = self.fun(self.structure.built(x), *rest)
        if not self.with_gradient:
            return value
        value, gradient = value
        return value, self.structure.flat(gradient, "the gradient")

    @property
    def ids_by_row(self) -> bool:
        """Whether the function takes sample ids row by row."""
        return bool(getattr(self.fun, "ids_by_row", False))

    @property
    def pad(self) -> bool:
        """Whether blocks are padded to a few sizes: every new shape is compiled for JAX."""
        return bool(getattr(self.fun, "pad", self.structure.on_jax))


@dataclass(frozen=True)
class GradientOfVectors:
    """A user's gradient, or a product with their Hessian, as one of vectors."""

    fun: Callable[..., Any]
    structure: Structure
    points: int = 1
    """How many of its arguments are points."""

    def __call__(self, *given: Any) -> Any:
        points = [self.structure.built(x) for x in given[: self.points]]
        return self.structure.flat(self.fun(*points, *given[self.points :]), "the gradient")


def shaped(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """For functions whose parameter of this name is a point: it may then be anything that `Structure` knows."""

    def adapted(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            check_keywords(function.__name__, signature, kwargs)
            given = signature.bind(*args, **kwargs).arguments
            found = Structure.of(given.get(name), name)
            if found is None:
                return function(*args, **kwargs)
            structure, vector = found
            fun, rest = shaped_arguments(structure, {**given.pop("options", {}), **given})
            rest[name] = vector
            try:
                answer: Any = function(fun, **rest)
            except Exception as error:
                _shape_error(error, structure)
                raise
            return cast(T, answer.shaped(structure) if isinstance(answer, Result | Certificate) else answer)

        return call

    return adapted


def shaped_arguments(structure: Structure, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The function, and the other arguments by name, as those of vectors."""
    rest = {key: _shaped_argument(key, value, structure) for key, value in given.items()}
    fun = rest.pop("fun", None)
    if callable(fun):
        fun = OfVectors(fun, structure, with_gradient=given.get("jac") is True)
    return fun, rest


def _shaped_argument(key: str, value: Any, structure: Structure) -> Any:
    if callable(value) and key in ("grad", "jac", "hessp"):
        return GradientOfVectors(value, structure, 2 if key == "hessp" else 1)
    if callable(value) and key in ("on_error", "nan_policy"):
        return lambda x, *rest: value(structure.built(x), *rest)
    if callable(value) and key == "callback":
        return _shaped_callback(value, structure)
    if key == "x_scale" and value is not None and np.ndim(value) != 0:
        return structure.flat(value, key)
    if key == "x_scale" and isinstance(value, Mapping):
        return structure.flat(value, key)
    if key == "known" and isinstance(value, tuple | list) and len(value) == 2:
        return np.array([structure.flat(x, key) for x in value[0]]), value[1]
    if key == "known" and isinstance(value, Result):
        return value.flattened()
    if key == "bounds" and isinstance(value, Bounds):
        return Bounds(_end(value.lb, structure), _end(value.ub, structure))
    return value


def _end(end: Any, structure: Structure) -> Any:
    return end if not isinstance(end, Mapping) and np.ndim(end) == 0 else structure.flat(end, "bounds")


def _shaped_callback(callback: Callable[..., Any], structure: Structure) -> Callable[..., Any]:
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:

        def by_name(intermediate_result: Any) -> Any:
            intermediate_result.update(x=structure.built(intermediate_result.x))
            return callback(intermediate_result=intermediate_result)

        return by_name
    return lambda x: callback(structure.built(x))


def _shape_error(error: Exception, structure: Structure) -> None:
    """What an error carries, in the structure of the point."""
    own = vars(error)
    if isinstance(own.get("result"), Result):
        own["result"] = own["result"].shaped(structure)
    for name in ("x", "best_x"):
        if isinstance(own.get(name), np.ndarray):
            own[name] = structure.built(own[name])
