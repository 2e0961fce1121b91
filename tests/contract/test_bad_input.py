"""Bad input: the exact error, the offending value, and a word of remedy."""

from fractions import Fraction

import array_api_strict
import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

from escapade import Oracle, certify, minimize, multistart, stopping
from escapade.errors import (
    EscapadeError,
    EvaluationFailed,
    InvalidSetting,
    InvalidValue,
    NonFiniteValue,
)
from escapade.methods import PRESETS
from escapade.oracle import point
from escapade.stopping import Stop

NAN, INF = float("nan"), float("inf")
X = [0.5, -0.5, 0.25]


def sphere(x):
    return float(np.sum(x**2))


# In every table: the bad value, what the message must show of it, a word of its remedy.
POINTS = [
    ([], "(0,)", "non-empty"),
    (np.zeros((0, 3)), "(0, 3)", "non-empty"),
    ([1.0, NAN], "x[1] = nan", "finite"),
    ([INF, 1.0], "x[0] = inf", "finite"),
    (np.array([0, -INF], dtype=np.float32), "x[1] = -inf", "finite"),
    ([1j, 0], "1j", "two real"),
    (np.array([1 + 2j]), "1+2j", "two real"),
    (array_api_strict.asarray([1j]), "complex128", "two real"),
    ("abc", "abc", "real numbers"),
    (["1.0", "2.0"], "'1.0'", "real numbers"),
    (None, "None", "real numbers"),
    ([1.0, None], "None", "real numbers"),
    ([Fraction(1, 2)], "Fraction(1, 2)", "convert"),
    (object(), "object", "real numbers"),
    ({"a": "b"}, "'b'", "real numbers"),
    ({"a": [1.0, NAN]}, "['a'][1] = nan", "finite"),
    (np.array([[1.0, INF]]), "x[0, 1] = inf", "finite"),
    ([1.0, [2.0, 3.0]], "inhomogeneous", "vector"),
    (np.array(["2020-01-01"], dtype="datetime64[D]"), "datetime64", "real numbers"),
]

SETTINGS = [
    *[("gtol", v, f"gtol={v!r}", "positive") for v in (-1e-4, 0, 0.0, NAN, INF, -INF, "a", True, 1j)],
    *[("curvtol", v, f"curvtol={v!r}", "positive") for v in (-0.1, 0, NAN, INF, "0.1", False, (1,))],
    *[("failure", v, f"failure={v!r}", "(0, 1)") for v in (0, 1, -1, 2, 1.0, "p", NAN, INF, True, None)],
    *[("noise", v, f"noise={v!r}", "standard deviation") for v in (-1.0, "loud", NAN, INF, True, [1.0], 1j)],
    *[("rho", v, f"rho={v!r}", "positive") for v in (-1.0, 0, NAN, INF, "1", True)],
    *[("maxfev", v, f"maxfev={v!r}", "non-negative integer") for v in (-1, 10.0, 1.5, "10", True, NAN, [10])],
    *[("samples", v, f"samples={v!r}", "positive integer") for v in (0, -1, 1.5, "streams", True, [3])],
    *[("finder", v, f"finder={v!r}", "one of") for v in ("lanzcos", "", 3, None, ["dense"])],
    ("x_scale", 0, "x_scale[0] = 0.0", "positive"),
    ("x_scale", -1.0, "x_scale[0] = -1.0", "positive"),
    ("x_scale", [1.0, NAN, 1.0], "x_scale[1] = nan", "finite"),
    ("x_scale", [1.0, 1.0, INF], "x_scale[2] = inf", "finite"),
    ("x_scale", [1.0, 2.0], "[1.0, 2.0]", "each of the 3 variables"),
    ("x_scale", np.ones((3, 3)), "array([[1., 1., 1.]", "each of the 3 variables"),
    ("x_scale", "wide", "'wide'", "positive number"),
    ("x_scale", {}, "{}", "positive number"),
    ("bounds", [(0, 1)] * 2, "[(0, 1), (0, 1)]", "each of the 3 variables"),
    ("bounds", (), "bounds=()", "each of the 3 variables"),
    ("bounds", "wide", "'wide'", "scipy.optimize.Bounds"),
    ("bounds", [(0, 1), (2, 1), (0, 1)], "lower[1] = 2.0", "upper[1] = 1.0"),
    ("bounds", [(0, 1), (NAN, 1), (0, 1)], "lower[1] = nan", "None where there is no bound"),
    ("bounds", [(0, 1), (0, -INF), (0, 1)], "upper[1] = -inf", "None where there is no bound"),
    ("invariances", [[1.0, 0.0]], "invariances", "3 numbers"),
    ("invariances", lambda x: [x[:2]], "invariances", "3 numbers"),
    ("constraints", LinearConstraint(np.eye(3), 0, 1), "constraints", "LinearConstraint(A, b, b)"),
    ("constraints", LinearConstraint(np.ones((1, 2)), 0, 0), "(1, 2)", "each of 3 variables"),
    ("constraints", LinearConstraint(np.eye(3), X, X), "constraints", "evaluate f there"),
    ("constraints", LinearConstraint(np.ones((1, 3)), 1, 1), "misses equality 0 by 0.75", "projection"),
    ("constraints", {"type": "eq", "fun": sphere}, "constraints", "penalty"),
    ("constraints", [{"type": "ineq", "fun": sphere}], "constraints", "penalty"),
    *[("fun", v, f"fun={v!r}", "callable") for v in (None, 3.0, "f")],
    *[("jac", v, f"jac={v!r}", "callable") for v in (3.0, "grad", [True])],
    *[("hessp", v, f"hessp={v!r}", "callable") for v in (3.0, "hess", True)],
    ("hessp", np.dot, "hessp", "pass jac too"),
]

FUNCTIONS = [
    (lambda x: None, InvalidValue, "None", "return float"),
    (lambda x: "3.0", InvalidValue, "'3.0'", "return float"),
    (lambda x: [1.0], InvalidValue, "[1.0]", "return float"),
    (lambda x: [1.0, [2.0]], InvalidValue, "[1.0, [2.0]]", "return float"),
    (lambda x: (1.0, 2.0), InvalidValue, "(1.0, 2.0)", "return float"),
    (lambda x: {}, InvalidValue, "{}", "return float"),
    (lambda x: x, InvalidValue, "shape (3,)", "vectorized=True"),
    (lambda x: x[:1], InvalidValue, "shape (1,)", "vectorized=True"),
    (lambda x: x[None, :1], InvalidValue, "shape (1, 1)", "vectorized=True"),
    (lambda x: np.outer(x, x), InvalidValue, "shape (3, 3)", "vectorized=True"),
    (lambda x: np.zeros(0), InvalidValue, "shape (0,)", "vectorized=True"),
    (lambda x: 1j, InvalidValue, "1j", "real number"),
    (lambda x: np.complex64(2), InvalidValue, "complex64", "real number"),
    (lambda x: 10**400, InvalidValue, "1000000", "real number"),
    (lambda x: NAN, NonFiniteValue, "nan", "finite"),
    (lambda x: INF, NonFiniteValue, "inf", "finite"),
    (lambda x: -INF, NonFiniteValue, "-inf", "finite"),
    (lambda x: np.float32("nan"), NonFiniteValue, "nan", "finite"),
    (lambda x: 1 / 0, EvaluationFailed, "ZeroDivisionError: division by zero", "start elsewhere"),
    (lambda x: x[7], EvaluationFailed, "IndexError", "start elsewhere"),
    (lambda: 0.0, EvaluationFailed, "TypeError", "start elsewhere"),
    (lambda x: x.resize((9, 9)), EvaluationFailed, "ValueError", "start elsewhere"),
]

VECTORIZED = [
    (lambda X: X, InvalidValue, "shape (1, 3)", "vectorized=False"),
    (lambda X: X[:, :1], InvalidValue, "shape (1, 1)", "shape (1,)"),
    (lambda X: np.zeros(len(X) + 1), InvalidValue, "shape (2,)", "shape (1,)"),
    (lambda X: np.zeros(0), InvalidValue, "shape (0,)", "shape (1,)"),
    (lambda X: np.sum(X), InvalidValue, "float64", "vectorized=False"),
    (lambda X: 2.5, InvalidValue, "2.5 (float)", "vectorized=False"),
    (lambda X: None, InvalidValue, "None (NoneType)", "vectorized=False"),
    (lambda X: "abc", InvalidValue, "'abc' (str)", "vectorized=False"),
    (lambda X: np.array(["a"] * len(X)), InvalidValue, "dtype <U1", "real values"),
    (lambda X: X[:, 0] + 1j, InvalidValue, "dtype complex128", "real values"),
    (lambda X: [1.0, 2.0], InvalidValue, "[1.0, 2.0] (list)", "shape (1,)"),
    (lambda X: (), InvalidValue, "() (tuple)", "shape (1,)"),
    (lambda X: [None] * len(X), InvalidValue, "None", "real number"),
    (lambda X: np.full(len(X), NAN), NonFiniteValue, "nan", "finite"),
    (lambda X: np.full(len(X), INF), NonFiniteValue, "inf", "finite"),
    (lambda X: X @ X, EvaluationFailed, "ValueError", "vectorized=False"),
    (lambda X: 1 / 0, EvaluationFailed, "ZeroDivisionError", "vectorized=False"),
]


def names(table, index):
    return [f"{case[index]}-{number}" for number, case in enumerate(table)]


def refused(error, shown, remedy, act):
    """Run, and check class, value and remedy."""
    with pytest.raises(EscapadeError) as caught:
        act()
    assert type(caught.value) is error
    message = str(caught.value)
    assert shown in message
    assert remedy in message
    assert len(message) < 600
    return caught.value


@pytest.mark.parametrize(("x", "shown", "remedy"), POINTS, ids=names(POINTS, 1))
def test_points(x, shown, remedy):
    def never(x):
        raise AssertionError("not evaluated")

    error = refused(InvalidSetting, shown, remedy, lambda: certify(never, x))
    assert str(error).startswith("x"), "it says which argument"
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(("name", "value", "shown", "remedy"), SETTINGS, ids=names(SETTINGS, 2))
def test_settings(name, value, shown, remedy):
    calls = []

    def count(x):
        calls.append(x)
        return sphere(x)

    arguments = {"fun": count, "x": X, name: value}
    refused(InvalidSetting, shown, remedy, lambda: certify(**arguments))
    assert not calls, "refused before the first evaluation"


ORACLE = [case for case in SETTINGS if case[0] in ("fun", "jac", "hessp", "samples", "maxfev")]


@pytest.mark.parametrize(("name", "value", "shown", "remedy"), ORACLE, ids=names(ORACLE, 2))
def test_settings_of_an_oracle(name, value, shown, remedy):
    refused(InvalidSetting, shown, remedy, lambda: Oracle.of(**{"fun": sphere, name: value}))


VALUES = [(*case, False) for case in FUNCTIONS] + [(*case, True) for case in VECTORIZED]


@pytest.mark.parametrize(("fun", "kind", "shown", "remedy", "vectorized"), VALUES, ids=names(VALUES, 2))
def test_functions(fun, kind, shown, remedy, vectorized):
    error = refused(kind, shown, remedy, lambda: certify(fun, X, vectorized=vectorized))
    np.testing.assert_array_equal(error.x, X)
    assert error.best_x is None
    if kind is EvaluationFailed:
        assert type(error.__cause__).__name__ in str(error)
    x = np.array(X)
    refused(kind, shown, remedy, lambda: Oracle.of(fun, vectorized=vectorized)(point(x)))


@pytest.mark.parametrize("constraints", [(), []])
def test_no_constraints_at_all_are_none(constraints):
    assert certify(sphere, [0.0], constraints=constraints).holds


@pytest.mark.parametrize("x", [[0], [False], np.zeros(2, dtype=np.int8), (0.0, 0.0), np.float32([0, 0])])
def test_whatever_is_a_vector_of_reals_is_taken_and_left_alone(x):
    before = np.array(x)
    assert certify(sphere, x, gtol=1e-2, curvtol=0.1).holds
    np.testing.assert_array_equal(x, before)


RULES = [
    (lambda: stopping.Below("a"), "'a'", "number"),
    (lambda: stopping.Iterations(-1), "-1", "1 at least"),
    (lambda: stopping.SmallGradient(-1.0), "-1.0", "0 at least"),
    (lambda: stopping.Stagnation(-3, 1e-3), "-3", "1 at least"),
    (lambda: stopping.Stagnation(3, None), "None", "number"),
    (lambda: multistart(sphere, [[0.0, 1.0], [1.0]]), "starts[1] has 1 variable", "one function"),
]


@pytest.mark.parametrize(("make", "shown", "remedy"), RULES)
def test_rules_and_starts_are_checked_before_anything_is_run(make, shown, remedy):
    with pytest.raises(InvalidSetting) as caught:
        make()
    assert shown in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("maxfev", [2, 40, 70])
def test_a_budget_that_ends_a_run_is_named_with_its_numbers(maxfev):
    result = minimize(lambda x: float(np.sum((x - 1) ** 2)), [5.0, 3.0], maxfev=maxfev, rng=0)
    assert result.stop is Stop.BUDGET
    assert f"{result.nfev} of maxfev={maxfev} are used" in result.message


FLAT = {"linear": lambda x: float(x[0]), "zero": lambda x: 0.0, "whole": lambda x: round(x[0])}
NOT_PLAIN = ("zo-sgd", "zo-scsg", "zo-spider", "neon2")


@pytest.mark.parametrize("method", sorted(name for name in PRESETS if not name.startswith(NOT_PLAIN)))
@pytest.mark.parametrize("fun", FLAT)
def test_a_start_without_curvature_is_no_error(method, fun):
    assert not minimize(FLAT[fun], np.ones(2), method=method, maxfev=3000, rng=0).success


@pytest.mark.parametrize(
    ("name", "meant"), [("tol", "'gtol'"), ("bound", "'bounds'"), ("seed", "'rng'"), ("maxfun", "'maxfev'")]
)
@pytest.mark.parametrize("function", [minimize, certify])
def test_an_unknown_keyword_is_met_with_the_one_that_was_meant(function, name, meant):
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) .* '{name}'. Did you mean {meant}\?"):
        function(sphere, X, **{name: 1})
    with pytest.raises(TypeError, match=r"'qqq'$"):
        function(sphere, X, qqq=1)


@pytest.mark.parametrize("bounds", [([0, 0], [1, 5]), (np.zeros(2), np.ones(2))])
def test_bounds_that_can_be_read_in_two_ways_are_refused(bounds):
    with pytest.raises(InvalidSetting, match=r"\(lower, upper\) or a pair .* scipy.optimize.Bounds"):
        minimize(sphere, [0.5, 0.5], bounds=bounds)
    for clear in (Bounds(*bounds), list(zip(*bounds, strict=True))):
        assert minimize(sphere, [0.5, 0.5], bounds=clear, rng=0).success


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"residuals": True, "finder": "dense"}, "leave finder and certificate_maxfev out"),
        ({"residuals": True, "certificate_maxfev": 50}, "leave finder and certificate_maxfev out"),
        ({"samples": 100, "certificate_maxfev": 50}, "set maxfev"),
    ],
)
def test_what_a_certificate_would_not_use_is_refused(options, said):
    with pytest.raises(InvalidSetting, match=said):
        certify(sphere, X, **options)


@pytest.mark.parametrize("method", ["auto", "neon2-gd"])
def test_a_wrong_gradient_is_refused_by_every_method_that_uses_it(method):
    with pytest.raises(InvalidSetting, match="jac is not the gradient"):
        minimize(sphere, X, method=method, jac=lambda x: 3 * np.asarray(x), rng=0)
