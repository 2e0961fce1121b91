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
    assert after.holds
    assert after.curvature.lower > 0
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


# Qiskit, PennyLane, statsmodels, OptiProfiler


def saddle(x):
    return float((x[0] ** 2 - 1) ** 2 + np.sum(np.asarray(x[1:]) ** 2))


def test_a_minimizer_in_qiskits_form():
    """Its protocol: fun, x0, jac, bounds, and a result with x, fun and nfev."""
    from escapade.integrations.qiskit import minimizer

    run = minimizer(rng=0)
    free = run(saddle, np.zeros(3), None, [(None, None)] * 3)
    assert free.success
    assert abs(free.x[0]) == pytest.approx(1, abs=1e-5)
    held = run(saddle, np.zeros(3), bounds=[(None, 0.5), (-1, 1), (None, None)])
    assert held.x[0] == pytest.approx(-1, abs=1e-4)
    used = run(saddle, np.full(3, 0.3), lambda x: np.array([4 * x[0] * (x[0] ** 2 - 1), 2 * x[1], 2 * x[2]]))
    assert used.njev > 0


@pytest.mark.slow  # pip install qiskit-algorithms
def test_qiskits_vqe():
    algorithms = pytest.importorskip("qiskit_algorithms")
    from qiskit.circuit.library import n_local
    from qiskit.primitives import StatevectorEstimator
    from qiskit.quantum_info import SparsePauliOp

    from escapade.integrations.qiskit import minimizer

    ansatz = n_local(1, ["ry"], [], reps=0)
    vqe = algorithms.VQE(StatevectorEstimator(), ansatz, optimizer=minimizer(rng=0), initial_point=np.zeros(1))
    found = vqe.compute_minimum_eigenvalue(SparsePauliOp(["Z"]))
    assert found.eigenvalue.real == pytest.approx(-1, abs=1e-6)
    assert found.optimizer_result.success


def test_pennylanes_steps():
    """Its optimizers are called with a cost and parameters, and hand back better ones."""
    from escapade.integrations.pennylane import EscapadeOptimizer

    def cost(w, b):
        return (w[0, 0] ** 2 - 1) ** 2 + np.sum(w[0, 1:] ** 2) + (b - 2) ** 2

    opt, parameters, costs = EscapadeOptimizer(rng=0), (np.zeros((1, 3)), np.array(0.0)), []
    while not opt.done:
        parameters, value = opt.step_and_cost(cost, *parameters)
        costs.append(value)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(0, abs=1e-8)
    assert abs(parameters[0][0, 0]) == pytest.approx(1, abs=1e-4)
    assert opt.result.success
    alone = EscapadeOptimizer(rng=0)
    x = alone.step(lambda v: float(np.sum(v**2)), np.ones(2))
    assert x.shape == (2,)


@pytest.mark.slow  # pip install pennylane
def test_a_circuit_of_pennylane():
    qml = pytest.importorskip("pennylane")
    from escapade.integrations.pennylane import EscapadeOptimizer

    @qml.qnode(qml.device("default.qubit", wires=2))
    def cost(w):
        qml.RY(w[0], wires=0)
        qml.RY(w[1], wires=1)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.PauliZ(0) @ qml.PauliZ(1))

    opt, w = EscapadeOptimizer(rng=0), qml.numpy.array([0.0, 0.0], requires_grad=True)
    while not opt.done:
        w, value = opt.step_and_cost(cost, w)
    assert value == pytest.approx(-1, abs=1e-6)
    assert opt.result.success


@pytest.mark.slow  # pip install statsmodels
def test_a_likelihood_of_statsmodels():
    pytest.importorskip("statsmodels")
    from statsmodels.base.model import GenericLikelihoodModel

    from escapade.integrations.statsmodels import extra_fit_funcs

    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(200), rng.normal(size=200)])
    y = rng.poisson(np.exp(X @ [0.3, 0.5]))

    class Poisson(GenericLikelihoodModel):
        def nloglikeobs(self, params):
            eta = self.exog @ params
            return np.exp(eta) - self.endog * eta

    model = Poisson(y, X)
    ours = model.fit(
        np.zeros(2), method="escapade", extra_fit_funcs=extra_fit_funcs, disp=False, maxiter=1000, rng=0
    )
    assert ours.mle_retvals["converged"]
    assert ours.mle_retvals["certificate"].verdict == "minimum"
    theirs = model.fit(np.zeros(2), method="bfgs", disp=False)
    assert ours.params == pytest.approx(theirs.params, abs=1e-4)


def test_solvers_in_optiprofilers_form():
    from escapade.integrations.optiprofiler import bounded_solver, solver

    assert abs(solver(saddle, np.zeros(3))[0]) == pytest.approx(1, abs=1e-5)
    x = bounded_solver(saddle, np.zeros(3), np.array([-0.5, -1, -np.inf]), np.array([0.5, 1, np.inf]))
    assert abs(x[0]) == pytest.approx(0.5)

    def spent(x):
        raise RuntimeError("the benchmark ends a solver so")

    assert solver(spent, np.ones(2)) is not None
