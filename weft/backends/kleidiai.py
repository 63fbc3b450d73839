"""Arm's KleidiAI, which weft does not use."""


def is_available() -> bool:
    """False."""
    return False
