"""Promises every curvature finder keeps."""

import math

import array_api_strict
import numpy as np
import pytest

from escapade.curvature import DFPI, FINDERS, SAMPLED_FINDERS, Outcome
from escapade.errors import MissingCapability
from escapade.oracle import Oracle
from escapade.problems import Octopus, OffAxis, StochasticCubic, Transformed, random_rotation

DELTA = 0.1


def saddle(d=12, seed=0, **options):
    problem = OffAxis(d=d, seed=seed, centre=np.random.default_rng(seed).standard_normal(d), offset=5.0, **options)
    return problem, problem.start


def finder(name, **options):
    if name in ("chebyshev", "neon2"):
        options.setdefault("ell", 3.0)
    return (FINDERS | SAMPLED_FINDERS)[name](delta=DELTA, **options)


def oracle(problem, **options):
    return Oracle.of(problem, vectorized=True, jac=problem.gradient, **options)


def bowl(d=12, seed=0):
    """The same problem with its negative eigenvalue turned around."""
    return saddle(d, seed, negative=0.5)


every = pytest.mark.parametrize("name", sorted(FINDERS))
certifying = pytest.mark.parametrize("name", sorted(set(FINDERS) - {"power"}))


@every
def test_a_direction_is_found_and_is_one(name):
    for seed in range(5):
        problem, x = saddle(seed=seed)
        options = {"T": 60} if name == "power" else {}
        finding = finder(name, **options)(oracle(problem), x, np.random.default_rng(seed))
        assert finding.outcome is Outcome.FOUND
        v = finding.direction
        assert v.shape == x.shape
        assert math.isclose(np.linalg.norm(v), 1.0, rel_tol=1e-9)
        assert v @ problem.hessian(x) @ v <= -DELTA / 2
        assert finding.curvature.upper <= -DELTA / 2


@certifying
def test_a_minimum_is_certified(name):
    for seed in range(3):
        problem, x = bowl(seed=seed)
        finding = finder(name)(oracle(problem), x, np.random.default_rng(seed))
        assert finding.outcome is Outcome.CERTIFIED
        assert finding.direction is None
        assert -DELTA <= finding.curvature.lower <= np.linalg.eigvalsh(problem.hessian(x))[0] <= finding.curvature.upper


def test_power_iteration_never_certifies():
    problem, x = bowl()
    assert DFPI(delta=DELTA, T=40)(oracle(problem), x, np.random.default_rng(0)).outcome is Outcome.UNDECIDED


@every
def test_a_budget_of_any_size_ends_undecided_and_is_kept(name):
    problem, x = bowl(d=6)
    for maxfev in (0, 1, 2, 12, 13, 24, 30, 36, 40, 60):
        f = oracle(problem, maxfev=maxfev)
        finding = finder(name)(f, x, np.random.default_rng(0))
        assert f.ledger.queries <= maxfev
        assert finding.outcome is Outcome.UNDECIDED or f.ledger.queries > 24


@every
def test_same_seed_same_bits_and_every_query_is_counted(name):
    problem, x = saddle()
    asked = []

    def counting(points):
        asked.append(len(points))
        return problem(points)

    findings, before = [], x.copy()
    for _ in range(2):
        f = Oracle.of(counting, vectorized=True, jac=problem.gradient)
        asked.clear()
        findings.append(finder(name)(f, x, np.random.default_rng(3)))
        assert f.ledger.queries == f.ledger.attempts == sum(asked)
    assert np.array_equal(findings[0].direction, findings[1].direction)
    assert findings[0].curvature == findings[1].curvature
    assert np.array_equal(x, before)


@certifying
@pytest.mark.parametrize("offset", [1e3, -1e3])
def test_a_constant_and_a_shift_change_nothing(name, offset):
    for build, outcome in ((saddle, Outcome.FOUND), (bowl, Outcome.CERTIFIED)):
        problem, x = build(seed=4)
        moved = Transformed(problem=problem, offset=offset, shift=np.random.default_rng(1).uniform(-5, 5, problem.d))
        finding = finder(name)(oracle(moved), moved.inverse(x), np.random.default_rng(0))
        assert finding.outcome is outcome


@pytest.mark.parametrize("name", ["auto", "lanczos", "dense"])
def test_array_api_strict(name):
    problem, x = saddle(d=18)
    strict = array_api_strict.asarray(x)
    finding = finder(name)(Oracle.of(problem, vectorized=True), strict, np.random.default_rng(0))
    assert finding.outcome is Outcome.FOUND
    assert isinstance(finding.direction, type(strict))
    numpy_finding = finder(name)(Oracle.of(problem, vectorized=True), x, np.random.default_rng(0))
    assert np.allclose(np.asarray(finding.direction), numpy_finding.direction, atol=1e-6)


@pytest.mark.parametrize("name", ["chebyshev", "lanczos", "dense", "auto"])
@pytest.mark.parametrize("k", [0, 3, 9, 10])
def test_octopus_plain_offset_shifted_rotated(name, k):
    d, delta = 10, math.sqrt(math.e * 1e-4)
    base, rng = Octopus(d=10), np.random.default_rng(k)
    x = [*base.saddles, base.minima[0]][k]
    options = {"ell": 2 * math.e} if name == "chebyshev" else {}
    for problem in (
        base,
        Transformed(problem=base, offset=1e3),
        Transformed(problem=base, shift=rng.standard_normal(d)),
        Transformed(problem=base, rotation=random_rotation(d, rng), about=x),
    ):
        at = x if problem is base else problem.inverse(x)
        finding = FINDERS[name](delta=delta, **options)(oracle(problem), at, rng)
        if k == d:
            assert finding.certified
        else:
            assert finding.found
            assert finding.direction @ problem.hessian(at) @ finding.direction <= -delta / 2


@pytest.mark.parametrize("name", ["minibatch", "online", "neon2-online"])
def test_finders_of_sampled_functions(name):
    problem = StochasticCubic(d=8, n=200, seed=1)

    def grad(x, ids):
        return problem.gradient(x) + np.mean(problem.xi[ids] * x + problem.slope[ids], axis=0)

    if name == "neon2-online" and not hasattr(problem, "xi"):
        grad = sampled_gradient(problem)
    f = Oracle.of(problem.sample_value, vectorized=True, samples=200, jac=grad)
    finding = finder(name)(f, np.zeros(8), np.random.default_rng(0))
    assert finding.found
    assert finding.direction @ problem.hessian(np.zeros(8)) @ finding.direction <= -DELTA / 2
    low = finder(name)(f, problem.minima[0], np.random.default_rng(0))
    assert low.certified


def sampled_gradient(problem):
    """Exact gradients of minibatches, by central differences of a function that is quadratic but for |x|^3."""

    def grad(x, ids):
        h = 1e-5
        up = problem.sample_value(x + h * np.eye(problem.d), ids)
        down = problem.sample_value(x - h * np.eye(problem.d), ids)
        return (up - down) / (2 * h)

    return grad


def test_what_a_finder_lacks_is_named():
    problem, x = saddle()
    with pytest.raises(MissingCapability, match="jac="):
        finder("neon2")(Oracle.of(problem, vectorized=True), x, np.random.default_rng(0))
    with pytest.raises(MissingCapability, match="samples"):
        finder("online")(Oracle.of(problem, vectorized=True), x, np.random.default_rng(0))
