"""Claims hold at the user's scale: rough functions are seen to be, smooth ones are not taken for rough."""

import numpy as np
import pytest

from escapade import Oracle, certify, minimize
from escapade.certificate import scale
from escapade.derivatives import ladder
from escapade.derivatives.measure import measure
from escapade.derivatives.noise import Noise
from escapade.derivatives.units import lengths
from escapade.stopping import Stop


def rosenbrock(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def quartic(x):
    return float(np.arange(1, len(x) + 1) @ (x - 1) ** 2 + np.sum(x**4))


def cosine(x):
    return float(np.sum(1 - np.cos(x - 0.5)) + 0.1 * np.sum(x) ** 2)


SMOOTH = {"rosenbrock": rosenbrock, "quartic": quartic, "cosine": cosine}


def climbed(fun, x, seed=0, gtol=1e-4, curvtol=1e-2):
    rng = np.random.default_rng(seed)
    local = measure(Oracle.of(fun), x, curvtol=curvtol, rng=rng)
    before = local.f.ledger.queries
    found = scale.look(local, lengths(x), gtol=gtol, curvtol=curvtol, rng=rng)
    spent = local.f.ledger.queries - before
    assert spent == 36 + 24 * (found.kind is ladder.Kind.SMOOTH) or spent in (36 + 24 + 14, 36 + 24 + 28)
    return found


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("d", [2, 7])
def test_smooth_functions_are_not_taken_for_rough(name, d):
    for seed in range(10):
        x = 1 + 0.5 * np.random.default_rng(seed).standard_normal(d)
        for offset in (0.0, 1e3):
            found = climbed(lambda z, o=offset: SMOOTH[name](z) + o, x, seed)
            assert found.kind is ladder.Kind.SMOOTH


@pytest.mark.parametrize("steep", [0.05, 10.0])
def test_humps_as_large_as_all_that_f_does_are_f_and_small_ones_on_a_parabola_are_not(steep):
    """Variables that are thought to matter over 5, and humps that are 0.16 apart."""
    kinds = []
    for seed in range(10):
        rng = np.random.default_rng(seed)

        def humps(x):
            return float(np.sum(np.sin(20 * x[1:]) ** 2 * np.sin(20 * x[:-1]) ** 2) + steep * np.sum(x**2))

        local = measure(Oracle.of(humps), 1e-4 * rng.standard_normal(8), curvtol=1e-2, rng=rng)
        kinds.append(scale.look(local, np.full(8, 5.0), gtol=1e-4, curvtol=1e-2, rng=rng).kind)
    smooth = kinds.count(ladder.Kind.SMOOTH)
    assert smooth >= 9 if steep < 1 else smooth <= 3


ROUGH = {
    "six digits": (lambda v: float(f"{v:.6g}"), 100.0),
    "float32": (lambda v: float(np.float32(v)), 100.0),
    "steps of 1e-3": (lambda v: round(v, 3), 0.0),
}


@pytest.mark.parametrize("name", ROUGH)
@pytest.mark.parametrize("fun", [quartic, cosine])
def test_rounded_values_are_no_success_that_fails_at_a_hundred_steps(name, fun):
    """A gradient claimed to be small is that of the exact function too."""
    rounded, offset = ROUGH[name]
    for seed in range(4):
        x0 = 1 + 0.5 * np.random.default_rng(seed).standard_normal(3)
        res = minimize(lambda x: rounded(fun(x) + offset), x0, rng=seed, maxfev=3000)
        if res.success:
            h = 1e-4 * np.eye(3)
            g = np.array([fun(res.x + e) - fun(res.x - e) for e in h]) / 2e-4
            assert np.linalg.norm(g * res.certificate.units.lengths) <= 10 * res.certificate.gtol


@pytest.mark.parametrize("amplitude", [1e-6, 1e-4])
@pytest.mark.parametrize("wave", [1e-5, 1e-4])
def test_ripples_are_rough_and_claim_nothing_of_their_own(amplitude, wave):
    """f + A sin(v.x / wave) has stationary points everywhere; certificates speak of f."""
    refused = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        v, x = rng.standard_normal(3), 1 + 0.3 * rng.standard_normal(3)
        res = minimize(lambda z, v=v: quartic(z) + amplitude * np.sin(v @ z / wave), x, rng=seed, maxfev=4000)
        g = 2 * np.arange(1, 4) * (res.x - 1) + 4 * res.x**3
        assert not res.success or np.linalg.norm(g * res.certificate.units.lengths) <= 10 * res.certificate.gtol
        refused += not res.success
    assert refused >= 3


def test_structure_that_is_f_s_own_is_believed_where_the_user_says_so():
    """The remedy of a rough certificate is tried: ripples a hundredth of x long, of f itself."""
    x = np.array([1002.0, 997.0])
    rippled = lambda y: float((y - x) @ (y - x) + 10 * np.sum(1 - np.cos(y - x)))  # noqa: E731
    cert = certify(rippled, x, gtol=1e-4, curvtol=1e-2, rng=0)
    assert cert.verdict == "undecided"
    assert "resolution=0" in cert.remedy
    assert certify(rippled, x, gtol=1e-4, curvtol=1e-2, resolution=0, rng=0).verdict == "minimum"


def test_roughness_enters_by_worst_case_norms():
    """A ripple along (1, ..., 1), sampled at its crests, makes the dense Hessian wrong by four amplitudes a pair."""
    d, A = 12, 1e-4
    noise = Noise(A, "roughness")
    f, rng = Oracle.of(lambda x: float(x @ x)), np.random.default_rng(0)
    local = measure(f, np.full(d, 0.1), curvtol=0.1, noise=noise, rng=rng)
    hessian = local.dense_hessian(1)
    h = local.steps
    wrong = 4 * A * (np.ones((d, d)) - np.eye(d))
    assert np.linalg.norm(wrong, 2) <= hessian.noise
    assert np.all(np.abs(local.gradient.value - 0.2) <= 1e-6)
    assert local.gradient.error >= A / float(np.max(h))


def test_no_step_is_shorter_than_the_resolution():
    for r in (1e-3, 0.03):
        seen = []
        x = np.array([0.3, -0.2, 0.7])

        def fun(z, seen=seen):
            seen.append(z.copy())
            return quartic(z)

        cert = certify(fun, x, resolution=r, rng=0)
        far = np.linalg.norm(np.array(seen) - x, axis=1)
        assert np.all((far == 0) | (far >= 0.3 * r))  # random vectors move coordinates by parts of their steps
        assert cert.lengths is None or cert.lengths.shortest >= r


def test_a_resolution_of_nothing_believes_f_and_saves_the_ladder():
    x = np.zeros(4)
    full, trusting = (certify(lambda z: float(z @ z + np.sum(z**4)), x, rng=0, resolution=r) for r in (None, 0))
    assert full.holds
    assert full.nfev - trusting.nfev == 36 + 24
    assert trusting.lengths.longest < full.lengths.longest
    with pytest.raises(ValueError, match="resolution=-1"):
        certify(quartic, x, resolution=-1)


def test_what_is_attainable_can_be_shown():
    """The remedy of a noise-limited certificate is tried."""
    rng = np.random.default_rng(0)
    x = np.full(3, 1.0)
    centre = lambda z: float(np.arange(1, 4) @ (z - 1) ** 2) + 1e-3 * rng.standard_normal()  # noqa: E731
    first = certify(centre, x, noise=1e-3, rng=0)
    assert first.verdict == "undecided"
    assert first.noise_limited
    gtol, curvtol = first.attainable
    again = [certify(centre, x, noise=1e-3, gtol=1.2 * gtol, curvtol=1.2 * curvtol, rng=seed) for seed in range(5)]
    assert sum(cert.holds for cert in again) >= 3
    res = minimize(centre, x + 0.5, noise=1e-3, rng=0, maxfev=3000)
    assert not res.success
    assert res.stop in (Stop.NOISE_LIMITED, Stop.NOT_STATIONARY, Stop.UNDECIDED, Stop.BUDGET)


def test_what_falls_across_a_kink_is_seen():
    """A shelf of small teeth on a slope: level between teeth, and f falls over them."""
    teeth = lambda z: float(np.sum(1e-3 * np.abs(np.sin(300 * z)) - 0.05 * z))  # noqa: E731
    bowl = lambda z: float(np.sum(1e-3 * np.abs(np.sin(300 * z)) + 5 * (z - 1) ** 2))  # noqa: E731
    x = np.ones(2)
    found = ladder.Ladder(ladder.Kind.KINK, amplitude=1e-3, length=0.01, curvature=10.0)
    for fun, falls in ((teeth, True), (bowl, False)):
        local = measure(Oracle.of(fun), x, curvtol=1e-2, rng=np.random.default_rng(0))
        before = local.f.ledger.queries
        assert scale.falls_across(local, lengths(x), found) is falls
        assert local.f.ledger.queries - before == 2 * 2 + 6


@pytest.mark.parametrize("name", ["abs", "max", "penalty"])
def test_a_kink_at_the_point_is_named_and_more_queries_are_not_advised(name):
    kinked = {
        "abs": lambda x: float(x[0] ** 2 + abs(x[0]) + x[1] ** 2),
        "max": lambda x: float(max(x[0], -2 * x[0]) + x[1] ** 2),
        "penalty": lambda x: float((x[0] - 0.5) ** 2 + 50 * max(x[0], 0.0) + x[1] ** 2),
    }
    cert = certify(lambda x: kinked[name](x - 1), np.ones(2), rng=0)
    assert cert.verdict == "undecided"
    assert "slope of f jumps" in cert.reason
    assert cert.price is None
    assert "smooth f there" in cert.remedy
