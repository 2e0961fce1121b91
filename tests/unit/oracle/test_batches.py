"""Minibatches are values."""

import numpy as np
import pytest

from escapade.errors import BudgetExhausted, EvaluationFailed, InvalidSetting, MissingCapability, NonFiniteValue
from escapade.oracle import Batch, Components, Failures, Journal, Oracle, point, points

X = np.array([1.0, 2.0])
DATA = np.random.default_rng(7).standard_normal((10, 2))


def loss(x, ids):
    return float(np.mean((DATA[ids] @ x) ** 2))


@pytest.fixture
def f():
    return Oracle.of(loss, samples=10)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_without_replacement_ids_are_distinct_sorted_and_in_range(f, rng):
    for size in range(1, 10):
        batch = f.draw(size, rng)
        assert len(batch) == size
        assert len(set(batch.ids.tolist())) == size
        assert np.all(np.diff(batch.ids) > 0)
        assert 0 <= batch.ids.min() <= batch.ids.max() < 10
        assert batch.ids.dtype == np.int64


@pytest.mark.parametrize("size", [10, 11, 1000])
def test_a_batch_of_n_or_more_is_the_whole_sum_exact(f, rng, size):
    batch = f.draw(size, rng)
    np.testing.assert_array_equal(batch.ids, np.arange(10))
    assert f.on(batch).value(X) == loss(X, np.arange(10))
    assert f.ledger.queries == 10


def test_with_replacement_ids_repeat_and_the_size_is_kept(f, rng):
    batch = f.draw(1000, rng, replace=True)
    assert len(batch) == 1000
    assert set(batch.ids.tolist()) == set(range(10))


def test_every_sample_is_drawn_equally_often(f, rng):
    for replace in (False, True):
        ids = np.concatenate([f.draw(3, rng, replace=replace).ids for _ in range(2000)])
        counts = np.bincount(ids, minlength=10)
        assert np.all(np.abs(counts - 600) < 150)  # six standard deviations


def test_streams_give_63_bit_ids_and_have_no_end(rng):
    f = Oracle.of(lambda x, ids: float(np.mean(ids % 2)), samples="stream")
    batch = f.draw(1000, rng)
    assert len(set(batch.ids.tolist())) == 1000
    assert batch.ids.min() >= 0
    assert batch.ids.max() > 2**60
    assert f.on(batch).value(X) == f.on(batch).value(X)
    with pytest.raises(MissingCapability, match="a stream has no end"):
        f.everything()


def test_the_same_seed_draws_the_same_batch(f):
    a, b = (f.draw(4, np.random.default_rng(0)).ids for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_every_point_of_a_stencil_sees_the_same_batch(rng):
    seen = []
    f = Oracle.of(lambda x, ids: seen.append(ids.tolist()) or 0.0, samples=10)
    batch = f.draw(3, rng)
    f.on(batch)(point(X) + point(2 * X))
    f.tagged("check").on(batch).value(X)
    assert seen == [batch.ids.tolist()] * 3


def test_a_batch_cannot_be_written_to(f):
    mine = np.arange(3)
    batch = Batch(mine)
    mine[0] = 9
    assert batch.ids.tolist() == [0, 1, 2]

    def fun(x, ids):
        ids += 1
        return 0.0

    with pytest.raises(EvaluationFailed, match="read-only"):
        Oracle.of(fun, samples=10).on(batch).value(X)
    assert batch.ids.tolist() == [0, 1, 2]


def test_what_cannot_be_a_batch_is_refused(f, rng):
    for size in (0, -1):
        with pytest.raises(InvalidSetting, match=rf"size {size} .* at least one"):
            f.draw(size, rng)
    for ids in ([], [[1, 2]]):
        with pytest.raises(InvalidSetting, match="non-empty vector"):
            Batch(np.array(ids, dtype=np.int64))


def test_a_sampled_function_needs_a_batch_and_a_plain_one_has_none(f, rng):
    with pytest.raises(MissingCapability, match=r"f\.on\(f\.draw"):
        f.value(X)
    with pytest.raises(MissingCapability, match=r"f\.on\(f\.draw"):
        f.observe(X)
    plain = Oracle.of(lambda x: 0.0)
    for ask in (lambda: plain.draw(1, rng), lambda: plain.on(Batch(np.arange(1)))):
        with pytest.raises(MissingCapability, match="samples=n"):
            ask()
    assert f.ledger.attempts == plain.ledger.attempts == 0


def by_row(x, ids):
    """`loss` of rows, which takes ids of shape (rows, k) too."""
    inner = np.einsum("rkj,rj->rk", DATA[ids], x) if ids.ndim == 2 else x @ DATA[ids].T
    return np.mean(inner**2, axis=1)


by_row.ids_by_row = True

PLACES = np.random.default_rng(8).standard_normal((9, 2))


@pytest.mark.parametrize("block", [1, 16, 64, 1 << 24])
@pytest.mark.parametrize(
    ("fun", "vectorized"), [(loss, False), (lambda x, ids: by_row(x, ids.ravel()), True), (by_row, True)]
)
def test_components_have_rows_of_their_own(fun, vectorized, block, monkeypatch):
    """Row r on sample r mod |S|: one query a row, one round, whatever the size of blocks."""
    monkeypatch.setattr("escapade.oracle.oracle.BLOCK_BYTES", block)
    ids = np.array([7, 2, 7, 4])
    f = Oracle.of(fun, vectorized=vectorized, samples=10)
    for unit in (None, np.array([2.0, 0.5])):
        view = f if unit is None else f.scaled(unit)
        places = PLACES if unit is None else PLACES / unit
        before = f.ledger.queries, f.ledger.rounds
        values = view.on(Components(ids))(points(places[:5]) + points(places[5:]))
        expected = [loss(x, ids[[r % 4]]) for r, x in enumerate(PLACES)]
        np.testing.assert_allclose(values, expected, rtol=1e-13)
        assert (f.ledger.queries - before[0], f.ledger.rounds - before[1]) == (9, 1)
        assert f.best == (None, None)


def test_components_keep_to_the_budget_and_to_the_policy_for_failures():
    f = Oracle.of(by_row, vectorized=True, samples=10, maxfev=8)
    with pytest.raises(BudgetExhausted):
        f.on(Components(np.arange(3)))(points(PLACES))
    assert f.ledger.queries == 0

    def sometimes(x, ids):
        values = by_row(x, ids)
        values[ids[:, 0] == 2] = np.nan
        return values

    sometimes.ids_by_row = True
    f = Oracle.of(sometimes, vectorized=True, samples=10, failures=Failures(nan_policy=lambda x, attempt, value: -1.0))
    values = f.on(Components(np.arange(3)))(points(PLACES))
    assert values[2::3].tolist() == [-1.0] * 3
    assert values[0] == by_row(PLACES[:1], np.array([[0]]))[0]
    attempts = []
    f = Oracle.of(sometimes, vectorized=True, samples=10, failures=Failures("retry", retries=1))
    with pytest.raises(NonFiniteValue, match="2 attempts"):
        attempts.append(f.on(Components(np.arange(3)))(points(PLACES)))


def test_components_in_a_journal(tmp_path):
    """They are recorded and replayed, and are not taken for an average over the same samples at the same points."""
    X3, x0, counts = PLACES[:3], np.zeros(2), []
    for _ in range(2):
        f = Oracle.of(by_row, vectorized=True, samples=10)
        record, _ = Journal(tmp_path / "run.h5").open({}, {}, x0, np.random.default_rng(0))
        f.keep(record)
        apart = f.on(Components(np.arange(3)))(points(X3))
        together = f.on(Batch(np.arange(3)))(points(X3))
        counts.append((apart.tolist(), together.tolist(), f.ledger.queries, f.ledger.calls))
        assert record.held in (0, 2)
        f.close()
    assert counts[0] == counts[1]
    assert counts[0][2] == 3 + 9
