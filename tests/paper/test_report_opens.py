"""The report opens in a real browser without a network: every figure is drawn, nothing is missing, no error is said."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from escapade.experiments import NAMES, run
from escapade.experiments.catalogue import panels_of
from escapade.experiments.layout import rows_of

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Every figure, from runs of at most 400 queries, on data of the shape of w1a."""
    folder = tmp_path_factory.mktemp("paper")
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(60):
        features = " ".join(f"{1 + i}:1" for i in np.sort(rng.choice(20, 4, replace=False)))
        lines.append(f"{rng.choice([-1, 1])} {features}")
    data = folder / "data"
    data.write_text("\n".join([*lines, "1 20:1"]) + "\n")
    return run("all", quick=True, seeds=1, budget=400, workers=1, data=data, out=folder / "out")


def opened(path, tmp_path):
    """The document after its scripts have run, and what the console said."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=30000", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def drawn_rows(figure):
    """The rows of panels of a figure, without those of the grid search."""
    return rows_of([panel for panel in panels_of((figure,), quick=True) if panel.figure == figure])


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@needs_chromium
def test_the_report_opens_and_shows_every_figure(report, tmp_path):
    page, console = opened(report.report, tmp_path)
    assert console == []
    rows = [[view.title for view in row] for name in NAMES for row in drawn_rows(name)]
    grids = {record.panel for record in report.records if record.figure == "rspi-grid"}
    places = re.findall(r'class="plotly-graph-div[^"]*"', page)
    drawn = [place for place in places if "js-plotly-plot" in place]
    assert len(places) == len(drawn) == len(rows) + 1 == 25  # rows of panels, and the grid
    titles = re.findall(r'class="annotation-text"[^>]*>([^<]+)<', page)
    assert sorted(titles) == sorted([*(title for row in rows for title in row), *grids])
    assert page.count("<div class=\"bar\">") > 100  # queries by purpose, a bar a curve
    for label in {record.curve for record in report.records if record.figure != "rspi-grid"}:
        assert re.search(rf'class="legendtext"[^>]*>{re.escape(label)}<', page), label


@needs_chromium
def test_a_broken_page_is_noticed(report, tmp_path):
    """The check itself can fail."""
    broken = tmp_path / "broken.html"
    broken.write_text(report.report.read_text().replace("Plotly.newPlot", "Plotly.noPlot", 1))
    page, console = opened(broken, tmp_path)
    assert any("noPlot" in line for line in console)
    assert len(re.findall(r'class="plotly-graph-div js-plotly-plot"', page)) == 24


def test_the_report_needs_nothing_else(report):
    page = report.report.read_text()
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<(img|iframe|script|link)[^>]*(src|href)=['\"](?!data:)", body)
    assert page.count("plotly.js v") == 1  # the program is there once


def test_every_claim_has_its_verdict_and_every_failure_its_line(report):
    page = report.report.read_text()
    assert len(report.verdicts) == 9
    assert "cannot work" not in page
    for verdict in report.verdicts:
        assert f">{verdict.answer}</span>" in page
    assert {failure.figure for failure in report.failures} == {"octopus", "cubic", "least-squares"}
    assert page.count("<h2 id=") == 5
