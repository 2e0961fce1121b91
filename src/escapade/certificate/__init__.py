"""The certificate: what it says, and who makes it."""

from .certificate import Certificate, Trusted
from .certifier import Certifier
from .rules import Verdict
from .scaled import ScaledProblem

__all__ = ["Certificate", "Certifier", "ScaledProblem", "Trusted", "Verdict"]
