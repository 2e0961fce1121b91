"""What a certificate costs: prices before purchases, the complement of products, the softest again, and the cap."""

import re

import numpy as np
import pytest

from escapade import certify, minimize
from escapade.curvature import Cheapest, price
from escapade.curvature.complement import Complement, block_bound
from escapade.curvature.newton import newton_contracts
from escapade.curvature.soft import Spectrum
from escapade.derivatives.measure import Allowance, measure
from escapade.derivatives.products import HessianProducts
from escapade.errors import InvalidSetting
from escapade.oracle import Oracle
from escapade.problems import LennardJones, LinearNetwork, random_rotation


def symmetric(rng, d):
    A = rng.standard_normal((d, d))
    return (A + A.T) / 2


# The bounds, as properties


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_of_a_complement_holds_whatever_the_errors(seed):
    """Errors of the declared norms, random ones and those that bend the lowest eigenvector."""
    rng = np.random.default_rng([15, seed])
    d, k = int(rng.integers(2, 12)), 0
    k = int(rng.integers(1, d)) if d > 1 else 0
    A, basis = symmetric(rng, d), random_rotation(d, rng)
    Q, W = basis[:, :k], basis[:, k:]
    g, w = 10.0 ** rng.uniform(-3, 0, 2)
    u = np.linalg.eigh(A)[1][:, :1]
    for G, E in (
        (rng.standard_normal((d, k)), symmetric(rng, d - k)),
        (-u @ (u.T @ Q), -(W.T @ u) @ (u.T @ W)),
        (u @ (u.T @ Q), (W.T @ u) @ (u.T @ W)),
    ):
        G, E = (M * (size / (np.linalg.norm(M, 2) + 1e-300)) for M, size in ((G, g), (E, w)))
        Y, C = A @ Q + G, W.T @ A @ W + E
        inner, side = Q.T @ Y, Y.T @ W
        estimate = basis @ np.block([[(inner + inner.T) / 2, side], [side.T, C]]) @ basis.T
        bound = block_bound(g, g, w)
        assert np.linalg.norm(estimate - A, 2) <= bound * (1 + 1e-12)
        assert np.linalg.eigvalsh(A)[0] >= np.linalg.eigvalsh(estimate)[0] - bound * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_of_the_softest_again_holds_whatever_the_errors(seed):
    """The error, in the units of uneven steps, is as large as declared, or against the lowest direction."""
    rng = np.random.default_rng([16, seed])
    d, e, epsilon = int(rng.integers(2, 12)), 10.0 ** rng.uniform(-3, 0), 10.0 ** rng.uniform(-4, -1)
    values = np.sort(np.concatenate([rng.uniform(-0.1, 0.1, 2), rng.uniform(0.5, 3, d)[: d - 2]]))
    basis, steps = random_rotation(d, rng), 10.0 ** rng.uniform(-1, 0, d)
    H, u = basis @ np.diag(values) @ basis.T, basis[:, :1]
    m = int(rng.integers(1, d + 1))
    for E in (symmetric(rng, d), u @ u.T, -u @ u.T, u @ basis[:, -1:].T + basis[:, -1:] @ u.T):
        E = E * (e / np.linalg.norm(E, 2))
        estimate = H + E / steps[:, None] / steps
        low, vectors = np.linalg.eigh(estimate)
        S, F = vectors[:, :m], symmetric(rng, m)
        block = S.T @ H @ S + F * (epsilon / np.linalg.norm(F, 2))
        spectrum = Spectrum(low, vectors, 1 / steps, e)
        assert np.linalg.eigvalsh(H)[0] >= spectrum.lowest(block, epsilon) - 1e-9


def curved(d, rng, low):
    values = np.concatenate([[low], rng.uniform(0.5, 20, d - 1)])
    q = random_rotation(d, rng)
    return q @ np.diag(values) @ q.T


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("order", [1, 2])
def test_products_and_their_complement_make_the_hessian_at_their_price(sides, order):
    rng, d, k = np.random.default_rng(0), 14, 4
    A = curved(d, rng, -0.3)
    f = Oracle.of(lambda X: np.einsum("ij,ij->i", X @ A, X) / 2, vectorized=True)
    local = measure(f, rng.standard_normal(d), curvtol=0.1, rng=rng)
    kind = HessianProducts(local, order=order)
    taken = [kind(q / np.linalg.norm(q)) for q in rng.standard_normal((k, d))]
    rest, before = Complement(local, kind, taken), f.ledger.queries
    asked = rest.price(sides)
    found = rest.hessian(sides)
    assert f.ledger.queries - before == asked
    mirrored = k * (d + 1) if sides > order else 0
    assert asked == price.complement(d, k, sides) - price.checks(d) - d + mirrored
    assert np.allclose(found.unscaled, A, atol=1e-3)
    exact = A * local.steps[:, None] * local.steps
    assert np.linalg.norm(found.scaled - exact, 2) <= found.noise + 1e-3 * np.linalg.norm(exact, 2)


def test_dependent_products_count_as_fewer():
    rng, d = np.random.default_rng(1), 10
    A = curved(d, rng, 0.2)
    f = Oracle.of(lambda X: np.einsum("ij,ij->i", X @ A, X) / 2, vectorized=True)
    local = measure(f, np.zeros(d), curvtol=0.1, rng=rng)
    kind, q = HessianProducts(local), np.eye(d)[0]
    rest = Complement(local, kind, [kind(q), kind(q), kind(np.eye(d)[1])])
    assert rest.k == 2
    assert np.allclose(rest.hessian(2).unscaled, A, atol=1e-3)


def test_missing_values_of_a_complement_are_taken_on_other_steps():
    rng, d, lost = np.random.default_rng(2), 12, np.random.default_rng(3)
    A = curved(d, rng, 0.2)

    def fun(X):
        values = np.einsum("ij,ij->i", X @ A, X) / 2
        return np.where(lost.random(len(X)) < (0.03 if len(X) > 20 else 0.0), np.nan, values)

    from escapade.oracle import Failures

    f = Oracle.of(fun, vectorized=True, failures=Failures.omitting("raise", None, None))
    local = measure(f, np.zeros(d), curvtol=0.1, rng=rng)
    kind = HessianProducts(local)
    rest = Complement(local, kind, [kind(np.eye(d)[0]), kind(np.eye(d)[1])])
    assert np.allclose(rest.hessian(2).unscaled, A, atol=1e-3)


# Prices


def test_the_cap():
    assert price.deciding(39) == 39 * 38 + 6 * 39 + 126
    assert price.cap(39) + 60 == int(1.25 * (price.deciding(39) + 60))
    assert price.cap(1000) == 400 * 1001
    assert all(price.cap(d) <= 400 * (d + 1) for d in range(1, 2000, 37))


def bought(c):
    return c.nfev - c.nfev_by_purpose.get("ladder", 0)


AWKWARD = {
    "waves": lambda X: np.sum(1 - np.cos(X / 1e-4), axis=1),
    "waves of many lengths": lambda X: np.sum(1 - np.cos(X * 10.0 ** np.arange(X.shape[1])), axis=1),
    "quartic": lambda X: np.sum(X**4, axis=1),
    "hinges": lambda X: np.sum(X**2 + 0.05 * np.maximum(X, 0) ** 2, axis=1),
    "rough": lambda X: np.sum(X**2 + 1e-3 * (1 - np.cos(X / 1e-3)), axis=1),
    "kinked": lambda X: np.sum(X**2 + 1e-5 * np.abs(X - 0.01), axis=1),
    "steep": lambda X: np.sum(np.expm1(1e3 * X) - 1e3 * X, axis=1),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("given", [{}, {"gtol": 1e-4, "curvtol": 1e-2}])
def test_the_cap_holds_whatever_f_is(name, given):
    for d in (1, 2, 5, 10, 28):
        for seed in range(2):
            c = certify(AWKWARD[name], np.zeros(d), vectorized=True, rng=seed, **given)
            assert bought(c) <= price.cap(d), (d, seed, c.reason)
            assert c.nfev <= 1.25 * (price.deciding(d) + 60) + 28  # jumps are looked at again
            assert c.price is None or c.price > bought(c)


def test_a_newton_step_is_taken_only_where_it_is_allowed():
    A = np.diag(np.arange(1.0, 9.0))
    f = Oracle.of(lambda X: np.einsum("ij,ij->i", X @ A, X) / 2, vectorized=True)
    local = measure(f, np.full(8, 1e-3), curvtol=0.1, rng=np.random.default_rng(0))
    for step in (None, -local.gradient.value / np.diag(A)):
        for most in (0, 31, 60):
            before = f.ledger.queries
            held = newton_contracts(local, step, Allowance.of(f, most))
            assert f.ledger.queries - before <= most
            assert not held or (step is not None and most >= 32)
        assert newton_contracts(local, step)


def test_an_allowance_counts_from_its_beginning():
    f = Oracle.of(lambda x: float(x @ x))
    f.value(np.ones(2))
    allowance = Allowance.of(f, 3)
    f.value(np.ones(2))
    assert allowance.spent == 1
    assert allowance.affords(2)
    assert not allowance.affords(3)


FLAT = {
    "rigid motions": LennardJones(atoms=13),
    "linear network": LinearNetwork(widths=(4, 6, 4)),
}


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("given", [{}, {"gtol": 1e-4, "curvtol": 1e-2}])
def test_flat_minima_cost_no_more_than_others(name, given):
    """The cluster cost 6,000 to 13,700 queries."""
    p = FLAT[name]
    x = minimum_of(p)
    c = certify(p, x, vectorized=True, rng=0, **given)
    assert c.holds
    assert c.nfev <= 1.25 * (price.deciding(p.d) + 60)


def minimum_of(p):
    from scipy.optimize import minimize as descend

    x = 0.8 * np.random.default_rng(1).standard_normal(p.d)
    for _ in range(3):
        x = descend(lambda x: float(p(x)), x, jac=p.gradient, method="BFGS", options={"gtol": 1e-10}).x
    return x


def bumpy(d, seed):
    """A flat direction, and third and fourth derivatives that second differences must be extrapolated for."""
    rng = np.random.default_rng(seed)
    turn, ways = random_rotation(d, rng), rng.standard_normal((d, 4))
    A = turn @ np.diag(np.linspace(0.0, 1.0, d)) @ turn.T
    ways /= np.linalg.norm(ways, axis=0)

    def fun(X):
        along = X @ ways
        return np.einsum("ij,ij->i", X @ A, X) / 2 + 140 * np.sum(along**3, axis=1) + 6e5 * np.sum(along**4, axis=1)

    return fun


@pytest.mark.parametrize("d", [8, 14, 28])
def test_beyond_the_cap_the_price_of_going_on_is_named_and_works(d):
    fun, settings = bumpy(d, 0), {"gtol": 1e-4, "curvtol": 1e-3, "vectorized": True, "rng": 0}
    c, steps = certify(fun, np.zeros(d), **settings), 0
    assert c.verdict == "undecided"
    assert bought(c) <= price.cap(d)
    while c.verdict == "undecided" and steps < 4:
        named = int(re.search(r"certificate_maxfev=(\d+)", c.remedy)[1])
        assert named == c.price > price.cap(d)
        assert str(named) in c.reason
        again = certify(fun, np.zeros(d), certificate_maxfev=named, **settings)
        assert c.nfev < again.nfev <= named + 88 + 3 * d
        c, steps = again, steps + 1
    assert c.holds


def test_many_variables_are_not_decided_at_any_price():
    """Conditioned badly: as many products as are allowed, and then the price of all second differences."""
    d = 420
    scale = np.logspace(-3, 3, d)
    turn = random_rotation(d, np.random.default_rng(0))

    def fun(X):
        Y = X @ turn
        return np.einsum("ij,j,ij->i", Y, scale, Y) / 2

    c = certify(fun, np.zeros(d), gtol=1e-3, curvtol=1e-3, certificate_maxfev=20 * d, vectorized=True, rng=0)
    assert c.verdict == "undecided"
    assert c.nfev <= 20 * d + 60
    assert c.price is not None
    assert f"certificate_maxfev={c.price}" in c.remedy


@pytest.mark.parametrize("most", [0, -3, 1.5, True, "many"])
def test_certificate_maxfev_is_a_number_of_queries(most):
    for call in (certify, minimize):
        with pytest.raises(InvalidSetting, match="certificate_maxfev"):
            call(lambda x: float(x @ x), np.ones(2), certificate_maxfev=most)


def test_certificate_maxfev_of_a_run_caps_its_certificate():
    d = 30
    A = curved(d, np.random.default_rng(4), 1e-3)
    settings = {"gtol": 1e-6, "curvtol": 1e-5, "vectorized": True, "rng": 0}
    res = minimize(lambda X: np.einsum("ij,ij->i", X @ A, X) / 2, np.ones(d), certificate_maxfev=150, **settings)
    assert not res.success
    assert "certificate_maxfev=" in res.certificate.remedy
    assert minimize(lambda X: np.einsum("ij,ij->i", X @ A, X) / 2, np.ones(d), **settings).success


def test_a_finder_may_be_given_its_own_bound():
    A = curved(30, np.random.default_rng(5), 0.1)
    f = Oracle.of(lambda X: np.einsum("ij,ij->i", X @ A, X) / 2, vectorized=True)
    finding = Cheapest(delta=1e-3, certificate_maxfev=200)(f, np.zeros(30), np.random.default_rng(0))
    assert finding.price > 200
    assert f.ledger.queries <= 200 + 10  # the rows of this model cost a little more than their price
