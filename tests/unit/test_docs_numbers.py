"""Numbers in the pages are those of the code.

A page quotes a tuned number as `` `ROOM.field` = value ``, `` `ROOM.field[0]` = value `` for one of a tuple, or
`` `NAME` = value `` for a constant of a module. A field of a settings object named without a value must exist too.
"""

import ast
import importlib
import re
import runpy
from dataclasses import is_dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

import escapade
from escapade._settings import numbers_of

SRC = Path(escapade.__file__).parent
ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md")])

VALUE = r"-?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?(?:/\d+)?"
FIELD = re.compile(rf"`([A-Z][A-Z_]*)\.([a-z_]+)(?:\[(\d+)\])?`(?:\s+=\s+({VALUE}))?")
CONSTANT = re.compile(rf"`([A-Z][A-Z_0-9]+)`\s+=\s+({VALUE})")


def rooms():
    """The settings objects of all rooms, by name."""
    found = {}
    for path in sorted([*SRC.rglob("settings.py"), SRC / "basins.py"]):
        module = importlib.import_module(".".join(["escapade", *path.relative_to(SRC).with_suffix("").parts]))
        own = {name: one for name, one in vars(module).items() if name.isupper()}
        found |= {name: one for name, one in own.items() if is_dataclass(one) and list(numbers_of(one))}
    return found


def constants():
    """The numbers that modules define in capitals, by name: all values that a name has."""
    found = {}
    for path in SRC.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                try:
                    value = ast.literal_eval(node.value)
                except ValueError:
                    continue
                found.setdefault(node.targets[0].id, []).append(value)
    return found


ROOMS, CONSTANTS = rooms(), constants()


def number(text):
    """The value that a page states."""
    top, _, bottom = text.replace("_", "").partition("/")
    return float(Fraction(top) / Fraction(bottom or 1))


def quoted(page):
    """Everything that a page says about a settings object: name, field, index, value."""
    text = page.read_text(encoding="utf-8")
    return [(*hit.groups(), text.count("\n", 0, hit.start()) + 1) for hit in FIELD.finditer(text)]


def wrong(page):
    """What is wrong on a page, in words."""
    text = page.read_text(encoding="utf-8")
    for name, field, index, value, line in quoted(page):
        here = f"{page.name}:{line}: {name}.{field}"
        if name not in ROOMS and value is None:
            continue  # the attribute of some class
        if not hasattr(ROOMS.get(name), field):
            yield f"{here} does not exist"
            continue
        own = getattr(ROOMS[name], field)
        own = own[int(index)] if index else own
        if value and number(value) != pytest.approx(own, rel=1e-12):
            yield f"{here} is {own}, not {value}"
    for name, value in CONSTANT.findall(text):
        if number(value) not in [pytest.approx(own) for own in CONSTANTS.get(name, []) if not isinstance(own, str)]:
            yield f"{page.name}: {name} is {CONSTANTS.get(name, 'nothing')}, not {value}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_numbers_of_a_page_are_those_of_the_code(page):
    assert list(wrong(page)) == []


def test_numbers_are_found():
    stated = [value for page in PAGES for *_, value, _ in quoted(page) if value]
    assert len(stated) > 40
    assert len(ROOMS) > 10


@pytest.mark.parametrize(
    "text",
    ["`STEPS.cut` = 5", "`STEPS.nothing`", "`NOWHERE.cut` = 4", "`NOISE.close[0]` = 1e-2", "`BOTTOMLESS` = -1e21"],
)
def test_a_wrong_number_is_seen(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert list(wrong(page)) != []


BENCHMARKS = ROOT / "benchmarks"


def test_every_benchmark_is_described():
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in BENCHMARKS.glob("*.py") if f"`{path.name}`" not in text] == []


def test_the_table_of_seeds_is_that_of_the_code():
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    table = {name: (int(low), int(high)) for name, low, high in re.findall(r"\| `(\w+)` \| (\d+) to (\d+) \|", text)}
    taken = sorted(table.values())
    assert all(before[1] < after[0] for before, after in pairwise(taken))
    source = BENCHMARKS / "seeds.py"
    if source.exists():
        own = {name: one for name, one in runpy.run_path(str(source)).items() if isinstance(one, range)}
        assert table == {name: (one.start, one.stop - 1) for name, one in own.items()}


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs" / "developers").glob("*.md")), ROOT / "docs" / "notation.md"])
def test_the_files_that_a_page_names_exist(page):
    for name in set(re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8"))):
        places = (SRC / name, ROOT / name, *SRC.glob(f"**/{name}"))
        assert any(place.exists() for place in places), f"{name} does not exist"


def test_what_the_architecture_says_to_look_for_exists():
    """The first page that a newcomer reads."""
    text = (ROOT / "docs" / "developers" / "architecture.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for top in (SRC, ROOT / "tests") for path in top.rglob("*.py"))
    for name in re.findall(r"`(?:\w+\.)?([A-Za-z_]\w*)(?:\([^`]*\))?`", text):
        assert name == "py" or re.search(rf"\b{name}\b", code), f"{name} does not exist"
