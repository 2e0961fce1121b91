"""What a journal says of a run: settings as plain JSON, and a generator that can be made again."""

import json

import numpy as np
import pytest

from escapade.errors import JournalError
from escapade.methods import GradientCheck
from escapade.oracle.journal.entry import Entry, chained
from escapade.oracle.journal.header import differences, generator_of, header_of, plain, restorable, state_of


def advanced():
    rng = np.random.default_rng(7)
    rng.random(3)
    rng.spawn(2)
    return rng


@pytest.mark.parametrize(
    "make",
    [lambda: np.random.default_rng(5), np.random.default_rng, advanced, lambda: np.random.default_rng(5).spawn(3)[2]],
)
def test_a_generator_is_made_again_with_its_children(make):
    rng = make()
    state = json.loads(json.dumps(state_of(rng)))
    again = generator_of(state, "run.db")
    assert again.random(5).tobytes() == rng.random(5).tobytes()
    assert again.spawn(2)[1].random(5).tobytes() == rng.spawn(2)[1].random(5).tobytes()


def test_a_generator_of_another_kind_is_not():
    state = state_of(np.random.Generator(np.random.MT19937(1)))
    assert not restorable(state)
    with pytest.raises(JournalError, match="pass rng="):
        generator_of(state, "run.db")


def test_equal_things_are_equally_plain():
    first, other = np.arange(3.0), np.arange(3.0) + 1e-16
    assert plain(first) == plain(first.copy())
    assert (plain(other) == plain(first)) is bool(np.array_equal(first, other))
    assert plain(first) != plain(first.astype(np.float32)) != plain(first[:2])
    assert plain(np.float64(0.1)) == 0.1
    assert plain({"a": (1, None, np.inf)}) == {"a": [1, None, "inf"]}
    assert plain(len) == "len"
    assert plain(object()) == "object"


def test_a_method_is_its_settings():
    one, same, two = (GradientCheck(epsilon=e, sigma2=1.0, failure=0.1, mu=0.1) for e in (0.1, 0.1, 0.2))
    assert plain(one) == plain(same) != plain(two)
    assert plain(one) == {"GradientCheck": {"epsilon": 0.1, "sigma2": 1.0, "failure": 0.1, "mu": 0.1}}


def test_differences_are_named():
    rng, x0 = np.random.default_rng(1), np.zeros(2)
    header = header_of({"gtol": 0.1, "dtype": "float64"}, None, {"maxfev": 3}, rng)
    assert differences(header, header, x0, x0, any_rng=False) == []
    other = header_of({"gtol": 0.2, "dtype": "float64"}, "v2", {"maxfev": 5}, rng)
    assert differences(header, other, x0, -x0, any_rng=False) == [
        'tag was null and is "v2"',
        "gtol was 0.1 and is 0.2",
        "x0[0] was 0.0 and is -0.0",
    ]


def test_an_entry_comes_back_as_it_was():
    values = np.array([1.0, np.nan, -0.0])
    entry = Entry("check", b"d" * 16, values, 3, 2e-16, "lost \ud800", 2, 6, 1.5).best_at(np.ones(2))
    again = Entry.of(entry.row())
    assert again.values.tobytes() == entry.values.tobytes()
    assert again.row() == entry.row()
    assert (again.least, again.queries) == (-0.0, 6)
    for place, bad in ((0, 1), (2, b"1234567"), (3, -1), (4, None), (8, "now")):
        row = list(entry.row())
        row[place] = bad
        with pytest.raises(ValueError, match="not an entry"):
            Entry.of(tuple(row))


def test_the_chain_sees_where_fields_end():
    assert chained(b"", (b"ab", b"c")) != chained(b"", (b"a", b"bc"))
    assert chained(b"", (1,)) != chained(b"", ("1",)) != chained(b"x", (1,))
