"""Every problem of the registry keeps the promises of `Problem`."""

import pickle

import array_api_strict
import numpy as np
import pytest

from escapade.problems import REGISTRY, Octopus, Problem, Transformed, get, random_rotation

NAMES = sorted(REGISTRY)
ROUNDING = 1e-7  # zero curvatures of flat minima, after rounding


@pytest.fixture(params=NAMES)
def problem(request: pytest.FixtureRequest) -> Problem:
    return get(request.param)


def points(problem: Problem, count: int, spread: float = 0.1) -> np.ndarray:
    """Points about the start, whose neighbourhood is where each problem is meant to be used."""
    rng = np.random.default_rng(7)
    return problem.start + spread * rng.standard_normal((count, problem.d))


def central(function, x: np.ndarray, step: float) -> np.ndarray:
    """Fourth-order central differences of `function`, one row per variable."""
    steps = step * np.eye(x.size)
    near = np.array([function(x + s) - function(x - s) for s in steps])
    far = np.array([function(x + 2 * s) - function(x - 2 * s) for s in steps])
    return (8 * near - far) / (12 * step)


def test_gradient_is_the_derivative_of_the_value(problem):
    for x in points(problem, 3):
        np.testing.assert_allclose(problem.gradient(x), central(problem, x, 1e-3), rtol=1e-6, atol=1e-6)


def test_hessian_is_the_derivative_of_the_gradient(problem):
    for x in points(problem, 3):
        H = problem.hessian(x)
        np.testing.assert_allclose(H, central(problem.gradient, x, 1e-3), rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(H, H.T, atol=1e-12)


def test_rows_are_worked_out_one_by_one(problem):
    X = points(problem, 9)
    together = problem(X)
    assert together.shape == (9,)
    assert together.tolist() == [float(problem(x)) for x in X]
    assert together[3:5].tolist() == problem(X[3:5]).tolist()
    assert together.tolist() == problem(np.asfortranarray(X)).tolist()
    assert together[::2].tolist() == problem(X[::2]).tolist()


def test_a_point_gives_a_scalar(problem):
    assert np.ndim(problem(problem.start)) == 0
    assert isinstance(float(problem(problem.start)), float)


def test_saddles_are_strict(problem):
    for x in problem.saddles:
        assert x.shape == (problem.d,)
        assert np.linalg.norm(problem.gradient(x)) < 1e-10
        assert np.linalg.eigvalsh(problem.hessian(x))[0] < -0.1


def test_minima_are_minima(problem):
    for x in problem.minima:
        assert x.shape == (problem.d,)
        assert np.linalg.norm(problem.gradient(x)) < 1e-10
        assert np.linalg.eigvalsh(problem.hessian(x))[0] > -ROUNDING
        assert float(problem(x)) == pytest.approx(problem.minimum, abs=1e-6)
        near = problem(x + 1e-3 * np.random.default_rng(0).standard_normal((50, problem.d)))
        assert near.min() >= float(problem(x)) - 1e-12


def test_every_problem_but_least_squares_knows_its_saddles_and_minima(problem):
    known = problem.name != "nonlinear_least_squares"
    assert bool(problem.saddles) is known
    assert bool(problem.minima) is known
    assert (problem.minimum is not None) is known


def test_smoothness_constants_hold_near_the_critical_points(problem):
    for x in (*problem.saddles, *problem.minima):
        if problem.ell is not None:
            assert np.linalg.norm(problem.hessian(x), 2) <= problem.ell * (1 + 1e-12)
        if problem.rho is not None:
            y = x + 1e-4 * np.random.default_rng(1).standard_normal(x.size)
            change = np.linalg.norm(problem.hessian(x) - problem.hessian(y), 2)
            assert change <= problem.rho * np.linalg.norm(x - y) * 1.001 + 1e-12


def test_values_follow_the_array_api(problem):
    X = points(problem, 4)
    strict = problem(array_api_strict.asarray(X))
    assert array_api_strict.__name__ in type(strict).__module__
    assert strict.dtype == array_api_strict.float64
    np.testing.assert_allclose(np.asarray(strict), problem(X), rtol=1e-12, atol=1e-12)
    scalar = problem(array_api_strict.asarray(X[0]))
    assert scalar.shape == ()


def test_float32_stays_float32(problem):
    X = points(problem, 4)
    values = problem(X.astype(np.float32))
    assert values.dtype == np.float32
    assert problem(X[0].astype(np.float32)).dtype == np.float32
    scale = np.abs(problem(X)).max() + 1
    np.testing.assert_allclose(values, problem(X), atol=1e-4 * scale)
    strict = array_api_strict.asarray(X.astype(np.float32))
    assert problem(strict).dtype == array_api_strict.float32


def test_inputs_and_answers_are_private(problem):
    X = points(problem, 3)
    X.setflags(write=False)
    problem(X)
    problem.gradient(X[0])
    problem.hessian(X[0])
    first = problem.start
    first += 1.0
    assert not np.array_equal(problem.start, first)


def test_instances_are_frozen_reproducible_and_pickle(problem, request):
    X = points(problem, 3)
    copy = pickle.loads(pickle.dumps(problem))
    assert copy(X).tolist() == problem(X).tolist()
    with pytest.raises(AttributeError):
        problem.d = 3


def test_a_wrong_shape_is_refused(problem):
    with pytest.raises(ValueError, match="takes"):
        problem(np.zeros(problem.d + 1))
    with pytest.raises(ValueError, match="takes"):
        problem(np.zeros((1, 1, problem.d)))


def test_integers_are_read_as_floats():
    assert Octopus(d=3)(np.zeros(3, dtype=int)).dtype == np.float64


def test_get_names_the_choices():
    with pytest.raises(KeyError, match="octopus"):
        get("squid")


def test_transformed_twice_is_transformed_back(problem):
    rng = np.random.default_rng(3)
    Q, order, shift = (
        random_rotation(problem.d, rng),
        rng.permutation(problem.d),
        rng.standard_normal(problem.d),
    )
    scale, about = rng.uniform(0.5, 2, problem.d), rng.standard_normal(problem.d)
    seen = Transformed(
        problem=problem, rotation=Q, permutation=order, shift=shift, scale=scale, about=about, offset=2.0
    )
    x = points(problem, 1)[0]
    y = seen.inverse(x)
    z = about + Q @ (scale * (y - shift - about))[order]
    np.testing.assert_allclose(z, x, atol=1e-12)
    np.testing.assert_allclose(seen.forward(y), x, atol=1e-12)
    assert float(seen(y)) == pytest.approx(float(problem(x)) + 2, rel=1e-10)
    np.testing.assert_allclose(seen.gradient(y), central(seen, y, 1e-4), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(seen.hessian(y), central(seen.gradient, y, 1e-4), rtol=1e-5, atol=1e-4)
    for s in seen.saddles:
        assert np.linalg.norm(seen.gradient(s)) < 1e-10
        assert np.linalg.eigvalsh(seen.hessian(s))[0] < 0


def test_a_shift_alone_moves_the_critical_points():
    shift = np.arange(3.0)
    seen = Transformed(problem=Octopus(d=3), shift=shift, offset=1.0)
    np.testing.assert_array_equal(seen.saddles[0], shift)
    assert seen.minimum == Octopus(d=3).minimum + 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"rotation": np.ones((3, 3))},
        {"permutation": [0, 0, 1]},
        {"scale": 0.0},
        {"shift": [1.0]},
        {"about": [1.0]},
    ],
)
def test_transformed_refuses_what_is_no_change_of_variables(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Transformed(problem=Octopus(d=3), **wrong)


def test_random_rotation_is_orthogonal():
    Q = random_rotation(6, np.random.default_rng(0))
    np.testing.assert_allclose(Q @ Q.T, np.eye(6), atol=1e-14)
