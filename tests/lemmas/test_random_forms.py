"""The small-ball bound of random forms, and the certificate that rests on it, counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from escapade import Oracle, certify
from escapade.curvature.random_forms import confirmed, gauss_newton, second_differences, take_forms, tolerance
from escapade.derivatives.residual_model import Pattern, measure_residuals
from escapade.loss import LINEAR, Loss

RUNS = 600


def quadratic(seed, d=5, m=9, lowest=None, delta=0.1):
    """Residuals of second order around 0, with a gradient of 0 and, if asked for, a given lowest curvature."""
    rng = np.random.default_rng(seed)
    J, r0 = rng.standard_normal((m, d)), rng.standard_normal(m)
    Q = np.linalg.qr(J)[0]
    r0 -= Q @ (Q.T @ r0)
    bent = rng.standard_normal((m, d, d))
    bent = (bent + bent.transpose(0, 2, 1)) / 10
    S = np.einsum("i,ijk->jk", r0, bent)
    if lowest is not None:
        w, V = np.linalg.eigh(J.T @ J + S)
        w = np.abs(w) + 0.05
        w[0] = lowest * delta
        wanted = (V * w) @ V.T - J.T @ J
        bent += np.einsum("i,jk->ijk", r0 / (r0 @ r0), wanted - S)
        S = wanted
    return (lambda x: r0 + J @ x + np.einsum("ijk,j,k->i", bent, x, x) / 2), J.T @ J + S, J, r0


def local_model(r, d, loss=LINEAR, x=None):
    f, one = Oracle.of(r, loss=loss), np.ones(d)
    settings = {"unit": one, "lengths": one, "loss": loss, "pattern": Pattern.dense(d), "noise": None}
    return measure_residuals(f, np.zeros(d) if x is None else x, **settings, rng=np.random.default_rng(0))


@given(st.integers(1, 30), st.floats(1e-6, 0.5))
def test_the_tolerance_is_that_of_the_bound(count, failure):
    from scipy.special import erf

    assert erf(np.sqrt(tolerance(count, failure))) ** count == pytest.approx(failure, rel=1e-6)


@pytest.mark.parametrize("rest", [[], [0.0] * 4, [1.0, 2.0, 5.0], [-1.0] * 3, [-3.0, 4.0], [1.0 / 8] * 8])
def test_a_form_of_a_matrix_with_an_eigenvalue_of_minus_one_is_seldom_small(rest):
    """For every other spectrum, P(|g'Ag| <= tau) <= erf(sqrt(tau))."""
    from scipy.special import erf

    values = np.array([-1.0, *rest])
    forms = np.random.default_rng(1).standard_normal((200_000, len(values))) ** 2 @ values
    for tau in (1e-3, 1e-2, 0.1, 0.5):
        seen, bound = np.mean(np.abs(forms) <= tau), erf(np.sqrt(tau))
        assert seen <= bound + 4 * np.sqrt(bound / 200_000)


def test_certificates_just_beyond_the_tolerance_are_false_no_more_often_than_promised():
    """The worst case: an eigenvalue of exactly -delta, in a direction that J does not see, nothing else."""
    d, failure, delta = 2, 0.2, 0.1

    def r(x):  # H = diag(1, -delta)
        return np.array([x[0], 1.0 - delta * x[1] ** 2 / 2])

    local = local_model(r, d)
    A0, one = gauss_newton(local), np.ones(d)
    false = 0
    for seed in range(RUNS):
        found = take_forms(local, one, A0, delta * (1 - 1e-9), failure, np.random.default_rng(seed))
        false += found.lower >= -delta * (1 - 1e-9)
    assert false / RUNS <= failure + 3 * np.sqrt(failure / RUNS)
    assert false > 0  # the bound is no better than it need be


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_holds_for_the_exact_hessian(seed):
    r, H, _, _ = quadratic(seed)
    local, one = local_model(r, 5), np.ones(5)
    lowest = np.linalg.eigvalsh(H)[0]
    dense = second_differences(local, one)
    np.testing.assert_allclose(dense, H, atol=1e-5 * np.abs(H).max())
    found = take_forms(local, one, dense, max(0.1, -1.5 * lowest), 1e-3, np.random.default_rng(seed))
    assert found.lower <= lowest <= found.upper + 1e-6
    assert found.lower >= lowest - 1e-2 * np.abs(H).max()


@pytest.mark.parametrize("loss", ["soft_l1", "cauchy"])
def test_robust_losses_have_their_own_hessian(loss):
    rho = Loss(loss, 0.5)
    r, _, J, r0 = quadratic(3)
    local = local_model(r, 5, rho)
    h, eye = 1e-4, np.eye(5)

    def cost(x):
        return float(rho.cost(r(x)))

    H = np.array([
        [(cost(h * (a + b)) - cost(h * (a - b)) - cost(h * (b - a)) + cost(-h * (a + b))) / (4 * h * h) for a in eye]
        for b in eye
    ])
    np.testing.assert_allclose(second_differences(local, np.ones(5)), H, atol=1e-4 * np.abs(H).max())
    np.testing.assert_allclose(local.gradient.value, J.T @ (rho.weights(r0)[0] * r0), atol=1e-6)


def test_a_direction_down_is_confirmed_and_one_up_is_not():
    r, H, _, _ = quadratic(4, lowest=-2.0)
    local, one = local_model(r, 5), np.ones(5)
    w, V = np.linalg.eigh(H)
    down, upper = confirmed(local, one, V[:, 0], 0.1)
    assert down
    assert w[0] == pytest.approx(upper, rel=1e-3)
    assert not confirmed(local, one, V[:, -1], 0.1)[0]


@pytest.mark.parametrize("kind", [-1.05, -0.5, 0.5])
def test_nothing_false_is_certified(kind):
    """Thirty problems each, at p = 0.001; benchmarks/residuals.py truth counts 2,000."""
    for seed in range(30):
        r, H, _, _ = quadratic(seed, lowest=kind)
        lowest = np.linalg.eigvalsh(H)[0]
        certificate = certify(r, np.zeros(5), residuals=True, gtol=1e-4, curvtol=0.1, rng=seed)
        assert certificate.holds == (lowest >= -0.1)
        assert (certificate.verdict == "saddle") == (lowest < -0.1)
        assert certificate.verdict != "minimum" or lowest > 0
