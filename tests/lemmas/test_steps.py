"""What one step gains: along negative curvature (Lemma 6), and along an estimated gradient (Appendix D).

Averages over both signs, and over the circle of directions in two dimensions, are exact up to rounding (1e-12);
others are means over seeds, which are allowed four standard errors.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from escapade import Oracle
from escapade.curvature import Finding
from escapade.curvature.finding import Outcome
from escapade.methods import ZOSPIDER, ZOSPIDERNCF
from escapade.methods.escape import escape
from escapade.theory import theorem_3, theorem_4
from escapade.trace import Move


@dataclass
class Signs:
    """A generator whose next sign is known."""

    positive: bool

    def random(self):
        return 0.25 if self.positive else 0.75


@dataclass
class Direction:
    """A generator whose next direction on the sphere is known."""

    u: np.ndarray

    def standard_normal(self, shape):
        return self.u.reshape(shape)


@dataclass
class Finds:
    """A finder that knows the direction."""

    v: np.ndarray

    def attempt(self, j):
        return self

    def __call__(self, f, x, rng):
        return Finding(Outcome.FOUND, self.v)


class NeverSmall:
    """A check that always asks for a step."""

    def look(self, f, x, rng):
        return False, math.inf, 0.0


def downhill(f, x, rng):
    """A unit vector, far from any eigenvector, along which f curves down; or None."""
    curvature, best = 0.0, None
    hessian = f.hessian(x)
    for v in rng.standard_normal((20, len(x))):
        v /= np.linalg.norm(v)
        if v @ hessian @ v < curvature:
            curvature, best = v @ hessian @ v, v
    return curvature, best


# Negative curvature


@pytest.mark.parametrize("d", [1, 2, 7, 30])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.1])
def test_an_escape_lowers_f_by_delta_cubed_over_12_rho_squared(ridges, oracle, d, share):
    """Lemma 6: if v'Hv <= -delta/2 then f(y) - E f(y ± delta/rho v) >= delta^3 / (12 rho^2)."""
    seen = 0
    for seed in range(25):
        f, rng = ridges(seed, d), np.random.default_rng(seed)
        y = rng.standard_normal(d)
        curvature, v = downhill(f, y, rng)
        if v is None:
            continue
        delta = -2 * curvature * share
        found = Finding(Outcome.FOUND, v)
        up, down = (escape(oracle(f), y, found, delta, f.rho, Signs(sign)) for sign in (True, False))
        assert np.allclose(up + down, 2 * y)
        assert math.isclose(np.linalg.norm(up - y), delta / f.rho, rel_tol=1e-9)
        assert f(y) - (f(up) + f(down)) / 2 >= delta**3 / (12 * f.rho**2) - 1e-12
        seen += 1
    assert seen >= 10


def test_spiders_mini_steps_make_the_same_escape(ridges):
    """delta / (rho eta) steps of length eta along the same signed direction, and so the same gain on average."""
    f, rng = ridges(3, 4), np.random.default_rng(0)
    y = rng.standard_normal(4)
    curvature, v = downhill(f, y, rng)
    delta, steps = -2 * curvature, 8
    eta = delta / f.rho / steps * (1 + 1e-12)  # so that delta / (rho eta) is not rounded up to nine
    spider = ZOSPIDER(epsilon_tilde=1.0, eta=eta, S1=4, S2=2, q=3, mu=1e-3)
    method = ZOSPIDERNCF(delta=delta, rho=f.rho, spider=spider, finder=Finds(v), J=0)
    whole = Oracle.of(lambda x, ids: f(x), vectorized=True, samples=4)
    ends = {}
    for seed in range(20):
        iterates = list(method.iterates(whole, y, np.random.default_rng(seed)))
        assert [step.move for step in iterates] == [Move.ESCAPE] * steps
        end = iterates[-1].x
        ends[float(np.sign((end - y) @ v))] = f(end)
        assert math.isclose(abs((end - y) @ v), delta / f.rho, rel_tol=1e-9)
    assert f(y) - sum(ends.values()) / 2 >= delta**3 / (12 * f.rho**2) - 1e-12
    assert sorted(ends) == [-1.0, 1.0]


# Gradient steps of the whole function


def given(f, x, rng):
    """Constants at which the gradient is 0.5 to 2 epsilon."""
    size = float(np.linalg.norm(f.gradient(x)))
    epsilon = size / rng.uniform(0.5, 2)
    return size, {"ell": f.ell, "rho": f.rho, "Delta_f": 1.0, "d": len(x), "epsilon": epsilon, "delta": f.ell}


@pytest.mark.parametrize("d", [1, 2, 7, 30])
def test_zo_gd_option_1(ridges, oracle, d):
    """f(x) - f(x+) >= (|grad f|^2 - epsilon^2 / 16) / (16 ell): Appendix D without its term of sigma."""
    for seed in range(30):
        f, rng = ridges(seed, d), np.random.default_rng(seed)
        x = rng.standard_normal(d)
        size, constants = given(f, x, rng)
        method = replace(theorem_4(**constants, p=0.1).method(), epsilon=1e-9)
        after = next(method.iterates(oracle(f), x, rng)).x
        assert f(x) - f(after) >= (size**2 - constants["epsilon"] ** 2 / 16) / (16 * f.ell) - 1e-12


def test_zo_gd_option_2(ridges, oracle):
    """f(x) - E f(x+) >= (48 |grad f|^2 - 6.25 epsilon^2) / (1024 d ell), in two dimensions.

    The paper leaves this proof out. With E |g|^2 <= 2d |grad f|^2 + rho^2 d^2 mu^4 / 18, the gain is at least
    eta (1/2 - d eta ell) |grad f|^2 - (eta + eta^2 ell) rho^2 d^2 mu^4 / 36 - ell mu^2.
    """
    d, angles = 2, 2 * np.pi * (np.arange(96) + 0.5) / 96
    for seed in range(30):
        f, rng = ridges(seed, d), np.random.default_rng(seed)
        x = rng.standard_normal(d)
        size, constants = given(f, x, rng)
        method = replace(theorem_4(**constants, p=0.1, option=2).method(), epsilon=1e-9)
        ways = [Direction(np.array([math.cos(a), math.sin(a)])) for a in angles]
        after = np.mean([f(next(method.iterates(oracle(f), x, way)).x) for way in ways])
        gain = (48 * size**2 - 6.25 * constants["epsilon"] ** 2) / (1024 * d * f.ell)
        assert f(x) - after >= gain - 1e-12


# Gradient steps of a finite sum


class Sum:
    """slope.x plus the mean of ridges: ell and rho bound those of every component."""

    def __init__(self, ridges, d, n=40, seed=0):
        self.parts = [ridges(1000 * seed + i, d) for i in range(n)]
        self.slope = np.random.default_rng(seed).standard_normal(d) * 2
        self.ell, self.rho = (max(getattr(part, name) for part in self.parts) for name in ("ell", "rho"))
        self.n = n

    def __call__(self, x, ids=None):
        ids = range(self.n) if ids is None else ids
        return x @ self.slope + np.mean([self.parts[i](x) for i in ids], axis=0)

    def gradients(self, x):
        return self.slope + np.array([part.gradient(x) for part in self.parts])

    def gradient(self, x):
        return self.gradients(x).mean(axis=0)

    def sigma(self, x):
        gradients = self.gradients(x)
        return math.sqrt(np.mean(np.sum((gradients - gradients.mean(axis=0)) ** 2, axis=1)))


@pytest.mark.parametrize(("option", "d"), [(1, 1), (1, 3), (2, 1), (2, 3), (2, 6)])
def test_zo_sgd(ridges, option, d):
    """f(x) - E f(x+) >= (|grad f|^2 - epsilon^2 / 8) / (16 ell), or for Option II / (128 d ell).

    With |grad f| >= epsilon / 2, as the check promises. sigma is that at x, all that one step knows of.
    """
    draws, sampled = 250, 0
    for seed in range(4):
        f, rng = Sum(ridges, d, seed=seed), np.random.default_rng(seed)
        x = rng.standard_normal(d)
        size, constants = given(f, x, rng)
        sigma, epsilon = f.sigma(x), constants["epsilon"]
        method = replace(theorem_3(**constants, sigma=sigma, p=0.1, option=option).method(), check=NeverSmall())
        sampled += method.batch < f.n
        whole = Oracle.of(f, vectorized=True, samples=f.n)
        after = [f(next(method.iterates(whole, x, np.random.default_rng([seed, i]))).x) for i in range(draws)]
        gain = (size**2 - epsilon**2 / 8) / (16 * f.ell if option == 1 else 128 * d * f.ell)
        assert f(x) - np.mean(after) >= gain - 4 * np.std(after, ddof=1) / math.sqrt(draws) - 1e-12
    assert option == 1 or sampled >= 2


def test_the_arithmetic_of_option_2():
    """The last lines of the proof for Option II, in units of epsilon^2 / (128 d ell), at the printed settings.

    As printed, three errors of at most 1/16, 1/16 and 1/8 are gathered as 1/8; their sum is 1/4, at which
    |grad f| = epsilon / 2 gains nothing. (The first also rests on item (3) of Lemma 8, which is false as printed.)
    What holds is the bound below, from E |g_S|^2 <= 2d (|grad f|^2 + sigma^2 / |S|) + rho^2 d^2 mu^4 / 18; it
    exceeds the printed one wherever |grad f| >= epsilon / 2.
    """
    S, mu4, mu2 = Fraction(1, 8), Fraction(9, 16), Fraction(1, 1024)  # sigma^2/|S|, rho^2 d^2 mu^4, d ell^2 mu^2
    assert S / 2 + mu4 / 9 + 128 * mu2 == Fraction(1, 4)
    for d in (1, 2, 100):
        eta = Fraction(1, 32 * d)  # times 1 / ell
        slope = 128 * d * eta * (Fraction(1, 2) - d * eta)
        error = 128 * d * (d * eta**2 * S + (eta + eta**2) * mu4 / 36 + mu2 / d)
        assert slope == Fraction(15, 8)
        half = Fraction(1, 4)  # |grad f|^2 = epsilon^2 / 4, and the difference grows with it
        assert slope * half - error >= half - Fraction(1, 8)
