"""What the theorems of the methods assume, and what floats resolve of their lengths."""

import math

import numpy as np
import pytest

from escapade.errors import BelowPrecision, InvalidSetting
from escapade.theory import theorem_3, theorem_4, theorem_7, theorem_8, theorem_9

OPTIONS = [1, 2]


def without(given, *names):
    return {name: value for name, value in given.items() if name not in names}


GOOD = {"ell": 2.0, "rho": 1.0, "sigma": 0.5, "Delta_f": 1.0, "d": 3, "epsilon": 0.25, "delta": 0.5}
THEOREMS = [
    (theorem_3, "Theorem 3", {**GOOD, "p": 0.1}, ("C_K",)),
    (theorem_4, "Theorem 4", {**without(GOOD, "sigma"), "p": 0.1}, ("C_K",)),
    (theorem_7, "Theorem 7", GOOD, ("C_K", "C_b", "c", "gamma")),
    (theorem_8, "Theorem 8", GOOD, ("n_0",)),
    (theorem_9, "Theorem 9", {**without(GOOD, "delta"), "p": 0.1}, ("n_0",)),
]


@pytest.mark.parametrize(("theorem", "name", "good", "hidden"), THEOREMS)
def test_assumptions(theorem, name, good, hidden):
    theorem(**good)
    for key in (*without(good, "d", "p"), *hidden):
        for bad in (0.0, -1.0, math.inf, math.nan, "2", True):
            with pytest.raises(InvalidSetting, match=rf"{key}={bad!r} must be positive and finite \({name}\)"):
                theorem(**{**good, key: bad})
    for d in (0, -3, 2.5, True):
        with pytest.raises(InvalidSetting, match=rf"d={d!r} must be a positive integer.*{name}"):
            theorem(**{**good, "d": d})
    theorem(**{**good, "d": np.int64(3)})
    if "delta" in good:
        theorem(**{**good, "delta": 2.0})
        with pytest.raises(InvalidSetting, match=rf"delta=2.5 must lie in \(0, ell=2.0\].*{name} assumes"):
            theorem(**{**good, "delta": 2.5})
    if "p" in good:
        for p in (0.0, 1.0, -0.1, math.nan, True, "0.1"):
            with pytest.raises(InvalidSetting, match=rf"p={p!r} must lie in \(0, 1\).*{name}"):
                theorem(**{**good, "p": p})


@pytest.mark.parametrize(("theorem", "name", "good", "hidden"), THEOREMS[:3])
def test_options(theorem, name, good, hidden):
    for option in (0, 3, True, "1"):
        with pytest.raises(InvalidSetting, match=rf"option={option!r} must be 1 .* or 2 .*{name}"):
            theorem(**good, option=option)


@pytest.mark.parametrize(("theorem", "name", "good", "hidden"), THEOREMS[3:])
def test_n_0(theorem, name, good, hidden):
    theorem(**good, n_0=4.0)  # 2 sigma / epsilon
    for n_0 in (0.99, 4.01):
        with pytest.raises(InvalidSetting, match=rf"n_0={n_0} must lie in \[1, 2 sigma / epsilon\].*4 \({name}\)"):
            theorem(**good, n_0=n_0)
    with pytest.raises(InvalidSetting, match=r"n_0=1.0 must lie in .*0.8"):
        theorem(**{**good, "sigma": 0.1})  # no n_0 would do


def test_gamma():
    assert theorem_7(**GOOD, gamma=0.25).gamma == theorem_7(**GOOD).gamma == 0.25
    assert theorem_7(**GOOD, option=2).gamma == 0.125
    with pytest.raises(InvalidSetting, match=r"gamma=0.3 must lie in \(0, 1/4\].*Lemma 14"):
        theorem_7(**GOOD, gamma=0.3)
    with pytest.raises(InvalidSetting, match=r"gamma=0.2 must lie in \(0, 1/8\].*Lemma 14"):
        theorem_7(**GOOD, gamma=0.2, option=2)


@pytest.mark.parametrize(("theorem", "name", "good", "hidden"), THEOREMS)
def test_constants_out_of_range_are_refused_by_name(theorem, name, good, hidden):
    for extreme in ({"epsilon": 1e-200}, {"ell": 1e300, "Delta_f": 1e300, "sigma": 1e160, "epsilon": 1e-3}):
        changed = {**good, **{key: value for key, value in extreme.items() if key in good}}
        with pytest.raises((InvalidSetting, BelowPrecision), match=name):
            theorem(**changed).method()


# What floats resolve


@pytest.mark.parametrize(("theorem", "name", "good", "hidden"), THEOREMS)
def test_below_precision(theorem, name, good, hidden):
    got = theorem(**good)
    got.resolved(np.ones(3), 1.0)
    got.method(x=np.ones(3), magnitude=1.0)
    with pytest.raises(BelowPrecision, match=rf"=.* is below .*float64 resolves at \|x\| = 1e\+17.*{name}.*larger"):
        got.resolved(np.full(3, 1e17), 0.0)
    with pytest.raises(BelowPrecision, match=rf"mu.*=.* is below .*\|f\| = 1e\+16.*{name}"):
        got.method(x=np.zeros(3), magnitude=-1e16)
    with pytest.raises(BelowPrecision, match="float32"):
        got.resolved(np.full(3, 1e8, dtype=np.float32), 0.0)


@pytest.mark.parametrize("option", OPTIONS)
def test_a_smoothing_parameter_is_refused_once_rounding_passes_a_quarter_of_epsilon(option):
    got = theorem_4(**without(GOOD, "sigma"), p=0.1, option=option)
    edge = got.mu_step * got.epsilon / (4 * (math.sqrt(3) if option == 1 else 3)) / 2.0**-52
    got.resolved(np.zeros(3), 0.99 * edge)
    with pytest.raises(BelowPrecision, match="mu_step="):
        got.resolved(np.zeros(3), 1.01 * edge)
    x = np.array([0.0, 0.0, -got.mu_step / 2.0**-52])
    got.resolved(0.99 * x, 0.0)
    with pytest.raises(BelowPrecision, match="mu_step="):
        got.resolved(1.01 * x, 0.0)


def test_a_length_that_is_no_float64_is_refused_without_a_point():
    with pytest.raises(BelowPrecision, match=r"mu_step=.*is below 2.23e-308, the least normal float64 \(Theorem 4\)"):
        theorem_4(ell=1e300, rho=1.0, Delta_f=1e-300, d=2, epsilon=1e-10, delta=1.0, p=0.1, option=2).method()
