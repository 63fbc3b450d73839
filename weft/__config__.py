"""How this weft was built."""

from __future__ import annotations

import platform
import sys

import numpy as np

from aten import _native
from weft.backends.cpu import get_cpu_capability
from weft.version import __version__

__all__ = ["parallel_info", "show"]


def _cxx_flags() -> str:
    """The flags with which kernels are compiled at run time."""
    from inductor.codegen import toolchain  # (the compiler loads when it is asked for)

    return " ".join(toolchain.FLAGS)


def show() -> str:
    """Versions, compiler, processor and libraries, one a line."""
    lines = [
        f"weft {__version__} built with:",
        f"Python {platform.python_version()} ({sys.implementation.name}), native modules: {_native.__file__}",
        f"Compiler of Python: {platform.python_compiler()}",
        f"NumPy {np.__version__}",
        f"CPU capability usage: {get_cpu_capability()}",
        "Products: weft's own kernels; decompositions: OpenBLAS (scipy-openblas64)",
        "CUDA: none for eager tensors",
    ]
    return "\n  - ".join(lines) + "\n"


def parallel_info() -> str:
    """How many threads ops use."""
    return f"weft/Parallel:\n\tget_num_threads() : {_native.get_num_threads()}\n\tATen parallel backend: native thread pool\n"
