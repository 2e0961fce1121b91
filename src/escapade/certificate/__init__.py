"""The certificate: what it says, and who makes it."""

from .certificate import Certificate, Certifier, Trusted
from .rules import Verdict

__all__ = ["Certificate", "Certifier", "Trusted", "Verdict"]
