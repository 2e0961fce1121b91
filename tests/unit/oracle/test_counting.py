"""The books: queries by purpose, rounds, calls, attempts, budgets, blocks, the best point."""

import array_api_strict
import numpy as np
import pytest

from escapade.errors import BudgetExhausted, EvaluationFailed, MissingCapability, NonFiniteValue
from escapade.oracle import Oracle, axes, oracle, pairs, point, some_axes


class Counted:
    """A function that counts for itself."""

    def __init__(self, fun, vectorized=False):
        self.fun, self.vectorized, self.calls, self.points = fun, vectorized, 0, []

    def __call__(self, x, *rest):
        self.calls += 1
        rows = np.atleast_2d(np.asarray(x))
        weight = len(rest[0]) if rest else 1
        self.points += [row.copy() for row in rows for _ in range(weight)]
        return self.fun(x, *rest)


def square(x):
    return float(np.sum(np.asarray(x) ** 2))


def squares(X):
    return np.sum(np.asarray(X) ** 2, axis=1)


X = np.array([1.0, 2.0, 3.0])
H = np.full(3, 0.5)


@pytest.mark.parametrize("vectorized", [False, True])
def test_queries_are_counted_by_purpose_and_rounds_by_call(vectorized):
    fun = Counted(squares if vectorized else square)
    f = Oracle.of(fun, vectorized=vectorized)
    check = f.tagged("check")
    f(axes(X, H) + axes(X, -H))
    check.value(X)
    check(pairs(X, H, 1.0))
    f.value(X)
    assert f.ledger is check.ledger
    assert f.ledger.by_purpose == {"descent": 7, "check": 4}
    assert f.ledger.queries == f.ledger.attempts == len(fun.points) == 11
    assert f.ledger.rounds == 4
    assert f.ledger.calls == fun.calls == (4 if vectorized else 11)
    assert (f.purpose, check.purpose) == ("descent", "check")


def test_values_come_in_the_order_of_the_stencil():
    f = Oracle.of(square)
    np.testing.assert_array_equal(f(axes(X, H)), [square(X + 0.5 * e) for e in np.eye(3)])


def test_arguments_follow_the_point_and_the_batch():
    seen = []
    Oracle.of(lambda x, a, b: seen.append((a, b)) or 0.0, args=("a", "b")).value(X)
    f = Oracle.of(lambda x, ids, a: seen.append((ids.tolist(), a)) or 0.0, args=("a",), samples=2)
    f.on(f.everything()).value(X)
    Oracle.of(lambda x, a: seen.append(a) or 0.0, args=[1, 2]).value(X)
    assert seen == [("a", "b"), ([0, 1], "a"), [1, 2]], "anything but a tuple is one argument, as in SciPy"


# Budgets


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("maxfev", [0, 1, 5, 6, 7])
def test_a_stencil_that_would_pass_the_budget_is_refused_whole(maxfev, vectorized):
    fun = Counted(squares if vectorized else square)
    f = Oracle.of(fun, vectorized=vectorized, maxfev=maxfev)
    stencil = axes(X, H) + axes(X, -H)
    if maxfev >= 6:
        f(stencil)
        assert f.remaining == maxfev - 6
        stencil = point(X) + point(X)
    before, used = len(fun.points), f.ledger.queries
    with pytest.raises(BudgetExhausted, match=rf"{used} of maxfev={maxfev} .* raise maxfev") as caught:
        f(stencil)
    assert (caught.value.asked, caught.value.used, caught.value.maxfev) == (stencil.size, used, maxfev)
    assert len(fun.points) == before, "nothing of it was evaluated"
    assert f.ledger.queries == f.ledger.attempts == used
    assert f.ledger.rounds == (1 if maxfev >= 6 else 0)


def test_a_refusal_carries_the_best_point_and_smaller_stencils_still_fit():
    f = Oracle.of(square, maxfev=4)
    f(axes(X, -H))
    with pytest.raises(BudgetExhausted) as caught:
        f.tagged("check")(axes(X, H))
    np.testing.assert_array_equal(caught.value.best_x, [1.0, 2.0, 2.5])
    assert caught.value.best_fun == 11.25
    assert f.value(np.zeros(3)) == 0.0
    assert f.remaining == 0


def test_a_batch_weighs_its_length_in_the_budget():
    fun = Counted(lambda x, ids: float(np.mean(ids)))
    f = Oracle.of(fun, samples=100, maxfev=9)
    f_S = f.on(f.draw(4, np.random.default_rng(0)))
    f_S(point(X) + point(X))
    assert f.ledger.queries == f.ledger.attempts == len(fun.points) == 8
    assert f.ledger.calls == fun.calls == 2
    with pytest.raises(BudgetExhausted):
        f_S.value(X)
    assert f.remaining == 1


def test_no_budget_is_infinite():
    assert Oracle.of(square).remaining == np.inf


# Blocks


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("block_bytes", [1, 24, 25, 49, 1000])
def test_the_size_of_blocks_changes_nothing_but_calls(monkeypatch, block_bytes, vectorized):
    widest = []

    def fun(X):
        widest.append(len(X) if X.ndim == 2 else 1)
        return squares(X) if X.ndim == 2 else square(X)

    stencil = axes(X, H) + pairs(X, H, -1.0) + point(X)
    whole = Oracle.of(fun, vectorized=vectorized)
    expected = whole(stencil)
    monkeypatch.setattr(oracle, "BLOCK_BYTES", block_bytes)
    widest.clear()
    f = Oracle.of(fun, vectorized=vectorized)
    np.testing.assert_array_equal(f(stencil), expected)
    assert max(widest) <= max(1, block_bytes // 24)
    assert f.ledger.calls == len(widest)
    assert (f.ledger.queries, f.ledger.rounds, f.ledger.attempts) == (7, 1, 7)
    np.testing.assert_array_equal(f.best[0], whole.best[0])
    assert f.best[1] == whole.best[1]


def test_a_wide_stencil_is_never_built_whole(monkeypatch):
    monkeypatch.setattr(oracle, "BLOCK_BYTES", 1 << 20)
    d, tallest = 20_000, []

    def fun(X):
        tallest.append(X.nbytes)
        return X[:, 0]

    some = some_axes(np.zeros(d), np.ones(d), np.arange(100))
    values = Oracle.of(fun, vectorized=True)(some)
    assert values.sum() == 1.0
    assert max(tallest) <= 1 << 20


# The best point


def test_the_best_point_is_kept_across_views_and_is_not_the_users_to_write():
    def fun(x):
        value = square(x)
        x[...] = np.nan
        return value

    f = Oracle.of(fun)
    assert f.best == (None, None)
    f(axes(X, -H))
    f.tagged("check").value(10 * X)
    np.testing.assert_array_equal(f.best[0], [1.0, 2.0, 2.5])
    assert f.tagged("escape").best[1] == 11.25
    f.value(np.zeros(3))
    np.testing.assert_array_equal(f.best[0], np.zeros(3))


def test_the_first_of_equal_points_is_the_best():
    f = Oracle.of(lambda x: 1.0)
    f(axes(X, H))
    np.testing.assert_array_equal(f.best[0], [1.5, 2.0, 3.0])


def test_the_best_of_different_batches_is_not_kept():
    f = Oracle.of(lambda x, ids: float(ids[0]), samples=3)
    f.on(f.everything()).value(X)
    assert f.best == (None, None)


# Observations and gradients


def test_observing_is_outside_every_budget_and_count():
    fun = Counted(square)
    f = Oracle.of(fun, maxfev=0)
    assert f.observe(X) == 14.0
    assert (f.ledger.queries, f.ledger.rounds, f.ledger.observations) == (0, 0, 1)
    assert f.ledger.attempts == fun.calls == 1
    assert f.best == (None, None)
    g = Oracle.of(lambda x, ids: 1.0, samples=5, maxfev=0)
    g.on(g.everything()).observe(X)
    assert (g.ledger.observations, g.ledger.queries) == (5, 0)


def test_gradients_are_counted_apart():
    def grad(x):
        x *= 2
        return x

    x, f = X.copy(), Oracle.of(square, maxfev=0, jac=grad)
    np.testing.assert_array_equal(f.gradient(x), 2 * X)
    np.testing.assert_array_equal(x, X)
    assert (f.ledger.gradients, f.ledger.queries) == (1, 0)
    with pytest.raises(MissingCapability, match="jac="):
        Oracle.of(square).gradient(X)
    with pytest.raises(TypeError, match="3 real numbers"):
        Oracle.of(square, jac=lambda x: x[:2]).gradient(X)
    with pytest.raises(NonFiniteValue, match="jac returned nan"):
        Oracle.of(square, jac=lambda x: x * np.nan).gradient(X)


# Failures are counted as they happen


def test_a_function_that_raises_was_called_only_until_then():
    fun = Counted(lambda x: 1 / (x[1] - 2.5) if x[1] > 2.2 else 1.0)
    f = Oracle.of(fun)
    with pytest.raises(EvaluationFailed):
        f(axes(X, H))
    assert f.ledger.attempts == f.ledger.calls == fun.calls == len(fun.points) == 2
    assert (f.ledger.queries, f.ledger.rounds) == (0, 1)


@pytest.mark.parametrize("vectorized", [False, True])
def test_values_that_cannot_be_delivered_are_attempts(vectorized):
    fun = Counted((lambda X: np.full(len(X), np.nan)) if vectorized else (lambda x: np.nan))
    f = Oracle.of(fun, vectorized=vectorized)
    with pytest.raises(NonFiniteValue):
        f(axes(X, H))
    assert f.ledger.attempts == len(fun.points) == 3
    assert f.ledger.calls == fun.calls
    assert f.ledger.queries == 0


@pytest.mark.parametrize("xp", [np, array_api_strict])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_points_keep_their_namespace_and_values_are_host_floats(xp, dtype):
    seen = []

    def fun(x):
        seen.append(x)
        return xp.sum(x * x)

    x = xp.asarray([1.0, 2.0], dtype=getattr(xp, dtype))
    f = Oracle.of(fun)
    values = f(axes(x, x))
    assert type(values) is np.ndarray
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, [8.0, 17.0])
    assert all(type(p) is type(x) and p.dtype == x.dtype and p.shape == (2,) for p in [*seen, f.best[0]])
