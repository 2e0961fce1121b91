"""The settings of the methods' theorems against their formulas: rational where they are, else in 50 digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from escapade import Oracle
from escapade.curvature import Minibatch, ZONCFDeterministic, ZONCFOnline
from escapade.methods import ZOGDNCF, ZOSCSG, ZOSCSGNCF, ZOSGDNCF, ZOSPIDER, ZOSPIDERNCF, GradientCheck
from escapade.theory import settings, theorem_2, theorem_3, theorem_4, theorem_7, theorem_8, theorem_9

SETS = [
    {"ell": 14.4, "rho": 30.0, "sigma": 0.7, "Delta_f": 150.0, "d": 10, "epsilon": 0.013, "delta": 0.5},
    {"ell": 100.0, "rho": 0.3, "sigma": 3.0, "Delta_f": 0.031, "d": 784, "epsilon": 0.7, "delta": 0.11},
    {"ell": 1.0, "rho": 2.0, "sigma": 0.9, "Delta_f": 5.0, "d": 1, "epsilon": 1.1, "delta": 1.0},
]
OPTIONS = [1, 2]


def without(given, *names):
    return {name: value for name, value in given.items() if name not in names}


def exact(given, number=Fraction):
    return [number(given[name]) for name in ("ell", "rho", "sigma", "Delta_f", "d", "epsilon", "delta")]


def close(got, values):
    for name, value in values.items():
        assert abs(getattr(got, name) / value - 1) < 1e-13, name


def rational(got, values):
    for name, value in values.items():
        assert abs(Fraction(getattr(got, name)) / value - 1) < Fraction(1, 10**15), name


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("given", SETS)
def test_theorem_3(given, option):
    got = theorem_3(**given, p=0.01, option=option, C_K=1.5)
    ell, rho, sigma, Delta_f, d, epsilon, delta = exact(given)
    first = 32 if option == 1 else 8
    more = 1 if option == 1 else d
    K = Fraction(1.5) * (rho**2 * Delta_f / delta**3 + more * ell * Delta_f / epsilon**2)
    rational(
        got,
        {
            "batch": max(first * sigma**2 / epsilon**2, Fraction(1)),
            "check_batch": max(128 * sigma**2 / epsilon**2, Fraction(1)),
            "eta": 1 / (4 * ell) if option == 1 else 1 / (32 * d * ell),
            "K": K,
        },
    )
    assert got.iterations == math.ceil(K)
    assert got.failure == 0.01 / (2 * math.ceil(K))
    with mpmath.workdps(50):
        ell, rho, sigma, Delta_f, d, epsilon, delta = exact(given, mpmath.mpf)
        root = mpmath.sqrt(3 * epsilon / (4 * rho * mpmath.sqrt(d)))
        rand = min(mpmath.sqrt(3 * epsilon / (4 * rho * d)), epsilon / (32 * mpmath.sqrt(d) * ell))
        printed = mpmath.sqrt(3 * epsilon / (2 * rho * mpmath.sqrt(d)))
        close(got, {"mu_check": printed, "mu_check_proof": root, "mu_step": root if option == 1 else rand})
        proved = theorem_3(**given, p=0.01, option=option, C_K=1.5, as_proved=True)
        close(proved, {"mu_check": root})
    assert got.promise == (given["epsilon"], given["delta"])
    assert got.probability == 0.99
    assert got.method() == ZOSGDNCF(
        delta=given["delta"],
        eta=got.eta,
        batch=math.ceil(got.batch),
        check=GradientCheck(epsilon=given["epsilon"], sigma2=given["sigma"] ** 2, failure=got.failure, mu=got.mu_check),
        finder=ZONCFOnline(delta=given["delta"], failure=0.005, ell=given["ell"]),
        mu_step=got.mu_step,
        rho=given["rho"],
        option=option,
        K=got.iterations,
    )
    assert got.method().check.size == math.ceil(got.check_batch)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("given", SETS)
def test_theorem_4(given, option):
    given = without(given, "sigma")
    got = theorem_4(**given, p=0.01, option=option, C_K=0.5)
    ell, rho, _, Delta_f, d, epsilon, delta = exact({**given, "sigma": 0})
    K = Fraction(1, 2) * (rho**2 * Delta_f / delta**3 + (1 if option == 1 else d) * ell * Delta_f / epsilon**2)
    rational(got, {"eta": 1 / (4 * ell) if option == 1 else 1 / (8 * d * ell), "K": K})
    assert got.iterations == math.ceil(K)
    assert got.failure == 0.01 / math.ceil(K)
    with mpmath.workdps(50):
        ell, rho, _, Delta_f, d, epsilon, delta = exact({**given, "sigma": 0}, mpmath.mpf)
        coord = mpmath.sqrt(3 * epsilon / (4 * rho * mpmath.sqrt(d)))
        rand = min(mpmath.sqrt(3 * epsilon / (4 * rho * d)), epsilon / (16 * mpmath.sqrt(d) * ell))
        mu_1 = mpmath.sqrt(3 * epsilon / (2 * rho * mpmath.sqrt(d)))
        close(got, {"mu_check": mu_1, "mu_step": coord if option == 1 else rand})
    assert (got.promise, got.probability) == ((given["epsilon"], given["delta"]), 0.99)
    assert got.method() == ZOGDNCF(
        epsilon=given["epsilon"],
        delta=given["delta"],
        eta=got.eta,
        finder=ZONCFDeterministic(delta=given["delta"], failure=0.01, ell=given["ell"]),
        mu_check=got.mu_check,
        mu_step=got.mu_step,
        rho=given["rho"],
        option=option,
        K=got.iterations,
    )


LARGE_b = {"ell": 2.0, "rho": 3.0, "sigma": 0.5, "Delta_f": 3.0, "d": 6, "epsilon": 0.3, "delta": 0.2}
LARGE_B = {"ell": 20.0, "rho": 1.0, "sigma": 7.0, "Delta_f": 3.0, "d": 6, "epsilon": 0.3, "delta": 0.9}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("given", [*SETS, LARGE_b, LARGE_B])
@pytest.mark.parametrize("as_proved", [False, True])
def test_theorem_7(given, option, as_proved):
    got = theorem_7(**given, option=option, c=3.0, C_b=0.5, C_K=2.0, as_proved=as_proved)
    with mpmath.workdps(50):
        ell, rho, sigma, Delta_f, d, epsilon, delta = exact(given, mpmath.mpf)
        theta = (epsilon**2 + sigma**2) * epsilon**4 * rho**6 / (delta**9 * ell**3) / 2
        if option == 1:
            B, b = max(480 * sigma**2 / epsilon**2, 1), max(1, theta)
            mu_2, gamma, small = epsilon / (4 * mpmath.sqrt(3 * d) * ell), mpmath.mpf(1) / 4, b
        else:
            B, b = max(1, 1152 * sigma**2 / epsilon**2), max(d if as_proved else 1, d * theta)
            mu_2, gamma, small = epsilon / (4 * mpmath.sqrt(3) * d * ell), mpmath.mpf(1) / 8, b / d
        K = 2 * ell * mpmath.cbrt(small) * Delta_f / (epsilon**2 * mpmath.cbrt(B))
        eta = gamma * mpmath.cbrt(small / B) ** 2 / ell
        mu_1 = mpmath.sqrt(3 * epsilon / (4 * rho * mpmath.sqrt(d)))
        close(got, {"B": B, "b": b, "K": K, "eta": eta, "mu_check": mu_1, "mu_step": mu_2})
        assert got.lemma_holds == (8 * small <= B and b >= (1 if option == 1 else d))
        assert got.falls_back == (b > B or (as_proved and not got.lemma_holds))
        assert got.iterations == mpmath.ceil(K)
    assert got.failure == 1 / (20 * got.iterations)
    p = 1 / 3 if as_proved else 2 / 3
    assert got.fallback == theorem_3(**given, p=p, option=option, C_K=2.0, as_proved=as_proved)
    if got.falls_back:
        assert got.method() == got.fallback.method()
        assert got.probability == got.fallback.probability == 1 - p
        return
    assert (got.promise, got.probability) == ((given["epsilon"], given["delta"]), 2 / 3)
    assert got.method() == ZOSCSGNCF(
        delta=given["delta"],
        rho=given["rho"],
        epochs=ZOSCSG(B=math.ceil(got.B), b=math.ceil(got.b), eta=got.eta, mu=got.mu_step, option=option),
        check=GradientCheck(epsilon=given["epsilon"], sigma2=given["sigma"] ** 2, failure=got.failure, mu=got.mu_check),
        finder=ZONCFOnline(delta=given["delta"], failure=0.05, ell=given["ell"]),
        K=got.iterations,
    )


def test_theorem_7_takes_every_way():
    """The three cases above occur: the lemma holds, b > B, and what the theorem leaves out between them."""
    every = [theorem_7(**given, option=option, C_b=0.5) for given in [*SETS, LARGE_b, LARGE_B] for option in OPTIONS]
    assert {(got.lemma_holds, got.falls_back) for got in every} >= {(True, False), (False, True)}
    between = theorem_7(**{**LARGE_B, "sigma": 0.01})  # b = B = 1, but B < 8 b
    assert (between.lemma_holds, between.falls_back) == (False, False)
    assert isinstance(between.method(), ZOSCSGNCF)
    assert isinstance(theorem_7(**{**LARGE_B, "sigma": 0.01}, as_proved=True).method(), ZOSGDNCF)
    short = theorem_7(**LARGE_B, option=2)
    assert short.b < short.d  # as printed, against Lemma 14
    assert theorem_7(**LARGE_B, option=2, as_proved=True).b == short.d


@pytest.mark.parametrize("option", OPTIONS)
def test_the_c_of_lemma_14(option):
    """c_proof bounds all the terms of mu^2 that the proof gathers, whatever B >= 8 b' and b >= 1 (or d) are."""
    for d in (1, 2, 50):
        got = theorem_7(**{**LARGE_B, "d": d}, option=option)
        for small in (1, 3, 100):
            for ratio in (8, 100, 1e6):
                B, cube, b = ratio * small, ratio ** (1 / 3), small * (1 if option == 1 else d)
                if option == 1:
                    terms = 5 * (2 + 12 / B) + 6 / b / cube
                else:
                    terms = 1 / 4 + 8 / (got.gamma * d**2) / cube + 2 / b / cube
                    terms += 8 * (18 / (d * B) + 3 / d + 3 / 4)
                assert terms <= got.c_proof


@pytest.mark.parametrize("n_0", [1.0, 1.3])
@pytest.mark.parametrize("given", SETS)
def test_theorem_8(given, n_0):
    got = theorem_8(**given, n_0=n_0)
    ell, rho, sigma, Delta_f, _, epsilon, delta = exact(given)
    n = Fraction(n_0)
    J = 8 * (math.floor(max(12 * rho**2 * Delta_f / delta**3, 4 * rho * Delta_f / (delta * epsilon))) + 1)
    script_K = delta * ell * n / (rho * epsilon)
    q = sigma * n / epsilon
    rational(
        got,
        {
            "S1": 16 * sigma**2 / epsilon**2,
            "S2": 16 * sigma / (epsilon * n),
            "eta": epsilon / (ell * n),
            "q": q,
            "script_K": script_K,
            "K_0": J * script_K,
            "J": Fraction(J),
            "failure": Fraction(1, 16 * J),
            "failure_proof": Fraction(1, 32 * (J + 1)),
        },
    )
    with mpmath.workdps(50):
        mp = mpmath.mpf
        tilde = 10 * mp(given["epsilon"]) * mpmath.log(128 * (mp(J) * script_K.numerator / script_K.denominator + 1))
        inside = mp(given["epsilon"]) * tilde / (8 * (mp(q.numerator) / q.denominator) ** 2 * mp(given["rho"]) ** 2)
        close(got, {"epsilon_tilde": tilde, "mu": (inside / given["d"]) ** (mp(1) / 4)})
    assert got.promise == (3 * got.epsilon_tilde, 2 * given["delta"])
    assert got.probability == 0.75
    inner = ZOSPIDER(
        epsilon_tilde=got.epsilon_tilde,
        eta=got.eta,
        S1=math.ceil(got.S1),
        S2=math.ceil(got.S2),
        q=math.ceil(got.q),
        mu=got.mu,
    )
    finder = ZONCFOnline(delta=given["delta"], failure=(J + 1) * got.failure, ell=given["ell"])
    assert got.method() == ZOSPIDERNCF(delta=given["delta"], rho=given["rho"], spider=inner, finder=finder, J=J)
    proved = theorem_8(**given, n_0=n_0, as_proved=True)
    assert proved.failure == got.failure_proof
    assert math.isclose(proved.method().finder.failure, 1 / 32)


@pytest.mark.parametrize("as_proved", [False, True])
@pytest.mark.parametrize("given", SETS)
def test_theorem_9(given, as_proved):
    n_0 = 1.25
    got = theorem_9(**without(given, "delta"), p=0.01, n_0=n_0, as_proved=as_proved)
    ell, _, sigma, Delta_f, _, epsilon, _ = exact(given)
    n = Fraction(n_0)
    K_0 = math.floor(4 * ell * n * (Delta_f if as_proved else 1) / epsilon**2) + 2
    q = sigma * n / epsilon
    expected = {"S1": 16 * sigma**2 / epsilon**2, "S2": 16 * sigma / (epsilon * n), "eta": epsilon / (ell * n), "q": q}
    rational(got, expected)
    assert got.K_0 == K_0
    assert got.K_0_proof == math.floor(4 * ell * n * Delta_f / epsilon**2) + 2
    with mpmath.workdps(50):
        mp = mpmath.mpf
        tilde = 10 * mp(given["epsilon"]) * mpmath.log(4 * (K_0 + 1) / mp(0.01))
        inside = mp(given["epsilon"]) * tilde / (8 * (mp(q.numerator) / q.denominator) ** 2 * mp(given["rho"]) ** 2)
        close(got, {"epsilon_tilde": tilde, "mu": (inside / given["d"]) ** (mp(1) / 4)})
    assert (got.promise, got.probability) == ((3 * got.epsilon_tilde, math.inf), 0.99)
    method = got.method()
    assert method.K == K_0
    assert (method.S1, method.S2, method.q) == (math.ceil(got.S1), math.ceil(got.S2), math.ceil(got.q))
    assert (method.epsilon_tilde, method.eta, method.mu) == (got.epsilon_tilde, got.eta, got.mu)


def test_counts_within_rounding_of_an_integer_are_that_integer():
    got = theorem_3(ell=1.0, rho=1.0, sigma=0.1, Delta_f=1.0, d=2, epsilon=0.01, delta=0.1, p=0.1)
    assert got.batch != 3200  # 3200.0000000000005
    assert got.method().batch == 3200
    assert got.iterations == 11_000
    spider = theorem_8(ell=1.0, rho=1.0, sigma=0.1, Delta_f=0.1, d=2, epsilon=0.01, delta=0.1)
    assert spider.J == 8 * (1200 + 1)


# What they configure


def test_a_finder_may_be_given():
    good = {"ell": 2.0, "rho": 1.0, "sigma": 0.5, "Delta_f": 1.0, "d": 3, "epsilon": 0.25, "delta": 0.5}
    literal = theorem_2(ell=2.0, rho=1.0, d=3, delta=0.5, p=0.1).finder()
    assert theorem_4(**without(good, "sigma"), p=0.1).method(finder=literal).finder is literal
    finder = Minibatch(delta=0.5)
    for got in (theorem_3(**good, p=0.1), theorem_7(**good), theorem_8(**good)):
        assert got.method(finder=finder).finder is finder


@pytest.mark.parametrize("option", OPTIONS)
def test_theorem_4_keeps_its_promise(option):
    """f = sum(cos(x)) + |x|^2/4, ell = 1.5, rho = 1, from its maximum at 0: minima at x_i = ±1.895."""
    epsilon, delta = 0.2, 0.25
    good = {"ell": 1.5, "rho": 1.0, "Delta_f": 1.5, "d": 3, "epsilon": epsilon, "delta": delta}
    method = theorem_4(**good, p=0.1, option=option, C_K=8.0).method(x=np.zeros(3), magnitude=3.0)
    f = Oracle.of(lambda x: np.cos(x).sum(axis=-1) + (x**2).sum(axis=-1) / 4, vectorized=True)
    for seed in range(5):
        x = np.zeros(3)
        for iterate in method.iterates(f, x, np.random.default_rng(seed)):
            x = iterate.x
        assert np.linalg.norm(x / 2 - np.sin(x)) <= epsilon
        assert np.min(0.5 - np.cos(x)) >= -delta


def test_all_names_are_exported():
    for name in settings.__all__:
        assert getattr(settings, name) is not None
