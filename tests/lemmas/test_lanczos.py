"""The anytime inequality of the Lanczos finder, and the overlap of a random start."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from escapade.curvature import Lanczos, lanczos
from escapade.curvature.lanczos import _Attempt, _ErrorBudget, _Start
from escapade.curvature.overlap import PLAN, Thresholds, overlap, random_starts
from escapade.curvature.process import LanczosProcess
from escapade.curvature.settings import LANCZOS
from escapade.derivatives.product_errors import ProductError
from escapade.derivatives.products import Product

DELTA = 0.1


class Fake:
    """q -> P'(H + delta)P q with an error of at most `error`: none, anywhere, or what hides u from the process."""

    order, factor, shift = 2, 1.0, -DELTA

    def __init__(self, matrix, P, error, kind, u, seed):
        self.B, self.P = P[:, None] * (matrix + DELTA * np.eye(len(P))) * P, P
        self.error, self.kind, self.u, self.rng = error, kind, u, np.random.default_rng(seed)
        self.errors = []

    def __call__(self, q):
        image = self.B @ q
        if self.kind == "exact":
            wrong = np.zeros(len(q))
        elif self.kind == "anywhere":
            wrong = self.rng.standard_normal(len(q))
            wrong *= self.error / np.linalg.norm(wrong)
        else:  # the process sees B u = 3 u where B u = lambda u: as far as the error allows
            wrong = float(np.clip(3 * (self.u @ q) - self.u @ image, -self.error, self.error)) * self.u
        self.errors.append(wrong)
        return Product(image + wrong, self.direction(q)[0], image + wrong)

    def direction(self, q):
        v = self.P * q
        return v / np.linalg.norm(v), float(np.linalg.norm(v))

    def noise(self, shortness=1.0):
        return 0.0

    def joint_error(self, w):
        """The norm of the error of the one product that all of them jointly make, of the unit vector along w."""
        return float(np.linalg.norm(np.stack(self.errors).T @ w) / np.linalg.norm(w))


def setting(seed, d, lowest, spread=1.0):
    """H, the preconditioner's diagonal, and the lowest eigenpair of B = P'(H + delta)P."""
    rng = np.random.default_rng([seed, d])
    q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    spectrum = np.append(rng.uniform(0.2, 4, d - 1), lowest)
    P = spread ** -rng.uniform(0, 1, d)
    matrix = (q * spectrum) @ q.T
    values, vectors = np.linalg.eigh(P[:, None] * (matrix + DELTA * np.eye(d)) * P)
    start = rng.standard_normal(d)
    return matrix, P, values, vectors, start / np.linalg.norm(start)


def each(process, level, error):
    """The right side of the inequality where each product may be wrong by `error`."""
    first, second, w = process.terms(level)
    return first + second * error + process.lost(w) if first < math.inf else math.inf


def rounding(process, level):
    """Products and recurrences are rounded: 1e-13 in each g_j."""
    first, second, _ = process.terms(level)
    return 1e-13 * (second + first) if first < math.inf else 0.0


@pytest.mark.parametrize("kind", ["exact", "anywhere", "hiding"])
@pytest.mark.parametrize("error", [1e-9, 1e-4, 1e-2])
@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("d", [2, 5, 25])
def test_inequality(kind, error, spread, d):
    """|<u, q>| <= prod beta_j / (theta_j - level) + sum |w_j| |g_j| for eigenvectors at or below a level.

    And with |w| times the error of the one product that all of them jointly make, which is what is measured.
    """
    checked = 0
    for seed in range(12):
        lowest = -DELTA * (1 + seed % 3)
        matrix, P, values, vectors, q = setting(seed, d, lowest, spread)
        products = Fake(matrix, P, error, kind, vectors[:, 0], seed)
        process = LanczosProcess(products, q)
        for _ in range(min(d, 20)):
            process.advance()
            for i in range(min(d, 3)):
                for level in (values[i], values[i] + 0.05, values[i] + 0.5):
                    own, slack = abs(vectors[:, i] @ q), rounding(process, level)
                    bound = each(process, level, 0.0 if kind == "exact" else error)
                    assert own <= bound + slack
                    checked += bound < 1
                    w = process.terms(level)[2]
                    if np.any(w):
                        joint = process.bound(level, products.joint_error(w))
                        assert own <= joint + slack
                        assert joint <= bound * (1 + 1e-12)
    assert checked > 0


def test_the_second_term_is_needed():
    """Without it, errors that hide u make the first term smaller than the overlap."""
    broken = 0
    for seed in range(20):
        matrix, P, values, vectors, q = setting(seed, 25, -DELTA)
        u = vectors[:, 0]
        process = LanczosProcess(Fake(matrix, P, 1.0, "hiding", u, seed), q)
        for _ in range(15):
            process.advance()
        broken += abs(u @ q) > process.terms(values[0])[0]
    assert broken >= 15


def test_the_first_term_is_nearly_attained():
    """In two dimensions with one product: |<u, q>| = beta / (theta - lambda) |<u, q_2>|."""
    matrix, P, values, vectors, q = setting(0, 2, -2 * DELTA)
    process = LanczosProcess(Fake(matrix, P, 0.0, "exact", None, 0), q)
    process.advance()
    across = abs(vectors[:, 0] @ process.q)
    assert math.isclose(abs(vectors[:, 0] @ q), process.terms(values[0])[0] * across, rel_tol=1e-12)


@pytest.mark.parametrize("kind", ["exact", "anywhere"])
def test_terms_solve_their_system(kind):
    """(T_k - level) w = e_1, and the product formula is beta_k |w_k|."""
    matrix, P, _, vectors, q = setting(3, 12, -DELTA)
    process = LanczosProcess(Fake(matrix, P, 1e-3, kind, vectors[:, 0], 0), q)
    for k in range(1, 9):
        process.advance()
        level = float(process.ritz()[0][0]) - 0.3
        first, second, w = process.terms(level)
        T = np.diag(process.alpha) + np.diag(process.beta[:-1], 1) + np.diag(process.beta[:-1], -1)
        assert np.allclose((T - level * np.eye(k)) @ w, np.eye(k)[0], atol=1e-10)
        assert math.isclose(second, np.sum(np.abs(w)), rel_tol=1e-12)
        assert math.isclose(first, process.beta[-1] * abs(w[-1]), rel_tol=1e-7)


def test_the_contraction_is_that_of_the_first_term():
    """The gains of the later half of the products, from the pivots of T_k alone."""
    matrix, P, _, _, q = setting(3, 12, DELTA)
    process, logs = LanczosProcess(Fake(matrix, P, 0.0, "exact", None, 0), q), [0.0]
    for k in range(1, 9):
        process.advance()
        logs.append(math.log(process.terms(0.0)[0]))
        assert math.isclose(process.contraction(), (logs[k // 2] - logs[k]) / (k - k // 2), rel_tol=1e-6)


@pytest.mark.parametrize("kind", ["exact", "anywhere"])
def test_what_is_kept_covers_what_reorthogonalisation_removes(kind):
    """B q_j = beta_{j-1} q_{j-1} + alpha_j q_j + beta_j q_{j+1} + g_j with |g_j| <= error + slack (1e-13)."""
    error = 0.0 if kind == "exact" else 1e-3
    matrix, P, _, vectors, q = setting(4, 15, -DELTA, 10.0)
    B = P[:, None] * (matrix + DELTA * np.eye(15)) * P
    process = LanczosProcess(Fake(matrix, P, error, kind, vectors[:, 0], 0), q)
    for _ in range(10):
        process.advance()
    q = [*process.basis, process.q]
    for j in range(10):
        seen = process.alpha[j] * q[j] + process.beta[j] * q[j + 1]
        if j:
            seen += process.beta[j - 1] * q[j - 1]
        assert np.linalg.norm(B @ q[j] - seen) <= error + process.removed[j] + 1e-13


@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_level_is_where_the_bound_meets_the_threshold(error):
    matrix, P, _, vectors, q = setting(5, 20, 0.3)
    process = LanczosProcess(Fake(matrix, P, error, "anywhere", vectors[:, 0], 0), q)
    for _ in range(8):
        process.advance()
    level = process.certified_shift(error, 0.2)
    assert process.bound(level - 1e-9, error) < 0.2 <= process.bound(level + 1e-9, error)


@pytest.mark.parametrize("d", [2, 3, 10, 100])
@pytest.mark.parametrize("p", [0.01, 0.1, 0.5])
def test_overlap_by_monte_carlo(d, p):
    """P(|<u, q>| < t) = p for a uniform q, within what 40,000 draws show (once in 1e5 times more)."""
    draws, rng = 40_000, np.random.default_rng([d, int(100 * p)])
    q = rng.standard_normal((draws, d))
    below = int(np.sum(np.abs(q[:, 0]) < overlap(d, p) * np.linalg.norm(q, axis=1)))
    low, high = binom.ppf([5e-6, 1 - 5e-6], draws, p)
    assert low <= below <= high


def test_overlap_in_one_and_two_dimensions():
    assert overlap(1, 0.1) == 1.0
    for p in (1e-6, 0.1, 0.9):  # in the plane the angle is uniform
        assert math.isclose(overlap(2, p), math.sin(p * math.pi / 2), rel_tol=1e-9)


@pytest.mark.parametrize("d", [2, 10, 300])
@pytest.mark.parametrize(("plan", "aim"), [(PLAN, 1), (LANCZOS.plans[0], 1), (LANCZOS.plans[1], 2)])
def test_plans_spend_the_failure_probability_once(d, plan, aim):
    assert math.isclose(sum(plan.values()), 1.0)
    limits = Thresholds(d, 1e-3, plan)
    thresholds = [limits.of(r) for r in plan]
    if aim == 1:
        assert thresholds == sorted(thresholds)
    for r in plan:
        assert math.isclose(limits.of(r), overlap(d, (plan[r] * 1e-3) ** (1 / r)))
        fewest = limits.fewest(lambda t, r=r: limits.of(r) * (1 - 1e-9) < t)
        assert fewest == min(k for k in plan if limits.of(k) >= limits.of(r))
    assert limits.fewest(lambda t: max(thresholds) < t) is None
    assert limits.aim == aim


def test_the_plans_of_the_finder_and_the_errors_it_may_miss_spend_its_failure_probability_once():
    """What starts may spend, and what measurements of errors may, of which there may be any number."""
    for plan in LANCZOS.plans:
        assert math.isclose(sum(plan.values()), 1.0)
    errors = _ErrorBudget(1 - LANCZOS.certificate_share, np.random.default_rng(0))
    assert sum(errors.spend() for _ in range(100)) <= (1 - LANCZOS.certificate_share) * (1 + 1e-12)


def test_starts_are_independent_uniform_unit_vectors():
    starts = np.concatenate([random_starts(np.random.default_rng(seed), 3) for seed in range(2000)])
    assert starts.shape == (2000 * max(PLAN), 3)
    assert np.allclose(np.linalg.norm(starts, axis=1), 1)
    assert np.allclose(starts.mean(axis=0), 0, atol=5 / math.sqrt(3 * len(starts)))
    assert np.allclose(np.cov(starts.T), np.eye(3) / 3, atol=5 / math.sqrt(len(starts)))


def test_certificates_fail_no_more_often_than_promised():
    """Exact products, an eigenvalue just below -delta: the bound undercuts t in at most p of the starts.

    p = 0.1 for a single start (the share of the plan left out), 400 runs, four standard errors.
    """
    p, runs, d, wrong = 0.1, 400, 30, 0
    t = overlap(d, p)
    matrix, P, *_ = setting(9, d, -1.001 * DELTA)
    rng = np.random.default_rng(0)
    for _ in range(runs):
        q = rng.standard_normal(d)
        process = LanczosProcess(Fake(matrix, P, 0.0, "exact", None, 0), q / np.linalg.norm(q))
        for _ in range(25):
            process.advance()
            if process.ritz()[0][0] <= 0:
                break
            if process.bound(0.0, 0.0) < t:
                wrong += 1
                break
    assert 0 < wrong <= runs * p + 4 * math.sqrt(runs * p)


def attempt_of(products, process, error):
    """An attempt of which this is the first start, and which expects this error of products."""
    rng, d = np.random.default_rng(0), len(process.q)
    limits = Thresholds(d, 1e-3, LANCZOS.plans[0])
    attempt = _Attempt(Lanczos(delta=DELTA), products, random_starts(rng, d), limits, _ErrorBudget(5e-5, rng))
    attempt.error = error
    attempt.tried.append(_Start(process))
    return attempt, attempt.tried[0]


@pytest.mark.parametrize("count", [1, 4])
def test_what_is_shown_was_measured(count, monkeypatch):
    """At its own level, for a start as it is; one product has the same error at every level."""
    matrix, P, _, vectors, q = setting(5, 20, 0.3)
    products = Fake(matrix, P, 0.0, "exact", vectors[:, 0], 0)
    process = LanczosProcess(products, q)
    monkeypatch.setattr(lanczos.product_errors, "measured", lambda *_, **__: ProductError(1e-3))
    for _ in range(count):
        process.advance()
    wide = process.bound(0.0, 1e-3) * 1.5
    attempt, start = attempt_of(products, process, 1.1e-3 / LANCZOS.allowed)
    assert start.certified_shift(wide) is None
    assert attempt._measure(start, wide) is None
    ((level, error),) = start.measured
    assert error == attempt.error == 1e-3
    assert level == pytest.approx(process.certified_shift(1.1e-3, wide))
    assert level > 0
    highest = process.certified_shift(1e-3, wide)
    assert start.certified_shift(wide) == pytest.approx(highest if count == 1 else level)
    assert start.certified_shift(process.bound(0.0, 0.0)) is None
    assert attempt._advance(start, process.bound(0.0, 0.0) / 10) is None
    assert len(process.alpha) > count
    assert start.certified_shift(wide) is None


def test_an_error_that_is_too_large_for_its_level_is_measured_again_lower_and_at_last_at_0(monkeypatch):
    matrix, P, _, vectors, q = setting(5, 20, 0.3)
    products = Fake(matrix, P, 0.0, "exact", vectors[:, 0], 0)
    process, asked = LanczosProcess(products, q), []
    for _ in range(4):
        process.advance()

    def measured(products, q, image, *, room, failure, **_):
        asked.append((image, room, failure))
        return ProductError(1e3)

    monkeypatch.setattr(lanczos.product_errors, "measured", measured)
    threshold = process.bound(0.0, 1e-3)
    attempt, start = attempt_of(products, process, 1e-4 / LANCZOS.allowed)
    assert attempt._measure(start, threshold) is None
    levels = [level for level, _ in start.measured]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] > levels[-1] == 0.0
    assert start.certified_shift(threshold) is None
    for level, (image, room, _) in zip(levels, asked, strict=True):
        first, _, w = process.terms(level)
        assert np.allclose(image, process.joint_product(level)[1])
        assert room == pytest.approx((threshold - first) / np.linalg.norm(w))
    assert sum(failure for *_, failure in asked) <= 5e-5


@pytest.mark.parametrize("kind", ["anywhere", "hiding"])
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_the_joint_product_has_the_error_that_enters_the_inequality(kind, spread):
    """It is that of the unit vector along sum_j w_j q_j: sum_j w_j g_j / |w|, exactly."""
    matrix, P, values, vectors, q = setting(6, 20, -DELTA, spread)
    products = Fake(matrix, P, 1e-2, kind, vectors[:, 0], 0)
    process = LanczosProcess(products, q)
    for _ in range(8):
        process.advance()
        level = float(min(process.ritz()[0][0] - 0.1, values[0]))
        w = process.terms(level)[2]
        s, image, length = process.joint_product(level)
        assert math.isclose(np.linalg.norm(s), 1.0, rel_tol=1e-12)
        assert math.isclose(length, np.linalg.norm(w), rel_tol=1e-12)
        assert np.allclose(image - products.B @ s, np.stack(products.errors).T @ w / length, atol=1e-12)


def test_what_was_shown_of_one_product_is_not_taken_back_by_a_larger_error():
    """Its error may be measured twice, at two levels: the smaller one, which passed, is not to end below its level."""
    matrix, P, _, vectors, q = setting(4, 15, 1.0, 2.0)
    process = LanczosProcess(Fake(matrix, P, 0.0, "exact", vectors[:, 0], 0), q)
    process.advance()
    least = process.bound(0.0, 0.0)
    small, large = 0.1 * least, 1e3 * least
    threshold = process.bound(0.0, 2 * small)
    start = _Start(process, [(0.5 * process.alpha[0], large), (0.0, small)])
    assert process.bound(0.0, large) > threshold
    assert start.certified_shift(threshold) == 0.0
