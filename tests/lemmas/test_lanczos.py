"""The anytime inequality of the Lanczos finder, and the overlap of a random start."""

import math

import numpy as np
import pytest
from escapade.curvature.starts import PLANS, Starts, overlap
from scipy.stats import binom

from escapade.curvature.process import Process


class Fake:
    """q -> P H P q with an error of at most `error`: none, anywhere, or what hides u from the process."""

    def __init__(self, matrix, metric, error, kind, u, seed, delta):
        self.matrix, self.metric, self.error, self.kind, self.u = matrix, metric, error, kind, u
        self.rng, self.delta = np.random.default_rng(seed), delta

    def __call__(self, q):
        product = self.metric * (self.matrix @ (self.metric * q))
        if self.kind == "exact":
            return product
        if self.kind == "anywhere":
            wrong = self.rng.standard_normal(len(q))
            return product + self.error * wrong / np.linalg.norm(wrong)
        # The process sees B u = 3 u where B u = lambda u: as far as the error allows.
        image = self.u @ (product + self.delta * self.metric**2 * q)
        return product + float(np.clip(3 * (self.u @ q) - image, -self.error, self.error)) * self.u


DELTA = 0.1


def setting(seed, d, lowest, metric_spread=1.0):
    """H, the metric, and the lowest eigenpair of B = P (H + delta) P."""
    rng = np.random.default_rng([seed, d])
    q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    spectrum = np.append(rng.uniform(0.2, 4, d - 1), lowest)
    metric = metric_spread ** -rng.uniform(0, 1, d)
    matrix = (q * spectrum) @ q.T
    values, vectors = np.linalg.eigh(metric[:, None] * (matrix + DELTA * np.eye(d)) * metric)
    start = rng.standard_normal(d)
    return matrix, metric, values, vectors, start / np.linalg.norm(start)


def rounding(process, level):
    """Products and recurrences are rounded: 1e-13 in each g_j."""
    first, second, _ = process.terms(level)
    return 1e-13 * (second + first) if first < math.inf else 0.0


@pytest.mark.parametrize("kind", ["exact", "anywhere", "hiding"])
@pytest.mark.parametrize("error", [1e-9, 1e-4, 1e-2])
@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("d", [2, 5, 25])
def test_inequality(kind, error, spread, d):
    """|<u, q>| <= prod beta_j / (theta_j - level) + sum |w_j| |g_j| for eigenvectors at or below a level."""
    checked = 0
    for seed in range(12):
        lowest = -DELTA * (1 + seed % 3)
        matrix, metric, values, vectors, q = setting(seed, d, lowest, spread)
        process = Process(Fake(matrix, metric, error, kind, vectors[:, 0], seed, DELTA), DELTA, q)
        for _ in range(min(d, 20)):
            process.advance()
            for i in range(min(d, 3)):
                for level in (values[i], values[i] + 0.05, values[i] + 0.5):
                    bound = process.bound(level, 0.0 if kind == "exact" else error)
                    assert abs(vectors[:, i] @ q) <= bound + rounding(process, level)
                    checked += bound < 1
    assert checked > 0


def test_the_second_term_is_needed():
    """Without it, errors that hide u make the first term smaller than the overlap."""
    broken = 0
    for seed in range(20):
        matrix, metric, values, vectors, q = setting(seed, 25, -DELTA)
        u = vectors[:, 0]
        process = Process(Fake(matrix, metric, 1.0, "hiding", u, seed, DELTA), DELTA, q)
        for _ in range(15):
            process.advance()
        broken += abs(u @ q) > process.terms(values[0])[0]
    assert broken >= 15


def test_the_first_term_is_nearly_attained():
    """In two dimensions with one product: |<u, q>| = beta / (theta - lambda) |<u, q_2>|."""
    matrix, metric, values, vectors, q = setting(0, 2, -2 * DELTA)
    process = Process(Fake(matrix, metric, 0.0, "exact", None, 0, DELTA), DELTA, q)
    process.advance()
    across = abs(vectors[:, 0] @ process.q)
    assert math.isclose(abs(vectors[:, 0] @ q), process.terms(values[0])[0] * across, rel_tol=1e-12)


@pytest.mark.parametrize("kind", ["exact", "anywhere"])
def test_terms_solve_their_system(kind):
    """(T_k - level) w = e_1, and the product formula is beta_k |w_k|."""
    matrix, metric, _, vectors, q = setting(3, 12, -DELTA)
    process = Process(Fake(matrix, metric, 1e-3, kind, vectors[:, 0], 0, DELTA), DELTA, q)
    for k in range(1, 9):
        process.advance()
        level = float(process.ritz()[0][0]) - 0.3
        first, second, w = process.terms(level)
        T = np.diag(process.alpha) + np.diag(process.beta[:-1], 1) + np.diag(process.beta[:-1], -1)
        assert np.allclose((T - level * np.eye(k)) @ w, np.eye(k)[0], atol=1e-10)
        assert math.isclose(second, np.sum(np.abs(w)), rel_tol=1e-12)
        assert math.isclose(first, process.beta[-1] * abs(w[-1]), rel_tol=1e-7)


def test_the_pace_is_that_of_the_first_term():
    """The gains of the later half of the products, from the pivots of T_k alone."""
    matrix, metric, _, _, q = setting(3, 12, DELTA)
    process, logs = Process(Fake(matrix, metric, 0.0, "exact", None, 0, DELTA), DELTA, q), [0.0]
    for k in range(1, 9):
        process.advance()
        logs.append(math.log(process.terms(0.0)[0]))
        assert math.isclose(process.pace(), (logs[k // 2] - logs[k]) / (k - k // 2), rel_tol=1e-6)


@pytest.mark.parametrize("kind", ["exact", "anywhere"])
def test_what_is_kept_covers_what_reorthogonalisation_removes(kind):
    """B q_j = beta_{j-1} q_{j-1} + alpha_j q_j + beta_j q_{j+1} + g_j with |g_j| <= error + slack (1e-13)."""
    error = 0.0 if kind == "exact" else 1e-3
    matrix, metric, _, vectors, q = setting(4, 15, -DELTA, 10.0)
    B = metric[:, None] * (matrix + DELTA * np.eye(15)) * metric
    process = Process(Fake(matrix, metric, error, kind, vectors[:, 0], 0, DELTA), DELTA, q)
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
    matrix, metric, _, vectors, q = setting(5, 20, 0.3)
    process = Process(Fake(matrix, metric, error, "anywhere", vectors[:, 0], 0, DELTA), DELTA, q)
    for _ in range(8):
        process.advance()
    level = process.level(error, 0.2)
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
def test_plans_spend_the_failure_probability_once(d):
    assert math.isclose(sum(PLANS.values()), 1.0)
    limits = Starts(d, 1e-3)
    thresholds = [limits.threshold(r) for r in PLANS]
    assert thresholds == sorted(thresholds)
    for r in PLANS:
        assert limits.fewest(lambda t, r=r: limits.threshold(r) * (1 - 1e-9) < t) == r
        assert math.isclose(limits.threshold(r), overlap(d, (PLANS[r] * 1e-3) ** (1 / r)))
    assert limits.fewest(lambda t: thresholds[-1] < t) is None
    assert limits.aim == 1


def test_certificates_fail_no_more_often_than_promised():
    """Exact products, an eigenvalue just below -delta: the bound undercuts t in at most p of the starts.

    p = 0.1 for a single start (the share of the plan left out), 400 runs, four standard errors.
    """
    p, runs, d, wrong = 0.1, 400, 30, 0
    t = overlap(d, p)
    matrix, metric, *_ = setting(9, d, -1.001 * DELTA)
    rng = np.random.default_rng(0)
    for _ in range(runs):
        q = rng.standard_normal(d)
        process = Process(Fake(matrix, metric, 0.0, "exact", None, 0, DELTA), DELTA, q / np.linalg.norm(q))
        for _ in range(25):
            process.advance()
            if process.ritz()[0][0] <= 0:
                break
            if process.bound(0.0, 0.0) < t:
                wrong += 1
                break
    assert 0 < wrong <= runs * p + 4 * math.sqrt(runs * p)


@pytest.mark.parametrize("products", [1, 4])
def test_what_is_shown_was_measured(products):
    """At its own level, for a start as it is; one product has the same error at every level."""
    matrix, metric, _, vectors, q = setting(5, 20, 0.3)
    process = Process(Fake(matrix, metric, 0.0, "exact", vectors[:, 0], 0, DELTA), DELTA, q)
    process.products.truncation = lambda q, product, room: 1e-3
    process.products.noise = lambda: 0.0
    for _ in range(products):
        process.advance()
    wide = process.bound(0.0, 1e-3, joint=True) * 1.5
    assert process.shown(wide) is None
    assert process.settle(0.01, wide) == 1e-3
    highest = process.level(1e-3, wide, joint=True)
    assert process.shown(wide) == pytest.approx(highest if products == 1 else 0.01)
    assert process.shown(process.bound(0.0, 0.0)) is None
    process.advance()
    assert process.shown(wide) is None


class Sided(Fake):
    """Symmetric products that are exact, and one-sided ones that are wrong by `error`, in a direction of each."""

    order, bent, caution = 2, 0.0, 2.5

    def __call__(self, q):
        self.bent = self.error
        return super().__call__(q)

    def one_sided(self, q):
        wrong = self.rng.standard_normal(len(q))
        return super().__call__(q) + self.error * wrong / np.linalg.norm(wrong)


@pytest.mark.parametrize("error", [1e-3, 1e-4, 1e-6])
def test_products_are_one_sided_once_their_errors_hardly_count(error):
    """The weights fall with the first term: symmetric products come first, and what the others add stays a small part
    of the threshold, though their errors are far larger than that."""
    threshold, sides = 1e-4, []
    for seed in range(10):
        matrix, metric, _, vectors, q = setting(seed, 60, 0.3)
        process = Process(Sided(matrix, metric, error, "exact", vectors[:, 0], seed, DELTA), DELTA, q, None, threshold)
        while process.terms(0.0)[0] >= threshold / 2 if process.alpha else True:
            process.advance()
        assert process.one_sided == sorted(process.one_sided)
        assert not process.one_sided[0]
        assert process.one_sided[-1]
        w = process.terms(0.0)[2]
        true = sum(
            weight * (image - metric * ((matrix + DELTA * np.eye(60)) @ (metric * q)))
            for weight, image, q in zip(w, process.images, process.basis, strict=True)
        )
        assert np.linalg.norm(true) <= process.uneven(w) + 1e-12
        assert process.uneven(w) < 0.1 * threshold
        sides.append(sum(process.one_sided) / len(process.one_sided))
    assert np.mean(sides) > {1e-3: 0.1, 1e-4: 0.3, 1e-6: 0.6}[error]


def test_no_product_is_one_sided_unless_a_threshold_says_what_may_be_lost():
    matrix, metric, _, vectors, q = setting(0, 30, 0.3)
    process = Process(Sided(matrix, metric, 1e-12, "exact", vectors[:, 0], 0, DELTA), DELTA, q)
    for _ in range(10):
        process.advance()
    assert not any(process.one_sided)


def test_what_was_shown_of_one_product_is_not_taken_back_by_a_larger_error():
    """Its error may be measured twice, at two levels: the smaller one, which passed, is not to end below its level."""
    matrix, metric, _, vectors, q = setting(4, 15, 1.0, 2.0)
    process = Process(Fake(matrix, metric, 0.0, "exact", vectors[:, 0], 0, DELTA), DELTA, q)
    process.advance()
    least = process.bound(0.0, 0.0, joint=True)
    small, large = 0.1 * least, 1e3 * least
    threshold = process.bound(0.0, 2 * small, joint=True)
    process.seen = [(0.5 * process.alpha[0], large), (0.0, small)]
    assert process.bound(0.0, large, joint=True) > threshold
    assert process.shown(threshold) == 0.0
