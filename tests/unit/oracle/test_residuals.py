"""Residual vectors through the one door: counted as one query each, compared by their cost."""

import numpy as np
import pytest

from escapade import Oracle
from escapade.errors import BudgetExhausted, InvalidValue, MissingCapability, MissingValue, NonFiniteValue
from escapade.loss import LINEAR, LOSSES, Loss
from escapade.oracle import Failures, point, points

X = np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 0.25]])


def residuals(x):
    return np.array([x[0] - 1, x[1] ** 2, x[0] * x[1]])


def rows(X):
    return np.stack([X[:, 0] - 1, X[:, 1] ** 2, X[:, 0] * X[:, 1]], axis=1)


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("vectorized", [False, True])
def test_one_query_is_one_vector(vectorized, workers):
    f = Oracle.of(rows if vectorized else residuals, vectorized=vectorized, loss=LINEAR, workers=workers)
    seen = f.residuals()(points(X))
    f.close()
    np.testing.assert_array_equal(seen, rows(X))
    assert f.ledger.queries == 3


def test_both_views_count_together_and_keep_the_best_by_cost():
    f = Oracle.of(residuals, loss=LINEAR)
    costs = f(points(X))
    np.testing.assert_allclose(costs, np.sum(rows(X) ** 2, axis=1) / 2)
    f.residuals().tagged("check")(points(X))
    assert f.ledger.by_purpose == {"descent": 3, "check": 3}
    np.testing.assert_array_equal(f.best[0], X[2])
    np.testing.assert_array_equal(f.best_residuals, residuals(X[2]))


def test_the_budget_is_that_of_both_views():
    f = Oracle.of(residuals, loss=LINEAR, maxfev=4)
    f(points(X))
    with pytest.raises(BudgetExhausted):
        f.residuals()(points(X))
    assert f.ledger.queries == 3


def test_units():
    f = Oracle.of(residuals, loss=LINEAR).scaled(np.array([2.0, 0.5])).valued(4.0)
    y = np.array([0.5, 4.0])
    np.testing.assert_allclose(f.residuals()(point(y))[0], residuals(np.array([1.0, 2.0])) / 2)
    np.testing.assert_allclose(f.value(y), np.sum(residuals(np.array([1.0, 2.0])) ** 2) / 8)


@pytest.mark.parametrize(
    ("returned", "shown"),
    [(1.0, "1.0"), (np.zeros((2, 2)), "(2, 2)"), ([], "vector of residuals"), (["a"], "vector"), (None, "None")],
)
def test_what_is_no_vector_is_refused(returned, shown):
    with pytest.raises(InvalidValue, match="residuals") as error:
        Oracle.of(lambda x: returned, loss=LINEAR)(point(np.ones(2)))
    assert shown in str(error.value)


def test_the_number_of_residuals_is_fixed_by_the_first_point():
    f = Oracle.of(lambda x: np.ones(2 if x[0] == 0 else 3), loss=LINEAR)
    f(points(X[:1]))
    with pytest.raises(InvalidValue, match=r"3 residuals .* and 2 at the first"):
        f(points(X[1:]))


def test_a_vectorised_function_must_return_a_row_each():
    with pytest.raises(InvalidValue, match="vectorized=False"):
        Oracle.of(lambda X: np.ones((2, 5)), vectorized=True, loss=LINEAR)(points(X))


def test_not_finite_residuals_are_failures():
    def broken(x):
        return np.array([np.nan if x[0] > 1 else 1.0, x[1]])

    with pytest.raises(NonFiniteValue):
        Oracle.of(broken, loss=LINEAR)(points(X))
    with pytest.raises(NonFiniteValue):  # whose square overflows
        Oracle.of(lambda x: np.array([1e200, 0.0]), loss=LINEAR)(points(X))
    f = Oracle.of(broken, loss=LINEAR, failures=Failures(nan_policy="omit"))
    with pytest.raises(MissingValue) as lost:
        f.residuals()(points(X))
    np.testing.assert_array_equal(np.isnan(lost.value.values).all(axis=1), [False, True, False])
    assert f.ledger.queries == 2


@pytest.mark.parametrize("policy", ["penalise", "retry", lambda x, attempt, error: np.zeros(3)])
def test_policies(policy):
    calls = []

    def broken(x):
        calls.append(x)
        if x[0] > 1 and len(calls) < 4:
            raise RuntimeError("no")
        return residuals(x)

    f = Oracle.of(broken, loss=LINEAR, failures=Failures(policy))
    if policy == "penalise":
        with pytest.raises(MissingValue):
            f.residuals()(points(X))
        return
    seen = f.residuals()(points(X))
    np.testing.assert_array_equal(seen[[0, 2]], rows(X)[[0, 2]])
    np.testing.assert_array_equal(seen[1], np.zeros(3) if callable(policy) else rows(X)[1])


def test_a_function_of_numbers_has_no_residuals():
    with pytest.raises(MissingCapability, match="least_squares"):
        Oracle.of(lambda x: 1.0).residuals()


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_scipy(name):
    from scipy.optimize import least_squares

    r = np.array([0.3, -2.0, 5.0, 0.0])
    ours = Loss(name, 0.7)
    theirs = least_squares(lambda x: r + 0 * x, [0.0], loss=name, f_scale=0.7)
    np.testing.assert_allclose(ours.cost(r), theirs.cost, rtol=1e-14)


@pytest.mark.parametrize("name", LOSSES)
def test_weights_are_derivatives_of_the_cost(name):
    loss, r, h = Loss(name, 0.7), np.array([0.3, -2.0, 5.0]), 1e-5
    w, v = loss.weights(r)
    ways = h * np.eye(3)
    up, down = loss.cost(r + ways), loss.cost(r - ways)
    np.testing.assert_allclose((up - down) / (2 * h), w * r, rtol=1e-6)
    np.testing.assert_allclose((up + down - 2 * loss.cost(r)) / h**2, v, rtol=1e-3, atol=1e-4)
