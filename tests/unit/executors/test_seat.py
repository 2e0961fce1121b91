"""A run in a thread of its own: turns, endings, exceptions, and what it finds there."""

import contextvars
import os
import signal
import threading
import time

import numpy as np
import pytest

from escapade.executors.seat import Seat

WHO = contextvars.ContextVar("WHO", default="nobody")


def seat_of(job):
    return Seat(job, lambda rows: rows)


def test_values_travel_there_and_back():
    def job(evaluate):
        first = evaluate(np.zeros((2, 3)), ())
        second = evaluate(np.ones((1, 3)), (np.arange(4),))
        return first + second

    seat = seat_of(job)
    assert (seat.back, seat.live, seat.wanted) == (True, True, None)
    seat.send()
    assert seat.wait()
    assert seat.wanted.block.shape == (2, 3)
    assert seat.wanted.batch == ()
    seat.send(10)
    assert seat.wait()
    assert list(seat.wanted.batch[0]) == [0, 1, 2, 3]
    seat.send(5)
    assert seat.wait()
    assert (seat.live, seat.outcome, seat.error, seat.wanted) == (False, 15, None, None)
    assert seat.calls(7) == 7


def test_exceptions_travel_too():
    def job(evaluate):
        try:
            evaluate(np.zeros((1, 1)), ())
        except ValueError as error:
            return str(error)

    seat = seat_of(job)
    seat.send()
    seat.wait()
    seat.send(ValueError("no value"))
    seat.wait()
    assert seat.outcome == "no value"
    failed = seat_of(lambda evaluate: 1 / 0)
    failed.send()
    failed.wait()
    assert isinstance(failed.error, ZeroDivisionError)
    never = seat_of(lambda evaluate: pytest.fail("must not run"))
    never.send(KeyboardInterrupt())
    never.wait()
    assert isinstance(never.error, KeyboardInterrupt)


def test_one_that_keeps_its_turn_can_be_left():
    gate = threading.Event()
    seat = seat_of(lambda evaluate: gate.wait())
    seat.send()
    assert not seat.wait(0.01)
    assert not seat.back
    gate.set()
    assert seat.wait()


def test_ctrl_c_leaves_the_turn_where_it_is():
    """A real SIGINT while the job has the turn."""

    def job(evaluate):
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return evaluate(np.zeros((1, 1)), ())

    seat = seat_of(job)
    seat.send()
    with pytest.raises(KeyboardInterrupt):
        seat.wait()
    assert seat.wait()
    seat.send("value")
    assert seat.wait()
    assert seat.outcome == "value"


def test_the_context_is_that_of_the_caller():
    WHO.set("the caller")
    seat = seat_of(lambda evaluate: WHO.get())
    seat.send()
    seat.wait()
    assert seat.outcome == "the caller"
