"""Chunk sizes and the decision to stay at home, from what f costs."""

import numpy as np
import pytest

from escapade.executors import Processes
from escapade.executors.throughput import Throughput


def test_one_point_until_the_cost_is_known():
    assert Throughput(2, 0.01).chunk(1000) == 1


@pytest.mark.parametrize(
    ("cost", "left", "size"),
    [(1.0, 100, 1), (0.02, 100, 1), (1e-3, 100, 10), (1e-3, 12, 6), (1e-6, 1000, 500), (0.0, 7, 4), (1e-3, 1, 1)],
)
def test_chunks_are_worth_a_message_and_shared_by_all(cost, left, size):
    throughput = Throughput(2, 0.01)
    throughput.seen(10, 10 * cost)
    assert throughput.chunk(left) == size


def test_the_cost_follows_what_is_seen():
    throughput = Throughput(2, 0.01)
    throughput.seen(1, 1.0)
    throughput.seen(0, 5.0)
    assert throughput.cost == 1.0
    for _ in range(30):
        throughput.seen(10, 0.1)
    assert throughput.cost == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize(
    ("cost", "rows", "d", "pays"),
    [
        (5e-6, 20, 10, False),
        (5e-6, 2000, 1000, False),
        (1e-4, 1, 10, False),
        (1e-3, 200, 10, True),
        (2e-2, 2, 10, True),
        (1e-4, 10_000, 10_000, False),
    ],
)
def test_what_is_worth_leaving_home_for(cost, rows, d, pays):
    pool = Processes(lambda x: 0.0, workers=2)
    pool.throughput.seen(1, cost)
    pool._saving = 1e9  # the start of the workers has been earned
    assert pool._pays(np.broadcast_to(0.0, (rows, d))) is pays


def test_the_start_must_be_earned():
    pool = Processes(lambda x: 0.0, workers=2)
    pool.throughput.seen(1, 1e-2)
    block = np.zeros((20, 10))  # 0.2 seconds, of which half could be saved
    assert [pool._pays(block) for _ in range(6)] == [False] * 4 + [True] * 2
