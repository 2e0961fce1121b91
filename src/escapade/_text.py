"""Words of messages: counts, exceptions, and sentences made of them."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: "1 iterate", "2 iterates"."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def named(error: BaseException) -> str:
    """An exception by its class and what it says, with nothing at its end that a message could not go on after."""
    text = str(error).strip().rstrip(".,;:")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def sentence(text: str) -> str:
    """What an error says as a sentence that can follow another; one that begins with f begins so."""
    text = text.strip()
    first = text[:1] if text[1:2] in (" ", "(") else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "!", "?")) else ".") if text else ""
