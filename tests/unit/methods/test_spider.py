"""ZO-SPIDER and ZO-SPIDER-NCF: what is returned, which way an escape goes, and what an estimate costs."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from escapade import Oracle
from escapade.curvature import Finding
from escapade.curvature.finding import Interval, Outcome
from escapade.errors import BudgetExhausted
from escapade.experiments.build import build
from escapade.experiments.settings import stochastic
from escapade.methods import ZOSPIDER, ZOSPIDERNCF
from escapade.problems import StochasticCubic
from escapade.stopping import Stop
from escapade.trace import Move


@dataclass
class Finds:
    """A finder that gives these directions one after the other (None: certified), and remembers where it looked."""

    directions: list
    looked: list = field(default_factory=list)

    def attempt(self, j):
        return self

    def __call__(self, f, x, rng):
        v = self.directions[min(len(self.looked), len(self.directions) - 1)]
        self.looked.append(x)
        if v is None:
            return Finding(Outcome.CERTIFIED, curvature=Interval(len(self.looked), np.inf))
        return Finding(Outcome.FOUND, v)


def bowl(x, ids):
    return 0.5 * np.sum(x * x, axis=-1)


def ended(iterates):
    """What was yielded, and the ending."""
    steps = []
    while True:
        try:
            steps.append(next(iterates))
        except StopIteration as end:
            return steps, end.value


SPIDER = ZOSPIDER(epsilon_tilde=1.0, eta=0.05, S1=4, S2=2, q=3, mu=1e-3)
E1, E2 = np.eye(2)


def test_a_finding_is_returned_wherever_the_method_stops_on_the_point_that_was_looked_at():
    for escapes in range(4):
        finder = Finds([E1] * escapes + [None])
        method = ZOSPIDERNCF(delta=0.1, rho=1.0, spider=SPIDER, finder=finder)
        f = Oracle.of(bowl, vectorized=True, samples=4)
        steps, ending = ended(method.iterates(f, np.zeros(2), np.random.default_rng(0)))
        assert Counter(step.move for step in steps) == Counter({Move.ESCAPE: 2 * escapes})
        assert ending.stop is Stop.CERTIFIED
        assert ending.evidence.finding.curvature.lower == escapes + 1  # that of the last search


def test_a_finding_elsewhere_is_not_returned():
    spider = replace(SPIDER, epsilon_tilde=0.06)  # one step of 0.05 from 0.15 passes 2 epsilon~
    method = ZOSPIDERNCF(delta=0.1, rho=1.0, spider=spider, finder=Finds([None]))
    f = Oracle.of(bowl, vectorized=True, samples=4)
    steps, ending = ended(method.iterates(f, 0.15 * E1, np.random.default_rng(0)))
    assert (len(steps), ending.stop, ending.evidence.finding) == (1, Stop.FINISHED, None)


def test_downhill_escapes_on_the_falling_side_and_searches_only_where_v_is_small():
    for seed in range(8):
        finder = Finds([E1, None])
        spider = replace(SPIDER, epsilon_tilde=0.05)
        method = ZOSPIDERNCF(delta=0.1, rho=1.0, spider=spider, finder=finder, form="downhill")
        f = Oracle.of(bowl, vectorized=True, samples=4)
        steps, ending = ended(method.iterates(f, np.array([0.4, 0.3]), np.random.default_rng(seed)))
        assert [step.move for step in steps[:2]] == [Move.ESCAPE] * 2
        assert np.allclose(steps[1].x, [0.3, 0.3])  # down, whatever the seed; two mini-steps
        assert {step.move for step in steps[2:]} == {Move.DESCENT}
        assert ending.stop is Stop.CERTIFIED
        assert len(finder.looked) == 2
        assert finder.looked[1] is steps[-1].x
        assert np.linalg.norm(steps[-1].x) <= 2 * spider.epsilon_tilde


def test_on_the_stochastic_cubic_the_printed_form_walks_and_the_downhill_form_arrives():
    """d = 20 and the table's row. Three seeds; the printed form's moves are escapes, the other's one escape."""
    row = next(row for row in stochastic(20) if row.algorithm == "ZO-SPIDER-NCF")
    lowest, escapes = {}, {}
    for form in ("printed", "downhill"):
        for seed in range(3):
            problem = StochasticCubic(d=20, n=1000, seed=seed)
            method = replace(build(row, 20, 0.01, ell=problem.ell), form=form)
            f = Oracle.of(problem.sample_value, vectorized=True, samples=1000, maxfev=6_000_000)
            moves, low = [], 0.0
            try:
                for step in method.iterates(f, problem.start, np.random.default_rng(seed)):
                    moves.append(step.move)
                    low = min(low, float(problem(step.x)) if len(moves) % 20 == 0 else 0.0)
            except BudgetExhausted:
                pass
            lowest[form, seed] = low / problem.minimum
            escapes[form, seed] = moves.count(Move.ESCAPE) / len(moves)
    assert all(lowest["downhill", seed] > 0.99 > 0.8 > lowest["printed", seed] for seed in range(3))
    assert all(escapes["printed", seed] > 0.8 and escapes["downhill", seed] < 0.1 for seed in range(3))


def test_a_whole_sum_is_estimated_afresh():
    """S2 >= n: 2dn queries an estimate, exact whatever v was before; a difference would cost 4dn."""
    problem, n, x = StochasticCubic(d=5, n=30), 30, np.full(5, 0.3)
    f = Oracle.of(problem.sample_value, vectorized=True, samples=n)
    for S2, cost, exact in ((30, 2 * 5 * n, True), (99, 2 * 5 * n, True), (29, 4 * 5 * 29, False)):
        spider = ZOSPIDER(epsilon_tilde=0.01, eta=0.01, S1=4, S2=S2, q=7, mu=1e-5)
        before = f.ledger.queries
        v = spider.estimate(f, 3, x, x + 0.1, np.full(5, 10.0), np.random.default_rng(0))
        assert f.ledger.queries - before == cost
        assert np.allclose(v, problem.gradient(x), atol=1e-6) is exact
