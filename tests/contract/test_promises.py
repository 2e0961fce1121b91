"""What the page of promises says: deprecations that warn and go on, public names, versions in the changelog."""

import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import escapade

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def test_what_is_deprecated_warns_where_the_user_called_it_and_works_as_before():
    def slope(x):
        return 2 * x

    with pytest.warns(DeprecationWarning, match="grad= is deprecated.*jac=") as seen:
        old = escapade.minimize(lambda x: float(x @ x), np.ones(3), grad=slope, rng=0)
    assert seen[0].filename == __file__
    assert old.to_json() == escapade.minimize(lambda x: float(x @ x), np.ones(3), jac=slope, rng=0).to_json()
    assert "Deprecated now: `grad=`" in PAGE


def test_the_changelog_knows_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert any(heading.startswith(version("escapade")) for heading in headings)
    assert escapade.__version__ == version("escapade")


def test_public_modules_are_there():
    named = re.search(r"the modules (.*?), keyword", PAGE, re.DOTALL).group(1)
    for name in re.findall(r"`([\w.*]+)`", named):
        name = name.removeprefix("escapade.").removesuffix(".*")
        __import__(f"escapade.{name}")
