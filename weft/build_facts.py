"""What this build has, as programs ask under `torch`."""

from typing import Any

from aten import Tensor, UntypedStorage
from aten.storage import TypedStorage

has_lapack = has_spectral = True
has_mkl = has_openmp = False


def compiled_with_cxx11_abi() -> bool:
    """Whether native code has the C++ strings of since 2011."""
    return True


def is_vulkan_available() -> bool:
    """False."""
    return False


def is_storage(obj: Any, /) -> bool:
    """Whether it is the memory of a tensor, typed or not."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def is_distributed(input: Tensor) -> bool:
    """Whether a tensor lies on several machines: none does."""
    return False


def get_device(input: Tensor) -> int:
    """The number of the tensor's device; -1 for the CPU."""
    return input.get_device()
