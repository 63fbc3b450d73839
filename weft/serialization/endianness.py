"""The byte order of PyTorch's files that do not say theirs."""

from __future__ import annotations

import sys
from enum import Enum


class LoadEndianness(Enum):
    NATIVE = 1
    LITTLE = 2
    BIG = 3


_default: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    return _default


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """The order for files without a record of it: None and LITTLE are the usual one. Raises TypeError for anything else."""
    global _default
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _default = endianness


def assumed() -> bytes:
    """b"little" or b"big"."""
    if _default is LoadEndianness.NATIVE:
        return sys.byteorder.encode()
    return b"big" if _default is LoadEndianness.BIG else b"little"
