"""Extensions in C++ against PyTorch's headers, which weft cannot build: custom ops are declared in Python.

    @weft.library.custom_op("mylib::smooth", mutates_args=())
    def smooth(x: Tensor) -> Tensor: ...          # may call any compiled code, by ctypes or the buffer protocol
"""

from __future__ import annotations

import os
from typing import Any

__all__ = [
    "BuildExtension", "CUDAExtension", "CppExtension", "include_paths", "is_ninja_available", "library_paths", "load",
    "load_inline",
]  # fmt: skip

CUDA_HOME = ROCM_HOME = None
IS_WINDOWS = False
_INSTEAD = (
    "weft has no C++ interface of PyTorch's: an extension built against its headers cannot be loaded. Declare the op in Python "
    "with weft.library.custom_op, and call compiled code through ctypes, DLPack or NumPy's buffer"
)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    """Raises RuntimeError, saying what to do instead."""
    raise RuntimeError(_INSTEAD)


load = load_inline = CppExtension = CUDAExtension = include_paths = library_paths = _refuse


class BuildExtension:
    """setuptools' command. Raises RuntimeError when it is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(_INSTEAD)

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        return cls


def is_ninja_available() -> bool:
    """Whether the program ninja is on the path."""
    return any(os.access(os.path.join(folder, "ninja"), os.X_OK) for folder in os.get_exec_path())


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """False: no compiler is."""
    return False
