"""Runs are kept, read back, and made again only where they must be."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from escapade.errors import InvalidSetting
from escapade.experiments import NAMES, run
from escapade.experiments.catalogue import panels_of
from escapade.experiments.evidence import Evidence
from escapade.experiments.failures import spider_walks_at_random
from escapade.experiments.runner import possible
from escapade.experiments.runs import runs_of
from escapade.experiments.store import Store, key, written
from escapade.problems import libsvm

TINY = {"quick": True, "seeds": 2, "workers": 1, "budget": 1500}


def panel_of(figure, title, budget=3000):
    return next(panel for panel in panels_of((figure,), True, budget) if panel.title == title)


def curve_of(panel, label):
    return next(curve for curve in panel.curves if curve.label == label)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("paper")
    said = []
    outcome = run("neon2", out=out, progress=lambda *words: said.append(words), **TINY)
    return out, outcome, said


def test_the_folder_holds_tidy_files_figures_and_a_report(finished):
    out, outcome, said = finished
    assert [done for done, _, _ in said] == list(range(1, 13))
    assert {total for _, total, _ in said} == {12}
    with (out / "runs.csv").open() as file:
        runs = list(csv.DictReader(file))
    assert len(runs) == len(outcome.records) == 12
    with (out / "curves.csv").open() as file:
        points = list(csv.DictReader(file))
    assert len(points) == sum(len(record.values) for record in outcome.records)
    about = json.loads((out / "settings.json").read_text())
    assert about["seeds"] == 2
    assert set(about["versions"]) == {"python", "escapade", "numpy", "scipy"}
    assert about["claims"][0]["verdict"] == outcome.verdicts[0].verdict
    for name in ("neon2.png", "neon2.svg"):
        assert (out / "figures" / name).stat().st_size > 5000
    assert outcome.report == out / "report.html"


def test_finished_runs_are_read_back(finished):
    out, first, _ = finished
    before = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*.json")}
    said = []
    again = run("neon2", out=out, progress=lambda *words: said.append(words), **TINY)
    assert said == [(12, 12, "12 finished runs read back")]
    assert again.records == first.records
    assert {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*.json")} == before


def test_after_an_interruption_only_what_is_missing_is_made(finished, tmp_path):
    def stop(done, total, text):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("neon2", out=tmp_path, progress=stop, **TINY)
    kept = sorted((tmp_path / "runs").rglob("*.json"))
    assert len(kept) == 5
    kept[0].write_text(kept[0].read_text()[:100])  # half of a file, as a crash could leave it
    said = []
    outcome = run("neon2", out=tmp_path, progress=lambda *words: said.append(words), **TINY)
    assert said[0] == (4, 12, "4 finished runs read back")
    assert len(said) == 9
    assert [replace(record, seconds=0.0) for record in outcome.records] == [
        replace(record, seconds=0.0) for record in finished[1].records
    ]


LONG = """
from escapade.experiments import NAMES, run

if __name__ == "__main__":
    run("neon2", out={out!r}, seeds=20, workers={workers})
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_it_and_leaves_only_finished_runs(tmp_path, workers):
    script, out = tmp_path / "long.py", tmp_path / "out"
    script.write_text(LONG.format(out=str(out), workers=workers))
    process = subprocess.Popen([sys.executable, script], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while len(list(out.rglob("*.json"))) < 3:
            assert process.poll() is None
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to every process of the group
        assert process.wait(timeout=60) != 0
    finally:
        if process.poll() is None:
            process.kill()
    kept = [json.loads(path.read_text())["record"] for path in out.rglob("*.json")]
    assert 3 <= len(kept) < 120
    assert {record["ending"] for record in kept} <= {"certified", "budget"}


def test_two_processes_make_the_same_runs(finished, tmp_path):
    outcome = run("neon2", out=tmp_path, **(TINY | {"workers": 2}))
    assert [record.values for record in outcome.records] == [record.values for record in finished[1].records]


def test_a_run_with_other_settings_is_not_taken(tmp_path):
    panel = panel_of("neon2", "d = 6")
    curve, store = curve_of(panel, "auto"), Store(tmp_path)
    (record,) = runs_of(panel, curve, [0])
    store.save(panel, curve, record, "digest")
    assert store.load(panel, curve, 0, "digest") == record
    assert store.load(panel, curve, 0, "other") is None
    assert store.load(panel, curve, 1, "digest") is None
    assert key(panel, curve, 0, "") != key(panel_of("neon2", "d = 6", 2000), curve, 0, "")


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "sub" / "file.txt"
    part = written(path)
    part.__enter__().write("half")
    assert [one.suffix for one in path.parent.iterdir()] == [".part"]
    assert not part.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)  # it goes on to be raised
    assert list(path.parent.iterdir()) == []


def test_what_a_record_says_is_so():
    panel = panel_of("octopus", "d = 4", 60_000)
    for label in ("ZO-GD-NCF", "auto"):
        (record,) = runs_of(panel, curve_of(panel, label), [1])
        assert record.certified
        assert record.gradient <= panel.epsilon
        assert record.lowest >= -panel.delta
        assert record.left < record.reached <= record.nfev <= panel.budget
        assert record.values[0] == record.start == 0.0
        assert record.fun == pytest.approx(record.least, abs=1e-3)
        assert record.queries == sorted(record.queries)


def test_queries_without_the_check_are_recorded_along_the_curve():
    panel = panel_of("cubic", "stochastic, d = 10", 200_000)
    (sgd,) = runs_of(panel, curve_of(panel, "ZO-SGD-NCF"), [0])
    (spider,) = runs_of(panel, curve_of(panel, "ZO-SPIDER-NCF"), [0])
    assert spider.free == spider.queries  # it makes no such check
    assert "gradient check" not in spider.by_purpose
    assert sgd.by_purpose["gradient check"] > sgd.nfev / 4
    assert all(free <= whole for free, whole in zip(sgd.free, sgd.queries, strict=True))
    assert 0 <= sgd.nfev - sgd.by_purpose["gradient check"] - sgd.free[-1] <= sgd.nfev - sgd.queries[-1]
    for record in (sgd, spider):
        assert sum(record.by_purpose.values()) == record.nfev
        assert sum(record.moves.values()) == record.nit


def test_spider_as_printed_only_escapes_and_repaired_goes_down():
    panel = panel_of("cubic", "stochastic, d = 10", 600_000)
    for seed in range(2):
        (printed,) = runs_of(panel, curve_of(panel, "ZO-SPIDER-NCF, as printed"), [seed])
        (used,) = runs_of(panel, curve_of(panel, "ZO-SPIDER-NCF"), [seed])
        assert printed.moves["escape"] > 10 * printed.moves.get("descent", 0)
        assert used.moves["descent"] > used.moves["escape"]
        assert used.fun < printed.fun


def test_why_spider_fails_is_told_from_the_records():
    panel = panel_of("cubic", "stochastic, d = 10", 300_000)
    (record,) = runs_of(panel, curve_of(panel, "ZO-SPIDER-NCF, as printed"), [0])
    said = spider_walks_at_random(Evidence([record], [panel]), None).happened
    assert f"{record.moves['escape']:,} escape steps" in said
    assert f"v took {100 * record.by_purpose['descent'] / record.nfev:.0f}% of the queries" in said
    assert "can succeed up to 0.90" in said  # the curvature along its line is -1 + |x|, delta 0.1
    other = replace(record, moves={"escape": 7, "descent": 9}, by_purpose={"descent": 1, "curvature": 3})
    said = spider_walks_at_random(Evidence([other], [panel]), None).happened
    assert "7 escape steps and 9 descent steps" in said
    assert "v took 25%" in said


def test_pagd_as_printed_stays_and_zpsgd_as_printed_is_stopped_when_it_is_lost():
    panel = panel_of("octopus", "d = 10", 60_000)
    for record in runs_of(panel, curve_of(panel, "PAGD, as printed"), range(3)):
        assert record.left is None
        assert record.verdict == "saddle"
    for record in runs_of(panel, curve_of(panel, "ZPSGD, as printed"), range(3)):
        assert record.fun > record.start
        assert record.nfev < 60_000


def test_scipy_stays_at_the_saddle_of_a_rotated_octopus_and_says_success():
    panel = panel_of("octopus", "rotated, d = 10")
    for label in ("Powell (SciPy)", "BFGS (SciPy)"):
        for record in runs_of(panel, curve_of(panel, label), range(2)):
            assert record.ending == "reports success"
            assert record.verdict == "saddle"
            assert record.left is None


def test_permutations_change_with_the_seed():
    panel = panel_of("octopus", "permuted, d = 10")
    x = np.random.default_rng(0).standard_normal(10) * 8
    values = {float(panel.problem(seed, None)(x)) for seed in range(4)}
    assert len(values) > 1
    assert math.isclose(float(panel.problem(2, None)(x)), float(panel.problem(2, None)(x)))


def test_what_cannot_be_run_is_refused_in_words(tmp_path):
    with pytest.raises(InvalidSetting, match="no figure 'squid': choose all, octopus, neon2, cubic, least-squares"):
        run(["squid"], out=tmp_path)
    with pytest.raises(InvalidSetting, match="seeds=0 must be a positive integer"):
        run("neon2", seeds=0, out=tmp_path)
    with pytest.raises(FileNotFoundError):
        run(["least-squares"], data=tmp_path / "nothing", out=tmp_path)


def test_without_its_data_the_least_squares_figure_is_left_out_of_all_and_refused_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(libsvm, "W1A_URL", (tmp_path / "nowhere").as_uri())
    panels = panels_of(NAMES, quick=True)
    rest, missing = possible(panels, None, required=False)
    assert {panel.figure for panel in rest} == {"octopus", "rspi-grid", "neon2", "cubic"}
    assert "could not be downloaded" in missing["least-squares"]
    with pytest.raises(FileNotFoundError, match="could not be downloaded"):
        run(["least-squares", "neon2"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
