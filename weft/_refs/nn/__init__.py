"""References of the functions of nn."""

from weft.nn import functional

__all__ = ["functional"]
