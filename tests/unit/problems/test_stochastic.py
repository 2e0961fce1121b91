"""Problems that are means of components."""

import array_api_strict
import numpy as np
import pytest

from escapade.problems import Cubic, NonlinearLeastSquares, StochasticCubic, StreamCubic
from escapade.problems.hashing import uniforms

X = 0.5 * np.random.default_rng(0).standard_normal((5, 10))
PROBLEMS = [
    StochasticCubic(d=10, n=64, seed=3),
    StochasticCubic(d=10, n=63, seed=3, antithetic=False),
    StreamCubic(d=10, seed=3),
    NonlinearLeastSquares.synthetic(d=10, n=64),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.name}")
class TestSamples:
    def test_a_sample_is_the_mean_of_its_components(self, problem):
        ids = np.random.default_rng(1).integers(0, 60, 17)
        components = problem.component_values(X, ids)
        assert components.shape == (5, 17)
        np.testing.assert_allclose(problem.sample_value(X, ids), components.mean(axis=1), rtol=1e-12)
        for k, i in enumerate(ids[:3]):
            np.testing.assert_allclose(problem.sample_value(X, np.array([i])), components[:, k], rtol=1e-12)

    @pytest.mark.parametrize("b", [1, 3])
    def test_ids_of_their_own_for_every_row(self, problem, b):
        ids = np.random.default_rng(1).integers(0, 60, (5, b))
        expected = [problem.sample_value(x, own) for x, own in zip(X, ids, strict=True)]
        np.testing.assert_allclose(problem.sample_value(X, ids), expected, rtol=1e-12)
        strict = problem.sample_value(array_api_strict.asarray(X), ids)
        np.testing.assert_allclose(np.asarray(strict), expected, rtol=1e-12)
        assert problem.sample_value(X.astype(np.float32), ids).dtype == np.float32

    def test_one_point_or_many(self, problem):
        ids = np.array([4, 4, 9])
        together = problem.sample_value(X, ids)
        assert together.tolist() == [float(problem.sample_value(x, ids)) for x in X]
        assert np.ndim(problem.sample_value(X[0], ids)) == 0
        assert problem.component_values(X[0], ids).shape == (3,)

    def test_array_api_and_float32(self, problem):
        ids = np.array([0, 5])
        strict = problem.sample_value(array_api_strict.asarray(X), ids)
        np.testing.assert_allclose(np.asarray(strict), problem.sample_value(X, ids), rtol=1e-12)
        assert problem.sample_value(X.astype(np.float32), ids).dtype == np.float32
        assert problem.component_values(X.astype(np.float32), ids).dtype == np.float32

    @pytest.mark.parametrize("ids", [np.array([], dtype=int), np.array([0.5]), np.array([[1]])])
    def test_ids_are_checked(self, problem, ids):
        with pytest.raises(ValueError, match="integer"):
            problem.sample_value(X, ids)


@pytest.mark.parametrize("n", [2, 64, 1000])
def test_antithetic_mean_is_exactly_the_cubic(n):
    problem = StochasticCubic(d=10, n=n, seed=3)
    everything = np.arange(n)
    assert problem(X).tolist() == Cubic(d=10, seed=3)(X).tolist()
    assert problem.sample_value(X, everything).tolist() == problem(X).tolist()
    assert np.all(problem.gradient(np.zeros(10)) == 0)
    np.testing.assert_allclose(problem.component_values(X, everything).mean(axis=1), problem(X), rtol=1e-12)


def test_mean_of_independent_components():
    problem = PROBLEMS[1]
    np.testing.assert_allclose(problem.component_values(X, np.arange(63)).mean(axis=1), problem(X), rtol=1e-12)
    assert problem.saddles == problem.minima == ()
    x, steps = X[0], 1e-5 * np.eye(10)
    slope = [float(problem(x + s) - problem(x - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(problem.gradient(x), slope, atol=1e-8)


def test_least_squares_mean():
    problem = PROBLEMS[3]
    np.testing.assert_allclose(problem.sample_value(X, np.arange(64)), problem(X), rtol=1e-12)


@pytest.mark.parametrize("problem", [PROBLEMS[0], PROBLEMS[3]], ids=lambda p: p.name)
@pytest.mark.parametrize("wrong", [-1, 64])
def test_ids_outside_a_finite_sum_are_refused(problem, wrong):
    with pytest.raises(ValueError, match="n=64"):
        problem.sample_value(X, np.array([0, wrong]))


def test_pairs_need_an_even_number():
    with pytest.raises(ValueError, match="even"):
        StochasticCubic(d=3, n=5)


def test_stream_components_depend_on_the_id_and_seed_alone():
    stream = StreamCubic(d=10, seed=3)
    ids = np.array([5, 2**63 + 10, 2**64 - 1], dtype=np.uint64)
    together = np.hstack(stream._noise(ids))
    np.testing.assert_array_equal(together, [np.hstack(stream._noise(ids[k : k + 1]))[0] for k in range(3)])
    assert not np.allclose(StreamCubic(d=10, seed=4).component_values(X, ids), stream.component_values(X, ids))


def test_stream_pairs_cancel_exactly():
    stream = StreamCubic(d=10, seed=3)
    assert stream.sample_value(X, np.arange(128)).tolist() == stream(X).tolist()


def test_stream_noise_has_the_stated_law():
    noise = 2 * uniforms(np.arange(20_000), 6, seed=0) - 1
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(noise.T @ noise / 20_000, np.eye(6) / 3, atol=0.02)
    assert noise.min() >= -1
    assert noise.max() < 1
    neighbours = (noise[1:] * noise[:-1]).mean(axis=0)
    np.testing.assert_allclose(neighbours, 0, atol=0.02)
    xi, linear = StreamCubic(d=10)._noise(np.arange(1000))
    assert 0.099 < np.abs(xi).max() <= 0.1
    assert 0.99 < np.abs(linear).max() <= 1


def test_cubic_follows_the_paper():
    cubic = Cubic(d=100, seed=1)
    assert np.sum(cubic.diagonal == -1) == 10
    rest = cubic.diagonal[cubic.diagonal != -1]
    assert rest.min() >= 1
    assert rest.max() <= 2
    assert cubic.minimum == pytest.approx(-2 / 3)
    assert cubic.rho == 1
