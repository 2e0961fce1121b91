"""Every public parameter and every field of what is returned is documented."""

import dataclasses
import inspect

import pytest

import escapade

FUNCTIONS = [name for name in escapade.__all__ if inspect.isfunction(getattr(escapade, name))]
RETURNED = [escapade.Certificate, escapade.FunctionReport]


def documented(function):
    """The names in the Parameters section of a docstring."""
    _, _, text = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")
    section = text.split("\n\n")[0]
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip() for head in heads for name in head.split(",")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_parameters_of_a_function_are_those_it_documents(name):
    function = getattr(escapade, name)
    assert documented(function) == set(inspect.signature(function).parameters)


@pytest.mark.parametrize("cls", RETURNED, ids=lambda cls: cls.__name__)
def test_fields_are_documented(cls):
    """By a line below them; or their name says it (x, fun, verdict, ...) and the class does."""
    source = inspect.getsource(cls)
    plain = {"x", "fun", "verdict", "gtol", "curvtol", "finder", "reason", "nfev", "njev", "nhev", "nfev_by_purpose"}
    plain |= {"nrounds", "seed", "deterministic", "remarks"}
    silent = []
    for field in dataclasses.fields(cls):
        line = next(line for line in source.splitlines() if line.strip().startswith(f"{field.name}:"))
        after = source[source.index(line) + len(line) :].lstrip()
        if not after.startswith('"""') and field.name not in plain:
            silent.append(field.name)
    assert not silent
