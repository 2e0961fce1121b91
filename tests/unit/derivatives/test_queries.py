"""The `Queries` line of every docstring against the oracle's count."""

import inspect
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from escapade import Oracle
from escapade.derivatives import consistency, estimates, measure, noise, paper, products, stencil, steps
from escapade.derivatives.measure import Neighbourhood
from escapade.derivatives.noise import Noise
from escapade.derivatives.products import Products
from escapade.derivatives.stencil import Rows

MODULES = (consistency, estimates, measure, noise, paper, products, stencil, steps)
NAMES = {"d", "m"}


def line(function: Callable) -> str:
    found = re.search(r"^ *Queries: (.+)$", inspect.getdoc(function) or "", re.MULTILINE)
    assert found, f"{function.__qualname__} has no Queries line"
    return found[1]


def expressions(function: Callable) -> list[str]:
    """What stands before the first word: one expression, or alternatives between commas and "or"."""
    head = re.split(r", and | for | the | if |;", line(function))[0]
    parts = re.split(r", or |, | or ", head)
    for part in parts:
        words = set(re.findall(r"[A-Za-z_]\w*", part))
        assert words <= NAMES, f"{function.__qualname__}: cannot read {part!r}"
    return parts


def promised(function: Callable, which: int, **sizes: int) -> int:
    return eval(expressions(function)[which], {}, sizes)


def quadratic(d: int) -> Oracle:
    scale = 1.0 + np.arange(d) / d
    return Oracle.of(lambda x: x * x @ scale + x.sum(axis=-1), vectorized=True)


def look(d: int, **settings) -> Neighbourhood:
    """A neighbourhood of a quadratic, where no step is cut."""
    rng = np.random.default_rng(d)
    return Neighbourhood.measure(quadratic(d), np.full(d, 0.25), curvtol=0.1, rng=rng, **settings)


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
    for groups in (1, 3, 7, 8):
        spent = cost(f, lambda k=groups: paper.coord_gradient_spread(f, np.ones(d), 1e-3, batch, rng, k))
        assert spent == 7 * promise


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("settings", "which"), [({}, 0), ({"noise": "auto"}, 0), ({"noise": 1e-9}, 1)])
def test_measure(d, settings, which):
    here = look(d, **settings)
    assert here.f.ledger.queries == promised(Neighbourhood.measure, which, d=d)


def test_measure_pays_for_each_coordinate_it_cuts():
    assert "3 more each time a coordinate is cut" in line(Neighbourhood.measure)
    d = 4
    f = Oracle.of(lambda x: (x * x).sum(axis=-1) + 1 - np.cos(1e4 * x[..., 0]), vectorized=True)
    here = Neighbourhood.measure(f, np.zeros(d), curvtol=0.1, gtol=1e-6, rng=np.random.default_rng(0))
    cuts = round(np.log(here.steps[1] / here.steps[0]) / np.log(4))
    assert cuts >= 1
    groups = 1  # of at most 8 coordinates, whose curvatures differ
    again = 3 * promised(Neighbourhood.row, 0, d=d)  # f is 0 at x: how large its rounding is shows in the rows
    shorter = promised(Neighbourhood.gradient, 1, d=d)  # cos(1e4 x) needs them
    assert f.ledger.queries == promised(Neighbourhood.measure, 0, d=d) + 3 * cuts + 4 * groups + shorter + again


@pytest.mark.parametrize("d", DIMENSIONS)
def test_rows_are_paid_once(d):
    here = look(d)
    assert line(Neighbourhood.row).endswith("none after")
    assert all(cost(here.f, lambda k=k: here.row(k)) == 0 for k in (1.0, -1.0, -here.far))
    assert cost(here.f, lambda: here.row(4.0)) == promised(Neighbourhood.row, 0, d=d)
    assert cost(here.f, lambda: here.row(4.0)) == 0
    rounds = here.f.ledger.rounds
    taken = cost(here.f, lambda: here.take_rows(1.0, 8.0, 16.0))
    assert taken == 2 * promised(Neighbourhood.take_rows, 0, d=d)
    assert here.f.ledger.rounds == rounds + 1
    for both in (False, True):
        fresh = Rows(here.f, here.x, here.unit, 0.1, here.f0, here.noise, here.steps, both=both)
        assert cost(fresh.f, fresh.take_usual_rows) == promised(Rows.take_usual_rows, int(both), d=d)
        assert cost(fresh.f, fresh.take_usual_rows) == 0


@pytest.mark.parametrize("d", DIMENSIONS)
def test_looks_at_other_steps(d):
    here = look(d)
    assert cost(here.f, lambda: here.steady(np.ones(d))) == promised(Neighbourhood.steady, 0, d=d)
    assert cost(here.f, lambda: Products(here, np.ones(d)).steady(np.ones((d, 2)))) == promised(Products.steady, 0, m=2)
    assert cost(here.f, lambda: here._still(np.random.default_rng(0))) == promised(Neighbourhood._still, 0, d=d)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_what_rows_give_is_free(d):
    here = look(d)
    for free in (here.gradient, here.diagonal, here.second_differences, here.third_derivative):
        assert cost(here.f, free) == 0


@pytest.mark.parametrize("d", DIMENSIONS)
def test_along(d):
    here = look(d)
    assert cost(here.f, lambda: here.along(unit(d))) == promised(Neighbourhood.along, 0)
    assert cost(here.f, lambda: here.third_along(unit(d))) == promised(Neighbourhood.third_along, 0)


def test_along_pays_two_for_each_cut():
    f = Oracle.of(lambda x: (x * x).sum(axis=-1) + 1 - np.cos(3000 * x.sum(axis=-1)), vectorized=True)
    here = Neighbourhood.measure(f, np.zeros(3), curvtol=0.1, rng=np.random.default_rng(0))
    spent = cost(f, lambda: here.along(unit(3)))
    assert spent > promised(Neighbourhood.along, 0)
    assert (spent - promised(Neighbourhood.along, 0)) % 2 == 0
    assert "2 more for each" in line(Neighbourhood.along)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("order", "which"), [(1, 0), (2, 1), (4, 2)])
def test_products(d, order, which):
    here, q = look(d), unit(d)
    assert len(expressions(Products.__call__)) == len(expressions(products.mixed_product)) == 3
    here.take_rows(2.0, -2.0)
    multiply = Products(here, np.ones(d), order)
    assert cost(here.f, lambda: multiply(q)) == promised(Products.__call__, which, d=d)
    assert cost(here.f, lambda: multiply.one_sided(q)) == promised(Products.one_sided, 0, d=d)
    spent = cost(here.f, lambda: products.mixed_product(here, q, order))
    assert spent == promised(products.mixed_product, which, d=d)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("order", "which"), [(1, 0), (2, 0), (4, 1)])
def test_even_and_truncation(d, order, which):
    here, q = look(d), unit(d)
    products = Products(here, np.ones(d), order)
    assert len(expressions(Products.even)) == len(expressions(Products.truncation)) == 2
    new = 2 * promised(Neighbourhood.row, 0, d=d) if order == 4 else 0  # at twice the steps
    assert cost(here.f, lambda: products.even(q, 1.0)) == promised(Products.even, which, d=d) + new
    new = 3 if order == 4 else 1  # the other far row, and two at twice that
    assert "d for each row not yet known" in line(Products.truncation)
    for row in (new * promised(Neighbourhood.row, 0, d=d), 0):
        spent = cost(here.f, lambda: products.truncation(q, q))
        assert spent == promised(Products.truncation, which, d=d) + row
    assert cost(here.f, products.noise) == 0


@pytest.mark.parametrize(("noise", "which"), [(None, 0), (1e-6, 1)])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_gradient_that_holds_on_shorter_steps(d, noise, which):
    here = look(d, noise=noise)
    g, error = here.gradient()
    assert len(expressions(Neighbourhood._holds)) == 2
    assert cost(here.f, lambda: here._holds(g, error)) == promised(Neighbourhood._holds, which, d=d)
    assert here._holds(g, error)
    assert not here._holds(g + 1.0, error)


@pytest.mark.parametrize(("d", "which"), [(5, 1), (40, 0)])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_missed_and_hides(d, order, which):
    here, q, rng = look(d), unit(d), np.random.default_rng(0)
    products = Products(here, np.ones(d), order)
    product, ways, times = products(q), rng.standard_normal((3, d)), 2 if order == 4 else 1
    spent = cost(here.f, lambda: products.missed(q, product, ways, 0.5, 0.5))
    assert spent == promised(Products.missed, 0, m=3) * times
    assert len(expressions(Products.hides)) == 2
    assert cost(here.f, lambda: products.hides(q, product, 0.1, rng)) == promised(Products.hides, which) * times
    assert not products.hides(q, product, 0.1, rng)
    assert products.hides(q, product + 0.1 * q, 0.1, rng)
    assert not products.hides(q, product + 0.1 * q, 0.1, rng, known=0.5)
    noisy = replace(products, here=replace(here, noise=Noise(1e-6, "given")))
    assert cost(here.f, lambda: noisy.hides(q, product, 0.1, rng)) == 0


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("order", "which"), [(1, 0), (2, 1), (4, 2)])
def test_dense_hessian(d, order, which):
    here = look(d)
    here.take_rows(2.0, -2.0)
    assert len(expressions(estimates.dense_hessian)) == 3
    assert cost(here.f, lambda: estimates.dense_hessian(here, order)) == promised(estimates.dense_hessian, which, d=d)
    rows = 4 if order == 4 else 2  # at four times the steps, and at eight
    spent = cost(here.f, lambda: estimates.dense_hessian(here, order, 4.0))
    assert spent == promised(estimates.dense_hessian, which, d=d) + rows * promised(Neighbourhood.row, 0, d=d)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_no_pair_is_taken_twice(d):
    here = look(d)
    one = promised(Neighbourhood.pairs, 0, d=d)
    assert cost(here.f, lambda: here.pairs(1.0)) == one
    assert cost(here.f, lambda: here.pairs(1.0, -1.0)) == one
    assert cost(here.f, lambda: estimates.dense_hessian(here, 1)) == 0
    assert cost(here.f, lambda: estimates.dense_hessian(here, 2)) == 0


def test_gradient_and_the_check_of_the_steps():
    here = look(5)
    assert cost(here.f, here.gradient) == 0
    assert cost(here.f, lambda: here._consistent(np.random.default_rng(0))) == promised(Neighbourhood._consistent, 0)


TESTED = {
    Neighbourhood.gradient,
    Neighbourhood._holds,
    Neighbourhood._consistent,
    *SIMPLE,
    paper.coord_gradient_spread,
    paper.rand_gradient_sampled,
    Neighbourhood.measure.__func__,
    Neighbourhood.row,
    Neighbourhood.take_rows,
    Neighbourhood.take_usual_rows,
    Neighbourhood.pairs,
    Neighbourhood.along,
    Neighbourhood.third_along,
    Neighbourhood.steady,
    Neighbourhood._still,
    Products.__call__,
    Products.one_sided,
    Products.even,
    Products.truncation,
    Products.steady,
    Products.missed,
    Products.hides,
    products.mixed_product,
    estimates.dense_hessian,
}


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
