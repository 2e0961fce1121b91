"""Results of every kind: written as JSON and read again, shown in a notebook, and words that agree with the verdict."""

import dataclasses
import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import escapade
from escapade import Certificate, Result
from escapade._plain import POINTS
from escapade.methods import PRESETS
from escapade.problems import OffAxis, StochasticCubic
from escapade.stopping import Stop

D, N = 4, 50
SAMPLED = {
    "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii",
    "zo-spider-ncf", "zo-spider", "zo-scsg", "zo-sgd",
}
PROBLEM, SUM = OffAxis(d=D, seed=1), StochasticCubic(d=D, n=N)
NOISE = np.random.default_rng(5).normal(size=10**5)


def run(name="auto", fun=None, x0=None, **options):
    if name in SAMPLED:
        options = {"samples": N, "gtol": 0.15, "curvtol": 0.4, **options}
        fun = SUM.sample_value if fun is None else fun
    if name == "neon2-gd":
        options["jac"] = PROBLEM.gradient
    x0 = np.full(D, 0.2) if x0 is None else x0
    options = {"rng": 0, "maxfev": 3000, "on_error": "stop", "method": name, **options}
    return escapade.minimize(PROBLEM if fun is None else fun, x0, **options)


def noisy():
    values = iter(NOISE)
    return lambda x: float(x @ x) + 0.1 * next(values)


def stops(x):
    raise StopIteration


def lost(x):
    return 1.0 if np.all(x == 0.2) else math.nan


RESULTS = {name: lambda name=name: run(name) for name in PRESETS} | {
    "budget of one": lambda: run(maxfev=1),
    "no budget": lambda: run(maxfev=0),
    "time": lambda: run(maxtime=1e-9),
    "iterates": lambda: run("zo-gd-ncf", maxiter=2, maxfev=None),
    "callback": lambda: run(callback=stops),
    "rule": lambda: run(stop=escapade.stopping.Iterations(1)),
    "unbounded": lambda: run(fun=lambda x: -float(x @ x), maxfev=None),
    "non-finite": lambda: run(fun=lost, nan_policy="stop"),
    "nothing but NaN around x0": lambda: run(fun=lost),
    "failing": lambda: run(fun=lambda x: 1 / 0),
    "noise": lambda: run(fun=noisy(), noise=0.1),
    "absolute tolerances": lambda: run(gtol=1e-5, curvtol=1e-2, x_scale=2.0),
    "float32": lambda: run(x0=np.full(D, 0.2, dtype=np.float32)),
    "bounds": lambda: run(x0=np.full(D, 0.5), bounds=[(0.3, 1.0)] * D),
    "gradients": lambda: run(jac=PROBLEM.gradient),
    "a saddle kept": lambda: run("zpsgd", x0=np.zeros(D), maxiter=1),
}
CERTIFICATES = {
    "minimum": lambda: escapade.certify(lambda x: float(x @ x), np.zeros(3), rng=0),
    "second-order": lambda: escapade.certify(lambda x: float(np.sum(x**4)), np.zeros(3), gtol=1e-4, curvtol=1e-2),
    "saddle": lambda: escapade.certify(lambda x: float(x[0] ** 2 - x[1] ** 2), np.zeros(2), rng=0),
    "not stationary": lambda: escapade.certify(lambda x: float(x @ x), np.ones(2), rng=0),
    "undecided": lambda: escapade.certify(lambda x: float(x @ x), np.zeros(3), maxfev=2, rng=np.random.default_rng(1)),
    "noise": lambda: escapade.certify(noisy(), np.zeros(2), noise=0.1, gtol=1e-6),
    "bounds": lambda: escapade.certify(lambda x: float(np.sum(x)), np.zeros(2), bounds=[(0, 1)] * 2, rng=0),
    "invariances": lambda: escapade.certify(
        lambda x: float((x[0] - x[1] - 1) ** 2), np.array([1.0, 0.0]), invariances=np.ones((1, 2)), rng=0
    ),
    "a saddle in float32": lambda: escapade.certify(PROBLEM, np.zeros(D, dtype=np.float32), rng=0),
}


def equal(a, b):
    """The same, NaN included, whatever the namespace of arrays."""
    if hasattr(a, "shape") and a.shape != ():
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    if dataclasses.is_dataclass(a):
        assert type(a) is type(b)
        names = [field.name for field in dataclasses.fields(a) if field.compare]
        return all(equal(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    numbers = isinstance(a, float) and isinstance(b, float)  # float64 is a float
    return (type(a) is type(b) or numbers) and (a == b or (numbers and math.isnan(a) and math.isnan(b)))


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_is_read_as_it_was_written(kind):
    result = RESULTS[kind]()
    again = Result.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert set(again) == set(result)
    for name in result:
        assert equal(result[name], again[name]), name
    assert str(again) == str(result)


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_certificate_is_read_as_it_was_written(kind):
    certificate = CERTIFICATES[kind]()
    again = Certificate.from_json(certificate.to_json())
    assert equal(certificate, again)
    assert again.to_json() == certificate.to_json()
    if kind in escapade.certificate.certificate.SENTENCES:
        assert certificate.verdict == kind


def test_the_comparison_sees_differences():
    first = CERTIFICATES["minimum"]()
    assert not equal(first, dataclasses.replace(first, nfev=first.nfev + 1))
    assert not equal(first, dataclasses.replace(first, x=first.x + 1))
    assert set(POINTS) == {"x", "x0", "x_best", "direction"}


def test_many_runs_are_read_as_they_were_written():
    runs = escapade.multistart(PROBLEM, [np.zeros(D), np.full(D, 0.3)], rng=0)
    again = escapade.Multistart.from_json(runs.to_json())
    assert again.to_json() == runs.to_json()
    assert str(again) == str(runs)


class Checked(HTMLParser):
    """Every tag is closed in its turn, and none could run anything."""

    def __init__(self, text):
        super().__init__()
        self.open, self.said = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in {"style", "div", "table", "tr", "th", "td", "details", "summary"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.said.append(data)


@pytest.mark.parametrize("kind", ["auto", "no budget", "noise", "unbounded", "failing"])
def test_a_notebook_shows_what_print_shows(kind):
    result = RESULTS[kind]()
    shown = " ".join(Checked(result._repr_html_()).said)
    for line in str(result).splitlines():
        assert line.strip() == "certificate" or line[14:].strip() in shown
    if result.certificate is not None:
        assert result.certificate.verdict in " ".join(Checked(result.certificate._repr_html_()).said)


def test_what_a_function_says_is_escaped_in_a_notebook():
    def fun(x):
        raise ValueError("<script>alert(1)</script>")

    html = run(fun=fun)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("kind", RESULTS)
def test_the_message_agrees_with_the_verdict(kind):
    result = RESULTS[kind]()
    verdict = None if result.certificate is None else result.certificate.verdict
    assert ("minimum was certified" in result.message) is (verdict == "minimum")
    assert ("second-order stationary point was certified" in result.message) is (verdict == "second-order")
    assert (result.stop is Stop.CERTIFIED) is (verdict in ("minimum", "second-order"))
    if verdict == "saddle":
        assert re.search(r"\bsaddle\b", result.message)


def test_the_gradient_at_the_point_is_kept():
    """Three scales: none, one given, one learnt."""
    scale = np.array([1.0, 10.0, 0.1])

    def fun(x):
        return float(np.sum(((x - 1) / scale) ** 2))

    x = np.array([1.5, 1.0, 1.02])
    true = 2 * (x - 1) / scale**2
    for options in ({"gtol": 1e-4}, {"gtol": 1e-4, "x_scale": scale}, {}, {"x_scale": scale}):
        assert escapade.certify(fun, x, rng=0, **options).jac == pytest.approx(true, rel=1e-5, abs=1e-6)
    result = escapade.minimize(fun, x, rng=0)
    assert np.linalg.norm(result.jac * scale) < 1e-5
    assert np.allclose(result.jac, 2 * (result.x - 1) / scale**2, atol=1e-5)
    assert json.loads(result.to_json())["jac"] == result.jac.tolist()
    assert run(maxfev=1).jac is None


# The Hessian


A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])


def quadratic(x):
    return float(0.5 * (x - 1) @ A @ (x - 1) + 0.01 * np.sum((x - 1) ** 4))


def test_the_hessian_and_the_covariance_where_they_were_measured():
    """Three scales: none, one given, one learnt."""
    for options in ({"gtol": 1e-4}, {"gtol": 1e-4, "x_scale": np.array([1.0, 2.0, 0.5])}, {}):
        seen = escapade.certify(quadratic, np.ones(3), finder="dense", rng=0, **options)
        assert seen.hessian == pytest.approx(A, abs=1e-4)
        assert seen.covariance() == pytest.approx(np.linalg.inv(A), abs=1e-4)
        assert seen.covariance(scale=2.0) == pytest.approx(2 * np.linalg.inv(A), abs=1e-4)
        again = Certificate.from_json(seen.to_json())
        assert np.array_equal(again.hessian, seen.hessian)
    bounded = escapade.certify(quadratic, np.ones(3), finder="dense", bounds=[(1, 2), (0, 2), (0, 2)], rng=0)
    assert bounded.hessian is None
    result = escapade.minimize(quadratic, np.zeros(3), rng=0)
    assert (result.hess is None) is (result.hess_inv is None)
    assert result.hess is None or result.hess_inv == pytest.approx(np.linalg.inv(A), abs=1e-3)


def test_a_likelihood_has_error_bars():
    data = np.random.default_rng(3).normal(2.0, 0.7, size=400)

    def negative_log_likelihood(p):
        mean, log_width = p["mean"], p["log width"]
        return float(np.sum(0.5 * ((data - mean) / np.exp(log_width)) ** 2 + log_width))

    fit = escapade.minimize(negative_log_likelihood, {"mean": 0.0, "log width": 0.0}, rng=0)
    seen = escapade.certify(negative_log_likelihood, fit.x, finder="dense", rng=0)
    deviations = dict(zip(seen.structure.names, np.sqrt(np.diag(seen.covariance())), strict=True))
    assert deviations["x['mean']"] == pytest.approx(np.std(data) / 20, rel=1e-3)
    assert deviations["x['log width']"] == pytest.approx(1 / np.sqrt(800), rel=1e-3)


def test_a_covariance_that_is_none_is_refused_by_name():
    from escapade.errors import MissingCapability

    def flat(p):
        return float((p["a"] - p["b"] - 1) ** 2)

    seen = escapade.certify(flat, {"a": 1.0, "b": 0.0}, finder="dense", gtol=1e-6, curvtol=1e-3, rng=0)
    with pytest.raises(MissingCapability, match=r"singular.*0\.71 x\['[ab]'\] .*0\.71 x\['[ab]'\]"):
        seen.covariance()
    with pytest.raises(MissingCapability, match="finder='dense'"):
        run(maxfev=1).covariance()
    assert run(maxfev=1).hess is None
