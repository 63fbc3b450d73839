"""What is raised for a file that is not what it should be."""

from __future__ import annotations

import pickle


class BadFile(RuntimeError, ValueError, pickle.UnpicklingError):
    """A file is truncated, contradicts itself, or is of no known format: whichever of its classes a program expects, it is one."""
