"""Bounds, equalities and invariances: f is never asked outside, and no claim is false."""

import contextlib

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, rosen, rosen_der

from escapade import Certificate, ask_tell, certify, minimize, multistart, problems, rigid_motions
from escapade.errors import InvalidSetting, NonFiniteValue, WrongGradient
from escapade.methods import PRESETS
from escapade.stopping import Stop

INF = float("inf")


def inside(fun, lower, upper):
    """The function, which fails outside of its box."""

    def checked(x):
        assert np.all((x >= lower) & (x <= upper)), f"asked at {x}"
        return fun(x)

    return checked


# The certificate

POINTS = {
    "a vertex": (lambda x: x[0] + 2 * x[1], [0, 0], [0, 0], [1, 1], "minimum", (0, 2, 0)),
    "an upper vertex": (lambda x: -x[0] - 2 * x[1], [1, 1], [0, 0], [1, 1], "minimum", (0, 2, 0)),
    "a weakly active variable": (lambda x: x[0] ** 2 + x[1], [0, 0], [0, 0], [1, 1], "minimum", (0, 1, 1)),
    "concave behind no slope": (lambda x: -(x[0] ** 2) + x[1], [0, 0], [0, 0], [1, 1], "saddle", (0, 1, 1)),
    "a cubic fall": (lambda x: -(x[0] ** 3) + x[1], [0, 0], [0, 0], [1, 1], "second-order", (0, 1, 1)),
    "copositive": (lambda x: x[0] * x[1], [0, 0], [0, 0], [1, 1], "undecided", (0, 0, 2)),
    "not copositive": (lambda x: -x[0] * x[1], [0, 0], [0, 0], [1, 1], "saddle", (0, 0, 2)),
    "a saddle on a face": (
        lambda x: x[0] ** 2 - x[1] ** 2 + x[2], [0, 0, 0], [-1, -1, 0], [1, 1, 1], "saddle", (2, 1, 0),
    ),
    "negative curvature behind a bound": (
        lambda x: x[0] ** 2 - x[1] ** 2 + x[1], [0, 0], [-1, 0], [1, 1], "minimum", (1, 1, 0),
    ),
    "a fixed variable": (lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [1, 0], [-5, 0], [5, 0], "minimum", (1, 0, 0)),
    "nothing to move": (lambda x: x[0] + x[1], [1, 0], [1, 0], [1, 0], "minimum", (0, 0, 0)),
    "a thin box": (
        lambda x: (x[0] - 5e-8) ** 2 * 1e14 + x[1] ** 2, [5e-8, 0], [0, -1], [1e-7, 1], "minimum", (2, 0, 0),
    ),
    "a wide box": (lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [1, 0], [-1e20] * 2, [1e20] * 2, "minimum", (2, 0, 0)),
    "off a bound by 1e-9": (lambda x: x[0] + x[1] ** 2, [1e-9, 0], [0, -1], [1, 1], "not stationary", (2, 0, 0)),
    "falling inward": (lambda x: -x[0] + x[1] ** 2, [0, 0], [0, -1], [1, 1], "not stationary", (1, 0, 1)),
    "curved down along both": (
        lambda x: -((x[0] - x[1]) ** 2) + 3 * (x[0] + x[1]) ** 2, [0, 0], [0, -1], [1, 1], "saddle", (1, 0, 1),
    ),
    "no value outside": (lambda x: np.sqrt(x[0]) + x[1] ** 2, [0, 0], [0, -1], [1, 1], "minimum", (1, 1, 0)),
    "near a bound": (
        lambda x: (x[0] - 1e-3) ** 2 + x[1] ** 2, [1e-3, 0], [0, -1], [1, 1], "minimum", (2, 0, 0),
    ),
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("scale", [None, 3.0])
def test_the_verdict_of_a_point_of_a_box(name, scale):
    fun, x, lower, upper, verdict, sets = POINTS[name]
    lower, upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
    asked = {"gtol": 1e-4, "bounds": Bounds(lower, upper), "rng": 0, "x_scale": scale}
    c = certify(inside(fun, lower, upper), np.array(x, dtype=float), **asked)
    assert c.verdict == verdict
    assert (len(c.active.free), len(c.active.strong), len(c.active.weak)) == sets
    if verdict == "saddle":  # feasible, and down
        t = 1e-3 * c.direction
        there = np.asarray(x) + t
        assert np.all(there >= lower)
        assert np.all(there <= upper)
        assert fun(there) < fun(np.asarray(x, dtype=float))
    assert Certificate.from_json(c.to_json()).active == c.active
    assert str(c.active) in str(c)
    for i in (*c.active.strong, *c.active.weak):
        end = "upper" if i in c.active.upper else "lower"
        assert x[i] == (upper if end == "upper" else lower)[i]
        assert f"x[{i}] = {x[i]:.6g} ({end}, " in str(c)


def test_multipliers_lie_in_their_intervals():
    g = np.array([0.5, -2.0, 3.0])
    c = certify(lambda x: float(g @ x + x @ x / 2), [0.0, 1.0, 0.0], bounds=[(0, 1), (0, 1), (0, 1)], gtol=1e-4, rng=0)
    slopes = {0: 0.5, 1: 1.0, 2: 3.0}  # inward
    assert c.verdict == "minimum"
    assert set(c.active.multipliers) == set(slopes)
    for i, held in c.active.multipliers.items():
        assert held.lower <= slopes[i] <= held.upper
        assert held.upper - held.lower < 1e-2


def test_a_vertex_costs_a_few_values_a_variable():
    for d in (10, 100):
        c = certify(lambda x: float(np.sum(x)), np.zeros(d), bounds=[(0, None)] * d, gtol=1e-4, rng=0)
        assert c.verdict == "minimum"
        assert c.nfev <= 2 * d + 50


def test_a_point_outside_is_refused():
    with pytest.raises(InvalidSetting, match=r"x\[1\] = 2.0 must lie within its bounds \[0.0, 1.0\]: pass np.clip"):
        certify(rosen, [0.0, 2.0], bounds=[(0, 1)] * 2)


def test_a_bound_that_is_all_but_reached_is_named():
    def fun(x):
        return float(x[0] + x[1] ** 2)

    x = np.array([1e-9, 0.0])
    c = certify(fun, x, bounds=[(0, 1), (-1, 1)], gtol=1e-4, rng=0)
    assert c.verdict == "not stationary"
    assert c.remedy.endswith("certify x with x[0] = 0")
    assert certify(fun, [0.0, 0.0], bounds=[(0, 1), (-1, 1)], gtol=1e-4, rng=0).verdict == "minimum"


def test_a_budget_that_ends_a_run_anywhere_leaves_its_best_point():
    for maxfev in (1, 3, 8, 20, 40, 60, 80):
        for tolerances in ({}, {"gtol": 1e-4}):
            asked = {"bounds": [(-2, 0.5), (-2, 2)], "rng": 0, "maxfev": maxfev, **tolerances}
            result = minimize(rosen, [-1.2, 1.0], **asked)
            assert result.nfev <= maxfev
            assert np.isfinite(result.fun)
            assert result.fun == rosen(result.x)


def test_roughness_on_the_way_from_a_bound_is_seen():
    def steps(x):
        return float(x[0] + x[1] ** 2 + 1e-3 * np.floor(300 * x[1]))

    c = certify(steps, [0.0, 0.0], bounds=[(0, 1), (0, 1)], gtol=1e-4, rng=0)
    assert not c.holds


@pytest.mark.parametrize("length", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
def test_ripples_near_a_bound_make_no_claim_false(length):
    """One hides negative curvature of a weakly active variable, the other that f falls from the bound at first."""

    def curved(x):
        return float(x[0] + x[1] ** 2 + 10 * length**2 * np.cos(x[1] / length))

    def sloping(x):
        return float(x[0] + x[1] ** 2 - 3 * length * np.sin(x[0] / length))

    for fun, x in ((curved, [0.0, 0.0]), (sloping, [0.0, 0.0]), (sloping, [0.0, 0.5])):
        seed = {"gtol": 1e-4, "rng": 0, "bounds": [(0, 1), (0, 1)]}
        assert not certify(lambda y, fun=fun, x=x: fun(y - [0, x[1]]), x, **seed).holds


def test_roots_at_a_bound_are_no_roughness():
    def roots(x):
        return float(np.sqrt(x[0]) + x[1] ** 1.5)

    c = certify(roots, [0.0, 0.0], bounds=[(0, 1), (0, 1)], gtol=1e-4, rng=0)
    assert 0 in c.active.strong
    assert certify(lambda x: float(np.sqrt(x[0])), [0.0], bounds=[(0, 1)], gtol=1e-4, rng=0).verdict == "minimum"


# Runs


@pytest.mark.parametrize("tolerances", [{}, {"gtol": 1e-4}])
def test_minima_inside_on_faces_and_at_vertices(tolerances):
    for bounds, least in (
        ([(-2, 0.5), (-2, 2)], 0.25), ([(-2, 2)] * 2, 0.0), ([(0, 2), (1.5, 1.5)], 0.0506), ([(2, 3)] * 2, 101.0 + 300),
    ):
        lower, upper = np.array(bounds, dtype=float).T
        result = minimize(inside(rosen, lower, upper), [-1.2, 1.0], bounds=bounds, rng=0, **tolerances)
        assert result.success
        if least < 100:
            assert result.fun <= least + 1e-3


def test_a_saddle_on_a_face_is_left():
    def fun(x):
        return float(x[0] ** 2 - x[1] ** 2 + x[1] ** 4 + x[2])

    result = minimize(fun, np.zeros(3), bounds=[(-1, 1), (-1, 1), (0, 1)], gtol=1e-4, rng=0)
    assert result.success
    assert result.fun < -0.2499
    assert result.n_escapes >= 1
    assert result.x[2] == 0.0


def test_a_start_outside_is_moved_and_said():
    result = minimize(lambda x: float(x @ x), [5.0, -1.0], bounds=[(0, 1), (0, 1)], rng=0)
    assert result.success
    assert np.array_equal(result.x, [0.0, 0.0])
    assert "x0 lay outside" in result.message
    assert "x0 lay outside" not in minimize(lambda x: float(x @ x), [0.5, 0.5], bounds=[(0, 1), (0, 1)], rng=0).message


def test_no_bounds_are_the_same_run_to_the_bit():
    plain = minimize(rosen, [-1.2, 1.0], rng=0)
    for bounds in ([(None, None)] * 2, Bounds(), [(-INF, INF)] * 2):
        other = minimize(rosen, [-1.2, 1.0], rng=0, bounds=bounds, constraints=(), invariances=None)
        assert other.to_json() == plain.to_json()


@pytest.mark.parametrize("method", sorted(set(PRESETS) - {"auto"}))
def test_methods_that_cannot_keep_to_bounds_refuse(method):
    with pytest.raises(InvalidSetting, match="cannot keep to bounds"):
        minimize(rosen, [0.5, 0.5], method=method, bounds=[(0, 1)] * 2)


def test_all_doors_keep_to_bounds():
    bounds = [(-2, 0.5), (-2, 2)]
    lower, upper = np.array(bounds, dtype=float).T
    alone = minimize(inside(rosen, lower, upper), [-1.2, 1.0], bounds=bounds, rng=np.random.default_rng(0).spawn(1)[0])
    many = multistart(inside(rosen, lower, upper), [[-1.2, 1.0], [0.0, 0.0]], bounds=bounds, rng=0)
    assert many.success
    assert np.array_equal(many.runs[0].x, alone.x)
    lab = ask_tell([-1.2, 1.0], bounds=bounds, rng=0)
    while not lab.done:
        X = lab.ask()
        assert np.all(lower <= X)
        assert np.all(upper >= X)
        lab.tell([rosen(x) for x in X])
    assert lab.result().success


def test_a_run_in_a_box_keeps_its_journal(tmp_path):
    box = [(-2, 0.5), (-2, 2)]

    def run(maxfev):
        return minimize(rosen, [-1.2, 1.0], bounds=box, rng=0, journal=tmp_path / "a.db", maxfev=maxfev)

    cut, whole = run(60), run(None)
    assert cut.stop is Stop.BUDGET
    assert cut.nfev <= 60
    assert whole.success
    assert whole.x.tolist() == minimize(rosen, [-1.2, 1.0], bounds=[(-2, 0.5), (-2, 2)], rng=0).x.tolist()


@pytest.mark.parametrize("seed", range(12))
def test_random_boxes_noise_and_missing_values(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    width = 10.0 ** rng.uniform(-7, 20, d) * (rng.random(d) < 0.8)
    lower = np.where(rng.random(d) < 0.5, rng.standard_normal(d), 0.0)
    upper = lower + width
    lower, upper = np.where(rng.random(d) < 0.2, -INF, lower), np.where(rng.random(d) < 0.2, INF, upper)
    centre, level = rng.standard_normal(d), float(rng.choice([0.0, 1e-6, 1e-2]))

    def fun(x):
        if rng.random() < 0.02:
            return np.nan
        return float(np.sum((x - centre) ** 2) + level * rng.standard_normal())

    x0 = np.clip(rng.standard_normal(d), lower, upper)
    for call in (minimize, certify):
        with contextlib.suppress(NonFiniteValue):  # at x0
            call(inside(fun, lower, upper), x0, bounds=Bounds(lower, upper), rng=seed, maxfev=300)


@pytest.mark.parametrize("tolerances", [{}, {"gtol": 1e-4}, {"x_scale": 2.0}])
@pytest.mark.parametrize(
    "bounds", [[(-2, 0.5), (-2, 2)], [(-2, 2)] * 2, [(0, 2), (1.5, 1.5)], [(2, 3)] * 2, [(-1e-6, 1e-6), (0.5, None)]]
)
def test_gradients_are_used_in_a_box_and_never_asked_outside(bounds, tolerances):
    lower = np.array([-INF if low is None else low for low, _ in bounds])
    upper = np.array([INF if high is None else high for _, high in bounds])
    told = {"bounds": bounds, "rng": 0, **tolerances}
    plain = minimize(rosen, [-1.2, 1.0], **told)
    result = minimize(inside(rosen, lower, upper), [-1.2, 1.0], jac=inside(rosen_der, lower, upper), **told)
    assert plain.success
    assert result.success
    assert result.fun == pytest.approx(plain.fun, rel=1e-6, abs=1e-9)
    assert result.certificate.active.strong == plain.certificate.active.strong
    assert result.njev > 0
    assert result.nfev < plain.nfev
    seen = certify(inside(rosen, lower, upper), result.x, jac=inside(rosen_der, lower, upper), **told)
    assert seen.holds


def test_many_variables_in_a_box_cost_a_gradient_a_step():
    d = 40
    bounds = [(-2, 0.5)] * 10 + [(None, None)] * (d - 10)
    result = minimize(rosen, np.linspace(-1, 1, d), jac=rosen_der, bounds=bounds, rng=0)
    assert result.success
    assert result.nfev + 4 * result.njev < 60 * d
    assert result.certificate.njev > 0


@pytest.mark.parametrize("bounds", [[(0, 1)] * 2, [(0, 0.5), (0, 0)], [(0, 1e-3), (-1, 1)], [(None, 0)] * 2])
def test_a_wrong_gradient_is_refused_at_a_bound(bounds):
    for call in (minimize, certify):
        with pytest.raises(WrongGradient, match=r"coordinate 0 .* Correct jac\[0\]"):
            call(rosen, [0.0, 0.0], jac=lambda x: rosen_der(x) * [1.1, 1], bounds=bounds, rng=0)


def test_gradients_in_a_box_with_a_journal_are_the_same(tmp_path):
    told = {"bounds": [(-2, 0.5), (-2, 2)], "jac": rosen_der, "rng": 0}
    alone = minimize(rosen, [-1.2, 1.0], **told)
    kept = minimize(rosen, [-1.2, 1.0], **told, journal=tmp_path / "a.db")
    again = minimize(rosen, [-1.2, 1.0], **told, journal=tmp_path / "a.db")
    assert alone.x.tobytes() == kept.x.tobytes() == again.x.tobytes()
    assert alone.njev == kept.njev == again.njev


def test_gradients_are_not_used_under_equalities_and_that_is_said():
    plane = LinearConstraint([[1, 1]], 0, 0)
    for call in (minimize, certify):
        with pytest.warns(RuntimeWarning, match="equalities .* does not use jac"):
            call(lambda x: float(x @ x), [0.0, 0.0], jac=lambda x: 2 * x, constraints=plane, rng=0)


# Equalities


def test_equalities():
    plane = LinearConstraint([[1, 1]], 2, 2)
    assert certify(lambda x: x[0] * x[1], [1.0, 1.0], constraints=plane, rng=0).verdict == "saddle"
    result = minimize(lambda x: float((x[0] - 1) ** 2 + 2 * (x[1] - 5) ** 2), [3.0, 3.0], constraints=plane, rng=0)
    assert result.success
    assert result.certificate.verdict == "minimum"
    np.testing.assert_allclose(result.x, [-5 / 3, 11 / 3], atol=1e-6)
    np.testing.assert_allclose(np.sum(result.x), 2.0, rtol=1e-14)
    both = minimize(
        lambda x: float((x[0] - 1) ** 2 + 2 * (x[1] - 5) ** 2 + (x[2] - 3) ** 2), [3.0, 3.0, 1.0], rng=0,
        constraints=LinearConstraint([[1, 1, 0]], 2, 2), bounds=[(None, None), (None, None), (0, 2)],
    )
    assert both.success
    assert both.x[2] == 2.0
    assert both.certificate.active.strong == (2,)


# Invariances


def icosahedron():
    golden = (1 + 5**0.5) / 2
    atoms = [[0.0, 0.0, 0.0]]
    for a in (-1, 1):
        for b in (-golden, golden):
            atoms += [[0, a, b], [a, b, 0], [b, 0, a]]
    positions = np.array(atoms) * 1.08 / np.hypot(1, golden)
    cluster = problems.LennardJones(atoms=13)
    return cluster, cluster.relax(positions.ravel())


def test_a_cluster_at_its_minimum_is_one():
    cluster, x = icosahedron()
    c = certify(cluster, x, invariances=rigid_motions(13), gtol=1e-4, rng=0)
    assert c.verdict == "minimum"
    assert c.invariant == 6
    assert c.nfev <= 3 * 39 * 40 / 2
    assert certify(cluster, x, gtol=1e-4, rng=0).verdict == "second-order"


def test_with_gradients_that_takes_a_tenth_of_the_values():
    cluster, x = icosahedron()
    told = {"invariances": rigid_motions(13), "jac": cluster.gradient, "rng": 0}
    for tolerances in ({}, {"gtol": 1e-4}):
        c = certify(cluster, x, **told, **tolerances)
        assert c.verdict == "minimum"
        assert c.invariant == 6
        assert c.nfev <= 200
        assert c.njev <= 100
    start = x + 0.1 * np.random.default_rng(0).standard_normal(39)
    result = minimize(cluster, start, **told)
    assert result.certificate.verdict == "minimum"
    assert result.nfev + 4 * result.njev < 1500


WRONG = {
    "a slope": (lambda x: 1e-3 * x[0] + x[1] ** 2, [[1.0, 0.0]]),
    "a curvature": (lambda x: -1e-2 * x[0] ** 2 + x[1] ** 2, [[1.0, 0.0]]),
    "a third power": (lambda x: x[0] ** 3 + x[1] ** 2, [[1.0, 0.0]]),
    "a coupling": (lambda x: x[0] * x[1] + x[1] ** 2, [[1.0, 0.0]]),  # f(t, 0) is 0 for all t
    "a small coupling": (lambda x: 1e-4 * x[0] * x[1] + 1e-6 * x[1] ** 2, [[1.0, 0.0]]),
    "one of two": (lambda x: (x[0] - x[1]) ** 2 - 0.1 * x[1] ** 2, [[1.0, 1.0], [0.0, 1.0]]),
    "a turn of what does not turn": (lambda x: x[0] ** 2 - x[1] ** 2, lambda x: [[-x[1], x[0]]]),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("seed", range(5))
def test_directions_along_which_f_changes_hide_no_mode(name, seed):
    fun, directions = WRONG[name]
    for x in ([0.0, 0.0], [1e-7, -1e-7]):
        c = certify(fun, x, invariances=directions, gtol=1e-4, curvtol=1e-5, rng=seed)
        assert not c.holds


def test_invariances_that_hold_are_left_out():
    def ring(x):  # minima on a circle
        return float((x[0] ** 2 + x[1] ** 2 - 1) ** 2 + x[2] ** 2)

    def turns(x):
        return [[-x[1], x[0], 0.0]]

    assert certify(ring, [0.6, 0.8, 0.0], gtol=1e-4, rng=0).verdict == "second-order"
    assert certify(ring, [0.6, 0.8, 0.0], invariances=turns, gtol=1e-4, rng=0).verdict == "minimum"
    result = minimize(ring, [2.0, 0.3, 1.0], invariances=turns, rng=0)
    assert result.success
    assert result.certificate.verdict == "minimum"
    assert result.certificate.invariant == 1


def test_noise_that_hides_a_coupling_leaves_it_undecided():
    rng = np.random.default_rng(0)
    c = certify(
        lambda x: float(x[1] ** 2 + 1e-2 * rng.standard_normal()), [0.0, 0.0], invariances=[[1.0, 0.0]], noise=1e-2,
        gtol=0.5, curvtol=0.5, rng=0,
    )
    assert not c.holds


# Prices, and units in the user's variables


def test_a_weakly_active_vertex_costs_no_more_than_its_cap():
    """All second differences of 500 variables would cost 250,000 values, more than 400 (d + 1)."""

    def fun(x):
        return float(x @ x + 0.01 * np.sum(x) ** 2)

    d = 500
    box = {"bounds": [(0, None)] * d, "gtol": 1e-4, "rng": 0}
    c = certify(fun, np.zeros(d), **box)
    assert c.verdict == "undecided"
    assert c.nfev <= 400 * (d + 1)
    assert f"certificate_maxfev={c.price}" in c.remedy
    small = {"bounds": [(0, None)] * 6, "gtol": 1e-4, "rng": 0}
    cut = certify(fun, np.zeros(6), **small, certificate_maxfev=30)
    assert cut.verdict == "undecided"
    more = certify(fun, np.zeros(6), **small, certificate_maxfev=cut.price)
    assert more.verdict == "minimum"
    assert more.nfev <= cut.price


def far(x):
    return float((x[0] - 1) ** 2 + (x[1] / 2e3 - 1) ** 2 + (x[2] - 0.5) ** 2)


@pytest.mark.parametrize(
    "geometry",
    [
        {"bounds": [(None, None), (None, None), (0.5, 0.5)]},
        {"bounds": [(None, None), (0, 1e3), (0.5, 0.5)]},
        {"constraints": LinearConstraint([[1, 0, 1]], 1.5, 1.5)},
        {"bounds": [(None, None), (0, 1e3), (None, None)], "constraints": LinearConstraint([[1, 0, 1]], 1.5, 1.5)},
    ],
)
def test_lengths_are_those_of_all_variables(geometry):
    """So that they can be given again as x_scale, with the same claim."""
    result = minimize(far, [0.9, 900.0, 0.6], rng=0, **geometry)
    c = result.certificate
    assert c.verdict == "minimum"
    assert c.units.lengths.shape == (3,)
    again = certify(
        far, result.x, rng=0, **geometry, x_scale=c.units.lengths, gtol=c.gtol, curvtol=c.curvtol
    )
    assert again.verdict == "minimum"
    assert again.curvature.lower <= c.curvature.upper * 1.01
    assert again.curvature.upper >= c.curvature.lower * 0.99


def test_joint_variables_have_one_length():
    """Of two that stand in an equality only combinations move, and norms in x / lengths are those of the certificate
    only if their lengths are the same."""
    plane = LinearConstraint([[1, 1, 0]], 2, 2)
    c = certify(lambda x: float(x[0] ** 2 + x[1] ** 2 + 1e-6 * x[2] ** 2), [1.0, 1.0, 0.0], constraints=plane, rng=0)
    assert c.units.lengths[0] == c.units.lengths[1]


def test_starts_are_drawn_within_the_bounds():
    box = [(-3, 3), (0, 1)]

    def fun(x):
        assert -3 <= x[0] <= 3
        assert 0 <= x[1] <= 1
        return float(np.cos(3 * x[0]) + 0.1 * x[0] ** 2 + (x[1] - 2) ** 2)

    found = multistart(fun, n=8, bounds=box, rng=0)
    assert len(found.runs) == 8
    assert found.success
    assert found.x[1] == 1.0
    with pytest.raises(InvalidSetting, match=r"bounds= must be a box with finite ends.*pass starts=, or .*within="):
        multistart(fun, n=8, bounds=[(-3, 3), (0, None)], rng=0)
    assert len(multistart(rosen, n=2, within=box, bounds=[(-3, 3), (0, None)], rng=0, maxfev=30).runs) == 2
    assert len(multistart(fun, [[0.0, 0.0]], bounds=box, rng=0, maxfev=30).runs) == 1
