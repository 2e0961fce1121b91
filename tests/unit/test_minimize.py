"""The driver: stopping rules, statuses, progress, history, books, reserves, settings, and what it refuses."""

import io
import logging
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import escapade
from escapade.curvature import Cheapest, Dense, Evidence
from escapade.errors import BudgetExhausted, EvaluationFailed, InvalidSetting, MissingCapability, NonFiniteValue
from escapade.methods import PRESETS, ZOGDNCF, ZPSGD
from escapade.problems import Octopus, OffAxis, StochasticCubic
from escapade.stopping import Below, Callback, Ending, Iterations, Limits, SmallGradient, Stagnation, Stop
from escapade.trace import Iterate, Move, Step, Trace

PROBLEM = OffAxis(d=5, seed=0)


def solve(**options):
    return escapade.minimize(PROBLEM, PROBLEM.start, **{"vectorized": True, "rng": 0, **options})


def trace(*values, sizes=None):
    sizes = [None] * len(values) if sizes is None else sizes
    return Trace([Step(k + 1, Move.DESCENT, v, g, k, {}) for k, (v, g) in enumerate(zip(values, sizes, strict=True))])


# Rules


def test_rules_by_themselves():
    assert Below(1.0)(trace(3.0, 1.0))
    assert not Below(1.0)(trace(3.0, None))
    assert Iterations(2)(trace(None, None))
    assert not Iterations(3)(trace(None, None))
    assert SmallGradient(0.1)(trace(None, sizes=[0.1]))
    assert not SmallGradient(0.1)(trace(None, sizes=[None]))
    assert Stagnation(2)(trace(3.0, 1.0, 1.0, 2.0))
    assert not Stagnation(2)(trace(3.0, 1.0, 0.5, 2.0))
    assert not Stagnation(2)(trace(3.0, 1.0))
    assert Stagnation(1, decrease=0.5)(trace(3.0, None, 2.6))


def test_rules_combine():
    low, many = Below(1.0), Iterations(2)
    assert (low | many)(trace(5.0, 5.0))
    assert not (low & many)(trace(0.0))
    assert (low & many)(trace(5.0, 0.0))
    assert ((low & many) | Iterations(3))(trace(5.0, 5.0, 5.0))
    assert (low | (lambda trace: True))(trace(5.0))


def test_a_rule_ends_a_run():
    result = solve(method="pagd", stop=Iterations(7) | Below(-1e9))
    assert result.stop is Stop.RULE
    assert result.nit == 7
    assert result.certificate is not None
    both = solve(method="pagd", stop=Iterations(3) & Iterations(5))
    assert both.nit == 5


def test_a_rule_at_a_minimum_is_a_success():
    result = solve(method="zo-gd-ncf", stop=SmallGradient(5e-5) & Iterations(20))
    assert result.success
    assert result.stop is Stop.CERTIFIED


def test_limits_in_their_order():
    assert Limits().reached(trace(1.0), None) is None
    assert Limits(maxiter=1).reached(trace(1.0), 0.0) is Stop.ITERATIONS
    assert Limits(maxiter=1, maxtime=1e-9).reached(trace(1.0), 0.0) is Stop.TIME
    assert Limits(maxiter=1, rule=Iterations(1)).reached(trace(1.0), 0.0) is Stop.RULE
    assert Limits(maxtime=1e6).reached(trace(1.0), 0.0) is None
    assert Limits(maxiter=1).reached(trace(1.0), -1e30) is Stop.UNBOUNDED


@pytest.mark.parametrize("method", ["auto", "zo-gd-ncf"])
def test_a_function_without_a_bottom_is_called_so(method):
    result = escapade.minimize(lambda x: -x @ x, [1.0, 2.0], method=method, rng=0, maxtime=60)
    assert result.stop is Stop.UNBOUNDED
    assert not result.success


def test_maxtime_ends_a_method_that_asks_for_gradients_alone():
    """f(x) = x_1 has a gradient for ever, and gradient descent makes no query."""
    result = escapade.minimize(
        lambda x: float(x[0]) + 0.5 * float(x[1]) ** 2,
        np.ones(2),
        method="neon2-gd",
        jac=lambda x: np.array([1.0, x[1]]),
        maxtime=0.2,
        rng=0,
    )
    assert result.stop is Stop.TIME
    assert result.ngrad > 10


# Statuses


def test_statuses_are_distinct_sentences():
    assert len({stop.status for stop in Stop}) == len(Stop)
    for stop in Stop:
        assert re.fullmatch(r"[A-Z].*\.", stop.sentence)
    assert Stop.CERTIFIED.status == 0


def test_where_a_method_stops_is_read_off_the_certificate():
    class Idle:
        name = "idle"

        def iterates(self, f, x, rng):
            yield Iterate(x)
            return Ending(Stop.FINISHED)

    at = {"saddle": PROBLEM.start, "not stationary": PROBLEM.start + 1.0, "minimum": PROBLEM.minima[0]}
    stops = {"saddle": Stop.SADDLE, "not stationary": Stop.NOT_STATIONARY, "minimum": Stop.CERTIFIED}
    for verdict, x in at.items():
        result = escapade.minimize(PROBLEM, x, method=Idle(), vectorized=True, rng=0)
        assert result.certificate.verdict == verdict
        assert result.stop is stops[verdict]
        assert result.success is (verdict == "minimum")
        assert np.array_equal(result.x, x)
        assert result.fun == pytest.approx(float(PROBLEM(x)))
        assert result.constants == {}
        assert result.method == "idle"


@pytest.mark.parametrize(
    ("misbehave", "stop"),
    [(KeyboardInterrupt, Stop.INTERRUPTED), (ZeroDivisionError, Stop.USER_ERROR)],
)
def test_what_happens_while_certifying_is_the_status(misbehave, stop):
    class Idle:
        name = "idle"

        def iterates(self, f, x, rng):
            f.value(x)
            yield Iterate(x)
            return Ending(Stop.FINISHED)

    calls = 0

    def fun(x):
        nonlocal calls
        calls += 1
        if calls > 5:
            raise misbehave
        return float(x @ x)

    result = escapade.minimize(fun, np.ones(3), method=Idle(), on_error="stop", rng=0)
    assert result.stop is stop
    assert result.certificate is None
    assert result.fun == 3.0


def test_time_that_ends_while_certifying():
    class Idle:
        name = "idle"

        def iterates(self, f, x, rng):
            f.value(x)
            f.until(-math.inf)
            yield Iterate(x)
            return Ending(Stop.FINISHED)

    result = escapade.minimize(lambda x: float(x @ x), np.ones(3), method=Idle(), rng=0)
    assert result.stop is Stop.TIME
    assert result.fun == 3.0


def test_an_error_carries_the_result():
    with pytest.raises(NonFiniteValue) as caught:
        escapade.minimize(lambda x: math.inf, np.ones(2), rng=0)
    assert caught.value.result.stop is Stop.NON_FINITE
    assert np.array_equal(caught.value.result.x, np.ones(2))


class Third:
    """A callback, or a rule, that raises when it is called for the third time."""

    def __init__(self, error):
        self.error, self.calls = error, 0

    def __call__(self, seen):
        self.calls += 1
        if self.calls == 3:
            raise self.error
        return False


@pytest.mark.parametrize("name", ["callback", "stop"])
@pytest.mark.parametrize("on_error", ["raise", "stop"])
@pytest.mark.parametrize("error", [ZeroDivisionError("a slip"), EvaluationFailed("of another run", None)])
def test_a_callback_that_raises_keeps_the_result(name, on_error, error):
    """The exception is the user's own, whatever its class, and no value is asked for after it."""
    values = []

    def fun(x):
        values.append(float(PROBLEM(x)))
        return values[-1]

    mistake = Third(error)
    with pytest.raises(type(error)) as caught:
        escapade.minimize(fun, PROBLEM.start, method="zo-gd-ncf", rng=0, on_error=on_error, **{name: mistake})
    assert caught.value is error
    result = caught.value.result
    assert result.stop is Stop.CALLBACK_ERROR
    assert not result.success
    assert result.nit == mistake.calls == 3
    assert result.fun == result.fun_best == min(values) == float(PROBLEM(result.x))
    assert result.nfev == len(values)
    assert result.message.startswith("The callback or the stopping rule failed; the best point is kept. ")
    assert result.message.endswith(f"{type(error).__name__}: {error}.")


def test_a_callback_that_stops_the_run_has_not_failed():
    result = solve(method="zo-gd-ncf", callback=Third(StopIteration()))
    assert result.stop is Stop.CALLBACK
    assert result.message == Stop.CALLBACK.sentence
    assert result.nit == 3


# What is shown and kept


def test_progress_writes_lines_without_escape_codes_where_stderr_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("escapade.progress.EVERY", 0.0)
    result = solve(method="escaping-bfgs", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == result.nit + 1
    assert "escaping-bfgs  iterate 1" in lines[0]
    assert "queries  descent  f = " in lines[0]
    assert "|g| = " in lines[1]
    assert lines[-1] == result.message
    assert all(c.isprintable() or c == "\n" for c in err)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("installed", ["tqdm", "rich", ""])
def test_progress_is_a_bar_on_a_terminal_where_one_is_installed(installed, monkeypatch):
    if installed:
        pytest.importorskip(installed)
    monkeypatch.setattr("escapade.progress.find_spec", lambda name: name if name == installed else None)
    monkeypatch.setattr("sys.stderr", Terminal())
    result = solve(method="escaping-bfgs", progress=True, maxfev=1000)
    written = sys.stderr.getvalue()
    assert result.message in written
    assert "iterate" in written
    assert ("\x1b" in written) is (installed == "rich")
    if installed == "tqdm":
        assert f"{result.history[-1].nfev}/1000" in written or "/1000" in written


def test_progress_of_a_run_that_fails_is_closed(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(EvaluationFailed):
        escapade.minimize(lambda x: 1 / 0, PROBLEM.start, progress=True)


def test_logging_is_silent_until_it_is_asked_for(capsys, caplog):
    logger = logging.getLogger("escapade")
    assert any(isinstance(handler, logging.NullHandler) for handler in logger.handlers)
    assert logger.level == logging.NOTSET
    with caplog.at_level(logging.DEBUG, logger="escapade"):
        result = solve()
        escapade.certify(PROBLEM, result.x)
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("auto from a point of 5 variables")
    assert f"ended after {result.nfev} queries: {result.message}" in said[-2]
    assert "minimum after" in said[-1]
    assert sum("iterate" in line for line in said) == result.nit
    assert capsys.readouterr() == ("", "")


def test_silence_is_the_default(capsys):
    solve(maxfev=300)
    assert capsys.readouterr() == ("", "")


def test_history_is_one_record_an_iterate():
    result = solve(method="zo-gd-ncf")
    history = result.history
    assert isinstance(result, OptimizeResult)
    assert [step.nit for step in history] == list(range(1, result.nit + 1))
    assert result.n_escapes == sum(step.move is Move.ESCAPE for step in history) == 1
    assert history[0].move is Move.ESCAPE
    assert history[-1].grad_norm < history[1].grad_norm
    for step in history:
        assert step.nfev == sum(step.by_purpose.values()) <= result.nfev
        assert step.x.shape == (5,)
    assert np.array_equal(history[-1].x, result.x)
    fields = {"nit", "move", "fun", "grad_norm", "nfev", "by_purpose", "x", "best", "estimated"}
    assert set(history.plain()[0]) == fields


def test_the_books_by_purpose():
    result = solve(method="zo-gd-ncf")
    assert sum(result.nfev_by_purpose.values()) == result.nfev
    assert set(result.nfev_by_purpose) == {"setup", "check", "curvature", "escape", "certificate"}
    assert result.ngrad == 0
    assert 0 < result.nrounds <= result.ncalls < result.nfev
    assert result.fun_best <= result.fun


def test_constants_are_named():
    result = solve(method="zo-gd-ncf", curvtol=0.1)
    assert set(result.constants) == {"ell"}
    assert 1 < result.constants["ell"] < 10
    assert "estimated   ell " in str(result)


def test_printing():
    text = str(solve())
    for word in ("message", "success     True", "fun", "method", "queries", "certificate", "verdict     minimum"):
        assert word in text
    assert repr(solve(maxfev=3)).startswith("message     The budget")


@pytest.mark.parametrize(("maxiter", "words"), [(1, "zo-gd-ncf, 1 iterate, 1 escape"), (2, "2 iterates, 1 escape")])
def test_one_is_not_printed_as_many(maxiter, words):
    result = solve(method="zo-gd-ncf", maxiter=maxiter)
    assert re.search(rf"{words}$", str(result), re.MULTILINE)
    result.update(nrounds=1)
    assert re.search(r"^queries     \d+ in 1 round: ", str(result), re.MULTILINE)
    one = replace(result.certificate, nfev=1, nrounds=1)
    assert "cost        1 query in 1 round, failure" in str(one)
    assert str(Step(1, Move.DESCENT, None, None, 1, {})) == "iterate 1  1 query  descent"
    with pytest.raises(BudgetExhausted, match=r"^1 more query would pass the budget: 3 of maxfev=3 are used"):
        raise BudgetExhausted(1, 3, 3)


# Settings and budgets


def test_unknown_methods_are_named():
    with pytest.raises(InvalidSetting, match=r"method='bfgs' must be a method object or one of auto, "):
        solve(method="bfgs")


@pytest.mark.parametrize(
    "options",
    [
        {"gtol": 0.0},
        {"curvtol": -1.0},
        {"failure": 1.0},
        {"maxiter": 0},
        {"maxtime": -1.0},
        {"maxfev": 2.5},
        {"on_error": "ignore"},
        {"noise": -1.0},
        {"x_scale": [1.0, 2.0]},
        {"stop": 3},
        {"stop": Below},
        {"callback": 3},
    ],
)
def test_bad_settings_are_refused(options):
    with pytest.raises(InvalidSetting, match=next(iter(options))):
        solve(**options)


def test_what_stop_must_be_is_said():
    with pytest.raises(InvalidSetting, match=r"stop=3 must be a rule of escapade.stopping, .* pass maxiter"):
        solve(stop=3)


@pytest.mark.parametrize("method", ["zo-gd-ncf", ZPSGD(eta=0.05, r=1e-5, m=5, sigma=1e-5)])
def test_rounds_are_preferred_by_auto_alone(method):
    with pytest.raises(InvalidSetting, match=r"prefer='rounds' is for method='auto' alone, not for 'z"):
        solve(method=method, prefer="rounds", maxfev=100)
    assert solve(method=method, prefer="queries", maxfev=100).nfev <= 100


def test_constraints_that_are_no_linear_equalities_are_refused():
    with pytest.raises(InvalidSetting, match="only linear equalities are supported"):
        solve(constraints={"type": "eq"})
    assert solve(constraints=()).success


def test_capabilities_that_lack():
    with pytest.raises(MissingCapability, match="samples"):
        solve(method="zo-sgd-ncf")
    with pytest.raises(MissingCapability, match="jac="):
        solve(method="neon2-gd")


def test_a_method_object_runs_on_exactly_its_settings():
    method = ZOGDNCF(
        epsilon=1e-2, delta=0.1, eta=0.05, finder=Cheapest(delta=0.1), mu_check=1e-4, mu_step=1e-5, rho=1.0, K=3
    )
    seen = []

    def fun(x):
        seen.append(x.copy())
        return float(PROBLEM(x))

    x0 = PROBLEM.start + 0.5
    result = escapade.minimize(fun, x0, method=method, maxfev=4 * 5 * 3, rng=0)
    assert result.nit == 3
    assert result.nfev_by_purpose == {"check": 30, "descent": 30}
    assert np.allclose(seen[0] - x0, 1e-4 * np.eye(5)[0])
    assert np.allclose(seen[10] - x0, 1e-5 * np.eye(5)[0])
    assert np.allclose(result.history[0].x, x0 - 0.05 * PROBLEM.gradient(x0), atol=1e-6)
    assert result.constants == {}
    assert result.method == "zo-gd-ncf"


def test_the_methods_own_limit_is_a_status():
    method = ZOGDNCF(epsilon=1e-2, delta=0.1, eta=1e-3, finder=Cheapest(delta=0.1), mu_check=1e-4, K=2)
    result = escapade.minimize(PROBLEM, PROBLEM.start + 0.5, method=method, vectorized=True, rng=0)
    assert result.stop is Stop.ITERATIONS
    assert result.certificate.verdict == "not stationary"


def test_a_reserve_is_kept_for_methods_without_a_finder():
    result = solve(method="zpsgd", maxfev=3000)
    assert result.nfev <= 3000
    assert result.certificate is not None
    assert result.nfev_by_purpose["certificate"] > 0
    endless = ZPSGD(eta=0.05, r=1e-5, m=5, sigma=1e-5)
    for maxfev in (100, 400, 6000):
        result = solve(method=endless, maxfev=maxfev)
        assert result.nfev <= maxfev
        if maxfev == 6000:
            assert result.success
            assert np.array_equal(result.x, result.history[-1].x)
        else:
            assert result.stop is Stop.BUDGET


def test_without_a_certificate_the_best_point_is_returned():
    values = []

    def fun(x):
        values.append(float(PROBLEM(x)))
        return values[-1]

    for maxfev in (200, 330, 360):
        values.clear()
        result = escapade.minimize(fun, PROBLEM.start, maxfev=maxfev, rng=0)
        if result.certificate is None:
            assert result.fun == min(values) == float(PROBLEM(result.x))


def test_one_failure_probability_for_the_run():
    result = solve(failure=0.02)
    assert result.certificate.failure <= 0.02


def test_sampled_functions():
    problem = StochasticCubic(d=5, n=100)
    options = {"samples": 100, "vectorized": True, "gtol": 0.1, "curvtol": 0.3, "rng": 0}
    result = escapade.minimize(problem.sample_value, np.zeros(5), method="zo-scsg-ncf", **options)
    assert result.success
    assert result.fun == pytest.approx(float(problem(result.x)), abs=1e-12)
    assert result.fun == pytest.approx(problem.minimum, rel=0.02)
    assert result.x_best is None
    assert set(result.constants) >= {"ell", "sigma", "rho"}
    spent = escapade.minimize(problem.sample_value, np.zeros(5), method="zo-scsg-ncf", maxfev=30_000, **options)
    assert spent.stop is Stop.BUDGET
    assert spent.fun < 0 == float(problem(np.zeros(5)))  # of the best point looked at


def test_sampled_functions_keep_a_quarter_for_the_certificate():
    problem = StochasticCubic(d=5, n=100)
    options = {"samples": 100, "vectorized": True, "gtol": 0.1, "curvtol": 0.3, "rng": 0, "maxfev": 600_000}
    result = escapade.minimize(problem.sample_value, np.full(5, 0.3), method="zo-scsg", **options)
    assert result.nfev <= 600_000
    assert result.certificate is not None
    assert result.certificate.verdict != "undecided"


def test_the_start_may_be_a_list_of_integers():
    result = escapade.minimize(lambda x: float((x - 0.5) @ (x - 0.5)), [1, 2], rng=0)
    assert result.success
    assert np.allclose(result.x, 0.5, atol=1e-4)


def test_callbacks_signature_is_read_once():
    class Counting:
        def __init__(self):
            self.count = 0

        def __call__(self, intermediate_result):
            self.count += 1

    callback = Counting()
    assert Callback(callback).by_name
    assert not Callback(lambda xk: None).by_name
    assert solve(method="zo-gd-ncf", callback=callback).nit == callback.count


def test_every_preset_names_its_method():
    problem = Octopus(d=2)
    result = escapade.minimize(problem, problem.start, method="pagd", vectorized=True, rng=0)
    assert result.method == "pagd"
    assert set(PRESETS) >= {
        *("auto", "zo-gd-ncf", "zo-sgd-ncf", "zo-scsg-ncf", "zo-spider-ncf", "zo-spider", "zo-scsg", "zo-sgd"),
        *("zpsgd", "pagd", "rspi", "neon2-gd", "zo-scrn"),
    }


def test_a_certificate_states_what_a_given_finder_spent():
    """A method object may carry a finder of less confidence than was asked for; the certificate says so."""
    problem = OffAxis(d=4, seed=0)
    constants = {"ell": problem.ell, "rho": problem.rho, "Delta_f": 3.0, "d": 4, "epsilon": 1e-2, "delta": 0.1}
    method = escapade.theory.theorem_4(**constants, p=0.1).method()
    result = escapade.minimize(problem, problem.start, method=method, gtol=1e-2, curvtol=0.1, vectorized=True, rng=0)
    assert result.success
    assert result.certificate.failure >= 0.1


@pytest.mark.parametrize("method", [None, 3, ["auto"], "automatic"])
def test_what_is_no_method_is_named(method):
    with pytest.raises(InvalidSetting, match="method="):
        solve(method=method)


def test_a_finding_about_another_point_certifies_nothing():
    """A method that ends with what it found elsewhere is not believed: the driver looks for itself."""

    class Elsewhere:
        name, certifies, failure = "elsewhere", True, 1e-4

        def iterates(self, f, x, rng):
            finder = Dense(delta=0.1, failure=1e-4)
            here = finder.look(f, np.ones(2), rng)  # a minimum
            finding = finder.within(here, rng)
            assert finding.certified
            yield Iterate(np.zeros(2), Move.DESCENT, 0.0)  # a saddle
            return Ending.of(finding, Evidence(local=here))

    def fun(x):
        return float(np.sum((x**2 - 1) ** 2))

    result = escapade.minimize(fun, np.full(2, 0.5), method=Elsewhere(), curvtol=0.1, rng=0)
    assert not result.success
    assert result.certificate.verdict == "saddle"
