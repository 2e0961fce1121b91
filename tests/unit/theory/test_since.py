"""The settings of Zhang & Gu's theorems, in 50 digits, their assumptions, and methods made of them."""

import math

import mpmath
import numpy as np
import pytest

import escapade
from escapade.errors import BelowPrecision, InvalidSetting
from escapade.problems import OffAxis
from escapade.theory import zhang_gu_1, zhang_gu_2

GIVEN = [
    {"ell": 10.0, "rho": 12.0, "Delta_f": 3.0, "d": 7, "epsilon": 1e-2, "p": 0.01},
    {"ell": 0.7, "rho": 0.3, "Delta_f": 900.0, "d": 300, "epsilon": 1e-5, "p": 0.2},
]


def close(got, expected):
    return abs(mpmath.mpf(got) / expected - 1) < 1e-13


@pytest.mark.parametrize("given", GIVEN)
def test_settings(given):
    one, two = zhang_gu_1(**given, c=2.0, C_mu=0.5), zhang_gu_2(**given, C_mu=0.5)
    with mpmath.workdps(50):
        ell, rho, Delta, d, eps, p = (mpmath.mpf(given[k]) for k in ("ell", "rho", "Delta_f", "d", "epsilon", "p"))
        root = mpmath.sqrt(rho * eps)
        for s in (one, two):
            assert close(s.eta, 1 / (4 * ell))
            assert close(s.theta, mpmath.sqrt(root / ell) / 4)
            assert close(s.gamma, root / 4)  # theta^2 / eta
            assert close(s.s, root / (16 * rho))
            assert close(s.mu_step, eps * mpmath.sqrt(eps) * mpmath.root(eps, 8) / (2 * mpmath.sqrt(d)))
            assert s.mu_check**2 <= 1.5 * given["epsilon"] / (given["rho"] * math.sqrt(given["d"])) * (1 + 1e-12)
            assert s.promise == (given["epsilon"], math.sqrt(given["rho"] * given["epsilon"]))
            assert s.probability == 1 - given["p"]
        chi = mpmath.log(d * ell * Delta / (rho * eps * p))
        assert close(one.T, 2 * mpmath.sqrt(ell / root) * chi)
        assert close(one.r, eps / (4 * ell * chi**5 * 2**8))
        assert close(one.f_thres, eps * mpmath.sqrt(eps / rho) / (chi**5 * 2**7))
        gain = eps * mpmath.sqrt(eps / rho) / 384
        assert close(two.f_thres, gain)
        assert close(two.delta_0, p * gain / Delta)
        assert close(two.T, 32 * mpmath.sqrt(ell / root) * mpmath.log(ell / root * mpmath.sqrt(d) * Delta / (p * gain)))
        assert close(two.r, p * gain / Delta * eps / 32 * mpmath.sqrt(mpmath.pi / rho / d))
        assert close(two.step, mpmath.sqrt(eps / rho) / 4)


@pytest.mark.parametrize("settings", [zhang_gu_1, zhang_gu_2])
def test_assumptions(settings):
    for name in ("ell", "rho", "Delta_f", "epsilon", "C_mu"):
        with pytest.raises(InvalidSetting, match=name):
            settings(**GIVEN[0] | {name: -1.0})
    with pytest.raises(InvalidSetting, match=r"epsilon <= ell\^2 / rho"):
        settings(**GIVEN[0] | {"epsilon": 9.0})
    with pytest.raises(InvalidSetting, match="p=1"):
        settings(**GIVEN[0] | {"p": 1.0})
    with pytest.raises(BelowPrecision, match="Zhang & Gu"):
        settings(**GIVEN[0]).method(x=np.full(7, 1e8), magnitude=1.0)


def test_the_radius_of_theorem_2_is_lost_in_values_of_order_one():
    settings = zhang_gu_2(**GIVEN[0])
    assert 1e-13 <= settings.r <= 2e-13
    assert settings.method(x=np.zeros(7), magnitude=0.0).r == settings.r
    with pytest.raises(BelowPrecision, match="mu_step of the search"):
        settings.method(x=np.zeros(7), magnitude=1.0)


def test_a_gain_that_is_more_than_all():
    with pytest.raises(InvalidSetting, match="delta_0"):
        zhang_gu_2(**GIVEN[0] | {"Delta_f": 1e-12})


def test_theorem_1_leaves_a_saddle_at_its_own_settings():
    """From the saddle of OffAxis with its own ell, rho and Delta_f; those of Theorem 2 cannot be resolved there."""
    problem = OffAxis(d=4, seed=0)
    given = {"ell": problem.ell, "rho": problem.rho, "Delta_f": -problem.minimum, "d": 4, "epsilon": 5e-2, "p": 0.1}
    settings = zhang_gu_1(**given)
    method = settings.method(x=problem.start, magnitude=1.0)
    gtol, curvtol = settings.promise
    result = escapade.minimize(
        problem, problem.start, method=method, gtol=gtol, curvtol=curvtol, failure=0.1, vectorized=True, rng=0
    )
    assert result.success, result.message
    assert result.fun < problem.minimum / 2
