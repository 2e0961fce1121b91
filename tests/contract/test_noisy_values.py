"""Values as people have them: what `minimize` promises where f is noisy, rounded, on a mesh or rough."""

import math

import numpy as np
import pytest

import escapade
from escapade.stopping import Stop


def valley(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def bowl(x):
    return float(np.arange(1, len(x) + 1) @ (x - 0.3) ** 2 + 0.1 * np.sum(x**4) + 0.5 * x[0] * x[-1])


def noisy(fun, level, seed):
    rng = np.random.default_rng([seed, 7])
    return lambda x: fun(x) + level * float(rng.standard_normal())


def least(fun, x0):
    return escapade.minimize(fun, x0, rng=0).fun


SEEN = {
    "six digits": lambda fun: lambda x: float(f"{fun(x):.5e}"),
    "two decimals": lambda fun: lambda x: round(fun(x), 2),
    "float32": lambda fun: lambda x: float(np.float32(fun(x))),
    "mesh": lambda fun: lambda x: fun(1e-3 * np.round(x / 1e-3)),
    "another mesh": lambda fun: lambda x: fun(0.00137 * np.round((x - 2e-4) / 0.00137) + 2e-4),
}


@pytest.mark.parametrize("kind", SEEN)
@pytest.mark.parametrize("d", [2, 5])
def test_rounded_values_and_meshes_lead_nearly_as_low_as_exact_values(kind, d):
    x0 = np.full(d, -1.0)
    lowest = least(bowl, x0)
    result = escapade.minimize(SEEN[kind](bowl), x0, rng=0, maxfev=100 * (d + 1))
    assert result.nfev <= 100 * (d + 1)
    assert bowl(result.x) - lowest <= max(1e-3 * (bowl(x0) - lowest), 0.02 if kind == "two decimals" else 0.0)
    assert result.fun == SEEN[kind](bowl)(result.x)  # f is deterministic


@pytest.mark.parametrize("level", [1e-4, 1e-2])
def test_noise_is_descended_through_and_the_value_is_a_mean_of_fresh_ones(level):
    x0, off = np.full(4, -1.0), []
    lowest = least(bowl, x0)
    for seed in range(4):
        result = escapade.minimize(noisy(bowl, level, seed), x0, rng=seed, maxfev=400)
        assert result.nfev <= 400
        assert bowl(result.x) - lowest <= max(1e-3 * (bowl(x0) - lowest), 2 * level)
        assert 0 < result.fun_error < level
        off.append(abs(result.fun - bowl(result.x)) / result.fun_error)
        assert not result.success
        assert result.stop is Stop.NOISE_LIMITED
        assert "noise" in result.message
        assert result.fun > result.fun_best  # which is luck
    assert np.median(off) < 2.5


def test_a_random_function_is_never_certified_beyond_what_its_noise_shows():
    for seed in range(3):
        result = escapade.minimize(noisy(bowl, 1e-3, seed), np.full(3, -1.0), rng=seed)
        assert not result.success
        assert result.status == 16
        assert result.certificate.gradient.upper < math.inf  # without a budget what noise leaves is looked at


def test_tolerances_that_noise_leaves_visible_are_certified_and_true():
    for seed in range(3):
        result = escapade.minimize(noisy(bowl, 1e-4, seed), np.full(3, -1.0), rng=seed, gtol=0.1, curvtol=0.1)
        assert result.success
        x, h = result.x, 1e-5
        g = [(bowl(x + h * e) - bowl(x - h * e)) / (2 * h) for e in np.eye(3)]
        assert np.linalg.norm(g) <= 0.1


def test_noise_zero_believes_every_digit_and_asks_no_more():
    x0 = np.full(3, -1.0)
    told, found = (escapade.minimize(bowl, x0, rng=0, noise=noise) for noise in (0, None))
    assert told.success
    assert told.x.tobytes() == found.x.tobytes()
    assert found.nfev - told.nfev <= 30  # six close values, and tables in the certificate


def test_noise_that_ends_is_left_behind():
    """Its level falls with f, as that of a relative tolerance, to nothing at all."""
    rng = np.random.default_rng(3)

    def fun(x):
        value = bowl(x) + 1
        return value + (1e-3 * float(rng.standard_normal()) if value > 3 else 0.0)

    result = escapade.minimize(fun, np.full(3, -1.0), rng=0)
    assert result.success


def test_noise_that_begins_is_descended_through():
    """Exact values at the start, and noise of 1e-3 where f is small: heard at the certificate, at the latest."""
    for seed in range(3):
        rng = np.random.default_rng(seed)

        def fun(x, rng=rng):
            value = bowl(x) + 1
            return value + (1e-3 * float(rng.standard_normal()) if value < 3 else 0.0)

        result = escapade.minimize(fun, np.full(3, -1.0), rng=seed, maxfev=800)
        assert not result.success
        assert any(step.estimated for step in result.history)
        assert bowl(result.x) - least(bowl, np.full(3, -1.0)) < 5e-3


def test_a_function_that_is_rough_below_some_length_is_descended_below_its_roughness():
    """Jumps of 0.01 every hundredth or so, deterministic, as of a solver that adapts its steps."""
    lowest = least(bowl, np.full(3, -1.0))
    for seed in range(3):
        way = np.random.default_rng(seed).standard_normal((3, 3)) * 300
        jumping = lambda x, way=way: bowl(x) + 0.01 * float(np.mean(np.sign(np.sin(way @ x))))  # noqa: E731
        result = escapade.minimize(jumping, np.full(3, -1.0), rng=seed, maxfev=400)
        assert not result.success
        assert bowl(result.x) - lowest < 0.02
        assert result.fun == jumping(result.x)
        assert result.fun <= result.fun_best + 0.01  # f is deterministic: the lowest value is no luck


@pytest.mark.parametrize("shift", [0.0, 3e-4])
def test_a_mesh_around_zero_is_seen(shift):
    """There a start tells no lengths, and f is flat within a cell."""
    fun = lambda x: bowl(1e-3 * np.round((x - shift) / 1e-3) + shift)  # noqa: E731
    result = escapade.minimize(fun, np.zeros(3), rng=0, maxfev=400)
    assert bowl(result.x) - least(bowl, np.zeros(3)) < 1e-4


def test_a_limit_in_the_midst_leaves_a_point_of_the_model_and_no_lucky_one():
    fun = noisy(bowl, 0.1, 1)
    result = escapade.minimize(fun, np.full(3, -1.0), rng=0, maxiter=12)
    assert result.stop is Stop.ITERATIONS or result.nit < 12
    assert result.fun > result.fun_best


def test_points_without_a_value_are_left_out_where_values_have_noise():
    rng = np.random.default_rng(5)

    def fun(x):
        return math.nan if rng.random() < 0.1 else bowl(x) + 1e-3 * float(rng.standard_normal())

    x0 = np.full(3, -1.0)
    fun_ok = lambda x: bowl(x) if np.array_equal(x, x0) else fun(x)  # noqa: E731
    result = escapade.minimize(fun_ok, x0, rng=0, maxfev=400)
    assert bowl(result.x) - least(bowl, x0) < 0.01


def test_a_function_that_loses_all_its_values_ends():
    calls = [0]

    def fun(x):
        calls[0] += 1
        return math.nan if calls[0] > 60 else bowl(x) + 1e-3 * math.sin(1e9 * float(x @ x))

    result = escapade.minimize(fun, np.full(3, -1.0), rng=0, maxfev=1000)
    assert not result.success
    assert calls[0] < 400


def test_the_same_seed_gives_the_same_run_and_so_does_a_journal(tmp_path):
    kept = {"journal": tmp_path / "run.db"}
    runs = [
        escapade.minimize(SEEN["six digits"](bowl), np.full(3, -1.0), rng=4, maxfev=300, **options)
        for options in ({}, kept, kept)
    ]
    assert len({r.x.tobytes() for r in runs}) == 1
    assert len({r.nfev for r in runs}) == 1


def test_a_start_in_other_units_is_the_same_run():
    """Powers of two: the same bits."""
    x0 = np.full(3, -1.0)
    base = escapade.minimize(SEEN["float32"](bowl), x0, rng=0, maxfev=300)
    other = escapade.minimize(lambda x: 2.0**20 * SEEN["float32"](bowl)(x / 2.0**10), 2.0**10 * x0, rng=0, maxfev=300)
    assert np.array_equal(other.x, 2.0**10 * base.x)


def test_terms_that_cancel_at_a_minimum_are_no_noise():
    """There f is no line over the shortest steps, and rounds by 1e-16 of terms that are not in it."""
    for seed in range(2):
        res = escapade.minimize(lambda x: float(np.sum(1 - np.cos(x - 2)) + (x[0] - 2) ** 2), [2.0, 2.0], rng=seed)
        assert res.success
        assert res.fun == 0.0
