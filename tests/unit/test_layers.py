"""Each layer imports only the ones above it, and the public names are as listed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import escapade

SRC = Path(escapade.__file__).parent

LAYERS = [
    {"_text", "_settings", "_html", "progress"},
    {"errors"},
    {"_array", "interval", "budget"},
    {"_random", "_plain", "tolerances", "domain", "structure"},
    {"loss"},
    {"executors"},
    {"oracle"},
    {"derivatives"},
    {"curvature"},
    {"certificate", "report", "validation"},
    {"trace"},
    {"stopping"},
    {"plots"},
    {"result"},
    {"shaped"},
    {"certify", "check"},
    {"methods"},
    {"theory"},
    {"watch"},
    {"run"},
    {"minimize", "least_squares"},
    {"starts", "basins"},
    {"interop", "multistart", "ask_tell"},
    {"integrations"},
    {"experiments"},
    {"cli"},
    {"__main__"},
    {"__init__"},
]
"""From the top of the house down."""

FREE = {"problems": {"errors", "_array", "_random"}}
"""Parts beside the house: they import only these, and only experiments and the front door import them."""

PUBLIC = [
    "Certificate",
    "FunctionReport",
    "Journal",
    "Multistart",
    "Oracle",
    "Result",
    "__version__",
    "ask_tell",
    "certify",
    "check_fun",
    "curvature",
    "errors",
    "least_squares",
    "methods",
    "minimize",
    "multistart",
    "problems",
    "rigid_motions",
    "scipy_method",
    "stopping",
    "theory",
]


def modules():
    return sorted(path.relative_to(SRC) for path in SRC.rglob("*.py"))


def part(module):
    """The layer a dotted name below escapade belongs to."""
    return module.split(".")[0]


def imports(path):
    """The parts of the library that a file imports, wherever in it the import stands."""
    package = list(path.parts[:-1])
    for node in ast.walk(ast.parse((SRC / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[1:] for alias in node.names if part(alias.name) == "escapade"]
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            if node.level:
                base = package[: len(package) + 1 - node.level] + module
            elif module[:1] == ["escapade"]:
                base = module[1:]
            else:
                continue
            names = [base] if base else [[alias.name] for alias in node.names]
        else:
            continue
        yield from (name[0] if name else "__init__" for name in names)


def depth(name):
    return next((level for level, names in enumerate(LAYERS) if name in names), None)


@pytest.mark.parametrize("path", modules(), ids=str)
def test_each_layer_imports_only_the_ones_above_it(path):
    own = path.parts[0].removesuffix(".py")
    assert own in FREE or depth(own) is not None, f"{own} has no place in the house: add it to LAYERS"
    for name in set(imports(path)) - {own}:
        if own in FREE:
            assert name in FREE[own], f"{path} imports {name}"
        elif name in FREE:
            assert own in ("experiments", "cli", "__init__"), f"{path} imports {name}"
        else:
            assert depth(name) is not None, f"{path} imports {name}, which has no place"
            assert depth(name) < depth(own), f"{path} imports {name}, which lies below it"


def test_imports_are_seen():
    assert set(imports(Path("oracle/oracle.py"))) == {"_array", "domain", "errors", "executors", "loss", "oracle"}
    assert set(imports(Path("__init__.py"))) >= {"curvature", "errors", "problems", "certify", "oracle"}
    assert "problems" in set(imports(Path("problems/cubic.py")))


HEART = ("derivatives", "curvature", "certificate", "methods/auto")


def test_functions_of_the_heart_have_few_branches():
    """A cyclomatic complexity of at most twelve each."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "C901"]
    command += ["--config", "lint.mccabe.max-complexity=12", *(str(SRC / room) for room in HEART)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_only_the_oracle_and_executors_can_call_the_users_function():
    for path in modules():
        if path.parts[0] not in ("oracle", "executors", "multistart.py", "ask_tell.py"):  # these two make an executor
            assert "executors" not in set(imports(path)), f"{path} goes round the oracle"


def test_the_public_names_are_as_listed():
    assert escapade.__all__ == PUBLIC
    for name in escapade.__all__:
        assert getattr(escapade, name) is not None
