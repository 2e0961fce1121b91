"""Where points are evaluated. An executor has one method; the oracle is its only caller."""

from .local import Evaluate, Serial, Vectorized

__all__ = ["Evaluate", "Serial", "Vectorized"]
