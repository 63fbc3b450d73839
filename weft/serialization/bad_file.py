"""What is raised for a file that is not what it should be."""

from __future__ import annotations


class BadFile(RuntimeError, ValueError):
    """A file is truncated, contradicts itself, or is of no known format."""
