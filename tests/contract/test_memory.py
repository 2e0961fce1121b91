"""Bounded memory: a run keeps no more of its history than it was told to."""

import gc
import tracemalloc

import numpy as np
import pytest

import escapade
from escapade.errors import InvalidSetting
from escapade.oracle import Ledger
from escapade.trace import HISTORY, Iterate, Move, Trace


def kept(d, iterates, memory):
    """The bytes that a trace holds, as Python counts them."""
    ledger, x = Ledger(), np.zeros(d)
    ledger.by_purpose.update(setup=1, descent=2, curvature=3, escape=4, poll=5, check=6, certificate=7)
    gc.collect()
    tracemalloc.start()
    try:
        trace = Trace(memory=memory)
        for k in range(iterates):
            ledger.count("descent", 2)
            move = Move.ESCAPE if k % 100 == 0 else Move.DESCENT
            trace.add(Iterate(x, move, float(k), 1.0), x + 0.0, ledger, 0.5)
        gc.collect()
        return tracemalloc.get_traced_memory()[0], trace
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("d", "memory"), [(2, 2**20), (500, 2**22)])
def test_a_history_stays_within_its_memory(d, memory):
    size, trace = kept(d, 4000, memory)
    assert size <= memory
    assert len(trace) == 4000
    assert trace.escapes == 40
    nits = [step.nit for step in trace]
    assert len(nits) < 4000
    assert nits == sorted(nits)
    assert nits[0] == 1
    assert nits[-2:] == [3999, 4000]


def test_all_of_it_is_kept_where_that_is_asked_for():
    _, trace = kept(2, 3000, float("inf"))
    assert [step.nit for step in trace] == list(range(1, 3001))


@pytest.mark.slow
def test_a_run_of_five_thousand_variables_keeps_256_megabytes():
    size, trace = kept(5000, 20_000, HISTORY)
    assert size <= 2**28
    assert len(trace) == 20_000


def test_a_run_with_a_short_memory_is_the_same_run():
    def solve(**options):
        fun, x0 = escapade.problems.OffAxis(d=20, seed=1), np.full(20, 0.1)
        return escapade.minimize(fun, x0, method="zo-gd-ncf", maxfev=20_000, rng=0, **options)

    short, whole = solve(history_memory=10_000), solve(history_memory=None)
    assert short.nit == whole.nit == len(whole.history.steps) > len(short.history.steps)
    assert short.n_escapes == whole.n_escapes
    assert short.x.tobytes() == whole.x.tobytes()
    assert escapade.Result.from_json(short.to_json()).to_json() == short.to_json()
    with pytest.raises(InvalidSetting, match="history_memory=0"):
        solve(history_memory=0)
