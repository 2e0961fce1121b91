"""The methods that came after the paper: their recurrences, what their lemmas say, what they cost, and their rates."""

import math
from dataclasses import replace
from itertools import islice
from statistics import median

import numpy as np
import pytest

import escapade
from escapade import Oracle
from escapade.derivatives.paper import gauss_gradient_central
from escapade.methods import ZOAGDNCF, ZOPerturbedAGD, ZOTwoPoint
from escapade.problems import Octopus, OffAxis
from escapade.stopping import Stop
from escapade.trace import Move

D = 5


def settings(ell=4.0, delta=0.5, **others):
    """Eq. (5) with a gradient that is never small."""
    theta = math.sqrt(delta / ell) / 4
    given = {"epsilon": 1e-12, "eta": 1 / (4 * ell), "theta": theta, "gamma": delta / 4, "s": delta / 16, "T": 30}
    return given | {"r": 1e-2, "f_thres": 1e-7, "mu": 1e-4, "least": 1e-5} | others


def run(method, fun, x0, most, rng=0):
    """The first iterates, and the oracle that counted."""
    f = Oracle.of(fun, vectorized=True)
    found = []
    for iterate in method.iterates(f, np.asarray(x0, dtype=float), np.random.default_rng(rng)):
        found.append((iterate, f.ledger.queries))
        if len(found) == most:
            break
    return found


def form(eigenvalues):
    """A quadratic form."""
    return lambda X: 0.5 * (X * X) @ np.asarray(eigenvalues)


@pytest.mark.parametrize("kind", [ZOPerturbedAGD, ZOAGDNCF])
def test_away_from_saddles_the_recurrence_is_nesterovs(kind):
    A = np.linspace(0.2, 4, D)
    method = kind(**settings(least=math.inf), **({"step": 0.1} if kind is ZOAGDNCF else {}))
    x = np.ones(D)
    v = 0 * x
    for iterate, _ in run(method, form(A), x, 60):
        y = x + (1 - method.theta) * v
        x, v = y - method.eta * A * y, y - method.eta * A * y - x
        assert np.allclose(iterate.x, x, atol=1e-9)


class Recorded(ZOPerturbedAGD):
    """It notes where Algorithm 2 was called."""

    def _exploit(self, f, x, v):
        calls.append(x)
        return super()._exploit(f, x, v)


calls: list[np.ndarray] = []


@pytest.mark.parametrize("seed", range(4))
def test_the_hamiltonian_falls_in_every_iteration(seed):
    """Lemmas 3 and 4, with the function's own ell and rho; that line 8 is true on the way is part of the test."""
    problem = OffAxis(d=D, seed=seed)
    delta = 0.2
    method = Recorded(**settings(problem.ell, delta, s=delta / (16 * problem.rho)))
    x = problem.start + 0.02 * np.random.default_rng(seed).standard_normal(D)
    energy, exploited = float(problem(x)), 0
    calls.clear()
    iterates = method.iterates(Oracle.of(problem, vectorized=True), x, np.random.default_rng(0))
    for iterate in islice(iterates, 400):
        v = 0 * x if len(calls) > exploited else iterate.x - x
        exploited, x = len(calls), iterate.x
        now = float(problem(x)) + float(v @ v) / (2 * method.eta)
        assert now <= energy + 1e-12
        energy = now
    assert exploited
    assert energy - problem.minimum < 1e-6


def test_costs():
    A = np.linspace(-1, 2, D)
    given = settings(epsilon=1e9, f_thres=-math.inf, T=4, least=0.0)
    searches = [2 * D] * 4
    for mu_check, between, perturbed in ((None, 4 * D + 2, 2 * D + 2), (1e-4, 6 * D + 2, 4 * D + 2)):
        method = ZOAGDNCF(**given, step=0.1, mu_check=mu_check)
        found = run(method, form(A), np.zeros(D), 12)
        cost = np.diff([0, *(queries for _, queries in found)]).tolist()
        moves = [iterate.move for iterate, _ in found]
        assert moves[:5] == [Move.PERTURB] * 4 + [Move.ESCAPE]
        first = 2 * D * (1 if mu_check is None else 2)  # of line 3, and of zeta
        assert cost[:4] == [first + 2 * D, *searches[1:]]
        assert cost[4] == 4 * D + 2 + 3  # lines 11 and 16; line 9 and Remark 4
        agd = ZOPerturbedAGD(**(given | {"T": 3}), mu_check=mu_check)
        cost = np.diff([0, *(queries for _, queries in run(agd, form(abs(A)), np.full(D, 1.0), 3))]).tolist()
        assert cost[1:] == [perturbed] * 2
        assert cost[0] == perturbed - 2 + 2 * D + 1  # line 8 is not asked at v = 0; line 3, and the Hamiltonian
        far = ZOPerturbedAGD(**(given | {"epsilon": 1e-12}), mu_check=mu_check)
        cost = np.diff([0, *(queries for _, queries in run(far, form(abs(A)), np.full(D, 1.0), 3))]).tolist()
        assert cost[1:] == [between] * 2
    point = ZOTwoPoint(eta=0.01, u=1e-4, r=1e-4, m=3)
    assert [queries for _, queries in run(point, form(A), np.ones(D), 3)] == [6, 12, 18]


@pytest.mark.parametrize("kind", [ZOPerturbedAGD, ZOAGDNCF])
def test_where_nothing_is_gained_the_point_before_the_perturbation_is_returned(kind):
    """Remarks 2 and 4."""
    bowl = OffAxis(d=D, seed=0, negative=0.5)
    method = kind(**settings(epsilon=1e-4), **({"step": 0.1} if kind is ZOAGDNCF else {}))
    result = escapade.minimize(bowl, bowl.start, method=method, vectorized=True, rng=0)
    assert result.success
    assert np.array_equal(result.x, bowl.start)
    assert result.nit == method.T + 1


def test_line_8_is_not_asked_at_equality():
    """With v = 0 it holds with equality, and Algorithm 2 would divide 0 by 0 and drop the step."""
    method = ZOPerturbedAGD(**settings(least=0.0))
    (first, _), (second, _) = run(method, form(np.ones(D)), np.ones(D), 2)
    assert np.allclose(first.x, 1 - method.eta)
    assert np.all(second.x < first.x)


def search_length(kappa, seed, d=20):
    """Iterations until the direction found has a curvature of at most -delta / 2."""
    rng = np.random.default_rng(seed)
    A = np.append(-1 / kappa, np.append(np.zeros(4), rng.uniform(0, 1, d - 5)))
    method = ZOAGDNCF(**settings(1.0, 1 / kappa, epsilon=1e9, T=200_000), step=0.1)
    iterates = method.iterates(Oracle.of(form(A), vectorized=True), np.zeros(d), rng)
    for t, iterate in enumerate(iterates, 1):
        e = iterate.x / np.linalg.norm(iterate.x)
        if e @ (A * e) <= -0.5 / kappa:
            return t
    raise AssertionError("the search ended")


def exponent(x, y):
    """Of the power law through the points."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def test_the_search_is_accelerated():
    """Lemma 7: iterations grow with sqrt(kappa), times a logarithm; those of power iteration with kappa."""
    kappas = [30, 100, 300, 1000]
    assert 0.4 <= exponent(kappas, [median(search_length(k, seed) for seed in range(5)) for k in kappas]) <= 0.6


def test_descent_is_accelerated():
    """Iterations on a convex quadratic grow with sqrt(kappa), those of gradient descent with kappa."""
    kappas, lengths = [100, 1000, 10_000], []
    for kappa in kappas:
        A = np.geomspace(1 / kappa, 1, D)
        method = ZOPerturbedAGD(**settings(1.0, 1 / kappa))
        found = run(method, form(A), np.ones(D), 40 * round(math.sqrt(kappa)))
        worst = [float(np.max(np.abs(A * iterate.x))) for iterate, _ in found]
        lengths.append(1 + max(i for i, w in enumerate(worst) if w > 1e-3 / kappa))
    assert 0.35 <= exponent(kappas, lengths) <= 0.65


def to_leave(name, d, seed):
    """Queries until f has fallen by half of what there is to fall, set-up left out."""
    problem = OffAxis(d=d, seed=3)
    half = problem.minimum / 2
    f = Oracle.of(problem, vectorized=True)
    given = settings(problem.ell, 0.5, epsilon=1e-4, s=0.01, T=40)
    m = {"two-point": 1, "two-point of d": d}.get(name, 1)
    method = {
        "perturbed": ZOPerturbedAGD(**(given | {"T": 80})),
        "ncf": ZOAGDNCF(**given, step=0.1),
    }.get(name) or ZOTwoPoint(eta=1 / (2 * problem.ell * (1 + (d + 1) / m)), u=1e-5, r=1e-2, m=m)
    for iterate in method.iterates(f, problem.start, np.random.default_rng(seed)):
        if problem(iterate.x) <= half:
            return f.ledger.queries
    raise AssertionError("the method ended at the saddle")


@pytest.mark.parametrize("name", ["perturbed", "ncf", "two-point", "two-point of d"])
def test_queries_to_leave_a_saddle_grow_with_d_and_no_faster(name):
    """d log d; ZPSGD's bound has d^2."""
    dimensions = [8, 16, 32]
    queries = [median(to_leave(name, d, seed) for seed in range(5)) for d in dimensions]
    assert 0.75 <= exponent(dimensions, queries) <= 1.35


def test_queries_of_the_two_point_method_hardly_depend_on_m():
    """Each step of m directions costs 2m and is m / (m + d + 1) as long: m = d costs twice what m = 1 does."""
    one, many = (median(to_leave(name, 24, seed) for seed in range(7)) for name in ("two-point", "two-point of d"))
    assert 1 <= many / one <= 4


@pytest.mark.parametrize("m", [1, 3])
def test_the_two_point_estimate(m):
    """Its mean is the gradient, its squared length 1 + (d + 1) / m times the gradient's, to five deviations."""
    g, draws = np.arange(1.0, D + 1), 4000
    f, rng = Oracle.of(lambda X: X @ g, vectorized=True), np.random.default_rng(1)
    found = np.stack([gauss_gradient_central(f, np.zeros(D), 1e-3, rng, m) for _ in range(draws)])
    spread = 5 / math.sqrt(draws) * found.std(axis=0)
    assert np.all(np.abs(found.mean(axis=0) - g) <= spread)
    squares = np.sum(found**2, axis=1) / (g @ g)
    assert abs(squares.mean() - (1 + (D + 1) / m)) <= 5 * squares.std() / math.sqrt(draws)


@pytest.mark.parametrize("method", ["zo-perturbed-agd", "zo-agd-ncf", "zo-two-point"])
def test_the_chain_of_saddles(method):
    problem = Octopus(d=8)
    for seed in range(2):
        result = escapade.minimize(problem, problem.start, method=method, vectorized=True, rng=seed)
        assert result.success, result.message
        assert result.fun - problem.minimum <= 1e-6


@pytest.mark.parametrize("m", [1, 2, D])
def test_any_number_of_directions(m):
    problem = OffAxis(d=D, seed=0)
    eta = 1 / (2 * problem.ell * (1 + (D + 1) / m))
    method = ZOTwoPoint(eta=eta, u=1e-5, r=1e-4, m=m, T=math.ceil(500 / (eta * problem.ell)))
    result = escapade.minimize(problem, problem.start, method=method, vectorized=True, rng=0)
    assert result.success
    assert result.nit == method.T
    assert replace(method, T=3).T == 3
    assert result.stop is Stop.CERTIFIED
