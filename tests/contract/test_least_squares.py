"""`least_squares`: certified fits, with everything that `minimize` promises."""

import json
import math

import array_api_strict
import numpy as np
import pytest
from scipy.optimize import Bounds, curve_fit
from scipy.optimize import least_squares as scipy_least_squares

import escapade
from escapade import certify, least_squares
from escapade.errors import EvaluationFailed, InvalidSetting, JournalError, WrongGradient
from escapade.stopping import Stop

T = np.linspace(0, 3, 30)
Y = 2 * np.exp(-1.3 * T) + 0.3 + 0.01 * np.random.default_rng(0).standard_normal(30)
START = [1.0, 1.0, 0.0]


def decay(p, y=Y):
    return p[0] * np.exp(-p[1] * T) + p[2] - y


def decays(P):
    return P[:, :1] * np.exp(-P[:, 1:2] * T) + P[:, 2:] - Y


def jacobian(p):
    e = np.exp(-p[1] * T)
    return np.stack([e, -p[0] * T * e, np.ones_like(T)], axis=1)


def rosenbrock(x):
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def tridiagonal(x):
    r = (3 - 2 * x) * x + 1
    r[1:] -= x[:-1]
    r[:-1] -= 2 * x[1:]
    return r


def band(n):
    i = np.arange(n)
    return np.abs(i[:, None] - i) <= 1


@pytest.fixture(scope="module")
def fit():
    return least_squares(decay, START, rng=0)


def test_a_fit_is_certified_and_is_that_of_scipy(fit):
    theirs = scipy_least_squares(decay, START)
    np.testing.assert_allclose(fit.x, theirs.x, rtol=1e-5)
    assert fit.success
    assert fit.status == 0
    assert fit.certificate.verdict == "minimum"
    assert fit.cost == pytest.approx(theirs.cost)
    np.testing.assert_allclose(fit.fun, decay(fit.x))
    np.testing.assert_allclose(fit.jac, jacobian(fit.x), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fit.grad, fit.jac.T @ fit.fun)
    assert fit.optimality == pytest.approx(np.max(np.abs(fit.grad)))
    assert isinstance(fit.status, int)
    assert not fit.active_mask.any()


def test_the_certificate_is_true(fit):
    exact = jacobian(fit.x)
    e = np.exp(-fit.x[1] * T)
    cross, bent = -T * e, fit.x[0] * T**2 * e
    S = np.zeros((3, 3))
    S[0, 1] = S[1, 0] = fit.fun @ cross
    S[1, 1] = fit.fun @ bent
    s = fit.certificate.units.lengths
    lowest = np.linalg.eigvalsh((exact.T @ exact + S) * np.outer(s, s))[0]
    assert fit.certificate.curvature.lower <= lowest <= fit.certificate.curvature.upper
    g = np.linalg.norm(s * (exact.T @ fit.fun))
    assert fit.certificate.gradient.lower <= g <= fit.certificate.gradient.upper


def test_the_covariance_is_that_of_curve_fit(fit):
    _, theirs = curve_fit(lambda t, a, b, c: a * np.exp(-b * t) + c, T, Y, p0=START)
    np.testing.assert_allclose(fit.covariance(), theirs, rtol=1e-3)
    softest = fit.softest()
    assert len(softest) == 3
    assert softest[0].deviation >= softest[1].deviation >= softest[2].deviation
    v = softest[0].direction * np.abs(fit.x)
    assert softest[0].deviation == pytest.approx(1 / np.sqrt(v @ np.linalg.inv(theirs) @ v), rel=1e-3)


def test_what_the_residuals_do_not_say_is_infinitely_uncertain():
    found = least_squares(lambda x: np.array([x[0] + x[1] - 2, 2 * x[0] + 2 * x[1] - 4, x[2], x[2] - 1]), [1.0, 3, 1])
    covariance = found.covariance()
    assert np.isinf(covariance[:2, :2]).all()
    assert covariance[2, 2] == pytest.approx(0.25, rel=1e-4)
    assert found.softest(1)[0].deviation == math.inf
    assert found.certificate.verdict == "second-order"  # and no strict minimum


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_robust_losses(loss):
    y = Y.copy()
    y[::7] += 1.0
    found = least_squares(decay, [2.0, 1.0, 0.2], args=(y,), loss=loss, f_scale=0.05, rng=0)
    theirs = scipy_least_squares(decay, [2.0, 1.0, 0.2], args=(y,), loss=loss, f_scale=0.05)
    assert found.success
    assert found.cost <= theirs.cost * (1 + 1e-6)
    np.testing.assert_allclose(found.x[:2], [2, 1.3], rtol=0.1)


def test_queries_are_counted_and_the_budget_is_hard():
    calls = []

    def counted(p):
        calls.append(p)
        return decay(p)

    found = least_squares(counted, START, rng=0)
    assert found.nfev == len(calls) == sum(found.nfev_by_purpose.values())
    for budget in (1, 2, 5, 30):
        calls.clear()
        found = least_squares(counted, START, rng=0, max_nfev=budget)
        assert len(calls) <= budget
        assert found.nfev == len(calls)
        assert not found.success
        assert found.stop is Stop.BUDGET
        assert found.cost == pytest.approx(np.sum(decay(found.x) ** 2) / 2)


def test_where_it_is_evaluated_changes_nothing(fit):
    for other in (
        least_squares(decays, START, vectorized=True, rng=0),
        least_squares(decay, START, workers=2, rng=0),
    ):
        np.testing.assert_allclose(other.x, fit.x, rtol=1e-9)
        assert abs(other.nfev - fit.nfev) <= 20


def test_a_jacobian_of_the_users_own(fit):
    found = least_squares(decay, START, jac=jacobian, rng=0)
    assert found.success
    assert found.njev > 0
    assert found.nfev < fit.nfev
    np.testing.assert_allclose(found.x, fit.x, rtol=1e-6)
    with pytest.raises(EvaluationFailed, match="30 x 3"):
        least_squares(decay, START, jac=lambda p: np.ones((2, 2)))


def wrong_jacobians():
    """Jacobians of `decay` with one mistake, and the parameter it concerns."""
    for k, factor in ((0, -1.0), (1, 2.0), (1, 0.9), (2, 0.0)):
        scale = np.ones(3)
        scale[k] = factor
        yield (lambda p, scale=scale: jacobian(p) * scale), k
    entry = np.zeros((30, 3))
    entry[7, 1] = 1.0
    yield (lambda p: jacobian(p) + entry), 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", range(5))
def test_a_wrong_jacobian_is_refused_at_the_start(which, seed):
    jac, k = list(wrong_jacobians())[which]
    said = rf"jac\[\d+, {k}\] is .*Correct column {k} of jac, or leave jac out"
    with pytest.raises(WrongGradient, match=said) as caught:
        least_squares(decay, START, jac=jac, rng=seed)
    assert caught.value.coordinate == k
    assert abs(caught.value.claimed - caught.value.seen) > 1e-3 * abs(caught.value.claimed)


@pytest.mark.parametrize("seed", range(5))
def test_right_jacobians_are_not_refused(seed):
    rng, start = np.random.default_rng(seed), np.array(START, dtype=float)
    scale = 10.0 ** rng.uniform(-6, 6, 3)
    noisy = [lambda p, s=s: decay(p) + s * rng.standard_normal(30) for s in (1e-10, 1e-6, 1e-2)]
    cases = [
        (decay, jacobian, START),
        (lambda p: decay(p / scale), lambda p: jacobian(p / scale) / scale, start * scale),
        (lambda p: decay(p) * 1e8, lambda p: jacobian(p) * 1e8, START),
        (lambda p: decay(p).astype(np.float32), lambda p: jacobian(p).astype(np.float32), START),
        (lambda p: np.round(decay(p), 4), jacobian, START),
        (lambda p: np.zeros(30), lambda p: np.zeros((30, 3)), START),
        *((fun, jacobian, START) for fun in noisy),
    ]
    for fun, jac, x in cases:
        least_squares(fun, x, jac=jac, maxfev=60, rng=seed)
    least_squares(decay, START, jac=jacobian, bounds=(start, start + 5), maxfev=60, rng=seed)
    with pytest.raises(WrongGradient):
        least_squares(decay, START, jac=lambda p: -jacobian(p), bounds=(start, start + 5), rng=seed)


def test_a_journal_goes_on_where_it_was_cut(tmp_path, fit):
    path = tmp_path / "fit.db"
    cut = least_squares(decay, START, journal=path, rng=0, maxfev=20)
    assert cut.stop is Stop.BUDGET
    calls = []

    def counted(p):
        calls.append(p)
        return decay(p)

    found = least_squares(counted, START, journal=path, rng=0)
    np.testing.assert_array_equal(found.x, fit.x)
    assert found.nfev == fit.nfev
    assert len(calls) == fit.nfev - 20
    from escapade.oracle.journal import describe

    assert f"{fit.nfev}" in describe(path)
    assert f"{fit.certificate.fun:.6g}"[:6] in describe(path)
    with pytest.raises(JournalError, match="loss"):
        least_squares(decay, START, journal=path, rng=0, loss="huber")


def test_missing_residuals_are_steps_not_taken():
    def walled(p):
        r = decay(p)
        return r if p[1] < 1.8 else np.full_like(r, np.nan)

    found = least_squares(walled, [1.0, 1.75, 0.0], rng=0)
    assert found.success
    assert found.x[1] == pytest.approx(1.308, abs=0.01)


def test_failures():
    def broken(p):
        if p[1] > 1.2:
            raise RuntimeError("laboratory on fire")
        return decay(p)

    with pytest.raises(EvaluationFailed, match="fire") as error:
        least_squares(broken, START, rng=0)
    assert error.value.result.cost < np.sum(decay(START) ** 2) / 2
    assert least_squares(broken, START, rng=0, on_error="stop").stop is Stop.USER_ERROR


def test_saddles_are_left():
    M = np.outer([1.0, 2.0, -1.0], [0.5, 1.0])
    found = least_squares(lambda x: (np.outer(x[:3], x[3:]) - M).ravel(), np.zeros(5), rng=0)  # a saddle
    assert found.success
    assert found.cost < 1e-8
    assert found.n_escapes >= 1


def test_sparse_jacobians():
    n = 200
    found = least_squares(tridiagonal, -np.ones(n), jac_sparsity=band(n), rng=0)
    assert found.success
    assert found.cost < 1e-8
    assert found.nfev <= 45  # d + 1 = 201 without
    np.testing.assert_allclose(found.jac, least_squares(tridiagonal, found.x, rng=0).jac, atol=1e-4)
    with pytest.raises(InvalidSetting, match="columns"):
        least_squares(tridiagonal, -np.ones(n), jac_sparsity=band(n - 1))


@pytest.mark.parametrize(
    ("options", "shown", "remedy"),
    [
        ({"loss": "square"}, "'square'", "linear, soft_l1"),
        ({"f_scale": -1.0}, "-1.0", "positive"),
        ({"bounds": ([2, 0, 0], [1, 1, 1])}, "lower[0] = 2", "at most"),
        ({"maxfev": 3, "max_nfev": 4}, "max_nfev=4", "give one"),
        ({"jac": 3}, "jac=3", "callable"),
        ({"noise": -1.0}, "-1.0", "standard deviation"),
        ({"x_scale": [1.0, -1.0, 1.0]}, "-1.0", "positive"),
    ],
)
def test_bad_input(options, shown, remedy):
    with pytest.raises(InvalidSetting) as error:
        least_squares(decay, START, **options)
    assert shown in str(error.value)
    assert remedy in str(error.value)


def test_the_result_is_plain_data(fit):
    data = json.loads(fit.to_json())
    assert data["cost"] == pytest.approx(fit.cost)
    assert len(data["fun"]) == 30
    assert "30 residuals" in str(fit)


def test_any_unit():
    first = least_squares(rosenbrock, [-1.2, 1.0], rng=0)
    unit, size = 2.0**20, 2.0**-8
    other = least_squares(lambda x: size * rosenbrock(x / unit), [-1.2 * unit, unit], rng=0)
    np.testing.assert_allclose(other.x / unit, first.x, rtol=1e-6)
    assert other.nfev == first.nfev
    assert other.certificate.verdict == first.certificate.verdict


BOXES = [
    (([0, 0, 0.35], [5, 5, 1]), [0, 0, -1]),
    (([0, 0, 0], [5, 1, 1]), [0, 1, 0]),
    (([0, 1.5, 0.31], [1.9, 3, 0.4]), [1, -1, 0]),
    (([-9, -9, -9], [9, 9, 9]), [0, 0, 0]),
]


@pytest.mark.parametrize(("box", "active"), BOXES)
def test_bounds(box, active):
    low, high = np.array(box)
    asked = []

    def within(p):
        asked.append(p)
        return decay(p)

    found = least_squares(within, [1.0, 1.0, 0.5], bounds=box, rng=0)
    asked = np.array(asked)
    assert np.all(asked >= low)
    assert np.all(asked <= high)
    theirs = scipy_least_squares(decay, np.clip([1.0, 1.0, 0.5], low + 1e-3, high - 1e-3), bounds=box)
    np.testing.assert_allclose(found.x, theirs.x, rtol=1e-4)
    np.testing.assert_array_equal(found.active_mask, active)
    assert found.certificate.verdict == "minimum"
    assert found.optimality < 1e-4
    certificate = certify(decay, found.x, residuals=True, bounds=Bounds(low, high), rng=0)
    assert certificate.verdict == "minimum"


def test_noise():
    shaken = np.random.default_rng(1)
    found = least_squares(lambda p: decay(p) + 1e-3 * shaken.standard_normal(30), START, noise=1e-3, rng=0)
    np.testing.assert_allclose(found.x, [2.0, 1.3, 0.3], rtol=0.05)
    assert found.nfev < 600
    assert not found.success  # a gradient of 1e-6 cannot be seen through that noise
    assert found.certificate.attainable is None or found.certificate.attainable[0] > found.certificate.gtol


def test_noise_that_nobody_told_of_is_found():
    shaken = np.random.default_rng(1)
    found = least_squares(lambda p: decay(p) + 1e-2 * shaken.standard_normal(30), START, rng=0, maxfev=3000)
    np.testing.assert_allclose(found.x, [2.0, 1.3, 0.3], rtol=0.2)
    assert found.nfev < 1500
    assert not found.success


def test_float32():
    t, y = T.astype(np.float32), Y.astype(np.float32)
    start = np.array(START, dtype=np.float32)
    found = least_squares(lambda p: p[0] * np.exp(-p[1] * t) + p[2] - y, start, rng=0, maxfev=3000)
    assert found.x.dtype == np.float32
    np.testing.assert_allclose(found.x, [2.0, 1.3, 0.3], rtol=0.05)


def test_callback_and_stopping():
    seen = []
    least_squares(decay, START, rng=0, callback=lambda intermediate_result: seen.append(intermediate_result.fun))
    assert seen == sorted(seen, reverse=True)
    assert least_squares(decay, START, rng=0, maxiter=2).stop is Stop.ITERATIONS


def test_certify_says_what_a_fit_of_another_solver_is():
    theirs = scipy_least_squares(decay, START, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    certificate = certify(decay, theirs.x, residuals=True, rng=0)
    assert certificate.verdict == "minimum"
    assert certify(decay, START, residuals=True, rng=0).verdict == "not stationary"
    saddle = certify(lambda x: np.array([x[0] ** 2 - 1, x[1]]), [0.0, 0.0], residuals=True, rng=0)
    assert saddle.verdict == "saddle"
    assert abs(saddle.direction[0]) > 0.7


@pytest.mark.parametrize("wave", [1e-6, 1e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("seed", range(3))
def test_a_ripple_is_no_noise(wave, seed):
    """One residual has a ripple whose curvature, -3 in all, is seen at its wavelength alone."""
    certificate = certify(
        lambda x: np.array([*x, 1 + 4 * wave**2 * np.cos(x[0] / wave)]),
        np.zeros(3),
        residuals=True,
        gtol=1e-3,
        curvtol=0.1,
        x_scale=1.0,
        rng=seed,
    )
    assert certificate.verdict == "saddle"


def test_array_libraries():
    xp = array_api_strict
    found = least_squares(lambda x: xp.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]]), xp.asarray([-1.2, 1.0]), rng=0)
    assert found.success
    assert type(found.x) is type(xp.asarray(1.0))


def test_residuals_may_be_told(tmp_path, fit):
    opt = escapade.ask_tell(START, residuals=True, rng=0)
    opt.known([START], [decay(START)])
    asked = 0
    while not opt.done and asked < 12:
        points = opt.ask()
        opt.tell([decay(p) for p in points])
        asked += len(points)
    opt.save(tmp_path / "lab.json")
    opt.stop()
    opt = escapade.ask_tell.load(tmp_path / "lab.json")
    while not opt.done:
        opt.tell(decays(opt.ask()))
    found = opt.result()
    np.testing.assert_allclose(found.x, fit.x, rtol=1e-9)
    assert found.certificate.verdict == "minimum"
    with pytest.raises(InvalidSetting, match="vectors of residuals"):
        escapade.ask_tell(START, residuals=True).tell([1.0])


def test_it_is_public():
    assert escapade.least_squares is least_squares


def test_a_parameter_on_its_bound_has_no_standard_error():
    found = least_squares(decay, [1.0, 1.0, 0.5], bounds=([0, 0, 0.5], [10, 5, 1]), rng=0)
    assert found.certificate.active.strong == (2,)
    J = np.linalg.inv(jacobian(found.x)[:, :2].T @ jacobian(found.x)[:, :2]) * 2 * found.cost / (len(T) - 2)
    np.testing.assert_allclose(found.covariance()[:2, :2], J, rtol=1e-3)
    assert np.isnan(found.covariance()[2]).all()
    assert [one.direction[2] for one in found.softest()] == [0.0, 0.0]
    assert "x[2] = 0.5 (lower, strongly active)" in str(found)
    weak = least_squares(lambda p: np.array([p[0], p[1] - 1, 0.1]), [1.0, 0.0], bounds=([0, 0], [2, 2]), rng=0)
    assert weak.certificate.active.weak == (0,)
    assert np.isfinite(weak.covariance()).all()


@pytest.mark.parametrize("bounds", [[(0, 1), (0, 5)], np.array([[0, 1], [0, 5]])])
def test_bounds_that_can_be_read_in_two_ways_are_refused(bounds):
    with pytest.raises(InvalidSetting, match=r"\(lower, upper\) or a pair .* scipy.optimize.Bounds"):
        least_squares(rosenbrock, [0.5, 0.5], bounds=bounds)
    for clear in (Bounds([0, 0], [1, 5]), ([0, 0], [1, 5]), [(0, 1), (0, None)]):
        assert least_squares(rosenbrock, [0.5, 0.5], bounds=clear, rng=0).success


def test_an_unknown_keyword_is_met_with_the_one_that_was_meant():
    with pytest.raises(TypeError, match=r"least_squares\(\) .* 'tol'. Did you mean 'gtol'\?"):
        least_squares(rosenbrock, [0.5, 0.5], tol=1e-3)


@pytest.mark.parametrize("d", [1, 2, 5, 10])
@pytest.mark.parametrize("size", [1.5, 3.0])
def test_a_slope_that_the_steps_of_a_jacobian_hide_is_seen(d, size):
    """A third derivative of one residual cancels its slope over the steps: along one line the errors of coordinates
    cancel, too, and up to 28 of 200 were certified."""
    x, asked = np.ones(d), []

    def plain(x):
        asked.append(np.array(x))
        return np.concatenate([[1.0], x - 1])

    certify(plain, x, residuals=True, rng=0, gtol=1e-6, curvtol=1e-2)
    h = min(np.max(np.abs(y - x)) for y in asked if np.count_nonzero(y - x) == 1)
    slope = size * 1e-6 / np.sqrt(d)

    def hidden(x):
        t = x - 1
        return np.concatenate([[1.0 + np.sum(slope * t - slope / h**2 * t**3)], t])

    for seed in range(15):
        c = certify(hidden, x, residuals=True, rng=seed, gtol=1e-6, curvtol=1e-2)
        assert not c.holds
        assert c.gradient.upper >= size * 1e-6 * (1 - 1e-6)


def test_the_direction_of_a_saddle_is_that_of_the_units_learnt():
    found = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scale, z, A = np.exp(rng.uniform(-4, 4, 3)), 1 + rng.random(3), rng.standard_normal((6, 3))
        k = A @ np.sin(z) + 3 * rng.standard_normal(6)

        def fit(x, A=A, k=k, scale=scale):
            return A @ np.sin(x / scale) - k

        for _ in range(60):  # Newton steps, which saddles attract as well
            J, r = A * np.cos(z), A @ np.sin(z) - k
            H = J.T @ J - np.diag((r @ A) * np.sin(z))
            step = np.linalg.solve(H, J.T @ r)
            z = z - step * min(1.0, 0.5 / np.linalg.norm(step))
        c = certify(fit, z * scale, residuals=True, rng=seed)
        if c.verdict == "saddle":
            y = c.units.lengths / scale
            v = np.asarray(c.direction) * y
            found += 1
            assert v @ H @ v <= -c.curvtol / 2 * (1 - 1e-6)
    assert found >= 10


def test_the_curvature_interval_of_one_parameter_holds_the_truth():
    """Its upper end left out truncation, and lay below the curvature by 1e-7 to 1e-3 of it in half of the fits."""
    for seed in range(30):
        rng = np.random.default_rng([33, seed])
        a, b = rng.standard_normal((2, 5))
        data, scale = np.sin(a * 0.3) + np.exp(b * 0.15) + 0.1 * rng.standard_normal(5), np.exp(rng.uniform(-3, 3))

        def fit(x, a=a, b=b, data=data, scale=scale):
            return np.sin(a * x[0] / scale) + np.exp(b * x[0] / scale / 2) - data

        x = scipy_least_squares(fit, [0.3 * scale], x_scale=[scale], xtol=1e-15, ftol=1e-15, gtol=1e-15).x
        c = certify(fit, x, residuals=True, rng=seed)
        if c.holds:
            z, unit = x[0] / scale, c.units.lengths[0] / scale
            slope = a * np.cos(a * z) + b * np.exp(b * z / 2) / 2
            own = slope @ slope + fit(x) @ (b**2 * np.exp(b * z / 2) / 4 - a**2 * np.sin(a * z))
            assert c.curvature.lower <= own * unit**2 * (1 + 1e-8)
            assert own * unit**2 <= c.curvature.upper * (1 + 1e-8)
