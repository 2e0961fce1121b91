"""The journal: every value durable before it is used, and a run that was cut short goes on where it was.

`minimize(fun, x0, journal="run.db")` records each block of values in one SQLite file, in a transaction of its own,
before the method sees them. Started again with the same arguments, the run repeats itself from the file, at no query,
and goes on from there, to the same bits. The file holds numbers and strings; nothing in it is ever executed.

For people who look into one (both read a copy, so a run may be writing to it at the same time):

    describe(path) -> str        what is in it, for printing
    rounds(path) -> list[Row]    one row a block: number, purpose, points, queries, least value, best so far, time
"""

from .header import generator_of, restorable, state_of
from .record import Journal, Record, digest_of
from .show import Row, describe, rounds

__all__ = [
    "Journal",
    "Record",
    "Row",
    "describe",
    "digest_of",
    "generator_of",
    "restorable",
    "rounds",
    "state_of",
]
