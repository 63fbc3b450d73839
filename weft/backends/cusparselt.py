"""NVIDIA's cuSPARSELt, which weft does not use."""


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None: there is none."""
    return None


def get_max_alg_id() -> int | None:
    """None."""
    return None
