"""The certificate: what it says, and who makes it."""

from .certificate import Certificate, Trusted
from .certifier import Certifier
from .rules import Verdict

__all__ = ["Certificate", "Certifier", "Trusted", "Verdict"]
