"""The theorems' settings against their formulas in 50 digits."""

import math

import mpmath
import numpy as np
import pytest

from escapade import Oracle
from escapade.curvature import ZONCFDeterministic
from escapade.errors import BelowPrecision, InvalidSetting
from escapade.problems import Octopus
from escapade.theory import theorem_1, theorem_2

SETTINGS = [
    {"ell": 14.4, "rho": 30.0, "d": 10, "delta": 0.5, "p": 1e-3},
    {"ell": 100.0, "rho": 0.25, "d": 784, "delta": 0.1, "p": 0.01},
    {"ell": 1.0, "rho": 2.0, "d": 1, "delta": 1.0, "p": 0.9},
]
CONSTANTS = [1.0, 1.5, 0.5]


def exactly(*, ell, rho, d, delta, p):
    """The same floats, in 50 digits."""
    return mpmath.mpf(ell), mpmath.mpf(rho), d, mpmath.mpf(delta), mpmath.mpf(p)


@pytest.mark.parametrize("C0", CONSTANTS)
@pytest.mark.parametrize("given", SETTINGS)
def test_theorem_1(given, C0):
    with mpmath.workdps(50):
        ell, rho, d, delta, p = exactly(**given)
        eta = delta / (C0**2 * ell**2 * mpmath.log(100 * d))
        T = C0**2 * mpmath.log(100 * d) / (eta * delta)
        sigma = eta**2 * delta**3 / (mpmath.mpf(100 * d) ** (3 * C0) * rho)
        r = mpmath.mpf(100 * d) ** C0 * sigma
        got = theorem_1(**given, C0=C0)
        for name, value in {"eta": eta, "T": T, "perturbation": sigma, "radius": r}.items():
            assert abs(getattr(got, name) / value - 1) < 1e-13, name
        assert got.repetitions == mpmath.ceil(mpmath.log(1 / p))
        assert got.m == mpmath.ceil(ell**2 * mpmath.log(1 / p) / delta**2)
        assert abs(got.displacement * 16 * d * rho / delta - 1) < 1e-15
    assert got.iterations - 1 < got.T <= got.iterations


@pytest.mark.parametrize("given", SETTINGS)
def test_what_theorem_1_counts_are_enough_for(given):
    got = theorem_1(**given)
    assert 3.0**-got.repetitions <= got.p

    def error(m):  # the last display of the proof of Lemma 3, at the longest v' it allows and d = 1
        drift = got.delta / 16
        return 2 * (drift + got.ell) * math.sqrt(math.log(1 / got.p) / m) + drift

    assert error(got.m_proof) <= got.delta / 4 * (1 + 1e-14)
    assert got.m_proof == 1 or error(got.m_proof - 1) > got.delta / 4


@pytest.mark.parametrize("C1", CONSTANTS)
@pytest.mark.parametrize("given", SETTINGS)
def test_theorem_2(given, C1):
    with mpmath.workdps(50):
        ell, rho, d, delta, p = exactly(**given)
        T = C1**2 * mpmath.log(d / p) * mpmath.sqrt(ell) / mpmath.sqrt(delta)
        sigma = (d / p) ** (-2 * C1) * delta / (T**4 * rho)
        r = (d / p) ** C1 * sigma
        got = theorem_2(**given, C1=C1)
        for name, value in {"T": T, "perturbation": sigma, "radius": r}.items():
            assert abs(getattr(got, name) / value - 1) < 1e-13, name
    assert got.iterations - 1 < got.T <= got.iterations


def test_the_finder_of_theorem_2_is_literal():
    got = theorem_2(ell=6.0, rho=2.0, d=8, delta=0.5, p=0.01, C1=1.25)
    assert got.finder() == ZONCFDeterministic(
        delta=0.5, failure=0.01, ell=6.0, C1=1.25, T=math.ceil(got.T), perturbation=got.perturbation, rho=2.0
    )
    # The finder stops at growth by (d/p)^C_1, which is r / sigma.
    assert math.isclose(got.radius / got.perturbation, (8 / 0.01) ** 1.25, rel_tol=1e-12)


def octopus(d=6):
    problem = Octopus(d=d)
    return problem, theorem_2(ell=problem.ell, rho=problem.rho, d=d, delta=1.0, p=0.01)


def test_at_the_origin_the_literal_finder_works():
    """In 28 or 29 of 30 seeds; in the others products are too inexact, and it says so."""
    problem, settings = octopus()
    found = 0
    for seed in range(10):
        f = Oracle.of(problem, vectorized=True)
        finding = settings.finder()(f, problem.saddles[0], np.random.default_rng(seed))
        assert not finding.certified
        if finding.found:
            found += 1
            v = finding.direction
            assert v @ problem.hessian(problem.saddles[0]) @ v <= -0.5
            assert f.ledger.by_purpose["curvature"] <= 4 * 6 * settings.iterations + 30
    assert found >= 7


@pytest.mark.parametrize("k", [1, 3, 5])
def test_away_from_the_origin_it_refuses_and_does_not_certify(k):
    problem, settings = octopus()
    f = Oracle.of(problem, vectorized=True)
    with pytest.raises(BelowPrecision, match=r"perturbation=.* is below .* float64 .*drop the literal radii"):
        settings.finder()(f, problem.saddles[k], np.random.default_rng(0))


def test_a_constant_added_to_f_is_refused_too():
    problem, settings = octopus()
    f = Oracle.of(lambda x: problem(x) + 1.0, vectorized=True)
    with pytest.raises(BelowPrecision, match=r"\|f\| = 1"):
        settings.finder()(f, problem.saddles[0], np.random.default_rng(0))


@pytest.mark.parametrize("theorem", [theorem_1, theorem_2])
def test_resolved(theorem):
    settings = theorem(ell=4.0, rho=1e-9, d=2, delta=1.0, p=0.5)
    sigma, eps = settings.perturbation, 2.0**-52
    for dtype, u in ((np.float64, eps), (np.float32, 2.0**-23)):
        x = np.array([0.0, -sigma / u], dtype=dtype)  # sigma = eps |x| is just lost
        settings.resolved(0.99 * x, 0.0)
        with pytest.raises(BelowPrecision, match=f"perturbation=.*{np.dtype(dtype)}"):
            settings.resolved(1.01 * x, 0.0)
    magnitude = settings.ell * sigma**2 / (4 * eps)  # ell sigma^2 = 4 eps |f| is just lost
    settings.resolved(np.zeros(2), 0.99 * magnitude)
    with pytest.raises(BelowPrecision):
        settings.resolved(np.zeros(2), -1.01 * magnitude)
    with pytest.raises(BelowPrecision):
        theorem(ell=1.0, rho=1.0, d=10**4, delta=1e-3, p=1e-6).resolved(np.ones(2), 1.0)


def test_constants_as_large_as_the_proof_asks_for_do_not_overflow():
    given = {"ell": 1.0, "rho": 1.0, "d": 100, "delta": 0.1, "p": 1e-3}
    one, two = theorem_1(**given, C0=1600.0), theorem_2(**given, C1=80.0)
    assert one.perturbation == one.radius == two.perturbation == 0.0
    with pytest.raises(BelowPrecision, match="C1=80"):
        two.finder()
    for settings in (one, two):
        with pytest.raises(BelowPrecision):
            settings.resolved(np.zeros(3), 0.0)


GOOD = {"ell": 2.0, "rho": 1.0, "d": 3, "delta": 0.5, "p": 0.1}


@pytest.mark.parametrize(
    ("theorem", "name", "constant"), [(theorem_1, "Theorem 1", "C0"), (theorem_2, "Theorem 2", "C1")]
)
def test_assumptions(theorem, name, constant):
    theorem(**{**GOOD, "delta": 2.0})  # delta = ell is allowed
    with pytest.raises(InvalidSetting, match=rf"delta=2.5 must lie in \(0, ell=2.0\].*{name} assumes"):
        theorem(**{**GOOD, "delta": 2.5})
    for p in (0.0, 1.0, -0.1, math.nan, True, "0.1"):
        with pytest.raises(InvalidSetting, match=rf"p={p!r} must lie in \(0, 1\).*{name}"):
            theorem(**{**GOOD, "p": p})
    for key in ("ell", "rho", "delta", constant):
        for bad in (0.0, -1.0, math.inf, math.nan, "2"):
            with pytest.raises(InvalidSetting, match=rf"{key}={bad!r} must be positive.*\({name}\)"):
                theorem(**{**GOOD, key: bad})
    for d in (0, -3, 2.5, True):
        with pytest.raises(InvalidSetting, match=rf"d={d!r} must be a positive integer.*{name}"):
            theorem(**{**GOOD, "d": d})
    theorem(**{**GOOD, "d": np.int64(3)})


def test_literal_radii_count_their_truncation():
    """lambda_min = -1, but 200 x^4 hides it over steps of 0.1: that is no certificate."""
    f = Oracle.of(lambda x: -(x[0] ** 2) / 2 + 200 * x[0] ** 4 + x[1:] @ x[1:])
    finder = ZONCFDeterministic(delta=0.5, ell=40.0, perturbation=0.1, rho=480.0)
    for seed in range(5):
        assert not finder(f, np.zeros(6), np.random.default_rng(seed)).certified
    with pytest.raises(InvalidSetting, match="needs rho"):
        ZONCFDeterministic(delta=0.5, ell=40.0, perturbation=0.1)
