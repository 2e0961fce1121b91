"""Averages over samples: certificates that rest on samples, and what they say that they rest on."""

import numpy as np
import pytest

import escapade
from escapade import certify
from escapade.errors import InvalidSetting

D = 4


def quadratic(n, lowest, seed=800, spread=0.5):
    """x'(A + diag(xi_i)) x / 2 + zeta_i'x, the mean of xi and zeta exactly 0; `lowest` is the least curvature."""
    rng = np.random.default_rng(seed)
    xi, zeta = spread * rng.standard_normal((n, D)), rng.standard_normal((n, D))
    xi -= xi.mean(axis=0)
    zeta -= zeta.mean(axis=0)
    A = np.linspace(lowest, 2.0, D)

    def fun(X, ids):
        return 0.5 * (X * X) @ (A + xi[ids].mean(axis=0)) + X @ zeta[ids].mean(axis=0)

    return fun


OPTIONS = {"samples": 20_000, "vectorized": True, "gtol": 1e-2, "curvtol": 0.1, "rng": 0}


def test_a_minimum_costs_little_more_than_a_gradient_of_the_whole_sum():
    certificate = certify(quadratic(20_000, 0.5), np.zeros(D), **OPTIONS)
    assert certificate.holds
    assert certificate.curvature.lower < 0.5 < certificate.curvature.upper
    assert certificate.nfev < 2.5 * 20_000 * (D + 1)
    assert certificate.trusted["samples rarer than"].value == pytest.approx(50 / 1024)


def test_a_saddle_and_a_slope_are_told():
    saddle = certify(quadratic(20_000, -0.5), np.zeros(D), **OPTIONS)
    assert saddle.verdict == "saddle"
    assert abs(saddle.direction[0]) > 0.9
    assert certify(quadratic(20_000, 0.5), np.full(D, 3.0), **OPTIONS).verdict == "not stationary"


def test_the_whole_sum_can_be_asked_for_and_then_nothing_is_said_of_samples():
    certificate = certify(quadratic(20_000, 0.5), np.zeros(D), evidence="whole", **OPTIONS)
    assert certificate.holds
    assert not any("samples" in name for name in certificate.trusted)


@pytest.mark.parametrize("evidence", ["sampled", "whole"])
def test_one_sample_in_a_thousand_carries_the_curvature(evidence):
    """Either it is seen, or the certificate says that a kind so rare was not looked for."""
    n, q = 20_000, 1e-3
    plain = quadratic(n, 0.5, spread=0.05)

    def fun(X, ids):
        return plain(X, ids) - 0.5 / q * np.mean(ids % round(1 / q) == 0) * X[:, 0] ** 2

    for seed in range(4):
        certificate = certify(fun, np.zeros(D), **(OPTIONS | {"rng": seed}), evidence=evidence)
        if evidence == "whole":
            assert not certificate.holds
        elif certificate.holds:
            assert certificate.trusted["samples rarer than"].value > q


def test_a_stream_says_what_it_can_show_and_what_the_rest_would_cost():
    def fun(X, ids):
        rng = np.random.default_rng(int(ids[0]) % 2**32)
        noise = rng.standard_normal((len(ids), 2)).mean(axis=0)
        return 0.5 * np.sum(X * X, axis=1) + X @ noise

    hard = certify(fun, np.zeros(2), samples="stream", vectorized=True, rng=0)
    assert hard.verdict == "undecided"
    assert hard.noise_limited
    assert "maxfev" in hard.remedy
    assert hard.nfev < 150_000
    gtol, curvtol = hard.attainable
    easy = certify(fun, np.zeros(2), samples="stream", vectorized=True, rng=1, gtol=gtol, curvtol=curvtol)
    assert easy.holds


def test_evidence_must_be_one_of_two_and_a_stream_has_no_whole():
    with pytest.raises(InvalidSetting, match="sampled"):
        certify(quadratic(10, 1.0), np.zeros(D), evidence="none", **OPTIONS)
    with pytest.raises(InvalidSetting, match="stream"):
        certify(quadratic(10, 1.0), np.zeros(D), **(OPTIONS | {"samples": "stream"}), evidence="whole")


def test_units_of_the_variables_are_taken():
    fun, scale = quadratic(20_000, -0.5), np.array([10.0, 0.1, 1.0, 3.0])
    certificate = certify(lambda Y, ids: fun(Y / scale, ids), np.zeros(D), x_scale=scale, **OPTIONS)
    assert certificate.verdict == "saddle"
    assert abs(certificate.direction[0]) > 0.9
    assert escapade.certify(fun, np.zeros(D), finder="minibatch", **OPTIONS).verdict == "saddle"
