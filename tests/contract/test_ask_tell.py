"""Ask and tell: the same bits as `minimize`, for every method, told in any order and from anywhere."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import escapade
from escapade.errors import EscapadeError, InvalidSetting, JournalError, MissingCapability, NonFiniteValue
from escapade.methods import PRESETS
from escapade.problems import OffAxis, StochasticCubic
from escapade.stopping import Stop

D, N = 4, 50
SAMPLED = {
    "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii",
    "zo-spider-ncf", "zo-spider", "zo-scsg", "zo-sgd",
}
PROBLEM, SUM = OffAxis(d=D, seed=1), StochasticCubic(d=D, n=N)
X0 = np.full(D, 0.2)


def fun(x, *ids):
    return float(SUM.sample_value(x, *ids) if ids else PROBLEM(x))


def options_of(name):
    if name in SAMPLED:
        return {"samples": N, "maxfev": 6000, "gtol": 0.15, "curvtol": 0.4, "rng": 3}
    return {"maxfev": 400, "rng": 3} | ({"jac": PROBLEM.gradient} if name == "neon2-gd" else {})


def laboratory(opt, rounds=10**9):
    """Evaluate whatever is asked for; the number of points that were."""
    count = 0
    while not opt.done and rounds:
        points = opt.ask()
        extra = () if opt.batch is None else (opt.batch,)
        opt.tell([fun(x, *extra) for x in points])
        count, rounds = count + len(points), rounds - 1
    return count


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_same_bits_as_minimize(name):
    options = {"method": name, **options_of(name)}
    opt = escapade.ask_tell(X0, **options)
    laboratory(opt)
    expected = escapade.minimize(fun, X0, **options)
    assert opt.result().to_json() == expected.to_json()
    assert opt.result().x.tobytes() == expected.x.tobytes()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_saved_and_picked_up(name, tmp_path):
    """Options that a file cannot hold are given again."""
    options = {"method": name, **options_of(name)}
    again = {"jac": options["jac"]} if "jac" in options else {}
    opt = escapade.ask_tell(X0, **options)
    for _ in range(3):
        laboratory(opt, rounds=4)
        opt.save(tmp_path / "opt.json")
        opt.stop()
        opt = escapade.ask_tell.load(tmp_path / "opt.json", **again)
    laboratory(opt)
    assert opt.result().to_json() == escapade.minimize(fun, X0, **options).to_json()


def test_told_in_any_order_and_in_parts(tmp_path):
    opt, rng, told = escapade.ask_tell(X0, rng=3), np.random.default_rng(0), set()
    while not opt.done:
        points, ids = opt.ask(), opt.ids
        assert len(points) == len(ids) == len(set(ids))
        assert not told & set(ids)
        some = rng.permutation(len(ids))[: rng.integers(1, len(ids) + 1)]
        opt.tell([fun(points[i]) for i in some], ids[some])
        told |= {int(i) for i in ids[some]}
        if rng.random() < 0.2:  # half-told blocks are saved too
            opt.save(tmp_path / "opt.json")
            opt = escapade.ask_tell.load(tmp_path / "opt.json")
    expected = escapade.minimize(fun, X0, rng=3)
    assert opt.result().to_json() == expected.to_json()
    assert len(told) == expected.nfev
    assert len(opt.ask()) == len(opt.ids) == 0


def test_what_is_known_is_not_paid_for_again():
    seen = []

    def recorded(x):
        seen.append((x.copy(), fun(x)))
        return seen[-1][1]

    expected = escapade.minimize(recorded, X0, rng=3)
    opt = escapade.ask_tell(X0, rng=3)
    opt.known(*map(np.array, zip(*seen, strict=True)))
    assert opt.done
    assert opt.result().to_json() == expected.to_json()
    some = seen[::3]
    opt = escapade.ask_tell(X0, rng=3)
    opt.known([x for x, _ in some], [f for _, f in some])
    paid = laboratory(opt)
    assert opt.result().to_json() == expected.to_json()
    assert 0 < paid <= expected.nfev - len({x.tobytes() for x, _ in some})


def test_known_values_answer_what_is_asked_now_and_are_saved(tmp_path):
    opt = escapade.ask_tell(X0, rng=3)
    while len(opt.ask()) < 3:
        laboratory(opt, rounds=1)
    points = opt.ask()
    opt.known(points[1], fun(points[1]))
    assert len(opt.ask()) == len(points) - 1
    later = escapade.ask_tell(X0, rng=3)
    later.known(points[:2], [fun(x) for x in points[:2]])
    later.save(tmp_path / "opt.json")
    paid = laboratory(escapade.ask_tell.load(tmp_path / "opt.json"))
    assert paid == escapade.minimize(fun, X0, rng=3).nfev - 2


def test_known_values_of_a_sampled_function_are_those_of_their_batch():
    options = {"method": "zo-scsg", **options_of("zo-scsg")}
    opt = escapade.ask_tell(X0, **options)
    points, batch = opt.ask(), opt.batch
    opt.known(points, [fun(x, batch[::-1]) for x in points], batch=batch[::-1])
    assert len(opt.ask()) == len(points)
    opt.known(points, [fun(x, batch) for x in points], batch=batch)
    assert not np.array_equal(opt.batch, batch) or not np.array_equal(opt.ask(), points)


def test_a_journal_makes_every_block_durable(tmp_path):
    first = escapade.ask_tell(X0, journal=tmp_path / "lab.db")
    paid = laboratory(first, rounds=7)
    del first
    gc.collect()
    second = escapade.ask_tell(X0, journal=tmp_path / "lab.db")
    paid += laboratory(second)
    assert second.result().success
    assert paid == second.result().nfev
    with pytest.raises(InvalidSetting, match="has a journal"):
        second.save(tmp_path / "opt.json")


def test_stopping_keeps_the_best():
    opt = escapade.ask_tell(X0, rng=3)
    laboratory(opt, rounds=10)
    with pytest.raises(EscapadeError, match=r"the run waits for (1 value|\d+ values): tell"):
        opt.result()
    result = opt.stop()
    assert result.stop is Stop.INTERRUPTED
    assert result.fun == fun(result.x)
    assert opt.done


def test_values_that_are_not_finite_follow_the_policy():
    opt = escapade.ask_tell(X0, rng=3)
    with pytest.raises(NonFiniteValue, match="returned nan"):
        opt.tell(np.nan)
    with pytest.raises(NonFiniteValue):
        opt.result()
    patient = escapade.ask_tell(X0, rng=3, nan_policy="retry")
    point = patient.ask()
    patient.tell(np.nan)
    assert np.array_equal(patient.ask(), point)
    laboratory(patient)
    assert patient.result().x.tobytes() == escapade.minimize(fun, X0, rng=3).x.tobytes()


@pytest.mark.parametrize("none", [None, [None], (None,), np.array([None])], ids=repr)
def test_none_is_a_missing_value_whatever_the_policy(none):
    opt = escapade.ask_tell(X0, rng=3)
    opt.tell(none)
    while not opt.done:  # what a certificate would take
        opt.tell([None] * len(opt.ask()))
    assert opt.result().stop is Stop.UNDECIDED
    assert "at x = [0.2 0.2 0.2 0.2] (None was told, 1 attempt)" in opt.result().message


@pytest.mark.parametrize("policy", ["raise", "retry", "penalise"])
def test_a_run_goes_on_without_what_cannot_be_had(policy, tmp_path):
    """No value where x_0 > 0.4: told as None, saved and picked up, it is what "penalise" makes of an exception."""

    def walled(x):
        if x[0] > 0.4:
            raise OSError("outside")
        return fun(x)

    def value(x):
        return None if x[0] > 0.4 else fun(x)

    start = np.full(D, -0.2)
    opt, lost = escapade.ask_tell(start, rng=3, on_error=policy), 0
    while not opt.done:
        points, ids = opt.ask(), opt.ids
        told = [value(x) for x in points]
        lost += told.count(None)
        opt.tell(told[0], ids[0])  # a half-told block
        opt.save(tmp_path / "opt.json")
        opt = escapade.ask_tell.load(tmp_path / "opt.json")
        if len(told) > 1:
            opt.tell(told[1:], ids[1:])
    alone = escapade.minimize(walled, start, rng=3, on_error="penalise")
    assert lost > 0
    assert opt.result().x.tobytes() == alone.x.tobytes()
    assert opt.result().nfev_by_purpose == alone.nfev_by_purpose


def test_options_that_load_does_not_take_are_named(tmp_path):
    opt = escapade.ask_tell(X0, rng=3, nan_policy="retry")
    opt.save(tmp_path / "opt.json")
    with pytest.raises(InvalidSetting, match=r"nan_policy='penalise' cannot be given to load\(\).* Leave it out"):
        escapade.ask_tell.load(tmp_path / "opt.json", nan_policy="penalise")


def test_ctrl_c_loses_nothing_that_was_told():
    """A real SIGINT while the run is thinking."""
    fired = []

    def callback(x):
        if not fired:
            fired.append(x)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    opt = escapade.ask_tell(X0, rng=3, callback=callback)
    with pytest.raises(KeyboardInterrupt):
        laboratory(opt)
    laboratory(opt)
    assert opt.result().to_json() == escapade.minimize(fun, X0, rng=3).to_json()


def test_a_generator_that_a_file_cannot_hold_is_given_again(tmp_path):
    def generator():
        return np.random.Generator(np.random.MT19937(5))

    opt = escapade.ask_tell(X0, rng=generator(), method="zpsgd", maxfev=200)
    laboratory(opt, rounds=5)
    opt.save(tmp_path / "opt.json")
    with pytest.raises(InvalidSetting, match="needs rng given again"):
        escapade.ask_tell.load(tmp_path / "opt.json")
    opt = escapade.ask_tell.load(tmp_path / "opt.json", rng=generator())
    laboratory(opt)
    expected = escapade.minimize(fun, X0, rng=generator(), method="zpsgd", maxfev=200)
    assert opt.result().to_json() == expected.to_json()


def test_an_abandoned_run_ends_its_thread():
    opt = escapade.ask_tell(X0)
    laboratory(opt, rounds=2)
    before = sum(thread.name == "escapade-run" for thread in threading.enumerate())
    del opt
    gc.collect()
    assert sum(thread.name == "escapade-run" for thread in threading.enumerate()) < before


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda opt: opt.tell([1.0, 2.0]), "2 values told for 1 point: one for each"),
        (lambda opt: opt.tell(1.0, 17), "id 17 is not wanted"),
        (lambda opt: opt.tell([1.0, 1.0], [0, 0]), "id 0 is not wanted"),
        (lambda opt: opt.tell("high"), "must be real numbers"),
        (lambda opt: opt.known([X0], [None]), r"values=\[None\] hold None"),
        (lambda opt: opt.tell([[1.0]]), "must be a vector"),
        (lambda opt: opt.known(np.zeros(3), 1.0), r"X of shape \(3,\)"),
        (lambda opt: opt.known(np.zeros((2, D)), [1.0]), "must have a row of 4 for each value"),
    ],
)
def test_what_cannot_be_told_is_named(call, words):
    opt = escapade.ask_tell(X0)
    with pytest.raises(InvalidSetting, match=words):
        call(opt)
    assert len(opt.ask()) == 1


@pytest.mark.parametrize("name", ["workers", "vectorized", "args", "timeout", "fun"])
def test_options_about_calling_are_refused(name):
    with pytest.raises(InvalidSetting, match=f"{name}= is about calling a function"):
        escapade.ask_tell(X0, **{name: 1})


def test_a_second_cobyqa_is_refused():
    first = escapade.ask_tell(X0, method="escaping-cobyqa")
    with pytest.raises(MissingCapability, match="one COBYQA at a time"):
        escapade.ask_tell(X0, method="escaping-cobyqa")
    first.stop()
    escapade.ask_tell(X0, method="escaping-cobyqa").stop()


def test_bad_options_are_refused_at_once():
    with pytest.raises(InvalidSetting, match="gtol"):
        escapade.ask_tell(X0, gtol=-1.0)


def test_bad_files_are_refused(tmp_path):
    opt = escapade.ask_tell(X0, rng=3, callback=lambda x: None)
    laboratory(opt, rounds=5)
    path = tmp_path / "opt.json"
    opt.save(path)
    data = json.loads(path.read_text())
    with pytest.raises(InvalidSetting, match="needs callback given again"):
        escapade.ask_tell.load(path)
    path.write_text(json.dumps(data | {"x0": [0.0] * D}))
    with pytest.raises(JournalError, match="does not repeat itself"):
        escapade.ask_tell.load(path, callback=lambda x: None)
    for text in ("", "[]", "{}", "null", json.dumps(data | {"format": "other"}), json.dumps(data | {"told": 3})):
        path.write_text(text)
        with pytest.raises(JournalError, match="holds no saved run"):
            escapade.ask_tell.load(path)
    with pytest.raises(JournalError, match="holds no saved run"):
        escapade.ask_tell.load(tmp_path / "nothing.json")


LABORATORY = """
import sys, time
from pathlib import Path
import numpy as np
from escapade.problems import OffAxis
problem, folder, n = OffAxis(d=4, seed=1), Path(sys.argv[1]), 0
while not (folder / "over").exists():
    asked = folder / f"asked{n}.npy"
    if asked.exists():
        np.save(folder / "values.npy", [float(problem(x)) for x in np.load(asked)])
        (folder / "values.npy").rename(folder / f"values{n}.npy")
        n += 1
    time.sleep(0.001)
"""


def test_a_laboratory_in_another_process_over_files(tmp_path):
    """The other process evaluates; this one picks the run up from its file every few rounds."""
    laboratory = subprocess.Popen([sys.executable, "-c", LABORATORY, str(tmp_path)])
    opt, n = escapade.ask_tell(X0, rng=3), 0
    try:
        while not opt.done:
            np.save(tmp_path / "points.npy", opt.ask())
            (tmp_path / "points.npy").rename(tmp_path / f"asked{n}.npy")
            while not (tmp_path / f"values{n}.npy").exists():
                assert laboratory.poll() is None
            opt.tell(np.load(tmp_path / f"values{n}.npy"))
            n += 1
            if n % 10 == 0:
                opt.save(tmp_path / "opt.json")
                opt = escapade.ask_tell.load(tmp_path / "opt.json")
    finally:
        (tmp_path / "over").touch()
        laboratory.wait()
    assert opt.result().to_json() == escapade.minimize(fun, X0, rng=3).to_json()
