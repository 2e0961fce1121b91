"""Averages over samples: certificates that rest on samples, and what they say that they rest on."""

from concurrent.futures import ThreadPoolExecutor

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


# `minimize`


def saddle(n, seed=801):
    """A mean of n quartics whose saddle at 0 no sample shares; minima at about x_0 = ±1."""
    rng = np.random.default_rng(seed)
    slopes, curvatures = rng.standard_normal((n, D)), 1 + 0.3 * rng.standard_normal((n, D))
    slopes -= slopes.mean(axis=0)
    curvatures += 1 - curvatures.mean(axis=0)

    def fun(X, ids):
        c = curvatures[ids].mean(axis=0) * np.array([-1.0, 1.0, 2.0, 0.5])
        return X[:, 0] ** 4 / 4 + 0.5 * (X * X) @ c + X @ slopes[ids].mean(axis=0)

    return fun


SOLVED = {"vectorized": True, "gtol": 1e-3, "curvtol": 0.03}


@pytest.mark.parametrize("start", [np.zeros(D), np.full(D, 0.7)])
def test_a_sum_is_minimised_at_a_fraction_of_the_price_of_the_whole(start):
    n = 20_000
    fun = saddle(n)
    result = escapade.minimize(fun, start, samples=n, rng=0, **SOLVED)
    assert result.success, result
    assert abs(result.x[0]) == pytest.approx(1.0, abs=2e-3)
    assert result.fun == pytest.approx(float(fun(result.x[None, :], np.arange(n))[0]), rel=1e-9)
    whole = escapade.minimize(lambda X: fun(X, np.arange(n)), start, rng=0, **SOLVED)
    assert result.nfev < 0.7 * n * whole.nfev
    assert "samples" in result.certificate.trusted


def test_a_small_sum_is_taken_whole():
    result = escapade.minimize(saddle(200), np.zeros(D), samples=200, rng=0, **SOLVED)
    whole = escapade.minimize(lambda X: saddle(200)(X, np.arange(200)), np.zeros(D), rng=0, **SOLVED)
    assert result.success
    assert result.nfev == 200 * whole.nfev
    assert "samples" not in result.certificate.trusted


def test_a_way_down_that_a_part_of_a_batch_shows_is_tried_once():
    """The curvature of each sample is 0.05 ± 8, so that a Hessian of some of them has negative eigenvalues that f, and
    the batch, have not."""
    n, rng = 20_000, np.random.default_rng(0)
    xi, slopes = 8 * rng.standard_normal((n, D)), 0.3 * rng.standard_normal((n, D))
    xi, slopes = xi - xi.mean(axis=0), slopes - slopes.mean(axis=0)

    def fun(X, ids):
        c = np.array([0.05, 1.0, 2.0, 0.5]) + xi[ids].mean(axis=0)
        return np.sum(0.5 * X * X * c + X * slopes[ids].mean(axis=0) + X**4, axis=1)

    result = escapade.minimize(fun, np.full(D, 0.7), samples=n, maxfev=10_000_000, rng=0, **SOLVED)
    assert result.success
    assert result.n_escapes <= 2


def test_a_saddle_that_all_samples_share_is_left():
    rng = np.random.default_rng(802)
    n = 10_000
    A, z = rng.standard_normal((n, D)), np.array([0.5, -0.5, 0.5, 0.5])
    target = (A @ z) ** 2

    def fun(X, ids):
        return 0.25 * np.mean(((X @ A[ids].T) ** 2 - target[ids]) ** 2, axis=1)

    result = escapade.minimize(fun, np.zeros(D), samples=n, rng=0, **SOLVED)
    assert result.success
    assert min(np.linalg.norm(result.x - z), np.linalg.norm(result.x + z)) < 1e-2
    assert result.nfev < 6 * n * (D + 1)


@pytest.mark.parametrize("budget", [300, 3_000, 20_000, 60_000, 200_000])
def test_a_run_cut_short_keeps_a_point_no_worse_than_x0_and_its_value(budget):
    n, start = 20_000, np.full(D, 0.7)
    fun = saddle(n)
    result = escapade.minimize(fun, start, samples=n, rng=0, maxfev=budget, **SOLVED)
    assert result.nfev <= budget
    assert np.isfinite(result.fun)
    ids = np.arange(n)
    assert fun(result.x[None, :], ids)[0] <= fun(start[None, :], ids)[0]


def test_a_run_cut_by_time_or_by_its_callback_has_a_value():
    fun, start = saddle(20_000), np.full(D, 0.7)

    def stop(x):
        raise StopIteration

    for options in ({"maxtime": 1e-9}, {"callback": stop}, {"maxiter": 1}):
        result = escapade.minimize(fun, start, samples=20_000, rng=0, **SOLVED, **options)
        if result.nfev:
            assert np.isfinite(result.fun)


def test_no_certificate_is_paid_for_where_none_is_asked_for():
    fun = saddle(20_000)
    result = escapade.minimize(fun, np.full(D, 0.7), samples=20_000, rng=0, certificate="none", **SOLVED)
    assert not result.success
    assert result.certificate is None
    assert abs(result.x[0]) == pytest.approx(1.0, abs=5e-3)
    assert np.isfinite(result.fun)


def noisy_double_well(X, ids):
    """x_0^4 / 4 - x_0^2 / 2 + x_1^2 / 2 and a slope of unit variance, a function of the id alone."""
    u = np.asarray(ids).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    u = (u ^ (u >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    u ^= u >> np.uint64(32)
    low, high = u & np.uint64(0xFFFFFFFF), u >> np.uint64(32)
    slope = np.array([(part / 2.0**32 - 0.5).mean() for part in (low, high)]) * np.sqrt(12)
    return X[:, 0] ** 4 / 4 - X[:, 0] ** 2 / 2 + X[:, 1] ** 2 / 2 + X @ slope


def test_a_stream_with_default_settings_leaves_its_saddle_and_says_honestly_what_it_could_show():
    for seed in range(3):
        result = escapade.minimize(noisy_double_well, np.zeros(2), samples="stream", vectorized=True, rng=seed)
        assert result.nfev <= 300_000
        assert abs(abs(result.x[0]) - 1) < 0.2
        assert result.stop.name == "NOISE_LIMITED"
        assert result.certificate.attainable is not None
        assert np.isfinite(result.fun)


def test_a_stream_of_many_variables_says_that_a_look_is_too_dear_before_it_is_taken():
    def fun(X, ids):
        return 0.5 * np.sum(X * X, axis=1) + 1e-3 * X[:, 0] * np.mean(ids % 2 - 0.5)

    certificate = certify(fun, np.zeros(600), samples="stream", vectorized=True, rng=0)
    assert certificate.verdict == "undecided"
    assert "maxfev" in certificate.remedy
    assert certificate.nfev == 0


def test_a_stream_that_can_be_decided_is():
    options = {"samples": "stream", "vectorized": True, "gtol": 0.1, "curvtol": 0.1}
    result = escapade.minimize(noisy_double_well, np.zeros(2), rng=0, **options)
    assert result.success
    assert abs(result.x[0] ** 3 - result.x[0]) < 0.1


def test_runs_from_many_starts_with_workers_and_a_journal_are_the_same(tmp_path):
    n = 5_000
    fun = saddle(n)
    options = SOLVED | {"samples": n}
    alone = escapade.multistart(fun, [np.zeros(D), np.full(D, 0.7)], rng=0, **options)
    assert all(run.success for run in alone.runs)
    kept = escapade.multistart(fun, [np.zeros(D), np.full(D, 0.7)], rng=0, journal=tmp_path / "runs.db", **options)
    again = escapade.multistart(fun, [np.zeros(D), np.full(D, 0.7)], rng=0, journal=tmp_path / "runs.db", **options)
    for first, second, third in zip(alone.runs, kept.runs, again.runs, strict=True):
        assert first.x.tobytes() == second.x.tobytes() == third.x.tobytes()
        assert first.nfev == second.nfev == third.nfev


SUM = saddle(5_000)


def average(X, ids):
    """A function that processes find by its name, and whose values do not depend on the rows beside them."""
    return np.concatenate([SUM(row[None, :], ids) for row in X])


def test_workers_change_nothing():
    """Neither processes nor threads, in one run, in many, or in a certificate."""
    options: dict = SOLVED | {"samples": 5_000, "rng": 0}
    alone = escapade.minimize(average, np.zeros(D), **options)
    assert alone.success
    for workers in (2, ThreadPoolExecutor(2)):
        shared = escapade.minimize(average, np.zeros(D), workers=workers, **options)
        assert shared.x.tobytes() == alone.x.tobytes()
        assert (shared.nfev, shared.fun) == (alone.nfev, alone.fun)
    starts = [np.zeros(D), np.full(D, 0.7)]
    runs = escapade.multistart(average, starts, **options).runs
    pooled = escapade.multistart(average, starts, workers=2, **options).runs
    assert [run.x.tobytes() for run in runs] == [run.x.tobytes() for run in pooled]
    seen = certify(average, alone.x, workers=2, **options)
    assert seen.curvature == certify(average, alone.x, **options).curvature


@pytest.mark.parametrize("budgets", [(400, 3_000), (30_000,), (60_000, 80_000)])
def test_a_run_on_samples_goes_on_with_a_larger_budget(tmp_path, budgets):
    """It looks at the values of fewer samples from time to time, and else is the run without a budget."""
    kept: dict = SOLVED | {"samples": 5_000, "rng": 0, "journal": tmp_path / "run.db"}
    for budget in budgets:
        cut = escapade.minimize(average, np.zeros(D), workers=2, maxfev=budget, **kept)
        assert cut.nfev <= budget
        assert not cut.success
    rest = escapade.minimize(average, np.zeros(D), **kept)
    assert rest.success
    del kept["journal"]
    alone = escapade.minimize(average, np.zeros(D), **kept)
    assert rest.x.tobytes() == alone.x.tobytes()
    seen, other = rest.nfev_by_purpose, alone.nfev_by_purpose
    assert {name: n for name, n in seen.items() if name != "watch"} == {n: k for n, k in other.items() if n != "watch"}


def test_starts_within_a_box_are_minimised_on_samples():
    found = escapade.multistart(average, n=4, within=[(-1, 1)] * D, samples=5_000, rng=0, **SOLVED)
    assert all(run.success for run in found.runs)
    assert len(found.minima) <= 2
    assert all(abs(abs(one.x[0]) - 1) < 1e-2 for one in found.minima)


def test_the_units_of_the_variables_and_the_whole_as_evidence():
    n, scale = 20_000, np.array([10.0, 0.1, 1.0, 3.0])
    fun = saddle(n)
    result = escapade.minimize(
        lambda X, ids: fun(X / scale, ids), np.zeros(D), samples=n, x_scale=scale, evidence="whole", rng=0, **SOLVED
    )
    assert result.success
    assert abs(result.x[0]) == pytest.approx(10.0, abs=0.02)
    assert not any("samples" in name for name in result.certificate.trusted)
