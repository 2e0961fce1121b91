"""Facts about single families of problems."""

import io
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from escapade.problems import (
    LennardJones,
    LinearNetwork,
    MatrixFactorisation,
    NonlinearLeastSquares,
    OffAxis,
    OrthogonalTensor,
    PhaseRetrieval,
    load_libsvm,
)

W1A = Path(__file__).parents[4] / "shared" / "data" / "w1a"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("d", [2, 3, 20])
def test_off_axis_looks_like_a_minimum_along_every_coordinate(d, seed):
    problem = OffAxis(d=d, seed=seed)
    eigenvalues = np.linalg.eigvalsh(problem.A)
    assert np.diag(problem.A).min() > 0
    assert eigenvalues[0] == pytest.approx(-0.5)
    assert np.all((eigenvalues[1:] > 0.5 - 1e-12) & (eigenvalues[1:] < 3 + 1e-12))


def test_off_axis_can_be_moved():
    centre = np.arange(4.0)
    problem = OffAxis(d=4, seed=2, centre=centre, offset=7.0)
    np.testing.assert_array_equal(problem.saddles[0], centre)
    assert float(problem(centre)) == 7.0
    assert problem.minimum == pytest.approx(7 - 0.625)
    with pytest.raises(ValueError, match="centre"):
        OffAxis(d=4, centre=[1.0])


@pytest.mark.parametrize(("atoms", "span"), [(3, 1), (5, 1), (8, 1), (4, 2), (5, 2), (6, 2), (7, 2), (10, 2)])
def test_clusters_start_at_a_flat_saddle(atoms, span):
    problem = LennardJones(atoms=atoms, span=span)
    (saddle,) = problem.saddles
    assert np.all(saddle.reshape(atoms, 3)[:, span:] == 0)
    assert np.linalg.norm(problem.gradient(saddle)) < 1e-11
    curvatures, directions = np.linalg.eigh(problem.hessian(saddle))
    assert curvatures[0] < -0.1
    inside = directions[:, 0].reshape(atoms, 3)[:, :span]
    assert np.abs(inside).max() < 1e-6, "the way down leaves the line or plane"


@pytest.mark.parametrize("atoms", range(3, 8))
def test_small_clusters_reach_the_best_known_energy(atoms):
    problem = LennardJones(atoms=atoms)
    (minimum,) = problem.minima
    assert float(problem(minimum)) == pytest.approx(problem.minimum, abs=1e-6)
    assert np.sort(np.linalg.eigvalsh(problem.hessian(minimum)))[6] > 1


def test_larger_clusters_know_the_energy_alone():
    assert LennardJones(atoms=13).minima == ()
    assert LennardJones(atoms=13).minimum == pytest.approx(-44.326801)
    assert LennardJones(atoms=20).minimum is None


def test_linear_network_at_the_origin():
    two, three = LinearNetwork(widths=(3, 4, 2)), LinearNetwork(widths=(3, 4, 2, 2))
    np.testing.assert_array_equal(two.start, np.zeros(two.d))
    assert np.linalg.eigvalsh(two.hessian(two.start))[0] == pytest.approx(-2)
    assert not np.any(three.hessian(np.zeros(three.d)))


def test_matrix_factorisation_value_at_the_saddles():
    problem = MatrixFactorisation(n=6, rank=3)
    values = [float(problem(s)) for s in problem.saddles]
    assert values == pytest.approx([(9 + 4 + 1) / 4, (4 + 1) / 4, 1 / 4])


@pytest.mark.parametrize(
    ("build", "wrong"),
    [
        (OrthogonalTensor, {"d": 3, "kappa": 1.0}),
        (PhaseRetrieval, {"d": 3, "n": 0}),
        (LinearNetwork, {"widths": (3, 1, 3)}),
        (LinearNetwork, {"widths": (3, 3)}),
        (MatrixFactorisation, {"n": 2, "rank": 3}),
        (LennardJones, {"atoms": 5, "span": 3}),
        (LennardJones, {"atoms": 3, "span": 2}),
        (OffAxis, {"d": 1}),
        (OffAxis, {"d": 3, "low": -1.0}),
        (NonlinearLeastSquares, {"features": np.eye(2), "labels": np.array([-1, 1])}),
        (NonlinearLeastSquares, {"features": np.eye(2), "labels": np.array([1])}),
    ],
)
def test_parameters_are_checked(build, wrong):
    with pytest.raises(ValueError, match="must"):
        build(**wrong)


def test_least_squares_formula():
    rng = np.random.default_rng(0)
    features, labels, w = rng.standard_normal((9, 4)), rng.integers(0, 2, 9), rng.standard_normal(4)
    problem = NonlinearLeastSquares(features=features, labels=labels, lam=0.7, alpha=2.0)
    fit = np.mean((labels - 1 / (1 + np.exp(-features @ w))) ** 2)
    assert float(problem(w)) == pytest.approx(fit + np.sum(0.7 * w**2 / (1 + 2 * w**2)), rel=1e-14)


def test_least_squares_smoothness_constants_hold_everywhere():
    problem = NonlinearLeastSquares.synthetic(d=4, n=30)
    rng = np.random.default_rng(0)
    for x in 2 * rng.standard_normal((100, 4)):
        y = x + 1e-3 * rng.standard_normal(4)
        assert np.linalg.norm(problem.hessian(x), 2) <= problem.ell
        change = np.linalg.norm(problem.hessian(x) - problem.hessian(y), 2)
        assert change <= problem.rho * np.linalg.norm(x - y)


def test_libsvm_format(tmp_path):
    file = tmp_path / "small"
    file.write_text("+1 1:0.5 3:2 # a remark\n\n-1\n1 2:1e-3\n", encoding="ascii")
    features, labels = load_libsvm(file)
    np.testing.assert_array_equal(features.toarray(), [[0.5, 0, 2], [0, 0, 0], [0, 1e-3, 0]])
    np.testing.assert_array_equal(labels, [1, 0, 1])


@pytest.mark.parametrize(("text", "message"), [("1 2:x", "line 1"), ("1 3", "line 1"), ("1 0:1", "from 1")])
def test_libsvm_errors(tmp_path, text, message):
    (tmp_path / "broken").write_text(text, encoding="ascii")
    with pytest.raises(ValueError, match=message):
        load_libsvm(tmp_path / "broken")


def test_w1a_offline_says_what_to_do(tmp_path, monkeypatch):
    def offline(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(urllib.request, "urlopen", offline)
    with pytest.raises(FileNotFoundError, match="load_libsvm"):
        load_libsvm()


@pytest.mark.skipif(not W1A.is_file(), reason="the w1a file is not beside the repository")
class TestW1a:
    def test_facts(self):
        problem = NonlinearLeastSquares.w1a(W1A)
        assert (problem.n, problem.d) == (2477, 300)
        assert set(problem.labels) == {0.0, 1.0}
        origin = np.zeros(300)
        assert float(problem(origin)) == pytest.approx(0.25)
        assert np.linalg.norm(problem.gradient(origin)) == pytest.approx(0.275, abs=1e-3)
        curvatures = np.linalg.eigvalsh(problem.hessian(origin))
        assert curvatures[0] == pytest.approx(2.0, abs=0.01)
        assert curvatures[-1] == pytest.approx(2.311, abs=1e-3)

    def test_newton_reaches_the_minimum(self):
        problem, x = NonlinearLeastSquares.w1a(W1A), np.zeros(300)
        for _ in range(6):
            x = x - np.linalg.solve(problem.hessian(x), problem.gradient(x))
        assert float(problem(x)) == pytest.approx(0.2337528, abs=1e-7)
        assert np.linalg.eigvalsh(problem.hessian(x))[0] > 0

    def test_a_good_copy_in_the_cache_is_used(self, tmp_path, monkeypatch):
        (tmp_path / "escapade").mkdir()
        (tmp_path / "escapade" / "w1a").write_bytes(W1A.read_bytes())
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        features, _ = load_libsvm()
        assert features.shape == (2477, 300)

    def test_a_download_is_checked_and_kept(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: W1A.open("rb"))
        load_libsvm()
        assert [p.name for p in (tmp_path / "escapade").iterdir()] == ["w1a"]
        (tmp_path / "escapade" / "w1a").write_text("damaged", encoding="ascii")
        monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(b"something else"))
        with pytest.raises(FileNotFoundError, match="SHA-256"):
            load_libsvm()
