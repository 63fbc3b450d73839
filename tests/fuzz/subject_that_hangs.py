"""A fuzzer of three seeds for the test of drive.py: the first is fine, the second hangs in a call of C, the third differs."""

import signal
import sys

from tests.fuzz import drive


def check(seed: int) -> tuple[str, str] | None:
    if seed == 1:
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        sum(iter(int, 1))  # does not end, and hears no signal
    return ("cause", "report") if seed == 2 else None


if __name__ == "__main__":
    sys.exit(drive.main("tests.fuzz.subject_that_hangs", check))
