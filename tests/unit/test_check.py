"""check_fun: every fault it looks for is found, and nothing else."""

import re

import array_api_strict
import numpy as np
import pytest

from escapade.check import check_fun
from escapade.errors import EvaluationFailed, InvalidSetting, NonFiniteValue
from escapade.report import FunctionReport

X0 = np.array([0.3, -0.2, 0.5, 0.1])
A = np.random.default_rng(0).standard_normal((4, 4))


def smooth(x):
    return float(np.cos(3 * x).sum() + np.sum(x**4))


def topics(report):
    return {remark.topic for remark in report.remarks if not remark.good}


def rosenbrock(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


SMOOTH = {
    "square": lambda x: float(x @ x),
    "cos": smooth,
    "wiggly": lambda x: float(np.cos(50 * x).sum()),
    "rosenbrock": rosenbrock,
    "cube of |x|": lambda x: float(np.sum(np.abs(x) ** 3)),
    "linear": lambda x: float(x.sum()),
    "shifted": lambda x: 1000 + float(x @ x),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SMOOTH)
def test_good_functions_pass(name, dtype, seed):
    report = check_fun(SMOOTH[name], X0.astype(dtype), rng=seed)
    assert report.ok, str(report)
    assert report.roughness == "smooth"
    assert report.deterministic
    assert not report.mutates
    assert (report.rows, report.averages) == (None, None)


ROUGH = {
    "kink": (lambda x: float(np.abs(x).sum()), "slope"),
    "small kink at x0": (lambda x: 1e-2 * float(np.abs(x - X0).sum()) + smooth(x), "slope"),
    "maximum": (lambda x: float(np.maximum(x, 0).sum()) + smooth(x), "slope"),
    "floor": (lambda x: float(np.floor(x).sum()), "jump"),
    "jump": (lambda x: float(np.floor(x).sum()) + float(x @ x), "jump"),
    "jump at x0": (lambda x: 1e-3 * float(x[0] > 0.3) + float(x @ x), "jump"),
    "constant": (lambda x: 1.0, "flat"),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ROUGH)
def test_kinks_and_jumps_are_reported(name, seed):
    fun, kind = ROUGH[name]
    report = check_fun(fun, X0, rng=seed)
    assert report.roughness == kind, str(report)
    assert topics(report) - {"lengths"} == {"smoothness"}
    bad = [remark for remark in report.remarks if not remark.good]
    assert all(";" in remark.sentence for remark in bad), "a remedy follows"
    if "at x0" in name:
        assert "at x0" in next(remark for remark in bad if remark.topic == "smoothness").sentence


def test_one_variable_at_a_kink_and_between_steps():
    assert check_fun(lambda x: abs(float(x[0])), [0.0], rng=0).roughness == "slope"
    assert check_fun(lambda x: float(np.floor(x[0])), [0.5], rng=0).roughness == "flat"
    assert check_fun(lambda x: float(np.floor(x[0])), [1.0], rng=0).roughness == "jump"


def test_a_jump_of_curvature_is_reported():
    report = check_fun(lambda x: float(np.sum(x * np.abs(x))), X0, rng=0)
    assert report.roughness == "curvature"
    assert topics(report) == {"smoothness"}


def test_randomness_is_reported_and_its_level_measured():
    rng = np.random.default_rng(5)
    report = check_fun(lambda x: float(x @ x) + 1e-6 * rng.standard_normal(), X0, rng=0)
    assert not report.deterministic
    assert topics(report) == {"repeats", "noise"}
    assert 1e-7 < report.noise.level < 1e-5
    assert "noise='auto'" in str(report)
    assert report.roughness == "smooth"


@pytest.mark.parametrize(("noise", "good"), [(None, False), ("auto", True), (1e-6, True), (1e-12, False)])
def test_noise_that_was_declared_is_no_fault(noise, good):
    def fun(x):  # a solver inside, stopped early
        return float(x @ x) + 1e-6 * float(np.sin(1e9 * x.sum()))

    report = check_fun(fun, X0, noise=noise, rng=1)
    assert report.deterministic
    assert report.noise.source == "estimated"
    assert ("noise" not in topics(report)) is good


def test_single_precision_inside_shows_as_noise():
    report = check_fun(lambda x: float(np.sum(np.float32(x) ** 2)), X0, rng=0)
    assert "noise" in topics(report)
    assert 1e-9 < report.noise.level < 1e-6


def test_a_function_with_a_memory_is_not_deterministic():
    seen = []

    def fun(x):
        seen.append(0)
        return float(x @ x) + 1e-3 * (len(seen) > 50)

    assert not check_fun(fun, X0, rng=0).deterministic


ROWS = {
    "exact": lambda X: np.sum(X**2, axis=1),
    "rounding": lambda X: np.sum(X**2, axis=1) * (1 + 1e-16 * len(X)) * (1 + 1e-15 * (len(X) > 1)),
    "centred": lambda X: np.sum((X - X.mean(axis=0)) ** 2, axis=1),
    "position": lambda X: np.sum(X**2, axis=1) + np.arange(len(X)),
    "first": lambda X: np.sum(X**2, axis=1) - X[0, 0],
    "seeded": lambda X: np.sum(X**2, axis=1) + 1e-3 * np.random.default_rng(0).standard_normal(len(X)),
    "reversed": lambda X: np.sum(X**2, axis=1)[::-1],
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ROWS)
def test_rows_that_depend_on_one_another_are_reported(name, seed):
    report = check_fun(ROWS[name], X0, vectorized=True, rng=seed)
    assert report.deterministic
    assert report.rows == (name if name in ("exact", "rounding") else "wrong")
    assert topics(report) == (set() if name in ("exact", "rounding") else {"rows"}), str(report)


def test_a_matrix_product_is_at_worst_rounding():
    report = check_fun(lambda X: np.sum((X @ A) ** 2, axis=1), X0, vectorized=True, rng=0)
    assert report.rows in ("exact", "rounding")
    assert report.ok


@pytest.mark.parametrize("vectorized", [False, True])
def test_writing_to_the_input_is_reported(vectorized):
    def fun(x):
        x *= 2
        return np.sum(x**2, axis=-1)

    x = X0.copy()
    report = check_fun(fun, x, vectorized=vectorized, rng=0)
    assert report.mutates
    assert topics(report) == {"input"}
    assert "copy()" in str(report)
    np.testing.assert_array_equal(x, X0)


@pytest.mark.parametrize("samples", [1, 2, 50, "stream"])
def test_averages_pass_and_sums_do_not(samples):
    def terms(x, ids):
        return np.array([x @ x + np.random.default_rng(i).standard_normal(4) @ x for i in ids])

    report = check_fun(lambda x, ids: terms(x, ids).mean(), X0, samples=samples, rng=0)
    assert report.averages
    assert report.ok, str(report)
    report = check_fun(lambda x, ids: terms(x, ids).sum(), X0, samples=samples, rng=0)
    assert report.averages is False
    assert topics(report) == {"samples"}


def test_a_sum_is_no_mean_where_all_of_it_is_zero():
    report = check_fun(lambda x, ids: float(np.sum(ids % 3) * x[0] + len(ids) * x @ x), np.zeros(3), samples=50, rng=0)
    assert report.averages is False


def test_a_sample_must_be_a_function_of_its_id():
    rng = np.random.default_rng(0)
    report = check_fun(lambda x, ids: x @ x + rng.standard_normal(), X0, samples="stream", rng=0)
    assert not report.deterministic
    assert "id" in next(remark for remark in report.remarks if remark.topic == "repeats").sentence


def test_an_edge_of_the_domain_is_reported():
    def fun(x):
        return float(np.log(x + 0.25).sum()) if np.all(x > -0.25) else np.nan

    report = check_fun(fun, X0, rng=0)
    assert topics(report) == {"domain"}
    assert re.search(r"no value could be had of .* nan.*; return .*, or pass a smaller x_scale", str(report))
    assert check_fun(fun, X0, x_scale=0.01, rng=0).ok


def test_a_function_that_fails_at_x0_raises():
    with pytest.raises(NonFiniteValue, match="nan"):
        check_fun(lambda x: np.nan, X0)
    with pytest.raises(EvaluationFailed, match="ZeroDivisionError"):
        check_fun(lambda x: 1 / 0, X0)


BAD = [("fun", 3), ("noise", -1.0), ("x_scale", 0), ("samples", 0)]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_bad_settings_are_refused(name, value):
    with pytest.raises(InvalidSetting):
        check_fun(**{"fun": smooth, "x0": X0, name: value})


@pytest.mark.parametrize("vectorized", [False, True])
def test_queries_are_all_the_calls_there_were(vectorized):
    count = 0

    def fun(x):
        nonlocal count
        count += len(x) if vectorized else 1
        return np.sum(x**2, axis=-1)

    report = check_fun(fun, X0, vectorized=vectorized, rng=0)
    assert report.nfev == count <= 420
    assert str(report).splitlines()[-1].split() == ["cost", str(count), "queries"]


def test_the_same_seed_gives_the_same_report_and_nothing_is_printed(capsys):
    reports = [check_fun(rosenbrock, X0, rng=7) for _ in range(2)]
    assert reports[0] == reports[1]
    assert isinstance(reports[0], FunctionReport)
    lines = str(reports[0]).splitlines()
    assert 4 <= len(lines) <= 11
    assert all(len(line) <= 110 for line in lines)
    assert capsys.readouterr() == ("", "")


def test_arguments_and_other_namespaces_pass_through():
    xp = array_api_strict
    report = check_fun(lambda x, a: xp.sum(a * x * x), xp.asarray(X0), (2.0,), rng=0)
    assert report.ok
    report = check_fun(lambda X: xp.sum(X * X, axis=1), xp.asarray(X0), vectorized=True, rng=0)
    assert report.rows == "exact"
