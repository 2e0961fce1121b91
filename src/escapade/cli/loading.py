"""The user's function, by the name of its file or module."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

from ..problems import REGISTRY, Problem
from .failures import CommandError, last_line


def load(target: str) -> Callable[..., Any]:
    """`FILE.py:function`, `module:function` or `problem:name` as a callable."""
    where, colon, name = target.rpartition(":")
    if not (colon and where and name):
        raise CommandError(f"{target!r} names no function: write FILE.py:function, module:function or problem:name")
    if where == "problem":
        return _problem(name)
    module = _from_file(Path(where)) if where.endswith(".py") else _from_module(where)
    try:
        function = reduce(getattr, name.split("."), module)
    except AttributeError:
        raise CommandError(f"{where} has no {name!r}; it has {_callables(module)}") from None
    if not callable(function):
        raise CommandError(f"{target} is no function but {type(function).__name__}; {where} has {_callables(module)}")
    return function


def load_gradient(target: str, fun: Callable[..., Any], jac: str | None) -> Any:
    """The gradient of a function: `true`, a function beside it by its name, or another one's target."""
    if jac is None or jac == "true":
        return jac == "true" or None
    if ":" in jac:
        return load(jac)
    if not isinstance(fun, Problem):
        return load(f"{target.rpartition(':')[0]}:{jac}")
    if not callable(getattr(fun, jac, None)):
        raise CommandError(f"--jac {jac}: {target} has no such function; its gradient is called gradient")
    return getattr(fun, jac)


def _problem(name: str) -> Problem:
    if name not in REGISTRY:
        raise CommandError(f"no problem is called {name!r}; choose from {', '.join(REGISTRY)}")
    return REGISTRY[name]()


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise CommandError(f"{path} is no file; write the path of a Python file and a function in it, FILE.py:function")
    path = path.resolve()
    sys.path.insert(0, str(path.parent))  # as `python FILE.py` does
    name = path.stem if path.stem not in sys.modules else f"escapade_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} cannot be read as Python")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    _run(lambda: spec.loader.exec_module(module), path.name, path)  # type: ignore[union-attr]
    return module


def _from_module(name: str) -> ModuleType:
    sys.path.insert(0, "")  # as `python -m` does
    module = _run(lambda: importlib.import_module(name), name)
    assert isinstance(module, ModuleType)
    return module


def _run(work: Callable[[], Any], name: str, path: Path | None = None) -> Any:
    """Run the user's code; what it raises becomes one line."""
    try:
        return work()
    except SyntaxError as error:
        line = "" if error.lineno is None else f", line {error.lineno}"
        raise CommandError(f"{Path(error.filename or name).name}{line}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name and path is None:
            raise CommandError(
                f"there is no module {name!r}; a file is named with its .py, as in {name}.py:f"
            ) from None
        where = (last_line(error, path) if path else None) or name
        raise CommandError(f"{where}: {type(error).__name__}: {error} (raised while it was loaded)") from None


def _callables(module: ModuleType) -> str:
    """The functions that a module itself defines."""
    names = [
        key
        for key, value in vars(module).items()
        if callable(value) and not key.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") if names else "no functions"
