"""Blocks of a few sizes: every row once, little wasted, nothing uncounted."""

import numpy as np
import pytest

import escapade
from escapade.executors import Vectorized
from escapade.executors.padding import SIZES, parts
from escapade.oracle import points


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 15, 16, 17, 33, 100, 128, 129, 301, 1001, 2002, 5000])
def test_a_block_is_cut_into_few_sizes(rows):
    cut = parts(rows)
    assert {size for _, _, size in cut} <= set(SIZES)
    assert [start for start, _, _ in cut] == [0, *(stop for _, stop, _ in cut[:-1])]
    assert cut[-1][1] == rows
    assert all(0 < stop - start <= size <= 2 * (stop - start) for start, stop, size in cut)


class Padded:
    """A function that asks for it, and notes what it is given."""

    pad = True

    def __init__(self):
        self.blocks = []

    def __call__(self, X, *rest):
        self.blocks.append(np.array(X))
        return np.sum(X**2, axis=1)


def test_values_are_those_of_the_rows_and_copies_are_thrown_away():
    fun = Padded()
    X = np.random.default_rng(0).normal(size=(301, 2))
    evaluate = Vectorized(fun)
    assert np.array_equal(evaluate(X, ()), np.sum(X**2, axis=1))
    assert evaluate.calls(301) == len(fun.blocks)
    assert {len(block) for block in fun.blocks} <= set(SIZES)
    for block in fun.blocks:
        assert {row.tobytes() for row in block} <= {row.tobytes() for row in X}


def test_a_run_is_the_same_and_copies_are_no_queries():
    fun = Padded()
    padded = escapade.minimize(fun, np.ones(40), vectorized=True, rng=0)
    plain = escapade.minimize(lambda X: np.sum(X**2, axis=1), np.ones(40), vectorized=True, rng=0)
    assert padded.nfev == plain.nfev
    assert padded.x.tobytes() == plain.x.tobytes()
    assert padded.ncalls == len(fun.blocks) >= plain.ncalls
    assert len({len(block) for block in fun.blocks}) <= 4


def test_ids_of_rows_are_padded_with_them():
    seen = []

    class Sampled:
        pad = ids_by_row = True

        def __call__(self, X, ids):
            seen.append((len(X), ids.shape))
            return X[:, 0] + ids[:, 0]

    values = Vectorized(Sampled())(np.zeros((10, 1)), (np.arange(10)[:, None],))
    assert np.array_equal(values, np.arange(10.0))
    assert seen == [(16, (16, 1))]


def test_one_value_for_a_block_is_refused_as_ever():
    class Wrong(Padded):
        def __call__(self, X):
            return 1.0

    f = escapade.Oracle.of(Wrong(), vectorized=True)
    with pytest.raises(TypeError, match="must return 10 real values"):
        f(points(np.zeros((10, 2))))
