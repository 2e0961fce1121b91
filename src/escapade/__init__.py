"""Escapade: zeroth-order nonconvex optimisation that escapes saddle points and certifies minima."""

from . import curvature, errors, problems
from .certificate import Certificate
from .certify import certify
from .oracle import Oracle

__version__ = "0.1.0"

__all__ = ["Certificate", "Oracle", "__version__", "certify", "curvature", "errors", "problems"]
