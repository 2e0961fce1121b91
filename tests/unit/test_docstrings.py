"""Every public parameter, every field of what is returned, and every public name is documented in the reference."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import itertools
import re
import textwrap
from pathlib import Path

import pytest

import escapade
from escapade import curvature, errors, executors, methods, problems, stopping, theory
from escapade.certificate.certificate import ActiveSets, SoftDirection, Trusted
from escapade.certificate.scale import Lengths
from escapade.interval import Interval
from escapade.least_squares import Combination, Fitted
from escapade.multistart import Minimum
from escapade.report import Remark
from escapade.tolerances import Units
from escapade.trace import Step, Trace

FUNCTIONS = [name for name in escapade.__all__ if inspect.isfunction(getattr(escapade, name))]
RETURNED = [
    *(escapade.Result, Fitted, escapade.Certificate, escapade.Multistart, Minimum, escapade.FunctionReport, Remark),
    *(Interval, Trusted, Lengths, Units, ActiveSets, SoftDirection, Combination, Trace, Step, escapade.Journal),
]
MODULES = [methods, curvature, problems, theory]
SETTINGS = [
    found
    for module in MODULES
    for name in module.__all__
    if inspect.isclass(found := getattr(module, name)) and dataclasses.is_dataclass(found)
]
REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def section(obj, title):
    """The names that a section of a docstring describes."""
    text = (inspect.getdoc(obj) or "").partition(f"{title}\n{'-' * len(title)}\n")[2]
    text = re.split(r"\n\n(?=\S.*\n-+\n)", text)[0]
    heads = [line.partition(" : ")[0] for line in text.splitlines() if line and not line.startswith(" ")]
    return {name.strip() for head in heads for name in head.split(",")}


def below(cls):
    """The fields that have a line of their own below them, in the class or in those it comes from."""
    found = set()
    for one in cls.__mro__[:-1]:
        if one.__module__.startswith("escapade"):
            body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0].body
            for line, after in itertools.pairwise(body):
                text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                if isinstance(line, ast.AnnAssign) and text and isinstance(after.value.value, str):
                    found.add(line.target.id)
    return found


def fields(cls):
    """The public ones; those of a result of SciPy's kind are its annotations."""
    if dataclasses.is_dataclass(cls):
        return {field.name for field in dataclasses.fields(cls) if field.init and not field.name.startswith("_")}
    own = [one for one in cls.__mro__ if one.__module__.startswith("escapade")]
    return {name for one in own for name in inspect.get_annotations(one) if not name.startswith("_")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_parameters_of_a_function_are_those_it_documents(name):
    function = getattr(escapade, name)
    assert section(function, "Parameters") == set(inspect.signature(function).parameters)


@pytest.mark.parametrize("cls", [*RETURNED, *SETTINGS], ids=lambda cls: cls.__name__)
def test_every_field_is_documented(cls):
    """By a line below it, or in the docstring of its class or of one that this comes from."""
    described = set().union(*(section(one, title) for one in cls.__mro__ for title in ("Attributes", "Parameters")))
    assert not fields(cls) - below(cls) - described


@pytest.mark.parametrize("cls", [escapade.Result, Fitted], ids=lambda cls: cls.__name__)
def test_no_field_is_described_that_is_not_there(cls):
    properties = {name for name, _ in inspect.getmembers(cls, lambda one: isinstance(one, property))}
    assert not section(cls, "Attributes") - fields(cls) - properties


def listed():
    """What the pages of the reference list by name, and the modules that they list whole."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md"))
    return set(re.findall(r"auto(?:function|class|module|attribute):: (?:\w+\.)*(\w+)", text))


def test_every_public_name_is_in_the_reference():
    names = {name for name in escapade.__all__ if name != "__version__"}
    assert not names - listed()
    assert not {cls.__name__ for cls in RETURNED} - listed()
    assert {module.__name__.rpartition(".")[2] for module in [*MODULES, errors, executors, stopping]} <= listed()


EXAMPLES = [
    *("ask_tell", "certificate.certificate", "certify", "check", "curvature", "domain", "errors", "interop"),
    *("least_squares", "methods", "minimize", "multistart", "oracle.journal.record", "oracle.oracle", "problems"),
    *("result", "stopping", "theory"),
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_docstring_run(name):
    tried = doctest.testmod(importlib.import_module(f"escapade.{name}"))
    assert tried.attempted > 0
    assert tried.failed == 0


@pytest.mark.parametrize("name", [name for name in escapade.__all__ if name not in ("__version__",)])
def test_every_public_name_has_an_example(name):
    """A function and a class its own, unless others return it; a module one for all that is in it."""
    public = getattr(escapade, name)
    if public in (escapade.FunctionReport, escapade.Multistart):
        public = {escapade.FunctionReport: escapade.check_fun, escapade.Multistart: escapade.multistart}[public]
    assert ">>> " in (inspect.getdoc(public) or "")
