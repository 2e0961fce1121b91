"""A method reads like the paper: its file is short."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

import escapade

SRC = Path(escapade.__file__).parent
PAPER = [
    *("gd_ncf", "sgd", "sgd_ncf", "scsg", "scsg_ncf", "spider", "spider_ncf", "check", "boosted", "composed"),
    *("composed_sampled", "downhill", "escape", "scipy_descent"),
]
BASELINES = ["zpsgd", "pagd", "rspi", "neon2_gd", "scrn"]
LATER = ["accelerated", "perturbed_agd", "agd_ncf", "two_point"]
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text):
    """Lines that hold code: no comments, no blank lines, no docstrings (those under fields are docstrings too)."""
    prose = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", [])
        for statement in body if isinstance(body, list) else []:
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                prose |= set(range(statement.lineno, statement.end_lineno + 1))
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in BLANK:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - prose)


def test_the_counter_counts():
    head = '"""Doc\nof two lines."""\n\nx = (  # a comment\n    1\n)\n"""Of x."""\n'
    text = head + '\n\ndef f():\n    """Doc."""\n    return x\n'
    assert code_lines(text) == 5


@pytest.mark.parametrize("name", PAPER + BASELINES + LATER)
def test_each_method_is_at_most_eighty_lines(name):
    assert code_lines((SRC / "methods" / f"{name}.py").read_text(encoding="utf-8")) <= 80


def test_every_method_file_is_listed():
    found = {path.stem for path in (SRC / "methods").glob("*.py")}
    assert found - {"__init__", "base", "constants", "presets", "presets_sampled"} == {*PAPER, *BASELINES, *LATER}
