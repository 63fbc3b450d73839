"""The threads of the BLAS that NumPy brings: they follow `set_num_threads`, since idle ones wait by spinning."""

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path

_NAMES = [f"{prefix}openblas_{{}}_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")]


@functools.cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return tuple(map(ctypes.CDLL, sorted({line.split()[-1] for line in lines if "openblas" in line})))


def _functions(what: str) -> list[Callable[..., int]]:
    names = [name.format(what) for name in _NAMES]
    return [getattr(library, name) for library in _libraries() for name in names if hasattr(library, name)]


def set_library_threads(n: int) -> None:
    """Have OpenBLAS, where NumPy has it, use `n` threads."""
    for function in _functions("set"):
        function(n)


def library_threads() -> list[int]:
    """How many threads each OpenBLAS of the process uses."""
    return [function() for function in _functions("get")]


__all__ = ["library_threads", "set_library_threads"]
