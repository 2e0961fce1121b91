"""Promises of every method by name: budgets, counts, bits, inputs, interruptions, failures, and true success."""

import json
import math

import array_api_strict
import numpy as np
import pytest

import escapade
from escapade.errors import EvaluationFailed, NonFiniteValue
from escapade.methods import PRESETS
from escapade.problems import Octopus, OffAxis, StochasticCubic, Transformed, random_rotation
from escapade.stopping import Stop

D, N = 6, 100
SAMPLED = {
    "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii",
    "zo-spider-ncf", "zo-spider", "zo-scsg", "zo-sgd",
}
PLAIN = sorted(set(PRESETS) - SAMPLED)
NAMES = [*PLAIN, *sorted(SAMPLED)]
FIRST_ORDER = {"zo-spider", "zo-scsg", "zo-sgd"}
"""They have no means to leave a saddle; they start beside it."""
REACHING = [name for name in PLAIN if name != "rspi"]
"""RSPI's random search needs millions of queries for a gradient of 1e-4."""
TOLERANCES = {"gtol": 0.15, "curvtol": 0.4}
"""For the sampled problem."""

OFF_AXIS, OCTOPUS, SUM = OffAxis(d=D, seed=1), Octopus(d=4), StochasticCubic(d=D, n=N)


class Counted:
    """A problem that counts its calls and values by itself, and misbehaves on demand."""

    def __init__(self, problem, misbehave=None, after=math.inf):
        self.problem, self.misbehave, self.after = problem, misbehave, after
        self.calls = self.values = 0

    def __call__(self, x, ids=None):
        if self.calls >= self.after:
            self.calls += 1
            return self.misbehave(x)
        self.calls += 1
        self.values += (1 if x.ndim == 1 else x.shape[0]) * (1 if ids is None else len(ids))
        return self.problem(x) if ids is None else self.problem.sample_value(x, ids)


def problem_of(name):
    return SUM if name in SAMPLED else OFF_AXIS


def start_of(name):
    return np.full(D, 0.3) if name in FIRST_ORDER else np.zeros(D)


def solve(name, fun=None, problem=None, x0=None, **options):
    problem = problem_of(name) if problem is None else problem
    options = {"vectorized": True, "rng": 0, "maxfev": 5_000_000 if name in SAMPLED else 400_000, **options}
    if name in SAMPLED:
        options = {"samples": N, **TOLERANCES, **options}
    if name == "neon2-gd":
        options.setdefault("jac", lambda x, *args: problem.gradient(x))
    if name == "rspi":
        options["maxfev"] = min(options["maxfev"], 20_000)
    return escapade.minimize(
        Counted(problem) if fun is None else fun, start_of(name) if x0 is None else x0, method=name, **options
    )


def assert_second_order(problem, result):
    """By exact derivatives: what success claims."""
    assert np.linalg.norm(problem.gradient(result.x)) <= result.certificate.gtol * (1 + 1e-6)
    assert np.linalg.eigvalsh(problem.hessian(result.x))[0] >= -result.certificate.curvtol


@pytest.mark.parametrize("name", NAMES)
def test_every_small_budget_ends_cleanly(name):
    gradient = 2 * D + 1
    for maxfev in [*range(1, gradient + 1), 40, 100, 300, 1000, 3000, 50_000 if name in SAMPLED else 6000]:
        fun = Counted(problem_of(name))
        result = solve(name, fun, maxfev=maxfev)
        assert result.nfev == fun.values <= maxfev
        assert result.stop is Stop.BUDGET or maxfev > gradient
        assert not result.success or maxfev > gradient
        assert np.all(np.isfinite(result.x))
        assert result.message.endswith(".")
        if name not in SAMPLED and fun.values:
            assert result.fun == pytest.approx(float(problem_of(name)(result.x)), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_the_books_are_those_of_an_independent_counter(name, vectorized):
    fun = Counted(problem_of(name))
    result = solve(name, fun, vectorized=vectorized, maxfev=60_000 if name in SAMPLED else 4000)
    assert result.nfev == fun.values == sum(result.nfev_by_purpose.values())
    assert result.ncalls == fun.calls
    assert result.nrounds <= result.ncalls
    assert [step.nfev for step in result.history] == sorted(step.nfev for step in result.history)


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_bits(name):
    first, again, other = (solve(name, maxfev=80_000 if name in SAMPLED else 5000, rng=rng) for rng in (7, 7, 8))
    assert first.x.tobytes() == again.x.tobytes()
    assert first.to_json() == again.to_json()
    assert other.nfev > 0


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_not_written_to(name):
    x0, scale, weights = start_of(name), np.full(D, 2.0), np.ones(3)
    for array in (x0, scale, weights):
        array.flags.writeable = False
    problem = problem_of(name)

    def fun(x, *rest):
        value = float(problem(x) if len(rest) == 1 else problem.sample_value(x, rest[0]))
        assert rest[-1] is weights
        x[:] = 77.0  # nor may the function's writing harm the run
        return value

    options = {"args": (weights,), "vectorized": False, "maxfev": 20_000 if name in SAMPLED else 2000}
    result = solve(name, fun, x0=x0, x_scale=scale, **options)
    assert np.array_equal(x0, start_of(name))
    assert not np.any(result.x == 77.0)
    clean = solve(name, x0=start_of(name), x_scale=scale.copy(), **{**options, "args": ()})
    assert clean.x.tobytes() == result.x.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_callback_stops_in_either_signature(name):
    seen = []

    def by_point(xk):
        seen.append(xk.copy())
        xk[:] = 5.0
        raise StopIteration

    def by_name(intermediate_result):
        seen.append(intermediate_result.x)
        assert intermediate_result.nit == 1
        assert intermediate_result.nfev > 0
        raise StopIteration

    for callback in (by_point, by_name):
        result = solve(name, callback=callback)
        assert result.stop is Stop.CALLBACK
        assert result.nit == 1
        assert not result.success
    assert np.array_equal(*seen)
    assert np.array_equal(seen[0], result.history[0].x)


@pytest.mark.parametrize("name", NAMES)
def test_maxiter(name):
    result = solve(name, maxiter=1)
    assert result.nit == len(result.history) == 1
    assert result.stop in (Stop.ITERATIONS, Stop.CERTIFIED)


@pytest.mark.parametrize("name", NAMES)
def test_no_time_at_all(name):
    result = solve(name, maxtime=1e-9)
    assert result.stop is Stop.TIME
    assert result.nfev == 0
    assert np.array_equal(result.x, start_of(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("after", [0, 3, 150])
def test_control_c_keeps_the_best_point(name, after):
    def interrupt(x):
        raise KeyboardInterrupt

    fun = Counted(problem_of(name), interrupt, after)
    result = solve(name, fun, vectorized=False)
    assert result.stop is Stop.INTERRUPTED
    assert not result.success
    assert fun.calls == after + 1
    if name not in SAMPLED and result.nfev:
        assert result.fun == result.fun_best == float(OFF_AXIS(result.x))
        assert result.fun <= float(OFF_AXIS(start_of(name)))
    assert np.all(np.isfinite(result.x))


def fail(x):
    raise RuntimeError("the solver diverged")


def nan(x):
    return math.nan if x.ndim == 1 else np.full(len(x), math.nan)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("misbehave", "error", "stop"),
    [(fail, EvaluationFailed, Stop.USER_ERROR), (nan, NonFiniteValue, Stop.NON_FINITE)],
    ids=["raises", "nan"],
)
def test_a_function_that_fails_in_mid_run(name, misbehave, error, stop):
    for after in (0, 120):
        with pytest.raises(error) as caught:
            solve(name, Counted(problem_of(name), misbehave, after), vectorized=False, nan_policy="raise")
        raised = caught.value.result
        result = solve(name, Counted(problem_of(name), misbehave, after), vectorized=False, on_error="stop")
        assert raised.stop is result.stop is stop
        assert not result.success
        assert result.message.startswith(stop.sentence)
        assert str(caught.value)[1:] in result.message  # after its first letter, which is a capital there
        assert raised.x.tobytes() == result.x.tobytes()
        if after and name not in SAMPLED:
            assert result.fun <= float(OFF_AXIS(start_of(name)))
            assert result.fun == float(OFF_AXIS(result.x))


@pytest.mark.parametrize("name", NAMES)
def test_success_is_true(name):
    for seed in range(2):
        for problem in [SUM] if name in SAMPLED else [OFF_AXIS, OCTOPUS]:
            result = solve(name, problem=problem, x0=start_of(name)[: problem.d], rng=seed)
            if name in REACHING or name in SAMPLED:
                assert result.success, (seed, problem.name, result.message)
                assert result.status == 0
                assert math.isfinite(result.fun)
            if result.success:
                assert_second_order(problem, result)
            if name in REACHING:
                assert result.fun - problem.minimum <= 1e-6
            elif name in SAMPLED:
                assert float(problem(result.x)) - problem.minimum <= 0.02


@pytest.mark.parametrize("name", REACHING)
def test_offset_shift_and_rotation_change_nothing_that_matters(name):
    rng = np.random.default_rng(3)
    problem = Transformed(
        problem=OFF_AXIS, rotation=random_rotation(D, rng), shift=3 * rng.standard_normal(D), offset=1e3
    )
    result = solve(name, problem=problem, x0=problem.start)
    assert result.success, result.message
    assert_second_order(problem, result)
    assert result.fun - problem.minimum <= 1e-6


@pytest.mark.parametrize("name", sorted(SAMPLED))
def test_offset_and_shift_of_a_sum(name):
    shift = np.linspace(-1, 1, D)

    def fun(X, ids):
        return SUM.sample_value(X - shift, ids) + 1e3

    result = solve(name, fun, x0=start_of(name) + shift)
    assert result.success, result.message
    assert float(SUM(result.x - shift)) - SUM.minimum <= 0.02
    assert result.fun == pytest.approx(1e3 + SUM.minimum, abs=0.02)


@pytest.mark.parametrize("name", [*REACHING, *sorted(SAMPLED)])
def test_x_scale(name):
    unit = 10.0 ** np.linspace(-2, 2, D)
    problem = problem_of(name)

    def fun(X, *ids):
        return problem(X / unit) if not ids else problem.sample_value(X / unit, *ids)

    options = {"jac": lambda x: problem.gradient(x / unit) / unit} if name == "neon2-gd" else {}
    result = solve(name, fun, x0=start_of(name) * unit, x_scale=unit, **options)
    assert result.success, result.message
    assert np.linalg.norm(problem.gradient(result.x / unit)) <= result.certificate.gtol
    assert np.linalg.eigvalsh(problem.hessian(result.x / unit))[0] >= -result.certificate.curvtol
    assert result.certificate.scaled
    plain = solve(name)
    assert abs(float(problem(result.x / unit)) - float(problem(plain.x))) <= 0.02


@pytest.mark.parametrize("name", NAMES)
def test_results_print_and_turn_into_json(name):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    for maxfev in (5, 100_000):
        result = solve(name, maxfev=maxfev)
        assert str(result).splitlines()[0] == f"message     {result.message}"
        data = json.loads(result.to_json(), parse_constant=refuse)
        assert data["stop"] == result.stop.name
        assert data["nfev"] == result.nfev
        assert len(data["x"]) == D
        assert len(data["history"]) == result.nit


STRICT = ["auto", "zpsgd", "pagd", "zo-perturbed-agd", "zo-agd-ncf", "zo-two-point", "neon2-gd"]


@pytest.mark.parametrize("name", STRICT)
def test_strict_arrays(name):
    options = {"jac": lambda x: OFF_AXIS.gradient(np.asarray(x))} if name == "neon2-gd" else {}
    result = solve(name, x0=array_api_strict.zeros(D, dtype=array_api_strict.float64), **options)
    assert result.success
    assert type(result.x).__module__.startswith("array_api_strict")
    assert_second_order(OFF_AXIS, escapade.Result(x=np.asarray(result.x), certificate=result.certificate))
