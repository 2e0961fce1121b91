"""A fit for statsmodels: `model.fit(method="escapade", extra_fit_funcs=extra_fit_funcs)`.

A likelihood model is then fitted by `escapade.minimize`, which certifies that its estimate is a maximum of the
likelihood and no saddle; the certificate is in `results.mle_retvals["certificate"]`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..minimize import minimize


def fit_escapade(
    f: Callable[..., float],
    score: Callable[..., Any] | None,
    start_params: Any,
    fargs: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    disp: bool = False,
    maxiter: int = 100,
    callback: Callable[..., Any] | None = None,
    retall: bool = False,
    full_output: bool = True,
    hess: Callable[..., Any] | None = None,
) -> tuple[Any, dict[str, Any] | None]:
    """One of statsmodels' fitting functions. Options of `escapade.minimize` may be among the keywords of `fit`, and
    `use_score=True` uses the model's score; `maxiter` counts iterates."""
    del hess
    options = {name: kwargs[name] for name in OPTIONS if name in kwargs}
    jac = score if kwargs.get("use_score") and score is not None else None
    points: list[Any] = []

    def noted(x: Any) -> None:
        points.append(x)
        if callback is not None:
            callback(x)

    result = minimize(
        lambda x: float(f(x, *fargs)),
        np.asarray(start_params, dtype=np.float64),
        jac=None if jac is None else lambda x: np.asarray(jac(x, *fargs)),
        maxiter=maxiter,
        callback=noted,
        **options,
    )
    if disp:
        sys.stdout.write(f"{result}\n")
    if not full_output:
        return result.x, None
    answers: dict[str, Any] = {"fopt": result.fun, "iterations": result.nit, "fcalls": result.nfev}
    answers |= {"converged": bool(result.success)}
    answers |= {"certificate": result.certificate, "message": result.message, "warnflag": result.status}
    return result.x, answers | ({"allvecs": points} if retall else {})


OPTIONS = ("gtol", "curvtol", "failure", "maxfev", "noise", "x_scale", "resolution", "rng", "on_error", "nan_policy")

extra_fit_funcs = {"escapade": fit_escapade}
