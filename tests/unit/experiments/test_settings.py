"""The tables say what the paper prints, and the methods are built from them."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from escapade.curvature import ZONCFOnline
from escapade.experiments import settings
from escapade.experiments.build import build
from escapade.experiments.catalogue import SAMPLED_QUERIES, panels_of
from escapade.experiments.layout import rows_of
from escapade.experiments.panels import QUERIES, Curve
from escapade.methods import PAGD, RSPI, ZOGDNCF, ZOSCSGNCF, ZOSPIDERNCF, ZPSGD

E = math.e


def row(rows, algorithm):
    return next(one for one in rows if one.algorithm == algorithm)


def test_the_octopus_table():
    for d in (10, 30, 50, 100):
        rows = settings.octopus(d)
        assert row(rows, "ZPSGD") == settings.Row(algorithm="ZPSGD", ell=E, rho=1e-4, r=1e-4, eta=1 / (2 * E), m=d)
        pagd = row(rows, "PAGD")
        assert (pagd.r, pagd.t_thres, pagd.g_thres, pagd.eta) == (E / 100, 1, E / 100, 1 / (4 * E))
        assert row(rows, "ZO-GD-NCF").p == 0.01
    schedules = [
        (one.sigma_1, one.sigma_2, one.shrink, one.every, one.T_DFPI)
        for one in (row(settings.octopus(d), "RSPI") for d in (10, 30, 50, 100))
    ]
    assert schedules == [
        (1.0, 1.25, 0.95, 20, 20),
        (1.0, 1.25, 0.95, 20, 20),
        (1.0, 1.25, 0.85, 20, 20),
        (0.75, 0.5, 0.9, 20, 20),
    ]


def test_the_other_tables():
    assert all(one.eta == 1 / (2 * E) and one.ell == E for one in settings.neon2(30))
    rows = settings.deterministic(200)
    assert {one.ell for one in rows} == {100.0}
    rspi = row(rows, "RSPI")
    assert (rspi.sigma_1, rspi.sigma_2, rspi.shrink, rspi.every, rspi.T_DFPI) == (0.4, 0.4, 0.98, 10, 100)
    steps = {one.algorithm: 1 / (one.eta * one.ell) for one in settings.stochastic(20)}
    expected = {"ZO-SGD-NCF": 3, "ZO-SCSG-NCF I": 4, "ZO-SCSG-NCF II": 10, "ZO-SPIDER-NCF": 15}
    assert steps == pytest.approx(expected)
    assert {(one.batch, one.small) for one in settings.stochastic(20)} == {(128, None), (128, 10)}


def test_methods_carry_the_numbers_of_their_row():
    rows = settings.octopus(10)
    method = build(row(rows, "ZO-GD-NCF"), 10, 1e-4, ell=2 * E)
    assert isinstance(method, ZOGDNCF)
    assert (method.eta, method.delta, method.rho) == (1 / (4 * E), math.sqrt(E * 1e-4), E)
    assert method.finder.failure == 0.01
    assert method.finder.ell == 2 * E
    rspi = build(row(rows, "RSPI"), 10, 1e-4)
    assert isinstance(rspi, RSPI)
    assert (rspi.shrink, rspi.every, rspi.form) == (0.95, 20, "printed")
    second = build(row(settings.stochastic(20), "ZO-SCSG-NCF II"), 20, 1e-2, sigma2=1.0)
    assert isinstance(second, ZOSCSGNCF)
    assert (second.epochs.option, second.epochs.B, second.epochs.b) == (2, 128, 10)


def test_as_printed_and_as_used_differ_only_where_the_table_cannot_work():
    rows = settings.octopus(10)
    printed, used = (build(row(rows, "PAGD"), 10, 1e-4, variant=one) for one in ("printed", "used"))
    assert isinstance(printed, PAGD)
    assert isinstance(used, PAGD)
    assert (printed.form, printed.t_thres) == ("printed", 1)
    assert used.form == "continue"
    assert (printed.eta, printed.r, printed.g_thres) == (used.eta, used.r, used.g_thres)
    printed, used = (build(row(rows, "ZPSGD"), 10, 1e-4, variant=one) for one in ("printed", "used"))
    assert isinstance(printed, ZPSGD)
    assert isinstance(used, ZPSGD)
    assert printed.eta == 1 / (2 * E)
    assert used.eta == pytest.approx(printed.eta / 2.1)
    assert (printed.m, printed.r) == (used.m, used.r) == (10, 1e-4)
    spider = row(settings.stochastic(20), "ZO-SPIDER-NCF")
    printed, used = (build(spider, 20, 1e-2, variant=one) for one in ("printed", "used"))
    assert isinstance(printed, ZOSPIDERNCF)
    assert (printed.form, used) == ("printed", replace(printed, form="downhill"))


def test_a_rival_in_its_authors_form_and_a_method_with_the_papers_finder():
    rspi = row(settings.octopus(10), "RSPI")
    assert build(rspi, 10, 1e-4, variant="authors") == replace(build(rspi, 10, 1e-4), form="authors")
    for one in settings.stochastic(20):
        method = build(one, 20, 1e-2, sigma2=1.0, finder="online")
        assert isinstance(method.finder, ZONCFOnline)
        assert method == replace(build(one, 20, 1e-2, sigma2=1.0), finder=method.finder)


def test_every_panel_of_the_paper_is_there_with_auto_in_it():
    panels = panels_of(("octopus", "neon2", "cubic", "least-squares"), quick=False)
    names = [(panel.figure, panel.title) for panel in panels]
    assert len(names) == len(set(names))
    for d in (10, 30, 50, 100):
        for form in ("", "permuted, ", "rotated, "):
            assert ("octopus", f"{form}d = {d}") in names
        assert ("rspi-grid", f"d = {d}") in names
    assert {("neon2", "d = 30"), ("neon2", "d = 50")} <= set(names)
    for d in (100, 200):
        assert ("cubic", f"deterministic, d = {d}") in names
        assert ("cubic", f"rotated, deterministic, d = {d}") in names
    assert {("cubic", "stochastic, d = 20"), ("cubic", "stochastic, d = 100")} <= set(names)
    assert {("least-squares", "deterministic"), ("least-squares", "stochastic")} <= set(names)
    for panel in panels:
        labels = [curve.label for curve in panel.curves]
        assert len(labels) == len(set(labels))
        assert "auto" in labels or panel.figure == "rspi-grid"
        assert all(curve.shown_in == ("auto",) for curve in panel.curves if curve.label == "auto")
        assert ("Powell (SciPy)" in labels) == ("BFGS (SciPy)" in labels) == (panel.form != "plain")


def test_both_finders_and_the_free_check_have_a_row_wherever_there_are_samples():
    panels = [panel for panel in panels_of(("cubic", "least-squares"), quick=False) if panel.samples]
    assert len(panels) == 3
    for panel in panels:
        rows = {view.row: view for (view,) in rows_of([panel])}
        assert list(rows) == ["paper", "check free", "finders", "auto"]
        assert rows["check free"].labels == rows["paper"].labels
        assert rows["check free"].axis == "free"
        with_online = {label.replace(", ZO-NCF-Online", "") for label in rows["finders"].labels if "Online" in label}
        assert with_online == set(rows["paper"].labels)
        assert rows["auto"].labels == ("auto",)


def test_a_curve_names_its_rows_and_a_row_that_none_names_is_not_drawn():
    panel = panels_of(("octopus",), quick=False)[0]
    assert [view.row for (view,) in rows_of([panel])] == ["paper", "auto", "since then"]
    bare = replace(panel, curves=tuple(curve for curve in panel.curves if "since then" not in curve.shown_in))
    assert [view.row for (view,) in rows_of([bare])] == ["paper", "auto"]
    later = replace(bare, curves=(*bare.curves, Curve(label="later", shown_in=("since then",))))
    assert [view.title for (view,) in rows_of([later])] == ["d = 10", "auto: d = 10", "since then: d = 10"]


def test_the_page_tells_the_budgets_of_the_code():
    page = (Path(__file__).parents[3] / "docs" / "paper.md").read_text(encoding="utf-8")
    assert f"after {QUERIES // 10**6} million queries" in page
    assert f"budget is {SAMPLED_QUERIES // 10**6} million" in page


def test_quick_has_the_same_panels_at_reduced_size():
    whole, quick = (panels_of(("octopus", "neon2", "cubic", "least-squares"), quick=flag) for flag in (False, True))
    assert len(whole) == len(quick)
    for one, small in zip(whole, quick, strict=True):
        assert (one.figure, one.form, len(one.curves)) == (small.figure, small.form, len(small.curves))
        assert small.budget < one.budget
        assert small.d < one.d or one.family == "least-squares"
