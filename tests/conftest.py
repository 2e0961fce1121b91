"""What every test run needs."""

import signal


def pytest_configure() -> None:
    """A shell that starts us in the background makes us ignore Ctrl-C; some tests send it to themselves."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
