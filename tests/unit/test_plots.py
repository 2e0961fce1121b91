"""Pictures of runs: the curve adds up to the books, and the drawing shows what the run did."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import escapade
from escapade.errors import InvalidSetting
from escapade.plots import OKABE_ITO, check_format, new_figure, save
from escapade.plots.curve import PURPOSES, curve_of
from escapade.plots.run import COLOURS
from escapade.problems import Octopus, StochasticCubic

OCTOPUS = Octopus(d=3)


@pytest.fixture(scope="module")
def runs():
    """A run that knows the values of its iterates, and one that does not."""
    return {m: escapade.minimize(OCTOPUS, np.zeros(3), method=m, rng=0) for m in ("auto", "zo-gd-ncf")}


@pytest.mark.parametrize("method", ["auto", "zo-gd-ncf"])
def test_the_phases_add_up_to_the_books(runs, method):
    result = runs[method]
    spent = dict.fromkeys(COLOURS, 0.0)
    for phase, points in curve_of(result, OCTOPUS).pieces:
        spent[phase] += points[-1][0] - points[0][0]
    last = result.history[-1]
    for phase, queries in spent.items():
        booked = sum(n for purpose, n in last.by_purpose.items() if PURPOSES.get(purpose, "descent") == phase)
        assert queries == (result.nfev - last.nfev if phase == "certificate" else booked), phase
    assert sum(spent.values()) == result.nfev


@pytest.mark.parametrize("method", ["auto", "zo-gd-ncf"])
def test_the_curve_runs_from_the_start_to_the_value_returned(runs, method):
    curve = curve_of(runs[method], OCTOPUS)
    points = [point for _, piece in curve.pieces for point in piece]
    assert points[0] == (0.0, OCTOPUS(np.zeros(3)))
    assert points[-1] == (runs[method].nfev, pytest.approx(runs[method].fun))
    assert all(a[1][-1] == b[1][0] for a, b in itertools.pairwise(curve.pieces)), "a gap"
    assert all(x <= y for (x, _), (y, _) in itertools.pairwise(points)), "queries run backwards"
    assert len(curve.escapes) == runs[method].n_escapes


def test_escapes_begin_at_saddles(runs):
    values = [y for _, y in curve_of(runs["auto"], OCTOPUS).escapes]
    assert np.allclose(values, -OCTOPUS.nu * np.arange(3), atol=0.01 * OCTOPUS.nu)


def test_without_the_function_the_least_value_seen_stands_for_those_not_known(runs):
    known, seen = curve_of(runs["auto"]), curve_of(runs["zo-gd-ncf"])
    assert not known.best_seen
    assert seen.best_seen
    exact = curve_of(runs["zo-gd-ncf"], OCTOPUS)
    assert not exact.best_seen
    last = [curve.pieces[-1][1][-1][1] for curve in (seen, exact)]
    assert last[0] == pytest.approx(last[1], abs=1e-6)


def test_every_call_of_the_function_is_for_an_iterate_whose_value_is_not_known(runs):
    calls = []

    def fun(x):
        calls.append(x)
        return OCTOPUS(x)

    runs["auto"].plot(new_figure().subplots(), fun=fun)
    assert len(calls) == 1, "auto knows its values: only the start is asked for"
    runs["zo-gd-ncf"].plot(new_figure().subplots(), fun=fun)
    assert len(calls) == 2 + runs["zo-gd-ncf"].nit


def test_a_sampled_function_has_to_be_given():
    problem = StochasticCubic(d=4, n=64)
    result = escapade.minimize(
        *(problem.sample_value, 0.1 * np.ones(4)),
        method="zo-scsg-ncf", samples=64, gtol=0.05, curvtol=0.2, maxfev=200_000, rng=0,
    )
    with pytest.raises(InvalidSetting, match="pass fun="):
        result.plot(new_figure().subplots())
    assert result.plot(new_figure().subplots(), fun=problem).lines


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_drawing_names_its_axes_its_phases_and_the_certificate(runs):
    ax = runs["auto"].plot(new_figure().subplots(), fun=OCTOPUS)
    phases = {phase for phase, _ in curve_of(runs["auto"], OCTOPUS).pieces}
    assert {"descent", "escape", "certificate"} <= phases
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("queries", "f")
    assert f"{runs['auto'].nfev:,}" in ax.get_title(loc="left")
    assert set(texts(ax)) == phases | {"escape begins", "certified: minimum"}
    colours = {line.get_label(): line.get_color() for line in ax.lines}
    assert colours["escape"] == OKABE_ITO["vermillion"]
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_a_run_without_a_certificate_is_not_drawn_as_one_with_it():
    spent = escapade.minimize(OCTOPUS, np.zeros(3), method="zo-gd-ncf", maxfev=1000, rng=0)
    assert spent.certificate is None
    ax = spent.plot(new_figure().subplots(), fun=OCTOPUS)
    assert "no certificate (budget)" in texts(ax)
    assert not any(text.startswith("certified") for text in texts(ax))


def test_a_run_that_ends_at_a_saddle_says_so():
    problem = StochasticCubic(d=4, n=64)  # whose origin is a saddle, and which zo-scsg does not leave
    result = escapade.minimize(
        problem.sample_value, np.zeros(4), method="zo-scsg", samples=64, gtol=0.05, curvtol=0.2, maxiter=2, rng=0
    )
    ax = result.plot(new_figure().subplots(), fun=problem)
    assert f"not certified: {result.certificate.verdict}" in texts(ax)


def test_a_run_without_an_iterate_is_drawn():
    result = escapade.minimize(lambda x: float(x @ x), np.zeros(2), rng=0)
    assert result.plot(new_figure().subplots()).lines


def test_without_axes_it_makes_its_own_and_needs_no_display(tmp_path):
    code = """
import matplotlib.axes, numpy as np, escapade
result = escapade.minimize(lambda x: float(x @ x), np.ones(2), rng=0)
ax = result.plot()
assert isinstance(ax, matplotlib.axes.Axes)
ax.figure.savefig("run.png")
"""
    environment = {"PATH": "/usr/bin:/bin", "MPLCONFIGDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, timeout=120)
    assert (tmp_path / "run.png").stat().st_size > 5000


def test_without_matplotlib_the_extra_is_named(runs, monkeypatch):
    monkeypatch.setattr("escapade.plots.style.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"escapade\[plot\]"):
        runs["auto"].plot()


def test_pictures_are_saved_by_their_ending(runs, tmp_path):
    figure = new_figure()
    runs["auto"].plot(figure.subplots())
    for name in ("a.png", "b.svg", "c.pdf"):
        assert save(figure, tmp_path / name).stat().st_size > 1000
    with pytest.raises(ValueError, match=r"must end in one of .*\.png"):
        check_format("run.xyz")


def test_importing_the_library_does_not_import_what_draws():
    code = "import escapade, sys; print(sorted({'matplotlib', 'typer', 'rich', 'plotly'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
