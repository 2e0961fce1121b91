"""Escapade: zeroth-order nonconvex optimisation that escapes saddle points and certifies minima."""

import logging

from . import curvature, errors, methods, problems, stopping, theory
from .ask_tell import AskTell as ask_tell
from .certificate import Certificate
from .certify import certify
from .check import check_fun
from .domain import rigid_motions
from .interop import scipy_method
from .least_squares import least_squares
from .minimize import minimize
from .multistart import Multistart, multistart
from .oracle import Journal, Oracle
from .report import FunctionReport
from .result import Result

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "Certificate",
    "FunctionReport",
    "Journal",
    "Multistart",
    "Oracle",
    "Result",
    "__version__",
    "ask_tell",
    "certify",
    "check_fun",
    "curvature",
    "errors",
    "least_squares",
    "methods",
    "minimize",
    "multistart",
    "problems",
    "rigid_motions",
    "scipy_method",
    "stopping",
    "theory",
]
