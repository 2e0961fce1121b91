"""Where points are evaluated. An executor has one method; the oracle is its only caller."""

from .choose import choose
from .local import Evaluate, NoValue, RowFailure, Serial, Vectorized
from .pairs import Paired, Pairs
from .processes import Processes
from .remote import TookTooLong, WorkerDied

__all__ = [
    "Evaluate",
    "NoValue",
    "Paired",
    "Pairs",
    "Processes",
    "RowFailure",
    "Serial",
    "TookTooLong",
    "Vectorized",
    "WorkerDied",
    "choose",
]
