"""`Escaping` on sampled functions: any descent with any sampled finder, and what it needs for that."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import escapade
from escapade import Oracle
from escapade.curvature import SAMPLED_FINDERS, Cheapest, Minibatch
from escapade.derivatives.paper import coord_gradient
from escapade.errors import InvalidSetting, MissingCapability
from escapade.methods import ZOSCSG, ZOSGD, ZOSPIDER, Escaping, uses_gradients
from escapade.problems import StochasticCubic, StreamCubic
from escapade.stopping import Ending, Stop
from escapade.trace import Iterate, Move

D, N = 6, 100
SUM = StochasticCubic(d=D, n=N)
MU = 1e-5
SIGMA2 = D / 3 * 1.1
"""E |xi'|^2, with xi' uniform in [-1, 1]^d, and a tenth more for xi."""

GOAL = {"gtol": 0.15, "curvtol": 0.4}


@dataclass(frozen=True)
class Momentum:
    """A sampled descent of a user's own, with nothing of this library's but the oracle; it never stops."""

    def iterates(self, f, x, rng):
        v = 0 * x
        while True:
            f_S = f.on(f.draw(40, rng))
            v = 0.7 * v - 0.06 * coord_gradient(f_S, x, MU)
            x = x + v
            yield Iterate(x)


@dataclass(frozen=True)
class Lazy:
    """One that stops after a few steps, wherever it is."""

    steps: int
    ending: Ending | None = None

    def iterates(self, f, x, rng):
        for _ in range(self.steps):
            x = x - 0.1 * coord_gradient(f.on(f.draw(40, rng)), x, MU)
            yield Iterate(x)
        return self.ending


DESCENTS = {
    "zo-sgd": ZOSGD(eta=0.1, batch=50, mu=MU),
    "zo-scsg": ZOSCSG(B=50, b=10, eta=0.1, mu=MU),
    "zo-spider": ZOSPIDER(epsilon_tilde=0.05, eta=0.05, S1=N, S2=20, q=10, mu=MU),
    "a user's own": Momentum(),
    "one that stops": Lazy(3),
}


def escaping(descent, finder="minibatch", **more):
    search = SAMPLED_FINDERS[finder](delta=GOAL["curvtol"], failure=5e-4)
    settings = {"epsilon": GOAL["gtol"], "delta": GOAL["curvtol"], "mu": MU, "rho": 1.0, "sigma2": SIGMA2, **more}
    return Escaping(descent=descent, finder=search, **settings)


def grad(x, ids):
    """Of a batch, by central differences: exact to 1e-9."""
    h = 1e-5 * np.eye(D)
    return (SUM.sample_value(x + h, ids) - SUM.sample_value(x - h, ids)) / 2e-5


def solve(method, problem=SUM, samples=N, **options):
    options = {"x0": np.zeros(D), "rng": 0, "maxfev": 2_000_000, **GOAL, **options}
    jac = {"jac": grad} if uses_gradients(method) else {}
    return escapade.minimize(
        problem.sample_value, options.pop("x0"), method=method, samples=samples, vectorized=True, **jac, **options
    )


@pytest.mark.parametrize("finder", sorted(SAMPLED_FINDERS))
@pytest.mark.parametrize("descent", DESCENTS)
def test_any_sampled_descent_with_any_sampled_finder(descent, finder):
    """From the saddle to a certificate that exact derivatives bear out."""
    result = solve(escaping(DESCENTS[descent], finder))
    assert result.success, result.message
    assert result.n_escapes >= 1
    assert np.linalg.norm(SUM.gradient(result.x)) <= GOAL["gtol"]
    assert np.linalg.eigvalsh(SUM.hessian(result.x))[0] >= -GOAL["curvtol"]
    assert float(SUM(result.x)) - SUM.minimum <= 0.02


@pytest.mark.parametrize("descent", DESCENTS)
def test_a_budget_is_hard_and_its_end_is_honest(descent):
    for maxfev in (1, 50, 1000, 9000, 30_000):
        result = solve(escaping(DESCENTS[descent]), maxfev=maxfev)
        assert result.nfev <= maxfev
        assert result.success is (result.certificate is not None and result.certificate.verdict == "second-order")
        assert result.success or result.stop is Stop.BUDGET


def test_on_a_stream():
    stream = StreamCubic(d=3)
    descent = ZOSGD(eta=0.1, batch=400, mu=MU)
    method = escaping(descent, epsilon=0.4, delta=0.8, sigma2=1.2)
    method = replace(method, finder=Minibatch(delta=0.8, failure=5e-4))
    result = solve(method, stream, "stream", x0=np.zeros(3), gtol=0.4, curvtol=0.8, maxfev=20_000_000)
    assert result.success, result.message
    assert float(stream(result.x)) < -0.3


def test_the_check_comes_first_and_then_every_so_many_iterates():
    for every in (1, 4):
        result = solve(escaping(Momentum(), every=every, rho=0.5), x0=np.full(D, 2.0))
        assert result.success
        until = [step.move for step in result.history].index(Move.DESCENT)
        checks = [step.by_purpose["gradient check"] for step in result.history[until:]]
        assert checks[0] > 0
        changes = np.flatnonzero(np.diff(checks)) + 1
        assert len(changes) > 0
        assert np.all(changes % every == 0)
    at_saddle = solve(escaping(Momentum()), maxiter=1)
    assert at_saddle.history[0].move is Move.ESCAPE
    assert "descent" not in at_saddle.nfev_by_purpose


def test_a_descent_that_does_nothing_is_helped_on():
    result = solve(escaping(Lazy(0)), x0=np.full(D, 0.5))
    assert result.success
    assert result.nfev_by_purpose["line search"] % (13 * N) == 0


def test_one_that_stops_at_a_check_is_only_started_again():
    result = solve(escaping(Lazy(4), every=2), x0=np.full(D, 0.5))
    assert result.success
    assert "line search" not in result.nfev_by_purpose


def test_a_descent_that_says_unbounded_ends_the_run():
    result = solve(escaping(Lazy(1, Ending(Stop.UNBOUNDED))), x0=np.full(D, 0.5))
    assert result.stop is Stop.UNBOUNDED
    assert result.certificate is None


class Kink:
    """f_i(x) = |x|, in whose tip every step goes up: no gradient step descends, and nothing can be shown."""

    def sample_value(self, X, ids):
        return np.sqrt(np.sum((X - 1) ** 2, axis=-1))


def test_where_nothing_helps_the_end_is_undecided_or_not_stationary():
    result = solve(escaping(Lazy(0)), Kink(), x0=np.ones(D) + 1e-9)
    assert not result.success
    assert result.stop in (Stop.UNDECIDED, Stop.NOT_STATIONARY, Stop.BUDGET)


def test_the_failure_probabilities_are_those_of_the_finder_and_the_driver():
    result = solve(escaping(Momentum()), failure=1e-3)
    assert result.certificate.failure == 1e-3
    assert result.certificate.finder.startswith("minibatch")


def test_what_it_needs_is_named():
    with pytest.raises(InvalidSetting, match=r"sigma2=None.*sampled function"):
        solve(escaping(Momentum(), sigma2=None))
    with pytest.raises(InvalidSetting, match=r"rho=None.*pass rho"):
        solve(escaping(Momentum(), rho=None))
    with pytest.raises(InvalidSetting, match=r"sigma2=-1.0 must be at least 0"):
        escaping(Momentum(), sigma2=-1.0)
    with pytest.raises(InvalidSetting, match="every=0 must be at least 1"):
        escaping(Momentum(), every=0)
    with pytest.raises(MissingCapability, match="is not for a sampled function: take one of minibatch, neon2-online"):
        solve(replace(escaping(Momentum()), finder=Cheapest(delta=0.4)))


def test_zo_sgd_is_the_step_of_algorithm_4():
    x, asked = np.full(D, 0.3), []

    def fun(X, ids):
        asked.append(len(X) * len(ids))
        return SUM.sample_value(X, ids)

    f, rng = Oracle.of(fun, vectorized=True, samples=N), np.random.default_rng(5)
    run = ZOSGD(eta=0.1, batch=30, mu=MU, T=2).iterates(f, x, rng)
    ids = f.draw(30, np.random.default_rng(5)).ids
    first = next(run)
    assert np.allclose(first.x, x - 0.1 * grad(x, ids), atol=1e-8)
    next(run)
    with pytest.raises(StopIteration) as end:
        next(run)
    assert end.value.value.stop is Stop.ITERATIONS
    assert asked == [2 * D * 30] * 2
