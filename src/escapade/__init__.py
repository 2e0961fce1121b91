"""Escapade: zeroth-order nonconvex optimisation that escapes saddle points and certifies minima."""

from . import curvature, errors, problems
from .certificate import Certificate
from .certify import certify
from .check import check_fun
from .oracle import Oracle
from .report import FunctionReport

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "FunctionReport",
    "Oracle",
    "__version__",
    "certify",
    "check_fun",
    "curvature",
    "errors",
    "problems",
]
