"""The paper's experiments: its tables as data, the runs, the figures, the claims and the report."""

from .runner import NAMES, Outcome, run

__all__ = ["NAMES", "Outcome", "run"]
