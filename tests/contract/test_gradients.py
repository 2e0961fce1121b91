"""What gradients are good for: certificates at a few of them, by the same rules, and honest where they fail."""

import numpy as np
import pytest
import scipy.optimize

import escapade
from escapade.errors import InvalidSetting, JournalError, WrongGradient
from escapade.problems import LennardJones, Octopus


def cluster(atoms, seed):
    p = LennardJones(atoms=atoms)
    x = 0.8 * np.random.default_rng(seed).standard_normal(p.d) * atoms ** (1 / 3)
    with np.errstate(all="ignore"):
        for _ in range(3):
            x = scipy.optimize.minimize(p, x, jac=p.gradient, method="BFGS", options={"gtol": 1e-11}).x
    return p, x


def quadratic(eigenvalues, rng, cubic=0.3):
    """x'Hx/2 and terms of third and fourth order along random directions."""
    d = len(eigenvalues)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    H, A = Q * eigenvalues @ Q.T, rng.standard_normal((3, d)) / np.sqrt(d)

    def fun(x):
        return float(x @ H @ x / 2 + cubic * np.sum((A @ x) ** 3) + np.sum((A @ x) ** 4))

    def jac(x):
        return H @ x + A.T @ (3 * cubic * (A @ x) ** 2 + 4 * (A @ x) ** 3)

    return fun, jac, H


def test_a_cluster_is_certified_by_few_gradients():
    """39 variables and six zero modes: at most 3 d gradients and 100 values."""
    p, x = cluster(13, 0)
    for given in ({}, {"gtol": 1e-4, "curvtol": 1e-2}):
        c = escapade.certify(p, x, jac=p.gradient, rng=0, **given)
        assert c.holds
        assert c.njev <= 3 * p.d
        assert c.nfev <= 100
        assert -1e-3 * np.linalg.norm(p.hessian(x), 2) <= c.curvature.lower <= c.curvature.upper
        assert c.trusted["jac"].source.startswith("checked against values")


@pytest.mark.parametrize("form", ["jac", "True", "hessp"])
def test_every_form_certifies_minima_and_finds_saddles(form):
    rng = np.random.default_rng(1)
    for low, verdict in ((0.1, "minimum"), (-0.1, "saddle")):
        fun, jac, H = quadratic(np.append(np.linspace(0.2, 3, 29), low), rng)
        given = {"jac": jac}
        if form == "True":
            given, fun = {"jac": True}, lambda x, fun=fun, jac=jac: (fun(x), jac(x))
        elif form == "hessp":
            given |= {"hessp": lambda x, v, jac=jac: (jac(x + 1e-5 * v) - jac(x - 1e-5 * v)) / 2e-5}
        c = escapade.certify(fun, np.zeros(30), rng=0, **given)
        assert c.verdict == verdict
        assert c.nhev > 0 if form == "hessp" else c.nhev == 0
        assert c.njev <= 90
        if verdict == "saddle":
            assert c.direction @ H @ c.direction < 0


def test_units_do_not_change_the_answer():
    fun, jac, _ = quadratic(np.linspace(0.1, 3, 12), np.random.default_rng(2))
    s, x = np.full(12, 2.0**10), np.random.default_rng(3).standard_normal(12)
    plain = escapade.certify(fun, x, jac=jac, rng=0)
    scaled = escapade.certify(lambda z: 2.0**40 * fun(z / s), x * s, jac=lambda z: 2.0**40 * jac(z / s) / s, rng=0)
    assert (scaled.verdict, scaled.njev, scaled.nfev) == (plain.verdict, plain.njev, plain.nfev)
    x_scale = escapade.certify(lambda z: fun(z / s), 0 * s, jac=lambda z: jac(z / s) / s, x_scale=s, gtol=1e-4, rng=0)
    assert x_scale.verdict == "minimum"


def test_planted_saddles_are_missed_no_oftener_than_promised():
    """A negative curvature just beyond the tolerance, with and without noise of gradients; p = 0.1."""
    missed, runs, p = 0, 0, 0.1
    for d in (2, 6, 20, 60):
        for noise in (0.0, 1e-9, 1e-6):
            for seed in range(12):
                rng = np.random.default_rng(seed)
                own = [rng.uniform(0, 1, d), 10 ** rng.uniform(-4, 0, d), np.where(rng.random(d) < 0.1, 1.0, 0.01)]
                own[seed % 3][0] = -1.00001e-2
                fun, jac, _ = quadratic(own[seed % 3], rng)

                def noisy(x, jac=jac, noise=noise, rng=rng):
                    return jac(x) + noise * rng.standard_normal(len(x))

                c = escapade.certify(fun, np.zeros(d), jac=noisy, gtol=1e-3, curvtol=1e-2, failure=p, rng=rng)
                missed, runs = missed + c.holds, runs + 1
    assert missed <= p * runs  # twice what is expected of the worst case: half of p is for one start
    assert runs == 144


def test_noise_of_gradients_is_never_taken_for_curvature():
    """Where it hides the tolerance, nothing is claimed."""
    fun, jac, _ = quadratic(np.append(np.linspace(0.2, 1, 9), -1e-6), np.random.default_rng(4))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        c = escapade.certify(
            fun, np.zeros(10), jac=lambda x, rng=rng: jac(x) + 1e-3 * rng.standard_normal(10), gtol=1e-6, rng=seed
        )
        assert c.verdict == "undecided"
        assert c.gradient.lower <= 0 <= c.gradient.upper


def test_a_gradient_that_is_another_only_at_x_is_not_believed():
    """An offset that the check beside x cannot see, beside the slopes there, enters the gradient's error."""
    fun, jac, _ = quadratic(np.linspace(1, 3, 10), np.random.default_rng(5))
    c = escapade.certify(fun, np.zeros(10), jac=lambda x: jac(x) + 1e-5, gtol=1e-8, curvtol=1e-3, rng=0)
    assert not c.holds
    d = escapade.certify(fun, np.zeros(10), jac=jac, gtol=1e-8, curvtol=1e-3, rng=0)
    assert d.verdict == "minimum"


def hilly(rng, d, lowest=0.4):
    """A convex function with minimiser 1 and the curvatures `lowest` to 7 there, its gradient, and eigenvectors."""
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    w = np.exp(np.append(np.log(lowest), rng.uniform(-0.9, 2, d - 1)))
    H = Q * w @ Q.T

    def fun(x):
        return float((x - 1) @ H @ (x - 1) / 2 + 0.1 * np.sum((x - 1) ** 4))

    return fun, lambda x: H @ (x - 1) + 0.4 * (x - 1) ** 3, H, Q


def certified(fun, jac, d, seed, **given):
    try:
        return escapade.certify(fun, np.ones(d), jac=jac, gtol=1e-4, curvtol=1e-2, rng=seed, **given)
    except WrongGradient:
        return None


@pytest.mark.parametrize("d", [1, 2, 5, 12, 30])
def test_a_term_that_the_gradient_forgets_is_seen(d):
    """A negative rank-one term, and a slope: one in eight was certified where one random direction was looked at."""
    for seed in range(12):
        rng = np.random.default_rng([seed, d])
        fun, jac, _, Q = hilly(rng, d)
        v, u = Q[:, 0], rng.standard_normal(d)
        u *= 3e-4 / np.linalg.norm(u)
        bent = certified(lambda x, fun=fun, v=v: fun(x) - 0.22 * (v @ (x - 1)) ** 2, jac, d, seed)
        tilted = certified(lambda x, fun=fun, u=u: fun(x) + u @ (x - 1), jac, d, seed)
        assert bent is None or not bent.holds
        assert tilted is None or tilted.verdict == "undecided"


@pytest.mark.parametrize("reach", [1e-3, 1e-1])
def test_a_gradient_that_is_wrong_near_x_alone_is_seen(reach):
    for seed in range(12):
        rng = np.random.default_rng([seed, 7])
        fun, jac, _, _ = hilly(rng, 7)
        u = rng.standard_normal(7)
        u *= 3e-4 / np.linalg.norm(u)

        def faded(x, jac=jac, u=u):
            return jac(x) + u * (1 - np.exp(-np.sum((x - 1) ** 2) / (2 * reach**2)))

        c = certified(lambda x, fun=fun, u=u: fun(x) + u @ (x - 1), faded, 7, seed)
        assert c is None or not c.holds


@pytest.mark.parametrize("d", [2, 5, 12, 30])
def test_a_product_that_forgets_a_term_is_seen(d):
    for seed in range(8):
        fun, jac, H, Q = hilly(np.random.default_rng([seed, d]), d)
        v = Q[:, 0]

        def product(x, p, H=H):
            return H @ p + 1.2 * (x - 1) ** 2 * p

        def bent(x, fun=fun, v=v):
            return fun(x) - 0.22 * (v @ (x - 1)) ** 2

        def right(x, jac=jac, v=v):
            return jac(x) - 0.44 * v * (v @ (x - 1))

        for more in (0.0, 1e10):  # where values are too large to show it, gradients do
            c = certified(lambda x, bent=bent, more=more: bent(x) + more, right, d, seed, hessp=product)
            assert c is None or not c.holds
            assert c is None or c.curvature.lower <= -0.04


@pytest.mark.parametrize("h", [1e-5, 1e-4, 1e-3])
def test_forward_differences_as_gradients_refute_no_stationary_point(h):
    """The error of such gradients is larger than gtol: 71 of 719 minima and saddles were called not stationary."""
    for seed in range(8):
        fun, _, _, _ = hilly(np.random.default_rng([seed, 9]), 9)

        def forward(x, fun=fun):
            return np.array([fun(x + h * e) - fun(x) for e in np.eye(len(x))]) / h

        c = certified(fun, forward, 9, seed)
        assert c is None or c.verdict != "not stationary"
        assert c is None or c.gradient.lower <= 1e-12


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-4])
def test_right_gradients_are_believed_where_values_are_noisy(noise):
    """`trusted` tells whether values show the claim, or only do not contradict it."""
    for seed in range(6):
        rng = np.random.default_rng([seed, 8])
        fun, jac, _, _ = hilly(rng, 8)
        c = certified(lambda x, fun=fun, rng=rng: fun(x) + noise * rng.standard_normal(), jac, 8, seed)
        assert c.verdict == "minimum"
        told = c.trusted["jac"].source
        assert told == ("checked against values" if noise == 0 else "checked against values, which do not show as much")


def test_roughness_that_gradients_do_not_see_is_seen_by_values():
    """f is rounded, its gradient is not: the claim must hold above the rounding."""
    fun, jac, _ = quadratic(np.linspace(1, 3, 6), np.random.default_rng(6))
    c = escapade.certify(lambda x: round(fun(x), 3), np.full(6, 0.0), jac=jac, gtol=1e-8, curvtol=1e-4, rng=0)
    assert not c.holds


def test_ripples_below_the_steps_are_not_taken_for_noise():
    """The curvature at 0 is -1 along one coordinate, on a wavelength of 1 to 1e-6."""
    for k in 10.0 ** np.arange(1, 6.6, 0.5):
        for d in (2, 20):
            c, i, A = np.linspace(0.5, 2, d), d // 2, (np.linspace(0.5, 2, d)[d // 2] + 1) / k**2

            def fun(x, c=c, A=A, k=k, i=i):
                return float(np.sum(c * x * x) / 2 + A * (np.cos(k * x[i]) - 1))

            def jac(x, c=c, A=A, k=k, i=i):
                g = c * x
                g[i] -= A * k * np.sin(k * x[i])
                return g

            found = escapade.certify(fun, np.zeros(d), jac=jac, gtol=1e-4, curvtol=1e-2, rng=0)
            assert not found.holds, (k, d, found)


def test_a_jump_of_the_hessian_is_seen():
    """One coordinate curves up on one side of x and down on the other: differences from both sides see the mean."""
    for d in (1, 3, 10, 40):
        for below in (-0.1, 0.2):
            curvature = np.linspace(1, 2, d)

            def fun(x, curvature=curvature, below=below):
                first = (1.0 if x[0] > 0 else below) * x[0] ** 2
                return float(first + curvature[1:] @ x[1:] ** 2) / 2

            def jac(x, curvature=curvature, below=below):
                g = curvature * x
                g[0] = (1.0 if x[0] > 0 else below) * x[0]
                return g

            for seed in range(3):
                c = escapade.certify(fun, np.zeros(d), jac=jac, gtol=1e-4, curvtol=1e-2, rng=seed)
                assert not c.holds or below > 0
                assert c.curvature.lower <= below


# Runs


def rosen(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def slope(x):
    g = np.zeros_like(x)
    g[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return g


def paired(x):
    return rosen(x), slope(x)


X0 = np.tile([-1.2, 1.0], 5)
BOX = Octopus(d=10)


@pytest.mark.parametrize("given", [{}, {"gtol": 1e-5, "curvtol": 1e-3}])
def test_a_run_takes_about_a_gradient_a_step(given):
    for fun, jac, x0, escapes in ((rosen, slope, X0, 0), (BOX, BOX.gradient, np.zeros(10), 7)):
        r = escapade.minimize(fun, x0, jac=jac, rng=0, **given)
        assert r.success
        assert r.njev == r.ngrad
        assert r.njev <= 2 * r.nit + 70
        assert r.n_escapes >= escapes
        assert r.nfev <= 3 * r.nit + 170
        assert np.linalg.norm(jac(r.x)) <= 1e-3


def test_reported_gradients_are_those_that_were_asked():
    calls = []
    for fun, jac in ((rosen, lambda x: calls.append(0) or slope(x)), (lambda x: calls.append(0) or paired(x), True)):
        calls.clear()
        r = escapade.minimize(fun, X0, jac=jac, rng=0)
        assert len(calls) == (r.njev if jac is not True else r.ncalls)
        if jac is True:  # a value and its gradient are one call
            assert len(calls) < r.nfev + r.njev - r.nit / 2


def test_through_scipy_tol_is_absolute_and_gradients_are_used():
    for fun, jac in ((rosen, slope), (paired, True)):
        r = scipy.optimize.minimize(fun, X0, jac=jac, method=escapade.scipy_method, tol=1e-6, options={"rng": 0})
        assert r.success
        assert (r.certificate.gtol, r.certificate.curvtol) == (1e-6, 1e-3)
        assert r.njev > 20
        assert np.linalg.norm(slope(r.x)) <= 1e-6
    r = scipy.optimize.minimize(
        rosen, X0, jac=slope, hessp=lambda x, v: (slope(x + 1e-6 * v) - slope(x - 1e-6 * v)) / 2e-6,
        method=escapade.scipy_method, options={"rng": 0},
    )  # fmt: skip
    assert r.success
    assert r.nhev > 0
    with pytest.warns(RuntimeWarning, match="hessp"):
        scipy.optimize.minimize(rosen, X0, jac=slope, hess=np.diag, method=escapade.scipy_method, options={"rng": 0})


def test_a_run_goes_on_from_its_journal(tmp_path):
    whole = escapade.minimize(rosen, X0, jac=slope, rng=0)
    calls = []

    def counted(x):
        calls.append(0)
        return slope(x)

    cut = escapade.minimize(rosen, X0, jac=counted, rng=0, maxfev=150, journal=tmp_path / "run.db")
    asked = len(calls)
    rest = escapade.minimize(rosen, X0, jac=counted, rng=0, journal=tmp_path / "run.db")
    assert not cut.success
    np.testing.assert_array_equal(rest.x, whole.x)
    assert (rest.nfev, rest.njev, rest.certificate.verdict) == (whole.nfev, whole.njev, whole.certificate.verdict)
    assert len(calls) == whole.njev > asked
    with pytest.raises(JournalError, match="grad"):
        escapade.minimize(rosen, X0, rng=0, journal=tmp_path / "run.db")


def test_many_runs_and_told_values_take_gradients_too():
    starts = [X0, -X0, X0 / 2]
    for fun, jac in ((rosen, slope), (paired, True)):
        together = escapade.multistart(fun, starts, jac=jac, rng=5)
        alone = [
            escapade.minimize(fun, x, jac=jac, rng=rng)
            for x, rng in zip(starts, np.random.default_rng(5).spawn(3), strict=True)
        ]
        for a, b in zip(together.runs, alone, strict=True):
            np.testing.assert_array_equal(a.x, b.x)
            assert (a.njev, a.nfev) == (b.njev, b.nfev)
    opt = escapade.ask_tell(X0, jac=slope, rng=0)
    while not opt.done:
        opt.tell([rosen(x) for x in opt.ask()])
    np.testing.assert_array_equal(opt.result().x, escapade.minimize(rosen, X0, jac=slope, rng=0).x)
    with pytest.raises(InvalidSetting, match="jac=True"):
        escapade.ask_tell(X0, jac=True)


def test_workers_change_nothing():
    here = escapade.minimize(rosen, X0, jac=slope, rng=0)
    away = escapade.minimize(rosen, X0, jac=slope, rng=0, workers=2)
    both = escapade.minimize(paired, X0, jac=True, rng=0, workers=2)
    for r in (away, both):
        np.testing.assert_array_equal(here.x, r.x)
        assert (here.nfev, here.njev) == (r.nfev, r.njev)


def test_gradients_that_are_missing_here_and_there_are_taken_elsewhere():
    rng = np.random.default_rng(0)

    def jac(x):
        return np.full(len(x), np.nan) if rng.random() < 0.05 and np.any(x != X0) else slope(x)

    r = escapade.minimize(rosen, X0, jac=jac, rng=0)
    assert r.success
    assert np.linalg.norm(slope(r.x)) <= 1e-2


def test_a_budget_ends_undecided():
    p = Octopus(d=10)
    for maxfev in (0, 1, 5, 20, 60):
        c = escapade.certify(p, np.asarray(p.minima[0]), jac=p.gradient, maxfev=maxfev, rng=0)
        assert c.verdict == "undecided"
        assert c.nfev <= maxfev
