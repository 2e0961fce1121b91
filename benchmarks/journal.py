"""The journal under fire: real `kill -9`s, damaged files, and what it costs.

    python benchmarks/journal.py [--kills 50] [--damages 200]

1. A journaled run, in a process of its own, is killed at random moments; each is resumed, must end with the same bits,
   and must have paid for at most one batch twice.
2. The last 1 to 4096 bytes of a journal's file (closed, or as a crash left it; or of its write-ahead log) are
   overwritten with random bytes; each run is started again and must never crash, nor use a wrong value. Then the same
   with up to 200 bytes anywhere in the file, where the header may be hit and the journal refused.
3. The cost of a block of values with and without a journal.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import escapade
from escapade.errors import JournalError
from escapade.oracle.journal import rounds
from escapade.problems import OffAxis

D = 6
PROBLEM = OffAxis(d=D, seed=1)


class Paid:
    """Counts the points it is paid for, in a file that survives its process."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        os.write(self.file, b"." * len(X))
        return PROBLEM(X)


def run(fun, journal=None, maxfev: int = 6000) -> escapade.Result:
    return escapade.minimize(
        fun, np.full(D, 0.2), method="zo-gd-ncf", vectorized=True, rng=7, maxfev=maxfev, gtol=1e-3, journal=journal
    )


def victim(folder: Path, started) -> None:
    fun = Paid(folder / "paid")
    started.set()
    run(fun, folder / "run.db")


def kills(count: int, rng: np.random.Generator) -> None:
    whole = run(PROBLEM)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run(PROBLEM, Path(folder, "run.db"))
        seconds = time.perf_counter() - began
        batch = max(row.points for row in rounds(Path(folder, "run.db")))
    print(f"kill -9: a run of {whole.nfev} queries in {whole.nrounds} rounds, {seconds:.1f} s, batches of {batch}")
    processes = multiprocessing.get_context("fork")
    same, extra, replayed, killed, left = 0, [], [], 0, 0
    for _ in range(count):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            started = processes.Event()
            process = processes.Process(target=victim, args=(folder, started))
            process.start()
            started.wait()
            moment = int(rng.uniform(0, 0.97) * whole.nfev)
            while (folder / "paid").stat().st_size < moment:
                time.sleep(0.001)
            time.sleep(float(rng.uniform(0, 2 * seconds / whole.nrounds)))  # anywhere within a round
            process.kill()
            process.join()
            killed += process.exitcode == -9
            left += (folder / "run.db-wal").exists()
            held = rounds(folder / "run.db") if (folder / "run.db").exists() else []
            replayed.append(len(held))
            result = run(Paid(folder / "paid"), folder / "run.db")
            same += result.to_json() == whole.to_json() and result.x.tobytes() == whole.x.tobytes()
            extra.append((folder / "paid").stat().st_size - whole.nfev)
    print(f"  {killed} of {count} killed while running ({left} left a write-ahead log)")
    print(f"  {same} of {count} resumed to the same bits; rounds replayed {min(replayed)} to {max(replayed)}")
    print(f"  points paid for twice: at most {max(extra)} (a batch is {batch}); none in {extra.count(0)} of {count}")
    assert same == count
    assert max(extra) <= batch
    assert min(extra) >= 0


def images(folder: Path, cut: int) -> dict[str, Path]:
    """A closed journal, and one as a crash at some block leaves it."""
    live, crashed, blocks = folder / "live.db", folder / "crashed.db", 0

    def fun(X: np.ndarray) -> np.ndarray:
        nonlocal blocks
        blocks += 1
        if blocks == cut:
            for end in ("", "-wal"):
                shutil.copyfile(f"{live}{end}", f"{crashed}{end}")
        return PROBLEM(X)

    run(fun, live, maxfev=2000)
    return {"closed": live, "crashed": crashed, "log": crashed, "anywhere": live}


def damages(count: int, rng: np.random.Generator) -> None:
    whole = run(PROBLEM, maxfev=2000)
    kinds = [("closed", "closed", "crashed", "log")[trial % 4] for trial in range(count)] + ["anywhere"] * count
    tally: dict[str, list[Any]] = {kind: [0, 0, 0, []] for kind in ("closed", "crashed", "log", "anywhere")}
    with tempfile.TemporaryDirectory() as name:
        sources = images(Path(name), cut=whole.nrounds // 2)
        for kind in kinds:
            with tempfile.TemporaryDirectory() as other:
                path = Path(other, "run.db")
                for end in ("", "-wal"):
                    if os.path.exists(f"{sources[kind]}{end}"):
                        shutil.copyfile(f"{sources[kind]}{end}", f"{path}{end}")
                target = f"{path}-wal" if kind == "log" else str(path)
                size, length = os.path.getsize(target), int(rng.integers(1, 4097))
                where = size - length
                if kind == "anywhere":
                    length = 1 + length % 200
                    where = int(rng.integers(0, size - length))
                with open(target, "r+b") as file:
                    file.seek(where)
                    file.write(rng.bytes(length))
                fun = Paid(Path(other, "paid"))
                held = tally[kind]
                held[0] += 1
                try:
                    result = run(fun, path, maxfev=2000)
                except JournalError:
                    held[2] += 1
                    continue
                held[1] += result.to_json() == whole.to_json()
                held[3].append(1 - Path(other, "paid").stat().st_size / whole.nfev)
    print(f"damage to the last 1 to 4096 bytes, {count} times, and anywhere, {count} times:")
    for kind, (tried, same, refused, kept) in tally.items():
        print(
            f"  {kind:<8} {tried} files: {same} to the same bits, {refused} refused, {tried - same - refused} wrong; "
            f"kept {min(kept, default=0):.0%} to {max(kept, default=0):.0%} of the queries"
        )
        assert same + refused == tried


def cost() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, times = Path(folder, "run.db"), {}
        for name, journal in (("without", None), ("with", path), ("replayed", path)):
            began = time.perf_counter()
            result = run(PROBLEM, journal)
            times[name] = (time.perf_counter() - began) / result.nrounds * 1e6
        size = path.stat().st_size
        with Path(folder, "sync").open("wb") as synced:
            began = time.perf_counter()
            for _ in range(100):
                synced.write(b"x" * 4096)
                synced.flush()
                os.fsync(synced.fileno())
            sync = (time.perf_counter() - began) / 100 * 1e6
    each = ", ".join(f"{name} {value:.0f} µs" for name, value in times.items())
    print(f"a round of {result.nfev / result.nrounds:.1f} points: {each}")
    print(f"  one fsync of 4 kB here: {sync:.0f} µs; the file: {size / result.nrounds:.0f} bytes a round")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--damages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.getLogger("escapade").setLevel(logging.ERROR)
    rng = np.random.default_rng(options.seed)
    cost()
    damages(options.damages, rng)
    if options.kills:
        kills(options.kills, rng)


if __name__ == "__main__":
    main()
