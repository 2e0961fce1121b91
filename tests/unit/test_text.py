"""Words of messages."""

import pytest

from escapade._text import counted, named, sentence


def test_one_and_many():
    assert [counted(n, "round") for n in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]
    assert [counted(n, "query", "queries") for n in (1, 2)] == ["1 query", "2 queries"]


@pytest.mark.parametrize(
    ("error", "words"),
    [(ValueError("too far."), "ValueError: too far"), (OSError(), "OSError"), (KeyError("a"), "KeyError: 'a'")],
)
def test_an_exception_is_named(error, words):
    assert named(error) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [("f failed", "f failed."), ("it failed", "It failed."), ("Why?", "Why?"), ("it did. ", "It did."), ("", "")],
)
def test_a_sentence_can_follow_another(text, words):
    assert sentence(text) == words
