"""Gradients and products of the user's own at the one door: forms, counts, failures, units, journals."""

import time

import numpy as np
import pytest

from escapade.errors import EvaluationFailed, InvalidSetting, MissingValue, NonFiniteValue
from escapade.oracle import Failures, Journal, Oracle, jac_of, points

X = np.array([1.0, 2.0, 3.0])


def square(x, *args):
    return float(x @ x)


def both(x):
    return float(x @ x), 2 * x


def slow(x):
    time.sleep(3)
    return 2 * x


@pytest.mark.parametrize("jac", [None, False, "2-point", "3-point", "cs"])
def test_what_means_from_values(jac):
    assert not Oracle.of(square, jac=jac).differentiable


def test_a_function_that_gives_both_is_asked_once_for_a_pair():
    calls = []
    f = Oracle.of(lambda x: calls.append(x.copy()) or both(x), jac=True)
    assert f.value(X) == 14.0
    np.testing.assert_array_equal(f.gradient(X), 2 * X)
    assert f.value(X) == 14.0
    assert (len(calls), f.ledger.calls, f.ledger.gradients, f.ledger.queries) == (1, 1, 1, 2)
    np.testing.assert_array_equal(f.gradient(X + 1), 2 * X + 2)
    assert f.value(X + 1) == 29.0
    assert (len(calls), f.ledger.calls) == (2, 2)
    np.testing.assert_array_equal(f(points(np.stack([X, 2 * X]))), [14.0, 56.0])
    assert (len(calls), f.ledger.calls) == (4, 4)


def test_a_function_that_does_not_give_both_is_told_so():
    with pytest.raises(EvaluationFailed, match=r"\(value, gradient\)"):
        Oracle.of(square, jac=True).value(X)
    with pytest.raises(InvalidSetting, match="vectorized"):
        Oracle.of(both, jac=True, vectorized=True)


def test_arguments_and_units_reach_the_gradient_and_the_product():
    A = np.diag([1.0, 10.0, 100.0])
    f = Oracle.of(
        lambda x, A: x @ A @ x / 2, args=(A,), jac=lambda x, A: A @ x, hessp=lambda x, v, A: A @ v
    )
    unit, v = np.array([1.0, 2.0, 4.0]), np.ones(3)
    y = f.scaled(unit).valued(2.0)
    np.testing.assert_array_equal(y.gradient(X / unit), unit * (A @ X) / 2)
    np.testing.assert_array_equal(y.product(X / unit, v), unit * (A @ unit) / 2)
    assert (f.ledger.gradients, f.ledger.products, f.ledger.queries) == (1, 1, 0)


def test_a_gradient_fails_as_a_value_does():
    def jac(x):
        if x[0] > 1.5:
            raise RuntimeError("no gradient here")
        return np.where(x[0] < 0, np.nan, 2 * x)

    f = Oracle.of(square, jac=jac)
    with pytest.raises(EvaluationFailed, match="jac raised RuntimeError: no gradient here"):
        f.gradient(X + 1)
    g = Oracle.of(square, jac=jac, failures=Failures("penalise", "omit"))
    with pytest.raises(NonFiniteValue):  # the first
        g.gradient(-X)
    np.testing.assert_array_equal(g.gradient(X), 2 * X)
    for lost in (-X, X + 1):
        with pytest.raises(MissingValue, match="no value could be had"):
            g.gradient(lost)
    assert g.ledger.gradients == 1


def test_a_gradient_is_tried_again():
    tries = []

    def jac(x):
        tries.append(0)
        if len(tries) < 3:
            raise RuntimeError
        return 2 * x

    f = Oracle.of(square, jac=jac, failures=Failures("retry"))
    np.testing.assert_array_equal(f.gradient(X), 2 * X)
    assert (len(tries), f.ledger.gradients) == (3, 1)


@pytest.mark.slow
def test_a_gradient_that_takes_too_long_is_ended():
    """Run with `pytest -m slow tests/unit/oracle/test_gradients.py`."""
    f = Oracle.of(square, jac=slow, timeout=0.5)
    try:
        with pytest.raises(EvaluationFailed, match="took longer than timeout"):
            f.gradient(X)
    finally:
        f.close()


def test_gradients_are_replayed_from_a_journal(tmp_path):
    def run(jac):
        record, _ = Journal(tmp_path / "run.db").open({"d": 3}, {"maxfev": None}, X, np.random.default_rng(0))
        f = Oracle.of(square, jac=jac, hessp=lambda x, v: jac(v))
        f.keep(record)
        try:
            value, rows = f.value(X), f.gradients(points(np.stack([X, -X])))
            return value, rows, f.product(X, X), f.ledger.gradients, f.best[1], (record.replayed, record.recorded)
        finally:
            f.close()

    first = run(lambda x: 2 * x)
    second = run(lambda x: 1 / 0)  # not asked
    assert first[:1] + first[3:5] == second[:1] + second[3:5] == (14.0, 2, 14.0)
    np.testing.assert_array_equal(first[1], second[1])
    np.testing.assert_array_equal(first[2], second[2])
    assert (first[-1], second[-1]) == ((0, 3), (3, 0))


def test_the_old_name_still_works_and_is_deprecated():
    with pytest.warns(DeprecationWarning, match="jac="):
        old = jac_of(None, lambda x, ids=None: (x, ids), (3.0, 4.0))
    assert old(1.0, 3.0, 4.0) == (1.0, None)
    assert old(1.0, 2.0, 3.0, 4.0) == (1.0, 2.0)
    with pytest.warns(DeprecationWarning, match="jac="), pytest.raises(InvalidSetting, match="pass jac alone"):
        jac_of(square, square)
