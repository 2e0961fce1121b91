"""A wrong gradient is an error that names its coordinate; a right one is never refused."""

import numpy as np
import pytest

import escapade
from escapade.derivatives.gradient_check import check_gradient
from escapade.derivatives.units import lengths
from escapade.errors import InvalidSetting, WrongGradient
from escapade.oracle import Failures, Oracle


def rosen(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def slope(x):
    g = np.zeros_like(x)
    g[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return g


def ask(fun, jac, x, seed):
    f = Oracle.of(fun, jac=jac, failures=Failures("raise", "omit"))
    check_gradient(f, x, lengths(x), np.random.default_rng(seed))
    return f.ledger.queries


def right(d, rng):
    """Functions with right gradients that differences see badly."""
    scale = 10.0 ** rng.uniform(-9, 9, d)
    normal = rng.standard_normal
    yield rosen, slope, np.ones(d)  # a minimum, where the gradient is 0
    yield rosen, lambda x: slope(x.astype(np.float32)).astype(np.float32), np.ones(d) + 1e-9
    yield lambda x: rosen(x / scale), lambda x: slope(x / scale) / scale, normal(d) * scale
    yield lambda x: rosen(x) + 1e8, slope, normal(d)
    yield lambda x: 3.0, lambda x: 0 * x, normal(d)
    yield lambda x: rosen(x) + 1e-4 * np.sum(np.sin(1e4 * x)), lambda x: slope(x) + np.cos(1e4 * x), normal(d)
    yield lambda x: float(np.sum(np.exp(20 * x))), lambda x: 20 * np.exp(20 * x), normal(d)
    yield lambda x: float(np.float32(rosen(x.astype(np.float32)))), slope, normal(d)
    yield lambda x: float(f"{rosen(x):.2e}"), slope, normal(d)
    yield lambda x: np.nan if x[0] > 0.1 else rosen(x), slope, -np.abs(normal(d))
    for level in (1e-6, 1e-2, 1.0):
        yield lambda x, level=level: rosen(x) + level * normal(), slope, normal(d)
        yield lambda x, level=level: rosen(x) * (1 + level * normal()), slope, normal(d)
        yield rosen, lambda x, level=level: slope(x) + level * normal(d), normal(d)
        yield rosen, lambda x, level=level: slope(x) * (1 + min(level, 1e-3) * normal(d)), normal(d)


@pytest.mark.parametrize("d", [2, 30])
def test_right_gradients_are_not_refused(d):
    costs = [
        ask(fun, jac, x, seed)
        for seed in range(20)
        for fun, jac, x in right(d, np.random.default_rng(seed))
    ]
    assert np.median(costs) <= 12


@pytest.mark.parametrize("d", [2, 30, 300])
@pytest.mark.parametrize("wrong", [lambda g: -g, lambda g: 2 * g, lambda g: 0 * g, lambda g: g + 1000])
def test_a_wrong_coordinate_is_named(d, wrong):
    named = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        i, x = int(rng.integers(d)), rng.standard_normal(d)

        def jac(x, i=i):
            g = slope(x)
            g[i] = wrong(g[i])
            return g

        try:
            ask(rosen, jac, x, seed)
        except WrongGradient as error:
            named += error.coordinate == i
    assert named >= 6  # a slope may be small beside the others


def test_the_error_names_slopes_steps_and_a_remedy_and_its_remedies_work():
    def jac(x):
        g = slope(x)
        g[2] *= -1
        return g

    x = np.array([0.3, -0.7, 1.1, 0.4])
    for call in (escapade.minimize, escapade.certify):
        with pytest.raises(WrongGradient, match=r"coordinate 2 .* by jac\[2\], .* leave jac out") as caught:
            call(rosen, x, jac=jac, rng=0)
        error = caught.value
        assert isinstance(error, InvalidSetting)
        assert abs(error.claimed + error.seen) <= 1e-6 * abs(error.seen)
    assert escapade.minimize(rosen, x, jac=slope, rng=0).success
    assert escapade.minimize(rosen, x, rng=0).success


def test_methods_for_values_say_that_they_do_not_use_it():
    with pytest.warns(RuntimeWarning, match="method='zpsgd' works on function values alone"):
        result = escapade.minimize(rosen, np.zeros(3), jac=slope, method="zpsgd", maxfev=200, rng=0)
    assert result.njev == 0
    with pytest.warns(RuntimeWarning, match="finder='dense'"):
        assert escapade.certify(rosen, np.ones(3), jac=slope, finder="dense", rng=0).njev == 0
