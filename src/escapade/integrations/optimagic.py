"""An algorithm for optimagic: `optimagic.minimize(fun, params, algorithm=Escapade)`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optimagic import mark
from optimagic.optimization.algorithm import Algorithm, InternalOptimizeResult
from optimagic.typing import AggregationLevel

from ..minimize import minimize


@mark.minimizer(
    name="escapade",
    solver_type=AggregationLevel.SCALAR,
    is_available=True,
    is_global=False,
    needs_jac=False,
    needs_hess=False,
    needs_bounds=False,
    supports_parallelism=True,
    supports_bounds=True,
    supports_infinite_bounds=True,
    supports_linear_constraints=False,
    supports_nonlinear_constraints=False,
    disable_history=False,
)
@dataclass(frozen=True)
class Escapade(Algorithm):
    """`escapade.minimize` by its default method; `success` means that its certificate holds.

    The certificate is in the `algorithm_output` of the result, as a dictionary under "certificate".
    """

    convergence_gtol_abs: float | None = None
    """The gradient norm to certify; None: a share of the curvature learnt, see docs/scale.md."""
    convergence_curvtol_abs: float | None = None
    """The negative curvature that counts as none; None: a share of the curvature learnt, or the root of gtol."""
    stopping_maxfun: int | None = None
    """The budget of values."""
    stopping_maxiter: int | None = None
    failure: float = 1e-3
    """The probability with which the certificate may be false."""
    noise: float | str | None = None
    use_gradient: bool = False
    """Whether the gradient that optimagic has, the user's or a numerical one, is used."""
    n_cores: int = 1
    """Processes of optimagic's that evaluate points of a block at once."""
    seed: int | None = None

    def _solve_internal_problem(self, problem: Any, x0: NDArray[np.float64]) -> InternalOptimizeResult:
        def block(X: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(problem.batch_fun(list(X), n_cores=self.n_cores), dtype=np.float64)

        result = minimize(
            problem.fun if self.n_cores == 1 else block,
            x0,
            vectorized=self.n_cores > 1,
            jac=problem.jac if self.use_gradient else None,
            bounds=_ends(problem.bounds),
            gtol=self.convergence_gtol_abs,
            curvtol=self.convergence_curvtol_abs,
            failure=self.failure,
            noise=self.noise,
            maxfev=self.stopping_maxfun,
            maxiter=self.stopping_maxiter,
            rng=self.seed,
        )
        certificate = None if result.certificate is None else json.loads(result.certificate.to_json())
        return InternalOptimizeResult(
            x=np.asarray(result.x, dtype=np.float64),
            fun=float(result.fun),
            success=bool(result.success),
            message=result.message,
            status=int(result.status),
            n_fun_evals=int(result.nfev),
            n_iterations=int(result.nit),
            jac=result.jac,
            info={"certificate": certificate, "nfev_by_purpose": result.nfev_by_purpose},
        )


def _ends(bounds: Any) -> Any:
    """optimagic's bounds as pairs; None where there are none."""
    if bounds is None or (bounds.lower is None and bounds.upper is None):
        return None
    lower, upper = bounds.lower, bounds.upper
    lower = np.full(len(upper), -np.inf) if lower is None else lower
    upper = np.full(len(lower), np.inf) if upper is None else upper
    if not (np.any(np.isfinite(lower)) or np.any(np.isfinite(upper))):
        return None
    return list(zip(lower.tolist(), upper.tolist(), strict=True))
