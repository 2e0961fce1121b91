"""The only door to function values: `Oracle`, its books, and the stencils it evaluates."""

from .ledger import Ledger
from .oracle import Batch, Oracle
from .stencil import Stencil, axes, central, pairs, point, points, some_axes

__all__ = ["Batch", "Ledger", "Oracle", "Stencil", "axes", "central", "pairs", "point", "points", "some_axes"]
