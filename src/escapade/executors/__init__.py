"""Where points are evaluated. An executor has one method; the oracle is its only caller."""

from .choose import choose
from .local import Evaluate, NoValue, RowFailure, Serial, Vectorized
from .processes import Processes
from .remote import TookTooLong, WorkerDied

__all__ = [
    "Evaluate",
    "NoValue",
    "Processes",
    "RowFailure",
    "Serial",
    "TookTooLong",
    "Vectorized",
    "WorkerDied",
    "choose",
]
