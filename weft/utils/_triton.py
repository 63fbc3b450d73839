"""Whether Triton is there, and a device for its kernels."""

from __future__ import annotations

import functools
import importlib.util

from weft import cuda


@functools.cache
def has_triton_package() -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec("triton") is not None


def has_triton() -> bool:
    """Whether kernels run here: the package and a GPU."""
    return has_triton_package() and cuda.is_available()
