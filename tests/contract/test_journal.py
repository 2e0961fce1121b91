"""The journal: a run that was cut goes on to the same bits, pays for nothing twice, and believes no damaged file."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import array_api_strict
import numpy as np
import pytest

import escapade
from escapade.errors import InvalidSetting, JournalError
from escapade.methods import PRESETS
from escapade.oracle import points
from escapade.oracle.journal import describe, rounds
from escapade.oracle.journal.entry import chained
from escapade.problems import OffAxis, StochasticCubic
from escapade.stopping import Ending, Stop
from escapade.trace import Iterate

D, N = 4, 50
SAMPLED = {
    "zo-sgd-ncf", "zo-sgd-ncf-ii", "zo-scsg-ncf", "zo-scsg-ncf-ii",
    "zo-spider-ncf", "zo-spider", "zo-scsg", "zo-sgd",
}
PROBLEM, SUM = OffAxis(d=D, seed=1), StochasticCubic(d=D, n=N)


class Counted:
    """Counts points, and is interrupted at one of them."""

    def __init__(self, cut=None):
        self.points, self.cut = 0, cut

    def __call__(self, X, *ids):
        self.points += len(X)
        if self.cut is not None and self.points > self.cut:
            self.cut = None
            raise KeyboardInterrupt
        return SUM.sample_value(X, *ids) if ids else PROBLEM(X)


def options_of(name):
    if name in SAMPLED:
        return {"samples": N, "maxfev": 6000, "gtol": 0.15, "curvtol": 0.4}
    return {"maxfev": 250} | ({"jac": PROBLEM.gradient} if name == "neon2-gd" else {})


def run(fun, path=None, x0=None, **options):
    options = {"vectorized": True, "rng": 3, "maxfev": 400, "journal": path, **options}
    return escapade.minimize(fun, np.full(D, 0.2) if x0 is None else x0, **options)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_run_that_was_cut_goes_on_to_the_same_bits(name, tmp_path):
    options = {"method": name, **options_of(name)}
    whole, fun = run(Counted(), **options), Counted(cut=60)
    cut = run(fun, tmp_path / "run.db", **options)
    assert cut.stop is Stop.INTERRUPTED
    paid = fun.points
    again = run(fun, tmp_path / "run.db", **options)
    assert again.to_json() == whole.to_json()
    assert again.x.tobytes() == whole.x.tobytes()
    uncut = Counted()
    run(uncut, **options)
    batch = max(row.points for row in rounds(tmp_path / "run.db"))
    assert uncut.points <= fun.points <= uncut.points + batch
    assert paid < fun.points
    replayed = Counted()
    assert run(replayed, tmp_path / "run.db", **options).to_json() == whole.to_json()
    assert replayed.points == 0


def test_every_value_is_on_the_disk_before_it_is_used(tmp_path):
    """A copy of the files at any moment is what a crash would leave."""
    path, images = tmp_path / "run.db", []

    def fun(X):
        image = tmp_path / f"image{len(images)}.db"
        for end in ("", "-wal"):
            if os.path.exists(f"{path}{end}"):
                shutil.copyfile(f"{path}{end}", f"{image}{end}")
        images.append(image)
        return PROBLEM(X)

    whole = run(fun, path)
    for k in range(0, len(images), 5):
        fresh = Counted()
        assert run(fresh, images[k]).to_json() == whole.to_json()
        assert len(rounds(images[k])) == len(images)
        assert fresh.points == sum(row.points for row in rounds(path)[k:])


def test_the_generator_of_a_run_without_a_seed_is_remembered(tmp_path):
    fun = Counted(cut=100)
    run(fun, tmp_path / "run.db", rng=None, method="zpsgd")
    done = run(fun, tmp_path / "run.db", rng=None, method="zpsgd")
    assert done.to_json() == run(Counted(), tmp_path / "run.db", rng=None, method="zpsgd").to_json()
    assert done.stop is not Stop.INTERRUPTED
    with pytest.raises(JournalError, match=r"rng was seeded with \d+, .* and is seeded with 5"):
        run(fun, tmp_path / "run.db", rng=5, method="zpsgd")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"gtol": 1e-3}, "gtol was null and is 0.001"),
        ({"curvtol": 0.5}, "curvtol was null and is 0.5"),
        ({"method": "pagd"}, 'method was "auto" and is "pagd"'),
        ({"x0": np.array([0.2, 0.2, 0.3, 0.2])}, r"x0\[2\] was 0.2 and is 0.3"),
        ({"x0": np.zeros(3)}, "x0 had 4 entries and has 3"),
        ({"x0": np.full(D, 0.2, dtype=np.float32)}, 'dtype was "float64" and is "float32"'),
        ({"rng": 4}, "rng was seeded with 3, .* and is seeded with 4"),
        ({"x_scale": 2.0}, "x_scale was null and is 2.0"),
        ({"noise": 1e-6}, "noise was null and is 1e-06"),
        ({"failure": 0.01}, "failure was 0.001 and is 0.01"),
        ({"prefer": "rounds"}, 'prefer was "queries" and is "rounds"'),
        ({"args": (np.arange(3),)}, r"args was \[\] and is \[.*array of shape \(3,\)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_other_arguments_are_refused_and_named(other, words, tmp_path):
    run(Counted(), tmp_path / "run.db")
    before, fun = (tmp_path / "run.db").read_bytes(), Counted()
    with pytest.raises(JournalError, match=words):
        run(fun, tmp_path / "run.db", **other)
    assert fun.points == 0
    assert (tmp_path / "run.db").read_bytes() == before


def test_another_version_of_the_function_is_refused(tmp_path):
    path = tmp_path / "run.db"
    run(Counted(), escapade.Journal(path, tag="v1"))
    with pytest.raises(JournalError, match='tag was "v1" and is "v2"'):
        run(Counted(), escapade.Journal(path, tag="v2"))
    with pytest.raises(JournalError, match='tag was "v1" and is null'):
        run(Counted(), path)
    run(Counted(), escapade.Journal(path, tag="v1"))


def test_other_points_are_refused(tmp_path):
    """What the header cannot know: a method that does something else."""

    def ask(fun, *what):
        return run(fun, tmp_path / "run.db", method=_Asks(*what), maxfev=40)

    ask(Counted(), 1.0)
    fun = Counted()
    with pytest.raises(JournalError, match=r"block 0 asks for other points \(or samples\)\. The function's"):
        ask(fun, 2.0)
    with pytest.raises(JournalError, match="block 0 asks for 3 points for 'descent', where the journal holds 2 points"):
        ask(fun, 1.0, 3)
    assert fun.points == 0


class _Asks:
    """A method whose settings the journal cannot see."""

    name = "asks"

    def __init__(self, at, count=2):
        self.at, self.count = at, count

    def iterates(self, f, x, rng):
        f(points(np.full((self.count, D), self.at)))
        yield Iterate(x)
        return Ending(Stop.FINISHED)


@pytest.mark.parametrize("name", ["auto", "zo-gd-ncf", "zpsgd", "pagd", "escaping-bfgs"])
def test_a_budget_may_be_raised(name, tmp_path):
    fun = Counted()
    for maxfev in (60, 130, 400):
        result = run(fun, tmp_path / "run.db", maxfev=maxfev, method=name)
        assert result.nfev <= maxfev
    assert result.to_json() == run(Counted(), maxfev=400, method=name).to_json()
    last_certificates = 2 * 60 // 4 + 2 * 130 // 4
    assert fun.points <= result.nfev + last_certificates


@pytest.mark.parametrize("first", [{"maxiter": 3}, {"stop": escapade.stopping.Iterations(3)}])
def test_other_limits_may_be_lifted(first, tmp_path):
    short = run(Counted(), tmp_path / "run.db", method="pagd", **first)
    assert short.nit == 3
    assert short.nfev_by_purpose["certificate"] > 0
    fun = Counted()
    whole = run(fun, tmp_path / "run.db", method="pagd")
    assert whole.to_json() == run(Counted(), method="pagd").to_json()
    assert fun.points == whole.nfev - short.nfev + short.nfev_by_purpose["certificate"]


def test_a_smaller_budget_does_not_shorten_a_journal(tmp_path):
    whole = run(Counted(), tmp_path / "run.db", maxfev=400, method="pagd")
    held = len(rounds(tmp_path / "run.db"))
    with pytest.raises(JournalError, match=r'limits: .*"maxfev": 400.* then, .*"maxfev": 150.* now'):
        run(Counted(), tmp_path / "run.db", maxfev=150, method="pagd")
    assert len(rounds(tmp_path / "run.db")) == held
    assert run(Counted(), tmp_path / "run.db", maxfev=400, method="pagd").to_json() == whole.to_json()


def test_missing_values_are_recorded_as_missing(tmp_path):
    def holes(X):
        values = PROBLEM(X)
        values[X[:, 0] > 0.2] = np.nan
        return values

    options = {"nan_policy": "penalise", "maxfev": 150}
    whole = run(holes, tmp_path / "run.db", **options)
    assert sum(row.missing for row in rounds(tmp_path / "run.db")) > 0
    again = run(Counted(cut=0), tmp_path / "run.db", **options)
    assert again.to_json() == whole.to_json() == run(holes, **options).to_json()
    assert "have no value" in describe(tmp_path / "run.db")


def test_a_failing_function_is_asked_again_where_it_failed(tmp_path):
    def failing(X):
        failing.points += len(X)
        if failing.points > 100:
            raise OSError("the licence has expired")
        return PROBLEM(X)

    failing.points = 0
    with pytest.raises(escapade.errors.EvaluationFailed, match="licence"):
        run(failing, tmp_path / "run.db")
    fun = Counted()
    assert run(fun, tmp_path / "run.db").to_json() == run(Counted()).to_json()
    assert fun.points + 100 >= run(Counted()).nfev > fun.points


def test_other_arrays_and_precisions(tmp_path):
    x = array_api_strict.asarray([0.1, 0.2, 0.3], dtype=array_api_strict.float32)

    def fun(X):
        return array_api_strict.sum(X * X, axis=1)

    first = run(fun, tmp_path / "run.db", x0=x, gtol=1e-2)
    again = run(lambda X: 1 / 0, tmp_path / "run.db", x0=x, gtol=1e-2)
    assert first.to_json() == again.to_json()
    assert again.x.dtype == array_api_strict.float32


def test_many_runs_have_a_journal_each(tmp_path):
    starts = np.random.default_rng(0).uniform(-0.3, 0.3, (3, D))
    fun = Counted(cut=150)
    cut = escapade.multistart(fun, starts, vectorized=True, journal=tmp_path / "runs.db", maxfev=150)
    assert cut.interrupted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs-0.db", "runs-1.db", "runs-2.db"]
    done = escapade.multistart(fun, starts, vectorized=True, journal=tmp_path / "runs.db", maxfev=150)
    again = escapade.multistart(Counted(cut=0), starts, vectorized=True, journal=tmp_path / "runs.db", maxfev=150)
    assert [r.to_json() for r in done.runs] == [r.to_json() for r in again.runs]
    assert again.rounds == 0


def test_a_journal_can_be_looked_at_while_it_is_written(tmp_path):
    seen = []

    def fun(X):
        if len(seen) < 3:
            seen.append(describe(tmp_path / "run.db"))
        return PROBLEM(X)

    result = run(fun, escapade.Journal(tmp_path / "run.db", tag="v7"))
    assert "none yet" in seen[0]
    assert "blocks      2" in seen[2]
    text, rows = describe(tmp_path / "run.db"), rounds(tmp_path / "run.db")
    assert f"queries     {result.nfev}: " in text
    assert "auto, 4 variables, tag v7" in text
    assert rows[-1].queries == result.nfev
    assert rows[-1].best == result.fun_best == min(row.least for row in rows)
    assert [row.number for row in rows] == list(range(len(rows)))


# Damage


def crashed(folder, name="run.db"):
    """A journal as kill -9 leaves it, with its write-ahead log; and the result of the whole run."""
    path, copy = folder / "live.db", folder / name
    state = {"n": 0}

    def fun(X):
        state["n"] += 1
        if state["n"] == 40:
            for end in ("", "-wal"):
                if os.path.exists(f"{path}{end}"):
                    shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        return PROBLEM(X)

    return copy, run(fun, path, method="zo-gd-ncf", maxfev=600)


@pytest.mark.parametrize("kind", ["closed", "crashed", "log of crashed", "truncated"])
def test_a_damaged_tail_is_found_and_the_valid_part_used(kind, tmp_path):
    copy, whole = crashed(tmp_path)
    source = tmp_path / "live.db" if kind in ("closed", "truncated") else copy
    rng = np.random.default_rng(5)
    kept = []
    for trial in range(8):
        folder = tmp_path / f"{trial}"
        folder.mkdir()
        for end in ("", "-wal"):
            if os.path.exists(f"{source}{end}"):
                shutil.copyfile(f"{source}{end}", f"{folder / 'run.db'}{end}")
        target = f"{folder / 'run.db'}{'-wal' if kind == 'log of crashed' else ''}"
        size, length = os.path.getsize(target), int(rng.integers(1, 4097))
        with open(target, "r+b") as file:
            if kind == "truncated":
                file.truncate(size - length)
            else:
                file.seek(size - length)
                file.write(rng.bytes(length))
        fun = Counted()
        try:
            result = run(fun, folder / "run.db", method="zo-gd-ncf", maxfev=600)
        except JournalError:  # even the header could not be trusted
            continue
        assert result.to_json() == whole.to_json()
        kept.append(whole.nfev - fun.points)
    assert len(kept) >= 6
    assert max(kept) > 100


def test_damage_anywhere_is_refused_or_cut_off(tmp_path):
    """Also in the schema, whose text may then not even be text."""
    whole = run(Counted(), tmp_path / "run.db")
    data, rng, ended = (tmp_path / "run.db").read_bytes(), np.random.default_rng(1), []
    schema = data.index(b"CREATE TABLE header")
    for trial, where in enumerate([schema + 3, schema + 20, 0, 40, *rng.integers(0, len(data) - 200, 16)]):
        path = tmp_path / f"{trial}.db"
        length = int(rng.integers(1, 200))
        path.write_bytes(data[:where] + rng.bytes(length) + data[where + length :])
        try:
            ended.append(run(Counted(), path).to_json() == whole.to_json())
            describe(path)
        except JournalError:
            ended.append(None)
    assert False not in ended
    assert {None, True} == set(ended)


@pytest.mark.parametrize("column", ["vals", "digest", "precision", "calls", "best", "purpose", "lost", "weight", "seq"])
def test_a_changed_value_ends_the_valid_part(column, tmp_path):
    whole = run(Counted(), tmp_path / "run.db")
    rows = rounds(tmp_path / "run.db")
    change = {
        "vals": "vals = zeroblob(length(vals))",
        "digest": "digest = zeroblob(16)",
        "precision": "precision = precision * 2 + 1",
        "calls": "calls = calls + 1",
        "best": "best = x'00'",
        "purpose": "purpose = purpose || ' '",
        "lost": "lost = 'DROP TABLE rounds'",
        "weight": "weight = 2",
        "seq": "seq = 100000",
    }[column]
    db = sqlite3.connect(tmp_path / "run.db")
    db.execute(f"UPDATE rounds SET {change} WHERE seq = 7")
    db.commit()
    db.close()
    fun = Counted()
    assert run(fun, tmp_path / "run.db").to_json() == whole.to_json()
    assert fun.points == sum(row.points for row in rows[7:])
    assert (tmp_path / "run.db.damaged").exists()


# Hostile files


def foreign(path, *statements):
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


HOSTILE = {
    "another database": lambda p: foreign(p, "CREATE TABLE users (name TEXT)", "INSERT INTO users VALUES ('ann')"),
    "a trigger": lambda p: foreign(p, "CREATE TRIGGER t AFTER INSERT ON rounds BEGIN DELETE FROM header; END"),
    "a view": lambda p: foreign(p, "CREATE VIEW v AS SELECT * FROM rounds"),
    "an index": lambda p: foreign(p, "CREATE INDEX i ON rounds (abs(weight))"),
    "another table": lambda p: foreign(p, "CREATE TABLE more (x)"),
    "another column": lambda p: foreign(p, "ALTER TABLE rounds ADD COLUMN more"),
    "a header that is no JSON": lambda p: foreign(p, "UPDATE header SET value = 'x' WHERE name = 0"),
    "no header": lambda p: foreign(p, "DELETE FROM header"),
    "SQL in the header": lambda p: foreign(p, "UPDATE header SET value = '''); DROP TABLE rounds; --' WHERE name = 0"),
    "text": lambda p: p.write_text("hello " * 1000),
    "a folder": lambda p: (p.unlink(), p.mkdir()),
    "a link": lambda p: (p.rename(p.with_name("real.db")), p.symlink_to("real.db")),
    "a pipe": lambda p: (p.unlink(), os.mkfifo(p)),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_and_left_as_it_is(kind, tmp_path):
    path = tmp_path / "run.db"
    if kind == "another database":
        HOSTILE[kind](path)
    else:
        run(Counted(), path)
        HOSTILE[kind](path)
    readable = stat.S_ISREG(os.stat(path).st_mode)
    before, fun = path.read_bytes() if readable else None, Counted()
    with pytest.raises(JournalError, match=r"another file|another path|a file of its own"):
        run(fun, path)
    assert fun.points == 0
    assert not readable or path.read_bytes() == before


def test_a_huge_blob_is_refused(tmp_path, monkeypatch):
    run(Counted(), tmp_path / "run.db")
    monkeypatch.setattr("escapade.oracle.journal.file.LARGEST", 1 << 20)
    foreign(tmp_path / "run.db", "UPDATE rounds SET vals = zeroblob(4000000) WHERE seq = 2")
    with pytest.raises(JournalError, match="a value of more than 1 MB at block 2"):
        run(Counted(), tmp_path / "run.db")


def forge(path, change):
    """Write a header with a right checksum."""
    db = sqlite3.connect(path)
    text, x0 = (db.execute("SELECT value FROM header WHERE name = ?", (name,)).fetchone()[0] for name in (0, 1))
    text = change(text)
    rows = [(text, 0), (chained(b"", (text, x0)), 2)]
    db.executemany("UPDATE header SET value = ? WHERE name = ?", rows)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "[" * 100_000,
        lambda text: "[]",
        lambda text: '{"settings": 3}',
        lambda text: text.replace('"settings"', '"other"'),
        lambda text: text.replace('"tag"', '"other"'),
        lambda text: text.replace('"pool_size": 4', '"pool_size": 1000000000'),
        lambda text: text.replace('"entropy": ', '"entropy": -'),
        lambda text: text.replace('"PCG64"', '"MT19937"'),
    ],
)
def test_a_forged_header_is_refused(change, tmp_path):
    run(Counted(), tmp_path / "run.db")
    forge(tmp_path / "run.db", change)
    fun = Counted()
    with pytest.raises(JournalError, match=r"is damaged|cannot be made from its seed"):
        run(fun, tmp_path / "run.db", rng=None)
    assert fun.points == 0


def test_strings_of_a_file_are_only_shown(tmp_path):
    """A tag that would clear a terminal, or drop a table."""
    run(Counted(), escapade.Journal(tmp_path / "run.db", tag="\x1b[2J'); DROP TABLE rounds; --"))
    assert "tag ?[2J'); DROP TABLE rounds; --" in describe(tmp_path / "run.db")
    fun = Counted()
    run(fun, escapade.Journal(tmp_path / "run.db", tag="\x1b[2J'); DROP TABLE rounds; --"))
    assert fun.points == 0


@pytest.mark.parametrize("path", ["no/such/folder/run.db", "run\0.db", "x" * 5000])
def test_paths_that_cannot_be(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JournalError, match="cannot be opened"):
        run(Counted(), path)


@pytest.mark.parametrize("bad", [3, b"run.db", True])
def test_what_is_no_journal_is_named(bad):
    with pytest.raises(InvalidSetting, match="journal="):
        run(Counted(), bad)


SCRIPT = """
import os, sys, time
import numpy as np
import escapade
from escapade.problems import OffAxis
problem, path, how = OffAxis(d=4, seed=1), sys.argv[1], sys.argv[2]
if how == "nobody" and os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
if how == "full":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
def fun(X):
    if how == "slow":
        print("asked", flush=True)
        time.sleep(0.02)
    return problem(X)
try:
    settings = {"vectorized": True, "rng": 3, "maxfev": 2000, "method": "zo-gd-ncf"}
    result = escapade.minimize(fun, np.full(4, 0.2), journal=path, **settings)
    print(result.to_json())
except escapade.errors.JournalError as error:
    print("refused:", error)
"""


def other_process(path, how):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), how], stdout=subprocess.PIPE, text=True)


def long_run(path=None):
    fun = Counted()
    return run(fun, path, method="zo-gd-ncf", maxfev=2000), fun


def test_a_full_disk_keeps_what_was_recorded(tmp_path):
    """A real limit on the size of files."""
    said = other_process(tmp_path / "run.db", "full").communicate()[0]
    assert "refused:" in said
    assert "make room on the disk" in said
    held = len(rounds(tmp_path / "run.db"))
    assert held > 10
    whole, fun = long_run(tmp_path / "run.db")
    assert whole.to_json() == long_run()[0].to_json()
    assert fun.points < whole.nfev


def test_a_file_that_may_not_be_written_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.db")
        run(Counted(), path)
        path.chmod(0o444)
        os.chmod(folder, 0o555)
        said = other_process(path, "nobody").communicate()[0]
        os.chmod(folder, 0o755)
    assert "refused:" in said
    assert "allow writing" in said


def test_two_runs_at_once_are_refused(tmp_path):
    first = other_process(tmp_path / "run.db", "slow")
    first.stdout.readline()
    try:
        with pytest.raises(JournalError, match="another run is using it"):
            long_run(tmp_path / "run.db")
    finally:
        first.kill()
        first.communicate()


def test_kill_9_at_random_moments(tmp_path):
    """Real processes, really killed; `benchmarks/journal.py` does it fifty times."""
    whole, rng, kills = long_run()[0], np.random.default_rng(2), 0
    for _ in range(3):
        victim = other_process(tmp_path / "run.db", "slow")
        victim.stdout.readline()
        time.sleep(float(rng.uniform(0.05, 0.5)))
        victim.send_signal(signal.SIGKILL)
        asked = 1 + victim.communicate()[0].count("asked")
        held = len(rounds(tmp_path / "run.db"))
        kills += asked
        assert held <= kills <= held + 3  # each kill loses the block in flight at most
    result, fun = long_run(tmp_path / "run.db")
    assert result.to_json() == whole.to_json()
    assert fun.points < whole.nfev
