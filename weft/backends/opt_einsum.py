"""The order of einsum's products: weft's own, from left to right."""

from __future__ import annotations

__all__ = ["get_opt_einsum", "is_available"]

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: the package of that name is not asked."""
    return False


def get_opt_einsum() -> None:
    """None."""
