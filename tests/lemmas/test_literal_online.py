"""Algorithms 1 and 2 as printed: their numbers, Lemma 2's 2/3 and Theorem 1's 1 - p by counting, and refusals."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest
from scipy.stats import beta, chi2

from escapade import Oracle, certify
from escapade.curvature import LiteralOnline, Outcome
from escapade.errors import BelowPrecision, InvalidSetting, MissingCapability
from escapade.theory import theorem_1

DOUBT = 1e-3
"""The probability with which an interval of a count may miss."""


@dataclass(frozen=True)
class Quadratics:
    """f_i(x) = x'(A + noise R_i) x / 2 + slope (r_i . x) + |x|^3 / 3 + offset, with R_i of norm one in pairs of
    opposite sign, and so the r_i: at the origin the Hessian of the mean is A, and rho = 2."""

    spectrum: tuple[float, ...]
    noise: float = 0.5
    slope: float = 0.0
    offset: float = 0.0
    n: int = 16
    rho: float = 2.0

    @property
    def d(self):
        return len(self.spectrum)

    @cached_property
    def A(self):
        q = np.linalg.qr(np.random.default_rng(0).standard_normal((self.d, self.d)))[0]
        return (q * np.array(self.spectrum)) @ q.T

    @cached_property
    def components(self):
        rng = np.random.default_rng(1)
        R = rng.standard_normal((self.n // 2, self.d, self.d))
        R = R + R.transpose(0, 2, 1)
        R /= np.linalg.norm(R, 2, axis=(1, 2))[:, None, None]
        r = rng.standard_normal((self.n // 2, self.d))
        return self.A + self.noise * np.concatenate([R, -R]), np.concatenate([r, -r])

    @property
    def ell(self):
        return float(np.max(np.linalg.norm(self.components[0], 2, axis=(1, 2))))

    def __call__(self, X, ids):
        H, r = (part[ids].mean(axis=0) for part in self.components)
        return np.sum(X @ H * X, axis=-1) / 2 + self.slope * X @ r + np.sum(X * X, axis=-1) ** 1.5 / 3 + self.offset

    def oracle(self, **options):
        return Oracle.of(self, vectorized=True, samples=self.n, **options)

    def theorem(self, delta=1.0, p=0.1, C0=1.5):
        return theorem_1(ell=self.ell, rho=self.rho, d=self.d, delta=delta, p=p, C0=C0)

    def search(self, seed, **settings):
        return self.theorem(**settings).finder()(self.oracle(), np.zeros(self.d), np.random.default_rng(seed))


def at_least(k, n):
    """The probability of success is no less than this, having seen k successes in n (Clopper and Pearson)."""
    return beta.ppf(DOUBT, k, n - k + 1) if k else 0.0


EDGE = [Quadratics((-1.0, 1.0)), Quadratics((-1.0, -0.6, 0.5), noise=1.0), Quadratics((-1.0, 0.0, 0.0, 1.0))]
"""lambda_min = -delta exactly, the least that Lemma 2 speaks of."""

origin = np.zeros


def weak_runs(problem, C0, runs=60):
    """How often Algorithm 1 answers ⊥, and how often its v has v'Av <= -3 delta/4."""
    finder, f = problem.theorem(C0=C0).finder(), problem.oracle()
    found = [finder.weak(f, origin(problem.d), np.random.default_rng(seed)) for seed in range(runs)]
    good = [v is not None and float(v @ problem.A @ v) <= -0.75 for v in found]
    return sum(v is None for v in found), sum(good)


def test_lemma_2():
    """With probability 2/3 at least: 180 runs at the edge of what it speaks of, C_0 = 1.5."""
    good = sum(weak_runs(problem, C0=1.5)[1] for problem in EDGE)
    assert at_least(good, 60 * len(EDGE)) >= 2 / 3


def test_lemma_2_needs_more_than_a_constant_of_one():
    """With C_0 = 1, (1 + eta delta)^T < r / sigma: even an aligned start does not get there but by luck."""
    for problem in EDGE[:2]:
        settings = problem.theorem(C0=1.0)
        assert settings.iterations * math.log1p(settings.eta) < math.log(settings.radius / settings.perturbation)
        assert weak_runs(problem, C0=1.0, runs=40)[0] >= 30


def test_theorem_1_below_the_edge():
    """Wrong with probability p = 0.1 at most, lambda_min < -delta: ⊥ and v'Av > -delta/2 are; 100 runs."""
    right = 0
    for seed in range(100):
        problem = EDGE[seed % 2]
        finding = problem.search(seed, delta=0.95)
        assert not finding.certified
        right += finding.found and float(finding.direction @ problem.A @ finding.direction) <= -0.95 / 2
    assert at_least(right, 100) >= 0.9


def test_theorem_1_where_there_is_nothing_to_find():
    """v'Av > -delta/2 for every v: only ⊥ is right, and it is certified."""
    for spectrum in ((0.1, 0.8), (-0.4, 0.8)):
        problem = Quadratics(spectrum)
        for seed in range(8):
            finding = problem.search(seed)
            assert finding.outcome is Outcome.CERTIFIED
            assert finding.curvature.lower == -1.0


def test_a_direction_that_is_turned_down_is_no_certificate():
    """v'Av = -0.6 delta: Algorithm 2 turns it down, says ⊥, and may be right; but Lemma 3 allows z_j = -0.6 delta to
    one whose curvature is -0.85 delta, so that nothing is certified."""
    problem = Quadratics((-0.6, -0.6))
    finder = LiteralOnline(delta=1.0, failure=0.1, ell=1.1, rho=2.0, C0=1.5)
    finding = finder.bottom(problem.d, -0.6)
    assert finding.outcome is Outcome.UNDECIDED
    assert "turned down" in finding.reason
    assert finder.bottom(problem.d, -0.4).certified
    assert not replace(finder, C0=1.0).bottom(problem.d, math.inf).certified
    assert "raise it" in replace(finder, C0=1.0).bottom(problem.d, math.inf).reason


@pytest.mark.parametrize("C0", [1.0, 1.5])
def test_its_numbers_are_the_theorems(C0):
    given = {"ell": 14.4, "rho": 30.0, "d": 10, "delta": 0.5, "p": 1e-3}
    settings = theorem_1(**given, C0=C0)
    finder = settings.finder()
    assert finder == LiteralOnline(delta=0.5, failure=1e-3, ell=14.4, rho=30.0, C0=C0)
    eta, T, perturbation, radius = finder.line_1(10)
    assert (eta, T) == (settings.eta, settings.iterations)
    assert math.isclose(perturbation, settings.perturbation, rel_tol=1e-12)
    assert math.isclose(radius, settings.radius, rel_tol=1e-12)


class Spy:
    """One component, -|x|^2 / 2; it keeps the points of every round."""

    def __init__(self):
        self.rounds = []

    def __call__(self, X, ids):
        self.rounds.append((X.copy(), len(ids)))
        return -np.sum(X * X, axis=1) / 2


def test_the_queries_are_the_printed_ones():
    """b = 1, mu_t = |x_t - x_0|, 4d queries a product; m samples of 4d in the check, |v'| = delta / (16 d rho); and
    every x_t is as long as 1 + eta times the one before."""
    spy, d = Spy(), 3
    settings = theorem_1(ell=1.0, rho=1.0, d=d, delta=1.0, p=0.3, C0=1.5)
    f = Oracle.of(spy, vectorized=True, samples=5)
    finding = settings.finder()(f, origin(d), np.random.default_rng(0))
    assert finding.found
    *products, check = spy.rounds
    t = math.ceil(math.log(settings.radius / settings.perturbation) / math.log1p(settings.eta))
    assert len(products) == t <= settings.iterations
    assert f.ledger.queries == f.ledger.by_purpose["curvature"] == 4 * d * (t + settings.m_proof)
    for k, (points, samples) in enumerate([*products, check]):
        assert samples == (settings.m_proof if k == t else 1)
        length = settings.displacement if k == t else settings.perturbation * (1 + settings.eta) ** k
        v = (points[:d] + points[d : 2 * d]).mean(axis=0) / 2
        assert np.linalg.norm(v) == pytest.approx(length, rel=1e-6)
        assert np.allclose(points[3 * d :], length * np.eye(d), rtol=1e-6, atol=1e-6 * length)
        assert np.allclose(points[2 * d : 3 * d], -points[3 * d :])


def test_the_index_s_is_uniform():
    """One direction is left after a while, so the length of the x_s returned tells s: chi-square at 1e-3."""

    class Kept(LiteralOnline):
        def product(self, f_i, x_0, v, mu):
            self.__dict__["seen"].append(v)
            turn = np.array([[0.0, -1.0], [1.0, 0.0]])  # every x_t has a direction of its own
            return -v - 0.01 * turn @ v

    finder = Kept(delta=1.0, ell=1.0, rho=1.0, C0=1.0, failure=0.1)
    f, places, t = EDGE[0].oracle(), [], None
    for seed in range(600):
        finder.__dict__["seen"] = seen = []
        object.__setattr__(finder, "line_1", lambda d: (0.3, 100, 1e-6, 1e-5))
        v = finder.weak(f, origin(2), np.random.default_rng(seed))
        places.append(int(np.argmin([np.linalg.norm(z / np.linalg.norm(z) - v) for z in seen])))
        assert t in (None, len(seen))
        t = len(seen)
    seen = np.bincount(places, minlength=t)
    assert np.sum((seen - 600 / t) ** 2) / (600 / t) <= chi2.ppf(1 - 1e-3, t - 1)


@pytest.mark.parametrize(
    ("problem", "x"),
    [
        (EDGE[0], np.array([0.1, 0.0])),  # x is too large for the radius
        (replace(EDGE[0], offset=1.0), origin(2)),  # f is
        (replace(EDGE[0], slope=1e3), origin(2)),  # the f_i are, though they vanish at x
    ],
    ids=["x", "f", "components"],
)
def test_below_precision_it_refuses(problem, x):
    with pytest.raises(BelowPrecision, match=r"perturbation=.*more than delta/16.*lower C0=1.5, or drop the literal"):
        problem.theorem().finder()(problem.oracle(), x, np.random.default_rng(0))


def test_noise_that_is_given_counts():
    finder = replace(EDGE[0].theorem().finder(), noise=1e-24)
    with pytest.raises(BelowPrecision):
        finder(EDGE[0].oracle(), origin(2), np.random.default_rng(0))
    assert replace(finder, noise=1e-30)(EDGE[0].oracle(), origin(2), np.random.default_rng(0)).found


def test_radii_that_are_no_numbers_are_refused():
    with pytest.raises(BelowPrecision, match=r"C0=1600.0\); lower C0"):
        EDGE[0].theorem(C0=1600.0).finder()
    problem = EDGE[0]
    with pytest.raises(BelowPrecision):  # sigma is one, but its square is not
        problem.theorem(C0=25.0).finder()(problem.oracle(), origin(2), np.random.default_rng(0))


def test_a_budget_is_kept_and_ends_undecided():
    problem = EDGE[0]
    for maxfev in (0, 7, 8, 1000):
        f = problem.oracle(maxfev=maxfev)
        finding = problem.theorem().finder()(f, origin(2), np.random.default_rng(0))
        assert finding.outcome is Outcome.UNDECIDED
        assert maxfev - 8 < f.ledger.queries <= maxfev


def test_what_it_cannot_do_is_said():
    finder = EDGE[0].theorem().finder()
    with pytest.raises(MissingCapability, match="samples"):
        finder(Oracle.of(lambda x: x @ x), origin(2), np.random.default_rng(0))
    with pytest.raises(InvalidSetting, match=r"delta=2.0 must lie in .*Theorem 1"):
        replace(finder, delta=2.0)
    with pytest.raises(InvalidSetting, match="x_scale"):
        replace(finder, x_scale=np.ones(2))


def test_certify_takes_it():
    problem = EDGE[0]
    certificate = certify(
        problem, origin(2), samples=problem.n, vectorized=True, gtol=0.1, curvtol=1.0, rng=0, failure=0.1,
        finder=problem.theorem().finder(),
    )
    assert certificate.verdict == "saddle"
