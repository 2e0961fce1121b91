"""The site is built without a warning, and opens in a real browser without a network."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx")
    out, root = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("root")
    source = root / "docs"
    shutil.copytree(DOCS, source)  # the gallery is written beside its examples
    for name in ("CONTRIBUTING.md", "benchmarks/README.md"):  # pages of the site that are kept elsewhere
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(DOCS.parent / name, root / name)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(source), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def opened(address, tmp_path):
    """The document after its scripts have run, and what the console said."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--allow-file-access-from-files", "--enable-logging=stderr", "--virtual-time-budget=20000"]
    done = subprocess.run([*command, "--dump-dom", address], capture_output=True, text=True, timeout=240, check=True)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, [line for line in said if "[PST]" not in line]  # what the theme tells of itself


def test_every_link_within_the_site_leads_somewhere(site):
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    links = [
        (page, unquote(target))
        for page in pages
        for target in re.findall(r'(?:href|src)="([^"#?]+)[^"]*"', page.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:|//", target)
    ]
    assert not [f"{page.relative_to(site)}: {target}" for page, target in links if not (page.parent / target).exists()]


def test_every_page_of_the_docs_is_reached_from_the_first(site):
    seen, ahead = set(), [site / "index.html"]
    while ahead:
        page = ahead.pop()
        seen.add(page)
        links = re.findall(r'href="([^"#?:]+\.html)', page.read_text(encoding="utf-8"))
        ahead += {(page.parent / link).resolve() for link in links} - seen - set(ahead)
    pages = {site / path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert pages <= seen


@needs_chromium
@pytest.mark.parametrize("page", ["index.html", "start.html", "reference/functions.html", "reference/problems.html"])
def test_pages_open_without_a_network(site, page, tmp_path):
    text, console = opened((site / page).as_uri(), tmp_path)
    assert "Escapade" in text
    assert console == []


@needs_chromium
def test_the_search_finds(site, tmp_path):
    text, console = opened((site / "search.html").as_uri() + "?q=saddle", tmp_path)
    assert console == []
    assert re.search(r"found \d+ pages? matching|Search finished, found", text)
    assert 'href="start.html' in text
