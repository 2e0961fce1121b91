"""The doors into other tools, against the real packages."""

import warnings

import numpy as np
import pytest

import escapade

# optimagic


@pytest.fixture
def optimagic():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it says on its import
        return pytest.importorskip("optimagic")


def bowl(p):
    return (p["a"] ** 2 - 1) ** 2 + float(np.sum((p["b"] - 2) ** 2))


def test_optimagic_leaves_a_saddle_and_hands_out_the_certificate(optimagic):
    from escapade.integrations.optimagic import Escapade

    start = {"a": 0.0, "b": np.full(3, 2.0)}
    result = optimagic.minimize(bowl, start, algorithm=Escapade(seed=0))
    assert result.success
    assert abs(result.params["a"]) == pytest.approx(1, abs=1e-5)
    assert result.params["b"] == pytest.approx(2, abs=1e-5)
    assert result.algorithm_output["certificate"]["verdict"] == "minimum"
    assert result.message == "A minimum was certified."
    assert result.n_fun_evals > 50


def test_optimagic_options_bounds_and_batches(optimagic):
    from escapade.integrations.optimagic import Escapade

    start = {"a": 0.5, "b": np.zeros(3)}
    cut = optimagic.minimize(bowl, start, algorithm=Escapade, algo_options={"stopping_maxfun": 20, "seed": 0})
    assert not cut.success
    assert cut.n_fun_evals <= 20
    seen = []

    def noted(p):
        seen.append(p["b"].max())
        return bowl(p)

    within = optimagic.Bounds(upper={"a": 10.0, "b": np.ones(3)})
    bounded = optimagic.minimize(noted, start, algorithm=Escapade(seed=0), bounds=within)
    assert bounded.params["b"] == pytest.approx(1)
    assert max(seen) <= 1
    assert bounded.success
    slope = {"a": lambda p: 4 * p["a"] * (p["a"] ** 2 - 1)}
    tight = optimagic.minimize(
        bowl, start, jac=lambda p: {"a": slope["a"](p), "b": 2 * (p["b"] - 2)},
        algorithm=Escapade(seed=0, use_gradient=True, convergence_gtol_abs=1e-6, convergence_curvtol_abs=1e-3),
    )  # fmt: skip
    assert tight.success
    assert tight.algorithm_output["certificate"]["gtol"] == 1e-6


# ASE


@pytest.fixture
def hexagon():
    """Seven atoms of copper: a hexagon and its centre, at rest in their plane, a saddle."""
    ase = pytest.importorskip("ase")
    from ase.calculators.emt import EMT
    from ase.optimize import BFGS

    angles = np.arange(6) * np.pi / 3
    ring = 2.5 * np.stack([np.cos(angles), np.sin(angles), np.zeros(6)], axis=1)
    atoms = ase.Atoms("Cu7", positions=np.concatenate([np.zeros((1, 3)), ring]))
    atoms.calc = EMT()
    assert BFGS(atoms, logfile=None).run(fmax=1e-4)  # "converged"
    return atoms


def test_a_cluster_leaves_its_saddle_and_is_certified_a_minimum(hexagon):
    from escapade.integrations.ase import Escapade, certify_atoms

    flat = hexagon.get_potential_energy()
    before = certify_atoms(hexagon, fmax=1e-3, rng=0)
    assert before.verdict == "saddle"
    assert np.linalg.norm(before.direction) == pytest.approx(1)
    assert np.abs(before.direction.reshape(7, 3)[:, 2]).max() > 0.1  # out of the plane
    optimizer = Escapade(hexagon, logfile=None, options={"rng": 0})
    assert optimizer.run(fmax=1e-4)
    assert optimizer.result.certificate.verdict == "minimum"
    assert optimizer.result.message.startswith("A minimum was certified.")
    assert optimizer.force_calls > 10
    assert hexagon.get_potential_energy() < flat - 0.5
    assert hexagon.get_potential_energy() == pytest.approx(optimizer.result.fun)
    assert np.linalg.norm(hexagon.get_forces()) <= 1e-4
    after = certify_atoms(hexagon, fmax=1e-4, rng=1)
    assert after.verdict == "minimum"
    assert after.curvature.lower > 0.1
    assert np.allclose(after.x, hexagon.positions.ravel())


def test_energies_alone_and_the_log(hexagon, tmp_path):
    from escapade.integrations.ase import certify_atoms

    seen = certify_atoms(hexagon, fmax=1e-3, forces=False, rng=0)
    assert seen.verdict == "saddle"
    assert seen.nfev > certify_atoms(hexagon, fmax=1e-3, rng=0).nfev


def test_what_is_left_out_of_the_curvature(hexagon):
    from ase.constraints import FixAtoms, FixBondLength

    from escapade.errors import InvalidSetting
    from escapade.integrations.ase import Escapade, Plane, motions_of

    x = hexagon.positions.ravel()
    assert Plane.across(motions_of(hexagon), x).Q.shape == (21, 15)
    hexagon.pbc = True
    assert Plane.across(motions_of(hexagon), x).Q.shape == (21, 18)
    hexagon.pbc = False
    hexagon.set_constraint(FixAtoms([0, 1]))
    assert Plane.across(motions_of(hexagon), x).Q.shape == (21, 15)
    held = hexagon.positions[:2].copy()
    Escapade(hexagon, logfile=None, options={"rng": 0, "maxfev": 100}).run(fmax=1e-2)
    assert np.array_equal(hexagon.positions[:2], held)
    hexagon.set_constraint(FixBondLength(0, 1))
    with pytest.raises(InvalidSetting, match="only FixAtoms"):
        motions_of(hexagon)


def test_the_log_is_ases(hexagon, tmp_path):
    from escapade.integrations.ase import Escapade

    log = tmp_path / "opt.log"
    optimizer = Escapade(hexagon, logfile=str(log), trajectory=str(tmp_path / "opt.traj"), options={"rng": 0})
    optimizer.run(fmax=0.05, steps=3)
    lines = log.read_text().splitlines()
    assert sum(line.startswith("Escapade:") for line in lines) >= 2
    assert optimizer.result.nit <= 3
    assert isinstance(optimizer.result, escapade.Result)
