"""What the oracle keeps of what it delivered, where it may ask, and until when."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from escapade import Oracle
from escapade.domain import UNBOUNDED, Domain
from escapade.errors import InvalidSetting, MissingValue, OutsideDomain, TimeExhausted
from escapade.oracle import oracle as oracle_
from escapade.oracle import points


def sphere():
    return Oracle.of(lambda X: np.sum(X * X, axis=1), vectorized=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 40))
def test_the_last_pairs_are_kept_in_bounded_memory(sizes, room):
    f, rng, d = sphere(), np.random.default_rng(0), 3
    memory = 8 * (d + 1) * room
    f.remember(memory)
    asked = [rng.standard_normal((size, d)) for size in sizes]
    for block in asked:
        f(points(block))
    X, values = f.pairs
    every = np.concatenate(asked)
    assert X.nbytes + values.nbytes <= memory
    assert len(X) >= min(len(every), room) - max(sizes)
    np.testing.assert_array_equal(X, every[len(every) - len(X) :])
    np.testing.assert_array_equal(values, np.sum(X * X, axis=1))


def test_nothing_but_the_best_is_kept_unless_asked_for():
    f = sphere()
    f(points(np.array([[2.0, 0.0], [1.0, 0.0], [3.0, 0.0]])))
    assert len(f.pairs[0]) == 0
    assert (f.best[0].tolist(), f.best[1]) == ([1.0, 0.0], 1.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**31))
def test_a_box(d, seed):
    rng = np.random.default_rng(seed)
    lower, width = rng.standard_normal(d), rng.exponential(size=d)
    box, x = Domain(lower, lower + width), 3 * rng.standard_normal(d)
    inside = box.clip(x)
    assert box.contains(inside[None, :])[0]
    assert box.contains(x[None, :])[0] == bool(np.array_equal(inside, x))
    down, up = box.room(inside)
    assert np.all(np.minimum(down, up) >= 0)
    np.testing.assert_allclose(down + up, width)
    assert (UNBOUNDED.unbounded, box.unbounded) == (True, False)
    assert UNBOUNDED.clip(x) is x
    assert Domain(np.full(d, -np.inf), np.full(d, np.inf)).unbounded


def test_a_box_that_is_empty_is_refused():
    with pytest.raises(InvalidSetting, match=r"lower\[1\] = 2.0 must be at most upper\[1\] = 1.0"):
        Domain(np.array([0.0, 2.0]), np.array([1.0, 1.0]))


def test_f_is_never_asked_outside_its_domain():
    seen = []
    f = Oracle.of(lambda x: seen.append(x) or 0.0)
    f.within(Domain(np.zeros(2), np.ones(2)))
    f(points(np.array([[0.0, 1.0], [0.5, 0.5]])))
    with pytest.raises(MissingValue, match="inside the bounds") as caught:
        f(points(np.array([[0.5, 0.5], [1.1, 0.5]])))
    np.testing.assert_array_equal(caught.value.values, [0.0, np.nan])
    assert len(seen) == f.ledger.queries == 3
    f(points(np.array([[1.0 + 2e-16, 0.5]])))  # the bound, but for rounding
    assert seen[-1][0] == 1.0
    with pytest.raises(OutsideDomain):  # the last guard
        f._evaluate_all(points(np.array([[1.0 + 1e-15, 0.5]])), keep_best=True)
    assert len(seen) == 4


def test_the_time_is_looked_at_before_every_block_and_what_came_is_counted(monkeypatch):
    monkeypatch.setattr(oracle_, "BLOCK_BYTES", 8 * 2 * 4)  # four points of two variables
    f = sphere()
    clock = iter([0.0, 0.0, 0.0, 2.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    f.until(1.0)
    with pytest.raises(TimeExhausted):
        f(points(np.ones((20, 2))))
    assert f.ledger.queries == f.ledger.attempts == 8
