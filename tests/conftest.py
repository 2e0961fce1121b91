"""What every test run needs."""

import os
import signal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two test processes on two cores; before NumPy is imported


def pytest_configure() -> None:
    """A shell that starts us in the background makes us ignore Ctrl-C; some tests send it to themselves."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
