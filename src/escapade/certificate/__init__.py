"""The certificate: what it says, and who makes it."""

from .certificate import Certificate, Trusted, Verdict
from .certifier import Certifier

__all__ = ["Certificate", "Certifier", "Trusted", "Verdict"]
