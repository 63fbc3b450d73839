"""Intel's MKL, which weft does not use (its products are its own, its decompositions OpenBLAS's)."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False."""
    return False
