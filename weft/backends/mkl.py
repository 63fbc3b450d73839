"""Intel's MKL, which weft does not use (its products are its own, its decompositions OpenBLAS's)."""

from weft.backends.switches import Verbose

__all__ = ["is_available", "verbose"]
VERBOSE_OFF, VERBOSE_ON = 0, 1
verbose = Verbose


def is_available() -> bool:
    """False."""
    return False
