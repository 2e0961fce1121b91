"""Curvature finders."""
from .dense import Dense
from .lanczos import Lanczos
FINDERS = {"lanczos": Lanczos, "dense": Dense}
