"""What the demonstration runs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from ..certify import certify
from ..minimize import minimize
from ..problems import Octopus, Transformed, random_rotation
from ..result import Result

SCIPY = ("BFGS", "L-BFGS-B", "Nelder-Mead", "Powell")
METHODS = ("auto", "zo-gd-ncf")
EPSILON = 1e-4


@dataclass(frozen=True)
class Answer:
    """What a solver returned and claimed, what `certify` says of it, and what is true."""

    solver: str
    fun: float
    queries: int
    success: bool
    message: str
    verdict: str
    curvature: float
    """The smallest eigenvalue of the exact Hessian, which no solver sees."""


@dataclass
class Showcase:
    """A rotated octopus, and the answers from its origin."""

    problem: Transformed
    d: int
    nu: float
    seed: int
    answers: list[Answer] = field(default_factory=list)
    results: dict[str, Result] = field(default_factory=dict)
    solvers: tuple[str, ...] = SCIPY + METHODS

    @classmethod
    def of(cls, d: int, seed: int) -> Showcase:
        """The octopus in d variables under a random rotation."""
        octopus = Octopus(d=d)
        rotated = Transformed(problem=octopus, rotation=random_rotation(d, np.random.default_rng(seed)))
        return cls(rotated, d, octopus.nu, seed)

    @property
    def minimum(self) -> float:
        """The least value."""
        return -self.d * self.nu

    def ask(self, solver: str) -> None:
        """Run one solver from the origin, and judge its answer."""
        x0, delta = np.zeros(self.d), math.sqrt(math.e * EPSILON)  # the tolerances of the paper's experiment
        options: dict[str, Any] = {"gtol": EPSILON, "curvtol": delta, "vectorized": True, "rng": self.seed}
        if solver in METHODS:
            result = self.results[solver] = minimize(self.problem, x0, method=solver, **options)
            x, shown = result.x, result.certificate
        else:
            solve: Any = scipy_minimize
            result = solve(self.problem, x0, method=solver)
            x, shown = result.x, certify(self.problem, result.x, **options)
        self.answers.append(
            Answer(
                solver=solver,
                fun=float(result.fun),
                queries=int(result.nfev),
                success=bool(result.success),
                message=str(result.message),
                verdict="nothing" if shown is None else shown.verdict,
                curvature=float(np.linalg.eigvalsh(self.problem.hessian(x))[0]),
            )
        )

    def plain(self) -> list[dict[str, Any]]:
        """The answers as dictionaries."""
        return [asdict(answer) for answer in self.answers]
