"""Hessians of a known pattern: certificates that are true, patterns that are wrong, and runs."""

from zlib import crc32

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize as scipy_minimize

import escapade
from escapade import certify, minimize
from escapade.errors import InvalidSetting, WrongSparsity

GTOL, CURVTOL = 1e-4, 1e-2


def band(d, width):
    offsets = list(range(-width, width + 1))
    return sparse.diags_array([np.ones(d - abs(k)) for k in offsets], offsets=offsets, shape=(d, d))


def chain(X):
    """Double wells with springs between neighbours."""
    P = np.pad(X, ((0, 0), (1, 1)))
    return np.sum((X**2 - 1) ** 2, axis=1) / 4 + np.sum(np.diff(P, axis=1) ** 2, axis=1) / 2


def chain_gradient(x):
    P = np.pad(x, 1)
    return (x**2 - 1) * x + 2 * x - P[:-2] - P[2:]


def random_hessian(d, lowest, rng):
    upper = np.triu(rng.standard_normal((d, d)), 1) * (band(d, 2).toarray() != 0)
    H = upper + upper.T + np.diag(rng.uniform(-1, 1, d))
    H /= np.linalg.norm(H, 2)
    return H + (lowest - np.linalg.eigvalsh(H)[0]) * np.eye(d)


def quadratic(H, rng):
    q = rng.uniform(0, 0.3, len(H))
    return lambda X: np.sum(X * (X @ H), axis=1) / 2 + X**4 @ q + X**3 @ q[::-1]


def asked(fun, d, pattern, seed, **more):
    known = {"gtol": GTOL, "curvtol": CURVTOL, "vectorized": True}
    return certify(fun, np.zeros(d), hess_sparsity=pattern, rng=seed, **known, **more)


def test_certificates_of_banded_functions_are_true():
    holding = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d, lowest = int(rng.integers(3, 40)), float(rng.choice([0.1, 1e-3, -0.5e-2, -1.05e-2, -0.1]))
        H = random_hessian(d, lowest, rng)
        certificate = asked(quadratic(H, rng), d, H, seed)
        assert certificate.verdict in ("saddle", "undecided") if lowest < -CURVTOL else certificate.verdict != "saddle"
        assert certificate.curvature.lower <= lowest + 1e-9
        assert certificate.curvature.upper >= lowest - 1e-9
        assert certificate.verdict != "minimum" or lowest > 0
        holding += certificate.verdict != "undecided"
    assert holding >= 58


def test_a_pattern_that_hides_a_negative_eigenvalue_is_never_certified():
    """Without the entries that the pattern lacks the Hessian would be positive definite."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(4, 40))
        H = random_hessian(d, 0.3, rng)
        i, j = rng.choice(d, 2, replace=False)
        E = np.zeros((d, d))
        E[i, j] = E[j, i] = 1.0
        H[E != 0] = 0.0
        H += max(0.0, 0.2 - np.linalg.eigvalsh(H)[0]) * np.eye(d)
        low, high = 0.0, 100.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if np.linalg.eigvalsh(H + middle * E)[0] > -1.05 * CURVTOL else (low, middle)
        certificate = asked(quadratic(H + high * E, rng), d, H, seed)
        assert certificate.verdict == "undecided"
        assert "hess_sparsity" in certificate.reason
        assert "hess_sparsity" in certificate.remedy


def test_where_what_lacks_is_added_the_remedy_holds():
    rng = np.random.default_rng(0)
    H = random_hessian(20, 0.1, rng)
    fun = quadratic(H, rng)
    lacking = asked(fun, 20, band(20, 1), 0)
    assert lacking.verdict == "undecided"
    assert asked(fun, 20, band(20, 2), 0).verdict == "minimum"
    assert certify(fun, np.zeros(20), vectorized=True, rng=0, gtol=GTOL, curvtol=CURVTOL).verdict == "minimum"


def test_a_triangle_booleans_and_too_many_entries_are_patterns_too():
    rng = np.random.default_rng(1)
    H = random_hessian(12, 0.1, rng)
    fun = quadratic(H, rng)
    found = [asked(fun, 12, pattern, 0) for pattern in (H, np.triu(H, 1), H != 0, sparse.csr_matrix(H))]
    assert len({(one.nfev, one.curvature.lower) for one in found}) == 1
    assert asked(fun, 12, np.ones((12, 12)), 0).verdict == "minimum"


@pytest.mark.parametrize("d", [1, 2, 60])
def test_a_chain_is_left_from_its_saddle(d):
    result = minimize(chain, np.zeros(d), vectorized=True, hess_sparsity=band(d, min(1, d - 1)), rng=0)
    assert result.success
    assert np.linalg.norm(chain_gradient(result.x)) < 1e-3
    exact = np.diag(3 * result.x**2 + 1) - np.eye(d, k=1) - np.eye(d, k=-1)
    assert np.abs(result.hess.toarray() - exact).max() < 1e-3
    assert result.certificate.curvature.lower <= np.linalg.eigvalsh(exact)[0] + 1e-6


def test_many_variables_cost_few_rows():
    d = 400
    result = minimize(chain, np.zeros(d), vectorized=True, hess_sparsity=band(d, 1), rng=0)
    assert result.certificate.verdict == "minimum"
    assert result.nfev <= 60 * (d + 1)
    assert result.certificate.nfev <= 12 * (d + 1)
    assert result.nfev == sum(result.nfev_by_purpose.values())


def test_with_gradients_no_row_is_asked_for():
    d = 100

    def fun(x):
        return float(chain(x[None, :])[0])

    x0 = np.random.default_rng(0).standard_normal(d)
    result = minimize(fun, x0, jac=chain_gradient, hess_sparsity=band(d, 1), rng=0)
    assert result.success
    assert result.nfev < 5 * d
    assert result.njev < 300
    certificate = certify(fun, result.x, jac=chain_gradient, hess_sparsity=band(d, 1), rng=0)
    assert certificate.holds
    assert certificate.finder == "sparse"
    assert certificate.njev < 60


def test_an_arrow_is_factored_without_filling_up():
    d = 300

    def arrow(X):
        rest = X[:, 1:]
        return np.sum((rest**2 - 1) ** 2, axis=1) / 4 + 20 * X[:, 0] ** 2 + 0.1 * X[:, 0] * np.sum(rest, axis=1)

    A = np.eye(d)
    A[0] = 1.0
    result = minimize(arrow, np.full(d, 0.3), vectorized=True, hess_sparsity=A, rng=0)
    assert result.certificate.verdict == "minimum"
    H = result.hess.toarray()
    assert result.certificate.curvature.lower <= np.linalg.eigvalsh(H)[0]


def test_a_pattern_that_lacks_much_is_refused_at_the_start():
    with pytest.raises(WrongSparsity, match="hess_sparsity lacks entries"):
        minimize(chain, np.full(50, 0.4), vectorized=True, hess_sparsity=np.eye(50), rng=0)


@pytest.mark.parametrize(
    "fun",
    [
        lambda X: chain(X) + 5e-4 * np.cos(100 * X[:, 0]) + 1e6,  # structure below the steps
        lambda X: chain(X.astype(np.float32)).astype(np.float32).astype(float),
        lambda X: np.round(chain(X), 6),
        lambda X: chain(X) + np.sum(np.abs(X[:, 1:] - X[:, :-1]), axis=1),
        lambda X: chain(X) * 1e-12,
        lambda X: chain(100 * X),
    ],
)
@pytest.mark.parametrize("noise", [None, 0])
def test_a_right_pattern_is_not_refused(fun, noise):
    for seed in range(3):
        x0 = np.random.default_rng(seed).standard_normal(20)
        minimize(fun, x0, vectorized=True, hess_sparsity=band(20, 1), rng=seed, noise=noise, maxfev=200)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"hess_sparsity": np.ones((3, 4))}, "4 rows and 4 columns"),
        ({"hess_sparsity": "band"}, "4 rows and 4 columns"),
        ({"hess_sparsity": np.eye(4), "bounds": [(-2, 2)] * 4}, "not for a problem with bounds"),
        ({"hess_sparsity": np.eye(4), "samples": 10}, "without samples"),
    ],
)
@pytest.mark.parametrize("call", [certify, minimize])
def test_what_cannot_be_is_refused(call, more, message):
    with pytest.raises(InvalidSetting, match=message):
        call(lambda x, *ids: float(x @ x), np.ones(4), **more)


def test_certify_refuses_a_finder_and_residuals_beside_it():
    with pytest.raises(InvalidSetting, match="leave finder out"):
        certify(lambda x: x @ x, np.ones(4), hess_sparsity=np.eye(4), finder="dense")
    with pytest.raises(InvalidSetting, match="residuals=True"):
        certify(lambda x: x, np.ones(4), hess_sparsity=np.eye(4), residuals=True)


def test_results_with_sparse_hessians_come_back_from_json():
    result = minimize(chain, np.full(20, 0.3), vectorized=True, hess_sparsity=band(20, 1), rng=0)
    again = escapade.Result.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert (again.hess != result.hess).nnz == 0
    assert np.allclose(again.covariance(), result.covariance())
    assert np.allclose(result.covariance() @ result.hess.toarray(), np.eye(20), atol=1e-8)


def test_missing_values_cost_a_few_more():
    def holed(x):
        return np.nan if crc32(x.tobytes()) % 20 == 0 else float(chain(x[None, :])[0])

    result = minimize(holed, np.full(30, 0.31), hess_sparsity=band(30, 1), rng=0)
    assert result.success


def test_other_doors():
    def fun(x):
        return float(chain(x[None, :])[0])

    options = {"hess_sparsity": band(10, 1), "rng": 0}
    assert scipy_minimize(fun, np.full(10, 0.3), method=escapade.scipy_method, options=options).success
    runs = escapade.multistart(fun, np.random.default_rng(0).standard_normal((2, 10)), **options)
    assert all(run.certificate.finder == "sparse" for run in runs.runs)
    hidden = minimize(fun, np.full(10, 0.3), certificate="none", **options)
    assert not hidden.success


def test_a_journal_of_another_pattern_is_refused(tmp_path):
    known = {"vectorized": True, "rng": 0, "journal": tmp_path / "j.sqlite"}
    first = minimize(chain, np.full(8, 0.3), hess_sparsity=band(8, 1), **known)
    assert minimize(chain, np.full(8, 0.3), hess_sparsity=band(8, 1), **known).nfev == first.nfev
    with pytest.raises(escapade.errors.JournalError, match="hess_sparsity"):
        minimize(chain, np.full(8, 0.3), hess_sparsity=band(8, 2), **known)
