"""A run in a thread of its own: turns, endings, exceptions, and what it finds there."""

import contextvars
import os
import signal
import threading
import time

import numpy as np
import pytest

from escapade.executors.coroutine import CoroutineThread

WHO = contextvars.ContextVar("WHO", default="nobody")


def thread_of(job):
    return CoroutineThread(job, lambda rows: rows)


def test_values_travel_there_and_back():
    def job(evaluate):
        first = evaluate(np.zeros((2, 3)), ())
        second = evaluate(np.ones((1, 3)), (np.arange(4),))
        return first + second

    thread = thread_of(job)
    assert (thread.back, thread.live, thread.wanted) == (True, True, None)
    thread.send()
    assert thread.wait()
    assert thread.wanted.block.shape == (2, 3)
    assert thread.wanted.batch == ()
    thread.send(10)
    assert thread.wait()
    assert list(thread.wanted.batch[0]) == [0, 1, 2, 3]
    thread.send(5)
    assert thread.wait()
    assert (thread.live, thread.outcome, thread.error, thread.wanted) == (False, 15, None, None)
    assert thread.calls(7) == 7


def test_exceptions_travel_too():
    def job(evaluate):
        try:
            evaluate(np.zeros((1, 1)), ())
        except ValueError as error:
            return str(error)

    thread = thread_of(job)
    thread.send()
    thread.wait()
    thread.send(ValueError("no value"))
    thread.wait()
    assert thread.outcome == "no value"
    failed = thread_of(lambda evaluate: 1 / 0)
    failed.send()
    failed.wait()
    assert isinstance(failed.error, ZeroDivisionError)
    never = thread_of(lambda evaluate: pytest.fail("must not run"))
    never.send(KeyboardInterrupt())
    never.wait()
    assert isinstance(never.error, KeyboardInterrupt)


def test_one_that_keeps_its_turn_can_be_left():
    gate = threading.Event()
    thread = thread_of(lambda evaluate: gate.wait())
    thread.send()
    assert not thread.wait(0.01)
    assert not thread.back
    gate.set()
    assert thread.wait()


def test_ctrl_c_leaves_the_turn_where_it_is():
    """A real SIGINT while the job has the turn."""

    def job(evaluate):
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return evaluate(np.zeros((1, 1)), ())

    thread = thread_of(job)
    thread.send()
    with pytest.raises(KeyboardInterrupt):
        thread.wait()
    assert thread.wait()
    thread.send("value")
    assert thread.wait()
    assert thread.outcome == "value"


def test_the_context_is_that_of_the_caller():
    WHO.set("the caller")
    thread = thread_of(lambda evaluate: WHO.get())
    thread.send()
    thread.wait()
    assert thread.outcome == "the caller"
