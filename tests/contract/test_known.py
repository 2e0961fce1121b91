"""Values already paid for are never asked again; and runs without a certificate say so."""

import numpy as np
import pytest

import escapade
from escapade.errors import InvalidSetting
from escapade.methods import Auto
from escapade.problems import Octopus
from escapade.stopping import Stop

X0 = np.tile([-1.2, 1.0], 3)
GIVEN = {"gtol": 1e-5, "curvtol": 1e-3, "rng": 0}


class Recorded:
    def __init__(self):
        self.points, self.values = [], []

    def __call__(self, x):
        self.points.append(x.copy())
        self.values.append(float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)))
        return self.values[-1]

    @property
    def pairs(self):
        return np.array(self.points), np.array(self.values)


def test_what_a_run_paid_for_is_not_asked_again():
    first, again = Recorded(), Recorded()
    a = escapade.minimize(first, X0, **GIVEN)
    X, f = first.pairs
    keep = f >= f[0]  # none is a better start: the same run again
    b = escapade.minimize(again, X0, known=(X[keep], f[keep]), **GIVEN)
    np.testing.assert_array_equal(a.x, b.x)
    assert a.certificate.verdict == b.certificate.verdict
    assert b.nknown >= keep.sum()
    assert b.nfev == len(again.points) == a.nfev - b.nknown
    asked = {x.tobytes() for x in again.points}
    assert not asked & {x.tobytes() for x in X[keep]}


def test_certify_takes_known_values_and_a_result():
    first, again = Recorded(), Recorded()
    r = escapade.minimize(first, X0, **GIVEN)
    a = escapade.certify(first, r.x, **GIVEN)
    X, f = (part[-a.nfev :] for part in first.pairs)
    b = escapade.certify(again, r.x, known=(X, f), **GIVEN)
    assert (b.verdict, b.nfev, b.nknown, again.points) == (a.verdict, 0, a.nfev, [])
    c = escapade.certify(again, r.x, known=r, **GIVEN)
    assert c.verdict == a.verdict
    assert 1 <= c.nknown == a.nfev - c.nfev


def test_the_best_known_point_competes_with_the_start():
    fun = Recorded()
    best = np.full(6, 0.9)
    X = np.stack([np.zeros(6), best, X0])
    f = np.array([fun(x) for x in X])
    again = Recorded()
    r = escapade.minimize(again, X0, known=(X, f), **GIVEN)
    assert r.success
    assert r.nfev == len(again.points)
    assert r.nknown >= 2  # f(x0), and f at the best
    assert r.history[0].fun < f[1]
    assert not {x.tobytes() for x in again.points} & {x.tobytes() for x in X}
    stopped = escapade.minimize(again, X0, known=(X, f), maxfev=0, **GIVEN)
    np.testing.assert_array_equal(stopped.x, best)
    assert (stopped.fun, stopped.success) == (f[1], False)


def test_a_result_goes_on_where_it_was():
    fun = Recorded()
    cut = escapade.minimize(fun, X0, maxfev=60, **GIVEN)
    r = escapade.minimize(fun, X0, known=cut, **GIVEN)
    whole = escapade.minimize(fun, X0, **GIVEN)
    assert r.success
    assert r.nknown >= 1
    assert r.nfev + cut.nfev <= 1.5 * whole.nfev


def test_known_values_in_other_units_with_gradients_and_in_a_journal(tmp_path):
    fun, s = Recorded(), np.full(6, 3.0)

    def jac(x):
        g = np.zeros_like(x)
        g[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
        g[1:] += 200 * (x[1:] - x[:-1] ** 2)
        return g

    for options in ({"x_scale": 2.0}, {"jac": jac}, {"journal": tmp_path / "run.db"}):
        r = escapade.minimize(fun, X0, known=(X0[None, :], [fun(X0)]), **options, **GIVEN)
        assert r.success
        assert r.nknown >= 1
    assert escapade.minimize(lambda x: fun(x / s), X0 * s, known=(X0[None, :] * s, [fun(X0)]), rng=0).nknown >= 1


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ((np.zeros((2, 6)), [1.0]), "their shapes are"),
        ((np.zeros((2, 5)), [1.0, 2.0]), "a row of 6"),
        ((np.zeros((2, 6)), [1.0, np.nan]), "row 1 or its value is not finite"),
        (([["a"] * 6], [1.0]), "a row of 6"),
        (3.0, "previous result"),
    ],
)
def test_what_is_no_known_pair_is_refused(known, words):
    for call in (escapade.minimize, escapade.certify):
        with pytest.raises(InvalidSetting, match=words):
            call(Recorded(), X0, known=known)


# Without a certificate


@pytest.mark.parametrize("name", ["auto", "zo-gd-ncf", "escaping-powell"])
def test_without_a_certificate_nothing_is_said_to_be_shown(name):
    problem = Octopus(d=4)
    options = {"method": name, "gtol": 1e-4, "rng": 0, "maxfev": 6000}
    r = escapade.minimize(problem, problem.start, certificate="none", **options)
    assert (r.stop, r.success, r.certificate) == (Stop.UNCERTIFIED, False, None)
    assert "no certificate was asked for" in r.message
    assert "certificate" not in r.nfev_by_purpose
    full = escapade.minimize(problem, problem.start, **options)
    assert r.nfev < full.nfev
    assert r.fun <= full.fun + 1e-3 * abs(full.fun)


def test_nothing_is_kept_for_a_certificate_that_nobody_asks_for():
    problem = Octopus(d=10)
    r = escapade.minimize(problem, problem.start, method="zo-two-point", certificate="none", maxfev=300, rng=0)
    assert (r.stop, r.nfev) == (Stop.BUDGET, 300) or r.nfev > 290
    r = escapade.minimize(
        problem, problem.start, method=Auto(epsilon=1e-4, delta=1e-2), certificate="none", prefer="queries", rng=0
    )
    assert r.stop is Stop.UNCERTIFIED
    r = escapade.minimize(problem, problem.start, certificate="none", prefer="rounds", rng=0)
    assert r.stop is Stop.UNCERTIFIED
    with pytest.raises(InvalidSetting, match="leave it out"):
        escapade.minimize(problem, problem.start, certificate="none", bounds=[(-9, 9)] * 10)
    with pytest.raises(InvalidSetting, match="'full' or 'none'"):
        escapade.minimize(problem, problem.start, certificate="some")
