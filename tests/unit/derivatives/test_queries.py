"""The `Queries` line of every docstring against the oracle's count."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from escapade import Oracle, derivatives
from escapade.derivatives import (
    against_values,
    by_gradients,
    consistency,
    estimates,
    feasible,
    gradient_check,
    groups,
    invariance,
    jumps,
    ladder,
    mesh,
    noise,
    paper,
    product_errors,
    products,
    residual_model,
    sampling,
    smoothness,
    sparsity,
    units,
    values,
)
from escapade.derivatives import measure as measure_
from escapade.derivatives.against_values import missed_curvature, missed_slope
from escapade.derivatives.by_gradients import GradientProducts, measure_by_gradients
from escapade.derivatives.estimates import GradientRule
from escapade.derivatives.measure import LocalModel, measure
from escapade.derivatives.noise import Noise, NoiseEvidence
from escapade.derivatives.products import HessianProducts, Values
from escapade.derivatives.residual_model import LocalResiduals, Pattern, group_columns
from escapade.derivatives.sampling import SampledModel, pilot_size, sampled_gradient
from escapade.derivatives.settings import PRODUCTS
from escapade.derivatives.stencil import CoordinateStencil
from escapade.domain import Domain
from escapade.errors import WrongGradient
from escapade.loss import LINEAR
from escapade.oracle import Batch, point
from escapade.tolerances import Tolerances

FILES = [module.name for module in pkgutil.iter_modules(derivatives.__path__)]
MODULES = [importlib.import_module(f"{derivatives.__name__}.{name}") for name in FILES]
NAMES = {"d", "m", "k", "n", "b", "B", "len", "which", "batch", "pilot_size", "failure"}


def line(function: Callable) -> str:
    found = re.search(r"^ *Queries: (.+?)(\n\n|\Z)", inspect.getdoc(function) or "", re.MULTILINE | re.DOTALL)
    assert found, f"{function.__qualname__} has no Queries line"
    return " ".join(found[1].split())


def expressions(function: Callable) -> list[str]:
    """What stands before the first word: one expression, or alternatives between commas and "or"."""
    head = re.split(r", and | for | the | if | with |;", line(function))[0]
    parts = re.split(r", or |, | or ", head)
    for part in parts:
        words = set(re.findall(r"[A-Za-z_]\w*", part))
        assert words <= NAMES, f"{function.__qualname__}: cannot read {part!r}"
    return parts


def promised(function: Callable, k: int, /, **sizes: object) -> int:
    return eval(expressions(function)[k], {"len": len, "pilot_size": pilot_size}, sizes)


def quadratic(d: int) -> Oracle:
    scale = 1.0 + np.arange(d) / d
    return Oracle.of(lambda x: x * x @ scale + x.sum(axis=-1), vectorized=True)


def look(d: int, **settings) -> LocalModel:
    """A local model of a quadratic, where no step is cut."""
    rng = np.random.default_rng(d)
    return measure(quadratic(d), np.full(d, 0.25), curvtol=0.1, rng=rng, **settings)


def unit(d: int) -> np.ndarray:
    return np.full(d, d**-0.5)


def cost(f: Oracle, call: Callable[[], object]) -> int:
    before = f.ledger.queries
    call()
    return f.ledger.queries - before


DIMENSIONS = [1, 2, 5, 13]

SIMPLE = {
    paper.coord_gradient: lambda f, x, m, rng: paper.coord_gradient(f, x, 1e-3),
    paper.coord_gradient_forward: lambda f, x, m, rng: paper.coord_gradient_forward(f, x, 1e-3),
    paper.rand_gradient: lambda f, x, m, rng: paper.rand_gradient(f, x, 1e-3, rng, m),
    paper.rand_gradient_forward: lambda f, x, m, rng: paper.rand_gradient_forward(f, x, 1e-3, rng, m),
    paper.gauss_gradient: lambda f, x, m, rng: paper.gauss_gradient(f, x, 1e-3, rng, m),
    paper.gauss_gradient_central: lambda f, x, m, rng: paper.gauss_gradient_central(f, x, 1e-3, rng, m),
    paper.hessian_vector: lambda f, x, m, rng: paper.hessian_vector(f, x, 1e-3 * x, 1e-3),
    paper.product_values: lambda f, x, m, rng: paper.product_values(f, x, 1e-3 * x, 1e-3),
    noise.table: lambda f, x, m, rng: noise.table(f, x, np.ones(len(x)), 0.0, rng),
}


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("function", SIMPLE, ids=lambda function: function.__name__)
def test_derivatives(function, d, m):
    f, x = quadratic(d), np.ones(d)
    spent = cost(f, lambda: SIMPLE[function](f, x, m, np.random.default_rng(0)))
    assert spent == promised(function, 0, d=d, m=m)
    assert f.ledger.rounds == 1


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_batch_of_samples_multiplies(d):
    f = Oracle.of(lambda x, ids: x.sum(axis=-1) + ids.mean(), vectorized=True, samples=20)
    f_S = f.on(f.draw(7, np.random.default_rng(0)))
    spent = cost(f, lambda: paper.coord_gradient(f_S, np.ones(d), 1e-3))
    assert spent == 7 * promised(paper.coord_gradient, 0, d=d)


# Measuring around a point


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_direction_a_component_costs_what_a_shared_one_does(d):
    assert line(paper.rand_gradient_sampled) == "2 per sample"
    f = Oracle.of(lambda x, ids: x.sum(axis=-1) + ids.mean(), vectorized=True, samples=20)
    f_S, rng = f.on(f.draw(7, np.random.default_rng(0))), np.random.default_rng(1)
    for rounds, directions in enumerate(("own", "shared"), 1):
        spent = cost(f, lambda how=directions: paper.rand_gradient_sampled(f_S, np.ones(d), 1e-3, rng, how))
        assert (spent, f.ledger.rounds) == (2 * 7, rounds)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_spread_costs_what_the_gradient_does(d):
    f = Oracle.of(lambda x, ids: x.sum(axis=-1) + ids.mean(), vectorized=True, samples=20)
    batch, promise = f.draw(7, np.random.default_rng(0)), promised(paper.coord_gradient, 0, d=d)
    assert line(paper.coord_gradient_spread) == "2*d per sample"
    rng = np.random.default_rng(1)
    for many in (1, 3, 7, 8):
        spent = cost(f, lambda k=many: paper.coord_gradient_spread(f, np.ones(d), 1e-3, batch, rng, k))
        assert spent == 7 * promise


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("settings", "which"), [({}, 0), ({"noise": "auto"}, 0), ({"noise": 1e-9}, 1)])
def test_measure(d, settings, which):
    local = look(d, **settings)
    assert local.f.ledger.queries == promised(measure, which, d=d)


def test_measure_pays_for_each_coordinate_it_cuts():
    assert "3 more each time a coordinate is cut" in line(measure)
    d = 4
    f = Oracle.of(lambda x: (x * x).sum(axis=-1) + 1 - np.cos(1e4 * x[..., 0]), vectorized=True)
    local = measure(f, np.zeros(d), curvtol=0.1, gtol=1e-6, rng=np.random.default_rng(0))
    cuts = round(np.log(local.steps[1] / local.steps[0]) / np.log(4))
    assert cuts >= 1
    groups = 1  # of at most 8 coordinates, whose curvatures differ
    assert line(measure_._fit_to_scale).startswith("3 for each coordinate and cut")
    again = 3 * promised(CoordinateStencil.row, 0, d=d)  # f is 0 at x: how large its rounding is shows in the rows
    shorter = promised(estimates.gradient, 1, d=d)  # cos(1e4 x) needs them
    assert f.ledger.queries == promised(measure, 0, d=d) + (
        promised(measure_._fit_to_scale, 0) * cuts + 4 * groups + shorter + again
    )


def noisy(level: float) -> Oracle:
    rng = np.random.default_rng(0)
    return Oracle.of(lambda x: np.sum(x * x, axis=-1) + level * rng.standard_normal(len(x)), vectorized=True)


@pytest.mark.parametrize(
    ("given", "level", "many"), [(1e-6, 0.0, (0,)), (None, 0.0, (9,)), ("auto", 1e-6, (9,)), (None, 1e-6, (18, 27))]
)
def test_the_evidence_of_noise(given, level, many):
    f, x, rng = noisy(level), np.ones(3), np.random.default_rng(1)
    text = line(NoiseEvidence.gather)
    assert text == "0 if the noise is given; else 9, and 9 or 18 more where the table shows more than rounding"
    assert cost(f, lambda: NoiseEvidence.gather(f, x, np.ones(3), 3.0, rng, noise=given)) in many


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("function", [consistency.check_scales])
def test_looks_at_all_coordinates_at_once(d, function):
    local, rng = look(d), np.random.default_rng(0)

    def check(curvatures: np.ndarray) -> object:
        g = local.gradient
        return function(local.stencil, local.noise, local.curvtol, g, curvatures, rng, cut=False)

    assert cost(local.f, lambda: check(np.ones(d))) == promised(function, 0)
    assert "4 for every 8 coordinates if their curvatures differ" in line(function)
    unequal = np.append(np.ones(d - 1), 3.0)
    groups = -(-d // 8) if d > 1 else 0
    assert cost(local.f, lambda: check(unequal)) == promised(function, 0) + 4 * groups


@pytest.mark.parametrize("d", DIMENSIONS)
def test_looks_at_shorter_steps(d):
    local, rng = look(d), np.random.default_rng(0)
    along = promised(consistency.check_along, 0, m=2)
    assert promised(LocalModel.check_along, 0, m=2) == along
    assert cost(local.f, lambda: local.check_along(np.ones((d, 2)))) == along
    constant = consistency.locally_constant
    assert cost(local.f, lambda: constant(local.stencil, rng)) == promised(constant, 0)


# The stencil


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_rows_are_paid_once(d, symmetric):
    local = look(d)
    assert line(CoordinateStencil.row).endswith("none after")
    assert all(cost(local.f, lambda k=k: local.stencil.row(k)) == 0 for k in local.stencil.usual)
    fresh = CoordinateStencil(local.f, local.x, local.unit, local.f0, local.steps, symmetric=symmetric)
    usual = len(fresh.usual) * promised(CoordinateStencil.take_rows, 0, d=d)
    assert cost(fresh.f, lambda: fresh.take_rows(*fresh.usual)) == usual
    assert cost(fresh.f, lambda: fresh.take_rows(*fresh.usual)) == 0
    assert cost(fresh.f, lambda: fresh.row(4.0)) == promised(CoordinateStencil.row, 0, d=d)
    assert cost(fresh.f, lambda: fresh.row(4.0)) == 0
    rounds = fresh.f.ledger.rounds
    taken = cost(fresh.f, lambda: fresh.take_rows(1.0, 8.0, 16.0))
    assert taken == 2 * promised(CoordinateStencil.take_rows, 0, d=d)
    assert fresh.f.ledger.rounds == rounds + 1


@pytest.mark.parametrize("d", DIMENSIONS)
def test_nothing_is_taken_again_where_nothing_is_missing(d):
    local = look(d)
    fresh = CoordinateStencil(local.f, local.x, local.unit, local.f0, local.steps)
    assert cost(fresh.f, fresh.complete) == len(fresh.usual) * promised(CoordinateStencil.complete, 0, d=d)
    assert fresh.complete() is fresh
    assert cost(fresh.f, lambda: fresh.entries(4.0)) == promised(CoordinateStencil.entries, 0, d=d)
    owner = np.zeros(3, dtype=np.int64)
    taken = cost(fresh.f, lambda: fresh.retaken(np.ones((3, d)), owner, 1, "check"))
    assert taken == 3 * promised(CoordinateStencil.retaken, 0)


@pytest.mark.parametrize(("order", "place"), [(1, 0), (2, 1), (4, 2)])
def test_some_second_differences(order, place):
    local, some = look(4), estimates.some_second_differences
    rows = np.diag(local.steps)
    taken = cost(local.f, lambda: some(local.stencil, rows[[0, 1]], rows[[1, 1]], order, 1.0))
    assert taken == 2 * promised(some, place)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_no_pair_is_taken_twice(d):
    local = look(d)
    one = promised(CoordinateStencil.pairs, 0, d=d)
    assert cost(local.f, lambda: local.stencil.pairs(1.0)) == one
    assert cost(local.f, lambda: local.stencil.pairs(1.0, -1.0)) == one
    assert cost(local.f, lambda: local.dense_hessian(1)) == 0
    assert cost(local.f, lambda: local.dense_hessian(2)) == 0


@pytest.mark.parametrize("d", DIMENSIONS)
def test_cut_steps_are_paid_for_alone(d):
    local, which = look(d), np.arange(0, d, 2)
    rows = len(local.stencil.usual)
    cut = local.stencil.with_cut_steps
    assert cost(local.f, lambda: cut(which, 4.0)) == rows * promised(CoordinateStencil.with_cut_steps, 0, which=which)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("kind", [CoordinateStencil, LocalModel])
def test_values_at_other_points(d, kind):
    local = look(d)
    at = local if kind is LocalModel else local.stencil
    assert cost(local.f, lambda: at.values(np.ones((3, d)), "check")) == 3 * promised(kind.values, 0)
    assert cost(local.f, lambda: at.along(np.ones(d), (1.0, 2.0), "check")) == 2 * promised(kind.along, 0)


# Estimates


@pytest.mark.parametrize("d", DIMENSIONS)
def test_what_rows_give_is_free(d):
    local = look(d)
    for free in (estimates.diagonal, estimates.third_derivative):
        assert line(free) == "none beside the usual rows"
    assert cost(local.f, lambda: estimates.diagonal(local.stencil, local.noise)) == 0
    assert cost(local.f, lambda: estimates.third_derivative(local.stencil)) == 0
    assert cost(local.f, lambda: (local.gradient, local.gradient_norm, local.diagonal, local.third_derivative)) == 0
    assert promised(estimates.gradient, 0) == 0
    rule = GradientRule(0.1)
    assert cost(local.f, lambda: estimates.gradient(local.stencil, local.noise, rule)) == 0


def test_a_gradient_on_shorter_steps_pays_for_three_rows_each_time_and_once():
    d = 4
    f = Oracle.of(lambda x: np.sum(x**2, axis=1) + 20 * np.sum(x**3, axis=1), vectorized=True)
    local = measure(f, np.full(d, 1e-3), curvtol=0.01, rng=np.random.default_rng(0))
    assert line(LocalModel.sharpened) == "those of `estimates.gradient`"
    assert "three times at most" in line(estimates.gradient)
    rows = promised(estimates.gradient, 1, d=d)
    spent = cost(f, local.sharpened)
    assert spent in (rows, 2 * rows, 3 * rows)
    assert cost(f, local.sharpened) == 0


@pytest.mark.parametrize(("noise", "which"), [(None, 0), (1e-6, 1)])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_gradient_that_holds_on_shorter_steps(d, noise, which):
    local = look(d, noise=noise)
    holds = estimates._holds_closer
    assert len(expressions(holds)) == 2

    def ask(shift: float = 0.0) -> bool:
        g = replace(local.gradient, value=local.gradient.value + shift)
        return holds(local.stencil, local.noise, local.rule, g)

    assert cost(local.f, ask) == promised(holds, which, d=d)
    assert ask()
    assert not ask(1.0)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_along(d):
    local = look(d)
    for own, other in (
        (LocalModel.curvature_along, estimates.curvature_along),
        (LocalModel.third_derivative_along, estimates.third_derivative_along),
        (LocalModel.least_curvature_along, consistency.least_curvature_along),
    ):
        assert line(own) == line(other)
        assert cost(local.f, lambda own=own: own(local, unit(d))) == promised(own, 0)


def test_along_pays_two_for_each_cut():
    f = Oracle.of(lambda x: (x * x).sum(axis=-1) + 1 - np.cos(10000 * x.sum(axis=-1)), vectorized=True)
    local = measure(f, np.zeros(3), curvtol=0.1, rng=np.random.default_rng(0))
    spent = cost(f, lambda: local.curvature_along(unit(3)))
    assert spent > promised(LocalModel.curvature_along, 0)
    assert (spent - promised(LocalModel.curvature_along, 0)) % 2 == 0
    assert "2 more for each" in line(LocalModel.curvature_along)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("order", "which"), [(1, 0), (2, 1), (4, 2)])
def test_dense_hessian(d, order, which):
    local = look(d)
    local.stencil.take_rows(2.0, -2.0)
    assert len(expressions(estimates.dense_hessian)) == 3
    assert line(LocalModel.dense_hessian) == "those of `estimates.dense_hessian`"
    assert cost(local.f, lambda: local.dense_hessian(order)) == promised(estimates.dense_hessian, which, d=d)
    rows = 4 if order == 4 else 2  # at four times the steps, and at eight
    spent = cost(local.f, lambda: local.dense_hessian(order, 4.0))
    assert spent == promised(estimates.dense_hessian, which, d=d) + rows * promised(CoordinateStencil.row, 0, d=d)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("order", "which"), [(1, 0), (2, 1)])
def test_second_differences_of_a_pattern(d, order, which):
    local, chain = look(d), sparsity.Sparsity.of(np.eye(d, k=1), d)
    steps = local.steps * local.unit
    spent = cost(local.f, lambda: chain.pairs(local.f, local.x, steps))
    assert spent == promised(sparsity.Sparsity.pairs, 0, m=d - 1)
    assert len(expressions(sparsity.sparse_hessian)) == 2
    spent = cost(local.f, lambda: sparsity.sparse_hessian(local.stencil, chain, order))
    assert spent == promised(sparsity.sparse_hessian, which, m=d - 1)


# Products and their errors


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("order", "which"), [(1, 0), (2, 1), (4, 2)])
def test_products(d, order, which):
    local, q = look(d), unit(d)
    assert len(expressions(HessianProducts.__call__)) == len(expressions(products.mixed_product)) == 3
    local.stencil.take_rows(2.0, -2.0)
    multiply = HessianProducts(local, order=order)
    assert cost(local.f, lambda: multiply(q)) == promised(HessianProducts.__call__, which, d=d)
    assert cost(local.f, lambda: multiply.one_sided(q)) == promised(HessianProducts.one_sided, 0, d=d)
    spent = cost(local.f, lambda: products.mixed_product(local, q, order))
    assert spent == promised(products.mixed_product, which, d=d)
    assert cost(local.f, multiply.noise) == 0


@pytest.mark.parametrize("d", DIMENSIONS)
def test_one_sided_differences(d):
    local, q = look(d), unit(d)
    assert "d for each row not yet known" in line(Values.one_sided)
    for rows in (promised(CoordinateStencil.row, 0, d=d), 0):  # that at 2 is new
        spent = cost(local.f, lambda: Values().one_sided(local, q, 1e-3, (1.0, -1.0, 2.0)))
        assert spent == 3 * promised(Values.one_sided, 0, d=d) + rows


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("order", "which"), [(1, 0), (2, 0), (4, 1)])
def test_symmetric_products_and_far_ones(d, order, which):
    local, q = look(d), unit(d)
    multiply = HessianProducts(local, order=order)
    assert len(expressions(HessianProducts.symmetric)) == 2
    assert len(expressions(product_errors.against_far_steps)) == 3
    new = 2 * promised(CoordinateStencil.row, 0, d=d) if order == 4 else 0  # at twice the steps
    spent = cost(local.f, lambda: multiply.symmetric(q, 1.0))
    assert spent == promised(HessianProducts.symmetric, which, d=d) + new
    new = {1: 0, 2: 1, 4: 3}[order]  # the other far row, and two at twice that
    far = {1: 0, 2: 1, 4: 2}[order]
    assert "d for each row not yet known" in line(product_errors.against_far_steps)
    for rows in (new * promised(CoordinateStencil.row, 0, d=d), 0):
        spent = cost(local.f, lambda: product_errors.against_far_steps(multiply, q, q))
        assert spent == promised(product_errors.against_far_steps, far, d=d) + rows


@pytest.mark.parametrize(("d", "which"), [(5, 1), (40, 0)])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_components_and_looks_at_much_shorter_steps(d, order, which):
    local, q, rng = look(d), unit(d), np.random.default_rng(0)
    multiply = HessianProducts(local, order=order)
    image, ways, times = multiply(q).image, rng.standard_normal((3, d)), 2 if order == 4 else 1
    spent = cost(local.f, lambda: product_errors.components(multiply, q, image, ways, 0.5, 0.5))
    assert spent == promised(product_errors.components, 0, m=3) * times
    depends = product_errors.depends_on_scale
    assert len(expressions(depends)) == 2
    assert "twice that if the order is 4" in line(depends)
    assert cost(local.f, lambda: depends(multiply, q, image, 0.1, rng)) == promised(depends, which) * times
    assert not depends(multiply, q, image, 0.1, rng)
    assert depends(multiply, q, image + 0.1 * q, 0.1, rng)
    assert not depends(multiply, q, image + 0.1 * q, 0.1, rng, known=0.5)
    noisy = replace(multiply, local=replace(local, noise=Noise(1e-6, "given")))
    assert cost(local.f, lambda: depends(noisy, q, image, 0.1, rng)) == 0
    closer = product_errors.on_short_steps
    assert cost(local.f, lambda: closer(multiply, q, image, (0.1, 0.1), rng)) == promised(closer, which) * times
    assert promised(closer, which) == product_errors.price_of_look(d)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_an_error_along_random_directions(order):
    local, q, rng = look(40), unit(40), np.random.default_rng(0)
    multiply = HessianProducts(local, order=order)
    image, seen = multiply(q).image, product_errors._random_components
    spent = cost(local.f, lambda: seen(multiply, q, image, 0.5, 0.5, 0.1, rng))
    assert spent == promised(seen, int(order == 4))
    assert spent == promised(product_errors.components, 0, m=PRODUCTS.components) * (2 if order == 4 else 1)


@pytest.mark.parametrize("d", [5, 31, 32, 40])
@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("noise", [None, 1e-9, 1e-6])
def test_the_error_of_a_product(d, order, noise):
    local, q, rng = look(d, noise=noise), unit(d), np.random.default_rng(0)
    multiply, measured = HessianProducts(local, order=order), product_errors.measured
    image, times = multiply(q).image, 2 if order == 4 else 1
    product_errors.against_far_steps(multiply, q, image)  # all rows are known
    spent = cost(local.f, lambda: measured(multiply, q, image, delta=0.1, room=1e-3, failure=1e-3, rng=rng))
    assert line(measured) == (
        "32 to 64, twice that if the order is 4, and under noise those of `against_far_steps` where the error is in "
        "the way; or those of `against_far_steps` and `depends_on_scale`"
    )
    again = promised(product_errors.against_far_steps, {1: 0, 2: 1, 4: 2}[order], d=d)
    if product_errors.many_variables(d):
        assert 32 * times <= spent <= 64 * times + (again if noise else 0)
    else:
        assert spent - again in (0, promised(product_errors.depends_on_scale, 1) * times)


# Samples


def sampled(d: int, n: int = 512, spread: float = 0.01) -> Oracle:
    slopes = np.random.default_rng(0).standard_normal((n, d)) * spread

    def fun(x: np.ndarray, ids: np.ndarray) -> np.ndarray:
        return np.sum(x * x, axis=1) + x @ slopes[ids % n].mean(axis=0)

    return Oracle.of(fun, vectorized=True, samples=n)


@pytest.mark.parametrize("d", [2, 5])
def test_products_on_batches(d):
    f, rng, q = sampled(d), np.random.default_rng(0), unit(d)
    batch = Batch(np.arange(7))
    text = line(SampledModel.measure)
    assert text == "32, and (8*d + 6) * 32 once and for each time the steps are cut"
    model = SampledModel.measure(f, np.ones(d), delta=0.1, x_scale=None, rng=rng)
    assert f.ledger.queries == promised(SampledModel.measure, 0) + (8 * d + 6) * 32
    for function, call in (
        (SampledModel.product, lambda: model.product(batch, q)),
        (SampledModel.truncation, lambda: model.truncation(batch, q)),
        (SampledModel.hessian_spread, lambda: model.hessian_spread(0.1, rng)),
    ):
        assert cost(f, call) == promised(function, 0, d=d, batch=batch, failure=0.1), function
    assert line(SampledModel.along) == "3 per sample, and 192 to measure truncation"
    assert cost(f, lambda: model.along(q, 1e-3, rng)) == 3 * 64 + 192


@pytest.mark.parametrize(("n", "samples"), [(64, 64), (64, 10**9)])
def test_the_gradient_of_a_mean(n, samples):
    d, failure, gtol = 2, 0.01, 0.5
    whole, k = samples == n, pilot_size(failure)
    slopes = 0.01 * np.random.default_rng(0).standard_normal((n, d))

    def fun(x: np.ndarray, ids: np.ndarray) -> np.ndarray:
        return np.sum(x * x, axis=1) + x @ slopes[np.asarray(ids) % n].mean(axis=0)

    f, rng = Oracle.of(fun, vectorized=True, samples=samples), np.random.default_rng(0)
    text = line(sampled_gradient)
    assert text == "k + 2*d * (k + (m + 2) B) with k = pilot_size(failure), or k + 2*d * (k + 2 n)"
    unit, x = np.ones(d), np.ones(d)
    spent = cost(f, lambda: sampled_gradient(f, x, unit=unit, gtol=gtol, failure=failure, rng=rng))
    k = min(k, samples)
    m = int(np.ceil(np.log(1 / failure) / np.log(1 / 0.67))) | 1
    B = k  # the variance is small: batches are as large as the pilot
    assert spent == (k + 2 * d * (k + 2 * n) if whole else k + 2 * d * (k + (m + 2) * B))


@pytest.mark.parametrize("fun", [lambda x: np.sum(x * x, axis=1), lambda x: np.sum(np.abs(x), axis=1)])
def test_where_f_is_roughest(fun):
    f, rng = Oracle.of(fun, vectorized=True), np.random.default_rng(0)
    assert line(smoothness.roughest) == "27, and 9 for each of up to 9 magnifications"
    spent = cost(f, lambda: smoothness.roughest(f, np.full(3, 0.1), np.ones(3), 1.0, 1e-15, rng))
    more = spent - promised(smoothness.roughest, 0)
    assert more % 9 == 0
    assert 0 <= more <= 81


@pytest.mark.parametrize("directions", ["own", "shared"])
def test_random_directions_of_a_batch(directions):
    f = sampled(3)
    f_S = f.on(f.draw(7, np.random.default_rng(0)))
    assert line(paper.rand_gradient_sampled) == "2 per sample"
    rng = np.random.default_rng(1)
    assert cost(f, lambda: paper.rand_gradient_sampled(f_S, np.ones(3), 1e-3, rng, directions)) == 2 * 7


# Units and the ladder of lengths


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_ladder_of_lengths(d):
    f, x, rng, ones = quadratic(d), np.ones(d), np.random.default_rng(0), np.ones(d)
    known = Noise(1e-15, "rounding")

    def climb() -> object:
        return ladder.climb(f, x, ones, ones, f.observe(x), known, gtol=1e-4, curvtol=1e-2, rng=rng)

    assert cost(f, climb) == promised(ladder.climb, 0)


def test_a_look_for_jumps():
    f, tolerances = quadratic(2), {"gtol": 1e-6, "curvtol": 1e-3, "rng": np.random.default_rng(0)}
    spent = cost(f, lambda: jumps.across(f, *np.ones((3, 2)), Noise(1e-15, "rounding"), **tolerances))
    assert spent == promised(jumps.across, 0)


@pytest.mark.parametrize("d", [1, 5, 40])
def test_units_are_learnt_at_a_price(d):
    """That of an answer, of given lengths, of a start, and of a start at 0."""
    rng, m, x, f = np.random.default_rng(0), min(d, 32), np.ones(d), quadratic(d)
    assert line(units.learn).startswith("2*m + 1, m = 32 or d if that is less; 4 more at a start")
    least = promised(units.learn, 0, m=m)
    assert cost(f, lambda: units.learn(f, x, rng, answer=True)) == least
    assert cost(f, lambda: units.learn(f, x, rng, x_scale=x)) == least
    assert cost(f, lambda: units.learn(f, x, rng)) - least - 4 in range(0, 40, 2)
    assert cost(f, lambda: units.learn(f, 0 * x, rng)) <= least + 64


def test_parts_of_learning_units():
    rng, d, f = np.random.default_rng(0), 3, quadratic(3)
    around = units._Surroundings(f, np.ones(d), f.value(np.ones(d)), 1e-16, rng)
    assert cost(f, lambda: around._parabola(0.5, np.ones(d))) == promised(units._Surroundings._parabola, 0)
    steps = Oracle.of(lambda x: float(np.sum(np.round(np.abs(x)))))
    around_zero = units._Surroundings(steps, np.zeros(d), 0.0, 1e-16, rng)
    assert cost(steps, lambda: around_zero._in_steps(2.0, np.ones(d))) == promised(units._Surroundings._in_steps, 0)
    assert cost(f, lambda: around._curvatures(np.ones(d), np.arange(2))) == promised(around._curvatures, 0, m=2)
    assert cost(f, lambda: around.units(np.ones(d))) == promised(around.units, 0, m=d)
    assert cost(f, lambda: around.longer(np.ones(d))) - promised(around.longer, 0) in range(0, 40, 2)
    assert cost(f, lambda: around.curvature(np.ones(d))) == promised(around.curvature, 0, m=d)
    saddle = Oracle.of(lambda x: x[0] * x[1])
    around = units._Surroundings(saddle, np.zeros(2), 0.0, 1e-16, rng)
    along = promised(around._along_signs, 0)
    assert cost(saddle, lambda: around._along_signs(np.ones(2))) == along
    assert cost(saddle, lambda: around.units(np.ones(2))) == promised(around.units, 0, m=2) + along


@pytest.mark.parametrize("d", [2, 40])
def test_tolerances_where_f_curves_less_are_learnt_at_a_price(d):
    rng, local, m = np.random.default_rng(0), look(d), min(d, 32)
    seen = units.seen_curvature(local.diagonal)
    spent = {F: cost(local.f, lambda F=F: units.beside(Tolerances.relative(F), local, rng)) for F in (seen, 100 * seen)}
    assert spent == {seen: 0, 100 * seen: promised(units.beside, 0, m=m)}
    assert cost(local.f, lambda: units.beside(Tolerances.of(1e-4, None), local, rng)) == 0


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("sparse", [False, True])
def test_residuals(d, sparse):
    f = Oracle.of(lambda x: np.concatenate([x - 1, x**2]), loss=LINEAR)
    depends = np.concatenate([np.eye(d), np.eye(d)]) > 0
    pattern = Pattern(depends, group_columns(depends)) if sparse else Pattern.dense(d)
    m, one, x, known = len(pattern.groups), np.ones(d), np.full(d, 0.3), {}
    assert m == (1 if sparse else d)

    def look() -> LocalResiduals:
        rng = np.random.default_rng(0)
        settings = {"unit": one, "lengths": one, "loss": LINEAR, "pattern": pattern, "noise": None, "rng": rng}
        return residual_model.measure_residuals(f, x, **settings, **known)

    assert cost(f, look) == promised(residual_model.measure_residuals, 0, m=m)
    local = look()
    for choice, gtol in enumerate((1e300, 1e-300)):
        spent = cost(f, lambda gtol=gtol: residual_model.with_missed(local, one, gtol, np.random.default_rng(0)))
        assert spent == promised(residual_model.with_missed, choice)
    spent = cost(f, lambda: residual_model._missed(local, np.ones((3, d)), np.full(3, 1e-3)))
    assert spent == promised(residual_model._missed, 0, k=3)
    known["known"] = local.r
    assert cost(f, look) == promised(residual_model.measure_residuals, 1, m=m)
    spent = cost(f, lambda: residual_model._line(f.residuals(), x, one, one, local.r, np.random.default_rng(0)))
    assert spent == promised(residual_model._line, 0)
    spent = cost(f, lambda: residual_model._lengths_of_line(f.residuals(), x, one, one, np.array([0.1, 0.2])))
    assert spent == promised(residual_model._lengths_of_line, 0, m=2)
    spent = cost(f, lambda: residual_model._sides(f.residuals(), x, one, 0.1 * one, pattern))
    assert spent == promised(residual_model._sides, 0, m=m)
    assert cost(f, lambda: local.residuals(np.eye(4, d), "check")) == 4 * promised(LocalResiduals.residuals, 0)


# In a box


def boxed(d: int) -> feasible.Around:
    """A quadratic at a vertex of its box, or inside in some variables."""
    f = quadratic(d)
    f.within(Domain(np.where(np.arange(d) % 2, -1.0, 0.25), np.ones(d)))
    return feasible.Around(f, np.full(d, 0.25), 0.0, noise.Noise(1e-16, "rounding"))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_differences_in_a_box(d):
    around, which = boxed(d), np.arange(d)
    f, central = around.f, d // 2
    around = replace(around, f0=f.value(around.x))
    assert cost(f, lambda: feasible.lines(around, which, 0.1)) == promised(feasible.lines, 0, m=d)
    seen = feasible.lines(around, which, 0.1)
    promise = promised(feasible.hessian, 0, k=d) + central if d > 1 else 0
    assert cost(f, lambda: feasible.hessian(around, seen, 0.1)) == promise
    bounds = which[::2]
    assert cost(f, lambda: feasible.inward_slopes(around, bounds, 1e-4)) == promised(
        feasible.inward_slopes, 0, m=len(bounds)
    )
    rng = np.random.default_rng(0)
    spent = cost(f, lambda: feasible.misfit(around, which, np.zeros(d), None, (0.0, 0.0), (1e-4, 1e-2), rng))
    assert spent == promised(feasible.misfit, 0)
    rows = np.zeros((3, d))
    assert cost(f, lambda: around.displaced(rows, np.arange(3), 3, "check")) == 3


@pytest.mark.parametrize("m", [1, 3])
def test_whether_f_is_the_same_along_directions(m):
    f, rows = quadratic(4), np.eye(4)[:m]
    spent = cost(f, lambda: invariance.check(f, np.ones(4), lambda y: rows, 0.0, np.random.default_rng(0)))
    assert spent == promised(invariance.check, 0, m=m)


def test_a_gradient_is_checked_at_a_price():
    d, rng = 5, np.random.default_rng(0)
    f = quadratic(d)
    slope = 1.0 + np.arange(d) / d
    for right in (True, False):
        f = Oracle.of(f._engine.evaluate.fun, vectorized=True, jac=lambda x, right=right: 2 * slope * x + right)
        place = gradient_check._aside(f, np.zeros(d), np.ones(d), rng)
        two = promised(gradient_check._Place._difference, 0)
        assert cost(f, lambda place=place: place._difference(np.ones(d), 0.1)) == two
        low, high = (int(n) for n in line(gradient_check._Place.slope).split(" to "))
        way = rng.uniform(0.5, 1.0, d)
        assert cost(f, lambda place=place, way=way: place.slope(way)) == (low if right else high)
        if right:
            asked = cost(f, lambda f=f: gradient_check.check_gradient(f, np.zeros(d), np.ones(d), rng))
            assert asked == 2 + low == promised(gradient_check.check_gradient, 0) + low
            continue
        assert cost(f, lambda place=place: place._gradient_noise(np.ones(d))) == 0
        before = f.ledger.queries
        with pytest.raises(WrongGradient):
            gradient_check._accuse(place, np.ones(d))
        assert f.ledger.queries - before <= high * (np.log2(d) + 3)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("right", [True, False])
def test_the_check_of_a_jacobian(d, right):
    A = np.arange(1.0, 3 * d + 1).reshape(3, d)
    f = Oracle.of(lambda x: A @ x + 1.0, jac=lambda x: A * (1 if right else 2), loss=LINEAR)
    x, rng = np.ones(d), np.random.default_rng(d)
    r = f.residuals()(point(x))[0]
    low, high = (int(n) for n in line(gradient_check._Place.slope).split(" to "))

    def check():
        gradient_check.check_jacobian(f.residuals(), x, r, f.jacobian(x), np.ones(3), np.ones(d), rng)

    if right:
        assert cost(f, check) == promised(gradient_check.check_jacobian, 0) + 2 == low
        return
    before = f.ledger.queries
    with pytest.raises(WrongGradient, match="not the Jacobian"):
        check()
    assert f.ledger.queries - before <= 2 * high + high * (np.log2(d) + 3) + 2


def with_gradients(d: int) -> Oracle:
    scale = 1.0 + np.arange(d) / d
    return Oracle.of(
        lambda x: x * x @ scale + x.sum(axis=-1),
        vectorized=True,
        jac=lambda x: 2 * scale * x + 1,
        hessp=lambda x, v: 2 * scale * v,
    )


@pytest.mark.parametrize("d", [1, 2, 40])
def test_what_gradients_cost(d):
    def gradients(call: Callable) -> tuple[int, int]:
        before = f.ledger.gradients
        return cost(f, call), f.ledger.gradients - before

    f, x, rng = with_gradients(d), np.full(d, 0.25), np.random.default_rng(d)
    spent, asked = gradients(lambda: measure_by_gradients(f, x, curvtol=0.1, failure=1e-3, rng=rng))
    assert spent == promised(measure_by_gradients, 0)
    assert 10 <= asked <= 27
    local = measure_by_gradients(f, x, curvtol=0.1, failure=1e-3, rng=rng)
    products, slopes, v = GradientProducts(local), local.slopes, unit(d)
    told = {"own": slopes.level, "third": 1.0, "noise": local.noise, "rng": rng}
    assert gradients(lambda: missed_slope(local.stencil, slopes.g, count=5, failure=1e-3, **told)) == (12, 0)
    ways, nothing = rng.standard_normal((d, 5)), np.zeros(5)
    asked_of = {"slope": 1.0, "noise": local.noise, "wanted": 0.1}
    assert gradients(lambda: missed_curvature(local.stencil, ways, nothing, nothing, **asked_of)) == (12, 0)
    assert promised(missed_slope, 0, m=5) == promised(missed_curvature, 0, m=5) == 12
    start = (local.stencil, np.stack([v, v]), np.full(2, 1e-3), "check")
    assert gradients(lambda: against_values._ends(*start)) == (promised(against_values._ends, 0, m=2), 0)
    assert gradients(lambda: by_gradients._missed(slopes, 1.0, local.noise, 1e-3, 1e-3, rng)) == (8, 0)
    wrong = replace(slopes, g=slopes.g + 0.01)
    gtol = float(np.linalg.norm(wrong.g))
    assert gradients(lambda: by_gradients._missed(wrong, 1.0, local.noise, gtol, 1e-3, rng)) == (28, 0)
    assert line(by_gradients._missed).startswith("8, or 28")
    assert gradients(lambda: slopes.at(np.zeros((3, d)))) == (0, 3)
    assert gradients(lambda: slopes.product(v, 1e-4)) == (0, 2)
    assert gradients(lambda: products(v)) == gradients(lambda: products.on(v, 2.0)) == (0, 2)
    assert gradients(lambda: replace(products, own=True)(v)) == (0, 0)
    assert gradients(lambda: products.jump(v)) == (0, 4)
    assert gradients(lambda: products.error(v, products(v).image, 0.1)) == (0, 6)
    assert gradients(lambda: local.third_derivative_along(v)) == (0, 2)
    assert gradients(lambda: local.gradient_at(v)) == (0, 1)
    _, asked = gradients(lambda: by_gradients._with_noise(slopes, rng))
    assert asked == 5 or (d < 8 and asked <= 13)
    assert gradients(lambda: by_gradients._fitting_step(slopes, v, 1.0))[1] in (4, 8)
    assert gradients(lambda: by_gradients.hutchinson(f, x, np.ones(d), 0.1, 3, rng)) == (0, 4)
    around = units._Surroundings(f, x, 0.0, 1e-16, rng)
    assert gradients(lambda: around._by_gradients(np.ones(d), np.arange(d))) == (0, 4)
    for function in GRADIENTS - {measure_by_gradients}:
        assert line(function).startswith("none; ")


GRADIENTS = {
    measure_by_gradients,
    by_gradients._fitting_step,
    by_gradients._with_noise,
    by_gradients.hutchinson,
    by_gradients.Slopes.at,
    by_gradients.Slopes.product,
    by_gradients.GradientModel.third_derivative_along,
    by_gradients.GradientModel.gradient_at,
    GradientProducts.__call__,
    GradientProducts.on,
    GradientProducts.error,
    GradientProducts.jump,
    units._Surroundings._by_gradients,
}
"""Functions that ask for gradients."""

def on_mesh(pitch: float = 0.00137) -> Oracle:
    return Oracle.of(lambda x: float(np.sum((pitch * np.round(x / pitch) - 0.31) ** 2 * [1.0, 2.0, 3.0])))


def test_the_kinds_of_values():
    """What `look` asks for exact values, noise, digits and a mesh, and its parts."""
    x = np.array([1.1, -0.7, 0.4])
    rng = np.random.default_rng(1)
    exact = Oracle.of(lambda y: float(np.sum((y - 0.31) ** 2)))
    random = Oracle.of(lambda y: float(np.sum(y**2)) + 1e-3 * rng.standard_normal())
    digits = Oracle.of(lambda y: float(f"{np.sum(y**2):.3e}"))
    for f, many in ((exact, 6), (random, 12), (digits, 6 + 9)):
        f0 = f.value(x)
        assert cost(f, lambda f=f, f0=f0: values.look(f, x, f0, np.random.default_rng(0))) == many
    assert "6, and 6 more where noise shows" in line(values.look)
    assert "9 more" in line(values.look)
    ask, f0 = values._Values(exact, x, x), exact.value(x)
    assert cost(exact, lambda: values._in_a_row(ask, x, f0)) == 6
    assert cost(exact, lambda: ask.at(np.zeros((5, 3)))) == 5
    assert line(values._Values.at).startswith("1 for each")
    assert cost(exact, lambda: values._of_steps(ask, x, np.full(7, f0), f0)) == 9
    assert cost(exact, lambda: values.fresh(exact, x, 10)) == 2
    assert cost(random, lambda: values.fresh(random, x, 10)) == 10


def test_a_mesh():
    x, signs = np.array([1.1, -0.7, 0.4]), np.ones(3)
    f = on_mesh()
    f0 = f.value(x)
    around = mesh._Around(f, x, x, f0)
    assert cost(f, lambda: around.at(np.zeros((4, 3)))) == 4
    assert cost(f, lambda: around.along(0, np.ones(4))) == 4
    right, wrong = mesh.Mesh(np.full(3, 0.00137), np.zeros(3)), mesh.Mesh(np.full(3, 0.1), np.zeros(3))
    assert cost(f, lambda: around.fits(wrong, signs)) == 3
    assert cost(f, lambda: around.fits(right, signs)) == 9
    assert cost(f, lambda: around._between(0, 0.0, 0.00137, 0.00137 / 64)) in (2 + 6, 2 + 7)
    assert abs(cost(f, lambda: around.edge(1, 0.00137)) - 7) <= 2
    assert abs(cost(f, lambda: around._next(0, 0.0, 1e-6)) - 20) <= 5
    assert abs(cost(f, lambda: around.steps(0)) - 60) <= 20
    assert abs(cost(f, lambda: mesh.find_mesh(f, x, f0, signs)) - (18 + 9 + 60 + 7 * 3)) <= 25
    decimal = on_mesh(1e-2)
    assert cost(decimal, lambda: mesh.find_mesh(decimal, x, decimal.value(x), signs)) == 1 + 3 + 9
    for function in (mesh._Around.at, mesh._Around.along):
        assert line(function).startswith("1 for each")
    for function in (mesh._Around._next, mesh._Around.steps, mesh._Around.edge, mesh.find_mesh):
        assert "about" in line(function)


TESTED = {
    *SIMPLE,
    values.look,
    values.fresh,
    values._in_a_row,
    values._of_steps,
    values._Values.at,
    mesh.find_mesh,
    *(getattr(mesh._Around, name) for name in ("at", "along", "fits", "steps", "edge", "_next", "_between")),
    feasible.Around.displaced,
    feasible.lines,
    feasible.inward_slopes,
    feasible.hessian,
    feasible.misfit,
    invariance.check,
    *GRADIENTS,
    gradient_check.check_gradient,
    gradient_check.check_jacobian,
    gradient_check._accuse,
    gradient_check._Place.slope,
    gradient_check._Place._gradient_noise,
    gradient_check._Place._difference,
    paper.coord_gradient_spread,
    paper.rand_gradient_sampled,
    consistency.check_along,
    consistency.least_curvature_along,
    consistency.check_scales,
    consistency.locally_constant,
    estimates._holds_closer,
    estimates.curvature_along,
    estimates.dense_hessian,
    estimates.diagonal,
    estimates.gradient,
    estimates.third_derivative,
    estimates.third_derivative_along,
    measure,
    measure_._fit_to_scale,
    LocalModel.sharpened,
    LocalModel.curvature_along,
    LocalModel.third_derivative_along,
    LocalModel.least_curvature_along,
    LocalModel.check_along,
    LocalModel.dense_hessian,
    LocalModel.values,
    LocalModel.along,
    NoiseEvidence.gather.__func__,
    CoordinateStencil.row,
    CoordinateStencil.entries,
    CoordinateStencil.take_rows,
    CoordinateStencil.complete,
    CoordinateStencil.retaken,
    estimates.some_second_differences,
    CoordinateStencil.pairs,
    CoordinateStencil.with_cut_steps,
    CoordinateStencil.values,
    CoordinateStencil.along,
    Values.one_sided,
    HessianProducts.__call__,
    HessianProducts.one_sided,
    HessianProducts.symmetric,
    products.mixed_product,
    product_errors.against_far_steps,
    product_errors.components,
    product_errors.depends_on_scale,
    product_errors.on_short_steps,
    product_errors.measured,
    product_errors._random_components,
    SampledModel.measure.__func__,
    SampledModel.product,
    SampledModel.truncation,
    SampledModel.along,
    SampledModel.hessian_spread,
    sampling.sampled_gradient,
    groups.second_order,
    groups.first_order,
    groups.WholeRow.of.__func__,
    smoothness.roughest,
    sparsity.Sparsity.pairs,
    sparsity.sparse_hessian,
    paper.rand_gradient_sampled,
    ladder.climb,
    jumps.across,
    units.learn,
    units.beside,
    units._Surroundings.curvature,
    units._Surroundings.units,
    units._Surroundings.longer,
    units._Surroundings._parabola,
    units._Surroundings._in_steps,
    units._Surroundings._curvatures,
    units._Surroundings._along_signs,
    LocalResiduals.residuals,
    residual_model.measure_residuals,
    residual_model._line,
    residual_model._lengths_of_line,
    missed_slope,
    missed_curvature,
    against_values._ends,
    by_gradients._missed,
    residual_model._sides,
    residual_model.with_missed,
    residual_model._missed,
}


@pytest.mark.parametrize("d", DIMENSIONS)
def test_differences_of_groups(d):
    f, x, h = Oracle.of(lambda x, ids: x.sum(axis=-1) + ids.mean(), vectorized=True, samples=20), np.ones(d), np.ones(d)
    parts = [Batch(np.arange(k, k + 3)) for k in (0, 3)]
    spent = cost(f, lambda: groups.second_order(f, x, h, parts))
    assert spent == promised(groups.second_order, 0, d=d, b=6)
    spent = cost(f, lambda: groups.first_order(f, x, h, h, parts))
    assert spent == promised(groups.first_order, 0, d=d, b=6)
    assert cost(f, lambda: groups.WholeRow.of(f, x, h)) == promised(groups.WholeRow.of.__func__, 0, d=d, n=20)


def test_nothing_with_a_queries_line_is_left_out():
    """A new estimator must come with a test of its count."""
    stated = set()
    for module in MODULES:
        for thing in vars(module).values():
            if getattr(thing, "__module__", None) != module.__name__:
                continue
            members = [thing, *vars(thing).values()] if inspect.isclass(thing) else [thing]
            for member in members:
                function = getattr(member, "__func__", member)
                if inspect.isfunction(function) and "Queries:" in (function.__doc__ or ""):
                    stated.add(function)
    assert stated == TESTED
