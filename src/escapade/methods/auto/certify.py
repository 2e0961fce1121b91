"""Asking for the certificate of a run: on the model, from one failure probability for all attempts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import budget
from ..._array import Vector, norm2
from ...certificate import rules
from ...curvature import ByGradients, Cheapest, Finding, Sparse, price
from ...curvature.finding import nothing_known
from ...curvature.lanczos import diagonal_preconditioner
from ...curvature.settings import LANCZOS
from ...derivatives.by_gradients import GradientModel, measure_by_gradients
from ...derivatives.measure import LocalModel, measure
from ...derivatives.preconditioner import IDENTITY, MatrixPreconditioner, Preconditioner
from ...derivatives.products import Product
from ...derivatives.sparsity import Sparsity
from ...derivatives.units import beside
from ...errors import BudgetExhausted
from ...tolerances import Tolerances
from .dense import DenseMatrix
from .differences import Differences
from .exact import ExactDifferences
from .model import Model
from .point import Point
from .settings import MODEL, PRECONDITIONER


@dataclass
class CertificateSearch:
    """Asks for certificates; every attempt of a run spends its share of one failure probability."""

    differences: Differences
    failure: float
    noise: float | str | None
    rng: np.random.Generator
    wanted: bool = True
    """Whether a certificate is asked for at all."""
    maxfev: float | None = None
    """What a certificate may cost; None: `price.cap_of_run`."""
    attempts: int = 0
    asked: Tolerances = field(init=False)
    """Those that the run began with."""

    def __post_init__(self) -> None:
        self.asked = self.differences.tolerances

    def measure(self, p: Point) -> LocalModel:
        """f around p; relative tolerances become those of the curvatures seen there, where these are smaller."""
        differences, f, x = self.differences, self.differences.f, self.differences.array(p.y)
        given: Any = {"curvtol": differences.curvtol, "gtol": differences.gtol, "noise": self.noise, "rng": self.rng}
        local: LocalModel
        if isinstance(differences, ExactDifferences):
            given["failure"] = budget.of_certificate(self.failure, self.attempts + 1)
            local = by_gradients = measure_by_gradients(f, x, **given)
            differences.update_slopes(by_gradients)
        else:
            local = measure(f, x, **given)
        differences.tolerances = beside(self.asked, local, self.rng)
        return local.asked(differences.tolerances)

    def search(
        self, local: LocalModel, model: Model, contradiction: float, *, trusted: bool
    ) -> tuple[Finding, tuple[Product, ...]]:
        """The finding, on a model that the last secants contradicted by so much, and the products behind it.

        An attempt counts once its finder is asked: what the local model alone decides spends nothing.
        """
        self.attempts += 1
        delta = self.differences.curvtol
        failure = budget.of_certificate(self.failure, self.attempts)
        most = price.cap_of_run(local.d, local.f.ledger.queries) if self.maxfev is None else self.maxfev
        finder = Cheapest(delta=delta, failure=failure, noise=self.noise, certificate_maxfev=most)
        if why := nothing_known(local):
            return finder.undecided(why), ()
        rho = rules.estimated_rho([local.third_derivative])
        wanted = rules.wanted_curvature(norm2(local.gradient.value), rho, float(np.min(local.steps)))
        try:
            if isinstance(local, GradientModel):
                P = gradient_preconditioner(model, contradiction, delta)
                own = ByGradients(delta=delta, failure=failure, preconditioner=P, wanted=wanted)
                return own.search(local, self.rng)
            finder = replace(
                finder,
                preconditioner=model_preconditioner(model, contradiction, local.diagonal.value, delta),
                lowest=model.lowest()[0] if trusted else None,
                soft=model.spectrum[1],
                wanted=wanted,
            )
            return finder.search(local, self.rng)
        except BudgetExhausted as stop:
            return finder.undecided(str(stop)), ()


    def search_pattern(self, local: LocalModel, sparsity: Sparsity) -> Finding:
        """The finding where the pattern of the Hessian is known."""
        self.attempts += 1
        failure = budget.of_certificate(self.failure, self.attempts)
        most = price.cap_of_run(local.d, local.f.ledger.queries)
        finder = Sparse.of(sparsity, self.differences.curvtol, failure, most)
        if self.maxfev is not None:
            finder = replace(finder, certificate_maxfev=self.maxfev)
        try:
            return finder.within(local, self.rng)
        except BudgetExhausted as stop:
            return rules.undecided(str(stop))


def gradient_preconditioner(model: Model, contradiction: float, delta: float) -> Preconditioner:
    """(|B| + delta)^(-1/2), of norm one, unless the model's last secants contradicted it by more than most the spread
    of its own eigenvalues: then nothing, for products of gradients are cheap."""
    spread = model.spread(delta)
    if spread < PRECONDITIONER.alike or contradiction > 2 * spread:
        return IDENTITY
    root: Any = model.inverse_root(delta, LANCZOS.flattest)
    return MatrixPreconditioner(root)


def update_with_products(model: Model, products: Iterable[Product]) -> Model:
    """The model, with all these products."""
    for product in products:
        model.secant(product.vector, product.hessian_image, 0.0, exact=True)
    return model


def model_preconditioner(model: Model, contradiction: float, diagonal: Vector, delta: float) -> Preconditioner:
    """(|B| + delta)^(-1/2), of norm one, for what is best known of the Hessian.

    That is the model, unless its last secants contradicted it by more than most the spread of its own eigenvalues, or
    the diagonal that was seen does; then it is this diagonal, if its entries differ, or nothing. In a dense model with
    eigenvalues far apart the diagonal may be wrong by a common factor: its form is right.
    """
    spread, same = model.spread(delta), diagonal
    if isinstance(model.B, DenseMatrix) and (total := float(diagonal.sum())) > 0:
        most = PRECONDITIONER.factor
        factor = float(model.diagonal.sum()) / total
        same = diagonal * factor if spread > MODEL.different and 1 / most < factor < most else diagonal
    if spread < PRECONDITIONER.alike or contradiction > 2 * spread or model.misses(same, delta):
        return diagonal_preconditioner(diagonal, delta)
    root: Any = model.inverse_root(delta, LANCZOS.flattest)
    return MatrixPreconditioner(root)

