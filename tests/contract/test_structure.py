"""Points of any structure: f, callbacks and results have them as the user gave them; the same run as on vectors."""

import json
import sys
from dataclasses import dataclass

import array_api_strict
import numpy as np
import pytest

import escapade
from escapade.errors import EvaluationFailed, InvalidSetting
from escapade.structure import Structure

TARGET = np.array([1.0, -2.0, 0.5, 3.0, -1.0])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 3.0])


def bowl(v):
    return float(np.sum(WEIGHTS[: len(v)] * (v - TARGET[: len(v)]) ** 2) + 0.1 * np.sum(np.sin(v)))


def leaves_of(tree):
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves_of(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for item in tree for leaf in leaves_of(item)]
    return [np.asarray(tree)]


def flat(tree):
    return np.concatenate([leaf.reshape(-1) for leaf in leaves_of(tree)])


def kinds(tree):
    """What a structure is made of, its arrays by shape and type."""
    if isinstance(tree, dict):
        return {key: kinds(item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(map(kinds, tree))
    return (type(tree), np.shape(tree))


POINTS = {
    "number": 0.3,
    "matrix": np.zeros((2, 2)),
    "nested lists": [[0.0, 0.1], [0.2, 0.3]],
    "dictionary": {"w": np.zeros((2, 2)), "b": np.float64(0.1)},
    "list of arrays": [np.zeros(3), np.zeros((1, 2))],
    "tuple in a dictionary": {"a": (np.zeros(2), 0.5), "b": [np.ones(2)]},
    "float32": {"w": np.zeros((2, 2), dtype=np.float32), "b": np.zeros(1, dtype=np.float32)},
    "strict": {"w": array_api_strict.zeros((2, 2), dtype=array_api_strict.float64)},
    "strict matrix": array_api_strict.zeros((2, 2), dtype=array_api_strict.float64),
}


def expected(x0):
    """The kinds of what f is handed: numbers become those of NumPy, lists of numbers arrays."""
    found = Structure.of(x0)
    return kinds(found[0].built(found[1]))


@pytest.mark.parametrize("name", POINTS)
def test_the_same_run_as_on_a_vector(name):
    x0 = POINTS[name]
    seen, told = [], []

    def fun(x):
        seen.append(kinds(x))
        return bowl(flat(x).astype(np.float64))

    result = escapade.minimize(fun, x0, rng=0, callback=lambda x: told.append(kinds(x)))
    start = flat(x0).astype("float32" if name == "float32" else "float64")
    alone = escapade.minimize(lambda v: bowl(v.astype(np.float64)), start, rng=0)
    assert set(map(repr, [*seen, *told])) == {repr(expected(x0))}
    assert result.nfev == alone.nfev == len(seen)
    assert np.array_equal(flat(result.x), alone.x)
    assert result.success is alone.success
    assert result.success or name == "float32"
    for tree in (result.x, result.x_best, result.certificate.x, result.history[-1].x, result.history.x0):
        assert kinds(tree) == expected(x0)
    assert np.allclose(flat(result.jac), alone.jac, atol=1e-6)
    told = [[line for line in str(one).splitlines() if "softest" not in line] for one in (result, alone)]
    assert told[0] == told[1]  # but for the names of variables
    certificate = escapade.certify(fun, result.x, rng=0)
    assert certificate.verdict == "minimum" or name == "float32"
    assert kinds(certificate.x) == expected(x0)


@pytest.mark.parametrize("name", [name for name in POINTS if not name.startswith("strict")])
def test_it_is_read_from_json_as_it_was(name):
    result = escapade.minimize(lambda x: bowl(flat(x).astype(np.float64)), POINTS[name], rng=0)
    again = escapade.Result.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert kinds(again.x) == kinds(result.x)
    assert np.array_equal(flat(again.certificate.jac), flat(result.certificate.jac))
    assert json.loads(result.to_json())["x"] == flat(result.x).tolist()


def test_rows_of_a_vectorised_function_are_the_first_axis():
    shapes = set()

    def fun(p):
        shapes.add((p["w"].shape[1:], p["b"].shape[1:]))
        assert len(p["w"]) == len(p["b"])
        rows = np.concatenate([p["b"].reshape(len(p["b"]), -1), p["w"].reshape(len(p["w"]), -1)], axis=1)
        return np.array([bowl(row) for row in rows])

    result = escapade.minimize(fun, {"w": np.zeros((2, 2)), "b": 0.0}, vectorized=True, rng=0)
    assert result.success
    assert shapes == {((2, 2), ())}
    assert result.ncalls < result.nfev


def test_direction_scales_and_gradients_have_the_structure():
    saddle = escapade.certify(lambda p: float(p["a"][0] ** 2 - p["b"] ** 2), {"a": np.zeros(1), "b": 0.0}, rng=0)
    assert saddle.verdict == "saddle"
    assert abs(saddle.direction["b"]) == pytest.approx(1)
    scale = {"a": np.ones(1), "b": 2.0}
    fine = escapade.certify(lambda p: float(p["a"][0] ** 2 + p["b"] ** 2), {"a": np.ones(1), "b": 0.0}, x_scale=scale)
    assert fine.jac["a"] == pytest.approx([2.0], abs=1e-6)
    assert fine.jac["b"] == pytest.approx(0.0, abs=1e-6)
    named = Structure.of({"w": np.zeros((1, 2)), "b": 0.0}, "p")[0].names
    assert named == ["p['b']", "p['w'][0, 0]", "p['w'][0, 1]"]
    with pytest.raises(InvalidSetting, match="structure of the point"):
        escapade.certify(lambda p: 1.0, {"a": np.ones(2)}, x_scale={"a": np.ones(3)})


def test_a_failure_carries_points_of_the_structure():
    calls = []

    def fun(p):
        calls.append(p)
        if len(calls) > 5:
            raise ZeroDivisionError("no")
        return float(np.sum(p["w"] ** 2))

    with pytest.raises(EvaluationFailed) as caught:
        escapade.minimize(fun, {"w": np.ones((2, 2))}, rng=0)
    assert caught.value.result.x["w"].shape == (2, 2)
    assert caught.value.x["w"].shape == (2, 2)
    patched = []
    escapade.minimize(
        lambda p: float("nan") if p["w"][0, 0] > 1.2 else float(np.sum(p["w"] ** 2)), {"w": np.ones((2, 2))}, rng=0,
        nan_policy=lambda x, attempt, error: patched.append(x["w"].shape),
    )  # fmt: skip
    assert set(patched) <= {(2, 2)}


def test_many_runs_and_told_ones():
    starts = [{"w": np.full((2, 2), value)} for value in (-1.5, 1.5)]
    found = escapade.multistart(lambda p: float(np.sum((p["w"] ** 2 - 1) ** 2)), starts, rng=0)
    assert [run.x["w"].shape for run in found.runs] == [(2, 2)] * 2
    assert len(found.minima) == 2
    assert np.abs(found.minima[0].x["w"]) == pytest.approx(1, abs=1e-5)
    assert escapade.Multistart.from_json(found.to_json()).to_json() == found.to_json()
    opt = escapade.ask_tell({"w": np.zeros((2, 2))}, rng=0)
    opt.known([{"w": np.zeros((2, 2))}], [float(np.sum(TARGET[:4] ** 2))])
    while not opt.done:
        opt.tell([float(np.sum((p["w"].reshape(-1) - TARGET[:4]) ** 2)) for p in opt.ask()])
    assert opt.result().x["w"] == pytest.approx(TARGET[:4].reshape(2, 2), abs=1e-5)


def test_a_told_run_of_a_structure_is_saved(tmp_path):
    opt = escapade.ask_tell({"w": np.zeros((2, 2))}, rng=0)
    opt.tell([float(np.sum((p["w"] - 1) ** 2)) for p in opt.ask()])
    opt.save(tmp_path / "lab.json")
    again = escapade.ask_tell.load(tmp_path / "lab.json")
    assert [p["w"].tolist() for p in again.ask()] == [p["w"].tolist() for p in opt.ask()]


@pytest.mark.parametrize(
    ("x0", "said"),
    [
        ({"a": "b"}, r"x0\['a'\]"),
        ({"a": np.array([1.0, np.nan])}, r"x0\['a'\]\[1\] = nan"),
        ({}, "at least one number|real numbers"),
        ({"a": np.zeros((0, 2))}, "empty"),
        ({"a": np.array([1j])}, "two real"),
        ([1.0, [2.0, 3.0]], "inhomogeneous"),
        (object(), "real numbers"),
    ],
)
def test_what_is_no_point_is_named(x0, said):
    with pytest.raises(InvalidSetting, match=said):
        escapade.minimize(lambda x: 1.0, x0)


def test_keys_that_are_no_names(monkeypatch):
    """They are refused, unless JAX is there, whose trees have them."""
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    with pytest.raises(InvalidSetting, match=r"x0\['a'\]"):
        escapade.minimize(lambda x: 1.0, {"a": {1: 2.0}})


# JAX


def test_what_jax_knows_is_a_point():
    jax = pytest.importorskip("jax")

    @jax.tree_util.register_pytree_node_class
    @dataclass
    class Gaussian:
        mean: object
        scale: object

        def tree_flatten(self):
            return (self.mean, self.scale), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    def fun(g):
        assert isinstance(g, Gaussian)
        return float(np.sum((np.asarray(g.mean) - 1) ** 2) + (g.scale - 2) ** 2)

    result = escapade.minimize(fun, Gaussian(np.zeros(3), 1.0), rng=0)
    assert result.x.mean == pytest.approx([1, 1, 1], abs=1e-5)
    assert result.x.scale == pytest.approx(2, abs=1e-5)
    tree = {"b": np.zeros(2), "a": [np.ones(1), 2.0]}
    assert np.array_equal(Structure.of(tree)[1], np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)]))


def test_few_shapes_reach_a_function_of_jax():
    """Every new shape is compiled."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    shapes, rows = [], []
    target = jnp.linspace(-1, 1, 300, dtype=jnp.float32)

    def fun(X):
        assert isinstance(X, jax.Array)
        shapes.append(X.shape)
        rows.append(np.asarray(X))
        return jnp.sum((X - target) ** 2, axis=1)

    result = escapade.minimize(fun, jnp.zeros(300, dtype=jnp.float32), vectorized=True, rng=0, maxfev=3000)
    assert isinstance(result.x, jax.Array)
    assert result.x.dtype == jnp.float32
    assert len(set(shapes)) <= 4
    assert result.ncalls == len(shapes)
    kept = sum(len(np.unique(block, axis=0)) for block in rows)
    assert result.nfev >= kept  # what was added to a block repeats a row of it
    plain = escapade.minimize(
        lambda X: np.asarray(jnp.sum((X - target) ** 2, axis=1)), np.zeros(300, np.float32), vectorized=True, rng=0,
        maxfev=3000,
    )  # fmt: skip
    assert plain.nfev == result.nfev


def test_the_jax_door():
    jax = pytest.importorskip("jax")
    from escapade.integrations.jax import batched

    def loss(p, y):
        return jax.numpy.sum((p["w"] @ p["v"] - y) ** 2)

    x0 = {"w": jax.numpy.eye(2), "v": jax.numpy.zeros(2)}
    result = escapade.minimize(
        batched(loss), x0, (jax.numpy.ones(2),), vectorized=True, rng=0, maxfev=2000, noise="auto"
    )
    assert float(loss(result.x, 1.0)) < 1e-3
    assert isinstance(result.x["w"], jax.Array)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_refused_in_a_sentence(dtype):
    kind = np.float16 if dtype == "float16" else pytest.importorskip("ml_dtypes").bfloat16
    for x0 in (np.zeros(2, kind), {"w": np.zeros((2, 2), kind)}):
        with pytest.raises(InvalidSetting, match=f"in {dtype} has too few digits.*float32"):
            escapade.minimize(lambda x: 1.0, x0)
    point = np.zeros(2, np.float32)  # the remedy: the function converts
    seen = escapade.certify(lambda x: float(np.sum(x.astype(kind) ** 2)), point, gtol=0.1, x_scale=1.0, rng=0)
    assert seen.verdict in ("minimum", "second-order", "undecided")
