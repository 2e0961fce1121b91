"""The only door to function values: `Oracle`, its books, and the stencils it evaluates."""

from .arguments import jac_of
from .batch import Batch, Components
from .failures import Failures, Policy
from .grouped import GroupedOracle, Tilt
from .journal import Journal
from .ledger import Ledger
from .missing import MIRRORED, or_nan, retaken
from .oracle import Oracle
from .stencil import Stencil, axes, central, few_axes, pairs, point, points, some_axes

__all__ = [
    "MIRRORED",
    "Batch",
    "Components",
    "Failures",
    "GroupedOracle",
    "Journal",
    "Ledger",
    "Oracle",
    "Policy",
    "Stencil",
    "Tilt",
    "axes",
    "central",
    "few_axes",
    "jac_of",
    "or_nan",
    "pairs",
    "point",
    "points",
    "retaken",
    "some_axes",
]
