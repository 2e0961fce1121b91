"""What kind of values f gives: noise, digits and meshes are recognised, and exact functions taken for exact."""

import math

import numpy as np
import pytest

from escapade.derivatives.mesh import find_mesh
from escapade.derivatives.values import ValueKind, fresh, look
from escapade.oracle import Failures, Oracle

SMOOTH = {
    "quadratic": lambda x: float(np.arange(1, len(x) + 1) @ (x - 0.3) ** 2),
    "valley": lambda x: float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)),
    "offset": lambda x: 1e6 + float(np.sum(np.cosh(x))),
    "waves": lambda x: float(np.sum(np.sin(3 * x) + x**2 / 10)),
    "steep": lambda x: float(np.exp(10 * x[0]) + np.sum(x**2)),
    "flat": lambda x: 1.0 + float(np.sum((x - 1) ** 4)),
}


def seen(fun, x, seed=0, **options):
    f, x = Oracle.of(fun, **options), np.array(x, dtype=float)
    return look(f, x, f.value(x), np.random.default_rng(seed)), f.ledger.queries - 1


def start(d, seed):
    return np.random.default_rng(seed).standard_normal(d)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("d", [2, 7])
def test_smooth_functions_are_exact_at_a_few_queries(name, d):
    for seed in range(10):
        report, queries = seen(SMOOTH[name], start(d, seed), seed)
        assert report.exact
        assert queries <= 12
    assert seen(SMOOTH[name], np.ones(d))[0].exact  # the minimum of some


@pytest.mark.parametrize("level", [1e-6, 1e-4, 1e-2, 1.0])
def test_noise_is_seen_and_measured(level):
    levels = []
    for seed in range(20):
        rng = np.random.default_rng([seed, 1])
        report, _ = seen(lambda x, r=rng: SMOOTH["waves"](x) + level * r.standard_normal(), start(4, seed), seed)
        assert report.kind is ValueKind.NOISE
        levels.append(report.level)
    assert level / 3 < np.median(levels) < 2 * level


@pytest.mark.parametrize(
    ("rounded", "unit"),
    [
        (lambda v: float(f"{v:.5e}"), 1e-3), (lambda v: round(v, 2), 1e-2), (lambda v: float(np.float32(v)), 2.0**-16),
        (lambda v: float(f"{v:.3e}"), 0.1), (lambda v: float(f"{v:.7e}"), 1e-5),
    ],
)
def test_printed_values_and_float32_are_digits_of_that_unit(rounded, unit):
    for seed in range(10):
        report, _ = seen(lambda x: rounded(500 + SMOOTH["valley"](x) / 2), 0.3 * start(3, seed), seed)
        assert report.kind in (ValueKind.DIGITS, ValueKind.STEPS)  # two values do not tell digits
        assert unit / 10 < report.level * math.sqrt(12) < 20 * unit


@pytest.mark.parametrize("pitch", [1e-2, 1e-3, 0.00137, 2.0**-9])
@pytest.mark.parametrize("shift", [0.0, 0.37])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_mesh_is_measured_well_enough_to_use_it_a_thousand_cells_away(pitch, shift, d):
    offset = pitch * shift * np.arange(1, d + 1)
    fun = SMOOTH["quadratic"]
    for seed in range(3):
        x0 = 1 + start(d, seed)
        report, queries = seen(lambda x: fun(pitch * np.round((x - offset) / pitch) + offset), x0, seed)
        assert report.kind is ValueKind.STEPS
        assert report.mesh is not None
        assert queries <= 130 + 10 * d
        far = x0 + 800 * pitch * np.where(np.arange(d) % 2, -1, 1)
        true = pitch * np.round((far - offset) / pitch) + offset
        assert np.max(np.abs(report.mesh.nearest(far) - true)) < 0.1 * pitch


def test_a_mesh_is_that_of_the_users_variables_in_any_units():
    unit = np.array([2.0, 0.25])
    f = Oracle.of(lambda x: SMOOTH["quadratic"](1e-3 * np.round(x / 1e-3))).scaled(unit)
    x = np.array([0.7, 0.9])
    mesh, _ = find_mesh(f, x, f.value(x), np.ones(2))
    assert np.allclose(mesh.pitch * unit, 1e-3, rtol=1e-12)


def test_steps_that_are_no_mesh_are_told_from_one():
    """f is rounded to sevenths: a step in f, not in x."""
    report, _ = seen(lambda x: math.floor(70 * SMOOTH["quadratic"](x)) / 70, start(3, 0) + 2)
    assert report.kind is not ValueKind.EXACT
    assert report.mesh is None


def test_missing_points_are_left_out():
    def holed(x):
        return math.nan if abs(x[0] * 1e7) % 1 < 0.2 else SMOOTH["waves"](x)

    for seed in range(5):
        x = start(3, seed)
        if math.isfinite(holed(x)):
            report, queries = seen(holed, x, seed, failures=Failures.omitting("raise", None, None))
            assert report.exact
            assert queries <= 24


def test_fresh_values_are_one_where_they_agree_and_a_mean_where_not():
    rng = np.random.default_rng(0)
    f = Oracle.of(lambda x: float(x @ x) + 0.1 * rng.standard_normal())
    found = fresh(f, np.ones(2), 10)
    assert f.ledger.queries == 10
    assert abs(found.value - 2) < 5 * found.error < 1
    f = Oracle.of(lambda x: float(x @ x))
    assert (fresh(f, np.ones(2), 10).value, fresh(f, np.ones(2), 10).error, f.ledger.queries) == (2.0, 0.0, 4)
