"""The bytes of a file, read or mapped."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from weft.serialization.config import get_default_mmap_options


def bytes_of(f: str | os.PathLike | Any, mapped: bool) -> np.ndarray:
    """All bytes of a path or open binary file. `mapped`: pages come when they are touched, and writes stay in memory."""
    if hasattr(f, "read"):
        if mapped:
            raise ValueError("f must be a file path in order to use the mmap argument")
        data = f.read()
        if isinstance(data, str):
            raise TypeError("load: the file is open for text; open it in binary mode ('rb')")
        return np.frombuffer(data, np.uint8)
    if mapped and os.path.getsize(f):
        return np.asarray(np.memmap(f, np.uint8, mode="r+" if get_default_mmap_options() == mmap.MAP_SHARED else "c"))
    return np.fromfile(f, np.uint8)
