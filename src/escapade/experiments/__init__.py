"""The paper's experiments: its tables as data, the runs, the figures, the claims and the report."""

from .rates import RatesOutcome, run_rates
from .runner import NAMES, Outcome, run

__all__ = ["NAMES", "Outcome", "RatesOutcome", "run", "run_rates"]
