"""Boosted, Escaping, RSPI, the forms of PAGD, SCSG's fall-back, and the promise of the gradient check."""

import math
from itertools import pairwise

import numpy as np
import pytest

import escapade
from escapade import Oracle
from escapade.certificate.certifier import Certifier
from escapade.curvature import Cheapest, Minibatch
from escapade.errors import InvalidSetting
from escapade.methods import (
    PAGD,
    RSPI,
    ZOSCSG,
    ZOSCSGNCF,
    ZOSGDNCF,
    ZPSGD,
    Boosted,
    Escaping,
    GradientCheck,
    SciPyDescent,
)
from escapade.problems import Octopus, OffAxis, StochasticCubic
from escapade.stopping import Ending, Stop
from escapade.trace import Iterate, Move

PROBLEM = OffAxis(d=5, seed=0)


def solve(method, problem=PROBLEM, **options):
    return escapade.minimize(
        problem, options.pop("x0", problem.start), method=method, **{"vectorized": True, "rng": 0, **options}
    )


class Lucky:
    """It jumps to a minimum with probability 1/3, and otherwise stays at the saddle."""

    name = "lucky"

    def iterates(self, f, x, rng):
        yield Iterate(PROBLEM.minima[0] if rng.random() < 1 / 3 else x)
        return Ending(Stop.FINISHED)


def test_boosted_runs_until_a_certificate_holds():
    certify = Certifier(gtol=1e-4, curvtol=1e-2, failure=1e-4)
    copies = Boosted.enough(1e-3, success=1 / 3)
    assert copies == math.ceil(math.log(1e-3) / math.log(2 / 3))
    lengths = set()
    for seed in range(8):
        result = solve(Boosted(method=Lucky(), certify=certify, copies=copies), rng=seed)
        assert result.success
        lengths.add(result.nit)
        moved = [not np.array_equal(step.x, PROBLEM.start) for step in result.history]
        assert moved == [False] * (result.nit - 1) + [True]
    assert len(lengths) > 1


def test_boosted_gives_up_after_its_copies():
    class Idle:
        name = "idle"

        def iterates(self, f, x, rng):
            yield Iterate(x)
            return Ending(Stop.FINISHED)

    certify = Certifier(gtol=1e-4, curvtol=1e-2, failure=1e-4)
    result = solve(Boosted(method=Idle(), certify=certify, copies=3))
    assert result.nit == 3
    assert result.stop is Stop.SADDLE


class GradientDescent:
    """A descent of this test's own, with exact steps and no finder."""

    name = "gd"

    def iterates(self, f, x, rng):
        for _ in range(300):
            g = PROBLEM.gradient(x)
            if np.linalg.norm(g) < 1e-6:
                break
            x = x - 0.2 * g
            yield Iterate(x)
        return Ending(Stop.FINISHED)


@pytest.mark.parametrize(
    "descent",
    [GradientDescent(), ZPSGD(eta=0.1, r=1e-6, m=5, sigma=1e-6, T=300), SciPyDescent(solver="CG")],
    ids=["gd", "zpsgd", "cg"],
)
def test_any_descent_and_any_finder(descent):
    method = Escaping(descent=descent, finder=Cheapest(delta=1e-2), epsilon=1e-4, delta=1e-2, mu=1e-5)
    result = solve(method)
    assert result.success
    assert result.fun == pytest.approx(PROBLEM.minimum, abs=1e-7)
    if descent.name != "zpsgd":
        assert result.n_escapes >= 1


def test_a_descent_that_does_nothing_is_helped_on():
    class Nothing:
        name = "nothing"

        def iterates(self, f, x, rng):
            return Ending(Stop.FINISHED)
            yield

    method = Escaping(descent=Nothing(), finder=Cheapest(delta=1e-2), epsilon=1e-4, delta=1e-2, mu=1e-5)
    result = solve(method, x0=PROBLEM.start + 0.3)
    assert result.success
    assert result.nfev_by_purpose["line search"] % 13 == 0


def rspi(**more):
    settings = {"sigma_1": 0.5, "sigma_2": 1.0, "T_DFPI": 10, "eta": 0.2, "c": 1e-5, "r": 1e-4, "K": 40, **more}
    return RSPI(**settings)


def test_rspi_as_printed_and_as_its_authors_run_it():
    x0 = PROBLEM.start + 1.0  # where a random step often succeeds
    printed, authors = (solve(rspi(form=form), x0=x0) for form in ("printed", "authors"))
    moves = [step.move for step in printed.history]
    assert moves == [Move.SEARCH, Move.ESCAPE] * 40
    failed = 0
    values = [float(PROBLEM(x0))]
    for step in authors.history:
        if step.move is Move.SEARCH:
            failed += step.fun == values[-1]
        values.append(step.fun)
    assert failed == authors.n_escapes < 40
    for result in (printed, authors):
        funs = [step.fun for step in result.history]
        assert funs == sorted(funs, reverse=True)
        assert funs[-1] < -0.3
        d, escapes = PROBLEM.d, result.n_escapes
        assert result.nfev_by_purpose["curvature"] == escapes * 10 * 4 * d
        assert result.nfev_by_purpose["escape"] == 2 * escapes
        assert result.nfev_by_purpose["descent"] == 1 + 2 * 40


def test_rspi_shrinks_its_random_step():
    result = solve(rspi(sigma_2=1e-12, T_DFPI=1, shrink=0.1, every=10, K=40))
    x = [PROBLEM.start, *(step.x for step in result.history)]
    lengths = np.array([np.linalg.norm(b - a) for a, b in pairwise(x)])[::2]
    for k, length in enumerate(lengths):
        assert length == pytest.approx(0, abs=1e-9) or length == pytest.approx(0.5 * 0.1 ** (k // 10), rel=1e-6)


def test_the_power_iteration_finds_the_negative_direction():
    f = Oracle.of(PROBLEM, vectorized=True)
    s = rspi(T_DFPI=200)._dfpi(f, PROBLEM.start, np.random.default_rng(0))
    assert s @ PROBLEM.hessian(PROBLEM.start) @ s == pytest.approx(PROBLEM.negative, abs=1e-3)
    assert np.linalg.norm(s) == pytest.approx(1)


def test_pagd_continues_or_returns():
    octopus = Octopus(d=3)
    settings = {"eta": 0.02, "r": 0.01, "g_thres": 1e-4, "f_thres": 1e-7, "t_thres": 150, "h": 1e-6, "h_low": 1e-6}
    result = solve(PAGD(**settings), octopus)
    assert result.success
    assert result.fun == pytest.approx(octopus.minimum, abs=1e-6)
    assert result.n_escapes == 3
    printed = solve(PAGD(**settings, form="printed"), octopus)
    assert printed.success  # with enough steps the printed form leaves, too
    assert Move.PERTURB not in {step.move for step in printed.history}


def test_pagd_returns_where_it_looked_when_an_escape_gives_up():
    """At a minimum every perturbed point is dropped; "continue", which shows them, comes back."""
    octopus = Octopus(d=3)
    settings = {"eta": 0.02, "r": 0.01, "g_thres": 1e-2, "f_thres": 1e-7, "t_thres": 5, "h": 1e-6, "h_low": 1e-6}
    x = octopus.minima[0]
    for form in ("printed", "continue"):
        f = Oracle.of(octopus, vectorized=True)
        steps = list(PAGD(**settings, form=form).iterates(f, x, np.random.default_rng(0)))
        assert [step.move for step in steps] == [Move.PERTURB] * (7 if form == "continue" else 0)
        result = solve(PAGD(**settings, form=form), octopus, x0=x)
        assert result.x.tobytes() == x.tobytes()
        assert all(np.any(step.x != x) for step in steps[:-1])


def sampled(**more):
    check = GradientCheck(epsilon=0.1, sigma2=2.0, failure=1e-5, mu=1e-5)
    finder = Minibatch(delta=0.3, failure=1e-3)
    sgd = ZOSGDNCF(delta=0.3, eta=0.1, batch=100, check=check, finder=finder, mu_step=1e-5, rho=1.0)
    return ZOSCSGNCF(delta=0.3, rho=1.0, check=check, finder=finder, fallback=sgd, **more), sgd


def test_scsg_falls_back_when_b_exceeds_B():
    problem = StochasticCubic(d=5, n=100)
    options = {"samples": 100, "gtol": 0.1, "curvtol": 0.3}
    method, sgd = sampled(epochs=ZOSCSG(B=50, b=60, eta=0.1, mu=1e-5))

    def run(method):
        return escapade.minimize(problem.sample_value, np.zeros(5), method=method, vectorized=True, rng=0, **options)

    assert run(method).x.tobytes() == run(sgd).x.tobytes()
    method, _ = sampled(epochs=ZOSCSG(B=100, b=10, eta=0.1, mu=1e-5))
    assert run(method).success
    assert run(method).x.tobytes() != run(sgd).x.tobytes()


def gaussian_stream(size, d, sigma):
    """f_i(x) = (g + xi_i) . x with |g| = size and E |xi|^2 = sigma^2."""
    g = np.zeros(d)
    g[0] = size

    def fun(X, ids):
        noise = np.random.default_rng(int(ids[0])).standard_normal((len(ids), d)).mean(axis=0)
        return X @ (g + sigma / math.sqrt(d) * noise)

    return Oracle.of(fun, vectorized=True, samples="stream")


@pytest.mark.parametrize(("size", "wrong"), [(1.0001, True), (0.4999, False)])
def test_the_promise_of_the_gradient_check(size, wrong):
    """p = 0.05: at |grad| >= epsilon it must not say small, and at epsilon / 2 it must; 200 trials, 3 sd above p."""
    check = GradientCheck(epsilon=1.0, sigma2=4.0, failure=0.05, mu=0.5)
    f = gaussian_stream(size, 3, 2.0)
    errors = sum(check(f, np.zeros(3), np.random.default_rng(seed))[0] is wrong for seed in range(200))
    assert errors <= 200 * 0.05 + 3 * math.sqrt(200 * 0.05 * 0.95)


def test_the_gradient_check_on_a_whole_sum_is_exact():
    problem = StochasticCubic(d=4, n=40)
    f = Oracle.of(problem.sample_value, vectorized=True, samples=40)
    x = np.full(4, 0.3)
    size = float(np.linalg.norm(problem.gradient(x)))
    for epsilon, small in ((1.34 * size, True), (1.32 * size, False)):
        check = GradientCheck(epsilon=epsilon, sigma2=2.0, failure=1e-3, mu=1e-5)
        answer, seen = check(f, x, np.random.default_rng(0))
        assert answer is small
        assert seen == pytest.approx(size, rel=1e-6)


def test_the_size_and_number_of_batches():
    check = GradientCheck(epsilon=0.5, sigma2=3.0, failure=1e-4, mu=1e-5)
    assert check.size == 128 * 3 * 4
    assert check.repeats % 2 == 1
    assert 0.67**check.repeats <= 1e-4 < 0.67 ** (check.repeats - 2)


def test_a_plainly_large_gradient_is_told_cheaply():
    f = gaussian_stream(50.0, 3, 2.0)
    check = GradientCheck(epsilon=0.5, sigma2=4.0, failure=1e-3, mu=0.5)
    assert check(f, np.zeros(3), np.random.default_rng(0))[0] is False
    assert f.ledger.queries == 6 * 64


def test_boosted_refuses_impossible_probabilities():
    with pytest.raises((InvalidSetting, ValueError)):
        Boosted.enough(0.0)
