"""What comes back when the function misbehaves: a typed error, the point, the best point so far."""

from decimal import Decimal
from fractions import Fraction

import array_api_strict
import numpy as np
import pytest

from escapade.errors import EvaluationFailed, InvalidValue, NonFiniteValue, OracleError
from escapade.oracle import Oracle, axes, oracle, points

X = np.array([3.0, 2.0, 1.0])
H = np.full(3, 0.5)


class Ragged:
    def __array__(self, *args, **kwargs):
        raise ValueError("no")


def bad_on_row(value, row=1):
    """Fine but on one row of axes(X, H), after writing to the input."""

    def fun(x):
        hit = x[row] == X[row] + 0.5
        x[...] = -7.0
        return value if hit else 1.0

    return fun


BAD = [
    (np.nan, NonFiniteValue),
    (np.inf, NonFiniteValue),
    (-np.inf, NonFiniteValue),
    (Decimal("nan"), NonFiniteValue),
    (None, InvalidValue),
    ("1.0", InvalidValue),
    (b"1", InvalidValue),
    (1j, InvalidValue),
    (np.complex128(1), InvalidValue),
    ([1.0], InvalidValue),
    ([1.0, [2.0]], InvalidValue),
    ((), InvalidValue),
    ({}, InvalidValue),
    (np.zeros(1), InvalidValue),
    (np.zeros((1, 1)), InvalidValue),
    (np.zeros(3), InvalidValue),
    (array_api_strict.asarray([1.0]), InvalidValue),
    (10**400, InvalidValue),
    (np.datetime64("2020-01-01"), InvalidValue),
    (object(), InvalidValue),
    (Ragged(), InvalidValue),
]


@pytest.mark.parametrize(
    ("value", "error"), BAD, ids=[f"{type(value).__name__}-{i}" for i, (value, _) in enumerate(BAD)]
)
def test_the_error_has_its_class_its_point_and_the_best_point(value, error):
    f = Oracle.of(bad_on_row(value))
    f.value(X)
    with pytest.raises(error, match=r"at x = \[3\. +2\.5 +1\.") as caught:
        f(axes(X, H))
    assert type(caught.value) is error
    assert isinstance(caught.value, OracleError)
    np.testing.assert_array_equal(caught.value.x, [3.0, 2.5, 1.0], "as asked, not as the function left it")
    np.testing.assert_array_equal(caught.value.best_x, X)
    assert caught.value.best_fun == 1.0
    assert f.ledger.queries == 1


REAL = [1, True, np.float32(1), np.int8(1), np.longdouble(1), np.array(1.0), Fraction(1), Decimal(1)]


@pytest.mark.parametrize("value", [*REAL, array_api_strict.asarray(1.0)], ids=repr)
def test_everything_that_is_one_real_number_is_taken(value):
    values = Oracle.of(lambda x: value if x[0] > 3 else 2.0)(axes(X, H))
    np.testing.assert_array_equal(values, [1.0, 2.0, 2.0])


@pytest.mark.parametrize("vectorized", [False, True])
def test_exceptions_are_the_cause(vectorized):
    def fun(x):
        x[...] = 0
        raise KeyError("lost")

    f = Oracle.of(fun, vectorized=vectorized)
    with pytest.raises(EvaluationFailed, match="KeyError: 'lost'") as caught:
        f(axes(X, H))
    assert type(caught.value) is EvaluationFailed
    assert isinstance(caught.value.__cause__, KeyError)
    np.testing.assert_array_equal(caught.value.x, [3.5, 2.0, 1.0])
    assert caught.value.best_x is None
    assert caught.value.best_fun is None


def test_an_interruption_passes():
    def fun(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Oracle.of(fun).value(X)


VECTORS = [
    lambda X: np.float64(1.0),
    lambda X: 1.0,
    lambda X: None,
    lambda X: "abc",
    lambda X: [1.0],
    lambda X: [1.0] * 4,
    lambda X: (1.0, 2.0),
    lambda X: np.zeros((3, 1)),
    lambda X: np.zeros((3, 3)),
    lambda X: np.zeros(2),
    lambda X: np.zeros(4),
    lambda X: np.zeros(3, dtype=complex),
    lambda X: np.array(["1", "2", "3"]),
    lambda X: np.array([1.0, None, 3.0]),
    lambda X: [1.0, [2.0], 3.0],
    lambda X: {1, 2, 3},
    lambda X: array_api_strict.zeros((3, 1)),
    lambda X: array_api_strict.zeros(3, dtype=array_api_strict.complex128),
]


@pytest.mark.parametrize("fun", VECTORS, ids=range(len(VECTORS)))
def test_a_vectorized_function_returns_one_real_value_a_row(fun):
    f = Oracle.of(fun, vectorized=True)
    with pytest.raises(InvalidValue, match="must return"):
        f(axes(X, H))
    assert f.ledger.queries == 0


@pytest.mark.parametrize("make", [list, tuple, np.array, np.float32, np.int8, array_api_strict.asarray])
def test_any_vector_of_reals_is_taken(make):
    values = Oracle.of(lambda X: make([1, 2, 3]), vectorized=True)(axes(X, H))
    np.testing.assert_array_equal(values, [1.0, 2.0, 3.0])


def test_a_buffer_that_the_function_uses_again_is_copied(monkeypatch):
    monkeypatch.setattr(oracle, "BLOCK_BYTES", 24)
    buffer = np.zeros(1)

    def fun(X):
        buffer[:] = X[:, 0]
        return buffer

    np.testing.assert_array_equal(Oracle.of(fun, vectorized=True)(axes(X, H)), [3.5, 3.0, 3.0])


def test_the_point_is_named_in_a_later_block_too(monkeypatch):
    monkeypatch.setattr(oracle, "BLOCK_BYTES", 24)
    f = Oracle.of(lambda X: np.where(X[:, 2] > 1, np.nan, X[:, 0]), vectorized=True)
    with pytest.raises(NonFiniteValue, match="nan") as caught:
        f(axes(X, -H) + axes(X, H))
    np.testing.assert_array_equal(caught.value.x, [3.0, 2.0, 1.5])
    np.testing.assert_array_equal(caught.value.best_x, [2.5, 2.0, 1.0])


def test_a_buffer_is_copied_though_the_function_returned_a_float_first():
    buffer = np.zeros(())

    def fun(x):
        buffer[()] = x[0]
        return float(x[0]) if x[0] == 0 else buffer

    assert Oracle.of(fun)(points(np.array([[0.0], [1.0], [2.0]]))).tolist() == [0.0, 1.0, 2.0]


def test_stop_iteration_is_an_error_like_any_other():
    def fun(x):
        if x[0] == 1:
            raise StopIteration
        return float(x[0])

    with pytest.raises(EvaluationFailed, match="StopIteration"):
        Oracle.of(fun)(points(np.array([[0.0], [1.0], [2.0]])))
