"""OpenMP, which weft does not use (its threads are its own; see weft.set_num_threads)."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False."""
    return False
